"""Standard output and standard error may be closed, full, stalled or left by their reader (SPEC 2.9)."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

import pytest
from conftest import APPEND, PATIENCE, PROGRAM, Scratch, until
from faults import patched
from shell import typed

ECHO = "sh -c 'echo \"$1\"; echo \"$1\" >>effects' _ {}"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_closed_stream_costs_its_words_and_nothing_else(scratch: Scratch, closed: str) -> None:
    """No file of ours gets its number: what a command prints must never end up in the journal."""
    scratch.items("a", "b")
    assert typed(scratch, f"resumectl run --items i {ECHO} {closed}").code == 0
    assert scratch.effects() == ["a", "b"]
    assert {record["t"] for record in scratch.records("sh")} == {"header", "run", "started", "done", "end"}
    assert len(scratch.journal().read_bytes().splitlines()) == len(scratch.records("sh"))


def test_a_reader_that_leaves_stops_the_run_by_sigpipe(scratch: Scratch) -> None:
    """`| head`: start nothing more, record what ended, end as others do; the next run goes on."""
    scratch.items(*map(str, range(3000)))
    piped = typed(scratch, f"resumectl run --items i {ECHO} | head -n 1; echo ${{PIPESTATUS[0]}}", shell="bash")
    assert piped.out == b"0\n141\n" and "Traceback" not in piped.err
    began = len(scratch.effects())
    assert 1 <= began < 3000
    assert scratch.records("sh", "end")[0]["why"] == "sigpipe"
    assert scratch.has(done=began, cut_off=0)
    assert "to continue" in piped.err


def test_a_report_may_be_cut_by_its_reader(scratch: Scratch) -> None:
    """`status --done | head -c 1` says nothing about a broken pipe."""
    scratch.items(*map(str, range(30_000)))
    scratch.run("mark", "done", "--items", "i", "--job", "a")
    for reader in ("head -c 1", "true"):
        cut = typed(scratch, f"resumectl status --done | {reader} >/dev/null; echo ${{PIPESTATUS[0]}}", shell="bash")
        assert (cut.out, cut.err) == (b"141\n", "")


def test_an_output_that_is_full_is_said_and_loses_no_record(scratch: Scratch) -> None:
    """What the commands print can't be written: 74, and what ended stays done."""
    scratch.items("a", "b", "c")
    full = typed(scratch, f"resumectl run --items i {ECHO} >/dev/full")
    assert full.code == 74 and "No space left on device" in full.err
    assert scratch.has(done=len(scratch.effects())) and scratch.effects()
    assert typed(scratch, f"resumectl run --items i {ECHO} >out").code == 0
    assert scratch.effects() == ["a", "b", "c"]


REPORTS = [
    *["status", "status --json", "status --failed", "log", "log --json", "results", "export", "explain a", "check", "path"],
    *["presets", "--version", "--help", "status --help", "status --done --json"],
]


def test_a_report_that_can_not_be_written_is_no_success_and_no_bug(scratch: Scratch) -> None:
    """Its file system is full: 74, one line, for every command that prints; also where the last bytes alone are lost."""
    scratch.items("a", "b")
    scratch.run("run", "-a", "i", "sh", "-c", '[ "$1" = a ] && echo "$1"', "_", "{}")
    for report in REPORTS:
        full = typed(scratch, f"resumectl {report} >/dev/full")
        said = "resumectl: standard output: No space left on device; make room and ask again\n"
        assert (full.code, full.err) == (74, said), report


def test_a_report_is_whole_where_its_reader_is_slow_and_the_pipe_does_not_block(scratch: Scratch) -> None:
    """A parent that shares the pipe may have made it so."""
    ids = [str(n) for n in range(30_000)]
    scratch.items(*ids)
    scratch.run("mark", "done", "--items", "i", "--job", "a")
    read, write = os.pipe()
    os.set_blocking(write, False)
    with suppress(BlockingIOError):
        while True:
            os.write(write, b"\n" * 4096)
    noted = "import select\nask = select.select\nselect.select = lambda *a: (open('waits', 'w'), ask(*a))[1]"
    process = scratch.start("status", "--done", stdout=write, env=patched(scratch, noted))
    os.close(write)
    until(lambda: (scratch.path / "waits").exists() or process.poll() is not None)
    with open(read) as reader:
        assert reader.read().split() == ids and process.wait(PATIENCE) == 0


def test_a_reader_that_stalls_does_not_stop_the_recording(scratch: Scratch) -> None:
    """At 64 + 2j unprinted items nothing new starts; a signal ends the wait and the rest is counted."""
    scratch.items(*map(str, range(200)))
    read, write = os.pipe()
    words = ["run", "--items", "i", "sh", "-c", 'echo "$1" >>effects; head -c 100000 /dev/zero', "_", "{}"]
    with open(scratch.path / "err", "wb") as err:
        process = scratch.start(*words, stdout=write, stderr=err)
    os.close(write)
    until(lambda: len(scratch.effects()) >= 66)
    until(lambda: len(scratch.records("sh", "done")) >= 66)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == -signal.SIGINT
    os.close(read)
    err, done = (scratch.path / "err").read_text(), len(scratch.effects())
    assert done < 70 and f"the output of {done} ended items was not printed" in err
    assert f"{done}/200 done" in err and "to continue: " in err
    assert scratch.has(done=done, cut_off=0)


def test_the_end_waits_for_a_slow_reader(scratch: Scratch) -> None:
    """Every byte arrives; and the words of resumectl never stand among them."""
    scratch.items(*"abc")
    slow = "(read line; until [ -e go ]; do sleep 0.02; done; echo \"$line\"; cat)"
    line = f"resumectl run --items i {ECHO} 2>err | {slow} & until grep -q 3/3 err; do sleep 0.02; done; touch go; wait"
    ended = typed(scratch, line)
    assert (ended.code, ended.out) == (0, b"a\nb\nc\n")


def test_a_non_blocking_output_is_written_whole(scratch: Scratch) -> None:
    """Whoever gave us the pipe may have made it non-blocking."""
    scratch.items("a")
    read, write = os.pipe()
    os.set_blocking(write, False)
    process = scratch.start("run", "--items", "i", "sh", "-c", "head -c 500000 /dev/zero", stdout=write)
    os.close(write)
    with open(read, "rb") as pipe:
        assert len(pipe.read()) == 500_000
    assert process.wait(PATIENCE) == 0


def test_version_and_path_go_to_standard_output(scratch: Scratch) -> None:
    """For scripts; help names the exit codes."""
    scratch.run("mark", "done", "--id", "a", "--job", "one")
    assert scratch.run("path").out == os.fsencode(scratch.journal("one")) + b"\n"
    assert scratch.run("--version").out.startswith(b"resumectl ")
    help = subprocess.run([*PROGRAM, "run", "--help"], env=scratch.env, capture_output=True).stdout
    assert all(code in help for code in (b"65 ", b"74 ", b"75 ", b"126/127"))
    assert scratch.run("run", "--job", "x", "--items", "i", *APPEND).code == 2


def test_a_reader_of_the_help_may_leave(scratch: Scratch) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([*PROGRAM, "run", "--help"], stdout=write, stderr=subprocess.PIPE, cwd=scratch.path, env=scratch.env, check=False)
    os.close(write)
    assert ended.returncode == -signal.SIGPIPE and not ended.stderr
