"""I7: a flipped bit is refused or changes nothing; only the very last append may pass for a crash."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

import pytest
from crash_disk import Fault, MemoryDisk
from crash_driver import PLACE, Log, Script, play, stillness
from crash_oracle import Told
from crash_state import EMPTY, File, State

from resumectl.lines import JournalError
from resumectl.run import Run

SCRIPT = Script((b"a", b"b", b"c"))
REACH = 3  # lines of one append of SCRIPT, at most


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with stillness():
        yield


def whole() -> State:
    """A run that ended."""
    return resumed(EMPTY)


def resumed(disk: State, fault: Fault | None = None) -> State:
    log: Log = []
    memory = MemoryDisk(disk, fault=fault)
    play(memory, SCRIPT, log)
    return memory.state


def running(part: int = 2) -> State:
    """A run that died in the middle of a write."""
    memory = MemoryDisk(watch=[])
    play(memory, SCRIPT, [])
    moment = [moment for moment in memory.moments if moment.kind == "write"][-3]
    return list(moment.parts())[part]


def stumped() -> State:
    """A run that died in the middle of a write, and the one that came after it."""
    return resumed(running())


def mended() -> State:
    """A run whose disk was full for a moment: what it wrote when there was room again stands behind the stump."""
    for operation in range(30, 70):
        disk = resumed(EMPTY, Fault(operation, errno.ENOSPC))
        data = disk.read(PLACE.journal)
        if data.endswith(b"\n") and Told(data).bad and b'"t":"done"' in data.splitlines()[-1]:
            return resumed(disk)
    raise AssertionError("no write error left a stump in the middle")


def standings(disk: State) -> dict[bytes, Any]:
    """What the journal says of each item."""
    run = Run(PLACE, MemoryDisk(disk))
    run.load()
    return {id: run.ledger.standing(id) for id in run.ledger.ids()}


def with_journal(disk: State, data: bytes) -> State:
    return disk._replace(files={**disk.files, disk.names[str(PLACE.journal)]: File(data, data)})


def undetected(disk: State) -> list[int]:
    """The offset of each byte in which a flipped bit changes what the journal says and is not refused."""
    data, true = disk.read(PLACE.journal), standings(disk)
    found = []
    for offset in range(len(data)):
        for bit in range(8):
            rotten = bytearray(data)
            rotten[offset] ^= 1 << bit
            try:
                same = standings(with_journal(disk, bytes(rotten))) == true
            except JournalError:
                continue
            if not same:
                found.append(offset)
    return sorted(set(found))


CLOSED = {"ended": whole, "ended, with a sealed stump": stumped, "ended, with a stump amid a run": mended}
OPEN = {"torn": running, "killed between two writes": lambda: running(0)}


@pytest.mark.parametrize("name", CLOSED)
def test_a_flipped_bit_in_a_journal_that_ended_is_refused_or_changes_nothing(name: str) -> None:
    """Each bit of each byte, the header's and the stump's too."""
    assert undetected(CLOSED[name]()) == []


@pytest.mark.parametrize("name", OPEN)
def test_after_a_kill_only_the_last_lines_may_pass_for_a_torn_append(name: str) -> None:
    """So many lines as one append may have: 2 x jobs + 1 whole ones."""
    disk = OPEN[name]()
    data = disk.read(PLACE.journal)
    whole = data[: data.rindex(b"\n") + 1].splitlines(keepends=True)
    reach = len(data) - len(data[data.rindex(b"\n") + 1 :]) - sum(map(len, whole[-REACH:]))
    assert all(offset >= reach - 1 for offset in undetected(disk))
