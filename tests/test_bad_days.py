"""The disk fills, goes read-only or away; somebody else touches the journal; the clock jumps (SPEC 8)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import APPEND, PATIENCE, Scratch, until
from faults import HOLD, bound, filled, opened, patched, small_disk

# Item 2 takes the journal's directory away, unless that is mended.
TAKES_AWAY = 'echo "$1" >>effects; [ "$1" != 2 ] || [ -e mended ] || '

JUMP_BACK = """
import time
now, calls = time.time, [0]
def earlier():
    calls[0] += 1
    return now() - 3600 * calls[0]
time.time = earlier
"""
FAIL_ONE_SYNC = """
import os
sync, calls = os.fdatasync, [0]
def fail(fd):
    calls[0] += 1
    if calls[0] == 7:
        raise OSError(5, "Input/output error")
    sync(fd)
os.fdatasync = fail
"""


def unrecorded(err: str) -> list[str]:
    """The ids that a run named because their end is not in the journal."""
    lines = [line for line in err.splitlines() if line.startswith("ended but not recorded: ")]
    return lines[0].partition(": ")[2].split(", ") if lines else []


def test_a_full_disk_stops_the_run_and_with_room_again_the_rest_is_done(scratch: Scratch) -> None:
    """A short write, then ENOSPC: exit 74, what is not recorded is named, and only that runs again, announced."""
    ids = [f"item-{number}" for number in range(80)]
    scratch.items(*ids)
    with small_disk(scratch.path / "small") as disk:
        words = ("run", "--items", "i", "--journal", "small/j.jsonl", *APPEND)
        scratch.run(*words[:-5], "--max-items", "1", *APPEND)
        ballast = filled(disk)
        full = scratch.run(*words)
        assert full.code == 74 and "No space left on device; starting nothing more" in full.err
        assert "Traceback" not in full.err and "resumectl: " in full.err
        before, lost = scratch.effects(), unrecorded(full.err)
        assert 1 < len(before) < len(ids) and lost == before[-1:]
        assert scratch.run(*words).code == 74 and scratch.effects() == before
        ballast.unlink()
        again = scratch.run(*words)
        repeated = [id for id in lost if f"cut off before: {id}\n" in again.err]  # unless its line was whole after all
        assert again.code == 0 and scratch.effects() == [*before, *repeated, *ids[len(before) :]]


def test_a_command_that_finds_no_room_for_its_output_is_not_taken_for_done(scratch: Scratch) -> None:
    """What the command itself could not write is its own failure; the journal lives elsewhere in it."""
    scratch.items("a")
    with small_disk(scratch.path / "small", pages=64) as disk:
        filled(disk, leave=16384)
        flood = scratch.run("run", "--items", "i", "--journal", "small/j.jsonl", "head", "-c", "1000000", "/dev/zero")
        assert flood.code in (1, 74) and "Traceback" not in flood.err
        assert scratch.run("status", "--journal", "small/j.jsonl", "--done").out == b""


def test_a_read_only_disk_refuses_the_run_and_still_tells_what_is_done(scratch: Scratch) -> None:
    """No new journal and no further run; status and --dry-run only read."""
    scratch.items("a", "b")
    with small_disk(scratch.path / "small") as disk:
        words = ("--items", "i", "--journal", "small/j.jsonl", *APPEND)
        assert scratch.run("run", "--max-items", "1", *words).code == 75
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        refused = scratch.run("run", *words)
        assert refused.code == 74 and "Read-only file system" in refused.err and "Traceback" not in refused.err
        assert scratch.run("run", "--items", "i", "--journal", "small/new.jsonl", *APPEND).code == 74
        assert scratch.status("--journal", "small/j.jsonl")["counts"]["done"] == 1
        assert scratch.run("run", "--dry-run", *words).code == 0
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        assert scratch.run("run", *words).code == 0 and scratch.effects() == ["a", "b"]


def test_an_append_only_journal_is_enough(scratch: Scratch) -> None:
    """`chattr +a` is a way to protect a journal: the file only ever grows, also when a torn line is sealed."""
    scratch.items("a", "b", "c")
    scratch.run("run", "--items", "i", "--max-items", "1", *APPEND)
    with open(scratch.journal(), "ab") as journal:
        journal.write(b'{"t":"started","id":"b","a"')
    if subprocess.run(["chattr", "+a", scratch.journal()], capture_output=True).returncode:
        pytest.skip("this file system, or this user, has no append-only files")
    try:
        assert scratch.run("run", "--items", "i", *APPEND).code == 0
        refused = scratch.run("run", "--items", "i", "--fresh", *APPEND)
        assert refused.code == 74 and "not permitted" in refused.err and "Traceback" not in refused.err
        assert scratch.effects() == ["a", "b", "c"]
    finally:
        subprocess.run(["chattr", "-a", scratch.journal()], check=True)


def replace(path: Path) -> None:
    path.with_suffix(".other").write_bytes(path.read_bytes())
    os.replace(path.with_suffix(".other"), path)


def append(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b'{"t":"note","c":"00000000"}\n')


@pytest.mark.parametrize("change", [Path.unlink, replace, append])
def test_a_journal_that_somebody_else_touches_stops_the_run(scratch: Scratch, change: Callable[[Path], None]) -> None:
    """Deleted, replaced or appended to: nothing new starts, what ended unrecorded is named; others' files are left alone."""
    scratch.items("a", "b", "c")
    with open(scratch.path / "err", "wb") as err:
        process = scratch.start("run", "--items", "i", *HOLD, stderr=err)
    until(lambda: scratch.lines("begun"))
    change(scratch.journal())
    there = scratch.journal().read_bytes() if scratch.journal().exists() else None
    until(lambda: "starting nothing more" in (scratch.path / "err").read_text())
    opened(scratch)
    assert process.wait(PATIENCE) == 74
    text = (scratch.path / "err").read_text()
    assert scratch.effects() == ["a"] and str(scratch.journal()) in text
    if change is append:  # the file is still ours: what ended is recorded after all
        assert "changed by another process" in text and not unrecorded(text)
        assert scratch.run("run", "--items", "i", *HOLD).code == 0 and scratch.effects() == ["a", "b", "c"]
    else:
        assert "deleted or replaced" in text and unrecorded(text) == ["a"]
        assert (scratch.journal().read_bytes() if scratch.journal().exists() else None) == there


