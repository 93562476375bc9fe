"""The last run's list and options, read again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..items import Item, Sift
from ..ledger import State
from ..snapshot import Snapshot
from . import Refusal
from .checks import split_command
from .lists import Listing, Source, chosen_format, kept_list, listed, open_list


@dataclass(frozen=True)
class Again:
    """What `run` was called with: its words, and the kept copy of a piped list, which `resume` reads in its place."""

    words: Sequence[str]
    kept: Path | None = None

    def source(self) -> Source | None:
        """The kept list, opened; None if the words say where it is."""
        return kept_list(self.kept) if self.kept is not None else None

    def options(self, command: Sequence[str]) -> list[str]:
        """The words before COMMAND, as they were typed."""
        words = list(self.words[: len(self.words) - len(command)])
        return words[:-1] if words[-1:] == ["--"] else words


def last_options(snapshot: Snapshot) -> dict[str, Any]:
    """The last run's options by name, as its own parser reads them; Refusal if there was no run."""
    from .app import verb

    arguments = snapshot.arguments()
    if not arguments:
        raise Refusal(f"{snapshot.place.journal} names no run yet; name a list with --items")
    return dict(verb("run").make_context("run", arguments, resilient_parsing=True).params)


def last_list(snapshot: Snapshot, sift: Sift | None = None) -> Iterable[Item[Any]]:
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
        return Listing(listed(items), format, sift=sift)
    if snapshot.ledger.run.get("piped"):
        if snapshot.ledger.list_total is None:
            raise Refusal("the last run's list was not read to its end; pipe it again")
        return Listing(kept_list(snapshot.place.items), format, sift=sift)
    return Listing(open_list(os.path.join(snapshot.directory(), path)), format, sift=sift)


def relisted(
    snapshot: Snapshot, listing: Callable[[Sift], Iterable[Item[Any]]], states: set[State]
) -> Iterator[bytes]:
    """The ids of a list that are in these states, each once, in the list's order."""
    for item in listing(lambda ids: [at for at, state in enumerate(snapshot.ledger.states(ids)) if state in states]):
        if snapshot.state_of(item.id) in states and snapshot.ledger.enlist(item.id) is not None:
            yield item.id
