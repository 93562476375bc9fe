"""`resumectl export`: the items as a table."""

from __future__ import annotations

import csv
import io
from enum import StrEnum
from typing import Annotated, Any

import orjson
import typer

from ..accounts import Accounts
from ..ledger import State
from ..records import pack
from ..snapshot import Snapshot, take
from . import put_bytes, tell
from .where import JobArgument, JobOption, JournalOption, find_place

COLUMNS = ("id", "state", "attempts", "failures", "cut_offs", "ended", "why", "rc", "ms", "cost")


class Table(StrEnum):
    """How the table is written."""

    CSV = "csv"
    JSONL = "jsonl"


def export(
    argument: JobArgument = None,
    job: JobOption = None,
    journal: JournalOption = None,
    format: Annotated[Table, typer.Option("--format", help="With a header row, or as JSON lines.")] = Table.CSV,
) -> int:
    """Print a row for each item that the journal names: its state, attempts, last end and cost.

    cost is of all its attempts, as far as they said.  Takes no lock, also during a run.

    Example: resumectl export claude --format csv > claude.csv
    """
    accounts = Accounts()
    snapshot = take(find_place(argument, job, journal), also=accounts.enter)
    if format is Table.CSV:
        put_bytes(_csv(COLUMNS))
    for id in snapshot.ledger.ids():
        row = _row(id, snapshot, accounts)
        put_bytes(_csv(row) if format is Table.CSV else _line(row))
    if snapshot.damage:
        tell(f"resumectl: {snapshot.damage}; what the journal still says is exported")
    return 0


def _row(id: bytes, snapshot: Snapshot, accounts: Accounts) -> list[Any]:
    standing, account = snapshot.ledger.standing(id), accounts.of(id)
    state = snapshot.state_of(id)
    end = {} if standing.open else account.fields(standing.state)
    cost = account.spending.known if account.spending.reported else None
    return [
        id,
        state.name.lower() if isinstance(state, State) else "running",
        standing.attempts,
        standing.failures,
        standing.cut_offs,
        end.get("at"),
        end.get("why"),
        end.get("rc"),
        end.get("ms"),
        cost,
    ]


def _csv(row: Any) -> bytes:
    """A row with its id's bytes as they are."""
    text = io.StringIO()
    words = [word.decode("utf-8", "surrogateescape") if isinstance(word, bytes) else word for word in row]
    csv.writer(text, lineterminator="\n").writerow(words)
    return text.getvalue().encode("utf-8", "surrogateescape")


def _line(row: list[Any]) -> bytes:
    return orjson.dumps(dict(zip(COLUMNS, [pack(row[0]), *row[1:]], strict=True))) + b"\n"
