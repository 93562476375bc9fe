"""The one object through which a job's files are made, written, synced and locked.

Everything that must survive a crash goes through a `Disk`, so that a test can
stand in for the whole disk and die at any operation, and an audit can show that
no other write reaches those paths.  It knows no format.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_CLOEXEC
LOCK_PROBE = 0.3  # seconds: how long a held lock is tried, so that a `status` probe is no obstacle


class Busy(Exception):
    """Another open file holds the lock."""


class Disk:
    """File operations, one method each.  All raise OSError as the system does."""

    def open(self, path: Path, flags: int = APPEND) -> int:
        """Open `path` with mode 0600 if it is made; return the descriptor.  Raises OSError for a pipe
        or a device, which would be waited for, or replaced."""
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "it is no regular file", path)
        return fd

    def close(self, fd: int) -> None:
        os.close(fd)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write once; return how many bytes went out, which may be fewer than given."""
        return os.write(fd, data)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        return os.pread(fd, size, offset)

    def sync(self, fd: int) -> None:
        """Make the file's data durable.  macOS needs F_FULLFSYNC to reach the platter."""
        if sys.platform == "darwin":
            import fcntl

            with suppress(OSError):  # not every file system has it (SMB, FUSE)
                fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
                return
            os.fsync(fd)
        else:
            os.fdatasync(fd)

    def sync_dir(self, path: Path) -> None:
        """Make the names in directory `path` durable."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # this file system has none (some FUSE, CIFS)
                raise
        finally:
            os.close(fd)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def truncate(self, fd: int, size: int) -> None:
        """Make the file `size` bytes long; what is added is a hole."""
        os.ftruncate(fd, size)

    def identity(self, target: int | Path) -> tuple[int, int] | None:
        """Device and inode of a descriptor or path; None when there is nothing at the path."""
        try:
            found = os.stat(target)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)

    def link(self, old: Path, new: Path) -> None:
        os.link(old, new)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def mkdir(self, path: Path) -> None:
        os.mkdir(path, 0o700)

    def exists(self, path: Path) -> bool:
        return os.path.lexists(path)

    def is_directory(self, path: Path) -> bool:
        return os.path.isdir(path)

    def is_odd(self, path: Path) -> bool:
        """Whether something else than a file stands there."""
        return os.path.exists(path) and not os.path.isfile(path)

    def lock(self, fd: int, *, shared: bool = False) -> bool:
        """Try once to lock an open file; False when another open file holds it.

        Raises OSError when the file system refuses to lock at all (ENOLCK):
        that must never be taken for "another run".
        """
        portalocker = _portalocker()
        kind = portalocker.LockFlags.SHARED if shared else portalocker.LockFlags.EXCLUSIVE
        try:
            portalocker.lock(fd, kind | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.AlreadyLocked:
            return False
        except portalocker.LockException as error:
            cause = error.args[0] if error.args else error
            raise cause if isinstance(cause, OSError) else OSError(str(error)) from error
        return True

    def held(self, fd: int) -> bool:
        """Whether another open file holds a lock on this one; ours, for the question, goes with the descriptor.

        By the call that portalocker makes, but without it: its import takes longer than a look at the status.
        """
        import fcntl

        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _portalocker() -> Any:
    """The module, imported where it is used: start-up is felt.

    Its import asks for the temporary directory, which tries one by making files; no
    lock of ours needs any, and on a read-only system there is none.
    """
    import tempfile

    known, tempfile.tempdir = tempfile.tempdir, tempfile.tempdir or os.sep
    try:
        import portalocker
    finally:
        tempfile.tempdir = known
    return portalocker


def write_all(disk: Disk, fd: int, data: bytes) -> None:
    """Write every byte of `data`, going on after short writes; OSError as the disk raises it."""
    view = memoryview(data)
    while view:
        view = view[disk.write(fd, view) :]


def write_new(disk: Disk, path: Path, data: bytes) -> None:
    """Put a whole file in place: temporary, synced, renamed, directory synced."""
    temporary = path.with_name(f"{path.name}.new")
    fd = disk.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(disk, fd, data)
        disk.sync(fd)
    finally:
        disk.close(fd)
    disk.rename(temporary, path)
    disk.sync_dir(path.parent)


def read_all(disk: Disk, fd: int, chunk: int = 1 << 20) -> bytes:
    """All bytes of an open regular file, from its start."""
    pieces, offset = [], 0
    while piece := disk.read(fd, chunk, offset):
        pieces.append(piece)
        offset += len(piece)
    return b"".join(pieces)


def make_directory(disk: Disk, path: Path) -> None:
    """Make `path` and its missing parents, 0700, each name durable in its parent."""
    if disk.is_directory(path):
        return
    make_directory(disk, path.parent)
    sync_name(disk, path.parent)
    try:
        disk.mkdir(path)
    except FileExistsError:
        if not disk.is_directory(path):
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory", str(path)) from None
    disk.sync_dir(path.parent)


def sync_name(disk: Disk, path: Path) -> None:
    """Make the name of a directory that is there durable: whoever made it may have died before its own sync.

    What stands in a directory that we can't read was not made by us.
    """
    with suppress(PermissionError):
        disk.sync_dir(path.parent)


def exclusive(
    disk: Disk,
    path: Path,
    wait: float = 0.0,
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """Open the lock file at `path` and lock it; return the descriptor that holds the lock.

    Tried for `LOCK_PROBE` seconds plus `wait`; `pause(seconds)` is called between
    tries and may raise.  After locking, the path must still be the file that was
    locked: a lock on a deleted file guards nothing.  Raises Busy, OSError.
    """
    end = time.monotonic() + LOCK_PROBE + wait
    while True:
        fd = disk.open(path, os.O_RDWR | os.O_CREAT)
        try:
            if disk.lock(fd) and disk.identity(fd) == disk.identity(path):
                return fd
        except BaseException:
            disk.close(fd)
            raise
        disk.close(fd)
        if time.monotonic() >= end:
            raise Busy(str(path))
        pause(0.05)
