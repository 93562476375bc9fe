"""`--out` and `--err`: a stream as a file of its own, in its place only when its item is done."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .disk import Disk
from .items import Item
from .outputs import Spool
from .template import Hole, Template, Values
from .template import compile as compile_template

PART = ".part"
LONGEST = 200  # bytes of a name that an id may fill; file systems take 255
STRICT = sys.platform == "darwin"  # its file systems take names in UTF-8 only, and fold case and accents
_ODD = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, as surrogateescape has them
_UNSAFE = re.compile(rb"[\x00-\x1f\x7f/%]")


@dataclass(frozen=True)
class FileTemplate:
    """A path with placeholders, whose values are made safe for file names."""

    template: Template

    @classmethod
    def parse(cls, text: bytes, option: str) -> FileTemplate:
        """Raises ValueError where all items would share one file."""
        template = compile_template([text], any_field=True)
        if template.appended:
            raise ValueError(
                f"{option} needs a placeholder, else all items share one file; write {option} 'out/{{}}.txt'"
            )
        return cls(template)

    def path(self, values: Values) -> Path:
        """Where the item's stream goes."""
        (word,) = self.template.words
        assert not isinstance(word, bytes)
        parts = [_filled(part, values) if isinstance(part, Hole) else part for part in word]
        return Path(os.fsdecode(b"".join(parts)))


def _filled(hole: Hole, values: Values) -> bytes:
    value = hole.value(values)
    if value is None:
        return hole.text
    if hole.name == "//":
        return b"/".join(safe(part) for part in value.split(b"/") if part not in (b"", b".")) or b"."
    return safe(value)


class Claims:
    """Which file each item of the list will have: two with one file would silently lose one."""

    def __init__(self, files: Sequence[FileTemplate | None]) -> None:
        self._files = [file for file in files if file is not None]
        self._paths: set[Path] = set()

    def taken(self, item: Item[Any]) -> Path | None:
        """The path of this item's that another item has already; its paths are its own from now on."""
        values = Values(item.id, item.index, 0, item.id.hex(), 0, item.value)  # the id for its key: as unique
        for path in [file.path(values) for file in self._files]:
            if any(_folded(name) in self._paths for name in _alike(path)):
                return path
            self._paths.add(_folded(path))
        return None


def _alike(path: Path) -> tuple[Path, ...]:
    """Whose files may not stand beside this one: its own, and those that are written under the other's name first."""
    return path, _part(path), *((path.with_suffix(""),) if path.suffix == PART else ())


def _folded(path: Path) -> Path:
    """The same for all names of one file."""
    return Path(unicodedata.normalize("NFD", str(path)).casefold()) if STRICT else path


def _part(path: Path) -> Path:
    return path.with_name(path.name + PART)


def safe(value: bytes) -> bytes:
    """A value as one file name: separators and control bytes as %XX, too long a name by its hash.

    Two values never give the same name.
    """
    name = _UNSAFE.sub(lambda found: b"%%%02X" % found[0][0], value)
    if name.strip(b".") == b"":
        name = name.replace(b".", b"%2E")
    if STRICT:
        name = _ODD.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", name.decode("utf-8", "surrogateescape")).encode()
    if len(name) <= LONGEST:
        return name
    kept = name[: LONGEST - 33]
    return (kept.decode("utf-8", "ignore").encode() if STRICT else kept) + b"%" + hashlib.blake2b(value, digest_size=16).hexdigest().encode()


class PartFile(Spool):
    """The stream of one attempt, written beside its place as `PATH.part`."""

    def __init__(self, path: Path, disk: Disk) -> None:
        """Makes the folders.  Raises OSError."""
        self.path, self._disk = path, disk
        self._part = _part(path)
        os.makedirs(path.parent, exist_ok=True)
        super().__init__(os.open(self._part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666))

    def put_in_place(self) -> None:
        """Make it durable, then give it its name.  Raises OSError."""
        self._disk.sync(self.fd)
        self._disk.rename(self._part, self.path)
        self._disk.sync_dir(self.path.parent)
        self.close()

    def drop(self) -> None:
        """Take the name away; the bytes can still be read from the descriptor."""
        self._part.unlink(missing_ok=True)
