"""`resumectl log`: what has happened, in order; and what happens, as it does."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from .. import events
from ..follow import follow
from ..lines import JournalError, Text, read
from ..place import Place
from ..records import Only, Record, about
from . import die, put_bytes, tell
from .mark import IdOption
from .where import JobArgument, JobOption, JournalOption, find_place

LOOK = 200  # milliseconds between two looks at a journal that is followed


def log(
    argument: JobArgument = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as more is written, until Ctrl-C.")] = False,
    id: IdOption = None,
    json: Annotated[bool, typer.Option("--json", help="The journal's records, one JSON object a line.")] = False,
    job: JobOption = None,
    journal: JournalOption = None,
) -> int:
    """Show the events in their order, one a line.  Takes no lock, also during a run.

    With -f --json it is the stream of checkpoints: a line for every start and every end,
    at once.

    Example: resumectl log claude -f --json | grep --line-buffered '"t":"failed"'
    """
    place, wanted = find_place(argument, job, journal), {os.fsencode(one) for one in id or ()}
    for record in _records(place, follow, about(wanted) if wanted else None):
        if wanted and wanted.isdisjoint(record.ids):
            continue
        if json:
            put_bytes(events.as_json(record))
        else:
            for line in events.lines(_only(record, wanted) if wanted else record):
                put_bytes(line.encode("utf-8", "backslashreplace") + b"\n")
    return 0


def _only(record: Record, wanted: set[bytes]) -> Record:
    """Of a batch, the items that are asked for."""
    at = [n for n, id in enumerate(record.ids) if id in wanted]
    attempts = tuple(record.attempts[n] for n in at if n < len(record.attempts))
    return record._replace(ids=tuple(record.ids[n] for n in at), attempts=attempts)


def _records(place: Place, more: bool, only: Only | None) -> Iterator[Record]:
    text = Text(place.journal)
    try:
        yield from follow(place.journal, _pause) if more else read(place.journal, text=text, only=only)
    except OSError as error:
        raise JournalError(f"{place.journal}: {error.strerror}", 2) from error
    if damage := text.damage():
        tell(f"resumectl: {damage}; what is intact is shown, resumectl check names all that is wrong")


def _pause() -> None:
    """Hand on what was printed and wait a moment; ends us when the reader of our output has gone."""
    sys.stdout.flush()
    watched = select.poll()
    watched.register(1, select.POLLHUP)  # macOS tells nothing to whoever asks for nothing
    if any(happened & (select.POLLERR | select.POLLHUP) for _, happened in watched.poll(LOOK)):
        die(signal.SIGPIPE)
