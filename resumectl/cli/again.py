"""The last run's list, read again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from ..items import Item
from ..ledger import State
from ..snapshot import Snapshot
from . import Refusal
from .checks import split_command
from .lists import Listing, chosen_format, listed, open_list


def last_options(snapshot: Snapshot) -> dict[str, Any]:
    """The last run's options by name, as its own parser reads them; Refusal if there was no run."""
    from typer.main import get_command

    from .app import app

    arguments = snapshot.arguments()
    if not arguments:
        raise Refusal(f"{snapshot.place.journal} names no run yet; name a list with --items")
    command = get_command(app).commands["run"]  # type: ignore[attr-defined]
    return dict(command.make_context("run", arguments, resilient_parsing=True).params)


def last_list(snapshot: Snapshot) -> Iterable[Item[Any]]:
    """The list of the last run: its file, its table, or the copy of what was piped in; Refusal if it can't be read whole."""
    options = last_options(snapshot)
    if options["table"] is not None:
        from .tables import open_source

        source, format = open_source(options, snapshot.directory(), write=False)
        return source.listing(format)
    path = options["items"]
    items = split_command(options["command"], path)[1]
    format = chosen_format(
        options["null"] or items is not None, options["delimiter"], options["format"], options["key"]
    )
    if items is not None:
        return Listing(listed(items), format)
    if snapshot.ledger.run.get("piped"):
        if snapshot.ledger.list_total is None:
            raise Refusal("the last run's list was not read to its end; pipe it again")
        path = os.fsdecode(snapshot.place.items)
    else:
        path = os.path.join(snapshot.directory(), path)
    return Listing(open_list(path), format)


def relisted(snapshot: Snapshot, ids: Iterable[bytes], states: set[State]) -> Iterator[bytes]:
    """The ids of a list that are in these states, each once, in the list's order."""
    for id in ids:
        if snapshot.ledger.enlist(id) is not None and snapshot.state_of(id) in states:
            yield id
