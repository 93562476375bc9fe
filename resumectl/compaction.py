"""The same journal in one line an item: what a run goes by stays, what led there goes.

The lines are what the ledger folds back into itself: states, attempts, what counts
against --max-attempts, costs, sums, where outputs lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .accounts import Account, Accounts
from .extent import Extent
from .ledger import Ledger, State
from .records import Record, encode, encode_all, seal, stamp
from .run import Run
from .standing import STATES

TYPES = {state: t for t, state in STATES.items()} | {State.NEW: "reset"}
OWN = ("by", "at", "cut_offs", "failures", "limited", "cries", "cost", "costs", "unknown", "sums")


def compact(run: Run, accounts: Accounts) -> Path:
    """Put one line an item in the place of the loaded run's journal; return where the old one is kept.

    What was open is cut off first, as the next run would have it.  `accounts` has taken in
    what the ledger has.  Raises JournalError 74, and then the journal is what it was.
    """
    for record in run.seal_open():
        accounts.enter(record)
    return run.compact(lines(run.ledger, accounts, run.extent, run.journal.text.seed))


def lines(ledger: Ledger, accounts: Accounts, extent: Extent, seed: int) -> Iterator[list[bytes]]:
    """One line an item, in the order of their first mention, then the last run and its end; many at a time."""
    at = stamp()
    for lot in accounts.clean(ledger):
        yield [
            seal(end.compacted(id), seed) if end is not None else encode(_item(id, ledger, accounts.of(id)), seed, at)
            for id, end in lot
        ]
    if ledger.run:
        known = ledger.list_total is not None
        listed = {"total": ledger.list_total, "new": ledger.unnamed if known else None}
        past = {"kept_end": extent.end, **ledger.figures.past()}
        run = Record("run", (), (), {**ledger.run, **listed, "bad": 0, "by": "compact", "past": past})
        end = [Record("end", (), (), {**ledger.end, "bad": 0, "by": "compact"})] if ledger.end else []
        yield encode_all([run, *end], seed, at)


def _item(id: bytes, ledger: Ledger, account: Account) -> Record:
    standing = ledger.standing(id)
    fields = account.fields(standing.state)
    own: dict[str, Any] = {
        "by": "compact",
        "cut_offs": standing.cut_offs,
        "failures": standing.failures,
        "limited": standing.limited,
    }
    if standing.limited and ledger.cries(id):
        own["cries"] = True
    own |= account.spending.fields()
    if "at" in fields:
        own["at"] = fields["at"]
    rest = {name: value for name, value in fields.items() if name not in OWN} | own
    return Record(TYPES[standing.state], (id,), (standing.attempts,), rest)
