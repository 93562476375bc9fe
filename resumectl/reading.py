"""What a journal says, for programs: its items with their states, what they gave back, and a fresh start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .catalogue import Catalogue
from .ledger import State
from .outputs import Shelf
from .place import chosen
from .run import Run
from .snapshot import take


@dataclass(frozen=True)
class JournalEntry:
    """An item: its id, its state (`new`, `cut_off`, `failed`, `done` or `parked`), how often it was started."""

    id: bytes
    state: str
    attempts: int


def read_journal(path: str | os.PathLike[str]) -> Iterator[JournalEntry]:
    """Every item of a journal, in the order in which they were first seen; takes no lock.

    Raises JournalError if it is no journal, or a newer one.
    """
    ledger = take(chosen(path)).ledger
    for id in ledger.ids():
        yield JournalEntry(id, ledger.state(id).name.lower(), ledger.attempts(id))


def read_results(path: str | os.PathLike[str]) -> Iterator[tuple[bytes, bytes | None]]:
    """The id of every done item and what was kept of its output (a handler's result as JSON); None: nothing was.

    Raises JournalError if it is no journal, or a newer one.
    """
    catalogue = Catalogue()
    place = chosen(path)
    ledger = take(place, also=catalogue).ledger
    shelf = Shelf(place.out)
    try:
        for id, entry in catalogue.of(ledger, State.DONE):
            span = shelf.get(entry.out if entry is not None else None)
            yield id, b"".join(span.pieces()) if span is not None else None
    finally:
        shelf.close()


def reset(path: str | os.PathLike[str]) -> list[Path]:
    """Start over: the journal and its outputs are archived; gives where they are now.

    Raises JournalError if it is in use or can't be written.
    """
    run = Run(chosen(path), sync="none")
    try:
        run.acquire()
        run.load(accept_damage=True)
        return run.archive()
    finally:
        run.close()
