"""Every line of a journal and every byte that it names of what was printed: is it what was written?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from .columns import Rows
from .disk import Disk
from .lines import Text, fold, read
from .outputs import EMPTY, Kept, Shelf, kept
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
            self.kept = _Streams(shelf)
            fold(self.place.journal, [self.kept], Disk(), text=self.text)
            if self.kept.lost:
                yield from self._lost(shelf)
        finally:
            shelf.close()
        for line, byte in self.text.damages():
            yield Fault(line, byte, "not what was written")

    def _lost(self, shelf: Shelf) -> Iterator[Fault]:
        """Read once more, line by line, for the lines that name what is lost."""
        text, streams = Text(self.place.journal), _Streams(shelf)
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


class _Streams:
    """Takes in records and looks at each kept stream that they name, a batch's once."""

    def __init__(self, shelf: Shelf) -> None:
        self.count = self.bytes = 0
        self.lost: list[tuple[str, Kept]] = []
        self._shelf = shelf
        self._before: tuple[Kept | None, Kept | None] = (None, None)

    def enter(self, record: Record) -> None:
        if "out" in record.rest or "err" in record.rest:
            self._look(kept(record.rest.get("out")), kept(record.rest.get("err")))

    def enter_rows(self, rows: Rows) -> None:
        """Take plain lines in: the same as `enter` for each, several times quicker."""
        pairs = enumerate(zip(rows.outs, rows.errs, strict=True))
        places = {at: b"[%b,%b]" % (out, err) for at, (out, err) in pairs if out and err}
        clean = dict(zip(places, orjson.loads(b"[%b]" % b",".join(places.values())), strict=True))
        for at in sorted({*clean, *rows.unusual}):
            if at in clean:
                self._look(*map(kept, clean[at]))
            else:
                self.enter(rows.record(at))

    def _look(self, out: Kept | None, err: Kept | None) -> None:
        if (out, err) == self._before and (out or EMPTY, err or EMPTY) != (EMPTY, EMPTY):
            return  # of the same batch
        self._before = out, err
        for name, one in ("stdout", out), ("stderr", err):
            if one is None:
                continue
            self.count, self.bytes = self.count + 1, self.bytes + one.length
            if one.length and not self._shelf.holds(one):
                self.lost.append((name, one))
