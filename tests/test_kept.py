"""What commands print is kept beside the journal and read back by `results` (SPEC 2.9)."""

from __future__ import annotations

import base64
import json
import os
import signal

import pytest
from conftest import until
from faults import bound
from kept import PRINTS, Kept, printed
from shell import typed

BOTH = ("sh", "-c", 'printf "out %s\\n" "$1"; printf "err %s\\n" "$1" >&2; [ "$1" != b ]', "_", "{}")
BINARY = bytes(range(256)) * 300 + b"\xff\xfe no newline"


def test_results_gives_what_every_done_item_printed_in_first_seen_order(kept: Kept) -> None:
    """Not in the order in which they ended; never by running anything."""
    kept.scratch.items("c", "b", "a")
    slow = 'echo "$1"; [ "$1" != c ] || until [ -s ended ]; do sleep 0.01; done; echo "$1" >>ended'
    assert kept.run("run", "-a", "i", "-j", "3", "sh", "-c", slow, "_", "{}").code == 0
    assert kept.scratch.lines("ended")[0] != "c"
    before = kept.file(".jsonl").read_bytes()
    for words in ([], ["sh"], ["--job", "sh"], ["--journal", ".resumectl/sh.jsonl"]):
        assert kept.run("results", *words).code == 0 and kept.out() == b"c\nb\na\n"
    assert kept.file(".jsonl").read_bytes() == before and len(kept.scratch.lines("ended")) == 3


def test_results_chooses_by_state_stream_and_id(kept: Kept) -> None:
    kept.scratch.items("a", "b", "c")
    assert kept.run("run", "-a", "i", *BOTH).code == 1
    for words, expected in (
        (["--failed"], b"out b\n"),
        (["--stream", "stderr"], b"err a\nerr c\n"),
        (["--failed", "--stream", "stderr"], b"err b\n"),
        (["--id", "c", "--id", "a"], b"out c\nout a\n"),
        (["--id", "b", "--failed"], b"out b\n"),
    ):
        assert kept.run("results", *words).code == 0 and kept.out() == expected, words
    for wrong in (["--id", "b"], ["--id", "nobody"], ["--format", "dir"], ["--to", "d"], ["nojob"]):
        refused = kept.run("results", *wrong)
        assert refused.code == 2 and kept.out() == b"" and "Traceback" not in refused.err, wrong


def test_results_as_json_lines_or_as_a_file_each(kept: Kept) -> None:
    """Text is a string, other bytes base64; file names are made safe."""
    kept.scratch.write("i", b"a b\n../up\n\xff\n.\n")
    assert kept.run("run", "-a", "i", "printf", "%s\n").code == 0
    a, up, ff, _dot = kept.results()
    assert list(a) == ["id", "attempt", "rc", "at", "ms", "stdout"] and a["at"].endswith("Z") and a["ms"] >= 0
    assert (a["id"], a["attempt"], a["rc"], a["stdout"]) == ("a b", 1, 0, "a b\n") and up["stdout"] == "../up\n"
    assert ff["id"] == {"b64": "/w=="} and ff["stdout"] == {"b64": base64.b64encode(b"\xff\n").decode()}
    assert kept.run("results", "--format", "dir", "--to", "d/deep").code == 0
    files = {os.fsencode(path.name): path.read_bytes() for path in (kept.scratch.path / "d/deep").iterdir()}
    assert files == {b"a b": b"a b\n", b"..%2Fup": b"../up\n", b"\xff": b"\xff\n", b"%2E": b".\n"}


def test_binary_output_is_printed_and_kept_to_the_byte(kept: Kept) -> None:
    """On both streams, with NUL, with invalid UTF-8, without a newline at the end, and nothing at all."""
    kept.scratch.write("blob", BINARY)
    kept.scratch.items("a", "b", "none")
    assert kept.run("run", "-a", "i", "sh", "-c", '[ "$1" = none ] || { cat blob; cat blob >&2; }', "_", "{}").code == 0
    assert kept.out() == BINARY * 2
    assert kept.run("results").code == 0 and kept.out() == BINARY * 2
    assert kept.run("results", "--stream", "stderr").code == 0 and kept.out() == BINARY * 2
    assert kept.results()[2]["stdout"] == "" and kept.file().stat().st_size == 4 * len(BINARY)


def test_every_attempt_is_kept_and_results_gives_the_last(kept: Kept) -> None:
    """What a failed attempt had printed is not lost: its line still names it."""
    kept.scratch.items("a")
    command = ("sh", "-c", 'echo "try $RESUMECTL_ATTEMPT"; [ $RESUMECTL_ATTEMPT = 3 ]', "_")
    assert kept.run("run", "-a", "i", *command).code == 1
    assert kept.run("run", "-a", "i", "--retries", "1", "--retry-delay", "1ms", *command).code == 0
    assert kept.run("results").code == 0 and kept.out() == b"try 3\n"
    data = kept.file().read_bytes()
    spans = [record["out"] for record in kept.scratch.records("sh", "failed", "done")]
    assert [data[at : at + size] for at, size, _ in spans] == [b"try 1\n", b"try 2\n", b"try 3\n"]


