"""How many may run now: the rate of starts, a service that is slow, a service at its limit.  Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

ROW = 10  # so many slow ends in a row without a success are a limit
BACK = 10  # so many successes give one slot back
AFTER = 60.0  # seconds to wait beyond the time that a service names: it is often stale
UNKNOWN, LONGEST = 900.0, 3600.0  # seconds to wait where no time is named: doubling from the first to the second


class Moment(NamedTuple):
    """A time in seconds on both clocks: one that never jumps, and the wall's (epoch)."""

    mono: float
    wall: float


@dataclass(frozen=True)
class Rhythm:
    """How starts are spaced and retries delayed, in seconds; `wait`: sit a limit out instead of stopping."""

    interval: float = 0.0
    retry_delay: float = 2.0
    retry_max_delay: float = 60.0
    wait: bool = False


class Throttle:
    """Narrows what may run when the service asks for it, and widens it again."""

    def __init__(self, rhythm: Rhythm, slots: int, rng: random.Random, *, probe: bool = False) -> None:
        """`probe`: the last run ended at a limit, so one item goes alone first."""
        self.rhythm, self.slots, self._rng = rhythm, slots, rng
        self.width = slots  # how many may run at once
        self.until: float | None = None  # epoch seconds: nothing starts before, because of a limit
        self._probing, self._probed = probe, False  # one goes alone; it has been started
        self._hold_until = 0.0  # monotonic seconds: nothing starts before
        self._delay = rhythm.retry_delay
        self._slowed = float("-inf")
        self._row = self._successes = 0
        self._wait = UNKNOWN

    def resize(self, slots: int) -> None:
        """There are so many slots from now on."""
        self.width = slots if self.width >= self.slots else max(1, min(self.width, slots))
        self.slots = slots

    def allowed(self, now: Moment) -> int:
        """How many may run at once at this moment; 0 while nothing may start."""
        if self.until is not None and now.wall < self.until:
            return 0
        if self.until is not None:
            self.until, self._probing, self._probed = None, True, False
        if now.mono < self._hold_until:
            return 0
        return 1 if self._probing else self.width

    def started(self, now: Moment) -> None:
        self._probed = True
        if self.rhythm.interval:
            self._hold_until = max(self._hold_until, now.mono + self.rhythm.interval)

    def passed(self) -> None:
        """An attempt has succeeded: the service is there."""
        self.answered()
        self._row, self._delay, self._wait = 0, self.rhythm.retry_delay, UNKNOWN
        self._successes += 1
        if self._successes % BACK == 0 and self.width < self.slots:
            self.width += 1

    def answered(self) -> None:
        """An attempt came to an end that is no limit: the probe is over, unless that is still to be started."""
        if self.until is None and self._probed:
            self._probing = False

    def slowed(self, now: Moment, began: float) -> bool:
        """The service is overloaded, says an attempt that began at this monotonic time.

        One burst halves the slots once, and counts once.  True when it has been so too
        often in a row.
        """
        if began < self._slowed:
            return False
        self._slowed = now.mono
        self._row += 1
        if self._row >= ROW:
            self._row = 0
            return True
        self.width = max(1, self.width // 2)
        self._hold_until = max(self._hold_until, now.mono + self._delay)
        self._delay = min(2 * self._delay, self.rhythm.retry_max_delay)
        return False

    def limited(self, now: Moment, resume_at: float | None) -> None:
        """The service is at its limit: wait until it says it is back, or ever longer, then probe."""
        known = resume_at is not None and resume_at > now.wall
        if self.until is not None and not known:
            return  # the rest of a burst adds nothing
        if known:
            assert resume_at is not None
            target = resume_at + AFTER + self._rng.uniform(0, AFTER / 2)
        else:
            target = now.wall + self._wait + self._rng.uniform(0, AFTER / 2)
            self._wait = min(2 * self._wait, LONGEST)
        self.until = max(self.until or 0.0, target)

    def retry_at(self, now: Moment, tries: int) -> float:
        """The monotonic time of the next try after so many: exponential, with jitter, between the two delays."""
        most = min(self.rhythm.retry_delay * 2.0 ** min(tries + 1, 1000), self.rhythm.retry_max_delay)
        return now.mono + self._rng.uniform(min(max(most / 2, self.rhythm.retry_delay), most), most)

    def wake(self, now: Moment) -> float | None:
        """Seconds until something may start that may not now; None when nothing is held."""
        if self.until is not None and now.wall < self.until:
            return self.until - now.wall
        return self._hold_until - now.mono if now.mono < self._hold_until else None
