"""Plain lines: starts and clean ends of one short id, nearly all of a long journal.  They are read in bulk.

What they say is what `records.Decoder` would find in them; a line with anything
unusual about it is not plain and goes the general way.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence

from .records import LONG

# body, type, id, attempt, ms, offset and length of out and of err, CRC; a line that is not plain fills the last only
Row = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]

_PLACE = rb'(?:0|\[(\d+),(\d+),"[0-9a-f]{8}"\])'
_LINE = re.compile(
    rb'(\{"t":"(started|done)","id":"([^"\\\n]+)","a":(\d+),'
    rb'(?:"by":"hand",|"rc":0,"ms":(\d+),(?:"out":' + _PLACE + rb',"err":' + _PLACE + rb",)?)?"
    rb'"at":"[^"\n]{24}"),"c":"([0-9a-f]{8})"\}\n'
    rb"|([^\n]*)\n"
)
FRAME = 17  # bytes of a plain line that are not its body: `,"c":"xxxxxxxx"}` and the newline


def runs(whole: bytes, seed: int) -> Iterator[tuple[int, list[Row], bytes | None]]:
    """Whole lines as runs of plain ones, each with the bytes it takes, and the line (without newline) that ends it.

    A run whose CRCs do not all hold is given line by line as lines that are not plain.
    """
    rows: list[Row] = _LINE.findall(whole)
    odd = [at for at, row in enumerate(rows) if not 0 < len(row[2]) <= LONG]
    begin = 0
    for at in (*odd, len(rows)):
        run = rows[begin:at]
        if run and not _intact(run, seed):
            for line in map(_line, run):
                yield len(line) + 1, [], line
            run = []
        size = sum([len(row[0]) for row in run]) + FRAME * len(run)
        if at < len(rows):
            line = _line(rows[at])
            yield size + len(line) + 1, run, line
        elif run:
            yield size, run, None
        begin = at + 1


def _line(row: Row) -> bytes:
    return row[0] + b',"c":"' + row[9] + b'"}' if row[0] else row[10]


def _intact(rows: Sequence[Row], seed: int) -> bool:
    crc32 = zlib.crc32
    return [crc32(row[0], seed) for row in rows] == [int(row[9], 16) for row in rows]
