"""Every line of a journal and every byte that it names of what was printed: is it what was written?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from .columns import Rows
from .disk import Disk
from .lines import Text, fold, read
from .outputs import Kept, Shelf, kept
from .place import Place
from .records import Record
from .words import shown


@dataclass(frozen=True)
class Fault:
    """Something that is not what it should be, at a line (from 1) and byte (from 0) of the journal."""

    line: int
    byte: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line} (byte {self.byte}): {self.what}"


class Inspection:
    """Reads a job through; afterwards its counts are those of the whole."""

    def __init__(self, place: Place) -> None:
        self.place, self.text = place, Text(place.journal)

    def faults(self) -> Iterator[Fault]:
        """All that is wrong, kept output first.  The stump that a crash leaves, or a run just writes, is not.

        Raises JournalError (no journal of ours, newer, header damaged), OSError.
        """
        shelf = Shelf(self.place.out)
        try:
            self.kept = Streams(shelf)
            fold(self.place.journal, [self.kept], Disk(), text=self.text)
            if not self.kept.whole:
                yield from self._lost(shelf)
        finally:
            shelf.close()
        for line, byte in self.text.damages():
            yield Fault(line, byte, "not what was written")

    def _lost(self, shelf: Shelf) -> Iterator[Fault]:
        """Read once more, line by line, for the lines that name what is lost."""
        text, streams = Text(self.place.journal), Streams(shelf)
        for record in read(self.place.journal, text=text):
            streams.enter(record)
            for name, one in streams.lost:
                stretch = f"bytes {one.offset} to {one.offset + one.length - 1} of {self.place.out.name}"
                what = f"the kept {name} of {shown(record.ids[0])} ({stretch}) is not what was kept"
                yield Fault(text.lines, text.byte, what)
            streams.lost.clear()

    def counts(self) -> str:
        """One line: what has been read."""
        torn = len(self.text.bad)
        stumps = f", {torn} torn by a crash (or being written)" if torn else ""
        return f"{self.text.lines} lines{stumps}, {self.kept.count} kept streams of {self.kept.bytes} bytes"


class Streams:
    """Takes in records and looks at each kept stream that they name, a batch's once."""

    def __init__(self, shelf: Shelf) -> None:
        self.count = self.bytes = 0
        self.whole = True  # nothing is lost
        self.lost: list[tuple[str, Kept]] = []  # what is, of what came by `enter`
        self._shelf = shelf
        self._before: list[Any] = []

    def enter(self, record: Record) -> None:
        for pair in self._fresh(_pairs(record)):
            streams = [(name, one) for name, one in zip(("stdout", "stderr"), map(kept, pair), strict=True) if one]
            self.lost += [(name, one) for name, one in streams if one.length and not self._shelf.holds(one)]
            self.whole = self.whole and not self.lost

    def enter_rows(self, rows: Rows) -> None:
        """Take plain lines in: the same as `enter` for each, several times quicker; what is lost is not named."""
        pairs = enumerate(zip(rows.outs, rows.errs, strict=True))
        places = {at: b"[%b,%b]" % (out, err) for at, (out, err) in pairs if out and err}
        told = dict(zip(places, orjson.loads(b"[%b]" % b",".join(places.values())), strict=True))
        told |= {at: pair for at, record in rows.unusual.items() if at not in told for pair in _pairs(record)}
        fresh = self._fresh([told[at] for at in sorted(told)])
        named = [Kept(*one) for pair in fresh for one in pair if one]
        self.whole = self.whole and (not named or self._shelf.hold_all(named))

    def _fresh(self, pairs: Sequence[list[Any]]) -> list[list[Any]]:
        """Count what some lines name as their `out` and `err`, but those that name what the line before did: of its batch."""
        fresh = [pair for pair, before in zip(pairs, [self._before, *pairs], strict=False) if pair != before or not any(pair)]
        self._before = pairs[-1] if pairs else self._before
        streams = [one for pair in fresh for one in pair if one is not None]
        self.count += len(streams)
        self.bytes += sum([one[1] for one in streams if one])
        return fresh


def _pairs(record: Record) -> list[list[Any]]:
    """The `out` and `err` of a record, if it has one of them."""
    pair = [record.rest.get("out"), record.rest.get("err")]
    return [] if pair == [None, None] else [pair]
