"""What people have reported of other tools that run a command for each item, with the value that is right here."""

from __future__ import annotations

import os
import signal

import pytest
from conftest import APPEND, PATIENCE, Scratch, until
from faults import HOLD, opened
from kept import Kept
from shell import Terminal

STEP = ("sh", "-c", 'echo "$1" >>effects; [ "$1" != 2 ] || [ -e up ]', "_", "{}")


def test_a_torn_last_record_repeats_its_item_only_and_is_not_fused_with_the_next(kept: Kept) -> None:
    """The journal lost five bytes: one line stays bad, no line holds two records, a third run adds nothing."""
    kept.numbers(3)
    assert kept.run("run", "-a", "i", *APPEND).code == 0
    journal = kept.scratch.journal()
    end = journal.read_bytes().rindex(b'{"t":"end"')
    os.truncate(journal, end - 5)
    assert kept.run("run", "-a", "i", *APPEND).code == 0 and kept.scratch.effects() == ["1", "2", "3", "3"]
    assert kept.run("run", "-a", "i", *APPEND).code == 0 and len(kept.scratch.effects()) == 4
    assert all(line.count(b'{"t":') <= 1 for line in journal.read_bytes().split(b"\n"))


def test_a_tail_of_zeros_is_closed_before_anything_is_appended(kept: Kept) -> None:
    kept.numbers(2)
    kept.run("run", "-a", "i", *APPEND)
    with open(kept.scratch.journal(), "ab") as journal:
        journal.write(bytes(4096))
    kept.numbers(4)
    for _ in range(2):
        assert kept.run("run", "-a", "i", *APPEND).code == 0
    assert kept.scratch.effects() == ["1", "2", "3", "4"]
    assert not any(b"\0" in line and b"{" in line for line in kept.scratch.journal().read_bytes().split(b"\n"))


def test_a_broken_line_in_the_middle_is_named_and_empty_lines_are_nothing(kept: Kept) -> None:
    """It is refused with its number and goes on with --accept-damage: the intact records still hold."""
    kept.numbers(4)
    kept.run("run", "-a", "i", *APPEND)
    lines = kept.scratch.journal().read_bytes().split(b"\n")
    lines.insert(4, b'{"item":"2","ev')
    kept.scratch.journal().write_bytes(b"\n".join(lines) + b"\n\n")
    refused = kept.run("run", "-a", "i", *APPEND)
    assert refused.code == 65 and "line 5" in refused.err and "Traceback" not in refused.err
    assert kept.run("run", "-a", "i", "--accept-damage", *APPEND).code == 0 and len(kept.scratch.effects()) == 4


def test_a_journals_directory_that_is_a_file_stops_everything_at_once(kept: Kept) -> None:
    kept.numbers(3)
    kept.scratch.write(".resumectl", "")
    ended = kept.run("run", "-a", "i", *APPEND)
    assert ended.code == 74 and not kept.scratch.effects() and "Traceback" not in ended.err
    assert f"{kept.scratch.path}/.resumectl" in ended.err


def test_a_forgotten_placeholder_is_an_item_at_the_end(kept: Kept) -> None:
    """Never the same command over and over without any item."""
    kept.numbers(3)
    assert kept.run("run", "-a", "i", "sh", "-c", 'echo "[$1]"', "_").code == 0 and kept.out() == b"[1]\n[2]\n[3]\n"


def test_the_list_on_standard_input_is_not_the_childs_to_read(kept: Kept) -> None:
    """A list that is larger than any buffer, and a command that reads all it can get."""
    ids = "".join(f"item-number-{n}\n" for n in range(900))
    ended = kept.run("run", "--sync", "none", "--no-keep", "-j", "2", "sh", "-c", "cat; echo >>effects", "_", stdin=ids)
    assert ended.code == 0 and len(kept.scratch.effects()) == 900 and kept.out() == b""


