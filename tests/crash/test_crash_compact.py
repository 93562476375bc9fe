"""Compact, killed at any operation, with any power cut behind it: the journal is the old one or the new one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from crash_disk import Death, MemoryDisk
from crash_driver import PLACE, Log, Script, play, stillness
from crash_state import State, power_cuts

from resumectl.accounts import Accounts
from resumectl.compaction import compact
from resumectl.ledger import Standing
from resumectl.ledger import State as Known
from resumectl.records import Record
from resumectl.run import Run
from resumectl.verdict import Kind

IDS = (b"a", b"b" * 300, b"c", b"d")
SCRIPT = Script(IDS, 2, keep=True, fates={b"a": (Kind.FAILED,), b"c": (Kind.CUT_OFF, Kind.UNCHARGED)})


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with stillness():
        yield


def compacting(memory: MemoryDisk) -> bool:
    """As `resumectl compact` does it; False if it died."""
    run, accounts = Run(PLACE, memory, sync="none"), Accounts()
    try:
        run.acquire()
        run.load(accounts)
        compact(run, accounts)
    except Death:
        return False
    finally:
        run.close()
    return True


def standings(disk: State) -> dict[bytes, Standing]:
    """What the journal says of each item, as the next run would have it."""
    run = Run(PLACE, MemoryDisk(disk))
    run.load()
    for id, start in run.ledger.open_items().items():
        run.ledger.enter(Record("cut_off", (id,), (start.attempt,), {"run": start.run, "why": "crash"}))
    return {id: run.ledger.standing(id) for id in run.ledger.ids()}


@pytest.mark.parametrize("killed", [40, 55, 70, 10_000])
def test_it_may_die_at_any_operation(killed: int) -> None:
    """What every item stands at is the same on every disk that may be left, and the job is finished from there."""
    log: Log = []
    before = MemoryDisk(die_at=killed)
    play(before, SCRIPT, log)
    disk = next(power_cuts(before.state))  # nothing is left unsynced that the next cut could take
    wanted = standings(disk)
    assert wanted
    seen = 0
    for operation in range(1, 200):
        for part in (0, 1, 500):
            memory = MemoryDisk(disk, die_at=operation, part=part)
            whole = compacting(memory)
            for left in (memory.state, *power_cuts(memory.state)):
                seen += 1
                assert standings(left) == wanted, (operation, part)
        if whole:
            break
    assert whole and seen > 20
    again = MemoryDisk(memory.state)
    play(again, SCRIPT.calm(), log)
    assert {standing.state for standing in standings(again.state).values()} == {Known.DONE}