@pytest.mark.parametrize("how", ["rm -rf", "chmod 555"])
def test_a_journal_whose_directory_goes_away_or_is_closed_ends_with_74(scratch: Scratch, how: str) -> None:
    """There is no place for the next command's output: it never begins, and that is no bug of ours."""
    scratch.items("1", "2", "3", "4")
    command = ("sh", "-c", f"{TAKES_AWAY} {how} .resumectl", "_", "{}")
    ended = bound(scratch, "run", "--items", "i", *command)
    assert ended.code == 74 and "Traceback" not in ended.err and "starting nothing more" in ended.err
    assert scratch.effects() == ["1", "2"]
    scratch.write("mended", b"")
    if how == "chmod 555":
        scratch.journal().parent.chmod(0o700)
        assert scratch.run("run", "--items", "i", *command).code == 0
        assert scratch.effects() == ["1", "2", "3", "4"]


def test_a_directory_that_we_may_not_write_refuses_the_run(scratch: Scratch) -> None:
    """74, one line that names the place, and nothing ran; --journal is a way out."""
    scratch.items("a")
    scratch.path.chmod(0o555)
    try:
        refused = bound(scratch, "run", "--items", "i", "true")
        assert refused.code == 74 and ".resumectl: Permission denied" in refused.err
        assert len(refused.err.splitlines()) == 1
        elsewhere = scratch.path.parent / "elsewhere.jsonl"
        assert bound(scratch, "run", "--items", "i", "--journal", str(elsewhere), "true").code == 0
    finally:
        scratch.path.chmod(0o755)
    scratch.write(".resumectl", "a file stands in the way")
    refused = scratch.run("run", "--items", "i", "true")
    assert refused.code == 74 and "Not a directory" in refused.err and "Traceback" not in refused.err


def test_a_clock_that_jumps_back_changes_nothing(scratch: Scratch) -> None:
    """Order is the place in the file, never the time."""
    env = patched(scratch, JUMP_BACK)
    scratch.items("a", "b", "c")
    needs = ("sh", "-c", 'echo "$1" >>effects; [ "$1" != b ] || [ -e b ]', "_", "{}")
    assert scratch.run("run", "--items", "i", *needs, env=env).code == 1
    scratch.write("b", b"")
    assert scratch.run("run", "--items", "i", *needs, env=env).code == 0
    assert scratch.effects() == ["a", "b", "c", "b"]
    assert scratch.run("status", "--check", env=env).code == 0
    assert len({record["at"] for record in scratch.records("sh")}) > 3


def test_a_sync_that_fails_is_never_believed(scratch: Scratch) -> None:
    """A second sync is no proof: the journal is written anew, the run ends with 74, and nothing is lost."""
    scratch.items("a", "b", "c", "d", "e")
    ended = scratch.run("run", "--items", "i", *APPEND, env=patched(scratch, FAIL_ONE_SYNC))
    assert ended.code == 74 and "Input/output error; starting nothing more" in ended.err
    before = scratch.effects()
    assert 0 < len(before) < 5 and not unrecorded(ended.err)
    assert scratch.run("run", "--items", "i", *APPEND).code == 0
    assert scratch.effects() == ["a", "b", "c", "d", "e"]


def test_a_home_is_not_needed(scratch: Scratch) -> None:
    """Nor any other variable but PATH."""
    scratch.items("a")
    scratch.env = {name: scratch.env[name] for name in ("PATH", "PYTHONPATH")}
    assert scratch.run("run", "--items", "i", *APPEND).code == 0
    assert scratch.run("status").code == 0
