"""A journal's records as they come: those that are there, then each as it is written.

No lock is taken.  A line counts when its newline is there, so the half of one that a
run is just writing is waited for.  When another file takes the journal's place, that
one is followed: of the same journal (mended, or compacted) only what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .disk import READ, Disk
from .lines import Text, decoded, read_header
from .records import Decoder, Record

CHUNK = 1 << 20  # bytes


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
    """The whole lines of whatever file stands at a path.  `known`: what compact wrote there was given before."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self._path, self._disk = path, disk
        self._fd = disk.open(path, READ)
        self._next = 0  # the byte at which the next line begins
        self._last = b""  # the line before it
        self._header: dict[str, Any] = {}
        self.known = False

    def lines(self, pause: Callable[[], None]) -> Iterator[tuple[int, bytes]]:
        """Each line with its first byte, from all files of one journal; ends where another journal begins."""
        while True:
            moved = self._moved()  # asked before reading: what was written until then is read
            yield from self._whole()
            if not moved:
                pause()
            elif not self._go_over():
                return

    def _whole(self) -> Iterator[tuple[int, bytes]]:
        rest = b""
        while piece := self._disk.read(self._fd, CHUNK, self._next + len(rest)):
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                start, self._last = self._next, line
                self._next += len(line) + 1
                if not self._header:
                    self._header = read_header(self._path, line)
                yield start, line

    def _moved(self) -> bool:
        return self._disk.identity(self._path) not in (None, self._disk.identity(self._fd))

    def _go_over(self) -> bool:
        """Go on in the file that stands at the path now; False if it is another journal."""
        fresh = self._disk.open(self._path, READ)
        self._disk.close(self._fd)
        self._fd = fresh
        header, old = self._first_line(), self._header
        self._header = read_header(self._path, header)
        if not old or self._header["jid"] != old["jid"]:
            self._next, self.known, self._header = 0, False, {}
            return False
        before = self._next - len(self._last) - 1
        if self._disk.read(self._fd, len(self._last) + 1, before) != self._last + b"\n":
            self._next, self.known = len(header) + 1, True
        return True

    def _first_line(self) -> bytes:
        return self._disk.read(self._fd, CHUNK, 0).partition(b"\n")[0]

    def close(self) -> None:
        self._disk.close(self._fd)