def test_braces_of_json_and_awk_are_text(kept: Kept) -> None:
    kept.scratch.items("a")
    words = ["printf", "%s\n", '{"id":"{}","n":{"k":1}}', "--out={}.json", "awk '{print $1}'", "${x}", "{0}", "{{}}"]
    assert kept.run("run", "-a", "i", *words).code == 0
    assert kept.out().decode().splitlines() == ['{"id":"a","n":{"k":1}}', "--out=a.json", "awk '{print $1}'", "${x}", "{0}", "{a}"]


def test_standard_output_is_the_commands_alone(kept: Kept) -> None:
    """All that resumectl says goes to standard error."""
    text = kept.scratch.items("1", "2", "3").read_bytes()
    ended = kept.run("run", "-a", "i", "echo")
    assert kept.out() == text and "3 items: 3 new" in ended.err


def test_a_character_on_the_border_of_a_chunk_is_not_cut(kept: Kept) -> None:
    kept.scratch.items("a")
    sizes = (4095, 8191, 65535, (1 << 20) - 1)
    script = "".join(f"head -c {size} /dev/zero | tr '\\0' a; printf 'é\\n\\377\\n'; " for size in sizes)
    assert kept.run("run", "-a", "i", "sh", "-c", script, "_").code == 0
    assert kept.out() == b"".join(b"a" * size + "é\n".encode() + b"\xff\n" for size in sizes)


