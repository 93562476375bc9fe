"""What the histories have found, each in a test of its own, and the crashes of what is no run."""

from __future__ import annotations

import errno

from crash_disk import Fault, MemoryDisk
from crash_driver import PLACE, Log, Script, play, stillness
from crash_state import power_cuts

from resumectl.ledger import Ledger, State
from resumectl.records import Record
from resumectl.run import Run


def test_a_held_line_whose_end_line_was_lost_still_counts_the_attempt() -> None:
    """A power cut may take a failed line and leave the held line behind it: the attempt was made all the same."""
    ledger = Ledger()
    for record in (
        Record("started", (b"a",), (1,)),
        Record("failed", (b"a",), (1,), {"why": "exit"}),
        Record("started", (b"a",), (2,)),
        Record("held", (b"a",), (2,), {"why": "attempts"}),
    ):
        ledger.enter(record)
    standing = ledger.standing(b"a")
    assert (standing.state, standing.charged, standing.open) == (State.PARKED, 2, False)


def test_a_rewritten_journal_whose_name_could_not_be_synced_is_still_written() -> None:
    """After the rename the new file is ours: what ends later is recorded in it, in the same run."""
    script = Script((b"a", b"b"), jobs=2)
    with stillness():
        log: Log = []
        disk = MemoryDisk(watch=log)
        play(disk, script, log)
        first = next(one.operation for one in disk.moments if one.kind == "sync" and log[one.logged - 1][0] == "end")
        log = []
        disk = MemoryDisk(watch=log, fault=Fault(first))
        play(disk, script, log)
        second = next(one.operation for one in disk.moments if one.kind == "sync_dir" and one.operation > first)
        log = []
        play(MemoryDisk(watch=log, fault=Fault(first, errno.EIO, again=second)), script, log)
    assert log[-1] == ("stop", "journal", frozenset())


def test_a_fresh_start_has_the_old_journal_somewhere_at_every_moment() -> None:
    """`--fresh` and a whole reset: under its own name or the archive's, whole, and never neither."""
    with stillness():
        disk = MemoryDisk()
        play(disk, Script((b"a", b"b"), keep=True), [])
        old, out = disk.state.read(PLACE.journal), disk.state.read(PLACE.out)
        swapping = MemoryDisk(disk.state, watch=[])
        run = Run(PLACE, swapping)
        run.acquire()
        run.load()
        run.archive()
        moments = [*swapping.moments]
        for moment in moments:
            for left in (*moment.parts(), *power_cuts(moment.disk)):
                held = [left.files[inode].data for inode in left.names.values() if inode]
                assert old in held and out in held, moment.kind
                again = Run(PLACE, MemoryDisk(left))
                again.load()
                assert again.journal.exists
