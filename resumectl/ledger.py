"""What the journal's records add up to, for each id.  It knows no bytes on disk.

A million ids must fit in memory, so each id holds one integer, its *word*, whose
bits are named below; equal words are one object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from .records import ALONE, Record
from .spending import Spending


class State(IntEnum):
    """The state of an item, from its journal alone (SPEC 1)."""

    NEW = 0
    CUT_OFF = 1
    FAILED = 2
    DONE = 3
    PARKED = 4


STATE = 0b111
BEFORE = 3  # shift: the state before the open start
OPEN = 1 << 6  # the last record is `started`
LIMITED = 1 << 7  # was uncharged for a limit since its last end
LISTED = 1 << 8  # stands in this run's list
NAMED = 1 << 9  # the journal has a record of it
EXHAUSTED = 1 << 10  # parked for its attempts, so a higher --max-attempts frees it
CUTS, FAILURES, ATTEMPTS = 11, 19, 35  # shifts: cut-offs (8 bits), failures (16 bits), attempts (the rest)
MAX_CUTS, MAX_FAILURES = 0xFF, 0xFFFF
STATES = {"done": State.DONE, "failed": State.FAILED, "cut_off": State.CUT_OFF, "held": State.PARKED}


_STATE = tuple(State)


@dataclass(frozen=True)
class Standing:
    """What the ledger says of one id."""

    state: State
    attempts: int = 0  # the last attempt's number, over all runs
    failures: int = 0  # ends `failed` since the last reset
    cut_offs: int = 0  # ends `cut_off` since the last reset
    limited: bool = False
    exhausted: bool = False
    open: bool = False

    @property
    def charged(self) -> int:
        """How many attempts count against --max-attempts."""
        return self.failures + self.cut_offs


def unpack_word(word: int) -> Standing:
    return Standing(
        State(word & STATE),
        word >> ATTEMPTS,
        word >> FAILURES & MAX_FAILURES,
        word >> CUTS & MAX_CUTS,
        bool(word & LIMITED),
        bool(word & EXHAUSTED),
        bool(word & OPEN),
    )


class Start(NamedTuple):
    """A start without an end: its attempt, its run, which start of all it is, its batch's name if it was in one."""

    attempt: int
    run: int
    order: int
    batch: str | None
    name: str | None = None  # under which it was handed out, if it was


