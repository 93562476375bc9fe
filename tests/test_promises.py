"""What a run promises about every item, over any number of runs (SPEC 0, 2.4)."""

from __future__ import annotations

import shlex
import signal

import pytest
from conftest import APPEND, PATIENCE, Scratch, until
from faults import patched
from shell import continued, typed

# Writes a line with the id, the attempt and the key, then dies with its resumectl the first time it does `c`.
LEDGER = 'echo "$1 $RESUMECTL_ATTEMPT $RESUMECTL_KEY" >>effects; [ "$1" != c ] || [ -e crashed ] || { touch crashed; kill -9 $PPID; }'
CRASHING = ("sh", "-c", LEDGER, "_", "{}")
# Fails for every id that has no file of that name.
NEEDS_FILE = ("sh", "-c", 'echo "$1" >>effects; [ -e "$1" ]', "_", "{}")
SLOW = ("sh", "-c", 'echo "$1" >>effects; sleep 20', "_", "{}")
# The printing thread comes to its turn only when there is a file `go`.
LATE_PRINTER = """
import os, threading, time
run = threading.Thread.run
def late(thread):
    while thread.name == "printer" and not os.path.exists("go"):
        time.sleep(0.01)
    run(thread)
threading.Thread.run = late
"""


def crash(scratch: Scratch, *options: str) -> None:
    """A run that is killed while it does `c`, the second of three."""
    scratch.items("a", "c", "b")
    process = scratch.start("run", "--items", "i", *options, *CRASHING)
    assert process.wait(PATIENCE) == -signal.SIGKILL
    until(lambda: len(scratch.effects()) == 2)


def test_a_killed_run_loses_nothing_and_repeats_only_what_it_announces_with_the_same_key(scratch: Scratch) -> None:
    """An item between its effect and its record is told by its key, which no later run changes."""
    crash(scratch)
    assert scratch.counts() == dict(total=3, done=1, failed=0, cut_off=1, parked=0, new=1, running=0)
    again = scratch.run("run", "--items", "i", *CRASHING)
    assert again.code == 0
    assert "3 items: 1 done, 1 cut off, 1 new" in again.err and "cut off before: c\n" in again.err
    told = [line.split() for line in scratch.effects()]
    assert [line[:2] for line in told] == [["a", "1"], ["c", "1"], ["c", "2"], ["b", "1"]]
    assert told[1][2] == told[2][2] and len({line[2] for line in told}) == 3
    fresh = scratch.run("run", "--fresh", "--items", "i", *CRASHING)
    assert "archived " in fresh.err
    keys = {line.split()[0]: line.split()[2] for line in scratch.effects()}
    assert len({line.split()[2] for line in scratch.effects()}) == 3 == len(keys)


def test_a_repeat_is_announced_before_it_begins(scratch: Scratch) -> None:
    """So no death of the run can come between: what has an effect again was named, however late a thread comes to its turn."""
    crash(scratch)
    told = 'grep "^cut off" err >>seen; touch go'
    with (scratch.path / "err").open("wb") as err:
        words = ("run", "--accept-command", "--items", "i", "sh", "-c", told, "_", "{}")
        assert scratch.start(*words, stderr=err, env=patched(scratch, LATE_PRINTER)).wait(PATIENCE) == 0
    assert scratch.lines("seen") == ["cut off before: c"] * 2


def test_whoever_starts_a_run_learns_where_the_journal_is_and_what_will_happen(scratch: Scratch) -> None:
    """On standard error, before the first item; standard output has the commands' output only."""
    scratch.items("a", "b", "b", "", "c")
    first = scratch.run("run", "--items", "i", "echo")
    lines = first.err.splitlines()
    assert lines[0] == f"journal {scratch.journal('echo')} (new)"
    assert "3 items: 3 new" in lines and "1 duplicate left out" in lines and "1 empty line left out" in lines
    assert lines[-2:] == ["3/3 done (0 resumed, 3 completed)", f"journal {scratch.journal('echo')}"]
    assert first.out == b"a\nb\nc\n"
    scratch.items("c", "d")
    second = scratch.run("run", "--items", "i", "echo")
    assert second.out == b"d\n"
    assert "2 items: 1 done, 1 new" in second.err and "2 items of the journal not in this list" in second.err
    assert "2/2 done (1 resumed, 1 completed)" in second.err and "(new)" not in second.err


