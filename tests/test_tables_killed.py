"""A run of a table killed at each of its steps, on the journal's files and on the database, and servers that go away."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Scratch, until
from diskspy import noted
from faults import HOLD, opened, patched
from oracle import CHILD, History
from postgres import Server
from tables import Base, needs, postgres_base, sqlite_base
from warm import Warm, spread

ROWS = 3
# Waits while there is a file `hold`.
GATED = ("sh", "-c", 'while [ -e hold ]; do sleep 0.01; done; printf "%s\\n" "$1" >>effects', "_", "{}")


class TableHistory(History):
    """A history of crashes whose list is a table; it must agree with the journal in the end."""

    def __init__(self, path: Path, make: Callable[[Path], Base], jobs: int) -> None:
        super().__init__(path, [str(key) for key in range(1, ROWS + 1)], jobs)
        self.base = make(path)
        self.base.make(ROWS)

    def words(self, *options: str) -> list[str]:
        return [*self.base.options("-j", str(self.jobs), *options), "--", "sh", "-c", CHILD]

    def judge(self) -> None:
        super().judge()
        assert self.base.waiting() == [], "a row that is done is not marked"
        assert self.base.marks() == {1}, "a row was marked twice"


def swept(where: Path, make: Callable[[Path], Base], warms: list[Warm], jobs: int, every: int = 1) -> int:
    """Kill a run at every step of its loop, or each n-th; the next one finishes the job.  How many effects were repeated."""
    number, deaths, repeats = itertools.count(), 0, 0

    def history() -> TableHistory:
        return TableHistory(where / str(next(number)), make, jobs)

    def killed(warm: Warm, at: int) -> None:
        nonlocal deaths, repeats
        one = history()
        ended = one.run(warm, database=True, at=at, how="before")
        assert ended.code in (-signal.SIGKILL, 0), ended.err
        deaths += ended.code != 0
        warm.drain()
        ended = one.run(warm)
        assert ended.code == 0, ended.err
        one.judge()
        repeats += len(one.effects()) - ROWS

    whole = history()
    log = whole.path / "log"
    assert whole.run(warms[0], database=True, log=log).code == 0
    whole.judge()
    steps = [operation.name for operation in noted(log)]
    assert {"select", "update", "commit", "write", "sync"} <= set(steps)
    first = len(steps) - steps[::-1].index("lock")  # the rest has nothing to do with the table
    points = range(first, len(steps) + 1, every)
    spread(killed, points, warms)
    assert deaths > len(points) * 3 // 4  # rows that are marked together take fewer steps
    return repeats


def test_a_run_killed_at_any_step_ends_with_table_and_journal_in_agreement(ram: Path, warms: list[Warm]) -> None:
    """Between journal and UPDATE, within the UPDATE, before its commit: each row is marked, and marked once."""
    assert swept(ram, sqlite_base, warms, jobs=1)


@pytest.mark.slow
def test_so_does_one_on_a_server(ram: Path, warms: list[Warm], server: Server | str) -> None:
    started = needs(server)
    assert swept(ram, lambda _: postgres_base(started), warms, jobs=2, every=3)


def crashed(scratch: Scratch, server: Server, rows: int, kills: int, restart_at: int) -> None:
    """Work a table off while the program is killed and the server restarted; then judge table, journal and effects."""
    base = postgres_base(server)
    base.make(rows)
    jobs = 4
    words = base.options("-j", str(jobs), "--quiet-output")
    for turn in range(kills):
        goal = rows * (turn + 1) // (kills + 1)
        running = scratch.start(*words, *GATED)
        until(lambda goal=goal: len(scratch.effects()) >= goal)  # type: ignore[misc]
        if turn == restart_at:
            gate = scratch.write("hold", b"")  # else a slow restart finds all rows worked off
            server.stop("immediate")
            server.start()
            gate.unlink()
            more = len(scratch.effects()) + 20
            until(lambda more=more: len(scratch.effects()) >= more)  # type: ignore[misc]
        assert running.poll() is None, "it has ended before it was killed"
        running.kill()
        running.wait()
    ended = scratch.run(*words, *GATED)
    assert ended.code == 0, ended.err
    assert base.waiting() == [] and base.marks() == {1}
    done = [record["id"] for record in scratch.records("sh", "done")]
    wanted = {str(key) for key in range(1, rows + 1)}
    assert len(done) == rows and set(done) == wanted == set(scratch.effects())
    repeats = len(scratch.effects()) - rows
    cut_off = sum(record["t"] == "cut_off" for record in scratch.records("sh", "cut_off"))
    assert repeats <= cut_off <= kills * jobs


@pytest.mark.slow
def test_rows_of_a_server_that_is_restarted_survive_kills_too(scratch: Scratch, server: Server | str) -> None:
    """Every row is marked once, every effect is there once but for what was in flight."""
    crashed(scratch, needs(server), rows=200, kills=2, restart_at=0)


@pytest.mark.slow
def test_ten_thousand_rows_survive_five_kills_and_a_restart(scratch: Scratch, server: Server | str) -> None:
    crashed(scratch, needs(server), rows=10_000, kills=5, restart_at=2)


def test_a_server_that_comes_back_in_time_is_waited_for(scratch: Scratch, server: Server | str) -> None:
    """It is said once; what ends meanwhile is recorded at once and marked afterwards."""
    started = needs(server)
    base = postgres_base(started)
    base.make(100)
    err = scratch.path / "err"
    running = scratch.start(*base.options(), *HOLD, stderr=err.open("wb"))
    until(lambda: scratch.lines("begun"))
    started.stop()
    try:
        opened(scratch)
        until(lambda: "trying again" in err.read_text())
    finally:
        started.start()
    assert running.wait() == 0
    assert base.waiting() == [] and base.marks() == {1} and err.read_text().count("trying again") == 1


def test_a_server_that_stays_away_ends_the_run_with_74_and_an_intact_journal(
    scratch: Scratch, server: Server | str
) -> None:
    """What is done stays done: the next run marks it and runs it no more."""
    started = needs(server)
    base = postgres_base(started)
    base.make(100)
    impatient = patched(scratch, "import resumectl.database\nresumectl.database.PATIENCE = 0.3\n")
    err = scratch.path / "err"
    running = scratch.start(*base.options(), *HOLD, stderr=err.open("wb"), env=impatient)
    until(lambda: scratch.lines("begun"))
    started.stop()
    try:
        opened(scratch)
        assert running.wait() == 74
    finally:
        started.start()
    done = scratch.effects()
    assert scratch.records("sh", "end")[-1]["why"] == "table" and len(scratch.records("sh", "done")) == len(done)
    assert "done and not marked" in err.read_text() and "\nto continue: " in err.read_text()
    ended = scratch.run(*base.options(), *HOLD)
    assert ended.code == 0 and "so marked and not run: 1" in ended.err
    assert len(scratch.effects()) == 100 and base.waiting() == [] and base.marks() == {1}


def test_a_signal_ends_the_wait_for_a_server(scratch: Scratch, server: Server | str) -> None:
    started = needs(server)
    base = postgres_base(started)
    base.make(1)
    err = scratch.path / "err"
    running = scratch.start(*base.options(), *HOLD, stderr=err.open("wb"))
    until(lambda: scratch.lines("begun"))
    started.stop()
    try:
        opened(scratch)
        until(lambda: "trying again" in err.read_text() and scratch.has(done=1))
        running.send_signal(signal.SIGINT)
        assert running.wait() == -signal.SIGINT
    finally:
        started.start()
    assert "1 done and not marked" in err.read_text() and base.waiting() == [1]
    assert scratch.run(*base.options(), *HOLD).code == 0
    assert base.waiting() == [] and scratch.effects() == ["1"]


def test_a_table_that_goes_away_in_mid_run_ends_it_with_74_at_once(scratch: Scratch, base: Base) -> None:
    base.make(100)
    running = scratch.start(*base.options(), *HOLD)
    until(lambda: scratch.lines("begun"))
    base.query(f"ALTER TABLE {base.name} RENAME TO {base.name}_gone")
    opened(scratch)
    assert running.wait() == 74
    base.query(f"ALTER TABLE {base.name}_gone RENAME TO {base.name}")
    assert scratch.run(*base.options(), *HOLD).code == 0
    assert len(scratch.effects()) == 100 and base.waiting() == [] and base.marks() == {1}
