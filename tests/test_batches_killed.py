"""A batch that is killed, or whose run is: what was reported counts, the rest is repeated, nothing is left lying about (SPEC 4)."""

from __future__ import annotations

import random
import signal
from uuid import UUID

import pytest
from batches import WORK, Batches, script
from conftest import PATIENCE, Scratch, until
from faults import named, opened
from warm import Warm

from resumectl.run import key_for

REPORT = ("--batch-results", "report")
ONCE = "first = not os.path.exists('crashed')\n"
# Dies with the whole run at the third item of a batch, the first time.
DIES = (
    ONCE
    + """
for at, item in enumerate(items, 1):
    if at == 3 and first:
        note("crashed", "")
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    note("effects", item["id"])
    report(item["id"])
"""
)


def test_a_batch_of_twelve_that_dies_at_its_third_item_redoes_only_what_was_not_reported(batches: Batches) -> None:
    """What the killed batch had reported is done when the next run begins, and announced is only the rest."""
    ids = batches.ids(12)
    words = ("-a", "i", "-n", "12", *REPORT, *script(batches.scratch, DIES))
    assert batches.run(*words).code == -signal.SIGKILL
    assert len(batches.papers()) == 2
    again = batches.run(*words)
    assert again.code == 0 and batches.scratch.effects() == ids
    assert "12 items: 2 done, 10 cut off" in again.err and "cut off before: item-0003" in again.err
    assert batches.starts() == [ids, ids[2:]] and batches.papers() == []
    assert [one.get("reported") for one in batches.records("done")[:2]] == [True, True]


def test_a_torn_report_of_a_killed_batch_is_no_report(batches: Batches) -> None:
    """Half a line, as a crash leaves it, makes nothing done."""
    ids = batches.ids(4)
    torn = "note(os.environ['RESUMECTL_REPORT'], '{\"id\":\"item-0003\",\"sta')\n"
    body = DIES.replace("        os.kill(os.getppid()", f"        {torn}        os.kill(os.getppid()", 1)
    words = ("-a", "i", "-n", "4", *REPORT, *script(batches.scratch, body))
    assert batches.run(*words).code == -signal.SIGKILL
    assert batches.run(*words).code == 0 and batches.starts()[1] == ids[2:]


def test_what_stood_on_standard_output_counts_after_a_crash_too(batches: Batches) -> None:
    body = DIES.replace('report(item["id"])', 'print(json.dumps({"id": item["id"], "status": "done"}), flush=True)')
    ids = batches.ids(5)
    words = ("-a", "i", "-n", "5", "--batch-results", "stdout", *script(batches.scratch, body))
    assert batches.run(*words).code == -signal.SIGKILL
    assert batches.run(*words).code == 0 and batches.scratch.effects() == ids and batches.starts()[1] == ids[2:]


def test_a_failure_that_was_reported_before_the_crash_stays_one(batches: Batches) -> None:
    """It runs alone from then on, like any that failed."""
    body = DIES.replace('report(item["id"])', 'report(item["id"], "failed" if first and at == 1 else "done", error="sour")')
    ids = batches.ids(4)
    words = ("-a", "i", "-n", "4", *REPORT, *script(batches.scratch, body))
    assert batches.run(*words).code == -signal.SIGKILL
    assert batches.run(*words).code == 0
    assert batches.starts() == [ids, ids[2:], ids[:1]]
    assert [(one["why"], one["text"]) for one in batches.records("failed")] == [("error", "sour")]


def test_without_reports_all_of_a_killed_batch_is_cut_off(batches: Batches) -> None:
    ids = batches.ids(4)
    words = ("-a", "i", "-n", "4", *script(batches.scratch, DIES.replace('    report(item["id"])\n', "")))
    assert batches.run(*words).code == -signal.SIGKILL
    assert batches.run(*words).code == 0 and batches.starts() == [ids, ids] and batches.papers() == []


def test_a_batch_that_outlives_its_killed_run_is_waited_for_and_its_report_is_read(scratch: Scratch, batches: Batches) -> None:
    """kill -9 of the run only: the orphan is named, ends, and what it reported meanwhile is not done again."""
    ids = batches.ids(5)
    body = "note('begun', str(os.getpid()))\nif len(items) == 3: gate()\n" + WORK
    words = ("run", "--job", "b", "-a", "i", "-n", "3", *REPORT, *script(scratch, body))
    process = scratch.start(*words)
    [pid] = until(lambda: scratch.lines("begun"))
    process.kill()
    process.wait()
    refused = scratch.run(*words[:3], "--orphan-wait", "0", *words[3:])
    assert refused.code == 4 and str(pid) in named(refused.err) and len(batches.papers()) == 2
    with open(scratch.path / "err", "wb") as err:
        process = scratch.start(*words, stderr=err)
    until(lambda: b"still live" in (scratch.path / "err").read_bytes())
    opened(scratch)
    assert process.wait(PATIENCE) == 0 and scratch.effects() == ids
    assert "5 items: 3 done, 2 new" in (scratch.path / "err").read_text()
    assert batches.starts() == [ids[:3], ids[3:]] and batches.papers() == []


