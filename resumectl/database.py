"""A table as a list: its rows that are not done, in the order of their key, and the column that says when they were.

The journal is the truth and the column follows it.  No transaction outlives the
reading of a page or the marking of some rows, so a run of hours holds no lock, stands
in no vacuum's way, and a page shows what other processes have marked meanwhile.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from .address import HIDDEN, completed, masked, secrets
from .cells import BadKey, Clock, clock, id_of, plain
from .items import Item
from .lines import JournalError
from .records import stamp
from .words import shown

T = TypeVar("T")
PATIENCE = 60.0  # seconds for which a database that can't be reached is tried again
FIRST, LONGEST = 0.1, 5.0  # seconds between two tries, doubling from the first to the second
PART = 500  # rows that one statement marks at most
PAGE = 1000  # rows that are fetched at a time
UNINDEXED = 10_000  # rows of a page where each page costs a sort of the table
CONNECTING = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}  # libpq's
LITE = frozenset({5, 6, 10, 13, 14})  # SQLite's: busy, locked, I/O error, full, can't be opened
PASSING = frozenset({"08", "40", "53", "55", "57"})  # classes of SQLSTATE that another try may not meet again


class TableError(JournalError):
    """The table can't be read or marked; `code` is 2 before anything has run, else 74."""


@dataclass(frozen=True)
class Spec:
    """Which table is meant.  `url` is None for RESUMECTL_DB's; `where` is SQL, taken as it is."""

    url: str | None
    table: str
    key: str
    done: str
    where: str | None = None


