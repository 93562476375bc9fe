"""Why is it so, and what would the next run do: told by the rules that the run itself goes by (SPEC 3)."""

from __future__ import annotations

import json

import pytest
from conftest import Quick, until
from faults import HOLD, opened

TALK = 'echo "$1 $RESUMECTL_KEY" >>effects; echo out; seq 20 >&2; case "$1" in f*) exit 3;; c*) kill -9 $$;; esac'
TELL = ("sh", "-c", TALK, "_", "{}")
LAST = "next run "


def next_run(quick: Quick, id: str, *words: str) -> str:
    """What `explain` says that the next run does."""
    return quick.run("explain", id, *words).out.decode().splitlines()[-1].strip().removeprefix(LAST)


def test_an_items_story_is_told(quick: Quick) -> None:
    """Its state and key, each attempt with its time and end, the last failure's last words, what comes next."""
    quick.items("a", "f")
    for _ in range(2):
        quick.run("run", "--items", "i", *TELL)
    told = quick.run("explain", "f")
    lines = told.out.decode().splitlines()
    key = quick.effects()[-1].split()[1]
    assert told.code == 0 and lines[0] == "f: failed" and key in lines[2]
    assert "2 failed" in lines[3]
    assert [line.split("  ")[3].split(",")[0] for line in lines[4:6]] == ["attempt 1", "attempt 2"]
    assert all("failed: exit 3, " in line for line in lines[4:6])
    assert lines[6].strip().startswith("its last failure's stderr")
    assert [line.strip() for line in lines[7:17]] == [f"| {n}" for n in range(11, 21)]
    assert next_run(quick, "f") == "runs it behind all others, fewest attempts first: it failed; attempts that count: 2"
    assert next_run(quick, "a").startswith("skips it: it is done")


def test_what_comes_next_is_what_comes(quick: Quick) -> None:
    """For each state and policy: the last run's options are asked, and what it says is what the next run does."""
    quick.items("a", "f", "c", "n")
    verify = ("--verify", 'test {} = c && test -e "$RESUMECTL_ITEM"')
    for options, f, c in [
        ((), "runs it behind", "runs it in its place"),
        (("--failed", "skip"), "leaves it", "runs it behind"),
        (("--failed", "only"), "runs it", "leaves it"),
        (verify, "runs it", "asks --verify"),
        (("--max-attempts", "2"), "skips it: it is parked after", "skips it: it is parked after"),
    ]:
        quick.run("run", "--items", "i", "--max-items", "3", *options, *TELL)
        assert next_run(quick, "f").startswith(f), options
        assert next_run(quick, "c").startswith(c), options
    quick.run("reset", "--id", "f", "--id", "c", "--yes")
    assert next_run(quick, "c") == "runs it in its place in the list: it is new again after 3 attempts"
    quick.run("run", "--items", "i", "--max-attempts", "9", *TELL)
    quick.run("run", "--items", "i", "--cut-off", "hold", "--max-items", "1", *TELL)
    assert next_run(quick, "c") == "skips it: it is parked, for a person to decide (mark done, or reset --id)"


def test_the_last_runs_list_is_asked_too(quick: Quick) -> None:
    """What it has and the journal has not is new; what it has not is left; what neither has is an error."""
    quick.items("a", "f", "n")
    quick.run("run", "--items", "i", "--max-items", "2", *TELL)
    assert next_run(quick, "n") == "runs it in its place in the list: it has not been run"
    unknown = quick.run("explain", "x\x1b[1m")
    assert unknown.code == 2 and unknown.out == b"" and unknown.err.count("\n") == 1 and "x\\x1b[1m is neither" in unknown.err
    quick.items("a", "n")
    assert next_run(quick, "f").startswith("leaves it: it is not in the last run's list")
    (quick.path / "i").unlink()
    assert next_run(quick, "f").startswith("runs it behind all others")
    assert quick.run("explain", "n").code == 2


def test_what_runs_is_said_to_run_and_what_a_kill_left_to_run_again(quick: Quick) -> None:
    quick.items("a", "b")
    process = quick.start("run", "--items", "i", *HOLD)
    until(lambda: quick.lines("begun"))
    running = quick.run("explain", "a").out.decode()
    assert running.startswith("a: running") and "attempt 1, running" in running and "finds it running" in running
    assert json.loads(quick.run("export", "--format", "jsonl").out)["state"] == "running"
    process.kill()
    process.wait()
    opened(quick)
    left = quick.run("explain", "a").out.decode()
    assert left.startswith("a: cut off") and "no end was recorded" in left and "runs it in its place in the list" in left


def test_a_persons_word_and_a_compacted_past_are_told_as_such(quick: Quick) -> None:
    quick.items("f")
    quick.run("run", "--items", "i", *TELL)
    quick.run("mark", "done", "--id", "f")
    assert "done: by hand" in quick.run("explain", "f").out.decode()
    quick.run("mark", "failed", "--id", "f")
    quick.run("compact")
    told = quick.run("explain", "f").out.decode()
    assert "hand" in told and "compacted, 2 failures" in told and "| 20" in told


def several(quick: Quick, count: int) -> None:
    for n in range(count):
        quick.run("mark", "done", "--id", "a", "--journal", f".resumectl/j{n}.jsonl")


VERBS = [["log"], ["log", "-f"], ["explain", "a"], ["check"], ["compact"], ["export"]]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_which_job_is_meant_is_never_guessed(quick: Quick, verb: list[str]) -> None:
    """With no job, with several, with a name that is none: exit 2 and one line that says so."""
    for words, said in (verb, "no journal in"), ([*verb, "--job", "x"], "no journal at"):
        refused = quick.run(*words)
        assert refused.code == 2 and said in refused.err and refused.err.count("\n") == 1
    several(quick, 3)
    refused = quick.run(*verb)
    assert refused.code == 2 and "j0, j1, j2" in refused.err and refused.err.count("\n") == 1
    if "-f" not in verb:
        assert quick.run(*verb, "--job", "j1").code == 0


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_each_command_has_a_help_with_an_example(quick: Quick, verb: list[str]) -> None:
    for word in "-h", "--help":
        told = quick.run(verb[0], word)
        assert told.code == 0 and b"Example: resumectl" in told.out


def test_export_has_a_row_for_each_item(quick: Quick) -> None:
    """As CSV, whose ids are the bytes that they are, and as JSON lines; the cost is that of all attempts."""
    cost = ("--cost", "usd", "--json-pick", "type=r", "--ok", "code:0")
    pay = ("sh", "-c", 'echo "{\\"type\\":\\"r\\",\\"usd\\":0.25}"; case "$1" in f*) exit 3;; esac', "_", "{}")
    quick.items('a,"b"', "f", b"\xff")
    for _ in range(2):
        quick.run("run", "--items", "i", *cost, *pay)
    table = quick.run("export")
    rows = table.out.split(b"\n")
    assert rows[0] == b"id,state,attempts,failures,cut_offs,ended,why,rc,ms,cost"
    assert rows[1].startswith(b'"a,""b""",done,1,0,0,2') and rows[3].startswith(b"\xff,done,") and len(rows) == 5
    found = [json.loads(line) for line in quick.run("export", "sh", "--format", "jsonl").out.splitlines()]
    assert [(row["id"], row["cost"]) for row in found] == [('a,"b"', 0.25), ("f", 0.5), ({"b64": "/w=="}, 0.25)]
    assert (found[1]["state"], found[1]["attempts"], found[1]["why"], found[1]["rc"]) == ("failed", 2, "exit", 3)
    quick.run("compact")
    assert quick.run("export").out == table.out
