"""Which items share a process, how they get there, and what becomes of what it prints (SPEC 4)."""

from __future__ import annotations

import json
import os
import sys

import pytest
from batches import Batches, script
from conftest import PATIENCE, Scratch, until

COUNT = ("sh", "-c", "echo $#", "_", "{}")
ECHO = ("echo",)


def test_the_ids_stand_where_the_placeholder_is_and_else_at_the_end(batches: Batches) -> None:
    batches.scratch.items("a b", "it's", "$(c)")
    for words, expected in (
        (("printf", "%s,", "{}", "end"), "a b,it's,$(c),end,"),
        (("printf", "%s,"), "a b,it's,$(c),"),
        (("-I", "XX", "printf", "%s,", "XX", "{}"), "a b,it's,$(c),{},"),
        (("--shell", "for i in {}; do printf %s, \"$i\"; done"), "a b,it's,$(c),"),
        (("--shell", "printf %s, {} | tr a A"), "A b,it's,$(c),"),
    ):
        assert batches.run("--fresh", "-a", "i", "-n", "5", *words).out == expected, words


def test_pending_items_form_the_batches_and_their_size_is_no_part_of_the_job(batches: Batches) -> None:
    """What is done leaves no gap in them; -n may change from run to run."""
    ids = batches.ids(10)
    assert batches.run("-a", "i", "-n", "3", "--max-items", "4", *COUNT).code == 75
    assert batches.run("-a", "i", "-n", "5", *COUNT).code == 0
    assert batches.starts() == [ids[:3], ids[3:4], ids[4:9], ids[9:]]


def test_a_stream_starts_with_what_is_there_and_then_fills_its_batches(batches: Batches) -> None:
    """The first line does not wait for four more; what comes while that runs is one batch."""
    scratch = batches.scratch
    read, write = os.pipe()
    body = "note('effects', str(len(items)))\nif len(items) == 1: gate()\n"
    process = scratch.start("run", "--job", "b", "-n", "5", *script(scratch, body), stdin=read)
    os.close(read)
    os.write(write, b"first\n")
    until(lambda: scratch.effects() == ["1"])
    kept = scratch.journal("b").with_suffix(".items")
    for n in range(5):
        os.write(write, b"%d\n" % n)
        until(lambda n=n: kept.read_bytes().endswith(b"%d\n" % n))
    (scratch.path / "go").touch()
    until(lambda: scratch.effects() == ["1", "5"])
    os.close(write)
    assert process.wait(PATIENCE) == 0


