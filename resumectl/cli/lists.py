"""The list of items: opened once, read once, as a whole if it is a regular file and as it comes if not."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..items import Format, Item, ListError, Reader, format_of
from . import Refusal

CHUNK = 1 << 20  # bytes


@dataclass(frozen=True)
class Source:
    """An open list.  `named` is a regular file that a later run can read again; `whole` any regular file."""

    fd: int
    label: str
    named: bool
    whole: bool

    def chunks(self) -> Iterator[bytes]:
        while chunk := os.read(self.fd, CHUNK):
            yield chunk


def open_list(path: str | None) -> Source:
    """The list at `path`; `-` or None is standard input.  Refusal if it can't be read, or is a terminal."""
    if path is None or path == "-":
        return _standard_input()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}; check the list's name") from None
    kind = os.fstat(fd).st_mode
    if stat.S_ISDIR(kind):
        raise Refusal(f"{path} is a directory; name a file with one item a line")
    return Source(fd, path, stat.S_ISREG(kind), stat.S_ISREG(kind))


def _standard_input() -> Source:
    if os.isatty(0):
        raise Refusal("no list of items: standard input is a terminal; use --items FILE, or pipe the items in")
    return Source(0, "standard input", False, stat.S_ISREG(os.fstat(0).st_mode))


def chosen_format(null: bool, delimiter: str | None) -> Format:
    """The list's format from its options; Refusal if they contradict each other."""
    try:
        return format_of(null=null, delimiter=delimiter)
    except ValueError as error:
        raise Refusal(str(error)) from None


class Listing:
    """Every item of a regular file; `empty` counts the empty entries.

    Refusal at a record that is none, or when the file can't be read.
    """

    def __init__(self, source: Source, format: Format, keep: Callable[[bytes], None] | None = None) -> None:
        """`keep` is given the bytes as they were read."""
        self._source, self._reader, self._keep = source, Reader(format), keep

    @property
    def empty(self) -> int:
        return self._reader.empty

    def __iter__(self) -> Iterator[Item[Any]]:
        try:
            for chunk in self._source.chunks():
                if self._keep is not None:
                    self._keep(chunk)
                yield from self._reader.feed(chunk)
            yield from self._reader.close()
        except ListError as error:
            raise Refusal(f"{self._source.label}: {error}; nothing was run") from None
        except OSError as error:
            raise Refusal(f"{self._source.label}: {error.strerror}; nothing was run") from None
