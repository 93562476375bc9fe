"""Started before its effect, done before it is believed: what process deaths alone can't show, for they lose no byte."""

from __future__ import annotations

from itertools import dropwhile

import pytest
from crash_disk import MemoryDisk
from crash_driver import PLACE, Log, Script, play, stillness
from crash_state import Moment

from resumectl.lines import JournalError
from resumectl.run import Run

TURN = ["write", "sync", "spawn", "end"]
LAST = ["write", "sync", "acknowledge"]


def watched(script: Script) -> tuple[list[Moment], Log]:
    log: Log = []
    disk = MemoryDisk(watch=log)
    with stillness():
        play(disk, script, log)
    return disk.moments, log


def turns(script: Script, count: int) -> list[str]:
    """The kinds of the first operations from the write before the first start on."""
    kinds = [moment.kind for moment in watched(script)[0]]
    first = kinds.index("spawn") - 2
    return kinds[first : first + count]


def test_one_at_a_time_the_order_is_write_sync_spawn_write_sync_acknowledge() -> None:
    """One write and one sync serve the end of an item and the start of the next."""
    between = ["write", "sync", "acknowledge", "spawn", "end"]
    assert turns(Script((b"a", b"b")), 12) == [*TURN, *between, *LAST]


def test_four_at_once_start_together_and_end_one_by_one() -> None:
    """Four starts share one write and one sync; each end has its own, before it is believed."""
    first = ["write", "sync", *["spawn"] * 4, "end", "write", "sync", "acknowledge", "spawn"]
    assert turns(Script(tuple(b"%d" % n for n in range(5)), jobs=4), len(first)) == first


def test_kept_output_is_synced_before_the_line_that_names_it() -> None:
    """A write and a sync of its own, for all that ended in a turn."""
    assert turns(Script((b"a",), keep=True), 9) == [*TURN, "write", "sync", *LAST]


@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize("jobs", [1, 4])
def test_nothing_starts_or_is_believed_before_its_line_is_on_the_platter(jobs: int, together: int) -> None:
    """At each spawn the synced bytes hold its started line, at each acknowledgement its done line."""
    moments, log = watched(Script(tuple(b"%d" % n for n in range(9)), jobs=jobs, seed=jobs, together=together))
    seen = 0
    for moment in dropwhile(lambda moment: moment.kind != "spawn", moments):
        if moment.kind in ("spawn", "acknowledge"):
            event = log[moment.logged]
            word = "started" if moment.kind == "spawn" else "done"
            journal = moment.disk.files[moment.disk.synced_names[str(PLACE.journal)]]
            assert b'{"t":"%s","id":"%s"' % (word.encode(), event[1]) in journal.synced
            seen += 1
    assert seen == 18


def test_a_directory_made_by_a_killed_run_is_synced_by_the_next() -> None:
    """Its name may be in no platter yet, though it can be seen: a power cut would take the whole job with it."""
    first = MemoryDisk(watch=[])
    with stillness():
        play(first, Script((b"a",)), [])
        made = next(moment for moment in first.moments if "/job/.resumectl" in moment.disk.names)
        second = MemoryDisk(made.disk)
        play(second, Script((b"a",)), [])
    assert "/job/.resumectl" in second.state.synced_names


def test_two_runs_at_once_are_one_too_many() -> None:
    """The second is told so, and touches nothing."""
    disk = MemoryDisk()
    first, second = Run(PLACE, disk), Run(PLACE, disk)
    first.acquire()
    before = disk.state
    with pytest.raises(JournalError, match="in use") as refused:
        second.acquire(pause=lambda _: None)
    assert (refused.value.code, disk.state) == (4, before)
