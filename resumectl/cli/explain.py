"""`resumectl explain`: one item's story, and what the next run would do with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from .. import events
from ..admission import Rules
from ..forecast import forecast
from ..ledger import State
from ..outputs import Shelf, kept
from ..place import Place
from ..records import Record, about
from ..report import WORDS
from ..run import key_for
from ..snapshot import Snapshot, glimpse, take
from ..words import shown
from . import Refusal, put, tell
from .again import last_list, last_options
from .checks import cut_off_policy
from .where import JobOption, JournalOption, find_place

LAST = 10  # lines of output that are shown
TAIL = 1 << 16  # bytes in which they are looked for


def explain(
    id: Annotated[str, typer.Argument(metavar="ID", help="The item.")],
    job: JobOption = None,
    journal: JournalOption = None,
) -> int:
    """Tell an item's story: each attempt, its last failure's output, and what the next run would do with it.

    That is told by the options of the last run.  Takes no lock, also during a run.

    Example: resumectl explain A17 --job claude
    """
    place, wanted = find_place(None, job, journal), os.fsencode(id)
    snapshot, story = _read(place, wanted)
    listed = _listed(snapshot, wanted)
    if not snapshot.ledger.named(wanted) and not listed:
        raise Refusal(f"{shown(wanted)} is neither in {place.journal} nor in the last run's list; see resumectl status")
    for line in _told(snapshot, wanted, story):
        put(line)
    for line in _last_words(place, story):
        put(line)
    put(f"  next run {_next(snapshot, wanted, listed)}")
    if snapshot.damage:
        tell(f"resumectl: {snapshot.damage}; a run would refuse it until --accept-damage")
    return 0


def _read(place: Place, id: bytes) -> tuple[Snapshot, list[Record]]:
    """The item's records, and a ledger that can be asked about it alone; about a limit, others must be asked too."""
    snapshot, records = glimpse(place, about([id]))
    story = [record for record in records if id in record.ids]
    return (take(place) if snapshot.ledger.standing(id).limited else snapshot), story


def _listed(snapshot: Snapshot, id: bytes) -> bool | None:
    """Whether the last run's list has the item; None if it can't be read again."""
    try:
        return any(item.id == id for item in last_list(snapshot))
    except Refusal:
        return None


def _told(snapshot: Snapshot, id: bytes, story: list[Record]) -> Iterator[str]:
    standing, state = snapshot.ledger.standing(id), snapshot.state_of(id)
    yield f"{shown(id)}: {'running' if state is None else WORDS[state]}"
    yield f"  journal  {snapshot.place.journal}"
    yield f"  key      {key_for(snapshot.namespace, id)}"
    counted = f"{standing.failures} failed, {standing.cut_offs} cut off since the last reset"
    yield f"  attempts {standing.attempts}" + (f" ({counted})" if standing.charged else "")
    begun: dict[int, str] = {}
    for record in story:
        attempt = _attempt(record, id)
        if record.t == "started":
            begun[attempt] = events.local(record.rest.get("at", ""))
            continue
        yield _line(begun.pop(attempt, ""), record, attempt)
    for attempt, at in begun.items():
        yield f"    {at}  attempt {attempt}, {'running' if state is None else 'no end was recorded'}"


def _line(begun: str, record: Record, attempt: int) -> str:
    """When it was started, or recorded if it stands alone, and how it ended."""
    when = begun or events.local(record.rest.get("at", ""))
    word = events.WORDS.get(record.t, record.t)
    about = ", ".join(events.details(record))
    which = f"attempt {attempt}, " if begun else ""
    return f"    {when}  {which}{word}{': ' + about if about else ''}"


def _attempt(record: Record, id: bytes) -> int:
    at = record.ids.index(id)
    return record.attempts[at] if at < len(record.attempts) else 0


def _last_words(place: Place, story: list[Record]) -> Iterator[str]:
    """The end of what the last failed attempt printed: on stderr, else on stdout."""
    failed = next((record for record in reversed(story) if record.t == "failed" and "ms" in record.rest), None)
    shelf = Shelf(place.out)
    try:
        for name in ("err", "out") if failed is not None else ():
            where = kept(failed.rest.get(name)) if failed is not None else None
            span = shelf.get(where) if where is not None and where.length else None
            if span is None or where is None:
                continue
            tail = span.tail(TAIL).rstrip(b"\n").split(b"\n")[-LAST:]
            yield f"  its last failure's std{name}{', the last lines' if where.length > TAIL or len(tail) == LAST else ''}:"
            yield from (f"    | {shown(line)}" for line in tail)
            return
    finally:
        shelf.close()


def _next(snapshot: Snapshot, id: bytes, listed: bool | None) -> str:
    if snapshot.state_of(id) is None:
        return "finds it running"
    told = forecast(snapshot.ledger, id, _rules(snapshot))
    if listed is False and snapshot.ledger.state(id) is not State.DONE:
        return f"leaves it: it is not in the last run's list (in it, a run {told})"
    return told


def _rules(snapshot: Snapshot) -> Rules:
    """The last run's, or the defaults if there was none."""
    try:
        options: dict[str, Any] = last_options(snapshot)
    except Refusal:
        return Rules()
    cut_off = cut_off_policy(options["cut_off"], options["verify"])
    return Rules(cut_off, options["failed"], max_attempts=options["max_attempts"])
