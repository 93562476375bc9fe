"""Plain lines: those that speak of one short id, nearly all of a long journal.  They are read in bulk.

What they say is what `records.Decoder` would find in them; a line with anything
unusual about it is not plain and goes the general way.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import orjson

from .records import BARRIER, LONG, SEAL, TAIL, Record

# type, id, attempt; of a clean end ms, costs, out and err; the rest of the line as it stands
Row = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]
Column = Sequence[bytes]

_LINE = re.compile(  # `(?:…|)` where `(?:…)?` would say the same, in two thirds of the time
    rb'(?:\{"t":"([a-z_]+)","id":"([^"\\\x00-\x1f]+)","a":(\d+),'
    rb'(?:"rc":0,"ms":(\d+),|)("by":"hand",|(?:"cost":\d+(?:\.\d+|)(?:e-?\d+|),|)(?:"sums":\{[^}\n]*\},|))'
    rb'(?:"out":(0|\[\d+,\d+,"[0-9a-f]{8}"\]),"err":(0|\[\d+,\d+,"[0-9a-f]{8}"\]),|)|)'
    rb"(.*)\n"
)
COMPACT = b'"by":"compact","cut_offs":0,"failures":0,"limited":false,'  # what compact made of a clean end has this
_BATCH = b'{"t":"started","ids":["'
AT = slice(-TAIL - 25, -TAIL - 1)  # where in the rest of a clean end its time stands
BARE = len(b'"at":""') + 24 + TAIL  # bytes of the rest of a line that tells no more than when
STARTED, DONE, UNCHARGED = b"started", b"done", b"uncharged"
_SIMPLE = frozenset({STARTED, DONE})


class End(NamedTuple):
    """A clean end as it stands in its line, to be read when it is asked for."""

    attempt: int
    ms: bytes
    costs: bytes
    out: bytes
    err: bytes
    rest: bytes

    def fields(self) -> dict[str, Any]:
        """All fields but the type, the id and the attempt, in the order of the line."""
        found: dict[str, Any] = orjson.loads(self.line())
        del found["t"], found["c"]
        return found

    def line(self) -> bytes:
        """Its line without the id and the attempt, so that the checksum in it is of no use."""
        begin = b'{"t":"done","rc":0,"ms":%b,' % self.ms if self.ms else b'{"t":"done",'
        kept = b'"out":%b,"err":%b,' % (self.out, self.err) if self.out else b""
        return begin + self.costs + kept + self.rest


class Rows(NamedTuple):
    """Plain lines in their order, as columns; a batch's start stands there once for each of its items."""

    types: Sequence[bytes]
    ids: Sequence[bytes]
    attempts: Sequence[int]
    ms: Sequence[bytes]  # of those with exit code 0; empty for others
    costs: Sequence[bytes]  # their cost and sums as JSON, with a comma behind; or `"by":"hand",`
    outs: Sequence[bytes]  # where the kept streams are, as JSON; empty if it is not told
    errs: Sequence[bytes]
    rests: Sequence[bytes]  # all other fields, as JSON

    def unusual(self) -> list[int]:
        """Which rows are neither starts nor clean ends that tell no more than what stands in the columns before `rests`."""
        if self._bare and _SIMPLE.issuperset(self.types):
            return []
        pairs = enumerate(zip(self.types, self.rests, strict=True))
        found = [at for at, (t, rest) in pairs if t != STARTED and (t != DONE or len(rest) != BARE)]
        return [at for at in found if self.types[at] != DONE or not self.rests[at].startswith(COMPACT)]

    @property
    def _bare(self) -> bool:
        """Whether all rows tell no more than when, besides what stands in the other columns."""
        return set(map(len, self.rests)) == {BARE}

    def ends(self, unusual: Collection[int]) -> list[int]:
        """Which rows are clean ends of attempts, compacted or not."""
        ends = [at for at, ms in enumerate(self.ms) if ms]
        left = {at for at in unusual if self.ms[at]}
        return [at for at in ends if at not in left] if left else ends

    def compacted(self) -> list[int]:
        """Which rows are what compact made of clean ends."""
        if self._bare:
            return []
        pairs = enumerate(zip(self.types, self.rests, strict=True))
        return [at for at, (t, rest) in pairs if len(rest) != BARE and t == DONE and rest.startswith(COMPACT)]

    def unended(self) -> set[bytes]:
        """The ids of which the last row is a start, and those that are started or ended more than once."""
        last = dict(zip(self.ids, self.types, strict=True))
        found = {id for id, t in last.items() if t == STARTED} if STARTED in self.types else set()
        if len(last) < len(self.ids) and len(set(zip(self.ids, self.types, strict=True))) < len(self.ids):
            pairs = Counter(zip(self.ids, self.types, strict=True)).items()
            found |= {id for (id, _), count in pairs if count > 1}
        return found

    def about(self, ids: Collection[bytes]) -> list[int]:
        """Which rows speak of these ids."""
        return [at for at, id in enumerate(self.ids) if id in ids] if ids else []

    def end(self, at: int) -> End:
        return End(self.attempts[at], self.ms[at], self.costs[at], self.outs[at], self.errs[at], self.rests[at])

    def record(self, at: int) -> Record:
        """A row as the record that it is (a batch's start: as one of this item alone)."""
        return Record(self.types[at].decode(), (self.ids[at],), (self.attempts[at],), self.end(at).fields())

    def records(self) -> Iterator[Record]:
        return map(self.record, range(len(self.ids)))


