"""A database table as the list: its rows are the items, its done column follows the journal (SPEC 2.1)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from conftest import APPEND, Scratch, until
from faults import HOLD, opened
from shell import continued
from tables import Base

FIELDS = ("sh", "-c", 'echo "$1 $2" >>effects; test "$1" != 2', "_", "{}", "{word}")


def test_rows_that_are_not_done_run_in_key_order_and_those_that_fail_stay_null(scratch: Scratch, base: Base) -> None:
    """Every column is a placeholder; the done rows have the time, in UTC."""
    base.make()
    base.add([3, 1, 2, 10])
    before = datetime.now(UTC)
    ended = scratch.run(*base.options(), *FIELDS)
    assert ended.code == 1 and scratch.effects() == ["1 w1", "2 w2", "3 w3", "10 w10"]
    assert f"4 items from table {base.name} of " in ended.err and "3/4 done" in ended.err
    assert base.waiting() == [2] and base.marks() == {0, 1}
    (marked,) = base.query(f"SELECT processed_at FROM {base.name} WHERE id = 10")[0]
    if isinstance(marked, str):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", marked)
        marked = datetime.fromisoformat(marked)
    assert before.timestamp() - 0.01 <= marked.timestamp() <= datetime.now(UTC).timestamp()
    again = scratch.run(*base.options(), *FIELDS)
    assert again.code == 1 and scratch.effects()[4:] == ["2 w2"]
    assert scratch.has(total=4, done=3, failed=1)
    assert scratch.records("sh", "list")[-1]["total"] == 1


def test_a_table_with_nothing_to_do_is_complete(scratch: Scratch, base: Base) -> None:
    base.make()
    assert scratch.run(*base.options(), *APPEND).code == 0
    assert scratch.records("sh", "end")[-1]["why"] == "complete"


def test_where_is_the_users_own_sql(scratch: Scratch, base: Base) -> None:
    """Colons, percent signs and comments are left as they are."""
    base.make(5)
    where = "word LIKE 'w%' AND id > 1 AND (':x' = ':x' OR word = '%s') AND id < 5 -- not the last"
    assert scratch.run(*base.options("--where", where), *APPEND).code == 0
    assert scratch.effects() == ["2", "3", "4"] and base.waiting() == [1, 5]


def test_names_are_quoted_as_identifiers(scratch: Scratch, base: Base) -> None:
    """A name that is a keyword, has a space, a quote or a colon in it names what it says."""
    base.query("""CREATE TABLE "a ""b; DROP" ("select" integer PRIMARY KEY, "x:y %s" text)""")
    base.query("""INSERT INTO "a ""b; DROP" ("select") VALUES (1), (2)""")
    words = ["run", "--db", base.url, "--table", 'a "b; DROP', "--key", "select", "--done-column", "x:y %s"]
    assert scratch.run(*words, *APPEND).code == 0
    assert base.query("""SELECT count(*) FROM "a ""b; DROP" WHERE "x:y %s" IS NULL""") == [(0,)]
    base.query('DROP TABLE "a ""b; DROP"')


@pytest.mark.parametrize(
    ("base", "column", "value", "id"),
    [
        ("sqlite", "text PRIMARY KEY", "'it''s $(x) é'", "it's $(x) é"),
        ("sqlite", "blob PRIMARY KEY", "x'41ff'", "A\udcff"),
        ("postgresql", "uuid PRIMARY KEY", "'6F1E0000-0000-4000-8000-000000000001'", "6f1e0000-0000-4000-8000-000000000001"),
        ("postgresql", "bytea PRIMARY KEY", r"'\x41ff'", "A\udcff"),
        ("postgresql", "bigint PRIMARY KEY", "-9007199254740993", "-9007199254740993"),
        ("postgresql", "char(4) PRIMARY KEY", "'ab'", "ab  "),
    ],
    indirect=["base"],
)
def test_a_key_may_be_text_bytes_a_whole_number_or_a_uuid(
    scratch: Scratch, base: Base, column: str, value: str, id: str
) -> None:
    """The id is its plain text, or the very bytes."""
    base.query(f"CREATE TABLE {base.name} (id {column}, processed_at text)")
    base.query(f"INSERT INTO {base.name} (id) VALUES ({value})")
    assert scratch.run(*base.options(), *APPEND).code == 0
    assert scratch.effects() == [id] and base.waiting() == []
    assert scratch.run("status", "--done").out == id.encode(errors="surrogateescape") + b"\n"


@pytest.mark.parametrize("column", ["timestamp", "date", "bigint", "double precision", "numeric(14, 3)", "varchar(40)"])
def test_the_done_column_may_hold_a_time_a_date_a_number_or_text(scratch: Scratch, base: Base, column: str) -> None:
    """Numbers are seconds since 1970; all are UTC, whatever the server's zone is."""
    base.make(1, done=column)
    zone = "?options=-c%20timezone%3DAsia/Tokyo" if base.kind == "postgresql" else ""
    assert scratch.run(*base.options(url=base.url + zone), *APPEND).code == 0
    (found,) = base.query(f"SELECT CAST(processed_at AS text) FROM {base.name}")[0]
    now = datetime.now(UTC)
    if column in ("bigint", "double precision", "numeric(14, 3)"):
        assert abs(float(found) - now.timestamp()) < 100
    elif column == "date":
        assert abs((datetime.fromisoformat(found).date() - now.date()).days) <= 1
    else:
        assert abs((datetime.fromisoformat(found).replace(tzinfo=UTC) - now).total_seconds()) < 100


