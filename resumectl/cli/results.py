"""`resumectl results`: what the items printed, from what was kept.  It never runs the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ..catalogue import Catalogue, Entry
from ..files import safe
from ..ledger import Ledger, State
from ..lines import JournalError
from ..outputs import Kept, Shelf, Span
from ..records import pack, pack_all
from ..snapshot import take
from ..words import shown
from . import Refusal, put_bytes, tell
from .mark import IdOption
from .where import JobArgument, JobOption, JournalOption, find_place

NAMED = 20  # how many items without output are named


class ResultFormat(StrEnum):
    """How results are given."""

    TEXT = "text"
    JSONL = "jsonl"
    DIR = "dir"


class StreamName(StrEnum):
    """Which stream."""

    STDOUT = "stdout"
    STDERR = "stderr"


def results(
    argument: JobArgument = None,
    job: JobOption = None,
    journal: JournalOption = None,
    format: Annotated[
        ResultFormat, typer.Option("--format", help="As text, as JSON lines, or as files.")
    ] = ResultFormat.TEXT,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="Where --format dir puts one file an item.")
    ] = None,
    id: IdOption = None,
    failed: Annotated[bool, typer.Option("--failed", help="Of the items that failed.")] = False,
    stream: Annotated[StreamName, typer.Option("--stream", help="Which stream.")] = StreamName.STDOUT,
) -> int:
    """Print what every done item printed, in the order in which the items were first seen.

    Example: resumectl results claude --format jsonl > answers.jsonl
    """
    if (format is ResultFormat.DIR) != (to is not None):
        raise Refusal("--format dir and --to DIR go together; give both")
    place, catalogue = find_place(argument, job, journal), Catalogue()
    snapshot = take(place, also=catalogue)
    shelf, missing = Shelf(place.out), list[bytes]()
    write = {ResultFormat.TEXT: _text, ResultFormat.JSONL: _line, ResultFormat.DIR: _file}[format]
    chosen = _chosen(catalogue, snapshot.ledger, State.FAILED if failed else State.DONE, id)
    together = catalogue.batched("out" if stream is StreamName.STDOUT else "err")
    for ids, entry in _batches(chosen, stream) if together else (([id], entry) for id, entry in chosen):
        span = shelf.get(_where(entry, stream))
        if entry is None or span is None:
            missing += ids
        else:
            write(ids, entry, span, stream.value, to)
    sys.stdout.flush()
    if snapshot.damage:
        tell(f"resumectl: {snapshot.damage}; of what the journal still says, this is the output")
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        tell(f"resumectl: nothing was kept of {', '.join(shown(one) for one in missing[:NAMED])}{more}")
    return 1 if missing else 0


def _chosen(
    catalogue: Catalogue, ledger: Ledger, state: State, ids: list[str] | None
) -> Iterator[tuple[bytes, Entry | None]]:
    if not ids:
        return catalogue.of(ledger, state)
    wanted = [os.fsencode(one) for one in ids]
    for one in wanted:
        if ledger.state(one) is not state:
            raise Refusal(f"{shown(one)} is not {state.name.lower()}; see resumectl status")
    return ((one, catalogue.entry(one, state)) for one in wanted)


def _where(entry: Entry | None, stream: StreamName) -> Kept | None:
    return None if entry is None else entry.out if stream is StreamName.STDOUT else entry.err


def _batches(
    chosen: Iterator[tuple[bytes, Entry | None]], stream: StreamName
) -> Iterable[tuple[list[bytes], Entry | None]]:
    """The items with their entries; those of one batch, which were printed once, together."""
    found: dict[object, tuple[list[bytes], Entry | None]] = {}
    for id, entry in chosen:
        where = _where(entry, stream)
        shared = where if entry is not None and where is not None and where.length else id
        found.setdefault(shared, ([], entry))[0].append(id)
    return found.values()


def _text(ids: list[bytes], entry: Entry, span: Span, stream: str, to: Path | None) -> None:
    for piece in span.pieces():
        put_bytes(piece)


def _line(ids: list[bytes], entry: Entry, span: Span, stream: str, to: Path | None) -> None:
    named = {"id": pack(ids[0])} if len(ids) == 1 else {"ids": pack_all(ids)}
    fields = {**named, "attempt": entry.attempt, "rc": entry.rc, "at": entry.at, "ms": entry.ms}
    put_bytes(orjson.dumps({**fields, stream: pack(b"".join(span.pieces()))}) + b"\n")


def _file(ids: list[bytes], entry: Entry, span: Span, stream: str, to: Path | None) -> None:
    """A batch's output is one file, named by its first item.  Raises JournalError 74."""
    assert to is not None
    path = to / os.fsdecode(safe(ids[0]))
    try:
        to.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            for piece in span.pieces():
                file.write(piece)
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}", 74) from error
