"""A pacing without a run around it: time is a variable, jitter is seeded, and what starts is named by its id."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from resumectl.items import Item
from resumectl.pacing import Before, Ending, Pacing, Policy
from resumectl.throttle import Moment, Rhythm
from resumectl.verdict import Kind, Verdict

EPOCH = 1_800_000_000.0  # the wall's time when the monotonic clock says 0
DONE = Verdict(Kind.DONE)
FAILED = Verdict(Kind.FAILED, "exit", "exit 1")
CUT_OFF = Verdict(Kind.CUT_OFF, "killed")
NOTHING, DEFAULT = Before(), Rhythm()
HALT = Verdict(Kind.UNCHARGED, "halt", "Not logged in")
SLOW = Verdict(Kind.UNCHARGED, "slow", "529")


def limit(resume_at: float | None = None) -> Verdict:
    return Verdict(Kind.UNCHARGED, "limit", "You've hit your limit", resume_at)


class Paced:
    """Items in list order, `slots` of them at once, under a policy whose rhythm may be given by its own fields."""

    def __init__(self, *ids: str, slots: int = 1, before: Before = NOTHING, rhythm: Rhythm = DEFAULT, **policy: Any) -> None:
        self.mono, self.slept = 0.0, 0.0
        self.failures: dict[str, int] = {}  # how often an item failed, over all runs
        self._began: dict[str, float] = {}
        self._items: dict[bytes, Item[None]] = {}
        self.pacing: Pacing[None] = Pacing(Policy(rhythm=rhythm, **policy), slots, self.now, before, random.Random(5))
        for id in ids:
            self.pacing.add(self.item(id))
        self.pacing.close()

    @property
    def now(self) -> Moment:
        return Moment(self.mono, EPOCH + self.mono + self.slept)

    def item(self, id: str) -> Item[None]:
        return self._items.setdefault(id.encode(), Item(id.encode(), None, len(self._items) + 1))

    def start(self) -> list[str]:
        """The ids of all that may start now."""
        return list(self._starting())

    def _starting(self) -> Iterator[str]:
        while items := self.pacing.next(self.now):
            for item in items:
                self._began[item.id.decode()] = self.mono
                yield item.id.decode()

    def end(self, id: str, verdict: Verdict, **options: Any) -> Ending:
        """What runs under this id has ended now."""
        known = self.failures.get(id, 0)
        seconds = self.mono - self._began.pop(id)
        self.pacing.freed(seconds)
        ending = self.pacing.ended(self.item(id), verdict, seconds, self.now, failures=known, **options)
        self.failures[id] = known + (ending.verdict.kind is Kind.FAILED)
        return ending

    def wait(self) -> float:
        """Let the time pass that the pacing asks for; returns the seconds."""
        wake = self.pacing.wake(self.now)
        assert wake is not None, "only an event can change that"
        self.mono += wake
        return wake

    def through(self, answers: dict[str, Verdict | list[Verdict]] | None = None, *, seconds: float = 1.0) -> list[str]:
        """Run all there is, waiting where it must; each item's answers in turn, else DONE.  The starts in their order."""
        left = {id: list(one) if isinstance(one, list) else None for id, one in (answers or {}).items()}
        order: list[str] = []
        while not self.pacing.over():
            started = self.start()
            order += started
            if not started and not self.pacing.over():
                self.wait()
            self.mono += seconds
            for id in started:
                rest = left.get(id)
                self.end(id, rest.pop(0) if rest else (DONE if rest == [] else (answers or {}).get(id, DONE)))  # type: ignore[arg-type]
        return order
