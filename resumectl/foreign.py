"""What other tools have written down about items, read into (id, done, exit code).

Their files are read whole before anything is believed: a line that is torn or is none
of theirs is an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import orjson

from .words import shown

PARALLEL = re.compile(rb"(\d{1,18})\t[^\t]*\t *-?[\d.]+\t *-?[\d.]+\t-?\d+\t-?\d+\t(-?\d{1,9})\t(-?\d{1,9})\t(.*)", re.DOTALL)
HEADER = b"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand"
RUSH = b"__CMD__"  # ends each command of rush's -C file
QUOTES = re.compile(rb"[\\'\"]")


class Told(NamedTuple):
    """What a file says of one item; the exit code, or minus the signal, where it says so."""

    id: bytes
    done: bool = True
    rc: int | None = None


class ForeignError(Exception):
    """The file is not what it should be; the text names the line and its first byte."""

    def __init__(self, line: int, byte: int, what: str) -> None:
        super().__init__(f"line {line} (byte {byte}) {what}")


def parallel(data: bytes, entries: Sequence[bytes]) -> Iterator[Told]:
    """A joblog of GNU parallel, which knows items by their position in the list: Seq n is the n-th of `entries`.

    An empty entry is one that parallel ran and nobody else has.  Where a command does hold its
    item, as most do, each must hold its own, else the list is another one.
    """
    rows = list(_rows(data, entries))
    strange = [row for row in rows if not _holds(*row[2:])]
    if strange and len(strange) < len(rows):
        line, byte, _, id = strange[0]
        raise ForeignError(
            line, byte, f"did not run {shown(id)}, which the list has there; give the list that parallel had"
        )
    for _, _, match in _parsed(data):
        number, code, signal = int(match[1]), int(match[2]), int(match[3])
        if id := entries[number - 1]:
            yield Told(id, code == signal == 0, -signal if signal else code)


def _rows(data: bytes, entries: Sequence[bytes]) -> Iterator[tuple[int, int, bytes, bytes]]:
    for line, byte, match in _parsed(data):
        number = int(match[1])
        if not 1 <= number <= len(entries):
            raise ForeignError(
                line, byte, f"is about item {number} of a list that has {len(entries)}; give the list that parallel had"
            )
        yield line, byte, match[4], entries[number - 1]


def _holds(command: bytes, id: bytes) -> bool:
    """Whether a command has the item in it, however parallel has quoted it (a newline is logged as NUL)."""
    return QUOTES.sub(b"", id) in QUOTES.sub(b"", command.replace(b"\0", b"\n"))


def _parsed(data: bytes) -> Iterator[tuple[int, int, re.Match[bytes]]]:
    for line, byte, row in _lines(data):
        if row == HEADER:
            continue
        if (match := PARALLEL.fullmatch(row)) is None:
            raise ForeignError(line, byte, "is no line of a joblog; mend or delete it")
        yield line, byte, match


def _lines(data: bytes, end: bytes = b"\n") -> Iterator[tuple[int, int, bytes]]:
    """Each line's number, first byte and text; an error if the last one has no end."""
    byte, line, (*rows, rest) = 0, 1, data.split(end)
    for row in rows:
        yield line, byte, row
        byte, line = byte + len(row) + len(end), line + 1 + (row + end).count(b"\n") - end.count(b"\n")
    if rest:
        raise ForeignError(line, byte, "is torn: it has no end; mend or delete it")


def rush(data: bytes, template: bytes | None) -> Iterator[Told]:
    """rush's file of successful commands: the whole command is the id, or what stands at {} of its template."""
    shape = _shape(template) if template is not None else re.compile(rb"(.+)", re.DOTALL)
    for line, byte, command in _lines(data, RUSH + b"\n"):
        if RUSH in command or not command:
            raise ForeignError(line, byte, "is no single command; mend or delete it")
        if (match := shape.fullmatch(command)) is None:
            raise ForeignError(line, byte, f"({shown(command)}) does not fit the template")
        yield Told(match[1])


def _shape(template: bytes) -> re.Pattern[bytes]:
    """The template with its {} to be found; every further {} is the same text.  Raises ValueError."""
    head, *tail = [re.escape(part) for part in template.split(b"{}")]
    if not tail:
        raise ValueError("the template has no {}; write the command as rush had it")
    return re.compile(head + rb"(.+)" + rb"(?:\1)".join(tail), re.DOTALL)


def resumable(data: bytes) -> Iterator[Told]:
    """Lines `{"key":…,"t":…}`: each key is done.  The last one needs no newline if it is whole."""
    for line, byte, row in _lines(data if data.endswith(b"\n") or not data else data + b"\n"):
        try:
            key = orjson.loads(row)["key"]
        except (ValueError, KeyError, TypeError):
            key = None
        if not isinstance(key, str) or not key:
            raise ForeignError(line, byte, 'is no {"key":…,"t":…}; mend or delete it')
        yield Told(key.encode())