def test_no_keep_keeps_nothing_and_results_says_so(kept: Kept) -> None:
    kept.scratch.items("a", "b")
    assert kept.run("run", "-a", "i", "--no-keep", "echo").code == 0 and kept.out() == b"a\nb\n"
    ended = kept.run("results")
    assert ended.code == 1 and "nothing was kept of a, b" in ended.err and kept.out() == b""
    folder = kept.scratch.path / ".resumectl"
    assert not (folder / "echo.out").exists()
    again = kept.run("run", "-a", "i", "--replay", "echo")
    assert again.code == 1 and "nothing was kept to print again: a, b" in again.err


@pytest.mark.parametrize("harm", ["cut", "flip", "gone"])
def test_harmed_output_is_noticed_and_no_other_items_bytes_are_printed(kept: Kept, harm: str) -> None:
    """The file is shorter, a bit has flipped, the file is gone: who lost bytes is named, exit 1; and new
    output never lands where old output was."""
    ids = kept.numbers(4)
    assert kept.run("run", "-a", "i", *PRINTS).code == 0
    data = kept.file().read_bytes()
    at = len(b"".join(printed(id) for id in ids[:2])) + 10
    if harm == "gone":
        kept.file().unlink()
    else:
        kept.file().write_bytes(data[:at] if harm == "cut" else data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    lost = {"cut": ["3", "4"], "flip": ["3"], "gone": ids}[harm]
    ended = kept.run("results")
    assert ended.code == 1 and f"nothing was kept of {', '.join(lost)}" in ended.err
    assert kept.out() == b"".join(printed(id) for id in ids if id not in lost)
    kept.numbers(5)
    assert kept.run("run", "-a", "i", *PRINTS).code == 0 and kept.out() == printed("5")
    assert kept.file().stat().st_size == len(data) + len(printed("5"))
    assert kept.run("results").code == 1
    assert kept.out() == b"".join(printed(id) for id in [*ids, "5"] if id not in lost)
    replayed = kept.run("run", "-a", "i", "--replay", "-k", *PRINTS)
    assert replayed.code == 1 and f"to print again: {', '.join(lost)}" in replayed.err


@pytest.mark.parametrize("count", [300, pytest.param(1713, marks=pytest.mark.slow)])
def test_items_killed_four_times_in_mid_run_give_each_items_bytes_once(kept: Kept, count: int) -> None:
    """In list order, equal to an uninterrupted run; --replay -k gives the whole of it every time."""
    ids, out = kept.numbers(count), kept.scratch.path / "out"
    expected = b"".join(map(printed, ids))
    for at in range(1, 5):
        words = ["run", "-a", "i", "-j", "2", "--replay", "-k", *PRINTS]
        kept.warm.start(words, kept.scratch.path, kept.scratch.env)
        until(lambda at=at: len(kept.scratch.effects()) >= at * count // 5)
        pid = kept.scratch.records("sh", "run")[-1]["pid"]
        os.kill(pid, signal.SIGKILL)
        assert kept.warm.wait().code == -signal.SIGKILL
        assert expected.startswith(out.read_bytes())  # in order, and each item's bytes in one piece or cut at the kill
        kept.warm.drain()
    for _ in range(2):
        assert kept.run(*words).code == 0 and kept.out() == expected
    assert kept.run("results").code == 0 and kept.out() == expected
    assert len(kept.scratch.effects()) - count <= 4 * 2 and set(kept.scratch.effects()) == set(ids)


def test_reset_carries_the_kept_output_along(kept: Kept) -> None:
    kept.numbers(2)
    kept.run("run", "-a", "i", *PRINTS)
    data = kept.file().read_bytes()
    assert kept.run("reset", "--yes").code == 0 and not kept.file().exists()
    [archive] = kept.file().parent.glob("sh.out.bak-*")
    assert archive.read_bytes() == data
    kept.run("run", "-a", "i", *PRINTS)
    assert kept.run("results").code == 0 and kept.out() == data


def test_results_into_a_directory_that_may_not_be_written_is_74(kept: Kept) -> None:
    kept.scratch.items("a")
    kept.run("run", "-a", "i", "echo")
    (kept.scratch.path / "d").mkdir(mode=0o500)
    ended = bound(kept.scratch, "results", "--format", "dir", "--to", "d")
    assert ended.code == 74 and "Traceback" not in ended.err and "d/a" in ended.err


def test_results_may_be_cut_by_its_reader(kept: Kept) -> None:
    kept.numbers(200)
    kept.run("run", "-a", "i", "--sync", "none", *PRINTS)
    ended = typed(kept.scratch, "resumectl results | head -c 1000 | wc -c")
    assert ended.out.split() == [b"1000"] and "Traceback" not in ended.err and "Exception" not in ended.err


def test_items_that_only_printed_before_a_persons_word_still_count_as_kept(kept: Kept) -> None:
    """`mark done` says nothing about output: a failed item's bytes are no done item's result."""
    kept.scratch.items("a")
    assert kept.run("run", "-a", "i", "sh", "-c", "echo wrong; exit 1", "_").code == 1
    kept.run("mark", "done", "--job", "sh", "--id", "a")
    ended = kept.run("results")
    assert ended.code == 1 and kept.out() == b"" and "nothing was kept of a" in ended.err


def test_kept_lines_are_json_that_other_programs_read(kept: Kept) -> None:
    """A line break in the output stays inside its string."""
    kept.scratch.items("a")
    kept.run("run", "-a", "i", "printf", "one\ntwo\u2028three\n")
    lines = [kept.run("results", "--format", "jsonl"), kept.out()][1]
    assert lines.count(b"\n") == 1 and json.loads(lines)["stdout"] == "one\ntwo\u2028three\n"
