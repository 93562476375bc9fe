"""What the commands printed: caught in files, kept beside the journal, read back.

A child's streams are regular files, never pipes: nothing is cut at 64 KiB, no
grandchild that keeps a pipe open holds an item up, and a flood stays on the disk.
Kept bytes are appended to `NAME.out` and synced before the journal's line that
names them, so a crash leaves harmless bytes and never a line without its bytes.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from .disk import READ, Disk, write_all

SHORT = 1 << 14  # bytes: unprinted streams up to this size may live in memory
PIECE = 1 << 20  # bytes copied at a time, so that a flood never lives in memory
MANY = 1 << 24  # bytes of several streams that are looked at together
# Kernels and file systems without O_TMPFILE say so in different ways.
_UNSUPPORTED = {errno.EISDIR, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOENT}


class Stream(Protocol):
    """Bytes that can be read once, piece by piece, and then let go."""

    def pieces(self) -> Iterator[bytes]: ...

    def close(self) -> None: ...


class Spool:
    """One stream of one attempt: a file that the child writes and we read."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def nameless(cls, directory: str | Path) -> Spool:
        """A file without a name, in the journal's directory; raises OSError."""
        return cls(_nameless(directory))

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def view(self) -> bytes | mmap.mmap:
        """Its bytes without a copy."""
        size = self.size()
        return mmap.mmap(self.fd, size, prot=mmap.PROT_READ) if size else b""

    def pieces(self) -> Iterator[bytes]:
        """Its bytes from the start, a piece at a time."""
        return _pieces(self.fd, 0, None)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Text:
    """A stream in memory: of a handler's, or short enough to be read by the thread that ran the child."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.fd = 0

    def size(self) -> int:
        return len(self._data)

    def view(self) -> bytes:
        return self._data

    def pieces(self) -> Iterator[bytes]:
        if self._data:
            yield self._data

    def close(self) -> None:
        """Nothing."""


NOTHING = Text(b"")


def caught(spool: Spool) -> Spool | Text:
    """A stream whose child has ended; a short one is taken into memory and its file let go.

    That spares the main thread, which writes for all, every system call on it.
    """
    size = spool.size()
    if size > SHORT:
        return spool
    data = os.pread(spool.fd, size, 0) if size else b""
    spool.close()
    return Text(data) if data else NOTHING


def _nameless(directory: str | Path) -> int:
    """Where nameless files are refused, one that loses its name."""
    if hasattr(os, "O_TMPFILE"):
        try:
            return os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
    fd, path = tempfile.mkstemp(dir=directory, prefix=".spool-")
    os.unlink(path)
    return fd


def _pieces(fd: int, offset: int, length: int | None) -> Iterator[bytes]:
    while length != 0 and (piece := os.pread(fd, PIECE if length is None else min(PIECE, length), offset)):
        yield piece
        offset += len(piece)
        length = None if length is None else length - len(piece)


class Kept(NamedTuple):
    """Where a kept stream lies in `NAME.out`; an empty one lies nowhere."""

    offset: int = 0
    length: int = 0
    crc: str = "00000000"

    def field(self) -> list[Any] | int:
        """As the journal has it."""
        return list(self) if self.length else 0


EMPTY = Kept()


def kept(field: Any) -> Kept | None:
    """A journal's `out` or `err` field read back; None when nothing was kept."""
    if field is None or field == 0:
        return None if field is None else EMPTY
    return Kept(*field)


class Span:
    """Some bytes of an open `NAME.out`."""

    def __init__(self, fd: int, where: Kept) -> None:
        self._fd, self.where = fd, where
        self._read: bytes | None = None  # all of it, if it is short and was read

    def pieces(self) -> Iterator[bytes]:
        if self._read is not None:
            return iter([self._read])
        return _pieces(self._fd, self.where.offset, self.where.length)

    def tail(self, length: int) -> bytes:
        """The last `length` bytes."""
        skip = max(0, self.where.length - length)
        return b"".join(_pieces(self._fd, self.where.offset + skip, self.where.length - skip))

    def intact(self) -> bool:
        """Whether the bytes are there and are the ones that were kept."""
        if 0 < self.where.length <= PIECE:
            self._read = os.pread(self._fd, self.where.length, self.where.offset)
        crc = length = 0
        for piece in self.pieces():
            crc, length = zlib.crc32(piece, crc), length + len(piece)
        return length == self.where.length and f"{crc:08x}" == self.where.crc

    def close(self) -> None:
        """Nothing: the file stays open for the others."""


