"""Which kept streams belong to which item: the last ended attempt of each, from the journal's records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .ledger import Ledger, State
from .outputs import Kept, kept
from .records import Record


class Entry(NamedTuple):
    """An item's last ended attempt: how it ended, and where its streams lie (None: not kept)."""

    t: str
    attempt: int
    rc: int | None
    ms: int | None
    at: str
    out: Kept | None
    err: Kept | None


class Catalogue:
    """Takes in records, beside a ledger that says which items are done."""

    def __init__(self) -> None:
        self._entries: dict[bytes, Entry] = {}

    def enter(self, record: Record) -> None:
        """Remember an attempt's end; a person's word or a reset changes nothing that was printed."""
        rest = record.rest
        if record.t not in ("done", "failed") or ("by" in rest and rest["by"] != "compact"):
            return
        out, err = kept(rest.get("out")), kept(rest.get("err"))
        for id, attempt in zip(record.ids, record.attempts, strict=True):
            self._entries[id] = Entry(record.t, attempt, rest.get("rc"), rest.get("ms"), rest.get("at", ""), out, err)

    def entry(self, id: bytes, state: State) -> Entry | None:
        """The entry of an item in this state; None if its last ended attempt came to something else."""
        entry = self._entries.get(id)
        return entry if entry is not None and entry.t == state.name.lower() else None

    def of(self, ledger: Ledger, state: State) -> Iterator[tuple[bytes, Entry | None]]:
        """Every item in a state, in first-seen order, with its entry."""
        return ((id, self.entry(id, state)) for id in ledger.ids(state))
