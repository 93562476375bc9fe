"""A journal that may still grow, read without a lock: each of its lines once, and those of the file that takes its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .disk import READ, Disk
from .lines import CHUNK, Fold, JournalError, Text, fold_lines
from .records import Decoder


class Growing:
    """Whatever file stands at a path when it is opened: its whole lines, as they come."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path, self._disk = path, disk
        self._fd = -1
        self.next = 0  # the byte at which the next line begins

    @property
    def opened(self) -> bool:
        return self._fd >= 0

    def open(self) -> None:
        """Go over to the file that stands at the path now, to its start.  Raises OSError."""
        fd = self._disk.open(self.path, READ)
        self.close()
        self._fd, self.next = fd, 0

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """The lines that have come, many at a time, with the byte at which they begin; half a line waits for the rest."""
        rest = b""
        while piece := self._disk.read(self._fd, CHUNK, self.next + len(rest)):
            whole, newline, rest = (rest + piece).rpartition(b"\n")
            if newline:
                start = self.next
                self.next += len(whole) + 1
                yield start, whole + newline

    def moved(self) -> bool:
        """Whether another file stands at the path by now."""
        return self._disk.identity(self.path) not in (None, self._disk.identity(self._fd))

    def read(self, size: int, offset: int) -> bytes:
        return self._disk.read(self._fd, size, offset)

    def close(self) -> None:
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1


class Tail:
    """Adds up a journal as it grows; anew when another file stands in its place (`reset`, `compact`, `--fresh`)."""

    def __init__(self, path: Path, begin: Callable[[], Sequence[Fold]], disk: Disk | None = None) -> None:
        """`begin` gives what adds up a file, which has been read from its start."""
        self._file, self._begin = Growing(path, disk or Disk()), begin

    def look(self) -> None:
        """Take in what has been added since the last call.

        Raises JournalError (no journal, newer, header damaged).
        """
        try:
            if not self._file.opened:
                self._open()
            self._more()
            if self._file.moved():
                self._more()
                self._open()
                self._more()
        except OSError as error:
            raise JournalError(f"{self._file.path}: {error.strerror}", 2) from error

    def _open(self) -> None:
        self._file.open()
        self.text, self._decoder, self._folds = Text(self._file.path), Decoder(), self._begin()

    def _more(self) -> None:
        for byte, lines in self._file.chunks():
            self.text.size = byte + len(lines)
            fold_lines(self.text, self._decoder, byte, lines, self._folds)
