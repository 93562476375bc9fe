"""Every command of the people's side on a journal of a million lines: it answers, or it streams."""

from __future__ import annotations

import subprocess

import pytest
from conftest import PROGRAM, Scratch

from resumectl.disk import Disk
from resumectl.journal import Journal
from resumectl.place import Place
from resumectl.records import Record, encode

ITEMS = 500_000
pytestmark = pytest.mark.slow


def long_journal(place: Place) -> None:
    """Half a million items, each with its start and its end; every hundredth failed."""
    place.prepare(Disk())
    journal = Journal(place.journal, Disk(), "none")
    journal.create()
    journal.barrier(Record("run", (), (), {"run": 1, "total": ITEMS, "new": ITEMS, "jobs": 4, "sync": "none"}))
    with place.journal.open("ab") as file:
        for n in range(ITEMS):
            id, end = (b"item-%d" % n,), {"rc": 0, "ms": 12}
            t, end = ("failed", end | {"why": "exit", "rc": 1}) if n % 100 == 7 else ("done", end)
            for record in Record("started", id, (1,)), Record(t, id, (1,), end):
                file.write(encode(record, journal.text.seed, "2026-11-29T17:12:03.123Z"))
    journal.close()


def first_line(scratch: Scratch, *words: str) -> bytes:
    """The first line that comes, and no more of it is waited for."""
    process = scratch.start(*words, stdout=subprocess.PIPE)
    assert process.stdout is not None
    line: bytes = process.stdout.readline()
    process.stdout.close()
    process.wait()
    return line


def peak(scratch: Scratch, *words: str) -> int:
    """MiB that a command had in memory at most."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    call = [PROGRAM[0], "-c", code, *PROGRAM, *words]
    return int(subprocess.run(call, cwd=scratch.path, env=scratch.env, check=True, capture_output=True).stdout) >> 10


def test_a_million_lines_are_no_obstacle(scratch: Scratch) -> None:
    """The log streams from its first line in little memory; what needs all of it stays in bounds."""
    place = Place(scratch.journal("big"))
    long_journal(place)
    assert b"-j 4" in first_line(scratch, "log")
    assert b'"t":"run"' in first_line(scratch, "log", "-f", "--json")
    assert peak(scratch, "log", "--json") < 120
    told = scratch.run("explain", "item-107")
    assert told.code == 0 and b"item-107: failed" in told.out and b"exit 1" in told.out
    assert b"1000002 lines" in scratch.run("check").out
    table = scratch.run("export").out
    assert table.count(b"\n") == ITEMS + 1
    assert peak(scratch, "compact") < 450
    assert b"500002 lines" in scratch.run("check").out
    assert scratch.run("export").out == table
