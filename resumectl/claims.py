"""The claim ledger: lives in the Dask scheduler, and lets each attempt begin at most once.

Dask runs a task again whenever it thinks that it must: a worker that was lost or
retired, a result that went with it.  So a worker asks here before it begins, and only
the first who asks may.  `burn` is the coordinator's half of the same compare-and-set:
what nobody has claimed can then never be claimed.

The table lives as long as its scheduler; `epoch` tells one such life from another.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from distributed import SchedulerPlugin

from . import __version__

NAME = "resumectl-claims"
TOPIC = "resumectl"  # of the events: who began what, who was lost, how many slots there are
PREFIX = "resumectl-"  # of Dask's keys: one prefix, or the scheduler would keep a group for each attempt
BURNT: dict[str, Any] = {}


def key_for(attempt: str) -> str:
    """Dask's key of an attempt."""
    return PREFIX + attempt


class Claims(SchedulerPlugin):
    """The table, and the calls on it; registered by each coordinator, made once."""

    idempotent = True
    name = NAME

    def __init__(self) -> None:
        self.epoch = ""
        self._table: dict[str, dict[str, Any]] = {}
        self._settled: list[str] = []  # to be forgotten as soon as Dask has forgotten their tasks
        self._scheduler: Any = None

    async def start(self, scheduler: Any) -> None:
        """Called in the scheduler."""
        self._scheduler, self.epoch = scheduler, uuid.uuid4().hex
        for call in (self.claim, self.burn, self.forget, self.state):
            scheduler.handlers[f"resumectl_{call.__name__}"] = call
        scheduler.stream_handlers["resumectl-reply"] = self.reply

    def state(self) -> dict[str, Any]:
        """Which life of the scheduler this is, whose code, how many slots there are now."""
        return {"epoch": self.epoch, "version": __version__, "slots": self._scheduler.total_nthreads}

    def claim(self, attempt: str, worker: str, host: str, claim_id: str) -> bool:
        """Whether this worker may begin it: the first to ask, while the task is its own.

        Asking again with the same id is fine.
        """
        task = self._scheduler.tasks.get(key_for(attempt))
        if task is None or task.processing_on is None or task.processing_on.address != worker:
            return False  # given back, or moved elsewhere: this worker has not heard of it yet
        entry = {"id": claim_id, "worker": worker, "host": host, "at": time.time()}
        found = self._table.setdefault(attempt, entry)
        if found is entry:
            self._tell_waiting(task, began=attempt, **_public(entry))
        return bool(found) and found["id"] == claim_id

    def reply(self, worker: str, attempt: str, reply: bytes) -> None:
        """What came of it, from its worker to whoever waits: with the news, and not by Dask's way of
        fetching a result, which asks the scheduler and then the worker for each."""
        task = self._scheduler.tasks.get(key_for(attempt))
        if task is not None:
            self._tell_waiting(task, came=attempt, reply=reply)

    def burn(self, attempts: Sequence[str]) -> dict[str, dict[str, Any] | None]:
        """Who began each; None for those that nobody began, and nobody will."""
        found = {attempt: self._table.setdefault(attempt, BURNT) for attempt in attempts}
        return {attempt: _public(entry) if entry else None for attempt, entry in found.items()}

    def forget(self, attempts: Sequence[str]) -> None:
        """How these ended is durable.  An entry stays for as long as Dask might still run its task."""
        settled, self._settled = [*self._settled, *attempts], []
        for attempt in settled:
            if key_for(attempt) in self._scheduler.tasks:
                self._settled.append(attempt)
            else:
                self._table.pop(attempt, None)

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """Called by the scheduler."""
        self._tell(slots=scheduler.total_nthreads)

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        """Called by the scheduler: what this one had begun will not be heard of again."""
        begun = {attempt: entry for attempt, entry in self._table.items() if entry and entry["worker"] == worker}
        if begun:
            self._tell(lost=list(begun), **_public(next(iter(begun.values()))))
        self._tell(slots=scheduler.total_nthreads)

    def _tell_waiting(self, task: Any, **event: Any) -> None:
        """Tell whoever waits for a task, and keep no copy, as the scheduler does of its events."""
        self._scheduler.report({"op": "event", "topic": TOPIC, "event": (time.time(), event)}, ts=task)

    def _tell(self, **event: Any) -> None:
        self._scheduler.log_event(TOPIC, event)


def _public(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("worker", "host", "at")}
