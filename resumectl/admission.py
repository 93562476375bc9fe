"""Which items of the list run, which are skipped, which are held: what a run does with each state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from .items import Item
from .ledger import Ledger, Standing, State
from .pacing import Pacing
from .records import Record
from .tally import Tally

T = TypeVar("T")
NAMED = 10  # how many cut-off items are announced by id


class CutOff(StrEnum):
    """What to do with an item that was cut off."""

    RERUN = "rerun"
    VERIFY = "verify"
    HOLD = "hold"


class Failed(StrEnum):
    """What to do with an item that failed in an earlier run."""

    RETRY = "retry"
    SKIP = "skip"
    ONLY = "only"


class Duplicates(StrEnum):
    """What to do with an id that stands in the list twice."""

    SKIP = "skip"
    FAIL = "fail"


class DuplicateId(Exception):
    """The list has an id twice and the run must not bear that."""


@dataclass(frozen=True)
class Rules:
    """The policies for each state."""

    cut_off: CutOff = CutOff.RERUN
    failed: Failed = Failed.RETRY
    duplicates: Duplicates = Duplicates.SKIP
    max_attempts: int = 0


class Admission(Generic[T]):
    """Takes the list item by item: into the queue, to be checked first, held, or passed over."""

    def __init__(self, rules: Rules, ledger: Ledger, pacing: Pacing[T], tally: Tally) -> None:
        self.rules, self.ledger, self.pacing, self.tally = rules, ledger, pacing, tally
        self.held: list[Record] = []  # to be written before anything starts
        self.to_check: set[bytes] = set()  # cut-off items that `--verify` is asked about first
        self.announced: list[bytes] = []  # the first cut-off items
        self.passed_over = 0  # items that this run was told to leave though they are not done

    def take(self, item: Item[T]) -> None:
        """Decide about one item; raises DuplicateId if that is what the rules want."""
        named = self.ledger.named(item.id)
        state = self.ledger.enlist(item.id)
        if state is None:
            return self._duplicate(item)
        self.tally.admit(state, named=named)
        if state is State.DONE:
            return
        if state is State.NEW:
            return self._start(item)
        self._known(item, state, self.ledger.standing(item.id))

    def _duplicate(self, item: Item[T]) -> None:
        self.tally.duplicates += 1
        if self.rules.duplicates is Duplicates.FAIL:
            raise DuplicateId(f"entry {item.index} of the list repeats an id")

    def _start(self, item: Item[T]) -> None:
        if self.rules.failed is Failed.ONLY:
            self.passed_over += 1
        else:
            self.pacing.add(item)

    def _known(self, item: Item[T], state: State, standing: Standing) -> None:
        if state is State.CUT_OFF and len(self.announced) < NAMED:
            self.announced.append(item.id)
        limit = self.rules.max_attempts
        if state is State.PARKED:
            if standing.exhausted and limit > standing.charged:
                self.pacing.defer(item, standing.charged)
        elif limit and standing.charged >= limit:
            self._hold(item, standing, "attempts")
        elif state is State.FAILED:
            self._failed(item, standing)
        else:
            self._cut_off(item, standing)

    def _failed(self, item: Item[T], standing: Standing) -> None:
        if self.rules.failed is Failed.SKIP:
            self.passed_over += 1
        else:
            self.pacing.defer(item, standing.charged)

    def _cut_off(self, item: Item[T], standing: Standing) -> None:
        if self.rules.cut_off is CutOff.HOLD:
            return self._hold(item, standing, "cut-off")
        if self.rules.failed is Failed.ONLY:
            self.passed_over += 1
            return
        if self.rules.cut_off is CutOff.VERIFY:
            self.to_check.add(item.id)
        if standing.cut_offs >= 2 or standing.failures or standing.limited:
            self.pacing.defer(item, standing.charged)
        else:
            self.pacing.add(item)

    def _hold(self, item: Item[T], standing: Standing, why: str) -> None:
        record = Record("held", (item.id,), (standing.attempts,), {"why": why})
        self.tally.move(standing.state, State.PARKED)
        self.ledger.enter(record)
        self.held.append(record)

    def exhausted(self, id: bytes) -> Record | None:
        """The record that holds an item whose last end used up its attempts, else None."""
        standing = self.ledger.standing(id)
        if self.rules.max_attempts and standing.charged >= self.rules.max_attempts:
            return Record("held", (id,), (standing.attempts,), {"why": "attempts"})
        return None
