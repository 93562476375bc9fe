"""How far `NAME.out` is spoken for: what is kept next must lie behind every byte that a record names."""

from __future__ import annotations

import orjson

from .columns import Rows
from .records import Record


class Extent:
    """Takes in every record of a journal."""

    def __init__(self) -> None:
        self.end = 0  # the byte behind the last that is named

    def enter(self, record: Record) -> None:
        past = record.rest.get("past") or {}  # the run that compact wrote tells what was before it
        self.end = max(self.end, past.get("kept_end", 0))
        for where in (record.rest.get("out"), record.rest.get("err")):
            if where:
                self.end = max(self.end, where[0] + where[1])

    def enter_rows(self, rows: Rows) -> None:
        """Take plain lines in: the same as `enter` for each, several times quicker."""
        for record in rows.unusual.values():
            self.enter(record)
        columns = [column for column in (rows.outs, rows.errs) if any(column)]
        kept = [place for column in columns for place in column if place and len(place) > 1]
        places = orjson.loads(b"[" + b",".join(kept) + b"]")
        self.end = max([self.end, *[offset + length for offset, length, _ in places]])
