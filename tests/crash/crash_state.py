"""What a disk holds at one moment, and what each death would leave of it.

Of each file there are the bytes as a process sees them and the bytes that were synced; of
each directory the names as they are and those that were synced.  A sync that failed has
lost what it covered, as on Linux: the bytes can still be read, and no later sync saves them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DIRECTORY = 0  # the inode of every directory: nobody asks which one it is
DAMAGES = ("all", "none", "prefix", "zeros", "middle", "head", "line")
Names = dict[str, int]


class File(NamedTuple):
    """The bytes as they are read, as they were synced, and the ranges that a failed sync lost."""

    data: bytes = b""
    synced: bytes = b""
    lost: tuple[tuple[int, int], ...] = ()

    def platter(self) -> bytes:
        """What a sync would write now."""
        if not self.lost:
            return self.data
        whole = bytearray(self.data)
        for start, end in self.lost:
            end = min(end, len(whole))
            whole[start:end] = bytes(max(0, end - start))
        return bytes(whole)


class State(NamedTuple):
    """A disk at one moment.  `pending` are the changes of names since their directory was synced, in order."""

    names: Names
    files: dict[int, File]
    synced_names: Names
    pending: tuple[tuple[str, tuple[tuple[str, int | None], ...]], ...] = ()

    def key(self) -> Any:
        """Equal for disks that behave alike: nobody reads what the lock file holds, while its lock is free."""
        idle = self.idle()
        files = tuple([pair for pair in self.files.items() if pair[0] != idle])
        return tuple(self.names.items()), files, tuple(self.synced_names.items()), self.pending

    def idle(self) -> int:
        """The inode of the lock file, the directory's if there is none."""
        return next((inode for path, inode in self.names.items() if path.endswith(".lock")), DIRECTORY)

    def dirty(self) -> bool:
        """Whether anything that matters was written and not synced."""
        idle = self.idle()
        return any(file.data != file.synced or file.lost for inode, file in self.files.items() if inode != idle)

    def view(self) -> Any:
        """Equal for disks that look alike to a run that does not die: leftovers are made anew, whatever they hold."""
        idle = (".lock", ".new")
        return tuple([(path, self.files[one].data if one else None) for path, one in self.names.items() if not path.endswith(idle)])

    def read(self, path: Path) -> bytes:
        """The bytes at a path, none if there is no file."""
        return self.files[self.names[os.fspath(path)]].data if os.fspath(path) in self.names else b""


EMPTY = State({"/": DIRECTORY, "/job": DIRECTORY}, {}, {"/": DIRECTORY, "/job": DIRECTORY})


def power_cuts(state: State) -> Iterator[State]:
    """Each disk that a power cut may leave, once: every prefix of the unsynced names with every damage to the data."""
    seen = set()
    damages = DAMAGES if state.dirty() else DAMAGES[:1]
    for count in range(len(state.pending) + 1):
        for damage in damages:
            left = power_cut(state, count, damage)
            if (key := left.key()) not in seen:
                seen.add(key)
                yield left


def power_cut(state: State, count: int, damage: str) -> State:
    """The disk on which only `count` of the unsynced names came through, and the data with a damage."""
    names = dict(state.synced_names)
    for _, changes in state.pending[:count]:
        rename_all(names, changes)
    return _settled(names, state.files, damage)


def _settled(names: Names, files: dict[int, File], damage: str) -> State:
    numbers: dict[int, int] = {DIRECTORY: DIRECTORY}
    kept: Names = {}
    for path in sorted(names):  # parents come first
        if path == "/" or os.path.dirname(path) in kept:
            kept[path] = numbers.setdefault(names[path], len(numbers))
    left = {}
    for old, new in numbers.items():
        if new != DIRECTORY:
            data = survivor(files[old], damage)
            left[new] = File(data, data)
    return State(kept, left, dict(kept))


def survivor(file: File, damage: str) -> bytes:
    """What is left of a file's bytes."""
    whole, synced = file.platter(), file.synced
    if damage == "all" or whole == synced:
        return whole
    if damage == "none":
        return synced
    start = len(synced) if whole.startswith(synced) else 0
    left = bytearray(whole)
    count = len(whole) - start
    if damage == "prefix":
        return whole[: start + count // 2]
    line = (whole.find(b"\n", start) - start) // 2  # half of the first line is missing, what follows it is there
    holes = {"zeros": (0, count), "middle": (count // 3, 2 * count // 3), "head": (0, count // 2), "line": (0, max(line, 1))}
    first, last = holes[damage]
    left[start + first : start + last] = bytes(last - first)
    return bytes(left)


def rename_all(names: Names, changes: tuple[tuple[str, int | None], ...]) -> None:
    for path, inode in changes:
        if inode is None:
            names.pop(path, None)
        else:
            names[path] = inode


class Moment(NamedTuple):
    """One instant at which the process may die: the disk then, and how much had been logged."""

    operation: int
    kind: str
    disk: State
    logged: int
    write: tuple[int, bytes] | None = None  # inode and data of a write that is about to happen

    def parts(self) -> Iterator[State]:
        """The disk with 0, 1, half, n-1 and n bytes of the write."""
        yield self.disk
        if self.write is not None:
            inode, data = self.write
            for count in sorted({1, len(data) // 2, len(data) - 1, len(data)} - {0}):
                yield self._with(inode, data[:count])

    def _with(self, inode: int, data: bytes) -> State:
        file = self.disk.files[inode]
        return self.disk._replace(files={**self.disk.files, inode: File(file.data + data, file.synced, file.lost)})
