"""What a journal says about time and failures, gathered in one reading: a million records in a few kilobytes."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from .columns import AT, Rows
from .ledger import Ledger, State
from .outputs import Kept, kept
from .records import Record

SLOWEST = 10
MOMENTS = 4000  # how many counts of one unit of time are kept before the unit grows
UNITS = ((19, 1), (16, 60), (13, 3600), (10, 86400))  # characters of a timestamp, the seconds that they tell apart
EXAMPLES = 20  # failed items of one reason whose output is remembered


class Group(NamedTuple):
    """The failed items of one reason: how many, one of them, and where its stderr lies (None: nothing was kept)."""

    reason: str
    size: int
    example: bytes
    err: Kept | None


class Survey:
    """Takes in records, beside a ledger that says which items have failed in the end."""

    def __init__(self) -> None:
        self.durations = [0] * 64  # at n: how many attempts took from 2^(n-1) to 2^n - 1 ms
        self._slowest: list[tuple[int, bytes]] = []  # ms and id, the slowest first
        self._least = (-1, b"")  # what is above it is among the slowest
        self._moments: dict[str, int] = {}  # start of a timestamp → attempts of the last run that ended then
        self._unit, self._width = 0, UNITS[0][0]
        self._failed: dict[bytes, str] = {}  # id → reason of its last failure
        self._examples: dict[str, dict[bytes, Kept]] = {}

    def enter(self, record: Record) -> None:
        """Take one record in."""
        t, rest = record.t, record.rest
        if t == "started":
            return
        if t == "run":
            self._moments.clear()
            self._unit, self._width = 0, UNITS[0][0]
        if t == "failed":
            self._fail(record)
        ms = rest.get("ms")
        if ms is None:
            return
        self.durations[min(ms.bit_length(), 63)] += 1
        if (ms, record.ids[0]) > self._least:
            self._slow([(ms, record.ids[0])])
        self._count(rest["at"], 1)

    def enter_rows(self, rows: Rows) -> None:
        """Take plain lines in: the same as `enter` for each, several times quicker."""
        for record in rows.unusual.values():
            self.enter(record)
        compacted = [at for at in rows.compacted if rows.ms[at]]
        ends, times = [*rows.ends, *compacted], [*rows.times, *[int(rows.ms[at] or 0) for at in compacted]]
        if not ends:
            return
        for bits, count in Counter(map(int.bit_length, times)).items():
            self.durations[min(bits, 63)] += count
        slow = [(ms, rows.ids[at]) for at, ms in zip(ends, times, strict=True) if ms >= self._least[0]]
        self._slow([one for one in slow if one > self._least])
        for moment, count in Counter([rows.rests[at][AT][: self._width] for at in ends]).items():
            self._count(moment.decode(), count)

    def _slow(self, candidates: list[tuple[int, bytes]]) -> None:
        self._slowest = heapq.nlargest(SLOWEST, [*self._slowest, *candidates])
        if len(self._slowest) == SLOWEST:
            self._least = self._slowest[-1]

    def _count(self, at: str, count: int) -> None:
        """So many attempts ended at a time, of which the beginning may be all that is given."""
        moment = at[: self._width]
        self._moments[moment] = self._moments.get(moment, 0) + count
        if len(self._moments) > MOMENTS and self._unit < len(UNITS) - 1:
            self._coarsen()

    def _coarsen(self) -> None:
        self._unit += 1
        self._width = UNITS[self._unit][0]
        old, self._moments = self._moments, {}
        for moment, count in old.items():
            moment = moment[: self._width]
            self._moments[moment] = self._moments.get(moment, 0) + count

    def _fail(self, record: Record) -> None:
        rest = record.rest
        why = rest.get("why", "")
        reason = rest.get("text") or why if why in ("exit", "signal") else why
        err = kept(rest.get("err"))
        for id in record.ids:
            self._failed[id] = reason
            if err is not None and err.length:
                examples = self._examples.setdefault(reason, {})
                examples[id] = err
                if len(examples) > EXAMPLES:
                    del examples[next(iter(examples))]

    def slowest(self) -> list[tuple[int, bytes]]:
        """The slowest attempts: milliseconds and item, the slowest first."""
        return list(self._slowest)

    def throughput(self, cells: int) -> tuple[list[float], int, int]:
        """Attempts ended per second in equal parts of the last run's time, from its first end to its last.

        At most `cells` parts; with the epoch seconds of its beginning and the length of a part in seconds.
        """
        if not self._moments:
            return [], 0, 0
        unit = UNITS[self._unit][1]
        counts = {_epoch(moment): count for moment, count in self._moments.items()}
        first, last = min(counts), max(counts)
        units = (last - first) // unit + 1
        length = -(-units // cells) * unit
        found = [0] * -(-units * unit // length)
        for when, count in counts.items():
            found[(when - first) // length] += count
        return [count / length for count in found], first, length

    def groups(self, ledger: Ledger) -> Iterator[Group]:
        """The items that have failed, by reason, the most frequent first."""
        counts: dict[str, int] = {}
        first: dict[str, bytes] = {}
        for id, reason in self._failed.items():
            if ledger.state(id) is State.FAILED:
                counts[reason] = counts.get(reason, 0) + 1
                first.setdefault(reason, id)
        for reason in sorted(counts, key=lambda reason: -counts[reason]):
            shown = (pair for pair in self._examples.get(reason, {}).items() if ledger.state(pair[0]) is State.FAILED)
            example, err = next(shown, (first[reason], None))
            yield Group(reason, counts[reason], example, err)


def _epoch(moment: str) -> int:
    """The seconds of a timestamp of which the end is cut off."""
    return int(datetime.fromisoformat((moment + "-01-01T00:00:00"[len(moment) - 4 :])[:19] + "+00:00").timestamp())
