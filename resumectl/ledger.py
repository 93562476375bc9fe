"""What the journal's records add up to, for each id.  It knows no bytes on disk.

Each id holds one integer, its word (see `standing`); equal words are one object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .plain import Row
from .records import ALONE, Record
from .spending import Spending
from .standing import (
    ALL,
    ATTEMPTS,
    BEFORE,
    COUNTED,
    CUTS,
    EXHAUSTED,
    LIMITED,
    LISTED,
    NAMED,
    OPEN,
    STATE,
    STATES,
    UNTOLD,
    compacted,
    done_again,
    once_more,
    started,
    unpack_word,
)
from .standing import Standing as Standing
from .standing import Start as Start
from .standing import State as State


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
        self._list_new = self._named_since = 0  # ids of the list that had no name then; that were named since
        self.ended = self.ended_ms = 0  # all done attempts, and their milliseconds
        self.kept_end = 0  # the highest byte of `NAME.out` that a record names
        self.run_ended = 0  # attempts ended in the last run
        self.spending = Spending()  # of all attempts, failed ones too
        self.resume_at: str | None = None  # when the last limit said that it ends
        self.limited = False  # a limit was met, and nothing was done since

    def enter(self, record: Record) -> None:
        """Take one record in."""
        if not record.ids:
            return self._enter_run(record)
        for where in (record.rest.get("out"), record.rest.get("err")):
            if where:
                self.kept_end = max(self.kept_end, where[0] + where[1])
        if record.t == "started":
            return self._enter_starts(record)
        if record.t == "done" and record.rest.get("by") != "compact":
            return self._enter_done(record)
        for id, attempt in zip(record.ids, record.attempts or (0,), strict=False):
            word = self._words.get(id, 0)
            self._named_since += not word & NAMED
            self._put(id, self._fold(record, word | NAMED, attempt, id))

    def enter_plain(self, rows: Sequence[Row]) -> None:
        """Take in starts and clean ends in bulk: the same as `enter`, many times quicker.

        A start whose end is among them leaves nothing but its place in the order of first mention.
        """
        words, opened, same = self._words, self._open, self._same
        begun, fresh, run = dict[bytes, Start](), 0, self.run.get("run", 0)
        done = {
            a: same.setdefault(word, word) for a in {row[3] for row in rows} for word in [done_again(UNTOLD, int(a))]
        }
        for _, t, id, a, ms, at, size, err_at, err_size, _, _ in rows:
            if t == b"started":
                self._starts += 1
                if opened:
                    opened.pop(id, None)
                begun[id] = Start(int(a), run, self._starts, None)
                words.setdefault(id, UNTOLD)
                continue
            if begun or opened:
                start = begun.pop(id, None) or opened.pop(id, None)
                self._passed = max(self._passed, start.order if start else 0)
            known = words.get(id, UNTOLD)
            if known == UNTOLD:
                fresh += 1
                words[id] = done[a]
            else:
                self._named_since += not known & NAMED
                self._put(id, done_again(known, int(a)))
            if ms:
                self._ended_well(int(ms))
            if size or err_size:
                ends = int(at or 0) + int(size or 0), int(err_at or 0) + int(err_size or 0)
                self.kept_end = max(self.kept_end, *ends)
        self._named_since += fresh
        self._counts[State.DONE] += fresh
        for id, start in begun.items():
            self._begun(id, start)

    def _ended_well(self, ms: int) -> None:
        self.ended += 1
        self.ended_ms += ms
        self.run_ended += 1
        self.spending.unknown += 1
        self.limited = False

    def _begun(self, id: bytes, start: Start) -> None:
        """A start without an end so far."""
        known = self._words[id]
        self._named_since += not known & NAMED
        self._open[id] = start
        if known == UNTOLD:  # it is counted in no state yet
            self._counts[State.NEW] += 1
        self._put(id, started(known | NAMED, start.attempt))

    def _enter_run(self, record: Record) -> None:
        if record.t == "run":
            self.run, self.end = record.rest, {}
            self.list_total, self._list_new, self._named_since, self.run_ended = None, 0, 0, 0
            self.resume_at = None
            self._take_list(record.rest)
            if past := record.rest.get("past"):
                vars(self).update((name, past[name]) for name in self.past().keys() & past.keys())
        elif record.t == "list":
            self._take_list(record.rest)
        elif record.t == "end" and record.rest.get("run") == self.run.get("run"):
            self.end = record.rest

    def past(self) -> dict[str, Any]:
        """What compact writes beside the last run, for no item's record tells it any more."""
        return {name: getattr(self, name) for name in ("kept_end", "ended", "ended_ms", "limited", "resume_at")}

    def _take_list(self, fields: Mapping[str, Any]) -> None:
        if fields.get("total") is not None:
            self.list_total, self._list_new = fields["total"], fields.get("new") or 0

    def _enter_starts(self, record: Record) -> None:
        words, opened, run = self._words, self._open, self.run.get("run", 0)
        batch, name = record.rest.get("uuid"), record.rest.get("att")
        for order, (id, attempt) in enumerate(zip(record.ids, record.attempts, strict=True), self._starts + 1):
            word = words.get(id, 0)
            self._named_since += not word & NAMED
            opened[id] = Start(attempt, run, order, batch, name)
            self._put(id, started(word | NAMED, attempt))
            self.lost.pop(id, None)
        self._starts += len(record.ids)

    def _enter_done(self, record: Record) -> None:
        words, opened = self._words, self._open
        for id, attempt in zip(record.ids, record.attempts or (0,), strict=False):
            word, start = words.get(id, 0), opened.pop(id, None)
            self._named_since += not word & NAMED
            if start is not None and start.order > self._passed:
                self._passed = start.order
            self._put(id, done_again(word, attempt))
        self.spending.take(record, count := len(record.ids))
        if "ms" in record.rest:
            self.limited = False
            self.run_ended += count
            self.ended += count
            self.ended_ms += record.rest["ms"] * count

    def _fold(self, record: Record, word: int, attempt: int, id: bytes) -> int:
        t, rest = record.t, record.rest
        if t == "reset":
            self._open.pop(id, self.lost.pop(id, None))
            if rest.get("by") == "compact":
                return self._compacted(record, word & ~STATE, attempt, id)
            return word & (LISTED | NAMED) | max(word >> ATTEMPTS, attempt) << ATTEMPTS
        if t == "uncharged":
            return self._uncharge(record, word, id)
        if t not in STATES:
            return word
        self._open.pop(id, None)
        if t == "held" and word & OPEN and rest.get("why") in ALONE:
            word = once_more(word, CUTS)  # a power cut took the line of its end, which stood before this one
        word = word & ~(STATE | OPEN | EXHAUSTED) | STATES[t]
        if rest.get("by") == "compact":
            return self._compacted(record, word, attempt, id)
        if attempt > word >> ATTEMPTS:
            word = word & (1 << ATTEMPTS) - 1 | attempt << ATTEMPTS
        self.run_ended += "ms" in rest
        self.spending.take(record)
        if record.t == "cut_off" and "began" in rest:
            self.lost[record.ids[0]] = rest
        if record.t in COUNTED:
            return once_more(word, COUNTED[record.t])
        return word | EXHAUSTED if rest.get("why") == "attempts" else word

    def _uncharge(self, record: Record, word: int, id: bytes) -> int:
        self._open.pop(id, None)
        self.resume_at = record.rest.get("resume_at", self.resume_at)
        self.spending.take(record)
        self.limited = self.limited or record.rest.get("why") == "limit"
        if word & OPEN:
            word = word & ~(STATE | OPEN) | word >> BEFORE & STATE
        if record.rest.get("why") != "limit":
            return word
        self._limits[id] = self._starts
        return word | LIMITED

    def _compacted(self, record: Record, word: int, attempt: int, id: bytes) -> int:
        rest = record.rest
        self.spending.take(record)
        word = compacted(word, attempt, rest.get("failures", 0), rest.get("cut_offs", 0))
        if rest.get("limited"):
            word |= LIMITED
            self._limits[id] = -1 if rest.get("cries") else 0  # the starts that it is compared with begin anew
        return word | EXHAUSTED if rest.get("why") == "attempts" else word

    def _put(self, id: bytes, word: int) -> None:
        old = self._words.get(id)
        if old is not None:
            self._counts[old & STATE] -= 1
        self._counts[word & STATE] += 1
        self._words[id] = self._same.setdefault(word, word)

    def enlist(self, id: bytes) -> State | None:
        """Note that this run's list has the id; None if it was noted already (a duplicate)."""
        if (word := self._words.get(id, 0)) & LISTED:
            return None
        self._put(id, word | LISTED)
        return ALL[word & STATE]

    def sift(self, ids: Sequence[bytes]) -> list[int]:
        """Enlist many ids at once; where those stand in `ids` that are not simply done and met for the first time."""
        words, get, same, rest = self._words, self._words.get, self._same.setdefault, list[int]()
        mask, done, listed = STATE | LISTED, State.DONE.value, LISTED
        for at, id in enumerate(ids):
            word = get(id, UNTOLD)
            if word & mask == done:
                word |= listed
                words[id] = same(word, word)
            else:
                rest.append(at)
        return rest

    def standing(self, id: bytes) -> Standing:
        """What is known of an id; state NEW for one never heard of."""
        return unpack_word(self._words.get(id, 0))

    def state(self, id: bytes) -> State:
        return ALL[self._words.get(id, 0) & STATE]

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

    @property
    def unnamed(self) -> int:
        """How many ids of the last run's list the journal does not name."""
        return max(0, self._list_new - self._named_since)

    def counts(self) -> dict[State, int]:
        """How many ids the journal has in each state, the last run's unstarted new ones included."""
        found = {state: self._counts[state] for state in State}
        found[State.NEW] += self.unnamed
        return found

    def mean_seconds(self) -> float | None:
        """The mean time of a done attempt, from the journal; None when there is none."""
        return self.ended_ms / self.ended / 1000 if self.ended else None