def test_identity_is_the_id_so_a_list_may_be_sorted_grown_and_cut(scratch: Scratch) -> None:
    """What is done is skipped wherever it stands; the rest runs in the order of the list."""
    scratch.items("1", "2")
    scratch.run("run", "--items", "i", *APPEND)
    scratch.items("5", "4", "2", "3", "1")
    assert scratch.run("run", "--items", "i", *APPEND).code == 0
    assert scratch.effects() == ["1", "2", "5", "4", "3"]


def test_failed_items_come_after_all_others_fewest_attempts_first(scratch: Scratch) -> None:
    """What is poisoned must not come first; --failed skip and only choose among them."""
    scratch.items("p", "q", name="i")
    scratch.run("run", "--items", "i", *NEEDS_FILE)
    scratch.items("p", "r", name="i")
    scratch.run("run", "--items", "i", *NEEDS_FILE)  # p has failed twice now, q and r once
    scratch.items("p", "q", "new", "r", name="i")
    scratch.write("effects", b"")
    assert scratch.run("run", "--items", "i", "--failed", "skip", "--max-items", "1", *NEEDS_FILE).code == 1
    assert scratch.effects() == ["new"]
    scratch.write("effects", b"")
    scratch.items("p", "q", "newer", "r", name="i")
    scratch.run("run", "--items", "i", *NEEDS_FILE)
    assert scratch.effects() == ["newer", "q", "r", "p"]
    for name in "pqr":
        scratch.write(name, b"")
    scratch.items("p", "q", "latest", "r", name="i")
    scratch.write("effects", b"")
    assert scratch.run("run", "--items", "i", "--failed", "only", *NEEDS_FILE).code == 75
    assert scratch.effects() == ["q", "r", "p"]


def test_max_attempts_holds_an_item_over_several_runs_until_it_is_raised(scratch: Scratch) -> None:
    """Held items are skipped and counted, the exit is not 0, and a run without the option leaves them held."""
    scratch.items("a")
    options = ("run", "--items", "i", "--max-attempts")
    assert scratch.run(*options, "2", *NEEDS_FILE).code == 1
    assert scratch.run(*options, "2", *NEEDS_FILE).code == 1
    assert scratch.has(parked=1)
    held = scratch.run("run", "--items", "i", *NEEDS_FILE)
    assert held.code == 1 and "1 parked" in held.err and len(scratch.effects()) == 2
    assert scratch.run(*options, "3", *NEEDS_FILE).code == 1
    assert len(scratch.effects()) == 3
    scratch.write("a", b"")
    assert scratch.run(*options, "9", *NEEDS_FILE).code == 0
    assert [r["a"] for r in scratch.records("sh", "started")] == [1, 2, 3, 4]


def test_cut_off_hold_never_repeats_a_step(scratch: Scratch) -> None:
    """The item stays held whatever the next run's flags, until a person says so."""
    crash(scratch)
    for options in (["--cut-off", "hold"], []):
        held = scratch.run("run", "--items", "i", *options, *CRASHING)
        assert held.code == 1 and "1 parked" in held.err
    assert [line[0] for line in scratch.effects()] == ["a", "c", "b"]
    assert scratch.run("mark", "new", "--id", "c").code == 0
    assert scratch.run("run", "--items", "i", *CRASHING).code == 0


@pytest.mark.parametrize(("answer", "code", "state", "repeats"), [(0, 0, "done", 1), (1, 0, "done", 2), (7, 1, "parked", 1)])
def test_cut_off_verify_asks_whether_the_effect_is_in_place(scratch: Scratch, answer: int, code: int, state: str, repeats: int) -> None:
    """0: recorded done and not run; 1: run; anything else: unknown, so held."""
    crash(scratch)
    # Only `c` was cut off and is asked about before it runs; after a run every item is in place.
    verify = f'[ {{}} != c ] || [ "$RESUMECTL_ATTEMPT" = 2 ] || exit {answer}'
    ended = scratch.run("run", "--items", "i", "--verify", verify, *CRASHING)
    assert ended.code == code, ended.err
    assert [line[0] for line in scratch.effects()].count("c") == repeats
    assert scratch.counts()[state] == (3 if state == "done" else 1)
    verified = [r for r in scratch.records("sh", "done", "held") if r.get("by") == "verify"]
    assert len(verified) == (answer != 1)