def test_a_child_that_shuts_down_in_order_after_an_interrupt_is_cut_off(scratch: Scratch) -> None:
    """Its exit 0 proves nothing: the item runs again."""
    scratch.items("a")
    script = 'trap "exit 0" INT; echo >>begun; [ -e go ] || { sleep 60 & wait; }; echo a >>effects'
    with open(scratch.path / "err", "wb") as err:
        process = scratch.start("run", "-a", "i", "--grace", "100ms", "sh", "-c", script, "_", stderr=err)
    until(lambda: scratch.lines("begun"))
    process.send_signal(signal.SIGINT)
    until(lambda: "again stops" in (scratch.path / "err").read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == -signal.SIGINT and scratch.has(cut_off=1, done=0)
    opened(scratch)
    assert scratch.run("run", "-a", "i", "sh", "-c", script, "_").code == 0 and scratch.effects() == ["a"]


def test_a_status_from_another_directory_says_where_it_looked(kept: Kept) -> None:
    """The run had printed the whole path of its journal."""
    kept.numbers(3)
    first = kept.run("run", "-a", "i", *APPEND)
    assert f"journal {kept.scratch.journal()} (new)" in first.err and kept.scratch.journal().exists()
    (kept.scratch.path / "sub").mkdir()
    kept.warm.start(["status"], kept.scratch.path / "sub", kept.scratch.env)
    ended = kept.warm.wait()
    assert ended.code == 2 and f"no journal in {kept.scratch.path}/sub/.resumectl" in ended.err


def test_a_child_that_touches_the_terminal_is_not_stopped_by_it(scratch: Scratch) -> None:
    """It has none: a session of its own."""
    scratch.items("a")
    terminal = Terminal(scratch, "run", "-a", "i", "sh", "-c", "stty size </dev/tty; echo a >>effects", "_")
    assert terminal.end() == 0 and scratch.effects() == ["a"]


def test_what_failed_or_was_killed_is_tried_again_and_what_passed_is_not(kept: Kept) -> None:
    """Effects 1 2 3 2; also when the item's command was killed, by whatever kills what eats memory."""
    kept.numbers(3)
    assert kept.run("run", "-a", "i", *STEP).code == 1
    kept.scratch.write("up", "")
    assert kept.run("run", "-a", "i", *STEP).code == 0 and kept.scratch.effects() == ["1", "2", "3", "2"]
    (kept.scratch.path / "up").unlink()
    killed = ("sh", "-c", STEP[2].replace("[ -e up ]", "[ -e up ] || kill -9 $$"), "_", "{}")
    first = kept.run("run", "--job", "k", "-a", "i", *killed)
    assert first.code == 1 and "cut off 2: killed by SIGKILL" in first.err.replace("died of", "killed by")
    kept.scratch.write("up", "")
    assert kept.run("run", "--job", "k", "-a", "i", *killed).code == 0 and kept.scratch.effects()[4:] == ["1", "2", "3", "2"]


def test_an_item_that_failed_and_then_passed_counts_once(kept: Kept) -> None:
    kept.scratch.items("a")
    for _ in range(3):
        assert kept.run("run", "-a", "i", "sh", "-c", "[ -e up ]", "_").code == 1
    kept.scratch.write("up", "")
    assert kept.run("run", "-a", "i", "sh", "-c", "[ -e up ]", "_").code == 0
    assert kept.scratch.counts() | {"total": 1, "done": 1, "failed": 0} == kept.scratch.counts()


def test_no_exit_code_of_a_child_ends_the_loop(kept: Kept) -> None:
    """128, 255, 126 and 127 come from inside the child, which did start."""
    kept.scratch.items("1", "128", "255", "126", "127", "0")
    ended = kept.run("run", "-a", "i", "sh", "-c", 'exit "$1"', "_", "{}")
    assert ended.code == 1 and kept.scratch.has(done=1, failed=5, total=6)
    assert [record["rc"] for record in kept.scratch.records("sh", "failed")] == [1, 128, 255, 126, 127]


def test_a_missing_program_leaves_no_item_started(kept: Kept) -> None:
    kept.numbers(5)
    ended = kept.run("run", "-a", "i", "nosuchprogram-zz", "{}")
    assert ended.code == 127 and "nosuchprogram-zz" in ended.err and "Traceback" not in ended.err
    assert not (kept.scratch.path / ".resumectl").exists()


def test_after_a_crash_one_is_cut_off_two_are_new_and_the_key_is_the_same(scratch: Scratch) -> None:
    """Five orders, the run killed in the third: `status` tells the four states apart."""
    scratch.items(*"abcde")
    hold = ("sh", "-c", 'echo "$1 $RESUMECTL_KEY" >>keys; [ "$1" != c ] || [ -e go ] || { echo >>begun; until [ -e go ]; do sleep 0.01; done; }', "_", "{}")
    process = scratch.start("run", "-a", "i", *hold)
    until(lambda: scratch.lines("begun"))
    process.kill()
    process.wait()
    opened(scratch)
    assert scratch.has(done=2, cut_off=1, new=2, failed=0, total=5)
    assert scratch.run("run", "-a", "i", *hold).code == 0
    keys = [line.split() for line in scratch.lines("keys")]
    assert [id for id, _ in keys] == ["a", "b", "c", "c", "d", "e"] and len({key for _, key in keys}) == 5


@pytest.mark.slow
def test_a_journal_of_two_hundred_thousand_items_only_grows_at_its_end(scratch: Scratch) -> None:
    ids = [str(n) for n in range(200_010)]
    scratch.items(*ids[:200_000])
    assert scratch.run("mark", "done", "--items", "i", "--job", "sh").code == 0
    before = scratch.journal().read_bytes()
    scratch.items(*ids)
    assert scratch.run("run", "-a", "i", *APPEND).code == 0 and len(scratch.effects()) == 10
    assert scratch.journal().read_bytes().startswith(before) and len(scratch.journal().read_bytes()) - len(before) < 8000


def test_nothing_starts_after_an_interrupt_whatever_is_queued(scratch: Scratch) -> None:
    scratch.items(*map(str, range(20)))
    process = scratch.start("run", "-a", "i", "-j", "2", *HOLD)
    until(lambda: len(scratch.lines("begun")) == 2)
    process.send_signal(signal.SIGINT)
    opened(scratch)
    assert process.wait(PATIENCE) == -signal.SIGINT and len(scratch.lines("begun")) == 2 and len(scratch.effects()) == 2
