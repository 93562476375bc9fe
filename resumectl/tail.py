"""A journal that may still grow, followed without a lock: each record is read once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .disk import READ, Disk
from .lines import JournalError, Text, decoded
from .records import Decoder, Record

CHUNK = 1 << 22  # bytes read at a time


class Tail:
    """The records of a journal, of the file that stands at its path later on too (`reset`, `compact`, `--fresh`).

    `files` counts the files so far: when it has grown, what follows is another file's.
    """

    def __init__(self, path: Path, disk: Disk | None = None) -> None:
        self.path, self._disk = path, disk or Disk()
        self.text = Text(path)
        self.files = 0
        self._fd, self._offset = -1, 0
        self._decoder = Decoder()

    def records(self) -> Iterator[Record]:
        """What has been added since the last call; a last line without its newline waits for the rest.

        Raises JournalError (no journal, newer, header damaged).
        """
        try:
            if self._fd < 0:
                self._open()
            yield from self._more()
            if self._replaced():
                yield from self._more()
                self._open()
                yield from self._more()
        except OSError as error:
            raise JournalError(f"{self.path}: {error.strerror}", 2) from error

    def _replaced(self) -> bool:
        now = self._disk.identity(self.path)
        return now is not None and now != self._disk.identity(self._fd)

    def _open(self) -> None:
        fd = self._disk.open(self.path, READ)
        self.close()
        self._fd, self._offset = fd, 0
        self.text, self._decoder = Text(self.path), Decoder()
        self.files += 1

    def _more(self) -> Iterator[Record]:
        return decoded(self.text, self._lines(), self._decoder)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        rest = b""
        while piece := self._disk.read(self._fd, CHUNK, self._offset + len(rest)):
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                start = self._offset
                self._offset = self.text.size = start + len(line) + 1
                yield start, line

    def close(self) -> None:
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1
