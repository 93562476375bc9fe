"""Plain lines as columns, and of what kind each of them is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, repeat
from operator import not_
from typing import Any, NamedTuple

import orjson

from .records import Record

AT = slice(-25, -1)  # where in the rest of a clean end its time stands
BARE = len(b'"at":""') + 24  # bytes of the rest of a line that tells no more than when
COMPACT = b'"by":"compact","cut_offs":0,"failures":0,"limited":false,'  # what compact made of a clean end has this
SILENT = b'"unknown":1,'  # and this, if it was the only attempt and told no cost
STARTED, DONE, UNCHARGED = b"started", b"done", b"uncharged"


class End(NamedTuple):
    """A clean end as it stands in its line, to be read when it is asked for."""

    attempt: bytes
    ms: bytes | None
    costs: bytes | None
    out: bytes | None
    err: bytes | None
    rest: bytes

    def fields(self) -> dict[str, Any]:
        """All fields but the type, the id and the attempt, in the order of the line."""
        found: dict[str, Any] = orjson.loads(self.line())
        del found["t"]
        return found

    def line(self) -> bytes:
        """Its line without the id, the attempt and the CRC."""
        took = b'"rc":0,"ms":%b,' % self.ms if self.ms else b""
        kept = b'"out":%b,"err":%b,' % (self.out, self.err) if self.out and self.err else b""
        return b'{"t":"done",%b%b%b%b}' % (took, self.costs or b"", kept, self.rest)

    def compacted(self, id: bytes) -> bytes:
        """The line that compact makes of one that took time, without the CRC."""
        attempt, ms, costs, out, err, rest = self
        own = costs or b""
        if not rest.startswith(COMPACT):
            own = COMPACT + (own if own.startswith(b'"cost":') else SILENT + own)
        if out and err:
            return b'{"t":"done","id":"%b","a":%b,"rc":0,"ms":%b,"out":%b,"err":%b,%b%b' % (id, attempt, ms or b"0", out, err, own, rest)
        return b'{"t":"done","id":"%b","a":%b,"rc":0,"ms":%b,%b%b' % (id, attempt, ms or b"0", own, rest)

    @property
    def stands_for_many(self) -> bool:
        """Whether compact wrote it, for all attempts of its item."""
        return self.rest.startswith(COMPACT)

    @property
    def at(self) -> str:
        """When it came, as a timestamp."""
        return self.rest[AT].decode()

    @property
    def cost(self) -> float | None:
        """What it said that it cost."""
        cost = told([self.costs])[0].get("cost") if self.costs else None
        return None if cost is None else float(cost)


@dataclass(eq=False)
class Rows:
    """Plain lines in their order, as columns; a batch's start stands there once for each of its items."""

    types: Sequence[bytes]
    ids: Sequence[bytes]
    attempts: Sequence[bytes]
    ms: Sequence[bytes | None]  # of those with exit code 0; what is not told is None or empty, here and below
    costs: Sequence[bytes | None]  # their cost and sums as JSON, with a comma behind; or `"by":"hand",`
    outs: Sequence[bytes | None]  # where the kept streams are, as JSON
    errs: Sequence[bytes | None]
    rests: Sequence[bytes]  # all other fields but the CRC, as JSON

    @cached_property
    def begun(self) -> list[bool]:
        """Of each row, whether it is a start."""
        return [t == STARTED for t in self.types]

    @cached_property
    def _telling(self) -> list[int]:
        """Which rows are neither starts nor clean ends that tell no more than what stands in the columns before `rests`."""
        if set(map(len, self.rests)) == {BARE} and self.begun.count(True) + self.types.count(DONE) == len(self.types):
            return []
        pairs = enumerate(zip(self.types, self.rests, strict=True))
        return [at for at, (t, rest) in pairs if t != STARTED and (t != DONE or len(rest) != BARE)]

    @cached_property
    def compacted(self) -> list[int]:
        """Which rows are what compact made of clean ends."""
        types, costs, rests = self.types, self.costs, self.rests
        found = [at for at in self._telling if rests[at].startswith(COMPACT) and types[at] == DONE and not costs[at]]
        return [at for at in found if rests[at].startswith(b'"at":', -BARE)]

    @cached_property
    def unusual(self) -> dict[int, Record]:
        """The rows that are neither starts, nor clean ends, compacted or not."""
        compacted = set(self.compacted)
        return {at: self._record(at) for at in self._telling if at not in compacted}

    @cached_property
    def ends(self) -> list[int]:
        """Which rows are clean ends of attempts as a run wrote them."""
        ends, telling = [at for at, ms in enumerate(self.ms) if ms], set(self._telling)
        return [at for at in ends if at not in telling] if telling else ends

    @cached_property
    def times(self) -> list[int]:
        """How many milliseconds each of `ends` took."""
        found: list[int] = orjson.loads(b"[" + b",".join([self.ms[at] or b"" for at in self.ends]) + b"]")
        return found

    @cached_property
    def last(self) -> dict[bytes, bool]:
        """The ids in the order of their first mention, each with whether its last row is a start."""
        return dict(zip(self.ids, self.begun, strict=True))

    @cached_property
    def unended(self) -> set[bytes]:
        """The ids of which the last row is a start, and those that are started or ended more than once."""
        found = set(compress(self.last, self.last.values()))
        if len(self.last) == len(self.ids):
            return found
        begun, ended = compress(self.ids, self.begun), compress(self.ids, map(not_, self.begun))
        if len({*begun}) + len({*ended}) < len(self.ids):
            pairs = Counter(zip(self.ids, self.begun, strict=True)).items()
            found |= {id for (id, _), count in pairs if count > 1}
        return found

    def about(self, ids: Collection[bytes]) -> list[int]:
        """Which rows speak of these ids."""
        return [at for at, id in enumerate(self.ids) if id in ids] if ids else []

    def taken(self, ends: Sequence[int]) -> Iterator[End]:
        """Some clean ends, each as it stands in its line."""
        columns = self.attempts, self.ms, self.costs, self.outs, self.errs, self.rests
        fields = zip(*[map(column.__getitem__, ends) for column in columns], strict=True)
        return map(tuple.__new__, repeat(End), fields)

    def summed(self, at: int) -> bytes:
        """What a compacted row tells of all attempts of its item, as JSON, with a comma behind."""
        return self.rests[at][len(COMPACT) : -BARE]

    def record(self, at: int) -> Record:
        """A row as the record that it is (a batch's start: as one of this item alone)."""
        return self.unusual.get(at) or self._record(at)

    def _record(self, at: int) -> Record:
        attempt, rest = self.attempts[at], self.rests[at]
        if self.begun[at] and len(rest) == BARE and rest.startswith(b'"at":"'):
            fields: dict[str, Any] = {"at": rest[AT].decode()}
        else:
            fields = End(attempt, self.ms[at], self.costs[at], self.outs[at], self.errs[at], rest).fields()
        return Record(self.types[at].decode(), (self.ids[at],), (int(attempt),), fields)

    def records(self) -> Iterator[Record]:
        return map(self.record, range(len(self.ids)))


def told(costs: Sequence[bytes | None]) -> list[dict[str, Any]]:
    """What some of `Rows.costs` or `Rows.summed` tell."""
    found: list[dict[str, Any]] = orjson.loads(b"[{" + b"},{".join([(cost or b"")[:-1] for cost in costs]) + b"}]") if costs else []
    return found
