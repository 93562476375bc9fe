"""After a kill -9 the commands it had started live on; whoever would run them again notices (SPEC 2.5)."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PATIENCE, Scratch, until
from faults import HOLD, named, opened

# A command that leaves a daemon behind, with its streams closed and in a session of its own.
DAEMON = 'setsid sh -c \'echo "$RESUMECTL_ITEM $$" >>daemons; until [ -e go ]; do sleep 0.1; done\' </dev/null >/dev/null 2>&1 & '
LEAVES_DAEMON = ("sh", "-c", DAEMON + 'echo "$1" >>effects; [ "$1" != stop ] || until [ -e go ]; do sleep 0.02; done', "_", "{}")


@pytest.fixture(autouse=True)
def nothing_is_left(scratch: Scratch) -> Iterator[None]:
    """Whatever a test left running sees the gate open and ends."""
    yield
    opened(scratch)


def kill_run(scratch: Scratch, *words: str) -> int:
    """Kill a run over a, b with kill -9 while its command for `a` lives on; that command's pid."""
    scratch.items("a", "b")
    process = scratch.start("run", "--items", "i", *words)
    until(lambda: scratch.lines("begun"))
    found = children_of(process.pid)
    process.kill()
    process.wait()
    assert len(found) == 1
    return found[0]


def children_of(pid: int) -> list[int]:
    """The direct children of a process, whichever of its threads started them."""
    return [int(one) for one in subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True).stdout.split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_a_run_waits_for_the_commands_of_a_killed_one_and_names_them(scratch: Scratch) -> None:
    """An item never runs beside itself: its rerun starts when the orphan has ended."""
    pid = kill_run(scratch, *HOLD)
    with open(scratch.path / "err", "wb") as err:
        process = scratch.start("run", "--items", "i", *HOLD, stderr=err)
    until(lambda: "; waiting up to 1m 00s for their end" in (scratch.path / "err").read_text())
    assert str(pid) in named((scratch.path / "err").read_text())
    assert scratch.lines("begun") == ["a"]
    opened(scratch)
    assert process.wait(PATIENCE) == 0
    assert "cut off before: a" in (scratch.path / "err").read_text()
    assert scratch.effects() == ["a", "a", "b"] and scratch.records("sh", "cut_off")[0]["why"] == "crash"


def test_whoever_would_let_an_item_run_again_exits_4_beside_an_orphan(scratch: Scratch) -> None:
    """run, --fresh, reset whole and in part, mark new; status counts, and a person's done is taken."""
    pid = kill_run(scratch, *HOLD)
    before = scratch.journal().read_bytes()
    for words in (
        ["run", "--items", "i", "--orphan-wait", "0", *HOLD],
        ["run", "--items", "i", "--orphan-wait", "0", "--fresh", *HOLD],
        ["reset", "--yes"],
        ["reset", "--cut-off", "--yes"],
        ["mark", "new", "--id", "a"],
    ):
        refused = scratch.run(*words)
        assert refused.code == 4 and str(pid) in named(refused.err), words
    assert scratch.journal().read_bytes() == before and alive(pid)
    assert scratch.has(cut_off=1, running=0, new=1)
    assert scratch.run("mark", "done", "--id", "a").code == 0


def test_orphans_kill_ends_them_first(scratch: Scratch) -> None:
    """With their groups; one that ignores TERM is killed after the grace."""
    pid = kill_run(scratch, "sh", "-c", "trap '' TERM; " + HOLD[2], "_", "{}")
    words = ["run", "--items", "i", "--orphans", "kill", "--grace", "200ms", "--max-time", "0"]
    killing = scratch.run(*words, "sh", "-c", "trap '' TERM; " + HOLD[2], "_", "{}")
    assert killing.code == 75 and not alive(pid)
    assert f"sending SIGTERM to {pid}" in killing.err and f"sending SIGKILL to {pid}" in killing.err
    assert scratch.effects() == []


def test_orphans_ignore_goes_on_beside_them_and_later_runs_still_ask(scratch: Scratch) -> None:
    """A run that is killed again must not make the first orphan be forgotten."""
    first = kill_run(scratch, *HOLD)
    scratch.write("begun", b"")
    second = kill_run(scratch, "--orphans", "ignore", *HOLD)
    refused = scratch.run("run", "--items", "i", "--orphan-wait", "0", *HOLD)
    assert refused.code == 4 and str(first) in refused.err and str(second) in refused.err
    assert list(scratch.journal().parent.glob("sh.live.*"))
    opened(scratch)
    until(lambda: not alive(first) and not alive(second))
    assert scratch.run("run", "--items", "i", "--orphan-wait", "0", *HOLD).code == 0
    assert not list(scratch.journal().parent.glob("sh.live.*"))


def test_a_daemon_that_an_ended_item_left_blocks_no_later_run(scratch: Scratch) -> None:
    """Neither after a run that ended, nor after one that was killed with kill -9."""
    scratch.items("a", "b")
    assert scratch.run("run", "--items", "i", *LEAVES_DAEMON).code == 0
    scratch.items("a", "b", "c", "stop")
    process = scratch.start("run", "--items", "i", "--orphan-wait", "0", *LEAVES_DAEMON)
    until(lambda: len(scratch.lines("daemons")) == 4)
    [command] = children_of(process.pid)
    process.kill()
    os.kill(command, signal.SIGKILL)
    until(lambda: not alive(command))
    daemons = {item: int(pid) for item, pid in map(str.split, scratch.lines("daemons"))}
    last = daemons.pop("stop")
    blocked = scratch.run("run", "--items", "i", "--orphan-wait", "0", *LEAVES_DAEMON)
    assert blocked.code == 4 and str(last) in blocked.err  # what the cut-off item left may be at work
    assert not any(str(pid) in blocked.err for pid in daemons.values())
    os.killpg(last, signal.SIGKILL)
    scratch.items("a", "b", "c", "d")
    assert scratch.run("run", "--items", "i", "--orphan-wait", "20s", *LEAVES_DAEMON).code == 0
    assert all(alive(pid) for pid in daemons.values())
    assert sorted(scratch.effects()) == ["a", "b", "c", "d", "stop"]


def test_an_orphan_is_seen_though_the_sidecars_were_deleted(scratch: Scratch) -> None:
    """Where the system shows environments they are enough."""
    pid = kill_run(scratch, *HOLD)
    for suffix in (".live", ".lock"):
        scratch.journal().with_suffix(suffix).unlink()
    refused = scratch.run("run", "--items", "i", "--orphan-wait", "0", *HOLD)
    assert refused.code == 4 and str(pid) in refused.err


def test_nothing_is_waited_for_when_the_killed_run_left_nothing(scratch: Scratch) -> None:
    """The command died too (out of memory, a reboot): its item is cut off and runs again at once."""
    scratch.items("a", "b")
    crash = 'echo "$1" >>effects; [ -e up ] || { touch up; kill -9 $PPID; kill -9 $$; }'
    assert scratch.start("run", "--items", "i", "sh", "-c", crash, "_", "{}").wait(PATIENCE) == -signal.SIGKILL
    again = scratch.run("run", "--items", "i", "sh", "-c", crash, "_", "{}")
    assert again.code == 0 and "still live" not in again.err and scratch.effects() == ["a", "a", "b"]
