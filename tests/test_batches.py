"""What a batch's end says of each of its items, and what it gets to know of them (SPEC 4)."""

from __future__ import annotations

import json

import pytest
from batches import WORK, Batches, script
from conftest import Scratch

REPORT = ("--batch-results", "report")
SAYS = """
for item in items:
    note("effects", item["id"])
    if item["id"] == "item-0003":
        report(item["id"], "failed", error="too sour")
    elif item["id"] != "item-0004":
        report(item["id"])
"""


def test_by_default_the_exit_decides_for_all(batches: Batches) -> None:
    """Every one of the ids is an argument; a batch that failed goes on item by item in the next run."""
    batches.ids(4)
    command = ("sh", "-c", 'echo "$@" >>effects; [ -e up ] || case "$*" in *3*) exit 9;; esac', "_", "{}")
    first = batches.run("-a", "i", "-n", "2", *command)
    assert first.code == 1 and "failed item-0003 and 1 more of its batch: exit 9" in first.err
    assert batches.scratch.effects() == ["item-0001 item-0002", "item-0003 item-0004"]
    (batches.scratch.path / "up").touch()
    assert batches.run("-a", "i", "-n", "2", *command).code == 0
    assert batches.scratch.effects()[2:] == ["item-0003", "item-0004"]


def test_each_item_is_what_was_reported_of_it(batches: Batches) -> None:
    """Done, failed with its reason, and what nothing was said about is failed too: never done."""
    batches.ids(5)
    ended = batches.run("-a", "i", "-n", "5", *REPORT, *script(batches.scratch, SAYS))
    assert ended.code == 1 and "failed item-0003: too sour" in ended.err
    assert "failed item-0004: not reported by its batch" in ended.err
    assert batches.scratch.counts("b") | {"done": 3, "failed": 2} == batches.scratch.counts("b")
    assert {one["id"]: one["why"] for one in batches.records("failed")} == {"item-0003": "error", "item-0004": "not-reported"}
    again = batches.run("-a", "i", "-n", "5", *REPORT, *script(batches.scratch, WORK))
    assert again.code == 0 and batches.starts()[1:] == [["item-0003"], ["item-0004"]]


def test_the_same_lines_may_stand_on_standard_output(batches: Batches) -> None:
    """Other lines stand between them as they like, and all of it is printed and kept."""
    batches.ids(3)
    body = "for item in items[:2]:\n    print('at work')\n    print(json.dumps({'id': item['id'], 'status': 'done'}))\n"
    ended = batches.run("-a", "i", "-n", "3", "--batch-results", "stdout", *script(batches.scratch, body))
    assert ended.code == 1 and ended.out.count("at work\n") == 2
    assert [one["id"] for one in batches.records("done")] == ["item-0001", "item-0002"]
    assert [one["why"] for one in batches.records("failed")] == ["not-reported"]


@pytest.mark.parametrize("way", ["report", "stdout"])
def test_a_batch_that_ends_well_and_reports_nothing_has_done_nothing(batches: Batches, way: str) -> None:
    batches.ids(4)
    ended = batches.run("-a", "i", "-n", "2", "--batch-results", way, "true")
    assert ended.code == 1 and not batches.records("done")
    assert {one["why"] for one in batches.records("failed")} == {"not-reported"}


def test_what_was_reported_counts_though_the_batch_failed_or_was_killed(batches: Batches) -> None:
    """The rest of a failed batch has failed; the rest of a killed one was cut off."""
    for job, last, why in (("x", "sys.exit(7)", "not-reported"), ("y", "os.kill(os.getpid(), signal.SIGKILL)", "killed")):
        batches.ids(4)
        body = f"for item in items[:2]:\n    report(item['id'])\n{last}\n"
        ended = batches.run("--job", job, "-a", "i", "-n", "4", *REPORT, *script(batches.scratch, body))
        records = batches.scratch.records(job, "done", "failed", "cut_off")
        assert ended.code == 1 and [one["t"] for one in records[:2]] == ["done", "done"]
        assert [one["why"] for one in records[2:]] == [why, why]


def test_an_id_that_was_not_in_the_batch_is_named_and_changes_nothing(batches: Batches) -> None:
    batches.ids(4)
    body = "report('item-0004'); report('nobody')\n" + WORK
    ended = batches.run("-a", "i", "-n", "2", "--max-items", "2", *REPORT, *script(batches.scratch, body))
    assert "the batch reported on item-0004, nobody, which it was not given" in ended.err
    assert [one["id"] for one in batches.records("done")] == ["item-0001", "item-0002"]
    assert batches.scratch.counts("b")["new"] == 2


def test_the_last_word_counts_and_what_is_no_report_says_nothing(batches: Batches) -> None:
    """Torn, foreign and wrong lines are passed over; numbers are ids too; an unknown status is none."""
    batches.scratch.items("1", "2", "3", "4")
    body = """
out = os.environ["RESUMECTL_REPORT"]
for line in ('{"id":"1","status":"failed"}', '{"id":1,"status":"done"}', '[1]', 'null', '{"id":["2"],"status":"done"}',
             '{"id":"2","status":"perhaps"}', '{"status":"done"}', '{"id":{"b64":"!"},"status":"done"}',
             '{"id":{"b64":"Mw=="},"status":"done"}', '{"id":"4","status":"done"'):
    note(out, line)
"""
    batches.run("-a", "i", "-n", "4", *REPORT, *script(batches.scratch, body))
    assert [one["id"] for one in batches.records("done")] == ["1", "3"]
    assert [one["id"] for one in batches.records("failed")] == ["2", "4"]