def test_a_batch_is_made_smaller_when_its_arguments_would_grow_too_long(batches: Batches) -> None:
    """As often as the placeholder stands there; in a script all of them are one argument of 128 KiB."""
    long = [f"{n:03}" + "x" * 50_000 for n in range(120)]
    batches.scratch.items(*long)
    room = os.sysconf("SC_ARG_MAX") // 50_012
    for job, words, most in (
        ("one", ("sh", "-c", "exit 0", "_", "{}"), room),
        ("two", ("sh", "-c", "exit 0", "_", "{}", "{}"), room // 2),
        ("env", ("sh", "-c", "test $# -gt 0", "_"), room),
        ("shell", ("--shell", "test -n {}"), 2),
    ):
        words = ("--shell", "set -- {}; exit 0") if job == "shell" else words
        assert batches.run("--job", job, "--no-keep", "-a", "i", "-n", "1000", *words).code == 0, job
        counts = [len(one.get("ids", "x")) for one in batches.scratch.records(job, "started")]
        assert max(counts[:-1]) <= most and min(counts[:-1]) >= most - 3, (job, counts)


def test_short_ids_are_counted_with_their_quotes_and_their_places_in_the_table(batches: Batches) -> None:
    ids = [str(n) for n in range(20_000)]
    batches.scratch.items(*ids)
    for job, words in (("q", ("--shell", "set -- {}; echo $#")), ("t", ("sh", "-c", "echo $#", "_", *["{}"] * 8))):
        ended = batches.run("--job", job, "--sync", "none", "-a", "i", "-n", "20000", *words)
        times = 1 if job == "q" else 8
        assert ended.code == 0 and sum(map(int, ended.out.split())) == times * len(ids)


def test_an_item_that_no_argument_can_hold_hurts_nobody(batches: Batches) -> None:
    """Too long, or with a NUL inside: it fails as spawn, alone; --stdin items takes what is too long."""
    batches.scratch.items("a", "x" * 200_000, b"nu\0l", "b", "c")
    for how in ("exit", "report"):
        ended = batches.run("--job", how, "-a", "i", "-n", "5", "--batch-results", how, "sh", "-c", REPORT_ALL, "_")
        failed = batches.scratch.records(how, "failed")
        assert ended.code == 1 and {one["why"] for one in failed} == {"spawn"} and len(failed) == 2
        assert "NUL" in ended.err and "128 KiB" in ended.err
        assert len(batches.scratch.records(how, "done")) == 3
    ended = batches.run("--job", "in", "-a", "i", "-n", "5", "--stdin", "items", "sh", "-c", "echo $#; wc -l", "_")
    assert ended.code == 0 and ended.out.split() == ["0", "5"]


REPORT_ALL = """[ -z "$RESUMECTL_REPORT" ] || for i; do printf '{"id":"%s","status":"done"}\\n' "$i"; done >>"$RESUMECTL_REPORT" """


def test_items_or_their_records_can_be_read_one_a_line(batches: Batches) -> None:
    batches.scratch.items("a", "b", "c")
    assert batches.run("-a", "i", "-n", "2", "--stdin", "items", "cat").out == "a\nb\nc\n"
    batches.scratch.write("r.csv", 'id,say\n1,"two\nlines"\n2,x\n')
    ended = batches.run("--job", "r", "-a", "r.csv", "--format", "csv", "--key", "id", "-n", "9", "--stdin", "items", "cat")
    assert [json.loads(line) for line in ended.out.splitlines()] == [{"id": "1", "say": "two\nlines"}, {"id": "2", "say": "x"}]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["echo", "x{}"], "{} stands inside a longer argument"),
        (["--shell", "echo 'x {}'"], "{} stands inside a longer argument"),
        (["echo", "{key}"], "{key}"),
        (["echo", "{attempt}"], "{attempt}"),
        (["echo", "{#}"], "{#}"),
        (["echo", "{.}"], "{.}"),
        (["--out", "o/{}", "echo"], "--out"),
        (["--err", "o/{}", "echo"], "--err"),
        (["-I", "X", "echo", "aX"], "X stands inside a longer argument"),
        (["--stdin", "item", "--batch-results", "perhaps", "cat"], "perhaps"),
        (["-n", "0", "cat"], "--batch"),
    ],
)
def test_what_belongs_to_one_item_is_refused_before_anything_runs(batches: Batches, words: list[str], named: str) -> None:
    batches.scratch.items("a", "b")
    ended = batches.run("-a", "i", "-n", "2", *words)
    assert ended.code == 2 and named in ended.err and "Traceback" not in ended.err
    assert not (batches.scratch.path / ".resumectl").exists()


def test_output_is_kept_once_printed_once_and_results_name_all_its_ids(batches: Batches) -> None:
    """On the first run, and as often as --replay prints it again."""
    batches.scratch.items("a", "b", "c")
    for _ in range(3):
        ended = batches.run("-a", "i", "-n", "2", "--replay", "-k", *ECHO)
        assert (ended.code, ended.out) == (0, "a b\nc\n")
    assert batches.scratch.journal("b").with_suffix(".out").read_bytes() == b"a b\nc\n"
    text = batches.scratch.run("results", "b")
    assert (text.code, text.out) == (0, b"a b\nc\n")
    lines = [json.loads(line) for line in batches.scratch.run("results", "b", "--format", "jsonl").out.splitlines()]
    assert [(one.get("ids", one.get("id")), one["stdout"]) for one in lines] == [(["a", "b"], "a b\n"), ("c", "c\n")]
    assert batches.scratch.run("results", "b", "--format", "dir", "--to", "d").code == 0
    assert sorted(os.listdir(batches.scratch.path / "d")) == ["a", "c"]
    assert batches.scratch.run("results", "b", "--id", "b").out == b"a b\n"


def test_in_list_order_a_batch_stands_where_its_first_item_does(batches: Batches) -> None:
    """Though the second batch ends first; a slot that has ended goes on."""
    batches.ids(6)
    body = """
note("effects", items[0]["id"])
if items[0]["index"] == 1:
    while len(open("effects").read().split()) < 3: time.sleep(0.01)
print(*(item["id"] for item in items))
"""
    ended = batches.run("-a", "i", "-n", "2", "-j", "2", "-k", *script(batches.scratch, body))
    assert ended.out == "item-0001 item-0002\nitem-0003 item-0004\nitem-0005 item-0006\n"


def test_a_run_over_batches_says_what_a_run_over_items_says(scratch: Scratch, batches: Batches) -> None:
    """A dry run shows the items and starts nothing; `status` counts items."""
    batches.ids(5)
    dry = batches.run("-a", "i", "-n", "2", "--dry-run", sys.executable, "-c", "pass")
    assert dry.code == 0 and "5 new: would run" in dry.err and not scratch.path.joinpath(".resumectl").exists()
    assert batches.run("-a", "i", "-n", "2", "-j", "2", "true").code == 0
    assert scratch.counts("b") | {"done": 5, "total": 5} == scratch.counts("b")