class Ledger:
    """Folds records, last word wins, and answers for ids in the order of their first mention."""

    def __init__(self) -> None:
        self._words: dict[bytes, int] = {}
        self._same: dict[int, int] = {}
        self._counts = [0] * len(State)
        self._open: dict[bytes, Start] = {}  # what was started and has no end
        self._starts = self._passed = 0  # how many starts there were; the latest of them that passed
        self._limits: dict[bytes, int] = {}  # id → how many starts there were when it last met a limit
        self.lost: dict[bytes, Mapping[str, Any]] = {}  # id → fields of its `cut_off`, where its host was lost with it
        self.run: Mapping[str, Any] = {}  # fields of the last `run`
        self.end: Mapping[str, Any] = {}  # fields of its `end`, empty while it has none
        self.list_total: int | None = None
        self._list_new = 0
        self._named_since = 0  # ids first named since that count was taken
        self.ended_ms = 0  # of all done attempts
        self.ended = 0
        self.kept_end = 0  # the highest byte of `NAME.out` that a record names
        self.run_ended = 0  # attempts ended in the last run
        self.spending = Spending()  # of all attempts, failed ones too
        self.resume_at: str | None = None  # when the last limit said that it ends
        self.limited = False  # a limit was met, and nothing was done since

    def enter(self, record: Record) -> None:
        """Take one record in."""
        if not record.ids:
            return self._enter_run(record)
        self._note_kept(record.rest)
        for at, id in enumerate(record.ids):
            attempt = record.attempts[at] if at < len(record.attempts) else 0
            self._enter_item(record, id, attempt)

    def _enter_run(self, record: Record) -> None:
        if record.t == "run":
            self.run, self.end = record.rest, {}
            self.list_total, self._list_new, self._named_since, self.run_ended = None, 0, 0, 0
            self.resume_at = None
            self._take_list(record.rest)
        elif record.t == "list":
            self._take_list(record.rest)
        elif record.t == "end" and record.rest.get("run") == self.run.get("run"):
            self.end = record.rest

    def _take_list(self, fields: Mapping[str, Any]) -> None:
        if fields.get("total") is not None:
            self.list_total, self._list_new = fields["total"], fields.get("new") or 0

    def _note_kept(self, rest: Mapping[str, Any]) -> None:
        for where in (rest.get("out"), rest.get("err")):
            if where:
                self.kept_end = max(self.kept_end, where[0] + where[1])

    def _enter_item(self, record: Record, id: bytes, attempt: int) -> None:
        word = self._words.get(id)
        if word is None or not word & NAMED:
            word = NAMED | (word or 0)
            self._named_since += 1
        new = self._fold(record, word, attempt, id)
        self._put(id, new)

    def _fold(self, record: Record, word: int, attempt: int, id: bytes) -> int:
        t, state = record.t, word & STATE
        if t == "started":
            self._starts += 1
            self._open[id] = Start(
                attempt, self.run.get("run", 0), self._starts, record.rest.get("uuid"), record.rest.get("att")
            )
            self.lost.pop(id, None)
            word = word & ~(STATE | STATE << BEFORE) | State.CUT_OFF | state << BEFORE | OPEN
            return word & (1 << ATTEMPTS) - 1 | attempt << ATTEMPTS
        if t == "reset":
            self._open.pop(id, None)
            self.lost.pop(id, None)
            return word & (LISTED | NAMED) | max(word >> ATTEMPTS, attempt) << ATTEMPTS
        if t == "uncharged":
            return self._uncharge(record, word, id)
        if t not in STATES:
            return word
        opened = self._open.pop(id, None)
        if t == "done" and opened is not None:
            self._passed = max(self._passed, opened.order)
        if t == "held" and word & OPEN and record.rest.get("why") in ALONE and word >> CUTS & MAX_CUTS < MAX_CUTS:
            word += 1 << CUTS  # a power cut took the line of its end, which stood before this one
        word = word & ~(STATE | OPEN | EXHAUSTED) | STATES[t]
        return self._ended(record, word, attempt)

    def _uncharge(self, record: Record, word: int, id: bytes) -> int:
        self._open.pop(id, None)
        self.resume_at = record.rest.get("resume_at", self.resume_at)
        self._spend(record)
        self.limited = self.limited or record.rest.get("why") == "limit"
        if word & OPEN:
            word = word & ~(STATE | OPEN) | word >> BEFORE & STATE
        if record.rest.get("why") != "limit":
            return word
        self._limits[id] = self._starts
        return word | LIMITED

    def _ended(self, record: Record, word: int, attempt: int) -> int:
        rest = record.rest
        if rest.get("by") == "compact":
            return self._compacted(rest, word, attempt)
        if attempt > word >> ATTEMPTS:
            word = word & (1 << ATTEMPTS) - 1 | attempt << ATTEMPTS
        self.run_ended += "ms" in rest
        self._spend(record)
        if record.t == "done":
            self.limited = self.limited and "ms" not in rest
            self.ended += 1 if "ms" in rest else 0
            self.ended_ms += rest.get("ms", 0)
            return word & ~LIMITED
        if record.t == "cut_off" and "began" in rest:
            self.lost[record.ids[0]] = rest
        if record.t == "failed" and word >> FAILURES & MAX_FAILURES < MAX_FAILURES:
            return word + (1 << FAILURES)
        if record.t == "cut_off" and word >> CUTS & MAX_CUTS < MAX_CUTS:
            return word + (1 << CUTS)
        return word | EXHAUSTED if rest.get("why") == "attempts" else word

    def _spend(self, record: Record) -> None:
        """What an attempt said that it cost; one of which a crash left no end may have cost something too."""
        rest = record.rest
        if ("ms" in rest or record.t == "cut_off") and rest.get("why") not in ("stop", "released"):
            self.spending.add(rest.get("cost"), rest.get("sums") or {})

    def _compacted(self, rest: Mapping[str, Any], word: int, attempt: int) -> int:
        word = word & STATE | NAMED | attempt << ATTEMPTS
        word |= min(rest.get("failures", 0), MAX_FAILURES) << FAILURES
        word |= min(rest.get("cut_offs", 0), MAX_CUTS) << CUTS
        word |= LIMITED if rest.get("limited") else 0
        return word | EXHAUSTED if rest.get("why") == "attempts" else word

    def _put(self, id: bytes, word: int) -> None:
        old = self._words.get(id)
        if old is not None:
            self._counts[old & STATE] -= 1
        self._counts[word & STATE] += 1
        self._words[id] = self._same.setdefault(word, word)

    def enlist(self, id: bytes) -> State | None:
        """Note that this run's list has the id; None if it was noted already (a duplicate)."""
        word = self._words.get(id, 0)
        if word & LISTED:
            return None
        self._put(id, word | LISTED)
        return _STATE[word & STATE]

    def standing(self, id: bytes) -> Standing:
        """What is known of an id; state NEW for one never heard of."""
        return unpack_word(self._words.get(id, 0))

    def state(self, id: bytes) -> State:
        return State(self._words.get(id, 0) & STATE)

    def attempts(self, id: bytes) -> int:
        """The number of the id's last attempt, 0 if it never started."""
        return self._words.get(id, 0) >> ATTEMPTS

    def named(self, id: bytes) -> bool:
        """Whether the journal has a record of the id."""
        return bool(self._words.get(id, 0) & NAMED)

    def open_items(self) -> dict[bytes, Start]:
        """The ids whose last record is `started`."""
        return dict(self._open)

    def cries(self, id: bytes) -> bool:
        """Whether an item passed that was started after this one's last limit: the next is its own fault."""
        return self._limits.get(id, self._starts) < self._passed

    def ids(self, state: State | None = None) -> Iterator[bytes]:
        """The ids in one state (default all), in the order of their first mention."""
        for id, word in self._words.items():
            if state is None or word & STATE == state:
                yield id

    @property
    def known(self) -> int:
        """How many ids the journal names or this run's list has."""
        return len(self._words)

    def counts(self) -> dict[State, int]:
        """How many ids the journal has in each state, the last run's unstarted new ones included."""
        found = {state: self._counts[state] for state in State}
        found[State.NEW] += max(0, self._list_new - self._named_since)
        return found

    def mean_seconds(self) -> float | None:
        """The mean time of a done attempt, from the journal; None when there is none."""
        return self.ended_ms / self.ended / 1000 if self.ended else None
