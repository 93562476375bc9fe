"""`resumectl status`: what is done, what is left, which ids.  Takes no lock, also during a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated

import orjson
import typer

from ..address import HIDDEN, HINT
from ..ledger import State
from ..report import items as counted
from ..report import money
from ..snapshot import Snapshot, take
from ..words import duration
from . import put, put_bytes, shown_id, tell
from .again import last_list, relisted
from .lists import Listing, chosen_format, open_list
from .where import JobArgument, JobOption, JournalOption, find_place, find_places

LISTS = "Lists of ids, for piping back"
PENDING = (State.NEW, State.CUT_OFF, State.FAILED)


def status(
    argument: JobArgument = None,
    job: JobOption = None,
    journal: JournalOption = None,
    items: Annotated[
        str | None, typer.Option("--items", "-a", metavar="FILE", help="Count over this list, not the journal.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each job.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit 0 only if everything is done, else 1.")] = False,
    done: Annotated[bool, typer.Option("--done", help="The ids that are done.", rich_help_panel=LISTS)] = False,
    failed: Annotated[bool, typer.Option("--failed", help="The ids that failed.", rich_help_panel=LISTS)] = False,
    cut_off: Annotated[
        bool, typer.Option("--cut-off", help="The ids that were cut off.", rich_help_panel=LISTS)
    ] = False,
    parked: Annotated[
        bool, typer.Option("--parked", help="The ids that are held for a person.", rich_help_panel=LISTS)
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="The ids of the last run's list that never started.", rich_help_panel=LISTS)
    ] = False,
    pending: Annotated[
        bool, typer.Option("--pending", help="All that a run would start.", rich_help_panel=LISTS)
    ] = False,
    null: Annotated[bool, typer.Option("--null", "-0", help="Ids end with NUL.", rich_help_panel=LISTS)] = False,
) -> int:
    """Show what is done and what is left.

    Example: resumectl status --failed | resumectl run --job again -- ./fix.sh {}
    """
    wanted = {State.DONE: done, State.FAILED: failed, State.CUT_OFF: cut_off, State.PARKED: parked, State.NEW: new}
    states = {state for state, on in wanted.items() if on} | (set(PENDING) if pending else set())
    if states:
        snapshot = take(find_place(argument, job, journal))
        _print_ids(_ids(snapshot, states, items), null)
        return 0
    complete = True
    for place in find_places(argument, job, journal):
        snapshot = take(place)
        if items is not None:
            snapshot.count_over(item.id for item in _listing(items))
        complete &= snapshot.state == "complete"
        put(orjson.dumps(snapshot.fields()).decode()) if json else _print(snapshot)
    return 0 if complete or not check else 1


def _listing(path: str) -> Listing:
    return Listing(open_list(path), chosen_format(False, None))


def _ids(snapshot: Snapshot, states: set[State], items: str | None) -> Iterator[bytes]:
    """The ids in these states: of the given list, of the last run's list if new ones are asked for, else of the journal."""
    if items is not None or State.NEW in states:
        listing = _listing(items) if items is not None else last_list(snapshot)
        return relisted(snapshot, (item.id for item in listing), states)
    return (id for id in snapshot.ledger.ids() if snapshot.state_of(id) in states)


def _print_ids(ids: Iterator[bytes], null: bool) -> None:
    terminal, warned = os.isatty(1), False
    for id in ids:
        if b"\n" in id and not null and not warned:
            warned = True
            tell("resumectl: an id holds a newline; use -0 here and in what reads this")
        put_bytes(shown_id(id) + b"\n" if terminal else id + (b"\0" if null else b"\n"))


def _print(snapshot: Snapshot) -> None:
    fields = snapshot.fields()
    state = fields["state"] + (f" ({fields['reason']})" if fields["reason"] and fields["state"] == "stopped" else "")
    if fields["pid"]:
        state += f", pid {fields['pid']}"
    put(f"{snapshot.place.job}: {state}")
    put(f"  journal  {snapshot.place.journal}")
    counts = fields["counts"]
    names = [(name.replace("_", " "), count) for name, count in counts.items() if name != "total" and count]
    put(f"  {counted(counts['total'])}: " + (", ".join(f"{count} {name}" for name, count in names) or "none"))
    if snapshot.ledger.spending.told:
        put(f"  {money(snapshot.ledger.spending)}")
    if fields["rate"]:
        eta = f", {duration(fields['eta'])} left" if fields["eta"] is not None else ""
        put(f"  {fields['rate']:.1f}/s{eta}")
    if fields["resume_at"]:
        put(f"  resets   {fields['resume_at']}")
    if fields["command"] and fields["state"] == "stopped":
        go_on = snapshot.continuation() or "by piping the list into the same command again"
        put(f"  continue {go_on}")
        if f":{HIDDEN}@" in go_on:
            put(f"           ({HINT})")
    if snapshot.damage:
        tell(f"resumectl: {snapshot.damage}; what the journal still says is shown")
