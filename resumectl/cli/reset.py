"""`resumectl reset`: start over, with everything or with some items."""

from __future__ import annotations

import os
import uuid
from typing import Annotated

import typer

from ..ledger import State
from ..records import Record
from ..report import items as counted
from ..run import Run
from ..words import shown
from . import Refusal, catch, interrupt, put, tell
from .mark import IdOption, ItemsOption, append_by_hand, chosen_ids, refuse_beside_orphans
from .where import JobArgument, JobOption, JournalOption, find_place


def reset(
    argument: JobArgument = None,
    job: JobOption = None,
    journal: JournalOption = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only the items that failed.")] = False,
    cut_off: Annotated[bool, typer.Option("--cut-off", help="Only the items that were cut off.")] = False,
    parked: Annotated[bool, typer.Option("--parked", help="Only the items that are held.")] = False,
    id: IdOption = None,
    items: ItemsOption = None,
    new_keys: Annotated[bool, typer.Option("--new-keys", help="New idempotency keys (whole reset only).")] = False,
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete the old journal instead of keeping it (whole reset only).")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> int:
    """Forget what was done: of all items (the journal is archived), or of those chosen.

    Example: resumectl reset --failed --yes
    """
    catch(interrupt)
    states = {State.FAILED: failed, State.CUT_OFF: cut_off, State.PARKED: parked}
    chosen = {state for state, on in states.items() if on}
    partial = bool(chosen or id or items is not None)
    if partial and (new_keys or purge):
        raise Refusal("--new-keys and --purge are for a whole reset; leave out the choice of items")
    place = find_place(argument, job, journal)
    _confirm(yes, f"Reset {'the chosen items' if partial else 'all items'} of {place.journal}?")
    run = Run(place, sync="none")
    try:
        run.acquire()
        run.load(accept_damage=not partial)
        refuse_beside_orphans(run)
        if not partial:
            return _whole(run, new_keys, purge)
        run.heal()
        ids = [known for known in run.ledger.ids() if run.ledger.state(known) in chosen]
        if id or items is not None:
            ids += _named(run, id, items)
        count = append_by_hand(run, [Record("reset", (known,)) for known in dict.fromkeys(ids)])
    finally:
        run.close()
    tell(f"reset {counted(count)} of {place.journal}")
    return 0


def _named(run: Run, id: list[str] | None, items: str | None) -> list[bytes]:
    ids = list(chosen_ids(id, items, False))
    unknown = [one for one in ids if not run.ledger.named(one)]
    if unknown and items is None:
        raise Refusal(f"{shown(unknown[0])} is not in {run.place.journal}; nothing was reset")
    return [one for one in ids if run.ledger.named(one)]


def _confirm(yes: bool, question: str) -> None:
    if yes:
        return
    if not os.isatty(0):
        raise Refusal("a reset needs a yes; add --yes")
    if not typer.confirm(question, err=True):
        raise typer.Abort


def _whole(run: Run, new_keys: bool, purge: bool) -> int:
    kept = run.archive(uuid.uuid4() if new_keys else None)
    for path in kept if purge else ():
        run.delete(path)
        tell(f"deleted {path}")
    for path in () if purge else kept:
        put(str(path))
    return 0
