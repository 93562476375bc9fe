"""What has happened, in order, and what happens, as it does (SPEC 3)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import APPEND, PATIENCE, Quick, until
from faults import HOLD, opened

from resumectl.disk import Disk
from resumectl.follow import follow
from resumectl.journal import Journal
from resumectl.records import Record

ENDS = ("sh", "-c", 'case "$1" in f*) exit 3;; c*) kill -9 $$;; esac', "_", "{}")


def told(quick: Quick, *words: str) -> list[list[str]]:
    """The lines of `log` without their times."""
    return [line[21:].split(maxsplit=1) for line in quick.run("log", *words).out.decode().splitlines()]


def test_the_events_are_told_in_order_one_a_line(quick: Quick) -> None:
    """Time, event, id (escaped), attempt, reason, duration; --id chooses; a batch has a line an item."""
    quick.items("a", "f\x1b[1m", "c")
    assert quick.run("run", "--items", "i", *ENDS).code == 1
    lines = told(quick)
    assert [line[0] for line in lines] == ["run", "started", "done", "started", "failed", "started", "cut", "end"]
    assert lines[4][1].startswith("f\\x1b[1m  attempt 1, exit 3, ") and "killed" in lines[6][1]
    assert "3 items, -j 1" in lines[0][1] and lines[7][1] == "1  exhausted: 1 done, 1 failed, 1 cut off"
    assert [line[0] for line in told(quick, "--id", "c", "--id", "a")] == ["started", "done", "started", "cut"]
    assert quick.run("run", "-n", "3", "--fresh", "--items", "i", "true").code == 0
    assert [line[0] for line in told(quick, "sh")] == [line[0] for line in lines]
    assert [line[0] for line in told(quick, "true", "--id", "a", "--id", "c")] == ["started", "started", "done", "done"]


def test_as_json_it_is_the_journals_records_with_whole_ids(quick: Quick) -> None:
    """A long id's hash is spelled out; the rest is as the journal has it, but for the checksum."""
    long = "x" * 300
    quick.items("a", long, b"\xff")
    quick.run("run", "--items", "i", *APPEND)
    found = [json.loads(line) for line in quick.run("log", "--json").out.splitlines()]
    journal = [{k: v for k, v in record.items() if k != "c"} for record in quick.records()[1:]]
    assert [record | {"id": long} if record.get("id") not in ("a", {"b64": "/w=="}, None) else record for record in journal] == found


class Following:
    """`log -f --json` into a file."""

    def __init__(self, quick: Quick, *words: str) -> None:
        self.path = quick.path / "events"
        with self.path.open("wb") as out:
            self.process = quick.start("log", "-f", "--json", *words, stdout=out)

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]

    def wait(self, *last: str) -> list[dict[str, Any]]:
        """Until the last events are of these types."""
        return until(lambda: [found for found in [self.records()] if [r["t"] for r in found[-len(last) :]] == [*last]])[0]


def test_followed_it_is_the_stream_of_checkpoints(quick: Quick) -> None:
    """An event at every start and end, at once; also from the journals that take the first one's place."""
    quick.items("a", "b")
    quick.run("mark", "done", "--id", "z", "--job", "sh")
    following = Following(quick)
    following.wait("done")
    run = quick.start("run", "--items", "i", *HOLD)
    following.wait("run", "started")
    opened(quick)
    following.wait("started", "done", "end")
    assert run.wait() == 0
    assert quick.run("compact").code == 0
    quick.run("mark", "failed", "--id", "b", "--job", "sh")
    found = following.wait("end", "failed")
    assert not any(record.get("by") == "compact" for record in found)
    quick.run("reset", "--yes")
    quick.run("mark", "done", "--id", "new", "--job", "sh")
    assert following.wait("failed", "done")[-1]["id"] == "new"
    following.process.send_signal(signal.SIGINT)
    assert following.process.wait() == -signal.SIGINT


