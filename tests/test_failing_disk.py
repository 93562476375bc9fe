"""Each operation on the job's files fails, once or from then on; then the disk is mended and the same command goes on."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from conftest import until
from diskspy import Operation, noted
from oracle import (
    JOB,
    History,
    harmless,
    i8_after_an_error_nothing_starts_and_what_is_not_recorded_is_named,
    unrecorded,
)
from warm import Warm, spread

IDS = ["a", "b", "c"]
FAILS = {"sync": "EIO", "sync_dir": "EIO", "lock": "ENOLCK"}  # everything else: the disk is full


@dataclass(frozen=True)
class Point:
    """Which operation fails, how, and whether `all` of its name do from then on or only that `once`."""

    at: int
    error: str
    how: str


def points(operations: list[Operation], how: str, first: int = 1) -> Iterator[Point]:
    for at, operation in enumerate(operations, 1):
        if at >= first:
            yield Point(at, FAILS.get(operation.name, "ENOSPC"), how)


class Failer:
    """One history a point, each in a directory of its own; `torn` prepares it by a kill in the midst of a write."""

    def __init__(self, where: Path, jobs: int, torn: int = 0) -> None:
        self.where, self.jobs, self.torn = where, jobs, torn
        self._count = count()

    def history(self, warm: Warm) -> History:
        history = History(self.where / str(next(self._count)), IDS, self.jobs)
        if self.torn:
            history.run(warm, at=self.torn, how="half")
            warm.drain()
        return history

    def operations(self, warm: Warm) -> list[Operation]:
        history = self.history(warm)
        assert history.run(warm, log=history.path / "log").code == 0
        return noted(history.path / "log")

    def __call__(self, warm: Warm, point: Point) -> None:
        history = self.history(warm)
        log = history.path / "log"
        ended = history.run(warm, log=log, at=point.at, error=point.error, how=point.how)
        found = noted(log)
        fatal = (at for at, operation in enumerate(found) if operation.error and not harmless(operation.name, operation.paths))
        at = next(fatal, None)
        if at is None:
            assert ended.code == 0, ended.err
        else:
            events = [(operation.name, operation.paths[0], operation.data) for operation in found[:at]]
            i8_after_an_error_nothing_starts_and_what_is_not_recorded_is_named(history, ended, events)
            assert point.how == "all" or "not recorded" not in ended.err, f"the disk had recovered: {ended.err}"
        ended = history.run(warm)
        assert ended.code == 0, ended.err
        history.judge()


@pytest.mark.parametrize("how", ["once", "all"])
def test_any_operation_that_fails_ends_the_run_with_74_and_the_next_run_finishes(ram, warms, how):
    """I8: one line says what failed, nothing starts after it, and what ended unrecorded is named."""
    fail = Failer(ram, jobs=1)
    spread(fail, points(fail.operations(warms[0]), how), warms)


def test_the_same_holds_with_two_at_once(ram, warms):
    """What still runs when the disk fails ends, and is recorded if that is possible after all."""
    fail = Failer(ram, jobs=2)
    known = fail.operations(warms[0])
    begun = [operation.name for operation in known].index("lock")
    for how in ("once", "all"):
        spread(fail, points(known, how, first=begun), warms)


def test_the_same_holds_while_a_torn_journal_is_taken_up_again(ram, warms):
    """Healing the stump, the new fence, the announcement: each may fail."""
    clean = Failer(ram / "clean", jobs=1).operations(warms[0])
    written = next(at for at, operation in enumerate(clean, 1) if '"t":"done"' in operation.data)
    fail = Failer(ram, jobs=1, torn=written)
    known = fail.operations(warms[0])
    assert any(operation.data and not operation.data.strip() for operation in known), "nothing was torn"
    spread(fail, points(known, "all"), warms)


def test_what_a_failed_sync_has_left_unproven_is_never_acknowledged(ram, warms):
    """Turns in which nothing ends come between the failure and the last try: they must not believe it."""
    ids = ["quick", "slow"]
    clean = History(ram / "clean", ids, 2)
    (clean.path / "go").touch()
    assert clean.run(warms[0], log=clean.path / "log").code == 0
    known = noted(clean.path / "log")
    done = next(at for at, operation in enumerate(known) if '"t":"done"' in operation.data)
    history = History(ram / "h", ids, 2)
    found = history.found()
    warms[0].start(history.words(), history.path, history.env, at=done + 2, error="EIO", how="all")
    assert known[done + 1].name == "sync"
    until(lambda: "starting nothing more" in (history.path / "err").read_text())
    pid = json.loads(history.journal.with_name(f"{JOB}.lock").read_text())["pid"]
    os.kill(pid, signal.SIGINT)
    until(lambda: "interrupted" in (history.path / "err").read_text())
    (history.path / "go").touch()
    ended = history.saw(found, warms[0].wait())
    assert ended.code == -signal.SIGINT, ended.err
    assert not ended.out and unrecorded(ended) == set(ids), ended
    ended = history.run(warms[0])
    assert ended.code == 0, ended.err
    history.judge()
