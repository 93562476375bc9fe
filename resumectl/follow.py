"""A journal's records as they come: those that are there, then each as it is written.

No lock is taken.  A line counts when its newline is there, so the half of one that a
run is just writing is waited for.  When another file takes the journal's place, that
one is followed: of the same journal (mended, or compacted) only what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .disk import Disk
from .lines import CHUNK, Text, decoded, read_header, split
from .records import Decoder, Record
from .tail import Growing

SAME = 4096  # bytes by which a file is known to go on as the one before it did


def follow(path: Path, pause: Callable[[], None], disk: Disk | None = None) -> Iterator[Record]:
    """Every record, without an end; `pause` is called when all has been given: it waits, and may raise.

    Raises JournalError (not a journal, newer, header damaged), OSError.
    """
    source = _Source(path, disk or Disk())
    try:
        while True:
            for record in decoded(Text(path), source.lines(pause), Decoder()):
                if not (source.known and record.rest.get("by") == "compact"):
                    yield record
    finally:
        source.close()


class _Source:
    """The lines of one journal after another at a path.  `known`: what compact wrote there was given before."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self._file = Growing(path, disk)
        self._file.open()
        self._last = b""  # what stands before the next line
        self._header: dict[str, Any] = {}
        self.known = False

    def lines(self, pause: Callable[[], None]) -> Iterator[tuple[int, bytes]]:
        """Each line with its first byte, from all files of one journal; ends where another journal begins."""
        while True:
            moved = self._file.moved()  # asked before reading: what was written until then is read
            yield from self._whole()
            if not moved:
                pause()
            elif not self._go_over():
                return

    def _whole(self) -> Iterator[tuple[int, bytes]]:
        for byte, chunk in self._file.chunks():
            if not self._header:
                self._header = read_header(self._file.path, chunk.partition(b"\n")[0])
            self._last = (self._last + chunk)[-SAME:]
            yield from split(byte, chunk)

    def _go_over(self) -> bool:
        """Go on in the file that stands at the path now; False if it is another journal."""
        before, old = self._file.next - len(self._last), self._header
        self._file.open()
        first = self._file.read(CHUNK, 0).partition(b"\n")[0]
        self._header = read_header(self._file.path, first)
        if not old or self._header["jid"] != old["jid"]:
            self.known, self._header, self._last = False, {}, b""
            return False
        if self._file.read(len(self._last), before) == self._last:
            self._file.next = before + len(self._last)
        else:
            self._file.next, self.known, self._last = len(first) + 1, True, b""
        return True

    def close(self) -> None:
        self._file.close()
