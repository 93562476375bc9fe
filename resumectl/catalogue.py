"""Which kept streams belong to which item: the last ended attempt of each, from the journal's records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .columns import End, Rows
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
        self._entries: dict[bytes, Entry | End] = {}

    def enter(self, record: Record) -> None:
        """Remember an attempt's end; a person's word or a reset changes nothing that was printed."""
        if record.t not in ("done", "failed") or record.rest.get("by", "compact") != "compact":
            return
        for id, attempt in zip(record.ids, record.attempts, strict=True):
            self._entries[id] = _entry(record.t, attempt, record.rest)

    def enter_rows(self, rows: Rows) -> None:
        """Take plain lines in: the same as `enter` for each, several times quicker."""
        ends = sorted([*rows.ends, *rows.compacted])
        self._entries.update(zip(map(rows.ids.__getitem__, ends), rows.taken(ends), strict=True))
        for at in rows.about({rows.ids[at] for at in rows.unusual}):
            self.enter(rows.record(at))

    def entry(self, id: bytes, state: State) -> Entry | None:
        """The entry of an item in this state; None if its last ended attempt came to something else."""
        entry = self._entries.get(id)
        if isinstance(entry, End):
            entry = _entry("done", int(entry.attempt), entry.fields())
        return entry if entry is not None and entry.t == state.name.lower() else None

    def batched(self, stream: str) -> bool:
        """Whether any kept `out` or `err` belongs to several items: it was printed by a batch."""
        seen = set[int]()
        for entry in self._entries.values():
            offset = _offset(getattr(entry, stream))
            if offset in seen:
                return True
            if offset is not None:
                seen.add(offset)
        return False

    def of(self, ledger: Ledger, state: State) -> Iterator[tuple[bytes, Entry | None]]:
        """Every item in a state, in first-seen order, with its entry."""
        return ((id, self.entry(id, state)) for id in ledger.ids(state))


def _offset(place: bytes | Kept | None) -> int | None:
    """Where a stream lies that is not empty."""
    if isinstance(place, bytes):
        return int(place[1 : place.index(b",")]) if len(place) > 1 else None
    return place.offset if place is not None and place.length else None


def _entry(t: str, attempt: int, rest: Mapping[str, Any]) -> Entry:
    streams = kept(rest.get("out")), kept(rest.get("err"))
    return Entry(t, attempt, rest.get("rc"), rest.get("ms"), rest.get("at", ""), *streams)
