"""A table that can't be the list: one line, exit 2, nothing run and no journal; and passwords stay out of everything."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from conftest import APPEND, Scratch
from faults import bound, patched
from postgres import PASSWORD, QUOTED, Server, free_port
from shell import continued
from tables import needs, postgres_base, sqlite_base

TABLE = "CREATE TABLE jobs (id integer PRIMARY KEY, twice text, done text)"


def refused(scratch: Scratch, code: str, *words: str) -> str:
    """What a run says that must not begin, with a database made by this code."""
    with closing(sqlite3.connect(scratch.path / "jobs.db")) as connection, connection:
        connection.executescript(code)
    ended = scratch.run("run", *words, *APPEND)
    assert ended.code == 2 and ended.err.count("\n") == 1 and ended.err.startswith("resumectl: "), ended.err
    assert not scratch.effects() and not (scratch.path / ".resumectl").exists()
    return ended.err


def named(key: str = "id", done: str = "done", table: str = "jobs", db: str = "sqlite:///jobs.db") -> list[str]:
    return ["--db", db, "--table", table, "--key", key, "--done-column", done]


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        ("", named(), "there is no table jobs"),
        (TABLE, named(key="x"), "no column x; it has id, twice, done (check --key)"),
        (TABLE, named(done="x"), "(check --done-column)"),
        (TABLE, [*named(), "--where", "nonsense ("], "nothing was run"),
        (TABLE + "; INSERT INTO jobs VALUES (1, 'a', 'x'), (2, 'a', NULL)", named(key="twice"), "(a stands there twice)"),
        (TABLE + "; INSERT INTO jobs VALUES (1, NULL, NULL)", named(key="twice"), "leave those rows out with --where"),
        (TABLE + "; INSERT INTO jobs VALUES (1, '', NULL)", named(key="twice"), "a key is empty"),
        ("CREATE TABLE jobs (id real PRIMARY KEY, done text); INSERT INTO jobs VALUES (1.5, NULL)", named(), "type float"),
        ("CREATE TABLE jobs (id integer PRIMARY KEY, done text NOT NULL)", named(), "is NOT NULL"),
        ("CREATE TABLE jobs (id integer PRIMARY KEY, done boolean)", named(), "must hold a time, a number or text"),
        ("CREATE VIEW jobs AS SELECT 1 AS id, NULL AS done", named(), "cannot modify jobs because it is a view"),
        (TABLE, named(db="sqlite:///missing.db"), "there is no such file"),
        (TABLE, named(db="nonsense"), "check --db"),
        (TABLE, named(db="nosuch://x/y"), "check --db"),
        (TABLE, named(db="mysql+nosuch://me:s3cret@x/y"), "mysql+nosuch://me:***@x/y"),
        (TABLE, named(db=f"postgresql://me:s3cret@127.0.0.1:{free_port()}/x?connect_timeout=5"), "me:***@127.0.0.1"),
        (TABLE, named()[2:], "set RESUMECTL_DB"),
        (TABLE, named()[:4], "name all of them"),
        (TABLE, [*named(), "--items", "i"], "--items does not go with --table"),
        (TABLE, [*named(), "--format", "csv"], "--format does not go with --table"),
        (TABLE, [*named(), "--replay"], "--replay does not go with --table"),
    ],
)  # fmt: skip
def test_what_can_not_be_the_list_is_refused_in_one_line(
    scratch: Scratch, code: str, words: list[str], said: str
) -> None:
    line = refused(scratch, code, *words)
    assert said in line and "s3cret" not in line and "sqlalche.me" not in line


def test_a_read_only_file_is_refused(scratch: Scratch) -> None:
    """Before anything runs: else each item would be done and never marked."""
    sqlite_base(scratch.path).make(1)
    (scratch.path / "jobs.db").chmod(0o444)
    ended = bound(scratch, *sqlite_base_options(), *APPEND)
    assert ended.code == 2 and "readonly database" in ended.err and ended.err.count("\n") == 1
    assert not scratch.effects() and not (scratch.path / ".resumectl").exists()


def sqlite_base_options() -> list[str]:
    return ["run", *named(done="processed_at")]


def test_a_read_only_server_is_refused(scratch: Scratch, server: Server | str) -> None:
    """So is one that lets us read the table and not write it."""
    base = postgres_base(needs(server))
    base.make(1)
    for setting in ("default_transaction_read_only%3Don", "role%3Dreader"):
        if setting.startswith("role"):
            base.query("CREATE ROLE reader")
            base.query(f"GRANT SELECT ON {base.name} TO reader")
        ended = scratch.run(*base.options(url=f"{base.url}?options=-c%20{setting}"), *APPEND)
        assert ended.code == 2 and ended.err.count("\n") == 1, ended.err
        assert "read-only" in ended.err or "permission denied" in ended.err
    assert not scratch.effects() and not (scratch.path / ".resumectl").exists()


def test_a_key_that_can_not_name_an_item_stops_a_run_where_it_stands(scratch: Scratch) -> None:
    """SQLite takes any value in any column: a bad one far down is found when it is read."""
    base = sqlite_base(scratch.path)
    base.make(200, key="")
    base.query("INSERT INTO jobs (id) VALUES (1000.5)")
    ended = scratch.run(*base.options("--quiet-output"), "true")
    assert ended.code == 3 and "of the type float" in ended.err
    assert scratch.records("true", "end")[-1]["why"] == "stream"


def test_without_the_extra_the_line_says_what_to_install(scratch: Scratch) -> None:
    code = "import sys\nsys.modules['sqlalchemy'] = None\n"
    ended = scratch.run(*sqlite_base_options(), *APPEND, env=patched(scratch, code))
    assert ended.code == 2 and ended.err.count("\n") == 1 and "pip install 'resumectl[sql]'" in ended.err


def test_a_password_is_neither_written_nor_printed(scratch: Scratch, server: Server | str) -> None:
    """The journal and every line have *** in its place; RESUMECTL_DB or PGPASSWORD lets the printed command go on."""
    base = postgres_base(needs(server))
    base.make(4)
    printed = []
    ended = scratch.run(*base.options("--max-items", "1"), *APPEND)
    printed.append(ended.err)
    assert ended.code == 75 and "set PGPASSWORD, or RESUMECTL_DB" in ended.err and "me:***@127" in ended.err
    scratch.env["PGPASSWORD"] = PASSWORD
    ended = continued(scratch, ended.err)
    printed.append(ended.err)
    assert ended.code == 75
    del scratch.env["PGPASSWORD"]
    refused_now = scratch.run("status", "--pending")
    assert refused_now.code == 2 and refused_now.err.count("\n") == 1
    scratch.env["RESUMECTL_DB"] = base.url
    assert scratch.run("status", "--pending").out == b"3\n4\n"
    printed += [continued(scratch, ended.err).err, scratch.run("status").out.decode(), refused_now.err]
    kept = b"".join(path.read_bytes() for path in (scratch.path / ".resumectl").iterdir())
    for text in [*printed, kept.decode()]:
        assert PASSWORD not in text and QUOTED not in text


def test_a_password_in_the_query_of_a_url_is_hidden_too(scratch: Scratch, server: Server | str) -> None:
    base = postgres_base(needs(server))
    base.make(1)
    port = base.url.rpartition(":")[2].partition("/")[0]
    url = f"postgresql+psycopg://me@127.0.0.1:{port}/postgres?application_name=x&password={QUOTED}"
    words = [word for word in base.options(url=url) if word not in ("--db", url)]
    assert scratch.run(*words[:1], f"--db={url}", *words[1:], *APPEND).code == 0
    assert QUOTED not in scratch.journal().read_text() and "password=***" in scratch.journal().read_text()
