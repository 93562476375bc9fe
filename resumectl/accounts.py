"""What each item came to over all its attempts: how the last one ended, what they printed and cost.

For whoever writes an item down in one line: compact, export.  A ledger beside it knows
the states; this knows the words.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson

from .columns import End, Rows, told
from .ledger import Ledger, State
from .records import Record
from .spending import Spending
from .standing import STATES

LOT = 4096  # items that are looked at together
PRINTED = ("rc", "ms", "out", "err")


class Account:
    """One item.  The fields are kept as JSON, in a third of the memory."""

    __slots__ = ("_end", "_printed", "spending")

    def __init__(self) -> None:
        self._end = self._printed = b""  # the record that gave it its state; the last of an attempt that printed
        self.spending = Spending()

    @classmethod
    def of(cls, end: End) -> Account:
        """The account of an item of which no more is to tell than one clean end."""
        account = cls()
        account._end = account._printed = end.line()
        if end.stands_for_many:
            account.spending.take(Record("done", rest=end.fields()))
        elif not end.ms:
            account._printed = b""  # a person's word
        elif end.costs:
            spent = told([end.costs])[0]
            account.spending.add(spent.get("cost"), spent.get("sums") or {})
        else:
            account.spending.unknown = 1
        return account

    def enter(self, record: Record) -> None:
        """Take in a record of the item that is no `started`."""
        self.spending.take(record)
        if record.t not in STATES:
            return
        # A copy, for orjson's own bytes hold on to the kilobyte that they were written in.
        self._end = bytes(memoryview(orjson.dumps({"t": record.t, **record.rest})))
        if record.t in ("done", "failed") and record.rest.get("by", "compact") == "compact":
            self._printed = self._end

    def fields(self, state: State) -> dict[str, Any]:
        """The fields of the record that gave it this state; where a person's word did, with what the attempt
        before it printed, if that had come to the same."""
        end: dict[str, Any] = orjson.loads(self._end) if self._end else {"t": ""}
        end.pop("c", None)
        if STATES.get(end.pop("t")) is not state:
            return {}
        if self._printed and self._printed is not self._end:
            earlier = orjson.loads(self._printed)
            if STATES[earlier["t"]] is state:
                end |= {name: earlier[name] for name in PRINTED if name in earlier}
        return end


class Accounts:
    """Takes in every record of a journal."""

    def __init__(self) -> None:
        self._accounts: dict[bytes, Account] = {}
        self._ends: dict[bytes, End] = {}  # of the items of which there is nothing else to tell

    def enter(self, record: Record) -> None:
        if record.t == "started":
            return
        for id in record.ids:
            account = self._accounts[id] = self.of(id)
            self._ends.pop(id, None)
            account.enter(record)

    def enter_rows(self, rows: Rows) -> None:
        """Take plain lines in: the same as `enter` for each, several times quicker."""
        ended = [at for at, begun in enumerate(rows.begun) if not begun]
        ends = dict(zip(map(rows.ids.__getitem__, ended), rows.taken(ended), strict=True))
        apart = {rows.ids[at] for at in rows.unusual} | rows.unended
        apart |= ends.keys() & self._accounts.keys()
        apart |= ends.keys() & self._ends.keys()
        for id in apart & ends.keys():
            del ends[id]
        self._ends |= ends
        for at in rows.about(apart):
            self.enter(rows.record(at))

    def clean(self, ledger: Ledger) -> Iterator[list[tuple[bytes, End | None]]]:
        """Every item, many at a time, in the order of their first mention; with the one end that took time, if no
        more is to tell of it than that it was done then."""
        source = ledger.ids()
        while ids := list(islice(source, LOT)):
            ends = [self._ends.get(id) for id in ids]
            attempts = [int(end.attempt) if end is not None else 0 for end in ends]
            found = zip(ids, ends, ledger.untroubled(ids, attempts), strict=True)
            yield [(id, end if untroubled and end is not None and end.ms else None) for id, end, untroubled in found]

    def of(self, id: bytes) -> Account:
        """An item's account, an empty one if nothing of it has ended."""
        account = self._accounts.get(id)
        if account is None:
            end = self._ends.get(id)
            account = Account() if end is None else Account.of(end)
        return account
