"""The journal as lines: read them, without a lock, and tell a crash's stump from damage.

A barrier is a record that says in `bad` how many bad lines stand before it.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import orjson

from .columns import Rows
from .disk import READ, Disk
from .plain import all_intact, runs
from .records import TAIL, Decoder, Only, Record, intact

VERSION = 1
CHUNK = 1 << 18  # bytes that are read at a time
NEVER = -1 << 62  # so many good lines before a bad one: no crash explains it


class JournalError(Exception):
    """The journal can't be used as it is; `code` is the exit code that says so."""

    def __init__(self, what: str, code: int, landed: int = 0) -> None:
        super().__init__(what)
        self.code = code
        self.landed = landed  # how many lines of a failed append are whole in the file


@dataclass
class Text:
    """What a reading has found out about the file's lines."""

    path: Path
    header: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    lines: int = 0
    byte: int = field(default=0, compare=False)  # where the line of the last record begins that came alone
    size: int = 0
    whole: bool = True  # the last byte is a newline (or the file is empty)
    empty: int = 0  # lines that hold nothing, or nothing but NULs
    bad: list[tuple[int, int, int]] = field(default_factory=list)  # each bad line: its line, byte, good lines before it
    barrier: int = 0  # the line of the last barrier
    said: int = 0  # how many bad lines it says stand before it
    anywhere: bool = False  # below it bad lines may stand anywhere
    reach: int = 3  # else: with so many good lines behind it

    def damage(self) -> JournalError | None:
        """The first bad line that no crash explains, as an error of code 65, or None."""
        spot = next(self.damages(), None)
        return JournalError(f"{self.path}: line {spot[0]} (byte {spot[1]}) is damaged", 65) if spot else None

    def damages(self) -> Iterator[tuple[int, int]]:
        """The line and byte of each bad line that no crash explains."""
        above = [spot for spot in self.bad if spot[0] < self.barrier]
        for line, byte, _ in above[self.said :]:
            yield line, byte
        for line, byte, good in self.bad[len(above) :]:
            if not self.anywhere and self.good - good > self.reach:
                yield line, byte

    @property
    def good(self) -> int:
        """How many lines so far are records, the header included."""
        return self.lines - self.empty - len(self.bad)

    def spoil(self, byte: int, line: bytes = b"") -> None:
        """Note that the present line, which begins at `byte`, is bad."""
        good = NEVER if fused(line, self.seed) else self.good - 1
        self.bad.append((self.lines, byte, good))

    def pass_barrier(self, record: Record) -> None:
        self.barrier, self.said = self.lines, record.rest["bad"]
        if record.t == "run":
            self.reach = 2 * record.rest.get("jobs", 1) + 1
            self.anywhere = record.rest.get("sync") == "none"
        elif record.t != "end":
            self.anywhere = True


def fused(line: bytes, seed: int) -> bool:
    """Whether a whole record has more behind it on its line: a crash leaves NULs there or nothing, a flipped bit does this."""
    end = line.find(b',"c":"') + TAIL
    return TAIL <= end < len(line) and line[end] != 0 and intact(line[:end], seed)


def read_header(path: Path, line: bytes) -> dict[str, Any]:
    """The header's fields; JournalError 2 when this is no journal, or a newer one."""
    try:
        header: dict[str, Any] = orjson.loads(line)
        ours = isinstance(header, dict) and header.get("t") == "header" and header.get("app") == "resumectl"
    except orjson.JSONDecodeError:
        ours = False
    if not ours:
        raise JournalError(f"{path} is not a resumectl journal; choose another file with --journal", 2)
    if header.get("v") != VERSION:
        wrote = header.get("ver", "a newer version")
        raise JournalError(f"{path} was written by resumectl {wrote}, which this version can't read; upgrade", 2)
    if not intact(line, 0) or not isinstance(header.get("jid"), str) or not isinstance(header.get("ns"), str):
        raise JournalError(f"{path}: line 1 (byte 0), the header, is damaged; restore it from a copy, or --fresh", 65)
    return header


class Fold(Protocol):
    """What adds records up; plain lines come to it in bulk, and mean the same."""

    def enter(self, record: Record) -> None: ...

    def enter_rows(self, rows: Rows) -> None: ...


def read(
    path: Path,
    disk: Disk | None = None,
    fd: int | None = None,
    text: Text | None = None,
    only: Only | None = None,
) -> Iterator[Record]:
    """Every record of a journal, in order, without a lock; `text` collects what the lines are like.

    Lines that `only` does not pick are judged by their checksum, and left out.

    Raises JournalError (not a journal, newer, header damaged), OSError.
    """
    text, decoder = text if text is not None else Text(path), Decoder()
    with _opened(path, disk or Disk(), fd) as (disk, fd):
        for byte, chunk in _chunks(disk, fd, text):
            if only is None or not text.lines or not chunk.endswith(b"\n") or not all_intact(chunk, text.seed):
                yield from decoded(text, split(byte, chunk), decoder, only)
            else:
                yield from _picked(text, decoder, byte, chunk, only)


