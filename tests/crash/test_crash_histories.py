"""Every death of a run, every disk that it may leave, and again in the recovery: the invariants hold."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from itertools import islice

import pytest
from crash_disk import Death, MemoryDisk
from crash_driver import Log, Script, play, stillness
from crash_histories import Histories
from crash_scripts import SCRIPTS, TINY
from crash_state import DAMAGES, EMPTY

AGAIN = 6  # deaths in the recovery from each death
OFTEN = 60  # chains of up to six deaths


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Equal disks play equal runs; nothing here makes cycles, so no collection is needed."""
    gc.disable()
    with stillness():
        yield
    gc.enable()


@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_run_of_one_item_may_die_at_any_two_moments(half: int) -> None:
    """Each death, and in each recovery each death: about 16,000 histories, of which one half is left to slow days."""
    histories = Histories(TINY)
    for first, (logs, disk) in enumerate(histories.die_once(), half):
        for log, left in islice(histories.deaths(histories.play(disk)), first % 2, None, 2):
            histories.finish([*logs, log], left)
    assert histories.count > 7_000


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_run_may_die_at_any_moment_and_its_recovery_too(name: str) -> None:
    """Each death of the first run, and a sample of the deaths of each recovery."""
    histories = Histories(SCRIPTS[name])
    for logs, disk in histories.die_once():
        histories.die_again(logs, disk, AGAIN)
    assert histories.count > 100


@pytest.mark.parametrize("name", SCRIPTS)
def test_recovery_after_recovery_may_die(name: str) -> None:
    """Deaths in a row, each while the journal is written, do not add up to damage."""
    histories = Histories(SCRIPTS[name], seed=2)
    for deaths in range(OFTEN):
        histories.die_often(2 + deaths % 5)


@pytest.mark.parametrize("name", ["one by one", "one attempt"])
def test_a_stump_stays_what_it_is_however_often_recovery_dies(name: str) -> None:
    """Each recovery may add a stump of its own; the first one must not come to look like damage."""
    histories = Histories(SCRIPTS[name])
    played = histories.play(EMPTY)
    for moment in played.moments:
        if moment.kind == "sync" and moment.logged > 1:
            for damage in DAMAGES:
                histories.die_the_same_way(moment, damage, deaths=3)


def test_a_watched_moment_is_what_a_real_death_leaves() -> None:
    """The histories die by looking back; a process that really dies there leaves the same disk and the same log."""
    script = SCRIPTS["four at once"]
    watched: Log = []
    disk = MemoryDisk(watch=watched)
    play(disk, script, watched)
    for moment in disk.moments:
        for part, expected in _parts(moment):
            log: Log = []
            dying = MemoryDisk(die_at=moment.operation, part=part)
            play(dying, script, log)
            assert (log, dying.state) == (watched[: moment.logged], expected)


def _parts(moment):  # type: ignore[no-untyped-def]
    sizes = [0]
    if moment.write is not None:
        count = len(moment.write[1])
        sizes += sorted({1, count // 2, count - 1, count} - {0})
    return zip(sizes, moment.parts(), strict=True)


def test_the_dead_do_nothing_more() -> None:
    """Death passes through every handler of the core, and what is still tried has no effect."""
    for operation in random.Random(5).sample(range(1, 40), 20):
        disk = MemoryDisk(die_at=operation)
        play(disk, Script((b"a", b"b")), [])
        before = disk.state
        with pytest.raises(Death):
            disk.step("anything")
        assert disk.state == before
