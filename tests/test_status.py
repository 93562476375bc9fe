"""What is done and what is left, at any moment, also during a run and beside its lock (SPEC 3)."""

from __future__ import annotations

import json
import os

from conftest import APPEND, Scratch, until
from faults import HOLD, opened

ENDS = ("sh", "-c", 'case "$1" in d*) ;; f*) exit 1;; c*) kill -9 $$;; h*) exit 9;; esac', "_", "{}")
IDS = ["d1", "f1", "c1", "d2", "h1", "n1", "n2"]
LISTS = {"--done": ["d1", "d2"], "--cut-off --parked": ["h1", "c1"], "--new": ["n1", "n2"], "--pending": ["f1", "c1", "n1", "n2"]}
FIELDS = {"schema", "job", "journal", "state", "reason", "resume_at", "counts", "pid", "rate", "eta", "command", "continue"}


def test_the_counts_add_up_and_every_list_names_its_ids(scratch: Scratch) -> None:
    """total = done + failed + cut_off + parked + running + new, after a run and over a list.  --check: is all done?"""
    scratch.items("h1")
    scratch.run("run", "--items", "i", "--max-attempts", "1", *ENDS)
    scratch.items(*IDS)
    assert scratch.run("run", "--items", "i", "--max-items", "4", *ENDS).code == 75
    status = scratch.status()
    assert status["schema"] == 1 and status.keys() >= FIELDS
    assert status["counts"] == dict(total=7, done=2, failed=1, cut_off=1, parked=1, new=2, running=0)
    assert (status["state"], status["reason"], status["pid"]) == ("stopped", "max-items", None)
    assert status["command"] == list(ENDS) and status["journal"] == str(scratch.journal())
    for question, ids in LISTS.items():
        assert scratch.run("status", *question.split()).out.decode().split() == ids
    scratch.items("d1", "c1", "unheard", name="other")
    assert scratch.status("--items", "other")["counts"] == dict(total=3, done=1, failed=0, cut_off=1, parked=0, new=1, running=0)
    text = scratch.run("status", "--check")
    assert text.code == 1 and b"sh: stopped (max-items)" in text.out
    assert b"2 done, 1 failed, 1 cut off, 1 parked, 2 new" in text.out
    scratch.run("mark", "done", "--items", "i")
    assert scratch.run("status", "--check").code == 0 and scratch.status()["state"] == "complete"


def test_during_a_run_the_counts_add_up_at_every_look(scratch: Scratch) -> None:
    """What runs is running, not cut off; when the run is killed it is."""
    scratch.items("a", "b", "c", "d", "e")
    scratch.run("mark", "done", "--id", "a", "--job", "sh")
    process = scratch.start("run", "--items", "i", "-j", "2", *HOLD)
    until(lambda: len(scratch.lines("begun")) == 2)
    status = scratch.status()
    assert status["counts"] == dict(total=5, done=1, failed=0, cut_off=0, parked=0, new=2, running=2)
    assert (status["state"], status["pid"]) == ("running", process.pid)
    assert scratch.run("status", "--cut-off").out == b""
    looks = []
    opened(scratch)
    while process.poll() is None:
        looks.append(scratch.status()["counts"])
    assert process.returncode == 0
    assert all(look["total"] == 5 == sum(look.values()) - look["total"] for look in looks)
    assert [look["done"] for look in looks] == sorted(look["done"] for look in looks)
    assert scratch.has(done=5)


def test_a_killed_run_is_told_by_what_it_left(scratch: Scratch) -> None:
    """No longer running: what had begun is cut off, before and after the next run takes note of it."""
    scratch.items("a", "b", "c")
    process = scratch.start("run", "--items", "i", "-j", "2", *HOLD)
    until(lambda: len(scratch.lines("begun")) == 2)
    process.kill()
    process.wait()
    opened(scratch)
    status = scratch.status()
    assert (status["state"], status["pid"]) == ("stopped", None)
    assert status["counts"] == dict(total=3, done=0, failed=0, cut_off=2, parked=0, new=1, running=0)
    assert scratch.run("status", "--pending").out.split() == [b"a", b"b", b"c"]


def test_state_lists_go_through_a_pipe_byte_for_byte(scratch: Scratch) -> None:
    """`status --failed -0 | resumectl run -0 …` runs exactly those, whatever their bytes."""
    odd = [b"a\nb", b"\xff\xfe", b"[x]", b"\x1b[0m", b"caf\xc3\xa9", b" x ", b"-n", b"y" * 5000]
    scratch.write("i", b"\0".join(odd))
    scratch.run("run", "--items", "i", "-0", "--job", "one", "sh", "-c", "exit 3", "_", "{}")
    failed = scratch.run("status", "one", "--failed", "-0").out
    assert failed == b"\0".join(odd) + b"\0"
    again = scratch.run("run", "-0", "--job", "two", "printf", "%s\\0", "{}", stdin=failed)
    assert again.code == 0 and again.out == failed
    plain = scratch.run("status", "one", "--failed")
    assert plain.out == b"\n".join(odd) + b"\n" and "use -0" in plain.err


def test_what_is_not_utf_8_is_printed_all_the_same(scratch: Scratch) -> None:
    """In the command, in the name of the list and of the journal; the command to continue still works."""
    os.rename(scratch.items("a"), bytes(scratch.path) + b"/l\xff")
    assert scratch.run("run", "--items", b"l\xff", "--journal", b"j\xff.jsonl", *APPEND[:-1], b"\xfe", "{}").code == 0
    status = scratch.run("status", "--journal", b"j\xff.jsonl", "--json")
    assert status.code == 0 and json.loads(status.out)["command"][-2:] == ["\\xfe", "{}"]
    text = scratch.run("status", "--journal", b"j\xff.jsonl")
    assert text.code == 0 and b"j\xff.jsonl" in text.out


def test_a_job_is_chosen_by_name_by_path_or_because_it_is_the_only_one(scratch: Scratch) -> None:
    """With several, status shows them all and the other commands name them; with none, the directory is named."""
    nothing = scratch.run("status")
    assert nothing.code == 2 and f"no journal in {scratch.path}/.resumectl" in nothing.err
    for job in ("one", "two"):
        scratch.run("mark", "done", "--id", "a", "--job", job)
    both = scratch.run("status", "--json").out.splitlines()
    assert [json.loads(line)["job"] for line in both] == ["one", "two"]
    for words in (["path"], ["status", "--done"], ["mark", "done", "--id", "x"]):
        unclear = scratch.run(*words)
        assert unclear.code == 2 and "one, two" in unclear.err
    unknown = scratch.run("status", "three")
    assert unknown.code == 2 and f"no journal at {scratch.path}/.resumectl/three.jsonl" in unknown.err
    moved = scratch.run("status", env={"RESUMECTL_DIR": "elsewhere"})
    assert moved.code == 2 and f"{scratch.path}/elsewhere" in moved.err
