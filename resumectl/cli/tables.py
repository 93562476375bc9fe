"""A database table as the list: its options, and what else a run has to do for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..address import HINT, masked
from ..items import Format, Item
from ..order import Order
from ..place import Place
from ..run import Run
from ..stream import Asked
from ..tally import Tally
from . import Refusal
from .lists import Source
from .options import LIST

if TYPE_CHECKING:  # these need SQLAlchemy, which only those have who have asked for it
    from ..database import Table
    from ..rows import Marks

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="URL",
        help="A database, such as sqlite:///jobs.db. [default: RESUMECTL_DB]",
        rich_help_panel=LIST,
    ),
]
TableName = Annotated[
    str | None, typer.Option("--table", metavar="T", help="Items are rows of this table.", rich_help_panel=LIST)
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="SQL", help="Only rows for which this SQL holds.", rich_help_panel=LIST),
]
DoneColumn = Annotated[
    str | None,
    typer.Option(
        "--done-column", metavar="COLUMN", help="NULL until the row is done, then the time (UTC).", rich_help_panel=LIST
    ),
]


@dataclass(frozen=True)
class TableSource(Source):
    """An open table; it can be read again, and is read as it is needed."""

    table: Table = field(kw_only=True)

    def listing(self, format: Format) -> Iterable[Item[Any]]:
        """Every row that is not done.  Raises TableError 2."""
        return self.table.items()


def wanted(
    db: str | None, table: str | None, where: str | None, done: str | None, key: str | None, **others: object
) -> bool:
    """Whether the list is a table.  Refusal where what belongs to one is missing, or another list is named."""
    if db is None and table is None and where is None and done is None:
        return False
    if key is None or table is None or done is None:
        raise Refusal(
            "a table as the list needs --db URL --table T --key COLUMN --done-column COLUMN; name all of them"
        )
    for name, given in others.items():
        if given:
            name = "a list behind :::" if name == "words" else f"--{name}"
            raise Refusal(f"{name} does not go with --table; drop one of them")
    return True


def open_source(options: Mapping[str, Any], directory: str = "", *, write: bool = True) -> tuple[Source, Format]:
    """The table that the options of a run name, and its format.

    `directory` is where they were given; `write`: rows are to be marked.  Refusal, or
    TableError 2, if that can't be.
    """
    try:
        from ..database import Spec, open_table
    except ImportError:
        raise Refusal("--table needs SQLAlchemy, which is not installed; pip install 'resumectl[sql]'") from None
    db, name, key, done = (options[option] for option in ("db", "table", "key", "done_column"))
    opened = open_table(Spec(db, name, key, done, options["where"]), directory, write=write)
    hint = HINT if db is not None and masked(db) != db else ""
    return TableSource(-1, opened.label, True, False, hint=hint, table=opened), Format("table", b"", key)


def processed(options: Mapping[str, Any]) -> Iterable[bytes]:
    """The ids of the rows that are done already.  Refusal, or TableError 2, as `open_source`."""
    source, _ = open_source(options, write=False)
    assert isinstance(source, TableSource)
    return source.table.processed()


def count_rows(source: Source, held: Run, tally: Tally) -> tuple[list[tuple[bytes, Any]], int | None]:
    """Count a table's rows before anything starts.

    Gives those that are done in the journal alone, and how many it does not name (None: no table).
    """
    if not isinstance(source, TableSource):
        return [], None
    from ..rows import behind

    tally.total = source.table.count()
    if not held.ledger.known:
        return [], tally.total
    late, new = behind(source.table, held.ledger)
    tally.total -= len(late)
    return late, new


def catch_up(source: Source, late: Sequence[tuple[bytes, Any]], held: Run) -> list[str]:
    """Mark what a crash kept from being marked; gives the line that says so.  Raises TableError 74."""
    if not isinstance(source, TableSource):
        return []
    from ..rows import late_line

    source.table.patient = True
    source.table.mark([key for _, key in late])
    return [late_line([id for id, _ in late], source.table, held.place)] if late else []


def followed(source: Source, order: Order, place: Place, inbox: SimpleQueue[Any]) -> Marks | None:
    """Who marks the rows; None if the list is no table."""
    if not isinstance(source, TableSource):
        return None
    from ..rows import Marks

    return Marks(source.table, order, place, inbox)


def rows(source: Source, most: int, inbox: SimpleQueue[Any]) -> Asked | None:
    """Who brings the rows, None if the list is no table; `most`: how many items can run at once."""
    if not isinstance(source, TableSource):
        return None
    from ..rows import Rows

    return Rows(source.table, most, inbox)


def masked_words(words: Sequence[str]) -> list[str]:
    """Options as they may be written down: no password in a URL."""
    return [
        masked(word) if before == "--db" else "--db=" + masked(word[5:]) if word.startswith("--db=") else word
        for before, word in zip(["", *words], words, strict=False)
    ]