def test_it_ends_when_its_reader_has_gone(quick: Quick) -> None:
    """By SIGPIPE, though nothing more is written; as `| head -n 1` would have it."""
    quick.run("mark", "done", "--id", "a", "--job", "j")
    process = quick.start("log", "-f", stdout=subprocess.PIPE)
    assert process.stdout is not None and b"done" in process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE) == -signal.SIGPIPE


class Enough(Exception):
    """The test has seen what it wants."""


def followed(journal: Journal, *steps: Any) -> list[bytes]:
    """The ids that are given while these steps are taken, one at each pause."""
    todo, found = list(steps), list[bytes]()

    def pause() -> None:
        if not todo:
            raise Enough
        todo.pop(0)()

    with pytest.raises(Enough):
        for record in follow(journal.path, pause):
            found += record.ids
    return found


def done(id: bytes) -> Record:
    return Record("done", (id,), (0,), {"by": "hand"})


def test_a_file_that_was_mended_goes_on_where_the_old_one_was(tmp_path: Path) -> None:
    """After a failed sync the same lines stand in a new file: none is given twice, none is left out."""
    journal = Journal(tmp_path / "j.jsonl", Disk())
    journal.create()
    journal.append([done(b"a"), done(b"b")])

    def mend() -> None:
        journal.append([done(b"c")])
        journal._suspect = True
        journal.mend([done(b"d")])

    steps = mend, lambda: journal.append([done(b"e")]), lambda: None
    assert followed(journal, *steps) == [b"a", b"b", b"c", b"d", b"e"]
    journal.close()


def test_half_a_line_is_waited_for_and_bad_ones_are_passed_over(tmp_path: Path) -> None:
    """Also while the file is away for a moment."""
    journal = Journal(tmp_path / "j.jsonl", Disk())
    journal.create()
    journal.append([done(b"a"), done(b"b")])
    whole = journal.path.read_bytes()
    cut = len(whole) - 20
    journal.path.write_bytes(whole[:cut])

    def write(data: bytes) -> Any:
        def step() -> None:
            with journal.path.open("ab") as file:
                file.write(data)

        return step

    away = tmp_path / "away"
    steps = write(whole[cut:-1]), write(b"\n"), lambda: os.rename(journal.path, away)
    back = lambda: os.rename(away, journal.path)  # noqa: E731
    assert followed(journal, *steps, back, write(b"rubbish\n"), lambda: journal.path.write_bytes(whole)) == [b"a", b"b"]
    journal.close()


def test_a_damaged_journal_is_told_as_far_as_it_goes(quick: Quick) -> None:
    quick.items(*"abcdef")
    quick.run("run", "--items", "i", *ENDS)
    lines = quick.journal().read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b"a", b"b", 1)
    quick.journal().write_bytes(b"\n".join(lines))
    log = quick.run("log")
    assert log.code == 0 and len(log.out.splitlines()) == len(lines) - 3 and "line 4" in log.err


def test_a_stranger_is_refused(quick: Quick) -> None:
    quick.write("x.jsonl", "hello\n")
    for more in ([], ["-f"]):
        refused = quick.run("log", "--journal", "x.jsonl", *more)
        assert refused.code == 2 and "not a resumectl journal" in refused.err


def test_what_is_asked_of_one_item_is_not_led_astray_by_others(quick: Quick) -> None:
    """Only lines that may speak of it are read: long ids, ids in each other's texts, ids that are no text."""
    long, longer = "y" * 300, "y" * 400
    quick.items("a", long, longer, b"\xff", 'q"\\')
    quick.run("run", "--items", "i", "--", "sh", "-c", 'echo "a \\"a\\" q" >&2; exit 3', "_", "{}")
    every = [json.loads(line) for line in quick.run("log", "--json").out.splitlines()]
    for id, told in ("a", "a"), (long, long), (longer, longer), (b"\xff", {"b64": "/w=="}), ('q"\\', 'q"\\'):
        log = quick.run("log", "--json", "--id", id)
        assert [json.loads(line) for line in log.out.splitlines()] == [one for one in every if one.get("id") == told]
        assert log.err == ""
        explained = quick.run("explain", id)
        assert explained.code == 0 and explained.err == "" and b"failed: exit 3" in explained.out
