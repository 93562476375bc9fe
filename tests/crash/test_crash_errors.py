"""The disk fails at any one operation, once or from then on: nothing new starts, and the next run finishes the job."""

from __future__ import annotations

import errno
import gc
import random
from collections.abc import Iterator

import pytest
from crash_disk import Fault, MemoryDisk
from crash_driver import PLACE, Log, Script, play, stillness
from crash_histories import Histories
from crash_oracle import Told
from crash_scripts import SCRIPTS, A, B, C, E
from crash_state import EMPTY, State, power_cut

from resumectl.cli.ending import exit_code

ERRORS = {"full": (errno.ENOSPC, False), "full for good": (errno.ENOSPC, True), "I/O": (errno.EIO, False), "gone": (errno.EIO, True)}
BUSY = Script((A, B, C, E), jobs=2, seed=4, keep=True)
AFTER = 3  # deaths after each failure


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Equal disks play equal runs."""
    gc.disable()
    with stillness():
        yield
    gc.enable()


def operations(script: Script) -> range:
    disk = MemoryDisk()
    play(disk, script, [])
    return range(1, disk.operations + 1)


def failed(script: Script, disk: State, fault: Fault) -> tuple[MemoryDisk, Log, int | None]:
    """A run in which an operation fails; its disk, log and exit code (None if it did not come to turn)."""
    log: Log = []
    memory = MemoryDisk(disk, watch=log, fault=fault)
    loop = play(memory, script, log)
    return memory, log, exit_code(loop) if loop is not None else None


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize(
    "script",
    [BUSY, SCRIPTS["one by one"], SCRIPTS["at most two attempts"], SCRIPTS["batches that end well"]],
    ids=["two", "one", "held", "batches"],
)
def test_after_an_error_nothing_starts_and_the_next_run_finishes(name: str, script: Script) -> None:
    """I8: exit 74, and each ended item is either counted as recorded or named; then I9.  In a recovery too."""
    error, lasting = ERRORS[name]
    for logs, disk in ([], EMPTY), torn(script):
        for operation in operations(script):
            judge(script, logs, disk, Fault(operation, error, lasting))


@pytest.mark.parametrize("script", [SCRIPTS["at most two attempts"]], ids=["held"])
def test_a_second_error_while_the_first_is_mended_changes_nothing(script: Script) -> None:
    """Every error but the first may come at each of the next operations."""
    for operation in operations(script):
        for again in range(operation + 1, operation + 12):
            judge(script, [], EMPTY, Fault(operation, errno.EIO, again=again))


def torn(script: Script) -> tuple[list[Log], State]:
    """A run that died in the middle of its last write but one."""
    histories = Histories(script)
    played = histories.play(EMPTY)
    moment = [moment for moment in played.moments if moment.kind == "write"][-2]
    return [played.log[: moment.logged]], list(moment.parts())[2]


def judge(script: Script, logs: list[Log], before: State, fault: Fault) -> None:
    """What a run with this fault did, and what the next run makes of it."""
    disk, log, code = failed(script, before, fault)
    where = f"{fault}: {log}"
    assert disk.failed or code in (0, 1), where
    if log[-1] == ("refused", 74):
        assert not any(event[0] == "start" for event in log), where
    elif disk.failed_at is not None and code == 74:
        named_or_told(log, disk.state, fault, where)
        assert not any(event[0] == "start" for event in log[disk.failed_at :]), where
    else:
        assert code in (0, 1), where  # only the lock's note was not written
    histories = Histories(script)
    histories.finish([*logs, log], disk.state)
    if not (logs or fault.lasting or fault.again):
        announced = histories.play(disk.state, watched=False).log[0][1]
        assert announced <= {event[1] for event in log if event[0] == "start"}, where  # what never began is taken back


def named_or_told(log: Log, disk: State, fault: Fault, where: str) -> None:
    """Each ended item is counted, or named as not recorded; and what is named is not safely recorded after all."""
    ended = {event[1] for event in log if event[0] == "end"}
    told = {event[1] for event in log if event[0] == "ack"}
    named = log[-1][2]
    assert ended == told | named and not told & named, where
    if fault.again:  # the last try may fail after it has written
        return
    synced = Told(power_cut(disk, 0, "none").read(PLACE.journal))
    assert not named & {synced.id(record) for record in synced.records if record["t"] in ("done", "failed")}, where


@pytest.mark.parametrize("name", ERRORS)
def test_a_power_cut_after_an_error_loses_nothing_that_was_counted(name: str) -> None:
    """A second sync is no proof after a failed one: what is acknowledged after an error has been written anew."""
    error, lasting = ERRORS[name]
    chance = random.Random(6)
    histories = Histories(BUSY)
    for operation in operations(BUSY):
        played = histories.play(EMPTY, fault=Fault(operation, error, lasting))
        if played.failed_at is None:
            continue
        after = list(histories.deaths(played, since=played.failed_at))
        for log, left in chance.sample(after, min(AFTER, len(after))):
            histories.finish([log], left)


def test_a_stump_of_a_full_disk_is_one_bad_line_for_good() -> None:
    """What is written once the disk has room again stands behind it, whole, and the next barrier counts the stump."""
    stumps = []
    for operation in operations(BUSY):
        disk, _, _ = failed(BUSY, EMPTY, Fault(operation, errno.ENOSPC))
        told = Told(Histories(BUSY).play(disk.state).disk.read(PLACE.journal))
        stumps.append(told.bad)
    assert set(stumps) == {0, 1}
