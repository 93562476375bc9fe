"""Runs on a real Dask scheduler and real workers, killed at their worst moments.  Nothing starts twice unseen.

In an order in which few workers have to be started: those of one test serve the next.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest
from conftest import PATIENCE, Scratch, until
from farm import Farm, Hands, started_once

pytest.importorskip("distributed", reason="the extra resumectl[dask] is not installed")

from resumectl.engine import window

INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
# A batch that reports on each of its items, then tells the witness.
REPORT = (
    """for i; do echo "{\\"id\\":\\"$i\\",\\"status\\":\\"done\\"}" >>"$RESUMECTL_REPORT"; done; echo start >>log"""
)


def test_a_job_without_workers_waits_for_them_and_a_signal_ends_the_wait(scratch: Scratch, farm: Farm) -> None:
    farm.workers(0)
    hands = Hands(scratch, farm)
    hands.items(3)
    run = hands.start()
    until(lambda: "waiting for workers" in hands.err)
    run.send_signal(TERM)
    assert run.wait(PATIENCE) == -TERM and not scratch.journal().exists()


@pytest.mark.slow
def test_a_late_worker_takes_items_at_once(scratch: Scratch, farm: Farm) -> None:
    farm.workers(1)
    hands = Hands(scratch, farm, 0.3)
    hands.items(30)
    run = hands.start()
    until(lambda: hands.count("start") >= 2)
    late = farm.worker()
    farm.there(late)
    there = time.time()
    until(lambda: len({record["worker"] for record in scratch.records("sh", "began")}) == 2)
    assert time.time() - there < 2
    run.send_signal(INT)
    assert run.wait(PATIENCE) == -INT and started_once(scratch)


@pytest.mark.slow
def test_a_job_comes_out_on_a_cluster_as_it_does_here(scratch: Scratch, farm: Farm) -> None:
    """The same items done, the same output kept, the same status; and it goes on where it stopped."""
    farm.workers(2)
    hands = Hands(scratch, farm)
    names = hands.items(200)
    command = ("echo", "{}", "{attempt}")
    first = hands.run("--max-items", "50", "--job", "there", command=command)
    assert first.code == 75, first.err
    second = hands.run("--job", "there", command=command)
    assert (second.code, len(second.out.splitlines())) == (0, 150), second.err
    here = scratch.run("run", "--items", "i", "--job", "here", "-j", "2", *command)
    assert here.code == 0 and sorted(here.out.splitlines()) == sorted((first.out + second.out).splitlines())
    done = [sorted(record["id"] for record in scratch.records(job, "done")) for job in ("here", "there")]
    assert done == [names, names]
    told = [scratch.status(job) for job in ("here", "there")]
    kept = [scratch.run("results", job).out for job in ("here", "there")]
    assert told[0].keys() == told[1].keys() and sorted(kept[0].splitlines()) == sorted(kept[1].splitlines())
    for name in ("state", "reason", "counts", "cost", "pid", "eta", "resume_at"):
        assert told[0][name] == told[1][name]
    (run, _) = scratch.records("there", "run")
    assert (run["engine"], run["scheduler"], bool(run["epoch"])) == ("dask", farm.address, True)


def test_ctrl_c_lets_what_began_end_and_takes_the_rest_back(scratch: Scratch, farm: Farm) -> None:
    farm.workers(2)
    hands = Hands(scratch, farm, 1)
    hands.items(20)
    run = hands.start()
    until(lambda: hands.count("start") == 2)
    run.send_signal(INT)
    assert run.wait(PATIENCE) == -INT
    verdicts = Counter(hands.ended().values())
    assert verdicts == {"done": 2, "uncharged": window(2) - 2} and hands.count("start") == hands.count("end") == 2


def test_a_second_ctrl_c_leaves_no_child_on_any_worker(scratch: Scratch, farm: Farm) -> None:
    farm.workers(2)
    hands = Hands(scratch, farm, 30)
    hands.items(20)
    run = hands.start()
    until(lambda: hands.count("start") == 2)
    run.send_signal(INT)
    until(lambda: "interrupted" in hands.err)
    run.send_signal(INT)
    assert run.wait(PATIENCE) == -INT
    assert not hands.children()
    assert sorted(record["why"] for record in scratch.records("sh", "cut_off")) == ["sigint", "sigint"]
    assert Counter(hands.ended().values()) == {"cut_off": 2, "uncharged": window(2) - 2}


def test_a_dead_coordinator_ends_the_commands_and_its_queue_never_begins(scratch: Scratch, farm: Farm) -> None:
    """The ledger of the same scheduler then proves which had begun."""
    farm.workers(2)
    hands = Hands(scratch, farm, 30)
    hands.items(20)
    run = hands.start()
    until(lambda: hands.count("start") == 2)
    run.kill()
    run.wait()
    hands.gone()
    scratch.env["SECONDS_EACH"] = "0"
    assert hands.run().code == 0
    first = [r for r in scratch.records("sh", "cut_off", "uncharged") if r.get("id")]
    assert Counter(r["t"] for r in first) == {"cut_off": 2, "uncharged": window(2) - 2}
    begun = {line.split()[1] for line in scratch.lines("log")[:2]}
    assert {r["id"] for r in first if r["t"] == "cut_off"} == begun
    assert {r["why"] for r in first} == {"crash", "released"}


def test_what_prints_too_much_is_held_and_out_is_written_here(scratch: Scratch, farm: Farm) -> None:
    farm.workers(2)
    hands = Hands(scratch, farm)
    scratch.items("10", "200000")
    command = ("sh", "-c", 'head -c "$1" /dev/zero', "_", "{}")
    ended = hands.run("--max-output", "100K", "--out", "out/{}.bin", command=command)
    assert ended.code == 1 and "let the command write a file" in ended.err
    assert hands.ended() == {"10": "done", "200000": "held"}
    assert os.listdir(scratch.path / "out") == ["10.bin"]
    assert [record["why"] for record in scratch.records("sh", "held")] == ["output"]


def test_a_program_that_a_worker_lacks_is_not_found_before_anything_is_recorded(scratch: Scratch, farm: Farm) -> None:
    farm.workers(2)
    hands = Hands(scratch, farm)
    hands.items(1)
    ended = hands.run(command=("no-such-program", "{}"))
    assert ended.code == 127 and "no-such-program: command not found" in ended.err
    assert not (scratch.path / ".resumectl").exists()


def test_a_batch_reports_from_a_worker(scratch: Scratch, farm: Farm) -> None:
    farm.workers(2)
    hands = Hands(scratch, farm)
    names = hands.items(7)
    ended = hands.run("-n", "3", "--batch-results", "report", command=("sh", "-c", REPORT, "_"))
    assert ended.code == 0 and sorted(hands.ended("done")) == names, ended.err


def test_a_worker_killed_with_an_item_cuts_it_off_and_the_others_run_once(scratch: Scratch, farm: Farm) -> None:
    """Nobody here can know whether its command lives on, so it is not run again; the next run says where it may still be."""
    victim, _ = farm.workers(2)
    hands = Hands(scratch, farm, 0.4)
    names = hands.items(5)
    run = hands.start()
    until(lambda: hands.count("start") == 2)
    os.kill(victim.pid, KILL)
    assert run.wait(PATIENCE) == 1, hands.err
    cut = scratch.records("sh", "cut_off")
    assert [record["why"] for record in cut] == ["worker"]
    assert started_once(scratch) and hands.count("start") == len(names)
    hands.gone()
    again = hands.run()
    assert again.code == 0 and f"cut off before: {cut[0]['id']}" in again.err
    assert f"may still run on {cut[0]['host']}" in again.err


def test_a_worker_killed_outright_takes_its_command_with_it_too(scratch: Scratch, farm: Farm) -> None:
    """It can do nothing then, but its warden can; what a batch had reported there is lost, so all of it is cut off."""
    (worker,) = farm.workers(1)
    hands = Hands(scratch, farm)
    names = hands.items(2)
    run = hands.start(
        "-n", "2", "--batch-results", "report", command=("sh", "-c", f"{REPORT}; sleep 60; echo end >>log", "_")
    )
    until(lambda: hands.count("start"))
    os.kill(worker.pid, KILL)
    assert run.wait(PATIENCE) == 1
    hands.gone()
    assert hands.count("end") == 0 and hands.ended() == dict.fromkeys(names, "cut_off")


@pytest.mark.slow
def test_a_worker_told_to_go_takes_its_command_with_it(scratch: Scratch, farm: Farm) -> None:
    """Even one without a nanny, which Dask ends without a word to its plugins."""
    (worker,) = farm.workers(1)
    hands = Hands(scratch, farm, 30)
    hands.items(1)
    run = hands.start()
    until(lambda: hands.count("start"))
    os.kill(worker.pid, TERM)
    worker.wait(PATIENCE)
    assert run.wait(PATIENCE) == 1 and [r["why"] for r in scratch.records("sh", "cut_off")] == ["worker"]
    hands.gone()


@pytest.mark.slow
def test_no_secret_of_the_environment_reaches_a_log(scratch: Scratch, farm: Farm) -> None:
    """Neither when it ends well nor when a worker dies with it."""
    victim, _ = farm.workers(2)
    hands = Hands(scratch, farm, 1)
    hands.items(2)
    scratch.env["TOKEN"] = "s3cr3t-t0ken"
    run = hands.start()
    until(lambda: hands.count("start") == 2)
    os.kill(victim.pid, KILL)
    run.wait(PATIENCE)
    assert "s3cr3t" not in farm.logs() + hands.err + scratch.journal().read_text()


@pytest.mark.slow
def test_coordinators_and_a_worker_are_killed_and_every_repeat_is_announced(scratch: Scratch, farm: Farm) -> None:
    """100 items, two coordinators and one worker killed: all done, each attempt started at most once."""
    victim, *_ = farm.workers(3)
    hands = Hands(scratch, farm, 0.05)
    names = hands.items(100)
    said = ""
    for kill in (20, 50):
        run = hands.start()
        until(lambda kill=kill: hands.count("end") > kill)  # type: ignore[misc]
        run.kill()
        run.wait()
    run = hands.start()
    until(lambda: hands.count("end") > 70)
    os.kill(victim.pid, KILL)
    run.wait(PATIENCE)
    ended = hands.run()
    assert ended.code == 0, ended.err
    said = hands.err + ended.err
    starts = Counter(line.split()[1] for line in scratch.lines("log") if line.startswith("start"))
    repeated = {item for item, count in starts.items() if count > 1}
    cut = {record["id"] for record in scratch.records("sh", "cut_off")}
    assert sorted(hands.ended("done")) == names == sorted(starts)
    assert repeated <= cut and all(item in said for item in cut)
    attempts = Counter(r["att"] for r in scratch.records("sh", "started"))
    assert sum(starts.values()) <= len(attempts) and max(attempts.values()) == 1
    released = [r for r in scratch.records("sh", "uncharged")]
    assert sum(starts.values()) <= len(attempts) - len(released)
