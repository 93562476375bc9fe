"""`import --from db`: rows that a table has as processed are done."""

from __future__ import annotations

import sqlite3

from conftest import APPEND, Scratch

TABLE = ("--db", "sqlite:///t.db", "--table", "t", "--key", "id", "--done-column", "at")


def test_rows_that_a_table_has_as_processed_are_not_run(scratch: Scratch) -> None:
    """The column is taken over once; from then on the journal is the truth."""
    with sqlite3.connect(scratch.path / "t.db") as table:
        table.execute("CREATE TABLE t (id TEXT PRIMARY KEY, at TEXT)")
        table.executemany("INSERT INTO t VALUES (?, ?)", [("a", "2026-01-01"), ("b", None), ("c", "2026-01-02")])
    done = scratch.run("import", "--from", "db", *TABLE, "--job", "sh")
    assert done.code == 0 and "imported 2 items (2 done" in done.err, done.err
    scratch.items("a", "b", "c")
    assert scratch.run("run", "--items", "i", *APPEND).code == 0
    assert scratch.effects() == ["b"]


def test_a_table_and_a_file_exclude_each_other(scratch: Scratch) -> None:
    scratch.items("a")
    for words in (["i", "--from", "db"], ["i", "--from", "ids", *TABLE], ["--from", "ids"]):
        refused = scratch.run("import", *words, "--job", "sh")
        assert refused.code == 2 and not scratch.journal().exists()
