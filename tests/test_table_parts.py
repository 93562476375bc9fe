"""The parts of a table's list alone: URLs without passwords, keys, what is marked together, what was processed before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from uuid import UUID

import pytest
from conftest import APPEND, Scratch, until
from faults import HOLD, opened
from hypothesis import given
from hypothesis import strategies as st
from tables import sqlite_base

from resumectl.address import completed, masked, secrets
from resumectl.cells import BadKey, clock, id_of
from resumectl.database import Spec, TableError, open_table
from resumectl.items import Item
from resumectl.job import Followed
from resumectl.place import Place
from resumectl.rows import Marks

URL = "postgresql+psycopg://me:s%40cret@h:5432/db"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (URL, "postgresql+psycopg://me:***@h:5432/db"),
        ("postgresql://me@h/db?sslmode=require&password=s3", "postgresql://me@h/db?sslmode=require&password=***"),
        ("mysql://h/db?passwd=a&sslpassword=b", "mysql://h/db?passwd=***&sslpassword=***"),
        ("sqlite:///jobs.db", "sqlite:///jobs.db"),
        ("postgresql://h/db", "postgresql://h/db"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_url_is_shown_without_its_passwords(url: str, shown: str) -> None:
    assert masked(url) == shown == masked(shown)


@given(st.text(st.characters(exclude_characters="@&", exclude_categories=["Cs"]), min_size=1))
def test_no_password_is_ever_shown(password: str) -> None:
    """However it is spelled; `secrets` finds it in what a driver says."""
    for url in (f"postgresql://me:{password}@h/db", f"postgresql://h/db?password={password}"):
        assert masked(url) in ("postgresql://me:***@h/db", "postgresql://h/db?password=***")
        assert password == "***" or password in secrets(url)


def test_a_masked_url_is_completed_from_the_environment() -> None:
    """RESUMECTL_DB where it is the same database; else the driver finds a password itself."""
    assert completed(masked(URL), {"RESUMECTL_DB": URL}) == URL
    assert completed(masked(URL), {"RESUMECTL_DB": "sqlite:///x"}) == "postgresql+psycopg://me@h:5432/db"
    assert completed(None, {"RESUMECTL_DB": URL}) == URL
    assert completed(None, {}) is None
    assert completed(URL, {"RESUMECTL_DB": "sqlite:///x"}) == URL


def test_a_key_becomes_the_bytes_that_it_is_written_with() -> None:
    number = UUID("6f1e0000-0000-4000-8000-000000000001")
    assert [id_of(key) for key in (7, "é", b"\xff", number)] == [b"7", "é".encode(), b"\xff", str(number).encode()]
    for bad in (1.5, True, None, "", b"", date.today(), Decimal(1)):
        with pytest.raises(BadKey):
            id_of(bad)


def test_a_clock_gives_what_its_column_holds() -> None:
    for python, aware in ((datetime, True), (datetime, False), (date, False), (int, False), (float, False), (Decimal, False)):
        tell = clock(python, aware)
        assert tell is not None and type(tell()) is python
        if python is datetime:
            assert (tell().tzinfo is not None) is aware
    assert clock(bool, False) is None and clock(None, False) is clock(str, False) is not None


class Slow:
    """A table whose first UPDATE lasts until more rows wait."""

    spec, label = Spec(None, "t", "id", "at"), "table t"

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.go: SimpleQueue[None] = SimpleQueue()

    def mark(self, keys: list[int]) -> None:
        self.calls.append(keys)
        if len(self.calls) == 1:
            self.go.get()


def test_rows_that_end_while_others_are_marked_are_marked_together() -> None:
    table, inbox = Slow(), SimpleQueue[Any]()
    marks = Marks(table, None, Place(Path("/x/y.jsonl")), inbox)  # type: ignore[arg-type]
    marks.done([Item(b"1", {"id": 1}, 1)])
    marks.start()
    for key in range(2, 6):
        marks.done([Item(b"%d" % key, {"id": key}, key)])
    assert marks.lines() == ["5 done and not marked in table t; the next run marks what the journal has as done"]
    marks.close()
    table.go.put(None)
    assert inbox.get() == Followed()
    assert [key for keys in table.calls for key in keys] == [1, 2, 3, 4, 5] and len(table.calls) <= 2 and marks.lines() == []


def test_rows_that_were_processed_before_can_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their ids, in the order of the keys, within --where; what `import` needs."""
    base = sqlite_base(tmp_path)
    base.make(5)
    base.query("UPDATE jobs SET processed_at = 'x' WHERE id <> 3")
    spec = Spec(base.url, "jobs", "id", "processed_at", "id > 1")
    table = open_table(spec, str(tmp_path), write=False)
    assert list(table.processed()) == [b"2", b"4", b"5"] and [item.id for item in table.items()] == [b"3"]
    table.close()
    with pytest.raises(TableError, match="no such file"):
        open_table(spec, str(tmp_path / "elsewhere"))


def test_a_key_without_an_index_is_read_in_order_too(scratch: Scratch) -> None:
    """It is unique though nothing says so."""
    base = sqlite_base(scratch.path)
    base.make(key="integer")
    base.add([*range(300, 150, -1), *range(1, 151)])
    assert scratch.run(*base.options("-n", "100"), "sh", "-c", 'printf "%s\\n" "$@" >>effects', "_").code == 0
    assert scratch.effects() == [str(key) for key in range(1, 301)] and base.waiting() == []


def test_a_number_and_a_text_that_are_written_alike_stop_the_run(scratch: Scratch) -> None:
    """SQLite tells them apart and the journal can't: neither may pass for the other."""
    with closing(sqlite3.connect(scratch.path / "jobs.db")) as connection, connection:
        connection.executescript("CREATE TABLE jobs (id PRIMARY KEY, processed_at); INSERT INTO jobs (id) VALUES (7), ('7')")
    words = ["run", "--db", "sqlite:///jobs.db", "--table", "jobs", "--key", "id", "--done-column", "processed_at"]
    ended = scratch.run(*words, *APPEND)
    assert ended.code == 3 and "entry 2 of the list repeats an id" in ended.err


def test_a_done_row_that_becomes_null_while_the_run_reads_is_marked_and_said(scratch: Scratch) -> None:
    base = sqlite_base(scratch.path)
    base.make()
    base.add([500])
    opened(scratch)
    assert scratch.run(*base.options(), *HOLD).code == 0
    (scratch.path / "go").unlink()
    base.add(range(1, 101))
    err = scratch.path / "err"
    running = scratch.start(*base.options(), *HOLD, stderr=err.open("wb"))
    until(lambda: len(scratch.lines("begun")) == 2)
    base.query("UPDATE jobs SET processed_at = NULL WHERE id = 500")
    opened(scratch)
    assert running.wait() == 0 and "marked and not run: 500 " in err.read_text()
    assert base.waiting() == [] and len(scratch.effects()) == 101 and scratch.has(total=101, done=101)
