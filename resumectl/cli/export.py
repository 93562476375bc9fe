"""`resumectl export`: the items as a table."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
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
    snapshot = take(find_place(argument, job, journal), also=accounts)
    rows = _rows(snapshot, accounts)
    if format is Table.CSV:
        _put_csv(rows)
    else:
        for row in rows:
            put_bytes(orjson.dumps(dict(zip(COLUMNS, [pack(row[0]), *row[1:]], strict=True))) + b"\n")
    if snapshot.damage:
        tell(f"resumectl: {snapshot.damage}; what the journal still says is exported")
    return 0


def _rows(snapshot: Snapshot, accounts: Accounts) -> Iterator[Sequence[Any]]:
    for lot in accounts.clean(snapshot.ledger):
        for id, end in lot:
            if end is not None and not end.stands_for_many:
                yield id, "done", int(end.attempt), 0, 0, end.at, None, 0, int(end.ms or 0), end.cost
            else:
                yield _row(id, snapshot, accounts)


def _row(id: bytes, snapshot: Snapshot, accounts: Accounts) -> Sequence[Any]:
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


class _Lines:
    """What a csv writer writes to: ids come out as the bytes that they are."""

    def write(self, text: str) -> int:
        put_bytes(text.encode("utf-8", "surrogateescape"))
        return len(text)


def _put_csv(rows: Iterable[Sequence[Any]]) -> None:
    writer = csv.writer(_Lines(), lineterminator="\n")
    writer.writerow(COLUMNS)
    for id, *others in rows:
        writer.writerow([id.decode("utf-8", "surrogateescape"), *others])
