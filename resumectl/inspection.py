"""Every line of a journal and every byte that it names of what was printed: is it what was written?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .disk import Disk
from .lines import Text, read
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
        self.streams = self.bytes = 0  # kept streams and their bytes, a batch's once
        self._before: tuple[Kept | None, Kept | None] = (None, None)

    def faults(self) -> Iterator[Fault]:
        """All that is wrong, kept output first.  The stump that a crash leaves, or a run just writes, is not.

        Raises JournalError (no journal of ours, newer, header damaged), OSError.
        """
        shelf = Shelf(self.place.out)
        try:
            for record in read(self.place.journal, Disk(), text=self.text):
                if "out" in record.rest or "err" in record.rest:
                    yield from self._kept(record, shelf)
        finally:
            shelf.close()
        for line, byte in self.text.damages():
            yield Fault(line, byte, "not what was written")

    def _kept(self, record: Record, shelf: Shelf) -> Iterator[Fault]:
        where = kept(record.rest.get("out")), kept(record.rest.get("err"))
        if where == self._before and any(one is not None and one.length for one in where):
            return  # of the same batch
        self._before = where
        for name, one in zip(("stdout", "stderr"), where, strict=True):
            if one is None:
                continue
            self.streams, self.bytes = self.streams + 1, self.bytes + one.length
            if one.length and shelf.get(one) is None:
                stretch = f"bytes {one.offset} to {one.offset + one.length - 1} of {self.place.out.name}"
                what = f"the kept {name} of {shown(record.ids[0])} ({stretch}) is not what was kept"
                yield Fault(self.text.lines, self.text.byte, what)

    def counts(self) -> str:
        """One line: what has been read."""
        torn = len(self.text.bad)
        stumps = f", {torn} torn by a crash (or being written)" if torn else ""
        return f"{self.text.lines} lines{stumps}, {self.streams} kept streams of {self.bytes} bytes"
