"""A real process, killed by SIGKILL at each operation on its files; then the same command again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from diskspy import noted
from oracle import History
from warm import Warm, spread

IDS = ["a", "b", "c"]


@dataclass(frozen=True)
class Point:
    """Where a run dies: at which operation, before it, after it, or with part of its bytes written."""

    at: int
    how: str = "before"
    again: int = 0  # the operation at which the run after it dies too


def points(operations: list[str], *hows: str) -> Iterator[Point]:
    """Before each operation, at its end where a child may start next, and in the midst of each write."""
    for at, name in enumerate(operations, 1):
        yield Point(at)
        for how in hows:
            if (name == "write") == (how != "after") and (name == "sync" or how != "after"):
                yield Point(at, how)


def operations(history: History, warm: Warm) -> list[str]:
    """What a run that nobody kills does."""
    log = history.path / "log"
    assert history.run(warm, log=log).code == 0
    history.judge()
    return [operation.name for operation in noted(log)]


class Killer:
    """One history a point, each in a directory of its own."""

    def __init__(self, where: Path, jobs: int, stream: bool) -> None:
        self.where, self.jobs, self.stream = where, jobs, stream
        self.repeats = 0  # kills that repeat nothing would prove nothing
        self._count = count()

    def history(self) -> History:
        return History(self.where / str(next(self._count)), IDS, self.jobs, self.stream)

    def __call__(self, warm: Warm, point: Point) -> None:
        history = self.history()
        history.run(warm, at=point.at, how=point.how)
        if point.again:
            history.run(warm, at=point.again, how="half" if point.again % 2 else "before")
        if point.at % 2:  # else what lives on is for the next run to notice
            warm.drain()
        ended = history.run(warm)
        assert ended.code == 0, ended.err
        warm.drain()
        history.judge()
        self.repeats += len(history.effects()) - len(IDS)


def test_a_run_killed_at_any_operation_is_finished_by_the_same_command(ram, warms):
    """I1 to I6 and I9 hold wherever a process dies."""
    kill = Killer(ram, jobs=1, stream=False)
    spread(kill, points(operations(kill.history(), warms[0]), "half", "most", "after"), warms)
    assert kill.repeats


def test_two_at_once_from_a_stream_killed_at_any_operation_are_finished_too(ram, warms):
    """The same with more in flight, and with a list that has to be kept; from where the two runs differ."""
    kill = Killer(ram, jobs=2, stream=True)
    known = operations(kill.history(), warms[0])
    later = (point for point in points(known, "half", "after") if point.at >= known.index("lock"))
    spread(kill, later, warms)
    assert kill.repeats


def test_a_run_killed_while_it_recovers_from_a_kill_loses_nothing_either(ram, warms):
    """Recovery writes too: what it announced, and had not recorded, is announced again."""
    kill = Killer(ram, 2, False)
    known = operations(kill.history(), warms[0])
    begun = known.index("lock")
    chosen = random.Random(7)
    pairs = [Point(chosen.randrange(begun + 9, len(known)), "before", again) for again in range(begun, len(known) - 9)]
    spread(kill, pairs, warms)
