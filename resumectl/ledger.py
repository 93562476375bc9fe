"""What the journal's records add up to, for each id.  It knows no bytes on disk.

Each id holds one integer, its word (see `standing`); equal words are one object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .columns import UNCHARGED, Rows
from .figures import Figures
from .records import ALONE, Record
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
        self.figures = Figures()
        self.list_total: int | None = None
        self._list_new = self._named_since = 0  # ids of the list that had no name then; that were named since

    def enter(self, record: Record) -> None:
        """Take one record in."""
        if not record.ids:
            return self._enter_run(record)
        if record.t == "started":
            return self._enter_starts(record)
        self.figures.take(record)
        self._enter_ends(record)

    def _enter_ends(self, record: Record) -> None:
        if record.t == "done" and record.rest.get("by") != "compact":
            return self._enter_done(record)
        for id, attempt in zip(record.ids, record.attempts or (0,), strict=False):
            self._put(id, self._fold(record, self._words.get(id, 0) | NAMED, attempt, id))

    def enter_rows(self, rows: Rows) -> None:
        """Take plain lines in: the same as `enter` for each, several times quicker.

        An id that all these lines start and end well, and no line before them knows, is
        folded with all others of that kind; what else there is, line by line.
        """
        types, ids, words, same = rows.types, rows.ids, self._words, self._same
        if any(types[at] == UNCHARGED for at in rows.unusual):  # a limit must know which starts stand before it
            for record in rows.records():
                self.enter(record)
            return
        self.figures.take_rows(rows)
        begun, first, before = rows.begun, self._starts, 0
        apart = rows.unended | {ids[at] for at in rows.unusual}
        if True in begun:
            apart |= {ids[at] for at in rows.compacted}  # they end no start
        done = {a: same.setdefault(word, word) for a in set(rows.attempts) for word in [done_again(UNTOLD, int(a))]}
        if len(done) > 1:
            fresh = dict(zip(ids, map(done.__getitem__, rows.attempts), strict=True))
        else:
            fresh = dict.fromkeys(rows.last, *done.values())
        apart |= fresh.keys() & words.keys()
        for id in apart:
            self._counts[State.NEW] += id not in words
            fresh[id] = words.get(id, UNTOLD)
        words.update(fresh)
        well = len(fresh) - len(apart)
        self._counts[State.DONE] += well
        self._named_since += well
        for at in rows.about(apart):
            self._starts += begun[before:at].count(True)
            before = at + begun[at]
            (self._enter_starts if begun[at] else self._enter_ends)(rows.record(at))
        self._starts += begun[before:].count(True)
        if True in begun:
            latest = next((at for at in reversed(range(len(ids))) if begun[at] and ids[at] not in apart), None)
            if latest is not None:
                self._passed = max(self._passed, first + begun[: latest + 1].count(True))

    def _enter_run(self, record: Record) -> None:
        if record.t == "run":
            self.run, self.end = record.rest, {}
            self.list_total, self._list_new, self._named_since = None, 0, 0
            self.figures.begin(record.rest)
            self._take_list(record.rest)
        elif record.t == "list":
            self._take_list(record.rest)
        elif record.t == "end" and record.rest.get("run") == self.run.get("run"):
            self.end = record.rest

    def _take_list(self, fields: Mapping[str, Any]) -> None:
        if fields.get("total") is not None:
            self.list_total, self._list_new = fields["total"], fields.get("new") or 0

    def _enter_starts(self, record: Record) -> None:
        opened, run, rest = self._open, self.run.get("run", 0), record.rest
        batch, name = rest.get("uuid"), rest.get("att")
        for order, (id, attempt) in enumerate(zip(record.ids, record.attempts, strict=True), self._starts + 1):
            opened[id] = Start(attempt, run, order, batch, name)
        self._starts += len(record.ids)
        if self.lost:
            for id in record.ids:
                self.lost.pop(id, None)
        self._put_all(record.ids, record.attempts, started)

    def _enter_done(self, record: Record) -> None:
        opened = self._open
        for id in record.ids:
            start = opened.pop(id, None)
            if start is not None and start.order > self._passed:
                self._passed = start.order
        self._put_all(record.ids, record.attempts or (0,) * len(record.ids), done_again)

    def _put_all(self, ids: Sequence[bytes], attempts: Sequence[int], fold: Callable[[int, int], int]) -> None:
        """Give ids the words that `fold` makes of their old ones and their attempts; at once if all are alike."""
        words, count = self._words, len(ids)
        if count > 1 and attempts.count(attempts[0]) == count == len({*ids}):
            olds = list(map(words.get, ids))
            if olds.count(olds[0]) == count:
                word = self._change(olds[0], fold((olds[0] or 0) | NAMED, attempts[0]), count)
                words.update(dict.fromkeys(ids, word))
                return
        for id, attempt in zip(ids, attempts, strict=False):
            self._put(id, fold(words.get(id, 0) | NAMED, attempt))

    def _fold(self, record: Record, word: int, attempt: int, id: bytes) -> int:
        t, rest = record.t, record.rest
        if t == "reset":
            self._open.pop(id, None)
            self.lost.pop(id, None)
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
        if record.t == "cut_off" and "began" in rest:
            self.lost[record.ids[0]] = rest
        if record.t in COUNTED:
            return once_more(word, COUNTED[record.t])
        return word | EXHAUSTED if rest.get("why") == "attempts" else word

    def _uncharge(self, record: Record, word: int, id: bytes) -> int:
        self._open.pop(id, None)
        if word & OPEN:
            word = word & ~(STATE | OPEN) | word >> BEFORE & STATE
        if record.rest.get("why") != "limit":
            return word
        self._limits[id] = self._starts
        return word | LIMITED

    def _compacted(self, record: Record, word: int, attempt: int, id: bytes) -> int:
        rest = record.rest
        word = compacted(word, attempt, rest.get("failures", 0), rest.get("cut_offs", 0))
        if rest.get("limited"):
            word |= LIMITED
            self._limits[id] = -1 if rest.get("cries") else 0  # the starts that it is compared with begin anew
        return word | EXHAUSTED if rest.get("why") == "attempts" else word

    def _put(self, id: bytes, word: int) -> None:
        self._words[id] = self._change(self._words.get(id), word, 1)

    def _change(self, old: int | None, word: int, count: int) -> int:
        """Count so many ids whose word changes; the word to be given to them."""
        if old is not None:
            self._counts[old & STATE] -= count
        if word & NAMED and not (old or 0) & NAMED:
            self._named_since += count
        self._counts[word & STATE] += count
        return self._same.setdefault(word, word)

    def enlist(self, id: bytes) -> State | None:
        """Note that this run's list has the id; None if it was noted already (a duplicate)."""
        if (word := self._words.get(id, 0)) & LISTED:
            return None
        self._put(id, word | LISTED)
        return ALL[word & STATE]

    def enlist_unheard(self, ids: Sequence[bytes]) -> bool:
        """Enlist many ids of which nothing is known, if they all are such; else none."""
        words = dict.fromkeys(ids, self._same.setdefault(LISTED, LISTED))
        if len(words) < len(ids) or words.keys() & self._words.keys():
            return False
        self._words |= words
        self._counts[State.NEW] += len(ids)
        return True

    def sift(self, ids: Sequence[bytes]) -> list[int]:
        """Enlist many ids at once; where those stand in `ids` that are not simply done and met for the first time."""
        words, same, rest = self._words, self._same.setdefault, list[int]()
        found = [words.get(id, UNTOLD) for id in ids]
        listed = {word: same(word | LISTED, word | LISTED) for word in set(found) if word & (STATE | LISTED) == State.DONE}
        if len(listed) == len(set(found)) and len(set(ids)) == len(ids):
            words.update(zip(ids, map(listed.__getitem__, found), strict=True))
            return rest
        for at, (id, word) in enumerate(zip(ids, found, strict=True)):
            if word in listed and words[id] == word:  # not met a moment ago
                words[id] = listed[word]
            else:
                rest.append(at)
        return rest

    def untroubled(self, ids: Iterable[bytes], attempts: Sequence[int]) -> list[bool]:
        """Of each id, whether no more is to tell than that it was done at this attempt."""
        words, done = self._words, {attempt: done_again(LISTED, attempt) for attempt in set(attempts)}
        return [words.get(id, 0) | LISTED == done[attempt] for id, attempt in zip(ids, attempts, strict=True)]

    def standing(self, id: bytes) -> Standing:
        """What is known of an id; state NEW for one never heard of."""
        return unpack_word(self._words.get(id, 0))

    def state(self, id: bytes) -> State:
        return ALL[self._words.get(id, 0) & STATE]

    def states(self, ids: Iterable[bytes]) -> list[State]:
        """The state of each, as `state` gives it."""
        return [ALL[self._words.get(id, 0) & STATE] for id in ids]

    def attempts(self, id: bytes) -> int:
        """The number of the id's last attempt, 0 if it never started."""
        return self._words.get(id, 0) >> ATTEMPTS

    def attempts_of(self, ids: Iterable[bytes]) -> list[int]:
        """The same of each."""
        return [self._words.get(id, 0) >> ATTEMPTS for id in ids]

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
