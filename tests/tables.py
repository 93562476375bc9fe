"""A table to be worked off, in SQLite or in PostgreSQL, and what a run of it is called with."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from postgres import Server

COUNTING = {
    "sqlite": (
        "CREATE TRIGGER marked_{t} AFTER UPDATE OF processed_at ON {t} BEGIN UPDATE {t} SET marks = marks + 1 WHERE id = NEW.id; END",
    ),
    "postgresql": (
        "CREATE OR REPLACE FUNCTION marked_{t}() RETURNS trigger AS $$BEGIN NEW.marks := OLD.marks + 1; RETURN NEW; END$$ LANGUAGE plpgsql",
        "CREATE TRIGGER marked BEFORE UPDATE OF processed_at ON {t} FOR EACH ROW EXECUTE FUNCTION marked_{t}()",
    ),
}


class Base:
    """A database; `query` runs one statement and commits it, `name` is a table that nobody else has."""

    def __init__(self, kind: str, url: str, name: str, query: Callable[[str], list[tuple[Any, ...]]]) -> None:
        self.kind, self.url, self.name, self.query = kind, url, name, query

    def make(self, rows: int = 0, *, key: str = "integer PRIMARY KEY", done: str = "") -> None:
        """A table with so many rows: id 1, 2, …, word w1, w2, …; `marks` counts how often a row was marked."""
        done = done or ("text" if self.kind == "sqlite" else "timestamptz")
        self.query(f"CREATE TABLE {self.name} (id {key}, word text, processed_at {done}, marks integer DEFAULT 0)")
        for statement in COUNTING[self.kind]:
            self.query(statement.format(t=self.name))
        self.add(range(1, rows + 1))

    def add(self, keys: Iterable[int]) -> None:
        if values := ", ".join(f"({key}, 'w{key}')" for key in keys):
            self.query(f"INSERT INTO {self.name} (id, word) VALUES {values}")

    def options(self, *more: str, key: str = "id", url: str = "") -> list[str]:
        """The words of a run up to its command."""
        words = ["--db", url or self.url, "--table", self.name, "--key", key, "--done-column", "processed_at"]
        return ["run", *words, *more]

    def waiting(self) -> list[Any]:
        """The keys of the rows that are not marked."""
        return [key for (key,) in self.query(f"SELECT id FROM {self.name} WHERE processed_at IS NULL ORDER BY id")]

    def marks(self) -> set[int]:
        """How often rows were marked: {1} if each was once."""
        return {count for (count,) in self.query(f"SELECT DISTINCT marks FROM {self.name}")}


def sqlite_base(directory: Path, name: str = "jobs") -> Base:
    """`jobs.db` in a directory, named relative to it."""

    def query(sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(directory / "jobs.db", timeout=30)) as connection, connection:
            return connection.execute(sql).fetchall()

    query("CREATE TABLE IF NOT EXISTS other (x)")  # the file is there
    return Base("sqlite", "sqlite:///jobs.db", name, query)


def postgres_base(server: Server) -> Base:
    return Base("postgresql", server.url, server.name(), server.query)


def needs(server: Server | str) -> Server:
    """The server, or a skip with the reason why there is none."""
    if isinstance(server, str):
        pytest.skip(server)
    return server
