"""`resumectl status`: what is done, what is left, which ids.  Takes no lock, also during a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from ..address import HIDDEN, HINT
from ..ledger import State
from ..report import items as counted
from ..report import money
from ..snapshot import Snapshot, take
from ..words import duration
from . import Refusal, put, put_bytes, shown_id, tell
from .where import JobArgument, JobOption, JournalOption, find_place, find_places

if TYPE_CHECKING:
    from ..items import Sift
    from ..place import Place
    from ..survey import Survey
    from .lists import Listing

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
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow a run until it ends; on a pipe, a line at each change.")
    ] = False,
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

    It takes no lock and is right also during a run. On a terminal a single job is shown with a picture of its
    throughput, durations and failures.

    Exit codes:
    0 the journal could be read; with --check: and everything is done
    1 with --check: not everything is done
    2 usage; no such job; not a journal, or a newer one
    70 a bug in resumectl

    Example: resumectl status --failed | resumectl run --job again -- ./fix.sh {}
    """
    wanted = {State.DONE: done, State.FAILED: failed, State.CUT_OFF: cut_off, State.PARKED: parked, State.NEW: new}
    states = {state for state, on in wanted.items() if on} | (set(PENDING) if pending else set())
    if states:
        snapshot = take(find_place(argument, job, journal))
        _print_ids(_ids(snapshot, states, items), null)
        _tell_damage(snapshot, json)
        return 0
    if watch:
        return _watch(find_place(argument, job, journal), items, json, check)
    complete, places = True, find_places(argument, job, journal)
    survey = _survey() if len(places) == 1 and os.isatty(1) and not json else None
    for place in places:
        snapshot = take(place, also=survey)
        if items is not None:
            snapshot.count_over(partial(_listing, items))
        complete &= snapshot.state == "complete"
        put("\n".join(_json(snapshot) if json else _lines(snapshot)))
        if survey is not None:
            _draw(survey, snapshot)
        _tell_damage(snapshot, json)
    return 0 if complete or not check else 1


def _tell_damage(snapshot: Snapshot, json: bool) -> None:
    if snapshot.damage and not json:
        tell(f"resumectl: {snapshot.damage}; what the journal still says is shown")


def _watch(place: Place, items: str | None, json: bool, check: bool) -> int:
    from .watch import watch

    if items is not None:
        raise Refusal("--watch shows a run over its own list; leave out --items")
    last = watch(place, _lines, _json if json else _line)
    _tell_damage(last, json)
    return 0 if last.state == "complete" or not check else 1


def _survey() -> Survey:
    from ..survey import Survey

    return Survey()


def _draw(survey: Survey, snapshot: Snapshot) -> None:
    from ..outputs import Shelf
    from ..picture import picture

    shelf = Shelf(snapshot.place.out)
    try:
        text = picture(survey, snapshot.ledger, shelf)
    finally:
        shelf.close()
    put_bytes(text.encode(os.device_encoding(1) or "utf-8", "backslashreplace"))


def _listing(path: str, sift: Sift) -> Listing:
    from .lists import Listing, chosen_format, open_list

    return Listing(open_list(path), chosen_format(False, None), sift=sift)


def _ids(snapshot: Snapshot, states: set[State], items: str | None) -> Iterator[bytes]:
    """The ids in these states: of the given list, of the last run's list if new ones are asked for, else of the journal."""
    if items is not None or State.NEW in states:
        from .again import last_list, relisted

        listing = partial(_listing, items) if items is not None else partial(last_list, snapshot)
        return relisted(snapshot, listing, states)
    return (id for id in snapshot.ledger.ids() if snapshot.state_of(id) in states)


def _print_ids(ids: Iterator[bytes], null: bool) -> None:
    terminal, warned = os.isatty(1), False
    for id in ids:
        if b"\n" in id and not null and not warned:
            warned = True
            tell("resumectl: an id holds a newline; use -0 here and in what reads this")
        put_bytes(shown_id(id) + b"\n" if terminal else id + (b"\0" if null else b"\n"))


def _json(snapshot: Snapshot) -> Iterator[str]:
    yield orjson.dumps(snapshot.fields()).decode()


def _state(fields: dict[str, Any]) -> str:
    """`running, pid 12`, `stopped (max-time)`."""
    reason = f" ({fields['reason']})" if fields["reason"] and fields["state"] == "stopped" else ""
    return str(fields["state"]) + reason + (f", pid {fields['pid']}" if fields["pid"] else "")


def _pace(fields: dict[str, Any]) -> str:
    eta = f", {duration(fields['eta'])} left" if fields["eta"] is not None else ""
    return f"{fields['rate']:.1f}/s{eta}" if fields["rate"] else ""


def _counts(fields: dict[str, Any]) -> str:
    counts = fields["counts"].items()
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts if name != "total" and count)


def _line(snapshot: Snapshot) -> Iterator[str]:
    """All on one line, for a log."""
    fields = snapshot.fields()
    parts = (_counts(fields), money(snapshot.ledger.figures.spending), _pace(fields))
    yield f"{snapshot.place.job}: {_state(fields)}; {', '.join(filter(None, parts)) or 'no items'}"


def _lines(snapshot: Snapshot) -> Iterator[str]:
    fields = snapshot.fields()
    yield f"{snapshot.place.job}: {_state(fields)}"
    yield f"  journal  {snapshot.place.journal}"
    yield f"  {counted(fields['counts']['total'])}: {_counts(fields) or 'none'}"
    if snapshot.compared is not None:
        named, elsewhere = snapshot.compared
        total = fields["counts"]["total"]
        yield f"  {named} of your {total} are in the journal, {total - named} new, {elsewhere} not in this list"
    if snapshot.ledger.figures.spending.told:
        yield f"  {money(snapshot.ledger.figures.spending)}"
    if fields["rate"]:
        yield f"  {_pace(fields)}"
    if fields["resume_at"]:
        yield f"  resets   {fields['resume_at']}"
    if fields["command"] and fields["state"] == "stopped":
        go_on = snapshot.continuation() or "by piping the list into the same command again"
        yield f"  continue {go_on}"
        if f":{HIDDEN}@" in go_on:
            yield f"           ({HINT})"
