"""A signal stops a run without losing or repeating anything, and ends it by itself (SPEC 2.11)."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import APPEND, PATIENCE, PROGRAM, Scratch, until
from faults import HOLD, WAITING, opened

INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
# Each writes the name of the signal that it got.  `polite` ends well after it, `deaf` goes on.
TRAPS = 'for s in INT TERM HUP; do trap "echo $s >>got; {after}" $s; done; ' + WAITING
POLITE = ("sh", "-c", TRAPS.format(after="exit 0") + 'echo "$1" >>effects', "_", "{}")
DEAF = ("sh", "-c", TRAPS.format(after=":"), "_", "{}")


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """A test run in the background may have been started with SIGINT ignored, and its children too."""
    before = signal.signal(INT, signal.default_int_handler)
    yield
    signal.signal(INT, before)


class Running:
    """A run over a, b, c that has got as far as its first item; `err` is what it says."""

    def __init__(self, scratch: Scratch, *words: str, **options: Any) -> None:
        scratch.items("a", "b", "c")
        self.scratch = scratch
        with open(scratch.path / "err", "wb") as err:
            self.process = scratch.start("run", "--items", "i", *words, stderr=err, **options)
        until(lambda: scratch.lines("begun"))

    @property
    def err(self) -> str:
        return (self.scratch.path / "err").read_text()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        return self.process.wait(PATIENCE)

    def why(self) -> list[str]:
        return [record["why"] for record in self.scratch.records("sh", "cut_off", "end")]


def test_the_first_interrupt_lets_what_runs_end_and_starts_nothing_more(scratch: Scratch) -> None:
    """It says how many run and that a second one stops them; then the run ends by SIGINT itself."""
    running = Running(scratch, "-j", "2", *HOLD)
    until(lambda: len(scratch.lines("begun")) == 2)
    running.send(INT)
    until(lambda: "interrupted: 2 running" in running.err and "again" in running.err)
    opened(scratch)
    assert running.end() == -INT
    assert sorted(scratch.effects()) == ["a", "b"] and running.why() == ["sigint"]
    assert scratch.has(done=2, new=1, cut_off=0)


def test_the_second_interrupt_sends_what_the_terminal_would_have_sent(scratch: Scratch) -> None:
    """A command that ends in order after it proves nothing: it is cut off whatever its exit code."""
    running = Running(scratch, *POLITE)
    running.send(INT)
    until(lambda: "interrupted: 1 running" in running.err)
    running.send(INT)
    assert running.end() == -INT
    assert scratch.lines("got") == ["INT"] and running.why() == ["sigint", "sigint"]
    opened(scratch)
    again = scratch.run("run", "--items", "i", *POLITE)
    assert again.code == 0 and "cut off before: a" in again.err and scratch.effects() == ["a", "b", "c"]


def test_the_third_interrupt_kills_at_once(scratch: Scratch) -> None:
    """However long the grace."""
    running = Running(scratch, "--grace", "1h", *DEAF)
    running.send(INT)
    until(lambda: "interrupted" in running.err)
    running.send(INT)
    until(lambda: scratch.lines("got") == ["INT"])
    running.send(INT)
    assert running.end() == -INT
    assert scratch.records("sh", "cut_off")[0]["rc"] == -signal.SIGKILL


@pytest.mark.parametrize("number", [TERM, HUP])
def test_term_and_hang_up_tell_the_commands_to_go_and_kill_after_the_grace(scratch: Scratch, number: int) -> None:
    """Commands get TERM in both cases; a supervisor that repeats itself does not put the KILL off."""
    running = Running(scratch, "--grace", "500ms", *DEAF)
    running.send(number)
    until(lambda: scratch.lines("got"))
    while running.process.poll() is None:
        running.send(number)
        try:
            running.process.wait(0.1)
        except subprocess.TimeoutExpired:
            assert len(scratch.lines("got")) < 100
    assert running.end() == -number and set(scratch.lines("got")) == {"TERM"}
    assert running.why() == [signal.Signals(number).name.lower()] * 2
    assert "1 cut off" in running.err and "to continue: " in running.err


def test_a_run_that_was_told_to_stop_ends_by_the_signal_even_if_its_last_item_ended_well(scratch: Scratch) -> None:
    """Else a loop around it would go on; the next run finds nothing left to do."""
    scratch.items("a")
    process = scratch.start("run", "--items", "i", *HOLD)
    until(lambda: scratch.lines("begun"))
    process.send_signal(INT)
    opened(scratch)
    assert process.wait(PATIENCE) == -INT and scratch.effects() == ["a"]
    assert scratch.run("run", "--items", "i", *HOLD).code == 0


def test_a_signal_that_was_ignored_at_the_start_stays_ignored(scratch: Scratch) -> None:
    """nohup, and background jobs of a script."""

    def ignore() -> None:
        for number in (INT, HUP):
            signal.signal(number, signal.SIG_IGN)

    running = Running(scratch, *HOLD, preexec_fn=ignore)
    running.send(INT)
    running.send(HUP)
    opened(scratch)
    assert running.end() == 0 and scratch.effects() == ["a", "b", "c"]
    assert "interrupted" not in running.err


def test_a_wait_of_our_own_ends_at_once(scratch: Scratch) -> None:
    """For the lock, for orphans of a killed run, for more of the list."""
    running = Running(scratch, *HOLD)
    waiting = scratch.start("run", "--items", "i", "--lock-wait", "1h", *HOLD)
    until(lambda: catches(waiting.pid, TERM), "a handler")
    waiting.send_signal(TERM)
    assert waiting.wait(PATIENCE) == -TERM
    running.process.kill()
    running.process.wait()
    with open(scratch.path / "orphans", "wb") as err:
        waiting = scratch.start("run", "--items", "i", "--orphan-wait", "1h", *HOLD, stderr=err)
    until(lambda: "still live" in (scratch.path / "orphans").read_text())
    waiting.send_signal(INT)
    assert waiting.wait(PATIENCE) == -INT
    opened(scratch)
    read, write = os.pipe()
    waiting = scratch.start("run", "--job", "stream", *APPEND, stdin=read)
    os.write(write, b"x\n")
    until(lambda: scratch.effects().count("x"))
    waiting.send_signal(HUP)
    assert waiting.wait(PATIENCE) == -HUP


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal (it is past its start then)."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> number - 1 & 1)


def test_a_shell_loop_around_a_run_stops_with_it(scratch: Scratch) -> None:
    """The shell sees that its command died of the interrupt that it got as well."""
    scratch.items("a", "b")
    loop = 'for n in 1 2 3; do "$@"; echo next >>loop; done'
    words = [*PROGRAM, "run", "--items", "i", *HOLD]
    shell = subprocess.Popen(
        ["bash", "-c", loop, "_", *words], cwd=scratch.path, env=scratch.env, start_new_session=True, stderr=subprocess.DEVNULL
    )
    until(lambda: scratch.lines("begun"))
    os.killpg(shell.pid, INT)
    opened(scratch)
    assert shell.wait(PATIENCE) == -INT and scratch.lines("loop") == []


def test_ctrl_c_ends_the_program_by_its_signal_also_while_it_loads(scratch: Scratch) -> None:
    """An exception in the midst of an import would be anything: a traceback, an exit code, a crash."""
    code = "import orjson, os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    (scratch.path / "site").mkdir()
    (scratch.path / "site" / "typer.py").write_text(code)
    env = {"PYTHONPATH": f"{scratch.path / 'site'}{os.pathsep}{scratch.env['PYTHONPATH']}"}
    ended = scratch.run("status", env=env)
    assert ended.code == -signal.SIGINT and ended.err == ""
