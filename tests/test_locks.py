"""One writer (SPEC 2.5): a second run steps back, and a lock that can't be had is never called another run."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

from conftest import PATIENCE, Scratch, until
from faults import HOLD, opened, patched

NO_LOCKS = """
import errno, portalocker
def refuse(*_):
    raise portalocker.LockException(OSError(errno.ENOLCK, "No locks available"))
portalocker.lock = refuse
"""


def holding(scratch: Scratch, *words: str) -> subprocess.Popen[bytes]:
    """A run over a, b that has got as far as its first item."""
    scratch.items("a", "b")
    process = scratch.start("run", "--items", "i", *words, *HOLD)
    until(lambda: scratch.lines("begun"))
    return process


def test_a_second_run_exits_4_and_names_the_first(scratch: Scratch) -> None:
    """Pid, host and start, in one line; mark and reset step back too, status does not need the lock."""
    process = holding(scratch)
    for words in (["run", "--items", "i", *HOLD], ["mark", "done", "--id", "b"], ["reset", "--yes"]):
        refused = scratch.run(*words)
        assert refused.code == 4 and len(refused.err.splitlines()) == 1
        assert f"in use by pid {process.pid} on {socket.gethostname()} since 2" in refused.err
    status = scratch.status()
    assert (status["state"], status["pid"]) == ("running", process.pid)
    opened(scratch)
    assert process.wait(PATIENCE) == 0 and scratch.effects() == ["a", "b"]


def test_a_second_run_may_wait_for_the_first(scratch: Scratch) -> None:
    """With --lock-wait; then it finds everything done."""
    process = holding(scratch)
    waiting = scratch.start("run", "--items", "i", "--lock-wait", "1m", *HOLD, stderr=subprocess.PIPE)
    opened(scratch)
    _, err = waiting.communicate(timeout=PATIENCE)
    assert process.wait(PATIENCE) == 0 and waiting.returncode == 0 and b"nothing to do" in err
    assert scratch.effects() == ["a", "b"]


def test_probes_of_status_are_no_obstacle(scratch: Scratch) -> None:
    """An agent that polls `status` must not keep a run from starting."""
    scratch.items("a")
    scratch.run("mark", "done", "--id", "z", "--job", "sh")
    opened(scratch)
    over = threading.Event()
    polling = threading.Thread(target=probe, args=(scratch.journal().parent / "sh.lock", over))
    polling.start()
    try:
        assert [scratch.run("run", "--items", "i", *HOLD).code for _ in range(2)] == [0, 0]
    finally:
        over.set()
        polling.join()


def probe(lock: Path, over: threading.Event) -> None:
    """Hold the lock for some milliseconds, again and again, longer than `status` ever does."""
    while not over.is_set():
        with open(lock, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            over.wait(0.005)
        over.wait(0.005)


def test_a_run_is_safe_though_its_lock_file_was_deleted(scratch: Scratch) -> None:
    """A second one gets a lock of its own, and then sees that the first lives."""
    process = holding(scratch)
    (scratch.journal().parent / "sh.lock").unlink()
    refused = scratch.run("run", "--items", "i", "--orphan-wait", "0", *HOLD)
    assert refused.code == 4 and str(process.pid) in refused.err
    opened(scratch)
    assert process.wait(PATIENCE) == 0 and scratch.effects() == ["a", "b"]


def test_a_lock_that_the_file_system_refuses_is_exit_74(scratch: Scratch) -> None:
    """ENOLCK (some network file systems) is said as it is: waiting for another run would be in vain."""
    scratch.items("a")
    refused = scratch.run("run", "--items", "i", "--lock-wait", "1h", *HOLD, env=patched(scratch, NO_LOCKS))
    assert refused.code == 74 and "No locks available" in refused.err and "in use" not in refused.err
    assert "Traceback" not in refused.err and scratch.lines("begun") == []


def test_a_lock_of_a_dead_run_is_no_lock(scratch: Scratch) -> None:
    """Its file stays, with the note of who held it; nothing has to be removed by hand."""
    process = holding(scratch)
    process.kill()
    process.wait()
    opened(scratch)
    until(lambda: scratch.effects() == ["a"])
    assert scratch.has(cut_off=1, running=0)
    assert scratch.run("run", "--items", "i", *HOLD).code == 0


def test_what_is_made_is_private(scratch: Scratch) -> None:
    """The directory is 0700, its files 0600, whatever the umask; git does not see them."""
    scratch.items("a")
    options: dict[str, Any] = {"preexec_fn": lambda: os.umask(0)}
    assert scratch.run("run", "true", stdin=b"a\n", **options).code == 0
    where = scratch.journal().parent
    assert where.stat().st_mode & 0o777 == 0o700
    files = {path.name: path.stat().st_mode & 0o777 for path in where.iterdir()}
    assert set(files.values()) == {0o600} and {"true.jsonl", "true.lock", "true.live", "true.items"} <= files.keys()
    assert (where / ".gitignore").read_text() == "*\n"
