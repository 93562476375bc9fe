"""Each operation on the job's files fails, once or from then on; then the disk is mended and the same command goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from diskspy import Operation, noted
from oracle import History, harmless, i8_after_an_error_nothing_starts_and_what_is_not_recorded_is_named
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
    fail = Failer(ram, jobs=1, torn=28)
    known = fail.operations(warms[0])
    assert any(operation.data == "\n\n" for operation in known), "nothing was torn"
    spread(fail, points(known, "all"), warms)
