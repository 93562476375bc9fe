"""Where a job's files are: its name, its directory, and the jobs that stand beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from .disk import READ, Disk, make_directory, read_all, sync_name, write_new

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}\Z")
DIRECTORY = ".resumectl"
# File systems that do not outlive a reboot (statfs magic is not in the standard library, mount types are).
FLEETING = {"tmpfs", "ramfs", "devtmpfs"}


@dataclass(frozen=True)
class Place:
    """The files of one job.  `journal` is absolute; the others stand beside it.

    `own` tells that the directory is resumectl's (not one that `--journal` chose).
    """

    journal: Path
    own: bool = True

    @property
    def job(self) -> str:
        return self.journal.name.removesuffix(".jsonl")

    def beside(self, suffix: str) -> Path:
        """The sidecar with this suffix: `.out`, `.items`, `.lock`, `.live`."""
        return self.journal.with_name(self.job + suffix)

    @property
    def out(self) -> Path:
        return self.beside(".out")

    @property
    def items(self) -> Path:
        return self.beside(".items")

    @property
    def lock(self) -> Path:
        return self.beside(".lock")

    @property
    def live(self) -> Path:
        return self.beside(".live")

    def prepare(self, disk: Disk) -> None:
        """Make the directory, 0700; one of our own also gets a `.gitignore` that hides it."""
        make_directory(disk, self.journal.parent)
        if not disk.exists(self.journal):
            sync_name(disk, self.journal.parent)
        ignore = self.journal.parent / ".gitignore"
        if self.own and not disk.exists(ignore):
            write_new(disk, ignore, b"*\n")


def holder(place: Place, disk: Disk) -> dict[str, Any]:
    """The note of whoever holds (or last held) the lock; empty if there is none to read."""
    try:
        fd = disk.open(place.lock, READ)
        try:
            note = orjson.loads(read_all(disk, fd))
        finally:
            disk.close(fd)
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) and {"pid", "host", "start"} <= note.keys() else {}


def absolute(path: str) -> Path:
    """`path` against the current directory, with symbolic links left as they are."""
    return Path(os.path.abspath(path))


def chosen(path: str | os.PathLike[str]) -> Place:
    """The place of a journal that a person or a program names: where that is a link, of the file that it leads to,
    for whoever comes by the other name must find the same lock."""
    journal = absolute(os.fspath(path))
    return Place(Path(os.path.realpath(journal)) if journal.is_symlink() else journal, own=False)


def name_for(program: bytes) -> str:
    """The job's name for a program: its last path part, with what a name can't hold replaced."""
    base = os.path.basename(program.rstrip(b"/"))
    name = re.sub(rb"[^A-Za-z0-9._+-]", b"_", base).decode() or "x"
    return (name if name[0].isalnum() else "x" + name)[:100]


def directory(environ: Mapping[str, str]) -> Path:
    """The directory that holds this project's journals (RESUMECTL_DIR moves it)."""
    return absolute(environ.get("RESUMECTL_DIR") or DIRECTORY)


def jobs_in(where: Path) -> list[Place]:
    """Every job with a journal in `where`, by name."""
    try:
        names = sorted(entry.name for entry in os.scandir(where) if entry.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [Place(where / name) for name in names if _is_journal(name)]


def _is_journal(name: str) -> bool:
    return name.endswith(".jsonl") and bool(NAME.match(name.removesuffix(".jsonl")))


def above(place: Place) -> Iterator[Path]:
    """The same job's journal in each parent directory that has one, nearest first."""
    for parent in place.journal.parent.parent.parents:
        found = parent / DIRECTORY / place.journal.name
        if os.access(found, os.R_OK) and found.is_file():
            yield found


def fleeting(path: Path, mounts: str = "/proc/self/mounts") -> str | None:
    """Why a journal at `path` would be cleaned up by the system, or None."""
    where = os.path.realpath(path)
    if where.startswith(os.path.realpath("/tmp") + os.sep):
        return "it is under /tmp"
    kind = _mount_type(where, mounts)
    return f"it is on a temporary file system ({kind})" if kind in FLEETING else None


def _mount_type(where: str, mounts: str) -> str:
    best, kind = "", ""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                _, point, name, *_ = line.split(" ")
                point = point.replace("\\040", " ")
                inside = where == point or where.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, name
    except OSError:
        return ""
    return kind