def test_the_items_file_has_ids_keys_attempts_positions_and_fields(batches: Batches) -> None:
    """The variables of a single item are not there, whoever had set them."""
    batches.scratch.write("r.jsonl", '{"n":{"id":7},"price":1.5,"key":"mine"}\n{"n":{"id":"é"}}\n')
    body = """
print(json.dumps(items))
print(sorted(name for name in os.environ if name.startswith("RESUMECTL_")))
sys.exit(os.path.exists("bad"))
"""
    words = ("-a", "r.jsonl", "--format", "jsonl", "--key", "n.id", "-n", "2", *script(batches.scratch, body))
    (batches.scratch.path / "bad").touch()
    first = batches.run(*words)
    (batches.scratch.path / "bad").unlink()
    second = batches.run(*words)
    items, names = first.out.splitlines()
    seven, e = json.loads(items)
    assert seven["id"] == "7" and seven["price"] == 1.5 and (seven["attempt"], seven["index"]) == (1, 1)
    assert e["id"] == "é" and e["index"] == 2 and seven["key"] != e["key"] and len(seven["key"]) == 36
    assert names == str(
        ["RESUMECTL_" + name for name in ("ATTEMPT_UUID", "ITEMS_FILE", "JOB", "JOURNAL", "SLOT")]
    )
    alone = json.loads(second.out.splitlines()[0])
    assert [one["key"] for one in alone] == [seven["key"]] and alone[0]["attempt"] == 2 and second.code == 0


def test_a_reported_item_is_verified_like_any_other(batches: Batches) -> None:
    """--verify is asked about each item that was reported done."""
    batches.ids(3)
    ended = batches.run("-a", "i", "-n", "3", *REPORT, "--verify", "test {} != item-0002", *script(batches.scratch, WORK))
    assert ended.code == 1 and [one["id"] for one in batches.records("failed")] == ["item-0002"]
    assert batches.records("failed")[0]["why"] == "verify"


def test_a_limit_holds_what_was_not_reported_and_charges_nobody(batches: Batches) -> None:
    """Exit 75 of the batch after two reports: two are done, the others are as new as before."""
    batches.ids(6)
    body = "for item in items[:2]:\n    report(item['id'])\nsys.exit(75)\n"
    ended = batches.run("-a", "i", "-n", "4", *REPORT, *script(batches.scratch, body))
    assert ended.code == 75 and len(batches.records("done")) == 2 and not batches.records("failed")
    assert batches.scratch.counts("b") | {"new": 4, "done": 2} == batches.scratch.counts("b")


def test_one_failure_of_a_large_batch_is_one_in_the_row(batches: Batches) -> None:
    """Twenty items that failed together do not stop a run that would go on after one failure."""
    batches.ids(60)
    command = ("sh", "-c", 'echo $# >>effects; [ "$1" != item-0001 ]', "_", "{}")
    ended = batches.run("-a", "i", "-n", "20", *command)
    assert ended.code == 1 and batches.scratch.effects() == ["20", "20", "20"]
    stopped = batches.run("-a", "i", "-n", "20", "--max-failures", "1", *command)
    assert stopped.code == 3 and batches.scratch.effects()[3:] == ["1"]


def test_a_slow_answer_to_a_large_batch_is_one_slow_answer(batches: Batches) -> None:
    batches.ids(12)
    slow = 'echo $# >>effects; [ -e up ] || { touch up; echo slow down; exit 1; }'
    options = ("--slow", "text:slow down", "--retry-delay", "1ms")
    ended = batches.run("-a", "i", "-n", "12", *options, "sh", "-c", slow, "_", "{}")
    assert ended.code == 0 and batches.scratch.effects() == ["12", "12"]
    assert {one["why"] for one in batches.records("uncharged")} == {"slow"}


def test_a_batch_costs_what_it_costs_once(batches: Batches) -> None:
    """The lines share it, the sums add up, and a budget is used up by it and not by five times as much."""
    batches.ids(6)
    options = ("--cost", "usd", "--sum", "in=tokens", "--max-cost", "2.5")
    ended = batches.run("-a", "i", "-n", "2", *options, "sh", "-c", "echo '{\"usd\":1,\"tokens\":10}'", "_")
    assert ended.code == 0 and "cost 3, in 30" in ended.err
    assert [one["cost"] for one in batches.records("done")] == [0.5] * 6
    assert batches.scratch.run("status", "--json", "b").out.count(b'"total":3.0')


def test_an_unreported_item_of_a_batch_has_its_share_of_the_cost(scratch: Scratch, batches: Batches) -> None:
    batches.ids(2)
    body = "report(items[0]['id'])\nprint(json.dumps({'usd': 4}))\n"
    batches.run("-a", "i", "-n", "2", "--cost", "usd", *REPORT, *script(scratch, body))
    assert [one["cost"] for one in batches.records("done", "failed")] == [2.0, 2.0]