def told(costs: Sequence[bytes]) -> list[dict[str, Any]]:
    """What some of `Rows.costs` tell, none of which is empty."""
    found: list[dict[str, Any]] = orjson.loads(b"[{" + b"},{".join([cost[:-1] for cost in costs]) + b"}]") if costs else []
    return found


class Run(NamedTuple):
    """Lines that stand together: how many, how many bytes, what the plain ones say, and the last one if it is not plain."""

    lines: int
    size: int
    rows: Rows | None
    odd: bytes | None


def runs(whole: bytes, seed: int) -> Iterator[Run]:
    """Whole lines as runs of plain ones, each with the line (without newline) that ends it.

    If not all CRCs hold, each line is given as one that is not plain.
    """
    lines = whole[:-1].split(b"\n")
    if not all_intact(lines, seed):
        for line in lines:
            yield Run(1, len(line) + 1, None, line)
        return
    rows: list[Row] = _LINE.findall(whole)
    columns = list(zip(*rows, strict=True))
    barred = BARRIER in whole
    if not barred and all(columns[1]) and max(map(len, columns[1])) <= LONG:
        yield Run(len(lines), len(whole), _rows(*columns), None)
        return
    found: list[Row] = []
    begin = first = 0
    for at in [at for at, row in enumerate(rows) if not 0 < len(row[1]) <= LONG or (barred and BARRIER in row[-1])]:
        found += rows[begin:at]
        begin = at + 1
        if (batch := _batch(lines[at])) is not None:
            found += batch
        else:
            yield _run(lines[first:begin], found, lines[at])
            found, first = [], begin
    found += rows[begin:]
    if first < len(lines):
        yield _run(lines[first:], found, None)


def all_intact(lines: Sequence[bytes], seed: int) -> bool:
    """Whether the CRCs of all these lines (without their newlines) hold."""
    sums = tuple(map(zlib.crc32, [line[:-TAIL] for line in lines], repeat(seed)))
    return b"".join([line[-TAIL:] for line in lines]) == SEAL * len(sums) % sums


def _batch(line: bytes) -> list[Row] | None:
    """A batch's start as a row for each of its items; None for any other line, or if an id of it is not plain."""
    if not line.startswith(_BATCH):
        return None
    fields = orjson.loads(line)
    ids, attempts = fields["ids"], fields["a"]
    names = [id.encode() for id in ids if type(id) is str]
    if len(names) < len(ids) or max(map(len, names)) > LONG:
        return None
    rest = orjson.dumps({name: value for name, value in fields.items() if name not in ("t", "ids", "a")})[1:]
    return [(STARTED, id, b"%d" % a, b"", b"", b"", b"", rest) for id, a in zip(names, attempts, strict=True)]


def _run(lines: Sequence[bytes], rows: Sequence[Row], odd: bytes | None) -> Run:
    columns = _rows(*zip(*rows, strict=True)) if rows else None
    return Run(len(lines), sum(map(len, lines)) + len(lines), columns, odd)


def _rows(types: Column, ids: Column, attempts: Column, *others: Column) -> Rows:
    numbers = {a: int(a) for a in set(attempts)}
    return Rows(types, ids, list(map(numbers.__getitem__, attempts)), *others)