def test_five_orders_in_one_batch_are_each_charged_once_by_their_keys(batches: Batches) -> None:
    """Killed after the third effect and before any report: all are sent again under the keys they had."""
    ids = batches.ids(5)
    body = (
        ONCE
        + """
book = open("book").read() if os.path.exists("book") else ""
for at, item in enumerate(items, 1):
    note("sent", item["key"])
    if item["key"] not in book:
        note("book", item["key"])
    if at == 3 and first:
        note("crashed", "")
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
for item in items:
    report(item["id"])
"""
    )
    words = ("-a", "i", "-n", "5", *REPORT, *script(batches.scratch, body))
    assert batches.run(*words).code == -signal.SIGKILL
    assert batches.run(*words).code == 0
    header = batches.records("header")[0]
    keys = [key_for(UUID(header["ns"]), id.encode()) for id in ids]
    assert batches.scratch.lines("sent") == [*keys[:3], *keys] and batches.scratch.lines("book") == keys


def test_what_is_poisoned_runs_alone_from_then_on_in_later_runs_too(batches: Batches) -> None:
    """Not one batch more is hurt by it: the others go on in batches, it stands behind them by itself."""
    ids = batches.ids(9)
    command = ("sh", "-c", 'case "$*" in *item-0002*) exit 1;; esac; for i; do echo $i >>effects; done', "_", "{}")
    assert batches.run("-a", "i", "-n", "3", *command).code == 1
    assert batches.starts() == [ids[:3], ids[3:6], ids[6:]]
    batches.scratch.items(*ids, "item-0010", "item-0011")
    for _ in range(2):
        assert batches.run("-a", "i", "-n", "3", *command).code == 1
    assert batches.starts()[3:] == [["item-0010", "item-0011"], ["item-0001"], ["item-0002"], ["item-0003"], ["item-0002"]]
    assert sorted(batches.scratch.effects()) == sorted({*ids, "item-0010", "item-0011"} - {"item-0002"})


def test_a_retry_in_the_same_run_is_alone_too(batches: Batches) -> None:
    """Also of an item that had been alone in its batch: its retry joins nobody."""
    ids = batches.ids(5)
    command = ("sh", "-c", 'case "$*" in *item-0005*) exit 1;; esac', "_", "{}")
    batches.run("-a", "i", "-n", "4", "--retries", "1", "--retry-delay", "1ms", *command)
    assert batches.starts() == [ids[:4], ids[4:], ids[4:]]
    batches.scratch.items("x")
    fails = ("sh", "-c", 'echo "$*" >>tried; [ "$*" != x ]', "_", "{}")
    batches.run("--job", "c", "-n", "4", "--retries", "1", "--retry-delay", "1ms", *fails, stdin="x\na\nb\n")
    assert batches.scratch.lines("tried") == ["x a b"]


def test_ctrl_c_lets_a_batch_end_and_a_second_one_keeps_what_it_had_reported(batches: Batches) -> None:
    """SIGINT to the run from the batch itself, as the terminal would."""
    ids = batches.ids(6)
    body = "os.kill(os.getppid(), signal.SIGINT)\n" + WORK
    assert batches.run("-a", "i", "-n", "2", *REPORT, *script(batches.scratch, body)).code == -signal.SIGINT
    assert batches.scratch.effects() == ids[:2] and batches.papers() == []
    twice = """
for item in items:
    if item["index"] == 4:
        os.kill(os.getppid(), signal.SIGINT)
        while "again stops" not in open("err").read():
            time.sleep(0.01)
        os.kill(os.getppid(), signal.SIGINT)
        signal.pause()
    report(item["id"])
"""
    ended = batches.run("-a", "i", "-n", "3", "--accept-command", *REPORT, *script(batches.scratch, twice, "twice.py"))
    assert ended.code == -signal.SIGINT
    assert [one["id"] for one in batches.records("done")] == ids[:3]
    assert [one["why"] for one in batches.records("cut_off")] == ["sigint", "sigint"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_two_hundred_items_interrupted_at_any_point_end_with_each_done_once(scratch: Scratch, warms: list[Warm], jobs: int) -> None:
    """Ctrl-C and SIGKILL by turns: no effect is repeated more often than the batches in flight allow."""
    batches = Batches(scratch, warms[0])
    ids, rng, crashes = batches.ids(200), random.Random(jobs), 0
    body = """
for item in items:
    note("effects", item["id"])
    if os.path.exists("strike"):
        number, after = open("strike").read().split()
        if len(open("effects").read().split()) >= int(after):
            os.unlink("strike") if os.path.exists("strike") else None
            os.kill(os.getppid(), int(number))
    report(item["id"])
"""
    words = ("-a", "i", "-n", "5", "-j", str(jobs), *REPORT, *script(scratch, body))
    while True:
        seen = len(scratch.effects())
        scratch.write("strike", f"{rng.choice((signal.SIGINT, signal.SIGKILL, signal.SIGKILL)).value} {seen + rng.randrange(1, 40)}")
        ended = batches.run(*words)
        if ended.code == 0:
            break
        crashes += 1
        assert ended.code in (-signal.SIGINT, -signal.SIGKILL)
        batches.warm.drain()
    assert crashes > 3 and sorted(set(scratch.effects())) == ids
    assert len(scratch.effects()) - len(ids) <= crashes * 5 * jobs
    done = [one["id"] for one in batches.records("done")]
    assert sorted(done) == ids and batches.papers() == []


def test_another_job_s_files_are_not_taken_for_papers(batches: Batches) -> None:
    """A job may be called like the papers of another one."""
    batches.ids(2)
    names = ("b.report.2024", "b.batch.x", "bb")
    for name in names:
        assert batches.run("--job", name, "-a", "i", "true").code == 0
    assert batches.run("-a", "i", "-n", "2", "true").code == 0
    assert all(batches.scratch.journal(name).exists() for name in names)
