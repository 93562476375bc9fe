"""Seeded faults of the protocol: each a few lines that break one of its rules.

A mutant is a list of (owner, name, replacement).  The tests of this directory must
notice each of them; one that can't be noticed says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from crash_disk import MemoryDisk

from resumectl import journal as journal_module
from resumectl import lines, place, run
from resumectl.disk import APPEND, write_all
from resumectl.journal import Journal
from resumectl.lines import JournalError
from resumectl.loop import Loop, moment
from resumectl.outputs import Outputs
from resumectl.records import Decoder
from resumectl.run import Run

append, decode, intact, unwritten = Journal.append, Decoder.record, lines.intact, Loop._unwritten


class Mutant(NamedTuple):
    """What is replaced by what; `equivalent` says why nobody can tell."""

    patches: list[tuple[Any, str, Any]]
    equivalent: str = ""


def heal(self: Journal, namespace: Any = None, *, seal: bool = True, cut: bool = False, sync: bool = True) -> None:
    if not self.exists:
        return self.create(namespace)
    if not self.text.whole and cut:
        data = self.disk.read(self._fd, self._size, 0)
        self._size = data.rindex(b"\n") + 1
        self.disk.truncate(self._fd, self._size)
        self.text.bad.pop()
    elif not self.text.whole and seal:
        self._write(b"\n\n")
    if sync:
        self.disk.sync(self._fd)
    self.disk.sync_dir(self.path.parent)


def barrier(self: Journal, record: Any, more: Any = (), *, bad: int | None = None, first: bool = True, one: bool = False) -> None:
    if first:
        self.flush()
    count = len(self.text.bad) if bad is None else bad
    record = record._replace(rest={**record.rest, "bad": count})
    if one:
        self._put(self._lines([record, *more]))
    else:
        self.append([record])
        self.append(more)
    self.flush()


def cut_off_before_run(self: Journal, record: Any, more: Any = ()) -> None:
    self._put(self._lines(more))
    barrier(self, record, first=False)


def turn(order: str) -> Callable[[Loop[Any], Any], None]:
    """A turn with its steps in another order: w(rite), a(cknowledge), s(tart)."""

    def other(self: Loop[Any], outcomes: Any) -> None:
        now = moment()
        for outcome in outcomes:
            self._settle(outcome, now)
        self._keep()
        jobs, wrote = self._choose(now), True
        for step in order:
            if step == "w":
                wrote = self._write(jobs)
            elif step == "a":
                self._ends.acknowledge()
            elif wrote:
                for job in jobs:
                    self._start(job, now)
        self._listed(None)

    return other


def write_once(self: Journal, data: bytes) -> None:
    self._size += self.disk.write(self._fd, data)


def flush_and_hope(self: Journal, *, barrier: bool = True) -> None:
    if self.sync == "full" or barrier:
        try:
            self.disk.sync(self._fd)
        except OSError:
            pass


def trust_the_next_sync(self: Journal) -> None:
    self.disk.sync(self._fd)
    self._suspect = False


def rewrite(self: Journal, *, sync: bool = True, whole: bool = True) -> None:
    unsynced = b"".join(self._unsynced)
    fresh = self.path.with_name(self.path.name + ".new")
    fd = self.disk.open(fresh, APPEND | os.O_TRUNC)
    data = self.disk.read(self._fd, self._size, 0)
    write_all(self.disk, fd, data if whole else data[: len(data) - len(unsynced)])
    if sync:
        self.disk.sync(fd)
    self.disk.rename(fresh, self.path)
    self.disk.sync_dir(self.path.parent)
    self._fd, self._suspect = fd, False
    self._unsynced.clear()


def create_in_place(disk: Any, path: Any, data: bytes) -> None:
    fd = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    write_all(disk, fd, data)
    disk.sync(fd)
    disk.close(fd)
    disk.sync_dir(path.parent)


def nothing_landed(self: Loop[Any], error: JournalError, owed: Any, started: Any, jobs: Any) -> None:
    error.landed = 0
    unwritten(self, error, owed, started, jobs)


def never_taken_back(self: Loop[Any], error: JournalError, owed: Any, started: Any, jobs: Any) -> None:
    unwritten(self, error, owed, started, jobs)
    self._owed = [record for record in self._owed if record.t != "uncharged"]


def unsynced(self: Journal, records: Any) -> None:
    if records:
        self._put(self._lines(records))


def any_sum(line: bytes, seed: int) -> bool:
    return intact(line, seed) or b'"c":' not in line


def no_sum(self: Decoder, line: bytes) -> Any:
    return decode(self, line if b'"c":' in line else line[:-1] + b',"c":""}')


def with_options(function: Callable[..., Any], **options: Any) -> Any:
    return lambda self, *words, **more: function(self, *words, **more, **options)


MUTANTS = {
    "no tail repair": Mutant([(Journal, "heal", with_options(heal, seal=False))]),
    "the stump is truncated": Mutant([(Journal, "heal", with_options(heal, cut=True))]),
    "acknowledged before the sync": Mutant([(Loop, "_turn", turn("aws"))]),
    "acknowledged though the write failed": Mutant([(Loop, "_turn", turn("was"))]),
    "started before its line": Mutant([(Loop, "_turn", turn("swa"))]),
    "a turn is not synced": Mutant([(Journal, "append", unsynced)]),
    "a sync error is ignored": Mutant([(Journal, "flush", flush_and_hope)]),
    "a second sync is trusted": Mutant([(Journal, "_rewrite", trust_the_next_sync)]),
    "a short write is ignored": Mutant([(Journal, "_write", write_once)]),
    "no directory is synced": Mutant([(MemoryDisk, "sync_dir", lambda self, path: None)]),
    "a directory that is there is not synced": Mutant([(place, "sync_name", lambda disk, path: None)]),
    "the checksum is optional": Mutant([(lines, "intact", any_sum), (Decoder, "record", no_sum)]),
    "no checksum": Mutant([(lines, "intact", lambda line, seed: line.startswith(b"{"))]),
    "what was read is not synced": Mutant(
        [(Journal, "heal", with_options(heal, sync=False)), (Journal, "barrier", with_options(barrier, first=False))]
    ),
    "opening does not sync": Mutant(
        [(Journal, "heal", with_options(heal, sync=False))],
        equivalent="the barrier that follows is synced before it is written, and nothing is believed before it",
    ),
    "bad lines are not counted": Mutant([(Journal, "barrier", with_options(barrier, bad=0))]),
    "a run and what it cut off in one append": Mutant([(Journal, "barrier", with_options(barrier, one=True))]),
    "cut off before the run, unsynced": Mutant([(Journal, "barrier", cut_off_before_run)]),
    "what was cut off is not recorded": Mutant([(Run, "seal_open", lambda self: [])]),
    "the lock is ignored": Mutant([(run, "exclusive", lambda disk, path, wait, pause: disk.open(path))]),
    "mending writes again what landed": Mutant([(Loop, "_unwritten", nothing_landed)]),
    "a start that never happened is not taken back": Mutant([(Loop, "_unwritten", never_taken_back)]),
    "the header is written in place": Mutant([(journal_module, "write_new", create_in_place)]),
    "a rewritten journal is not synced": Mutant([(Journal, "_rewrite", with_options(rewrite, sync=False))]),
    "a rewritten journal lacks its last lines": Mutant([(Journal, "_rewrite", with_options(rewrite, whole=False))]),
    "a line with two records passes for a crash": Mutant([(lines, "fused", lambda line, seed: False)]),
    "a stump is sealed with one newline": Mutant([(journal_module, "SEAL", b"\n")]),
    "kept output is not synced": Mutant([(Outputs, "sync", property(lambda self: False, lambda self, value: None))]),
}
