"""Which items of the list run, which are skipped, which are held: what a run does with each state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from .files import Claims
from .items import Item
from .ledger import Ledger, Standing, State
from .pacing import Pacing
from .records import Record
from .tally import Tally

T = TypeVar("T")
LOT = 1000  # items that are looked at together
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


class BadEntry(Exception):
    """An entry of the list that this run must not bear: a repeated id, or one whose file is another's."""


@dataclass(frozen=True)
class Rules:
    """The policies for each state."""

    cut_off: CutOff = CutOff.RERUN
    failed: Failed = Failed.RETRY
    duplicates: Duplicates = Duplicates.SKIP
    max_attempts: int = 0


class Witness(Protocol):
    """Whoever wants to know which items of the list are done already, and which will run."""

    def resumed(self, item: Item[Any]) -> None: ...

    def queued(self, item: Item[Any]) -> None: ...


class Admission(Generic[T]):
    """Takes the list item by item: into the queue, to be checked first, held, or passed over."""

    def __init__(
        self, rules: Rules, ledger: Ledger, pacing: Pacing[T], tally: Tally, witness: Witness | None = None
    ) -> None:
        self.rules, self.ledger, self.pacing, self.tally = rules, ledger, pacing, tally
        self.witness = witness
        self.claims: Claims | None = None  # the files of --out and --err
        self.held: list[Record] = []  # to be written before anything starts
        self.to_check: set[bytes] = set()  # cut-off items that `--verify` is asked about first
        self.announced: list[bytes] = []  # the first cut-off items
        self.passed_over = 0  # items that this run was told to leave though they are not done

    def take(self, item: Item[T]) -> None:
        """Decide about one item; raises BadEntry."""
        named = self.ledger.named(item.id)
        state = self.ledger.enlist(item.id)
        if state is None:
            return self._duplicate(item)
        if self.claims is not None:
            self._claim(self.claims, item)
        self.tally.admit(state, 1, named=named)
        if state is State.DONE:
            if self.witness is not None:
                self.witness.resumed(item)
            return
        if state is State.NEW and not named:
            return self._start(item)
        self._known(item, state, self.ledger.standing(item.id))

    def take_all(self, items: Iterable[Item[T]]) -> None:
        """Decide about some items, as `take` does: by the lot those of which nothing is known."""
        source, lot = iter(items), list[Item[T]]()
        while True:
            try:
                lot += islice(source, LOT)
            finally:  # what stands before a bad record comes first, and its own fault too
                self._take_lot(lot)
            if not lot:
                return
            lot = []

    def _take_lot(self, lot: Sequence[Item[T]]) -> None:
        fresh = self.hasty and self.rules.failed is not Failed.ONLY
        if fresh and self.ledger.enlist_unheard([item.id for item in lot]):
            self.tally.admit(State.NEW, len(lot), named=False)
            self.pacing.add(*lot)
            return
        for item in lot:
            self.take(item)

    @property
    def hasty(self) -> bool:
        """Whether items may be taken by the lot: nobody looks at each of them."""
        return self.witness is None and self.claims is None

    def sift(self, ids: list[bytes]) -> list[int]:
        """Count those of some ids that are done and met for the first time; the places of the others."""
        rest = self.ledger.sift(ids)
        self.tally.admit(State.DONE, len(ids) - len(rest), named=True)
        return rest

    def _duplicate(self, item: Item[T]) -> None:
        self.tally.duplicates += 1
        if self.rules.duplicates is Duplicates.FAIL:
            raise BadEntry(f"entry {item.index} of the list repeats an id")

    def _claim(self, claims: Claims, item: Item[T]) -> None:
        if taken := claims.taken(item):
            raise BadEntry(f"entry {item.index} of the list would overwrite another one's {taken}")

    def _start(self, item: Item[T], behind: Standing | None = None) -> None:
        if self.rules.failed is Failed.ONLY:
            self.passed_over += 1
        else:
            self._queue(item, behind)

    def _queue(self, item: Item[T], behind: Standing | None = None) -> None:
        """Let it run in its place, or behind all others by its standing."""
        if behind is None:
            self.pacing.add(item)
        else:
            if behind.failures or behind.cut_offs >= 2:
                self.pacing.alone(item.id)
            cries = behind.limited and self.ledger.cries(item.id)
            self.pacing.defer(item, behind.charged, limited=behind.limited, cries=cries)
        if self.witness is not None:
            self.witness.queued(item)

    def _known(self, item: Item[T], state: State, standing: Standing) -> None:
        if state is State.CUT_OFF and len(self.announced) < NAMED:
            self.announced.append(item.id)
        limit = self.rules.max_attempts
        if state is State.PARKED:
            if standing.exhausted and limit > standing.charged:
                self._queue(item, standing)
        elif limit and standing.charged >= limit:
            self._hold(item, standing, "attempts")
        elif state is State.NEW:
            self._start(item, standing if standing.limited else None)
        elif state is State.FAILED:
            self._failed(item, standing)
        else:
            self._cut_off(item, standing)

    def _failed(self, item: Item[T], standing: Standing) -> None:
        if self.rules.failed is Failed.SKIP:
            self.passed_over += 1
        else:
            self._queue(item, standing)

    def _cut_off(self, item: Item[T], standing: Standing) -> None:
        if self.rules.cut_off is CutOff.HOLD:
            return self._hold(item, standing, "cut-off")
        if self.rules.failed is Failed.ONLY:
            self.passed_over += 1
            return
        if self.rules.cut_off is CutOff.VERIFY:
            self.to_check.add(item.id)
            self.pacing.alone(item.id)
        if standing.cut_offs >= 2 or standing.failures or standing.limited:
            self._queue(item, standing)
        else:
            self._queue(item)

    def _hold(self, item: Item[T], standing: Standing, why: str) -> None:
        record = Record("held", (item.id,), (standing.attempts,), {"why": why})
        self.tally.move(standing.state, State.PARKED)
        self.ledger.enter(record)
        self.held.append(record)

    def last_attempt(self, standing: Standing) -> bool:
        """Whether an attempt that fails or is cut off now uses up what --max-attempts allows."""
        return bool(self.rules.max_attempts) and standing.charged + 1 >= self.rules.max_attempts

    def exhausted(self, id: bytes) -> Record | None:
        """The record that holds an item whose last end used up its attempts, else None."""
        standing = self.ledger.standing(id)
        if self.rules.max_attempts and standing.charged >= self.rules.max_attempts:
            return Record("held", (id,), (standing.attempts,), {"why": "attempts"})
        return None
