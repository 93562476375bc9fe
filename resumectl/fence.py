"""The live fence: who of a killed run still lives.

Every child inherits a shared lock on `NAME.live`, so a later run that can take it
exclusively knows that nothing of the old run is left.  Where the system shows the
environments of processes (Linux), the answer is finer: it names the pids, and a
daemon that an ended item left behind does not count.

Commands that leave the machine or close every descriptor are not seen.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from .disk import Disk

LOW = 60  # scripts use the low descriptors (`exec 3>…`): ours stays above them
KEY, JOURNAL, ITEMS = b"RESUMECTL_KEY", b"RESUMECTL_JOURNAL", b"RESUMECTL_ITEMS_FILE"


@dataclass(frozen=True)
class Orphans:
    """What lives of a killed run: its pids where the system tells, and whether it must be waited for."""

    pids: tuple[int, ...] = ()
    busy: bool = False


class Fence:
    """The fence of this run: made once, its descriptor handed to every child."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self.disk, self.path = disk, path
        self.fd = -1

    def make(self) -> None:
        """Put a new fence in place, locked shared before it has its name."""
        fresh = self.path.with_name(self.path.name + ".new")
        fd = _raise(self.disk.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        self.disk.lock(fd, shared=True)
        self.disk.rename(fresh, self.path)
        self.disk.sync_dir(self.path.parent)
        self.fd = fd

    def keep_old(self, run: int) -> None:
        """Set the old fence aside, to be asked again, when its orphans are ignored."""
        if self.disk.exists(self.path):
            self.disk.rename(self.path, self.path.with_name(f"{self.path.name}.{run}"))

    def close(self) -> None:
        if self.fd >= 0:
            self.disk.close(self.fd)
            self.fd = -1


def _raise(fd: int) -> int:
    """Move a descriptor to LOW or above, or as high as the limit allows."""
    for low in (LOW, 32, 16, 10):
        try:
            high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, low)
        except OSError:
            continue
        os.close(fd)
        return high
    return fd


def ask(disk: Disk, live: Path, journal: Path, keys: Collection[str], files: Collection[str] = ()) -> Orphans:
    """Who still runs for the open items, whose idempotency keys (or batch items files) are given."""
    held = [fence for fence in fences(disk, live) if _held(disk, fence, forget=fence != live)]
    # Holders first: what a daemon starts in between has a known environment by then.
    holders = {fence: _holders(fence) for fence in held}
    ours = dict(_of_journal(journal))
    pids = {pid for pid, env in ours.items() if env.get(KEY, "") in keys or env.get(ITEMS, "") in files}
    unseen = False
    for fence, found in holders.items():
        pids |= {pid for pid in found - ours.keys() if os.path.exists(f"/proc/{pid}")}
        unseen |= not found and _held(disk, fence)
    return Orphans(tuple(sorted(pids)), bool(pids) or unseen)


def fences(disk: Disk, live: Path) -> list[Path]:
    """The last run's fence and those kept when its orphans were ignored."""
    begin = f"{live.name}."
    kept = sorted(path for path in live.parent.glob("*") if path.name.startswith(begin) and path.name[len(begin) :].isdigit())
    return [*([live] if disk.exists(live) else []), *kept]


def _held(disk: Disk, fence: Path, *, forget: bool = False) -> bool:
    """Whether anybody holds the fence; one that is free may be forgotten."""
    fd = disk.open(fence, os.O_RDWR)
    try:
        free = disk.lock(fd)
    finally:
        disk.close(fd)
    if free and forget:
        disk.unlink(fence)
    return not free


def _of_journal(journal: Path) -> Iterator[tuple[int, dict[bytes, str]]]:
    """Each other process whose environment names this journal (Linux; elsewhere none)."""
    wanted = JOURNAL + b"=" + os.fsencode(journal)
    for pid in _pids():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if wanted in words and pid != os.getpid():
            pairs = (word.split(b"=", 1) for word in words if b"=" in word)
            yield pid, {name: os.fsdecode(value) for name, value in pairs if name in (KEY, ITEMS)}


def _holders(fence: Path) -> set[int]:
    """The processes that have the fence open, as far as the system tells."""
    name = os.path.realpath(fence)
    return {pid for pid in _pids() if pid != os.getpid() and name in _open_files(pid)}


def _open_files(pid: int) -> Iterator[str]:
    where = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(where)
    except OSError:
        return
    for number in numbers:
        try:
            yield os.readlink(f"{where}/{number}")
        except OSError:
            continue


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
