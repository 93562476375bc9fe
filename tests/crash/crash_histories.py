"""Histories: a run that dies, what is left of the disk, a recovery that dies too, a last clean resume.

One run is watched at every operation, so each death costs only what comes after it; equal
disks are played once.  That a watched moment is what a real death leaves has a test of its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crash_disk import Fault, MemoryDisk
from crash_driver import PLACE, Log, Script, play
from crash_oracle import Told, Witness, demand
from crash_state import DAMAGES, EMPTY, Moment, State, power_cut, power_cuts

OPENING = 9  # so many writes and syncs a recovery makes before it starts anything


@dataclass
class Played:
    """One run: what it did, the moments at which it might have died, the disk it left."""

    log: Log
    moments: list[Moment]
    disk: State
    failed_at: int | None = None


class Histories:
    """All histories of one script; `count` is how many were judged."""

    def __init__(self, script: Script, *, seed: int = 1) -> None:
        self.script = script
        self.count = 0
        self.runs = 0
        self._random = random.Random(seed)
        self._known: dict[Any, Played] = {}

    def play(self, disk: State, *, calm: bool = False, watched: bool = True, fault: Fault | None = None) -> Played:
        """One run from a disk to its end; the same again for the same disk."""
        key = (disk.key() if watched else disk.view(), calm, fault)
        if key not in self._known:
            self._known[key] = self._play(disk, calm, watched, fault)
        return self._known[key]

    def _play(self, disk: State, calm: bool, watched: bool, fault: Fault | None) -> Played:
        log: Log = []
        memory = MemoryDisk(disk, watch=log, watched=watched, fault=fault)
        play(memory, self.script.calm() if calm else self.script, log)
        self.runs += 1
        after = memory.state
        demand(after.read(PLACE.journal).startswith(disk.read(PLACE.journal)), "I6 earlier bytes have changed")
        if fault is None:
            self._judge_text(after, log)
        return Played(log, memory.moments, after, memory.failed_at)

    def _judge_text(self, disk: State, log: Log) -> None:
        demand(log and log[-1][0] == "stop", f"I9 a recovery did not come to its end: {log[-1:]}")
        told = Told(disk.read(PLACE.journal))
        told.grammar()
        told.kept(disk.read(PLACE.out))
        if log[-1][1] == "complete":
            told.once(self.script.ids)

    def deaths(self, played: Played, since: int = 0) -> Iterator[tuple[Log, State]]:
        """Every death of a run, each with what it had done and what is left, once."""
        seen = set()
        for moment in played.moments:
            for disk in moment.parts() if moment.logged >= since else ():
                for left in self._left(disk):
                    key = (moment.logged, left.key())
                    if key not in seen:
                        seen.add(key)
                        yield played.log[: moment.logged], left

    def _left(self, disk: State) -> Iterator[State]:
        yield disk  # the process died, the system lives
        if self.script.sync == "full":
            yield from power_cuts(disk)

    def some_deaths(self, played: Played, count: int) -> Iterator[tuple[Log, State]]:
        """So many deaths, drawn evenly over the run's moments."""
        for _ in range(count):
            moment = self._random.choice(played.moments)
            disk = self._random.choice(list(moment.parts()))
            if self.script.sync == "full" and self._random.random() < 0.8:
                disk = self._cut(disk)
            yield played.log[: moment.logged], disk

    def die_once(self) -> Iterator[tuple[list[Log], State]]:
        """Die at every moment, resume to the end, and once more without any trouble."""
        for log, left in self.deaths(self.play(EMPTY)):
            self.finish([log], left)
            yield [log], left

    def die_again(self, before: list[Log], disk: State, count: int) -> None:
        """In the recovery from `disk` die again, `count` times."""
        for log, left in self.some_deaths(self.play(disk), count):
            self.finish([*before, log], left)

    def die_often(self, deaths: int) -> None:
        """Die while the journal is written, and then again and again as it is opened."""
        disk: State = EMPTY
        logs: list[Log] = []
        for _ in range(deaths):
            played = self.play(disk)
            moments = [moment for moment in played.moments if moment.kind in ("write", "sync")]
            moment = self._random.choice(moments[:OPENING] if logs else moments)
            left = self._random.choice(list(moment.parts()))
            disk = self._cut(left) if self.script.sync == "full" and self._random.random() < 0.6 else left
            logs.append(played.log[: moment.logged])
        self.finish(logs, disk)

    def die_the_same_way(self, moment: Moment, damage: str, deaths: int) -> None:
        """After a torn append die again and again as the recovery's first record is synced, each time with this damage."""
        disk = power_cut(moment.disk, len(moment.disk.pending), "line")
        logs = [self.play(EMPTY).log[: moment.logged]]
        for _ in range(deaths):
            longer = len(disk.read(PLACE.journal)) + 2  # a stump's seal is no record
            syncs = (one for one in self.play(disk).moments if one.kind == "sync")
            disk = next(one.disk for one in syncs if len(one.disk.read(PLACE.journal)) > longer)
            disk = power_cut(disk, len(disk.pending), damage)
            logs.append([])
        self.finish(logs, disk)

    def _cut(self, disk: State) -> State:
        return power_cut(disk, self._random.randint(0, len(disk.pending)), self._random.choice(DAMAGES))

    def finish(self, died: list[Log], disk: State) -> None:
        """Resume from a disk until nothing is left to do, and judge the whole history."""
        self.count += 1
        witness = Witness(self.script)
        for log in died:
            witness.run(log, died=True)
        last = self.play(disk, watched=False)
        witness.run(last.log, died=False)
        if witness.last[1] != "complete":
            last = self.play(last.disk, calm=True, watched=False)
            witness.run(last.log, died=False)
        witness.finished()
        if self.script.parks:
            Told(last.disk.read(PLACE.journal)).settled(self.script.ids)