def test_a_row_that_is_null_though_its_item_is_done_is_marked_and_said(scratch: Scratch, base: Base) -> None:
    """The printed reset, and NULL in the table, have it run again."""
    base.make(3)
    assert scratch.run(*base.options(), *APPEND).code == 0
    base.query(f"UPDATE {base.name} SET processed_at = NULL WHERE id IN (1, 3)")
    ended = scratch.run(*base.options(), *APPEND)
    assert ended.code == 0 and len(scratch.effects()) == 3 and base.waiting() == []
    line = next(line for line in ended.err.splitlines() if "NULL in the table" in line)
    assert "marked and not run: 1, 3 " in line
    reset = re.search(r"resumectl (reset --job sh --id 1 --yes), then", line)
    assert reset is not None and scratch.run(*reset[1].split()).code == 0
    base.query(f"UPDATE {base.name} SET processed_at = NULL WHERE id = 1")
    assert scratch.run(*base.options(), *APPEND).code == 0
    assert scratch.effects() == ["1", "2", "3", "1"] and base.waiting() == []


def test_a_row_that_somebody_else_marks_meanwhile_is_respected(scratch: Scratch, base: Base) -> None:
    """What is marked before it is read is not run; what is marked while it runs keeps its mark."""
    base.make(300)
    running = scratch.start(*base.options(), *HOLD)
    until(lambda: scratch.lines("begun"))
    then = "1999-12-31T23:59:59+00:00"
    base.query(f"UPDATE {base.name} SET processed_at = '{then}' WHERE id = 1 OR id > 200")
    opened(scratch)
    assert running.wait() == 0
    assert len(scratch.effects()) <= 200 and base.marks() == {1} and base.waiting() == []
    count = f"SELECT count(*) FROM {base.name} WHERE processed_at = '{then}'"
    assert base.query(count) == [(101,)]


def test_rows_that_come_meanwhile_behind_what_was_read_are_run(scratch: Scratch, base: Base) -> None:
    base.make(100)
    running = scratch.start(*base.options(), *HOLD)
    until(lambda: scratch.lines("begun"))
    base.add([500])
    opened(scratch)
    assert running.wait() == 0
    assert scratch.effects()[-1] == "500" and base.waiting() == []
    assert scratch.has(total=101, done=101)


def test_items_of_a_batch_are_marked_each_by_its_own_end(scratch: Scratch, base: Base) -> None:
    base.make(6)
    report = 'for i; do test "$i" = 4 || echo "{\\"id\\": \\"$i\\", \\"status\\": \\"done\\"}" >>"$RESUMECTL_REPORT"; done'
    words = base.options("-n", "3", "--batch-results", "report")
    assert scratch.run(*words, "sh", "-c", report, "_").code == 1
    assert base.waiting() == [4]


def test_what_verify_finds_in_place_is_marked(scratch: Scratch, base: Base) -> None:
    base.make(2)
    words = base.options("--verify", "grep -qx {} effects")
    running = scratch.start(*words, "sh", "-c", 'echo "$1" >>effects; exec sleep 100', "_", "{}")
    until(lambda: scratch.effects() == ["1"])
    running.kill()
    running.wait()
    ended = scratch.run(*words, "--orphans", "kill", "--accept-command", *APPEND)
    assert ended.code == 0 and scratch.effects() == ["1", "2"] and base.waiting() == []


def test_status_reads_the_table_again(scratch: Scratch, base: Base) -> None:
    """--new and --pending show what a run would start; unreachable is one line and exit 2."""
    base.make(4)
    assert scratch.run(*base.options("--max-items", "1"), *FIELDS).code == 75
    assert scratch.has(total=4, done=1, new=3)
    assert scratch.run(*base.options("--max-items", "1"), *FIELDS).code == 75
    scratch.env["RESUMECTL_DB"] = base.url
    assert scratch.run("status", "--new").out == b"3\n4\n"
    assert scratch.run("status", "--pending").out == b"2\n3\n4\n"
    base.query(f"ALTER TABLE {base.name} RENAME TO {base.name}_gone")
    ended = scratch.run("status", "--pending")
    assert ended.code == 2 and ended.err.count("\n") == 1 and "there is no table" in ended.err
    base.query(f"ALTER TABLE {base.name}_gone RENAME TO {base.name}")


def test_the_printed_command_continues(scratch: Scratch, base: Base) -> None:
    """A stop by --max-items is exit 75; what is left is counted from the table."""
    base.make(3)
    ended = scratch.run(*base.options("--max-items=1"), *APPEND)
    assert ended.code == 75 and "2 not started" in ended.err
    scratch.env["RESUMECTL_DB"] = base.url
    for _ in range(2):
        ended = continued(scratch, ended.err)
    assert ended.code == 0 and scratch.effects() == ["1", "2", "3"]


def test_a_dry_run_writes_nothing_anywhere(scratch: Scratch, base: Base) -> None:
    base.make(2)
    ended = scratch.run(*base.options("--dry-run"), *FIELDS)
    assert ended.code == 0 and b"w1" in ended.out and "2 items in the list" in ended.err
    assert base.waiting() == [1, 2] and not (scratch.path / ".resumectl").exists()


def test_a_record_is_json_whatever_a_column_holds(scratch: Scratch, base: Base) -> None:
    """Bytes that are not text are base64, as in the journal; times are text."""
    column, value = ("blob", "x'ff00'") if base.kind == "sqlite" else ("bytea", r"'\xff00'")
    base.query(f"CREATE TABLE {base.name} (id integer PRIMARY KEY, raw {column}, at timestamp, processed_at text)")
    base.query(f"INSERT INTO {base.name} (id, raw, at) VALUES (1, {value}, '2026-01-02 03:04:05')")
    ended = scratch.run(*base.options("--stdin", "item"), "cat")
    found = json.loads(ended.out)
    assert found.pop("at").replace("T", " ") == "2026-01-02 03:04:05"
    assert found == {"id": 1, "raw": {"b64": "/wA="}, "processed_at": None}