class Outputs:
    """`NAME.out`, open for appending by the one run that holds the lock."""

    def __init__(self, disk: Disk, path: Path, *, sync: bool = True) -> None:
        self.disk, self.path, self.sync = disk, path, sync
        self.fd = -1
        self.named = True  # what is kept here can be found again

    def open(self, end: int) -> None:
        """Open or make the file; one that is shorter than `end`, the highest byte that a line names, is
        extended by a hole, so that no offset is ever used twice.  Raises OSError."""
        new = not self.disk.exists(self.path)
        self.fd = self.disk.open(self.path)
        if self.disk.size(self.fd) < end:
            self.disk.truncate(self.fd, end)
        if new:
            self.disk.sync_dir(self.path.parent)

    def open_nameless(self) -> None:
        """For a run that keeps nothing but must hold output back: a file that goes with the process."""
        self.fd, self.sync, self.named = _nameless(self.path.parent), False, False

    def keep(self, spools: Sequence[Spool | Text | None]) -> list[Kept | None]:
        """Append the streams and make them durable; where each lies now.  Raises OSError, nothing kept then."""
        if all(spool is None or spool is NOTHING for spool in spools):
            return [None if spool is None else EMPTY for spool in spools]
        end = self.disk.size(self.fd)
        found: list[Kept | None] = []
        small: list[bytes] = []
        for spool in spools:
            if spool is None or spool.fd < 0:  # put in its own place
                found.append(None)
                continue
            where = Kept(end)
            for piece in spool.pieces():
                small.append(piece)
                where = Kept(where.offset, where.length + len(piece), f"{zlib.crc32(piece, int(where.crc, 16)):08x}")
                if len(piece) == PIECE:
                    self._write(small)
            end += where.length
            found.append(where)
        wrote = bool(small) or any(where and where.length for where in found)
        self._write(small)
        if wrote and self.sync:
            self.disk.sync(self.fd)
        return found

    def _write(self, pieces: list[bytes]) -> None:
        if pieces:
            write_all(self.disk, self.fd, b"".join(pieces))
            pieces.clear()

    def span(self, where: Kept) -> Span:
        return Span(self.fd, where)

    def close(self) -> None:
        if self.fd >= 0:
            self.disk.close(self.fd)
            self.fd = -1


class Shelf:
    """`NAME.out`, open for reading."""

    def __init__(self, path: Path) -> None:
        """A missing file reads as an empty one: all that is named in it is lost."""
        try:
            self._fd = Disk().open(path, READ)
        except FileNotFoundError:
            self._fd = os.open(os.devnull, READ)

    def get(self, where: Kept | None) -> Span | None:
        """The kept bytes, or None if nothing was kept or its bytes are no longer what they were."""
        span = Span(self._fd, where) if where is not None else None
        return span if span is not None and span.intact() else None

    def holds(self, where: Kept) -> bool:
        """Whether these bytes are still what they were."""
        return Span(self._fd, where).intact()

    def hold_all(self, places: Sequence[Kept]) -> bool:
        """The same of several at once; where they lie close together, they are read together."""
        begin, end = min([where.offset for where in places]), max([where.offset + where.length for where in places])
        if end - begin > MANY:
            return all(map(self.holds, places))
        data = os.pread(self._fd, end - begin, begin)
        sums = [zlib.crc32(data[offset - begin : offset - begin + length]) for offset, length, _ in places]
        return len(data) == end - begin and [f"{crc:08x}" for crc in sums] == [where.crc for where in places]

    def close(self) -> None:
        os.close(self._fd)
