"""Commands that behave badly (SPEC 2.3, 2.7, 8): nothing of them hangs, floods or outlives a run."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import PROGRAM, Scratch, until
from faults import patched, peak_memory

DEAF_FAMILY = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ >>pids; while :; do sleep 0.05; done' & echo $$ >>pids; wait"
FLOOD = 'head -c 1G /dev/zero; head -c 64M /dev/zero >&2; exit "$1"'


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_a_command_that_ignores_term_is_killed_with_its_whole_family(scratch: Scratch) -> None:
    """After a timeout nothing of an item runs beside its retry; the item failed, its time was up."""
    scratch.items("a")
    ended = scratch.run("run", "--items", "i", "--timeout", "300ms", "--grace", "200ms", "sh", "-c", DEAF_FAMILY, "_", "{}")
    assert ended.code == 1 and scratch.records("sh", "failed")[0]["why"] == "timeout"
    pids = [int(pid) for pid in scratch.lines("pids")]
    assert len(pids) == 2 and not any(map(running, pids))


def test_commands_are_waited_for_where_no_system_call_can_wait_without_collecting(scratch: Scratch) -> None:
    """As on macOS before Python 3.13: neither a pidfd nor waitid."""
    scratch.items("good", "bad", "deaf")
    script = f'case "$1" in good) exit 0;; bad) exit 3;; *) {DEAF_FAMILY};; esac'
    env = patched(scratch, "import os\ndel os.pidfd_open, os.waitid")
    ended = scratch.run("run", "-a", "i", "--timeout", "300ms", "--grace", "200ms", "sh", "-c", script, "_", "{}", env=env)
    assert ended.code == 1 and "Traceback" not in ended.err
    ends = {record["id"]: record for record in scratch.records("sh", "done", "failed")}
    assert (ends["good"]["rc"], ends["bad"]["rc"], ends["deaf"]["why"]) == (0, 3, "timeout")
    assert not any(running(int(pid)) for pid in scratch.lines("pids"))


def test_a_silent_command_is_stopped_by_its_idle_timeout_and_a_talking_one_is_not(scratch: Scratch) -> None:
    """Either stream counts."""
    scratch.items("talks", "silent")
    script = 'case "$1" in talks) for n in 1 2 3 4 5 6; do echo $n >&2; sleep 0.15; done;; *) sleep 60;; esac'
    ended = scratch.run("run", "--items", "i", "--idle-timeout", "600ms", "sh", "-c", script, "_", "{}")
    assert ended.code == 1 and scratch.run("status", "--failed").out == b"silent\n"


def test_a_command_that_dies_of_a_signal_is_cut_off(scratch: Scratch) -> None:
    """Of HUP INT QUIT KILL TERM, whoever sent it; of another one it has failed, and that is named."""
    scratch.items("HUP", "INT", "QUIT", "KILL", "TERM", "SEGV")
    ended = scratch.run("run", "--items", "i", "sh", "-c", 'ulimit -c 0; kill -"$1" $$', "_", "{}")
    assert ended.code == 1 and "5 cut off" in ended.err and "failed SEGV: " in ended.err
    assert scratch.run("status", "--failed").out == b"SEGV\n"


def test_a_command_may_leave_a_daemon_behind_and_close_its_streams(scratch: Scratch) -> None:
    """The leader's exit ends the item, though a grandchild keeps the streams open; what it printed is whole."""
    scratch.items("daemon", "closes")
    script = 'echo "$1"; [ "$1" != daemon ] || { sleep 30 & echo $! >pid; }; [ "$1" != closes ] || exec >&- 2>&- <&-; exit 0'
    ended = scratch.run("run", "--items", "i", "sh", "-c", script, "_", "{}")
    assert (ended.code, ended.out) == (0, b"daemon\ncloses\n")
    pid = int(scratch.lines("pid")[0])
    assert running(pid)
    os.kill(pid, 9)


def test_a_command_reads_nothing_of_ours(scratch: Scratch) -> None:
    """Its standard input is empty, so a read loop around resumectl goes on."""
    scratch.items("a")
    loop = 'while read line; do echo "$line" >>loop; "$@"; done'
    words = [*PROGRAM, "run", "--items", "i", "sh", "-c", "cat >>got", "_", "{}"]
    subprocess.run(
        ["sh", "-c", loop, "_", *words], input=b"L1\nL2\n", cwd=scratch.path, env=scratch.env, capture_output=True
    )
    assert scratch.lines("loop") == ["L1", "L2"] and (scratch.path / "got").read_bytes() == b""


def test_two_streams_of_megabytes_pass_without_a_standstill(scratch: Scratch) -> None:
    """Each in one piece; binary, and without a last newline."""
    scratch.items("1", "2")
    script = 'head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; printf "%s" "$1"'
    ended = scratch.run("run", "--items", "i", "-j", "2", "sh", "-c", script, "_", "{}")
    assert ended.code == 0 and len(ended.out) == 6_000_002
    assert sorted(ended.out.replace(b"\0", b"")) == [ord("1"), ord("2")]


@pytest.mark.slow
def test_a_flood_lives_on_the_disk_and_not_in_memory(scratch: Scratch) -> None:
    """A gigabyte of output of a command that ends well, and of one that fails."""
    scratch.items("0", "3")
    process = scratch.start("run", "--items", "i", "sh", "-c", FLOOD, "_", "{}")
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_memory(process.pid))
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    assert process.returncode == 1 and 0 < peak < 150, peak
    assert scratch.has(done=1, failed=1)


@pytest.mark.slow
def test_hundreds_of_items_need_few_descriptors(scratch: Scratch) -> None:
    """Constant resources per item; what can't be had is refused before anything runs, with the way out."""
    scratch.items(*map(str, range(150)))
    words = [*PROGRAM, "run", "--items", "i"]
    few = subprocess.run(["sh", "-c", 'ulimit -n 40; exec "$@"', "_", *words, "true"], cwd=scratch.path, env=scratch.env, capture_output=True)
    assert few.returncode == 0, few.stderr
    many = subprocess.run(
        ["sh", "-c", 'ulimit -n 200; exec "$@"', "_", *words, "--job", "b", "-j", "2000", "true"],
        cwd=scratch.path, env=scratch.env, capture_output=True,
    )
    assert many.returncode == 2 and b"limit is 200; lower -j, or raise ulimit -n" in many.stderr
    assert not scratch.journal("b").exists()


def let_through(gate: Path) -> None:
    """Wake all that wait in opening a named pipe; they read its end."""
    with suppress(OSError):  # nobody waits there
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))


@pytest.mark.slow
def test_two_thousand_slots_run_at_once(scratch: Scratch) -> None:
    """All have begun before any may end."""
    count = 2000
    scratch.items(*map(str, range(count)))
    os.mkfifo(scratch.path / "gate")
    script = 'echo "$1" >>effects; read x <gate; exit 0'
    process = scratch.start("run", "--items", "i", "-j", str(count), "sh", "-c", script, "_", "{}")
    until(lambda: len(scratch.effects()) == count)
    assert scratch.has(running=count)
    until(lambda: let_through(scratch.path / "gate") or process.poll() is not None)
    assert process.returncode == 0
    assert len(set(scratch.effects())) == count
