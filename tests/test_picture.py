"""The picture that `status` draws of one job on a terminal, and what it is drawn from."""

from __future__ import annotations

import json
import re

from conftest import Scratch
from shell import Terminal

from resumectl.ledger import Ledger
from resumectl.records import Record, stamp
from resumectl.survey import EXAMPLES, MOMENTS, Survey

FAILING = ("sh", "-c", 'case "$1" in f*) echo "no $1" >&2; echo "[red]why" >&2; exit "${1#f}";; esac', "_", "{}")


def end(id: str, ms: int, at: float, t: str = "done", **rest: object) -> Record:
    return Record(t, (id.encode(),), (1,), {"ms": ms, "at": stamp(at), **rest})


def surveyed(*records: Record) -> tuple[Survey, Ledger]:
    survey, ledger = Survey(), Ledger()
    for record in records:
        survey.enter(record)
        ledger.enter(record)
    return survey, ledger


def test_a_terminal_shows_durations_the_slowest_and_each_reason_with_its_last_words(scratch: Scratch) -> None:
    """A pipe, several jobs, --json and the state lists are as ever."""
    scratch.items("a", "b", "f3", "f4", "f30")
    scratch.run("run", "--items", "i", *FAILING)
    terminal = Terminal(scratch, "status", TERM="xterm")
    assert terminal.end() == 0
    seen = re.sub(rb"\x1b\[[0-9;]*m", b"", terminal.seen).decode()
    assert "5 items: 2 done, 3 failed" in seen and "durations" in seen and "█" in seen and "slowest" in seen
    assert "1 failed: exit 3, such as f3\r\n    no f3\r\n    [red]why" in seen
    assert "\x1b[?25l" not in terminal.seen.decode()
    piped = scratch.run("status").out.decode()
    assert "durations" not in piped and "█" not in piped
    asked = Terminal(scratch, "status", "--json")
    assert asked.end() == 0 and json.loads(asked.seen)["counts"]["failed"] == 3
    scratch.run("run", "--items", "i", "--job", "two", "true")
    both = Terminal(scratch, "status")
    assert both.end() == 0 and b"two: complete" in both.seen and b"durations" not in both.seen


def test_the_c_locale_gets_a_picture_too(scratch: Scratch) -> None:
    """In ASCII; an id that it can't show is escaped."""
    scratch.items("café")
    scratch.run("run", "--items", "i", "false")
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    terminal = Terminal(scratch, "status", **locale)
    assert terminal.end() == 0 and terminal.seen.isascii() and b"@" in terminal.seen and b"caf\\xe9" in terminal.seen


def test_a_job_without_any_attempt_has_no_picture(scratch: Scratch) -> None:
    """And nothing breaks."""
    scratch.run("mark", "failed", "--id", "a", "--job", "sh")
    terminal = Terminal(scratch, "status")
    assert terminal.end() == 0 and b"1 failed: hand, such as a" in terminal.seen and b"durations" not in terminal.seen


def test_durations_fall_into_doubling_buckets_and_the_slowest_are_kept() -> None:
    """Ten, the slowest first, however many there are."""
    survey, _ = surveyed(*(end(f"i{ms}", ms, 0) for ms in [*range(1, 1001), 0, 1 << 70]))
    assert survey.durations[:11] == [1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 489] and survey.durations[63] == 1
    assert survey.slowest() == [(1 << 70, b"i%d" % (1 << 70))] + [(ms, b"i%d" % ms) for ms in range(1000, 991, -1)]


def test_throughput_is_that_of_the_last_run_in_parts_of_equal_length() -> None:
    """Per second; what earlier runs did is not in it."""
    run = Record("run", (), (), {"run": 1, "bad": 0})
    survey, _ = surveyed(run, end("x", 1, 1000), run, *(end(f"i{n}", 1, 5000 + n // 2) for n in range(40)))
    assert survey.throughput(72) == ([2.0] * 20, 5000, 1)
    assert survey.throughput(7) == ([2.0] * 6 + [4 / 3], 5000, 3)
    assert Survey().throughput(72)[0] == []


def test_a_year_of_work_takes_no_more_room_than_a_minute() -> None:
    """Seconds become minutes, hours, days."""
    survey, _ = surveyed(*(end(f"i{n}", 1, 86400.0 * n / 20) for n in range(20 * 365)))
    assert len(survey._moments) <= MOMENTS
    rates, began, length = survey.throughput(400)
    assert began == 0 and length == 86400 and round(sum(rates) * length) == 20 * 365


def test_failures_are_counted_by_their_last_reason_and_only_if_they_stand() -> None:
    """What was done later, or reset, has not failed; the example is one whose stderr was kept."""
    failed = [end(f"i{n}", 1, 0, "failed", why="exit", text="exit 1") for n in range(3 * EXAMPLES)]
    kept = [end("k", 1, 0, "failed", why="exit", text="exit 1", err=[5, 7, "00000000"])]
    others = [end("t", 9, 0, "failed", why="timeout", text="after 3s"), end("u", 9, 0, "failed", why="timeout", text="after 4s")]
    undone = [end("i0", 1, 0), Record("reset", (b"i1",)), end("u", 1, 0, "failed", why="signal", text="signal 11")]
    survey, ledger = surveyed(*failed, *kept, *others, *undone)
    groups = list(survey.groups(ledger))
    assert [(group.reason, group.size) for group in groups] == [("exit 1", 3 * EXAMPLES - 1), ("timeout", 1), ("signal 11", 1)]
    assert groups[0].example == b"k" and groups[0].err is not None and groups[0].err.length == 7


def test_a_list_is_compared_with_the_journal(scratch: Scratch) -> None:
    """How much of it is there, how much is new, how much of the journal it does not have."""
    scratch.items("a", "b", "c")
    scratch.run("run", "--items", "i", "true")
    scratch.items("b", "c", "d", "e", "f", "b", name="mine")
    text = scratch.run("status", "--items", "mine").out.decode()
    assert "  2 of your 5 are in the journal, 3 new, 1 not in this list\n" in text
    assert "5 items: 2 done, 3 new" in text


def test_a_terminal_of_any_width_gets_its_answer(scratch: Scratch) -> None:
    scratch.items("a", "b")
    scratch.run("run", "-a", "i", "true")
    for width in "123":
        assert Terminal(scratch, "status", "true", COLUMNS=width).end() == 0
