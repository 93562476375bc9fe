"""What the commands printed.

A child's streams are regular files, never pipes: nothing is cut at 64 KiB, no
grandchild that keeps a pipe open holds an item up, and a flood stays on the disk.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

PIECE = 1 << 20  # bytes copied at a time, so that a flood never lives in memory


class Spool:
    """One stream of one attempt: a nameless file, written by the child and read by us."""

    def __init__(self, directory: Path) -> None:
        """Raises OSError."""
        self.fd = _nameless(directory)

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def view(self) -> bytes | mmap.mmap:
        """Its bytes without a copy."""
        size = self.size()
        return mmap.mmap(self.fd, size, prot=mmap.PROT_READ) if size else b""

    def pieces(self) -> Iterator[bytes]:
        """Its bytes from the start, a piece at a time."""
        offset = 0
        while piece := os.pread(self.fd, PIECE, offset):
            yield piece
            offset += len(piece)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _nameless(directory: Path) -> int:
    """A file without a name on the journal's file system; where that is refused, one that loses its name."""
    if hasattr(os, "O_TMPFILE"):
        try:
            return os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
    fd, path = tempfile.mkstemp(dir=directory, prefix=".spool-")
    os.unlink(path)
    return fd


# Kernels and file systems without O_TMPFILE say so in different ways.
_UNSUPPORTED = {errno.EISDIR, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOENT}
