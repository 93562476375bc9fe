"""What is printed, when and in which order; --out and --err (SPEC 2.9)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from conftest import PATIENCE, Scratch, until
from faults import HOLD, bound, filled, opened, small_disk
from kept import PRINTS, Kept, printed, sha256

SAYS = ("sh", "-c", 'echo "$1" >>effects; echo "said $1"; echo "err $1" >&2; [ ! -e bad ]', "_", "{}")


def test_replay_in_list_order_gives_the_same_sum_on_every_run(kept: Kept) -> None:
    """The first time, after a kill -9, when all was done before, and for a list in another order."""
    ids = kept.numbers(40)
    whole = sha256(b"".join(map(printed, ids)))
    words = ["run", "-a", "i", "-j", "2", "--replay", "-k", *PRINTS]
    kept.run(*words[:1], "--job", "control", *words[1:])
    assert sha256(kept.out()) == whole
    kept.warm.start(words, kept.scratch.path, kept.scratch.env)
    until(lambda: len(kept.scratch.effects()) > 60)
    os.kill(kept.scratch.records("sh", "run")[-1]["pid"], signal.SIGKILL)
    kept.warm.wait()
    kept.warm.drain()
    for _ in range(3):
        assert kept.run(*words).code == 0 and sha256(kept.out()) == whole
    kept.scratch.items(*reversed(ids))
    assert kept.run(*words).code == 0 and kept.out() == b"".join(map(printed, reversed(ids)))
    kept.scratch.write("stream", b"".join(id.encode() + b"\n" for id in ids))
    assert kept.run(*words[:1], *words[3:], stdin="\n".join(ids)).code == 0 and sha256(kept.out()) == whole


def test_replay_without_order_prints_what_is_done_first(kept: Kept) -> None:
    kept.scratch.items("b")
    kept.run("run", "-a", "i", *SAYS)
    kept.scratch.items("a", "b", "c")
    assert kept.run("run", "-a", "i", "--replay", *SAYS).code == 0
    assert sorted(kept.out().splitlines()) == [b"said a", b"said b", b"said c"] and kept.scratch.effects() == ["b", "a", "c"]


def test_keep_order_holds_output_back_and_no_slot(kept: Kept) -> None:
    """While the first item waits, all the others run, end and are recorded; then all is printed in order."""
    ids = kept.numbers(30)
    wait = 'if [ "$1" = 1 ]; then until [ -e go ]; do sleep 0.01; done; fi; echo "$1"'
    process = kept.scratch.start("run", "-a", "i", "-j", "2", "-k", "sh", "-c", wait, "_", "{}", stdout=open(kept.scratch.path / "o", "wb"))
    until(lambda: kept.scratch.journal().exists() and len(kept.scratch.records("sh", "done")) == 29)
    assert (kept.scratch.path / "o").read_bytes() == b""
    opened(kept.scratch)
    assert process.wait(PATIENCE) == 0 and kept.scratch.lines("o") == ids


def test_keep_order_without_keeping_leaves_nothing_behind(kept: Kept) -> None:
    kept.numbers(20)
    assert kept.run("run", "-a", "i", "-j", "2", "-k", "--no-keep", *PRINTS).code == 0
    assert kept.out() == b"".join(printed(str(n)) for n in range(1, 21)) and not kept.file().exists()


def test_what_failed_items_printed_stands_in_its_place_too(kept: Kept) -> None:
    """Each attempt's output, where its item stands."""
    kept.numbers(3)
    command = ("sh", "-c", 'echo "$1.$RESUMECTL_ATTEMPT"; [ "$1" != 2 ]', "_", "{}")
    assert kept.run("run", "-a", "i", "-k", "--retries", "1", "--retry-delay", "1ms", *command).code == 1
    assert kept.out() == b"1.1\n2.1\n2.2\n3.1\n"


def test_each_items_output_comes_in_one_piece(kept: Kept) -> None:
    kept.numbers(6)
    command = ("sh", "-c", 'for n in 1 2 3; do echo "$1.$n"; echo "e$1.$n" >&2; sleep 0.01; done', "_", "{}")
    ended = kept.run("run", "-a", "i", "-j", "3", *command)
    lines = kept.out().decode().split()
    assert [lines[at : at + 3] for at in range(0, 18, 3)] == sorted(
        ([f"{n}.1", f"{n}.2", f"{n}.3"] for n in range(1, 7)), key=lambda piece: lines.index(piece[0])
    )
    errors = [line for line in ended.err.splitlines() if line.startswith("e")]
    assert all(errors[at][:2] == errors[at + 2][:2] for at in range(0, 18, 3))


