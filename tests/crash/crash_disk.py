"""A disk in memory that can die or fail at any operation, and be watched."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, NamedTuple

from crash_state import DIRECTORY, EMPTY, File, Moment, State, rename_all

from resumectl.disk import APPEND, Disk

FIRST_FD = 1 << 20  # far above real descriptors, so that no system call takes one for its own


class Death(BaseException):
    """The process is no more; nothing that it still tries has an effect."""


class Fault(NamedTuple):
    """What goes wrong at one operation, and whether everything that writes fails from then on, or one more operation."""

    operation: int
    error: int = errno.EIO
    lasting: bool = False
    again: int = 0


class MemoryDisk(Disk):
    """A disk in memory that one process works on; give its `state` to the next process.

    It dies at operation `die_at` with `part` bytes of a write applied.  `moments` are all
    instants at which it might have died, if `watch`, the list of what is logged, is `watched`.
    """

    def __init__(
        self,
        state: State = EMPTY,
        *,
        die_at: int | None = None,
        part: int = 0,
        fault: Fault | None = None,
        watch: list[Any] | None = None,
        watched: bool = True,
    ) -> None:
        self._names, self._files = dict(state.names), dict(state.files)
        self._synced_names, self._pending = dict(state.synced_names), list(state.pending)
        self._die_at, self._part, self._fault = die_at, part, fault
        self._watch, self._watched = watch, watched and watch is not None
        self._open: dict[int, int] = {}  # descriptor → inode
        self._locks: dict[int, dict[int, bool]] = {}  # inode → descriptor → shared
        self._short = False  # the last write was cut short by a full disk
        self._next = FIRST_FD
        self._inodes = max([DIRECTORY, *self._files]) + 1
        self.operations = 0
        self.moments: list[Moment] = []
        self.failed = False
        self.failed_at: int | None = None  # how much was logged when the first operation failed

    @property
    def state(self) -> State:
        return State(dict(self._names), dict(self._files), dict(self._synced_names), tuple(self._pending))

    def step(self, kind: str, *, changes: bool = True, write: tuple[int, bytes] | None = None) -> None:
        """One operation begins: die, fail, or note that this is a moment to die at."""
        self.operations += 1
        if self._die_at is not None and self.operations >= self._die_at:
            if write is not None and self.operations == self._die_at:
                self._append(write[0], write[1][: self._part])
            raise Death
        if changes and self._watched:
            assert self._watch is not None
            self.moments.append(Moment(self.operations, kind, self.state, len(self._watch), write))

    def _failing(self, *, writes: bool = True) -> int | None:
        """The error of this operation, None if it works."""
        fault = self._fault
        if fault is None or self.operations < fault.operation:
            return None
        if self.operations not in (fault.operation, fault.again) and not (fault.lasting and writes):
            return None
        self.failed = True
        if self.failed_at is None and self._watch is not None:
            self.failed_at = len(self._watch)
        return fault.error

    def _check(self, *, writes: bool = True) -> None:
        if error := self._failing(writes=writes):
            raise OSError(error, os.strerror(error))

    def open(self, path: Path, flags: int = APPEND) -> int:
        name = os.fspath(path)
        inode = self._names.get(name)
        makes = flags & os.O_CREAT and inode is None
        self.step("open", changes=bool(makes or flags & os.O_TRUNC))
        self._check(writes=bool(makes))
        if inode is None:
            if not makes or os.path.dirname(name) not in self._names:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
            inode, self._inodes = self._inodes, self._inodes + 1
            self._files[inode] = File()
            self._rename_to(name, inode)
        elif flags & os.O_TRUNC:
            self._files[inode] = File(b"", self._files[inode].synced)
        self._next += 1
        self._open[self._next] = inode
        return self._next

    def close(self, fd: int) -> None:
        inode = self._open.pop(fd)
        self._locks.get(inode, {}).pop(fd, None)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        raw, inode = bytes(data), self._open[fd]
        self.step("write", write=(inode, raw))
        if self._short:
            self._short = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        error = self._failing()
        if error == errno.ENOSPC and self._fault and self.operations == self._fault.operation and len(raw) > 1:
            self._short, raw = True, raw[: len(raw) // 2]
        elif error:
            raise OSError(error, os.strerror(error))
        self._append(inode, raw)
        return len(raw)

    def _append(self, inode: int, data: bytes) -> None:
        file = self._files[inode]
        self._files[inode] = File(file.data + data, file.synced, file.lost)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        self.step("read", changes=False)
        self._check(writes=False)
        return self._files[self._open[fd]].data[offset : offset + size]

    def sync(self, fd: int) -> None:
        self.step("sync")
        inode = self._open[fd]
        file = self._files[inode]
        if error := self._failing():
            ranges = (*file.lost, (len(file.synced), len(file.data)))
            self._files[inode] = file._replace(lost=ranges)
            raise OSError(error, os.strerror(error))
        self._files[inode] = File(file.data, file.platter(), file.lost)

    def sync_dir(self, path: Path) -> None:
        self.step("sync_dir")
        self._check()
        left = []
        for directory, changes in self._pending:
            if directory == os.fspath(path):
                rename_all(self._synced_names, changes)
            else:
                left.append((directory, changes))
        self._pending = left

    def size(self, fd: int) -> int:
        self.step("size", changes=False)
        self._check(writes=False)
        return len(self._files[self._open[fd]].data)

    def truncate(self, fd: int, size: int) -> None:
        self.step("truncate")
        self._check()
        inode = self._open[fd]
        file = self._files[inode]
        self._files[inode] = File(file.data[:size].ljust(size, b"\0"), file.synced)

    def identity(self, target: int | Path) -> tuple[int, int] | None:
        inode = self._open[target] if isinstance(target, int) else self._names.get(os.fspath(target))
        return None if inode is None else (1, inode)

    def rename(self, old: Path, new: Path) -> None:
        self.step("rename")
        self._check()
        self._rename_to(os.fspath(new), self._names[os.fspath(old)], os.fspath(old))

    def link(self, old: Path, new: Path) -> None:
        self.step("link")
        self._check()
        self._rename_to(os.fspath(new), self._names[os.fspath(old)])

    def unlink(self, path: Path) -> None:
        self.step("unlink")
        self._check()
        self._change(os.path.dirname(path), ((os.fspath(path), None),))

    def mkdir(self, path: Path) -> None:
        self.step("mkdir")
        self._check()
        self._rename_to(os.fspath(path), DIRECTORY)

    def _rename_to(self, name: str, inode: int, old: str | None = None) -> None:
        gone: tuple[tuple[str, int | None], ...] = ((old, None),) if old is not None else ()
        self._change(os.path.dirname(name), (*gone, (name, inode)))

    def _change(self, directory: str, changes: tuple[tuple[str, int | None], ...]) -> None:
        rename_all(self._names, changes)
        self._pending.append((directory, changes))

    def exists(self, path: Path) -> bool:
        return os.fspath(path) in self._names

    def is_odd(self, path: Path) -> bool:
        return False

    def is_directory(self, path: Path) -> bool:
        return self._names.get(os.fspath(path)) == DIRECTORY

    def lock(self, fd: int, *, shared: bool = False) -> bool:
        self.step("lock", changes=False)
        self._check(writes=False)
        held = self._locks.setdefault(self._open[fd], {})
        if any(not (shared and other) for holder, other in held.items() if holder != fd):
            return False
        held[fd] = shared
        return True
