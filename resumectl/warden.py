"""Ends what a killed worker leaves behind: a process of its own that knows which commands run, and sees the worker's end.

A worker that gets a KILL (a nanny sends one when memory runs out) can end nothing
itself.  Its warden reads from a pipe which process groups run; when the pipe ends, so
has the worker, and what still runs is told to go, and killed.

This file is also the warden's program, so it needs nothing but the standard library
for that.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable

GRACE = 5.0  # seconds between TERM and KILL
POLL = 0.05  # seconds between two looks at groups that were told to go


class Warden:
    """The worker's end of it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # what is sent to the worker's group must not reach it
            bufsize=0,
        )
        assert self._process.stdin is not None
        self._pipe = self._process.stdin
        os.set_blocking(self._pipe.fileno(), False)

    def tell(self, sign: bytes, group: int) -> None:
        """A group has begun (`+`) or ended (`-`).  A warden that does not listen would kill strangers one day, so it goes."""
        if self._pipe.closed:
            return
        try:
            os.write(self._pipe.fileno(), b"%s%d\n" % (sign, group))
        except OSError:
            self._process.kill()

    def close(self) -> None:
        """The worker ends: what it has not ended by now, the warden does."""
        self._pipe.close()


def running(lines: Iterable[bytes]) -> set[int]:
    """The groups that have begun and not ended, by what was told."""
    groups: set[int] = set()
    for line in lines:
        (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    return groups


def end(groups: set[int], grace: float = GRACE) -> None:
    """Tell them to go, and kill what has not gone within its grace (seconds)."""
    groups = _sent(groups, signal.SIGTERM)
    late = time.monotonic() + grace
    while groups and time.monotonic() < late:
        time.sleep(POLL)
        groups = _sent(groups, 0)
    _sent(groups, signal.SIGKILL)


def _sent(groups: set[int], number: int) -> set[int]:
    """Those that a signal reached."""
    reached = set()
    for group in groups:
        try:
            os.killpg(group, number)
            reached.add(group)
        except OSError:
            continue
    return reached


if __name__ == "__main__":
    end(running(sys.stdin.buffer))
