"""Where jobs run: threads on this machine, each with one child at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from .child import Leash
from .job import Job, Outcome

STACK = 1 << 20  # bytes: two thousand slots must not need two thousand default stacks
Work = Callable[[Job[Any], Leash], Outcome[Any]]


class Threads:
    """Runs `work(job, leash)` in up to `slots` threads; each outcome goes into the inbox.

    A bug in `work` goes there too, as the exception that it is.
    """

    def __init__(self, work: Work, slots: int, inbox: SimpleQueue[Any]) -> None:
        self._work, self._slots, self._inbox = work, slots, inbox
        self._jobs: SimpleQueue[tuple[Job[Any], Leash] | None] = SimpleQueue()
        self._leashes: dict[int, Leash] = {}  # slot → leash of what runs there
        self._threads = 0
        self._idle = 0
        self._lock = threading.Lock()

    def start(self, job: Job[Any]) -> None:
        """Hand a job to a thread; its slot must be free."""
        leash = self._leashes[job.slot] = Leash()
        with self._lock:
            spare = self._idle > 0
            self._idle -= spare
        if not spare and self._threads < self._slots:
            self._threads += 1
            previous = threading.stack_size(STACK)
            threading.Thread(target=self._run, name=f"slot {self._threads}", daemon=True).start()
            threading.stack_size(previous)
        self._jobs.put((job, leash))

    def drain(self) -> None:
        """Nothing to do: what was started here has begun."""

    def stop(self, signum: int) -> None:
        """Signal what runs; what has not begun never begins."""
        for leash in list(self._leashes.values()):
            leash.stop(signum)

    def _run(self) -> None:
        while (task := self._jobs.get()) is not None:
            job, leash = task
            try:
                outcome: Outcome[Any] | BaseException = self._work(job, leash)
            except BaseException as error:
                outcome = error
            self._leashes.pop(job.slot, None)
            with self._lock:
                self._idle += 1
            self._inbox.put(outcome)
