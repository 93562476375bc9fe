"""May the next item start now, and which.  Pure: time is an argument, nothing is read or written.

Items that are new stand in list order; those that failed, were cut off twice or
more, or hit a limit stand behind all others, fewest attempts first: what is
poisoned must not come first.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

from .items import Item
from .verdict import Kind, Verdict

T = TypeVar("T")
PERSON = frozenset({"halt", "failures", "budget", "vanished", "stream"})  # the reasons that exit 3


@dataclass(frozen=True)
class Policy:
    """When to stop starting.  0 is no limit for the counts, None for the time (seconds)."""

    max_failures: int = 0
    max_consecutive_failures: int = 20
    max_items: int = 0
    max_time: float | None = None


class Pacing(Generic[T]):
    """The queue of one run and the reasons to start nothing more.

    `stop` is None while items may start, else a word of the journal's `end.why`.
    """

    def __init__(self, policy: Policy, slots: int, now: float, mean: float | None = None) -> None:
        """`mean` is the expected time of an attempt in seconds, until this run has times of its own."""
        self.policy, self.slots = policy, slots
        self.stop: str | None = None
        self.text = ""  # why it stopped, for a person
        self.running = 0
        self.closed = False  # the list has been read to its end
        self._then: tuple[str, str] | None = None  # the reason to stop when what was read has been gone through
        self._began, self._mean = now, mean
        self._first: deque[Item[T]] = deque()
        self._last: list[tuple[int, int, Item[T]]] = []
        self._order = 0
        self._started = 0
        self._ended, self._seconds = 0, 0.0
        self._failures = 0
        self._streak: list[str] = []  # the reasons of the failures in a row

    def add(self, item: Item[T]) -> None:
        """Behind the items that stand in list order."""
        self._first.append(item)

    def again(self, item: Item[T]) -> None:
        """Next of all: it has been checked and is to run after all."""
        self._first.appendleft(item)

    def defer(self, item: Item[T], attempts: int) -> None:
        """Behind all others, by how many attempts it has had."""
        self._order += 1
        heapq.heappush(self._last, (attempts, self._order, item))

    @property
    def pending(self) -> bool:
        """Whether anything that was read still waits for its start."""
        return bool(self._first or self._last)

    @property
    def hungry(self) -> bool:
        """Whether more of the list is wanted: one item ahead of the free slots."""
        return not self.closed and self.stop is None and len(self._first) <= self.slots - self.running

    def close(self, why: str | None = None, text: str = "") -> None:
        """The list is at its end; with a reason, its rest can't be read and the run stops when this part is through."""
        self.closed = True
        self._then = (why, text) if why is not None else None

    def over(self) -> bool:
        """Whether nothing is left to start, now or later."""
        if self.closed and not self.pending and self._then is not None:
            self.halt(*self._then)
        return self.stop is not None or (self.closed and not self.pending)

    def halt(self, why: str, text: str = "") -> None:
        """Start nothing more.  Of several reasons one that needs a person stays, else the first."""
        if self.stop is None or (why in PERSON and self.stop not in PERSON):
            self.stop, self.text = why, text

    def next(self, now: float) -> Item[T] | None:
        """The item to start now, counted as running; None when none may start."""
        if self.stop is not None or self.running >= self.slots or not self._ready():
            return None
        if self.policy.max_items and self._started >= self.policy.max_items:
            self.halt("max-items")
            return None
        if self.policy.max_time is not None and not self._in_time(now, self.policy.max_time):
            self.halt("max-time")
            return None
        self._started += 1
        self.running += 1
        return self._first.popleft() if self._first else heapq.heappop(self._last)[2]

    def _ready(self) -> bool:
        return bool(self._first) or (self.closed and bool(self._last))

    def _in_time(self, now: float, limit: float) -> bool:
        mean = self._seconds / self._ended if self._ended else self._mean or 0.0
        return now + mean <= self._began + limit

    def ended(self, verdict: Verdict, seconds: float, *, first_failure: bool = False) -> None:
        """One start has ended.  `first_failure`: its item had never failed before."""
        self.running -= 1
        if verdict.kind is Kind.UNCHARGED:
            self._uncharged(verdict)
            return
        self._ended += 1
        self._seconds += seconds
        if verdict.kind is Kind.FAILED:
            self._failed(verdict, first_failure)
        elif verdict.kind is Kind.DONE:
            self._streak.clear()

    def checked(self) -> None:
        """A cut-off check has ended; it is no attempt."""
        self.running -= 1
        self._started -= 1

    def _uncharged(self, verdict: Verdict) -> None:
        if verdict.why == "limit":
            self.halt("limit", verdict.text)
        elif verdict.why == "halt":
            self.halt("halt", verdict.text)
        elif verdict.why == "spawn":
            self.halt("vanished", verdict.text)

    def _failed(self, verdict: Verdict, first_failure: bool) -> None:
        self._failures += 1
        if first_failure:
            self._streak.append(verdict.text)
        limit = self.policy.max_consecutive_failures
        if self.policy.max_failures and self._failures >= self.policy.max_failures:
            self.halt("failures", f"{self._failures} items failed (--max-failures)")
        elif limit and len(self._streak) >= limit:
            self.halt("failures", f"{limit} items in a row failed{self._hint()} (--max-consecutive-failures)")

    def _hint(self) -> str:
        same = set(self._streak)
        if same == {"exit 1"}:
            return ", all with exit 1; if that is no failure here, say --ok code:0,1"
        return f", all with {same.pop()}" if len(same) == 1 else ""
