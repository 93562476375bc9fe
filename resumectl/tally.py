"""The one set of counts that the bar, the last lines, status and the exit code read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from .ledger import State
from .spending import Spending


@dataclass
class Tally:
    """Counts over this run's list.

    `total` is None while a stream has not ended; a table's has been counted beforehand.
    """

    total: int | None = None
    listed: int = 0  # ids of the list so far, each once
    resumed: int = 0  # done before this run began
    completed: int = 0  # done in this run
    failed: int = 0  # failed attempts of this run
    cut_off: int = 0  # attempts of this run that were cut off
    new: int = 0  # ids of the list that the journal did not name
    duplicates: int = 0
    empty: int = 0
    elsewhere: int = 0  # ids of the journal that are not in the list
    states: dict[State, int] = field(default_factory=lambda: dict.fromkeys(State, 0))
    running: dict[bytes, float] = field(default_factory=dict)  # id → monotonic seconds of its start
    spending: Spending = field(default_factory=Spending)  # of this run's attempts
    began: float = field(default_factory=time.monotonic)

    def admit(self, state: State, count: int, *, named: bool) -> None:
        """Count so many ids of the list, in the state that they came with."""
        self.listed += count
        self.states[state] += count
        if state is State.DONE:
            self.resumed += count
        if not named:
            self.new += count

    def move(self, old: State, new: State) -> None:
        """An id of the list went from one state to another."""
        self.states[old] -= 1
        self.states[new] += 1

    def start(self, ids: Sequence[bytes], states: Sequence[State], now: float) -> None:
        """An attempt of each has begun, at this monotonic time: until it ends they count as cut off, and as running."""
        for state in set(states):
            self.states[state] -= states.count(state)
        self.states[State.CUT_OFF] += len(ids)
        self.running.update(dict.fromkeys(ids, now))

    def finish(self, ids: Sequence[bytes], state: State) -> None:
        """The attempts of these have ended, and come to this state."""
        for id in ids:
            self.running.pop(id, None)
        self.states[State.CUT_OFF] -= len(ids)
        self.states[state] += len(ids)

    def now(self, state: State) -> int:
        """How many ids are in a state, the running ones being in none."""
        return self.states[state] - (len(self.running) if state is State.CUT_OFF else 0)

    @property
    def complete(self) -> bool:
        """Whether the whole list is known and every item of it is done."""
        return self.total is not None and self.states[State.DONE] == self.listed >= self.total

    def rate(self) -> float:
        """Attempts ended per second, in this run."""
        return (self.completed + self.failed) / max(time.monotonic() - self.began, 1e-9)

    def eta(self) -> float | None:
        """Seconds until the list is gone through, from this run's rate only; None if unknown."""
        if self.total is None or not self.completed + self.failed:
            return None
        left = self.total - self.states[State.DONE] - self.states[State.PARKED] - self.failed
        return max(left, 0) / self.rate()
