"""Plain lines: those that speak of one short id, nearly all of a long journal.  They are found in bulk.

What they say is what `records.Decoder` would find in them; a line with anything
unusual about it is not plain and goes the general way.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import orjson

from .columns import STARTED, Rows
from .records import BARRIER, LONG, SEAL, TAIL

# type, id, attempt; of a clean end ms, costs, out and err; the rest of the line as it stands
Row = tuple[bytes, bytes, bytes, bytes | None, bytes | None, bytes | None, bytes | None, bytes]

_SEALED = rb"%b(.{8})%b\n" % tuple(map(re.escape, SEAL.split(b"%08x")))
_SEAL = re.compile(_SEALED)
_KEPT = rb'(0|\[\d[0-9a-f,"]*+\])'
_COSTS = rb'"by":"hand",|(?:"cost":\d++(?:\.\d++|)(?:e-?\d++|),|)(?:"sums":\{[^}\n]*+\},|)'
_LINE = re.compile(  # `(?:…|)` where `(?:…)?` would say the same, and what is frequent first: in two thirds of the time
    rb'^((?:\{"t":"([a-z_]++)","id":"([^"\\\x00-\x1f]{1,%d}+)","a":(\d++),' % LONG
    + rb'(?:(?="at")|(?:"rc":0,"ms":(0|[1-9]\d*+),|)(%b)(?:"out":%b,"err":%b,|))|)' % (_COSTS, _KEPT, _KEPT)
    + rb'("at":"[^"]*+"|.*))%b' % _SEALED,
    re.MULTILINE,
)
_WIDTH = _LINE.groups + 1  # of what a line is split into: what stands between it and the one before, and the groups
_BATCH = b'{"t":"started","ids":["'


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
    parts = _LINE.split(whole)  # columns are cut from it without a tuple for each line
    bodies, *columns, sums = [parts[at::_WIDTH] for at in range(1, _WIDTH)]
    if any(parts[::_WIDTH]) or not _hold(bodies, sums, seed):
        for line in whole[:-1].split(b"\n"):
            yield Run(1, len(line) + 1, None, line)
        return
    barred = BARRIER in whole
    if not barred and None not in columns[1]:
        yield Run(len(bodies), len(whole), Rows(*columns), None)
        return
    rows: list[Row] = list(zip(*columns, strict=True))
    found: list[Row] = []
    begin = first = 0
    for at in [at for at, row in enumerate(rows) if row[1] is None or (barred and BARRIER in row[-1])]:
        found += rows[begin:at]
        begin = at + 1
        line = bodies[at] + SEAL.replace(b"%08x", sums[at])
        if (batch := _batch(line)) is not None:
            found += batch
        else:
            yield _run(bodies[first:begin], found, line)
            found, first = [], begin
    found += rows[begin:]
    if first < len(bodies):
        yield _run(bodies[first:], found, None)


def all_intact(whole: bytes, seed: int) -> bool:
    """Whether the CRCs of all these whole lines hold."""
    parts = _SEAL.split(whole)
    return not parts[-1] and _hold(parts[:-1:2], parts[1::2], seed)


def _hold(bodies: Sequence[bytes], sums: Sequence[bytes], seed: int) -> bool:
    """Whether these are the CRCs of lines without them."""
    found = struct.pack(f">{len(bodies)}I", *map(zlib.crc32, bodies, repeat(seed)))
    return b"".join(sums) == found.hex().encode()


def _batch(line: bytes) -> list[Row] | None:
    """A batch's start as a row for each of its items; None for any other line, or if an id of it is not plain."""
    if not line.startswith(_BATCH):
        return None
    fields = orjson.loads(line)
    ids, attempts = fields["ids"], fields["a"]
    names = [id.encode() for id in ids if type(id) is str]
    if len(names) < len(ids) or max(map(len, names)) > LONG:
        return None
    rest = orjson.dumps({name: value for name, value in fields.items() if name not in ("t", "ids", "a", "c")})[1:-1]
    return [(STARTED, id, b"%d" % a, b"", b"", b"", b"", rest) for id, a in zip(names, attempts, strict=True)]


def _run(bodies: Sequence[bytes], rows: Sequence[Row], odd: bytes | None) -> Run:
    size = sum(map(len, bodies)) + (TAIL + 1) * len(bodies)
    return Run(len(bodies), size, Rows(*zip(*rows, strict=True)) if rows else None, odd)
