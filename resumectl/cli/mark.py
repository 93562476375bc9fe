"""`resumectl mark`: a person's word about items."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from ..lines import JournalError
from ..records import Record
from ..report import items as counted
from ..run import Run
from . import Refusal, catch, interrupt, tell
from .lists import Listing, chosen_format, open_list
from .where import JobOption, JournalOption, find_place, named_place

PART = 10_000  # records written at a time
IdOption = Annotated[
    list[str] | None, typer.Option("--id", metavar="ID", help="An item; can be repeated.", show_default=False)
]
ItemsOption = Annotated[
    str | None, typer.Option("--items", "-a", metavar="FILE", help="Items, one a line.", show_default=False)
]


class Word(StrEnum):
    """The state that a person gives an item."""

    DONE = "done"
    FAILED = "failed"
    NEW = "new"


def mark(
    state: Annotated[Word, typer.Argument(help="What the items are from now on.")],
    id: IdOption = None,
    items: ItemsOption = None,
    null: Annotated[bool, typer.Option("--null", "-0", help="Items of FILE end with NUL.")] = False,
    job: JobOption = None,
    journal: JournalOption = None,
) -> int:
    """Record that items are done, failed or new; what the journal says of them before stays readable.

    Example: resumectl mark done --id A17 --job claude
    """
    catch(interrupt)
    ids = chosen_ids(id, items, null)
    run = Run(named_place(job, journal) or find_place(None, job, journal), sync="none")
    try:
        run.acquire()
        run.load()
        if state is Word.NEW:
            refuse_beside_orphans(run)
        run.heal()
        count = append_by_hand(run, [record(run, state, id) for id in dict.fromkeys(ids)])
    finally:
        run.close()
    tell(f"marked {counted(count)} {state.value} in {run.place.journal}")
    return 0


def record(run: Run, state: Word, id: bytes) -> Record:
    """The line for a person's word; it stands alone and carries the item's last attempt."""
    attempts = (run.ledger.attempts(id),)
    if state is Word.DONE:
        return Record("done", (id,), attempts, {"by": "hand"})
    if state is Word.FAILED:
        return Record("failed", (id,), attempts, {"why": "hand", "by": "hand"})
    return Record("reset", (id,), (), {"by": "hand"})


def chosen_ids(ids: Sequence[str] | None, items: str | None, null: bool) -> Iterator[bytes]:
    """The items that --id and --items name; Refusal if neither is given."""
    if not ids and items is None:
        raise Refusal("no items are named; use --id ID or --items FILE")
    if "" in (ids or ()):
        raise Refusal("an id is empty; name an item")
    listing = Listing(open_list(items), chosen_format(null, None)) if items is not None else ()
    named = [os.fsencode(id) for id in ids or ()]
    return (id for source in (named, (item.id for item in listing)) for id in source)


def refuse_beside_orphans(run: Run) -> None:
    """Nothing may be let run again while commands of a killed run still do it."""
    found = run.orphans()
    if found.busy:
        pids = f" (pid {', '.join(map(str, found.pids))})" if found.pids else ""
        raise JournalError(f"commands of a killed run still live{pids}; wait for their end", 4)


def append_by_hand(run: Run, records: Sequence[Record]) -> int:
    """Append records behind a barrier, in parts, and make them durable; return how many."""
    if records:
        run.journal.barrier(records[0])
    for at in range(1, len(records), PART):
        run.journal.append(records[at : at + PART])
    run.journal.flush()
    return len(records)