def _picked(text: Text, decoder: Decoder, byte: int, chunk: bytes, only: Only) -> Iterator[Record]:
    """The records of those lines that are picked; all are intact."""
    before, at = text.lines, 0
    for begin, end in only.spans(chunk):
        text.lines += chunk.count(b"\n", at, begin)
        at = end + 1
        yield from _record(text, decoder, byte + begin, chunk[begin:end])
    text.lines = before + chunk.count(b"\n")


def fold(path: Path, folds: Sequence[Fold], disk: Disk, fd: int | None = None, text: Text | None = None) -> None:
    """Give every record of a journal to each of `folds`: what `read` gives, several times quicker.  Raises what it raises."""
    text = text if text is not None else Text(path)
    decoder, resting = Decoder(), gc.isenabled()
    gc.disable()  # a million small objects, none of them in a circle
    try:
        with _opened(path, disk, fd) as (disk, fd):
            for byte, chunk in _chunks(disk, fd, text):
                fold_lines(text, decoder, byte, chunk, folds)
    finally:
        if resting:
            gc.enable()


def fold_lines(text: Text, decoder: Decoder, byte: int, chunk: bytes, folds: Sequence[Fold]) -> None:
    """Give the records of some lines, of which only the last may lack its newline, to each of `folds`.

    `byte` is where they begin; `text` and `decoder` know the lines before.
    """
    if not text.lines or not chunk.endswith(b"\n"):
        _enter(folds, decoded(text, split(byte, chunk), decoder))
        return
    for run in runs(chunk, text.seed):
        text.lines += run.lines - (run.odd is not None)
        if run.rows is not None:
            for one in folds:
                one.enter_rows(run.rows)
        byte += run.size
        if run.odd is not None:
            _enter(folds, _record(text, decoder, byte - len(run.odd) - 1, run.odd))


def _enter(folds: Sequence[Fold], records: Iterable[Record]) -> None:
    for record in records:
        for one in folds:
            one.enter(record)


@contextmanager
def _opened(path: Path, disk: Disk, fd: int | None) -> Iterator[tuple[Disk, int]]:
    """The journal to read: the given descriptor, or one that is closed afterwards."""
    opened = disk.open(path, READ) if fd is None else fd
    try:
        yield disk, opened
    finally:
        if fd is None:
            disk.close(opened)


def _chunks(disk: Disk, fd: int, text: Text) -> Iterator[tuple[int, bytes]]:
    """Whole lines, many at a time, with the offset of their first byte; at the end the line that lacks its newline."""
    rest, start = b"", 0
    while piece := disk.read(fd, CHUNK, text.size):
        text.size += len(piece)
        whole, newline, rest = (rest + piece).rpartition(b"\n")
        if newline:
            yield start, whole + newline
            start += len(whole) + 1
    text.whole = not rest
    if rest:
        yield start, rest


def split(byte: int, chunk: bytes) -> Iterator[tuple[int, bytes]]:
    """Each line of a chunk that begins at `byte`, with the byte at which it begins."""
    for line in chunk.removesuffix(b"\n").split(b"\n"):
        yield byte, line
        byte += len(line) + 1


def decoded(
    text: Text,
    lines: Iterable[tuple[int, bytes]],
    decoder: Decoder,
    only: Only | None = None,
) -> Iterator[Record]:
    """The records of some lines, each with the byte at which it begins; `text` and `decoder` know those before."""
    for byte, line in lines:
        yield from _record(text, decoder, byte, line, only)


def _record(
    text: Text, decoder: Decoder, byte: int, line: bytes, only: Only | None = None
) -> Iterator[Record]:
    """The record of one line, if it is one."""
    text.lines += 1
    text.byte = byte
    if text.lines == 1:
        text.header = read_header(text.path, line)
        text.seed = zlib.crc32(text.header["jid"].encode())
        return
    line = line.lstrip(b"\0")
    if not line:
        text.empty += 1
        return
    try:
        if not intact(line, text.seed):
            raise ValueError
        if only is not None and not only.wants(line):
            return
        record = decoder.record(line)
    except (ValueError, KeyError, TypeError):
        text.spoil(byte, line)
        return
    if "bad" in record.rest:
        text.pass_barrier(record)
    yield record