class Table:
    """An open table.  `say` is told once of each outage; all methods raise TableError.

    `patient`: something runs already, so that a lost connection is tried again.
    """

    def __init__(self, engine: sa.Engine, spec: Spec, url: str, table: sa.TableClause, indexed: bool) -> None:
        self.spec, self.address, self.indexed = spec, masked(url), indexed
        self.secret = self.address != url
        self.patient = False
        self.say: Callable[[str], None] = lambda text: None
        self._clock: Clock = stamp
        self._clock_type: sa.types.TypeEngine[Any] = sa.types.NullType()
        self._engine, self._secrets, self._lost = engine, secrets(url), False
        self._table, self._key, self._done = table, table.c[spec.key], table.c[spec.done]
        self._where: list[Any] = [sa.literal_column(f"(\n{spec.where}\n)")] if spec.where else []

    @property
    def label(self) -> str:
        return f"table {self.spec.table} of {self.address}"

    def count(self) -> int:
        """How many rows are not done."""
        query = sa.select(sa.func.count()).select_from(self._table).where(*self._pending())
        return int(self._do(lambda connection: connection.execute(query).scalar_one()))

    def keys(self) -> Iterator[tuple[bytes, Any]]:
        """Id and key of each row that is not done, in the order of the keys."""
        return self._keys(*self._pending())

    def processed(self) -> Iterator[bytes]:
        """The ids of the rows that are done, in the order of their keys."""
        return (id for id, _ in self._keys(self._done.is_not(None), *self._where))

    def items(self) -> Iterator[Item[Mapping[str, Any]]]:
        """Every row that is not done, read page by page."""
        last, index = None, 0
        try:
            while page := self.page(last, index + 1, self.size(PAGE)):
                yield from page
                last, index = page[-1].value[self.spec.key], index + len(page)
        except BadKey as error:
            raise self._bad(error) from None

    def size(self, wanted: int) -> int:
        """How many rows a page should have."""
        return wanted if self.indexed else max(wanted, UNINDEXED)

    def page(self, last: Any, index: int, size: int) -> list[Item[Mapping[str, Any]]]:
        """Up to `size` rows behind the key `last` (None: from the first); `index` is the first one's position."""
        query = sa.select(*self._table.c).where(*self._pending()).order_by(self._key)
        if last is not None:
            query = query.where(self._key > _bound(last))
        rows = self._do(lambda connection: self._fetch(connection, query.limit(size)))
        return [Item(id_of(row[self.spec.key]), row, at) for at, row in enumerate(rows, index)]

    def mark(self, keys: Sequence[Any]) -> None:
        """Set the column of these rows to the present time, in one UPDATE for each 500 of them.

        What is not NULL any more, because somebody else has marked it, stays as it is.
        """
        now = sa.bindparam(None, self._clock(), type_=self._clock_type)
        update = sa.update(self._table).values({self._done.name: now}).where(self._done.is_(None))

        def run(connection: sa.Connection) -> None:
            for at in range(0, len(keys), PART):
                connection.execute(update.where(self._key.in_(_bound(keys[at : at + PART], expanding=True))))

        self._do(run)

    def tell_time(self, kind: sa.types.TypeEngine[Any]) -> None:
        """The done column has this type."""
        try:
            python = None if isinstance(kind, sa.types.NullType) else kind.python_type
        except NotImplementedError:
            python = None
        found = clock(python, getattr(kind, "timezone", False))
        if found is None:
            raise TableError(f"{self._named(self.spec.done)} is {kind}; it must hold a time, a number or text", 2)
        self._clock, self._clock_type = found, kind

    def check(self, write: bool) -> None:
        """Refuse a key that can't name items; with `write`, a table that can't be written."""
        if self._first(sa.select(self._key).where(self._key.is_(None), *self._pending())) is not None:
            raise TableError(f"{self._named(self.spec.key)} is NULL in some row; leave those rows out with --where", 2)
        if not self.indexed:
            twice = sa.select(self._key).group_by(self._key).having(sa.func.count() > 1)
            if (found := self._first(twice.where(self._key.is_not(None)))) is not None:
                raise TableError(
                    f"{self._named(self.spec.key)} is not unique ({shown(str(found[0]).encode())} stands there twice); "
                    "name a column that is",
                    2,
                )
        try:
            self.page(None, 1, 1)
        except BadKey as error:
            raise self._bad(error) from None
        if write:
            same = sa.update(self._table).values({self._done.name: self._done}).where(sa.false())
            self._do(lambda connection: connection.execute(same))

    def close(self) -> None:
        self._engine.dispose()

    def _pending(self) -> list[Any]:
        return [self._done.is_(None), *self._where]

    def _named(self, column: str) -> str:
        return f"column {column} of {self.label}"

    def _bad(self, error: BadKey) -> TableError:
        return TableError(f"{self._named(self.spec.key)}: {error}", 2)

    def _first(self, query: sa.Select[Any]) -> Any:
        return self._do(lambda connection: connection.execute(query.limit(1)).first())

    def _fetch(self, connection: sa.Connection, query: sa.Select[Any]) -> list[dict[str, Any]]:
        rows = connection.execution_options(yield_per=PAGE).execute(query)
        names = list(rows.keys())
        return [dict(zip(names, map(plain, row), strict=True)) for row in rows]

    def _keys(self, *where: Any) -> Iterator[tuple[bytes, Any]]:
        """By a cursor on the server's side."""
        try:
            with self._engine.connect() as connection:
                query = sa.select(self._key).where(*where).order_by(self._key)
                for (key,) in connection.execution_options(yield_per=PAGE).execute(query):
                    yield id_of(plain(key)), plain(key)
        except exc.SQLAlchemyError as error:
            raise self._error(error) from None
        except BadKey as error:
            raise self._bad(error) from None

    def _do(self, action: Callable[[sa.Connection], T]) -> T:
        """One transaction, tried again for PATIENCE seconds while the database can't be reached."""
        end, delay = float("inf"), FIRST
        while True:
            try:
                with self._engine.begin() as connection:
                    found = action(connection)
                self._lost = False
                return found
            except exc.SQLAlchemyError as error:
                end = min(end, time.monotonic() + PATIENCE)
                if not (self.patient and _passes(error) and time.monotonic() + delay < end):
                    raise self._error(error) from None
                if not self._lost:
                    self._lost = True
                    self.say(f"{self.label}: {_reason(error, self._secrets)}; trying again for {PATIENCE:.0f}s")
            time.sleep(delay)
            delay = min(2 * delay, LONGEST)

    def _error(self, error: Exception) -> TableError:
        words = f"{self.label}: {_reason(error, self._secrets)}"
        if self.patient:
            return TableError(f"{words}; the journal has what is done, so mend that and run it again", 74)
        return TableError(f"{words}; nothing was run", 2)