def test_tag_names_the_item_before_each_line(kept: Kept) -> None:
    """Escaped, on both streams; what is kept has no tags."""
    kept.scratch.write("i", b"a\tb\nc\xff\n")
    ended = kept.run("run", "-a", "i", "--tag", "sh", "-c", "printf 'x\ny'; echo z >&2", "_", "{}")
    assert ended.code == 0 and kept.out() == b"a\\tb\tx\na\\tb\ty\nc\\xff\tx\nc\\xff\ty\n" and "a\\tb\tz\n" in ended.err
    assert kept.run("results").code == 0 and kept.out() == b"x\nyx\ny"


def test_quiet_output_prints_nothing_and_keeps_it(kept: Kept) -> None:
    kept.scratch.items("a", "b")
    ended = kept.run("run", "-a", "i", "--quiet-output", *SAYS)
    assert ended.code == 0 and kept.out() == b"" and "err a" not in ended.err
    assert kept.run("results").code == 0 and kept.out() == b"said a\nsaid b\n"


def test_ungroup_hands_our_own_streams_over_and_keeps_nothing(kept: Kept) -> None:
    """Lines appear while the command runs."""
    kept.scratch.items("a")
    with open(kept.scratch.path / "o", "wb") as out:
        process = kept.scratch.start("run", "-a", "i", "-u", "sh", "-c", "echo early; " + HOLD[2], "_", "{}", stdout=out)
    until(lambda: kept.scratch.lines("o") == ["early"])
    opened(kept.scratch)
    assert process.wait(PATIENCE) == 0 and not kept.file().exists()
    assert kept.run("results").code == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--ok", "text:x"],
        ["--fail", "empty"],
        ["--limit", "json:a"],
        ["--slow", "text:x"],
        ["--halt", "text:x"],
        ["--retry", "text:x"],
        ["--cost", "usd"],
        ["--sum", "a=b"],
        ["--idle-timeout", "5"],
        ["--out", "o/{}"],
        ["--err", "o/{}"],
        ["--replay"],
        ["--tag"],
        ["-k"],
    ],
)
def test_ungroup_is_refused_with_what_needs_the_output(kept: Kept, words: list[str]) -> None:
    kept.scratch.items("a")
    ended = kept.run("run", "-a", "i", "-u", *words, "echo")
    assert ended.code == 2 and "--ungroup" in ended.err and not (kept.scratch.path / ".resumectl").exists()


def test_ungroup_takes_tests_of_the_exit_code(kept: Kept) -> None:
    kept.scratch.items("a")
    assert kept.run("run", "-a", "i", "-u", "--ok", "code:3", "--limit", "code:9", "sh", "-c", "echo x; exit 3", "_").code == 0
    assert kept.out() == b"x\n"


