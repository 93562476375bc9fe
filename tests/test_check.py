"""Is the journal, and all that it keeps, what was written?  Whatever is not is named by line and byte (SPEC 3)."""

from __future__ import annotations

import pytest
from conftest import Quick, until
from faults import HOLD, opened

TALK = ("sh", "-c", 'echo "out $1"; echo "err $1" >&2', "_", "{}")


def ran(quick: Quick, *ids: str) -> None:
    quick.items(*ids)
    assert quick.run("run", "--items", "i", *TALK).code == 0


def test_all_as_written_is_one_line_of_counts(quick: Quick) -> None:
    ran(quick, "a", "b")
    told = quick.run("check")
    assert told.code == 0 and told.out.count(b"\n") == 1
    assert b": 7 lines, 4 kept streams of 24 bytes; all as written" in told.out


@pytest.mark.parametrize("line", range(2, 8))
def test_a_flipped_bit_in_any_line_is_named(quick: Quick, line: int) -> None:
    """With its line and its first byte; the header's is refused by its own words."""
    ran(quick, "a", "b", "c", "d", "e")
    lines = quick.journal().read_bytes().split(b"\n")
    byte = len(b"\n".join(lines[: line - 1])) + 1
    lines[line - 1] = lines[line - 1].replace(b'"at":"2', b'"at":"3')
    quick.journal().write_bytes(b"\n".join(lines))
    told = quick.run("check")
    assert told.code == 65 and told.out.decode() == f"line {line} (byte {byte}): not what was written\n"
    assert "1 thing wrong" in told.err and "--accept-damage" in told.err
    assert quick.run("run", "--items", "i", *TALK).code == 65


def test_every_damaged_line_is_named_not_only_the_first(quick: Quick) -> None:
    ran(quick, *"abcdefgh")
    data = quick.journal().read_bytes().replace(b'"rc":0', b'"rc":1')
    quick.journal().write_bytes(data)
    told = quick.run("check")
    assert told.code == 65 and told.out.count(b"not what was written") == 8


def test_each_kept_stream_that_is_not_what_was_kept_is_named(quick: Quick) -> None:
    """A changed byte, a file that was cut short, a file that is gone; a batch's output counts once."""
    ran(quick, "a", "b")
    kept = quick.journal().with_suffix(".out")
    whole = kept.read_bytes()
    kept.write_bytes(whole.replace(b"err b", b"err c"))
    told = quick.run("check")
    byte = quick.journal().read_bytes().index(b'{"t":"done","id":"b"')
    said = f"line 6 (byte {byte}): the kept stderr of b (bytes 18 to 23 of sh.out) is not what was kept\n"
    assert told.code == 65 and told.out.decode() == said
    kept.write_bytes(whole[:8])
    assert quick.run("check").out.count(b"is not what was kept") == 3
    kept.unlink()
    assert quick.run("check").out.count(b"is not what was kept") == 4
    quick.items("x", "y", "z")
    quick.run("run", "-n", "3", "--items", "i", "--job", "batch", "echo")
    assert b" 2 kept streams of 6 bytes" in quick.run("check", "batch").out


def test_what_a_crash_tears_and_what_a_run_just_writes_is_not_wrong(quick: Quick) -> None:
    """Before and after the next run has sealed it; with an item under way."""
    ran(quick, "a")
    data = quick.journal().read_bytes()
    cut = data.index(b'{"t":"end"') - 7
    quick.journal().write_bytes(data[:cut])
    torn = quick.run("check")
    assert torn.code == 0 and b"1 torn by a crash" in torn.out
    ran(quick, "a", "b")
    assert quick.run("check").code == 0
    quick.items("slow")
    process = quick.start("run", "--items", "i", "--job", "hold", *HOLD)
    until(lambda: quick.lines("begun"))
    assert quick.run("check", "hold").code == 0
    opened(quick)
    assert process.wait() == 0


@pytest.mark.parametrize(
    "words",
    [["status"], ["status", "--failed"], ["status", "--pending"], ["explain", "c"], ["export"], ["results"], ["log"]],
    ids=" ".join,
)
def test_what_is_read_of_a_damaged_journal_is_never_given_for_the_whole(quick: Quick, words: list[str]) -> None:
    """It is shown all the same, and the line that is lost is named beside it."""
    ran(quick, *"abcdef")
    data = quick.journal().read_bytes()
    quick.journal().write_bytes(data.replace(b'"id":"a"', b'"id":"A"', 1))
    told = quick.run(*words)
    assert told.code == 0 and "line 3 (byte " in told.err and "is damaged" in told.err