def open_table(spec: Spec, directory: str = "", *, write: bool = True) -> Table:
    """The table that is meant, looked at.  `directory` is where a relative path of an SQLite file begins.

    `write`: it is to be marked as well.  Raises TableError 2.
    """
    given = completed(spec.url, os.environ)
    if given is None:
        raise TableError("--table needs a database; name it with --db URL, or set RESUMECTL_DB", 2)
    try:
        engine = _engine(given, directory)
        with warnings.catch_warnings(category=exc.SAWarning, action="ignore"):  # of types that SQLAlchemy does not know
            table, indexed, kind = _looked_at(engine, spec, f"table {spec.table} of {masked(given)}")
    except (exc.SQLAlchemyError, ImportError, ValueError, TypeError) as error:
        advice = "install that driver" if isinstance(error, ImportError) else "check --db"
        raise TableError(f"{masked(given)}: {_reason(error, secrets(given))}; {advice}", 2) from None
    opened = Table(engine, spec, given, table, indexed)
    opened.tell_time(kind)
    opened.check(write)
    return opened


def _engine(given: str, directory: str) -> sa.Engine:
    url = sa.make_url(given)
    if url.drivername in ("postgresql", "postgres"):  # SQLAlchemy's own choice is psycopg2
        url = url.set(drivername="postgresql+psycopg" if _installed("psycopg") else "postgresql+psycopg2")
    file = url.database or ""
    if url.get_backend_name() == "sqlite" and file not in ("", ":memory:") and not file.startswith("file:"):
        path = os.path.join(directory, file)
        if not os.path.exists(path):  # to connect would make an empty one
            raise ValueError("there is no such file")
        url = url.set(database=path)
    libpq = url.drivername.startswith("postgresql+psycopg")
    ours = {name: value for name, value in CONNECTING.items() if name not in url.query} if libpq else {}
    return sa.create_engine(url, connect_args=ours)


def _installed(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None


def _looked_at(engine: sa.Engine, spec: Spec, label: str) -> tuple[sa.TableClause, bool, sa.types.TypeEngine[Any]]:
    """The table, whether its key is surely unique, and the done column's type."""
    look = sa.inspect(engine)
    schema, _, name = spec.table.rpartition(".") if not look.has_table(spec.table) else ("", "", spec.table)
    if not look.has_table(name, schema or None):
        raise TableError(f"there is no {label}; check --table", 2)
    columns = {column["name"]: column for column in look.get_columns(name, schema or None)}
    for option, column in (("--key", spec.key), ("--done-column", spec.done)):
        if column not in columns:
            raise TableError(f"{label} has no column {column}; it has {', '.join(columns)} (check {option})", 2)
    if not columns[spec.done]["nullable"]:
        raise TableError(f"column {spec.done} of {label} is NOT NULL, so no row could wait; let it be NULL", 2)
    sets = [look.get_pk_constraint(name, schema or None)["constrained_columns"]]
    sets += [found["column_names"] for found in look.get_unique_constraints(name, schema or None)]
    sets += [
        found["column_names"]  # type: ignore[misc]
        for found in look.get_indexes(name, schema or None)
        if found["unique"] and not any(key.endswith("_where") for key in found.get("dialect_options", {}))
    ]
    table = sa.table(name, *map(sa.column, columns), schema=schema or None)
    return table, [spec.key] in sets, columns[spec.done]["type"]


def _bound(value: Any, expanding: bool = False) -> sa.BindParameter[Any]:
    """Without a type: the server compares it as the column's own, be it CHAR, citext or an enum."""
    return sa.bindparam(None, value, type_=sa.types.NullType(), expanding=expanding)


def _passes(error: Exception) -> bool:
    """Whether another try may succeed."""
    if not isinstance(error, exc.DBAPIError) or error.connection_invalidated:
        return isinstance(error, exc.DBAPIError)
    state = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
    if state is not None:
        return state[:2] in PASSING
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in LITE
    return isinstance(error, exc.OperationalError | exc.InterfaceError)


def _reason(error: Exception, hidden: Sequence[str]) -> str:
    """What the database says, in one line and without passwords."""
    text = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    for word in hidden:
        text = text.replace(word, HIDDEN)
    return shown(" ".join(text.split()).encode(), 300)
