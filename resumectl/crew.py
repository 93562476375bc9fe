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
    """Runs `work(job, leash)` in a thread for each slot; each outcome goes into the inbox.

    A bug in `work` goes there too, as the exception that it is.
    """

    def __init__(self, work: Work, inbox: SimpleQueue[Any]) -> None:
        self._work, self._inbox = work, inbox
        self._jobs: dict[int, SimpleQueue[tuple[Job[Any], Leash]]] = {}  # slot → what its thread waits for
        self._leashes: dict[int, Leash] = {}  # slot → leash of what runs there

    def start(self, job: Job[Any]) -> None:
        """Hand a job to its slot's thread; the slot must be free."""
        leash = self._leashes[job.slot] = Leash()
        jobs = self._jobs.get(job.slot) or self._thread(job.slot)
        jobs.put((job, leash))

    def _thread(self, slot: int) -> SimpleQueue[tuple[Job[Any], Leash]]:
        jobs = self._jobs[slot] = SimpleQueue()
        previous = threading.stack_size(STACK)
        threading.Thread(target=self._run, args=(jobs,), name=f"slot {slot}", daemon=True).start()
        threading.stack_size(previous)
        return jobs

    def drain(self) -> None:
        """Nothing to do: what was started here has begun."""

    def stop(self, signum: int) -> None:
        """Signal what runs; what has not begun never begins."""
        for leash in list(self._leashes.values()):
            leash.stop(signum)

    def _run(self, jobs: SimpleQueue[tuple[Job[Any], Leash]]) -> None:
        while True:
            job, leash = jobs.get()
            try:
                outcome: Outcome[Any] | BaseException = self._work(job, leash)
            except BaseException as error:
                outcome = error
            self._leashes.pop(job.slot, None)
            self._inbox.put(outcome)
