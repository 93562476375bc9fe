"""One child process: started in a session of its own, waited for, stopped with its group.

The leader's exit ends it.  A child that was stopped ends when its whole group is
gone, so that nothing of it runs beside its retry.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .verdict import Ended

Streams = tuple[int, int, int]  # descriptors of stdin, stdout, stderr
POLL = 0.02  # seconds between two looks at a group that was told to go; the most between two at a child


class Leash:
    """How the main thread reaches the child that a worker thread runs: `stop` is safe at any time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._group = 0  # the process group, while it may be signalled
        self.signal: int | None = None  # the first signal that we stopped it with

    def stop(self, signum: int) -> None:
        """Signal the group (a hang-up of ours is a TERM to it); a child that has not begun then never begins."""
        with self._lock:
            self.signal = self.signal or signum
            self._send(signum)

    def _send(self, signum: int) -> None:
        if self._group:
            try:
                os.killpg(self._group, signal.SIGTERM if signum == signal.SIGHUP else signum)
            except ProcessLookupError:
                pass
            except PermissionError:
                pass  # every member is a zombie (macOS) or runs as another user by now

    def begin(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes] | None:
        """Start the child unless it was stopped already; None then.  Raises what `start` raises."""
        with self._lock:
            if self.signal is not None:
                return None
            child = start()
            self._group = child.pid
            return child

    def collect(self, child: subprocess.Popen[bytes], *, wait: bool) -> bool:
        """Collect a leader that has exited, or is waited for; False if it still runs.

        Its group stays ours to signal only if it was stopped.  A zombie keeps its
        group's number from being used again, so the number is given up under the same
        lock that sends signals.
        """
        with self._lock:
            if (child.wait() if wait else child.poll()) is None:
                return False
            if self.signal is None:
                self._group = 0
            return True

    def empty(self) -> bool:
        """Whether nothing of the group is left; it can't be signalled after that."""
        with self._lock:
            if self._group:
                try:
                    os.killpg(self._group, 0)
                    return False
                except ProcessLookupError:
                    self._group = 0
                except PermissionError:
                    return False
            return True

    def zombies(self) -> bool:
        """Whether all that is left of the group is dead and only waits for a parent that never
        collects it (a container without an init); False where the system does not tell."""
        members = [stat for stat in _stats() if stat[2:3] == [b"%d" % self._group]]
        return bool(members) and all(stat[0] == b"Z" for stat in members)


def _stats() -> Iterator[list[bytes]]:
    """State, parent, group … of every process (Linux)."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                yield file.read().rpartition(b") ")[2].split()
        except (OSError, ValueError):
            continue


@dataclass(frozen=True)
class Limits:
    """Seconds: wall time, time without output, and from TERM to KILL; None is no limit."""

    timeout: float | None = None
    idle: float | None = None
    grace: float = 10.0


@dataclass(frozen=True)
class Start:
    """What to execute: argv, the file that is executed, environment, and the three streams."""

    argv: Sequence[bytes]
    executable: bytes
    environ: Mapping[bytes, bytes]
    streams: Streams
    keep_open: tuple[int, ...] = ()
    cwd: bytes | None = None  # None: our own

    def popen(self) -> subprocess.Popen[bytes]:
        """Start it.  A file without `#!` is run by /bin/sh, as execvp does.  Raises OSError, ValueError."""
        try:
            return self._popen(self.argv, self.executable)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
        return self._popen([b"/bin/sh", self.executable, *self.argv[1:]], b"/bin/sh")

    def _popen(self, argv: Sequence[bytes], executable: bytes) -> subprocess.Popen[bytes]:
        stdin, stdout, stderr = self.streams
        return subprocess.Popen(
            argv,
            executable=executable,
            env=self.environ,
            cwd=self.cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            close_fds=True,
            pass_fds=self.keep_open,
            start_new_session=True,
        )


def run(start: Start, leash: Leash, limits: Limits, *, began: float) -> Ended | None:
    """Run one child to its end; None when it was stopped before it began.

    `began` is the monotonic time from which `limits.timeout` counts (a check that
    follows a command shares its time).  Raises OSError, ValueError if it can't start.
    """
    child = leash.begin(start.popen)
    if child is None:
        return None
    timed_out = _watch(child, leash, limits, began, start.streams)
    leash.collect(child, wait=True)
    if leash.signal is not None:
        _wait_for_group(leash, limits.grace if timed_out else None)
    code = child.returncode
    stopped = None if timed_out else leash.signal
    return Ended(code if code >= 0 else None, -code if code < 0 else None, stopped, timed_out)


def _watch(child: subprocess.Popen[bytes], leash: Leash, limits: Limits, began: float, streams: Streams) -> bool:
    """Wait for the leader's exit; True when a limit passed first (then it has been told to go)."""
    wait, clock = _Waiter(child, leash), _Clock(limits, began, streams[1:])
    try:
        while (left := clock.left(time.monotonic())) is None or left > 0:
            if wait(left):
                return False
        if leash.signal is not None:  # being stopped already: whoever does that counts the grace
            wait(None)
            return False
        leash.stop(signal.SIGTERM)
        if not wait(limits.grace):
            leash.stop(signal.SIGKILL)
            wait(None)
        return True
    finally:
        wait.close()


class _Clock:
    """How long a child may still run: until its wall time is over, or its streams stood still too long."""

    def __init__(self, limits: Limits, began: float, streams: tuple[int, ...]) -> None:
        self._end = None if limits.timeout is None else began + limits.timeout
        self._idle, self._streams = limits.idle, streams
        self._sizes: tuple[int, ...] = ()
        self._grew = began

    def left(self, now: float) -> float | None:
        """Seconds until the next look is due, 0 or less when a limit has passed; None is for ever."""
        left = None if self._end is None else self._end - now
        if self._idle is None:
            return left
        sizes = tuple(os.fstat(stream).st_size for stream in self._streams)
        if sizes != self._sizes:
            self._sizes, self._grew = sizes, now
        idle = self._grew + self._idle - now
        look = min(idle, max(self._idle / 20, POLL))  # how soon growth is noticed
        return look if left is None else min(left, look)


def _wait_for_group(leash: Leash, grace: float | None) -> None:
    """Until a stopped child's group is empty.  With a grace (seconds) we send the KILL ourselves."""
    began = time.monotonic()
    killed = grace is None
    while not leash.empty():
        waited = time.monotonic() - began
        if not killed and grace is not None and waited > grace:
            leash.stop(signal.SIGKILL)
            killed = True
        if waited > 0.5 and leash.zombies():
            return
        time.sleep(POLL)


class _Waiter:
    """Waits for one exit: by pidfd where there is one, else by asking again and again, which collects it."""

    def __init__(self, child: subprocess.Popen[bytes], leash: Leash) -> None:
        self._child, self._leash = child, leash
        self._fd = -1
        if hasattr(os, "pidfd_open"):
            try:
                self._fd = os.pidfd_open(child.pid)
            except OSError:
                return
            self._poll = select.poll()
            self._poll.register(self._fd, select.POLLIN)

    def __call__(self, seconds: float | None) -> bool:
        """True when the leader has exited within the time (None: for ever)."""
        if self._fd >= 0:
            return bool(self._poll.poll(None if seconds is None else max(0.0, seconds) * 1000))
        end = None if seconds is None else time.monotonic() + seconds
        pause = POLL / 20
        while not self._leash.collect(self._child, wait=False):
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, POLL)
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
