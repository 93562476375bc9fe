"""May the next item start now, and which.  Pure: time is an argument, nothing is read or written.

Items that are new stand in list order; those that failed, were cut off twice or
more, or hit a limit stand behind all others, fewest attempts first: what is
poisoned must not come first.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from .failures import Failures
from .items import Item
from .policy import Before, Ending, Policy
from .spending import Spending
from .throttle import Moment, Throttle
from .verdict import UNSTARTED, Kind, Verdict

T = TypeVar("T")
PERSON = frozenset({"halt", "failures", "budget", "vanished", "stream"})  # the reasons that exit 3


class Pacing(Generic[T]):
    """The queue of one run and the reasons to start nothing more.

    `stop` is None while items may start, else a word of the journal's `end.why`.
    """

    def __init__(
        self, policy: Policy, slots: int, now: Moment, before: Before | None = None, rng: random.Random | None = None
    ) -> None:
        """`rng` is where jitter comes from."""
        self.policy, self.slots = policy, slots
        probe = before is not None and before.limited
        self.throttle = Throttle(policy.rhythm, slots, rng or random.Random(), probe=probe)
        self.spending = Spending()
        self.stop: str | None = None
        self.text = ""  # why it stopped, for a person
        self.resume_at: float | None = None  # epoch seconds: when the last limit ends, if it said so
        self.running = 0
        self.closed = False  # the list has been read to its end
        self._then: tuple[str, str] | None = None  # the reason to stop when what was read has been gone through
        self._began, self._before = now, before or Before()
        self._first: deque[Item[T]] = deque()
        self._last: list[tuple[bool, int, int, Item[T]]] = []
        self._retries: list[tuple[float, int, Item[T]]] = []
        self._tries: dict[bytes, int] = {}
        self._starts: dict[bytes, int] = {}  # id → which start of this run it is
        self._limited: dict[bytes, int] = {}  # id → how many starts there were when it hit a limit
        self._passed = 0  # the latest start that passed
        self._alone: set[bytes] = set()
        self.room = 0  # how much of what an item weighs goes into one start
        self.weigh: Callable[[Item[T]], int] | None = None  # None: any number of items goes into it
        self._order = self._started = 0
        self._ended, self._seconds = 0, 0.0
        self._failures = Failures(policy.max_failures, policy.max_consecutive_failures)

    def add(self, *items: Item[T]) -> None:
        """Behind the items that stand in list order."""
        self._first += items

    def resize(self, slots: int) -> None:
        """So many may run at once from now on; what runs beyond that ends."""
        self.slots = slots
        self.throttle.resize(slots)

    def again(self, item: Item[T]) -> None:
        """Next of all: it has been checked, or never began, and is to run after all."""
        self._first.appendleft(item)

    def defer(self, item: Item[T], attempts: int, *, limited: bool = False, cries: bool = False) -> None:
        """Behind all others, by how many attempts it has had; those that met a limit are the very last.

        `limited`: an earlier run met a limit at it; `cries`: and since then another item passed that was started later.
        """
        if limited:
            self._limited[item.id] = -1 if cries else 0
        heapq.heappush(self._last, (item.id in self._limited, attempts, self._next(), item))

    def _next(self) -> int:
        self._order += 1
        return self._order

    @property
    def pending(self) -> bool:
        """Whether anything that was read still waits for its start."""
        return bool(self._first or self._last or self._retries)

    def wants(self, ahead: int) -> bool:
        """Whether more of the list is wanted, for the free slots and so many starts more."""
        free = self.slots - self.running + ahead
        return not self.closed and self.stop is None and len(self._first) < free * self.policy.batch

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

    def next(self, now: Moment) -> tuple[Item[T], ...]:
        """The items of the next start, which then counts as running; empty when nothing may start."""
        if self.stop is not None or self.running >= self.slots or self.running >= self.throttle.allowed(now):
            return ()
        if self._peek(now) is None or self._forbidden(now):
            return ()
        first = self._take(now)
        items = (first, *self._joining(first, now)) if self.policy.batch > 1 else (first,)
        self._started += sum(item.id not in self._tries for item in items) if self._tries else len(items)
        self.running += 1
        self._starts.update(dict.fromkeys([item.id for item in items], self._next()))
        self.throttle.started(now)
        return items

    def _joining(self, first: Item[T], now: Moment) -> Iterator[Item[T]]:
        """What else goes into the start of an item: nothing poisoned, nor too much for a limit or an argv."""
        policy, alone, weigh = self.policy, self._alone, self.weigh
        most = min(policy.batch, policy.max_items - self._started) if policy.max_items else policy.batch
        if first.id in alone:
            return
        if not (alone or weigh or self._retries) and len(self._first) >= most - 1:
            return (yield from [self._first.popleft() for _ in range(1, most)])
        room = self.room - weigh(first) if weigh else 0
        for _ in range(1, most):
            item = self._peek(now)
            if item is None or item.id in alone or (weigh and (room := room - weigh(item)) < 0):
                return
            yield self._take(now)

    def _peek(self, now: Moment) -> Item[T] | None:
        """What `_take` would give; None when nothing may start."""
        if self._retries and self._due(now):
            return self._retries[0][2]
        if self._first:
            return self._first[0]
        return self._last[0][3] if self.closed and self._last else None

    def alone(self, id: bytes) -> None:
        """This item never shares a start: what is poisoned hurts only itself."""
        self._alone.add(id)

    def freed(self, seconds: float) -> None:
        """A start of so many seconds has ended, whatever came of its items."""
        self.running -= 1
        if seconds:
            self._ended += 1
            self._seconds += seconds

    def _due(self, now: Moment) -> bool:
        return bool(self._retries) and self._retries[0][0] <= now.mono

    @property
    def _enough(self) -> bool:
        """Whether --max-items lets no further item start; those that it let start still get their retries."""
        return 0 < self.policy.max_items <= self._started

    def _take(self, now: Moment) -> Item[T]:
        if self._retries and self._due(now):
            return heapq.heappop(self._retries)[2]
        return self._first.popleft() if self._first else heapq.heappop(self._last)[3]

    def _forbidden(self, now: Moment) -> bool:
        """Whether a budget of items, time or money is used up; then nothing more starts."""
        policy = self.policy
        if self._enough and not self._due(now):
            if not self.running and not self._retries:
                self.halt("max-items")
            return True
        if policy.max_time is not None and now.mono + self._mean() > self._began.mono + policy.max_time:
            self.halt("max-time")
        elif policy.max_cost is not None and (spent := self._spent()) >= policy.max_cost:
            self.halt("budget", f"the reported cost of this run has come to {spent:.6g} (--max-cost)")
        elif policy.max_total_cost is not None and (total := self._spent() + self._before.cost) >= policy.max_total_cost:
            self.halt("budget", f"the reported cost of all runs has come to {total:.6g} (--max-total-cost)")
        return self.stop is not None

    def _spent(self) -> float:
        return self.spending.total + self.running * (self.spending.mean or 0.0)

    def _mean(self) -> float:
        return self._seconds / self._ended if self._ended else self._before.mean or 0.0

    def wake(self, now: Moment) -> float | None:
        """Seconds until an item may start that may not now; None when only an event can change that."""
        if self.stop is not None or not self.pending:
            return None
        held = self.throttle.wake(now)
        more = not self._enough and (self._first or (self.closed and self._last))
        if held is not None or more or not self._retries:
            return held
        return self._retries[0][0] - now.mono if self.running < self.throttle.allowed(now) else None

    def ended(
        self,
        item: Item[T],
        verdict: Verdict,
        seconds: float,
        now: Moment,
        *,
        failures: int = 0,
        last: bool = False,
        echo: bool = False,
    ) -> Ending:
        """An attempt of an item has ended: what is to be recorded of it.  `freed` tells of its start.

        `failures` is how often the item had failed before, `last` that it may have no
        further attempt, `echo` that this end of its start was told for another of its items.
        """
        if verdict.kind is Kind.DONE:
            self.passed((item.id,), verdict, echo=echo)
            return Ending(verdict)
        self._starts.pop(item.id)
        if verdict.why not in UNSTARTED:
            self.spending.add(verdict.cost, verdict.sums)
        if verdict.kind is Kind.UNCHARGED:
            verdict = self._uncharged(item, verdict, now, now.mono - seconds, failures, echo)
            if verdict.kind is Kind.UNCHARGED:
                return Ending(verdict, again=self.stop is None)
        if verdict.kind is Kind.FAILED:
            self.alone(item.id)
        self.throttle.answered()
        return Ending(
            verdict, again=verdict.kind is Kind.FAILED and self._failed(item, verdict, now, failures, last, echo)
        )

    def passed(self, ids: Sequence[bytes], verdict: Verdict, *, echo: bool = False) -> None:
        """The attempts of some items of one start have ended well."""
        self._passed = max(self._passed, *map(self._starts.pop, ids))
        self.spending.add(verdict.cost, verdict.sums, len(ids))
        if not echo:
            self._failures.passed()
            self.throttle.passed()

    def checked(self, item: Item[T]) -> None:
        """A cut-off check has ended; it is no attempt."""
        self.running -= 1
        self._started -= 1
        self._starts.pop(item.id)

    def _uncharged(
        self, item: Item[T], verdict: Verdict, now: Moment, began: float, failures: int, echo: bool
    ) -> Verdict:
        if verdict.why == "halt":
            self.halt("halt", verdict.text)
        elif verdict.why == "spawn":
            self.halt("vanished", verdict.text)
        elif verdict.why == "released":
            self._started -= item.id not in self._tries
            self.again(item)
        elif verdict.why == "slow" and (echo or not self.throttle.slowed(now, began)):
            self.defer(item, failures)
        elif verdict.why in ("slow", "limit"):
            return self._limit(item, verdict, now, failures)
        return verdict

    def _limit(self, item: Item[T], verdict: Verdict, now: Moment, failures: int) -> Verdict:
        """A limit, unless another item has passed that was started after this one's last limit: then it is its own fault."""
        if self._limited.get(item.id, self._order) < self._passed:
            return replace(verdict, kind=Kind.FAILED, why="limit", retry=False)
        self._limited[item.id] = self._order
        if verdict.resume_at is not None or (self.resume_at or 0.0) < now.wall:
            self.resume_at = verdict.resume_at
        self.throttle.limited(now, verdict.resume_at)
        if not self.policy.rhythm.wait or self._waits_too_long(now):
            self.halt("limit", verdict.text)
        else:
            self.defer(item, failures)
        return verdict

    def _waits_too_long(self, now: Moment) -> bool:
        """Whether the limit outlasts --max-time."""
        until, limit = self.throttle.until, self.policy.max_time
        return limit is not None and until is not None and until - now.wall > self._began.mono + limit - now.mono

    def _failed(self, item: Item[T], verdict: Verdict, now: Moment, failures: int, last: bool, echo: bool) -> bool:
        """Queue a retry (True), or count the failure."""
        tries = self._tries.get(item.id, 0)
        if verdict.retry and not last and tries < self.policy.retries:
            self._tries[item.id] = tries + 1
            heapq.heappush(self._retries, (self.throttle.retry_at(now, tries), self._next(), item))
            return True
        if why := self._failures.add(verdict.text, first=failures == tries and not echo):
            self.halt("failures", why)
        return False