def test_under_hold_a_timeout_is_a_cut_off_and_without_it_a_failure(scratch: Scratch) -> None:
    """Who must not repeat a step can't know whether it was done when its time was up."""
    scratch.items("a")
    plain = scratch.run("run", "--items", "i", "--job", "plain", "--timeout", "200ms", *SLOW)
    assert plain.code == 1 and "failed a: " in plain.err
    assert scratch.records("plain", "failed")[0]["why"] == "timeout"
    hold = ("run", "--items", "i", "--cut-off", "hold", "--timeout", "200ms", *SLOW)
    assert scratch.run(*hold).code == 1
    assert scratch.records("sh", "cut_off")[0]["why"] == "timeout"
    assert scratch.run(*hold).code == 1
    assert scratch.effects() == ["a", "a"] and scratch.has(parked=1)


def test_a_changed_command_is_refused_and_each_way_on_that_is_named_works(scratch: Scratch) -> None:
    """Done means this command for this id; how many slots or what timeout is no part of it."""
    scratch.items("a")
    other = [*APPEND[:2], APPEND[2].replace("%s", "other %s"), *APPEND[3:]]
    scratch.run("run", "--items", "i", *APPEND)
    assert scratch.run("run", "--items", "i", "-j", "3", "--timeout", "1m", *APPEND).code == 0
    refused = scratch.run("run", "--items", "i", *other)
    assert refused.code == 2 and scratch.effects() == ["a"]
    assert shlex.quote(APPEND[2]) in refused.err and shlex.quote(other[2]) in refused.err
    ways = [line.split()[0] for line in refused.err.splitlines() if line.startswith("  --")]
    assert ways == ["--job", "--accept-command", "--fresh"]
    assert scratch.run("run", "--items", "i", "--job", "NAME", *other).code == 0
    assert scratch.effects() == ["a", "other a"]
    assert scratch.run("run", "--items", "i", "--accept-command", *other).code == 0
    assert scratch.run("run", "--items", "i", *other).code == 0  # it need be accepted only once
    assert scratch.effects() == ["a", "other a"]
    assert scratch.run("run", "--items", "i", "--fresh", *APPEND).code == 0
    assert scratch.effects() == ["a", "other a", "a"]


def test_the_same_job_in_a_parent_directory_is_not_begun_anew(scratch: Scratch) -> None:
    """Else a cron job pays for everything twice; cd, --journal and --job are the ways on."""
    scratch.items("a")
    scratch.run("run", "--items", "i", "true")
    below = scratch.path / "x" / "y"
    below.mkdir(parents=True)
    call = f"cd x/y && resumectl run --items {scratch.path}/i"
    refused = typed(scratch, f"{call} true")
    assert refused.code == 2 and f"cd {scratch.path}" in refused.err and "--journal" in refused.err
    assert not list(below.iterdir())
    assert typed(scratch, f"{call} --job mine true").code == 0
    assert typed(scratch, f"{call} --journal here.jsonl true").code == 0


def test_the_printed_command_goes_on_where_the_run_stopped(scratch: Scratch) -> None:
    """It is quoted for the shell and keeps the options; `status` prints the same."""
    scratch.items("a b", "it's", "$(touch pwned)")
    first = scratch.run("run", "--items", "i", "--max-items", "1", *APPEND)
    second = continued(scratch, first.err)
    assert (second.code, scratch.effects()) == (75, ["a b", "it's"])
    third = continued(scratch, scratch.run("status").out.decode())
    assert (third.code, scratch.effects()) == (0, ["a b", "it's", "$(touch pwned)"])
    assert "to continue" not in third.err and not (scratch.path / "pwned").exists()
