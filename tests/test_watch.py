"""`status --watch`: a run seen from outside while it goes on (SPEC 3)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import APPEND, PATIENCE, Scratch, until
from faults import HOLD, opened
from shell import Terminal

from resumectl.disk import Disk
from resumectl.journal import Journal
from resumectl.lines import Fold, JournalError
from resumectl.plain import Rows
from resumectl.records import Record
from resumectl.tail import Tail

HIDE_CURSOR = b"\x1b[?25l"


def test_on_a_pipe_each_change_is_one_plain_line_and_the_end_of_the_run_is_the_end(scratch: Scratch) -> None:
    """Read-only: the run neither waits nor notices."""
    scratch.items("a", "b", "c")
    run = scratch.start("run", "--items", "i", "-j", "2", *HOLD)
    until(lambda: len(scratch.lines("begun")) == 2)
    with open(scratch.path / "seen", "wb") as seen:
        watch = scratch.start("status", "--watch", stdout=seen)
    until(lambda: scratch.lines("seen"))
    assert scratch.lines("seen") == [f"sh: running, pid {run.pid}; 1 new, 2 running"]
    opened(scratch)
    assert watch.wait(PATIENCE) == 0 == run.wait(PATIENCE)
    lines = scratch.lines("seen")
    assert lines[-1] == "sh: complete; 3 done" and len(lines) == len(set(lines)) and "\x1b" not in "".join(lines)


def test_json_is_one_object_a_change(scratch: Scratch) -> None:
    """And --check tells by the exit code how the run has ended; without a run it is over at once."""
    scratch.items("a", "b")
    scratch.run("run", "--items", "i", "--max-items", "1", *APPEND)
    looked = scratch.run("status", "--watch", "--json", "--check")
    assert looked.code == 1 and json.loads(looked.out)["counts"]["done"] == 1
    refused = scratch.run("status", "--watch", "--items", "i")
    assert refused.code == 2 and "--items" in refused.err


def test_damage_is_named_and_the_rest_is_shown(scratch: Scratch) -> None:
    """As by `status` itself."""
    scratch.items("a", "b", "c")
    scratch.run("run", "--items", "i", *APPEND)
    text = scratch.journal().read_bytes()
    scratch.journal().write_bytes(text.replace(b'{"t":"done","id":"a"', b'{"t":"done","id":"A"'))
    looked = scratch.run("status", "--watch")
    assert looked.code == 0 and b"2 done, 1 cut off" in looked.out and "line 4 (byte " in looked.err


def test_on_a_terminal_it_stays_in_place_until_ctrl_c(scratch: Scratch) -> None:
    """The picture is drawn anew; the run goes on when the watcher leaves."""
    scratch.items("a", "b")
    run = scratch.start("run", "--items", "i", *HOLD)
    until(lambda: scratch.lines("begun"))
    terminal = Terminal(scratch, "status", "--watch")
    terminal.shows(b"1 new, 1 running")
    terminal.shows("──".encode())
    terminal.press(b"\x03")
    assert terminal.end() == -signal.SIGINT and HIDE_CURSOR not in terminal.seen
    second = Terminal(scratch, "status", "--watch")
    second.shows(b"1 running")
    opened(scratch)
    assert run.wait(PATIENCE) == 0 and second.end() == 0
    second.shows(b"2 items: 2 done")


class Counting(Disk):
    """Counts the bytes that are read."""

    def __init__(self) -> None:
        self.bytes = 0

    def read(self, fd: int, size: int, offset: int) -> bytes:
        data = super().read(fd, size, offset)
        self.bytes += len(data)
        return data


@pytest.fixture
def written(tmp_path: Path) -> Journal:
    """A journal with a header."""
    journal = Journal(tmp_path / "j.jsonl", Disk(), sync="none")
    journal.create()
    return journal


def started(number: int) -> Record:
    return Record("started", (b"%d" % number,), (1,))


class Seen:
    """The ids that each file of a journal has named."""

    def __init__(self) -> None:
        self.files: list[list[bytes]] = []

    def begin(self) -> list[Fold]:
        self.files.append([])
        return [self]

    def enter(self, record: Record) -> None:
        self.files[-1] += record.ids

    def enter_rows(self, rows: Rows) -> None:
        self.files[-1] += rows.ids


def test_only_what_was_appended_is_read_again(written: Journal) -> None:
    """However long the journal has become; a line that is not whole yet waits."""
    disk, seen = Counting(), Seen()
    tail = Tail(written.path, seen.begin, disk)
    written.append([started(number) for number in range(1000)])
    tail.look()
    assert len(seen.files[0]) == 1000
    disk.bytes = 0
    tail.look()
    assert len(seen.files[0]) == 1000 and disk.bytes == 0
    written.append([started(1000)])
    line = written.path.read_bytes().splitlines(keepends=True)[-1]
    tail.look()
    assert seen.files[0][1000:] == [b"1000"] and disk.bytes == len(line)
    with open(written.path, "ab") as file:
        file.write(line[:20])
        file.flush()
        tail.look()
        assert len(seen.files[0]) == 1001
        file.write(line[20:])
    tail.look()
    assert seen.files[0][1001:] == [b"1000"] and len(seen.files) == 1 and not tail.text.bad


def test_another_file_in_the_journals_place_is_followed_from_its_start(written: Journal) -> None:
    """What was still added to the old one comes first, and is added up apart."""
    seen = Seen()
    tail = Tail(written.path, seen.begin)
    tail.look()
    assert seen.files == [[]]
    os.link(written.path, written.path.with_suffix(".bak"))
    old = os.open(written.path, os.O_WRONLY | os.O_APPEND)
    fresh = Journal(written.path, Disk(), sync="none")
    written.append([started(1)])
    fresh.create()
    fresh.append([started(2), started(3)])
    os.close(old)
    tail.look()
    assert seen.files == [[b"1"], [b"2", b"3"]]
    fresh.append([started(4)])
    tail.look()
    assert seen.files[1] == [b"2", b"3", b"4"]
    written.path.unlink()
    tail.look()
    assert len(seen.files[1]) == 3  # gone: nothing more comes
    with pytest.raises(JournalError, match="No such file"):
        Tail(written.path, seen.begin).look()


def test_a_watcher_sees_the_new_journal_of_a_fresh_run(scratch: Scratch) -> None:
    """Counts begin anew with it."""
    from resumectl.cli.watch import Watcher
    from resumectl.place import Place

    scratch.items("a", "b")
    scratch.run("run", "--items", "i", *APPEND)
    watcher = Watcher(Place(scratch.journal()))
    assert watcher.look().counts["done"] == 2
    scratch.items("a")
    scratch.run("run", "--fresh", "--items", "i", *APPEND)
    assert watcher.look().counts == scratch.counts() and watcher.look().counts["total"] == 1


def test_the_reader_of_the_lines_may_go(scratch: Scratch) -> None:
    """As others do: by SIGPIPE, quietly."""
    scratch.items("a", "b", "c")
    run = scratch.start("run", "--items", "i", *HOLD)
    until(lambda: scratch.lines("begun"))
    watch = scratch.start("status", "--watch", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert watch.stdout is not None and watch.stderr is not None
    assert watch.stdout.readline()
    watch.stdout.close()
    opened(scratch)
    assert run.wait(PATIENCE) == 0
    assert watch.wait(PATIENCE) == -signal.SIGPIPE and watch.stderr.read() == b""