def names(folder: Path) -> list[str]:
    return sorted(os.fspath(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_out_and_err_are_files_of_their_own(kept: Kept) -> None:
    """Folders are made; what goes there is neither printed nor kept; the other stream is."""
    kept.scratch.items("a", "d/e f", "..", "../../x", "%", b"\xff", "x" * 300)
    words = ["run", "-a", "i", "--out", "o/deep/{}.txt", "sh", "-c", 'printf "%s" "$1"; echo err >&2', "_", "{}"]
    ended = kept.run(*words)
    folder = kept.scratch.path / "o" / "deep"
    assert ended.code == 0 and kept.out() == b"" and ended.err.count("err\n") == 7
    found = names(folder)
    assert found[:6] == ["%25.txt", "%2E%2E.txt", "..%2F..%2Fx.txt", "a.txt", "d%2Fe f.txt", found[5]] and len(found) == 7
    assert all(len(os.fsencode(name)) < 256 for name in found)
    assert {(folder / name).read_bytes() for name in found} == {b"a", b"d/e f", b"..", b"../../x", b"%", b"\xff", b"x" * 300}
    assert not (kept.scratch.path.parent / "x.txt").exists()
    kept.scratch.items("a")
    kept.run("run", "-a", "i", "--job", "e", "--err", "log/{/}.err", *SAYS)
    assert (kept.scratch.path / "log/a.err").read_bytes() == b"err a\n" and kept.out() == b"said a\n"


def test_a_file_is_in_its_place_only_when_its_item_is_done(kept: Kept) -> None:
    """And before the line that says so; until then it is a .part, and a failed item's output is printed and kept instead."""
    kept.scratch.items("a")
    hold = ("sh", "-c", 'echo half; until [ -e go ]; do sleep 0.01; done; [ ! -e bad ]', "_", "{}")
    kept.scratch.write("bad", b"")
    process = kept.scratch.start("run", "-a", "i", "--out", "o/{}", *hold)
    until(lambda: (kept.scratch.path / "o/a.part").exists() and (kept.scratch.path / "o/a.part").read_bytes() == b"half\n")
    assert names(kept.scratch.path / "o") == ["a.part"]
    opened(kept.scratch)
    assert process.wait(PATIENCE) == 1 and names(kept.scratch.path / "o") == []
    assert kept.run("results", "--failed").code == 0 and kept.out() == b"half\n"
    (kept.scratch.path / "bad").unlink()
    assert kept.run("run", "-a", "i", "--out", "o/{}", *hold).code == 0
    assert names(kept.scratch.path / "o") == ["a"] and kept.out() == b""


def test_a_part_that_a_kill_left_is_begun_anew(kept: Kept) -> None:
    """Killed between the output and the done line: the item runs again, its file is whole."""
    kept.scratch.items("a", "b")
    crash = 'printf "%s " "$1"; [ -e up ] || { touch up; kill -9 $PPID; }; echo end'
    words = ("run", "-a", "i", "--out", "o/{}", "sh", "-c", crash, "_", "{}")
    assert kept.run(*words).code == -signal.SIGKILL
    kept.warm.drain()
    assert names(kept.scratch.path / "o") == ["a.part"]
    assert kept.run(*words).code == 0 and names(kept.scratch.path / "o") == ["a", "b"]
    assert (kept.scratch.path / "o/a").read_bytes() == b"a end\n"


@pytest.mark.parametrize(("ids", "path"), [(["d/a", "e/a"], "o/{/}"), (["a.x", "a.y"], "o/{.}"), (["a", "b"], "o/{%}"), (["a.part", "a"], "o/{}")])
def test_two_items_with_one_file_are_refused_before_anything_runs(kept: Kept, ids: list[str], path: str) -> None:
    """Of a file; in a stream the run stops there."""
    kept.scratch.items(*ids)
    refused = kept.run("run", "-a", "i", "--out", path, *SAYS)
    assert refused.code == 2 and "would overwrite another one's" in refused.err and not kept.scratch.effects()
    stopped = kept.run("run", "--job", "s", "--out", path, *SAYS, stdin="\n".join(ids) + "\n")
    assert stopped.code == 3 and kept.scratch.effects() == ids[:1]
    assert kept.run("run", "-a", "i", "--err", "o/all", *SAYS).code == 2


def test_a_directory_that_may_not_be_written_is_74_in_mid_run(kept: Kept) -> None:
    """Nothing more starts, nobody is charged, and the next run goes on when it is mended."""
    kept.scratch.items("1", "2", "3")
    (kept.scratch.path / "o").mkdir()
    command = ("sh", "-c", 'echo "$1" >>effects; [ "$1" != 1 ] || chmod 500 o', "_", "{}")
    ended = bound(kept.scratch, "run", "-a", "i", "--out", "o/{}/x", *command)
    assert ended.code == 74 and "o/2" in ended.err and "Traceback" not in ended.err
    assert kept.scratch.effects() == ["1"] and kept.scratch.has(done=1, failed=0)
    (kept.scratch.path / "o").chmod(0o700)
    assert kept.run("run", "-a", "i", "--out", "o/{}/x", *command).code == 0 and kept.scratch.effects() == ["1", "2", "3"]


def test_a_disk_that_fills_under_out_is_74_and_leaves_no_half_file_in_place(scratch: Scratch) -> None:
    scratch.items("1", "2")
    command = ("sh", "-c", 'echo "$1" >>effects; head -c 3000 /dev/zero', "_", "{}")
    with small_disk(scratch.path / "small") as disk:
        ballast = filled(disk, leave=4096)
        words = ("run", "-a", "i", "--out", str(disk / "o{}"), *command)
        ended = scratch.run(*words)
        assert ended.code in (1, 74) and not (disk / "o2").exists()
        ballast.unlink()
        assert scratch.run(*words).code == 0
        assert {(disk / name).stat().st_size for name in ("o1", "o2")} == {3000}
