"""The list of items: opened once, read once, as a whole if it is a regular file and as it comes if not."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..items import Format, Item, ListError, Reader, Sift, format_of
from . import Refusal

CHUNK = 1 << 20  # bytes


@dataclass(frozen=True)
class Source:
    """An open list.

    `named` can be read again by a later run: a regular file, or words of the command
    line; `whole` is known to its end before anything starts: these, or a regular file
    on standard input.
    """

    fd: int
    label: str
    named: bool
    whole: bool
    words: tuple[bytes, ...] | None = None
    kept: bool = False  # the copy of a list that was piped into an earlier run
    hint: str = ""  # what a later run needs besides

    def is_file(self, path: Path) -> bool:
        """Whether the list is this very file."""
        try:
            return self.words is None and os.path.samestat(os.fstat(self.fd), os.stat(path))
        except OSError:
            return False

    def listing(self, format: Format) -> Iterable[Item[Any]]:
        """Every item, read now."""
        return Listing(self, format)

    def chunks(self) -> Iterator[bytes]:
        if self.words is not None:
            yield b"".join(word + b"\0" for word in self.words)
            return
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


def kept_list(path: Path) -> Source:
    """The copy that an earlier run kept of a list that was no regular file."""
    return replace(open_list(os.fsdecode(path)), kept=True)


def listed(words: Sequence[bytes]) -> Source:
    """The items that stand behind `:::`; read with the format of NUL-separated lists."""
    return Source(-1, "the command line", True, True, tuple(words))


def _standard_input() -> Source:
    if os.isatty(0):
        raise Refusal("no list of items: standard input is a terminal; use --items FILE, or pipe the items in")
    return Source(0, "standard input", False, stat.S_ISREG(os.fstat(0).st_mode))


def chosen_format(null: bool, delimiter: str | None, name: str = "lines", key: str | None = None) -> Format:
    """The list's format from its options; Refusal if they contradict each other."""
    try:
        return format_of(name, null, delimiter, key)
    except ValueError as error:
        raise Refusal(str(error)) from None


class Listing:
    """Every item of a regular file; `empty` counts the empty entries.

    Refusal at a record that is none, or when the file can't be read.
    """

    def __init__(
        self,
        source: Source,
        format: Format,
        keep: Callable[[bytes], None] | None = None,
        sift: Sift | None = None,
    ) -> None:
        """`keep` is given the bytes as they were read; `sift` as for a Reader."""
        self._source, self._reader, self._keep = source, Reader(format, sift), keep

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
