"""`resumectl resume`: the last run again, wherever its list came from (SPEC 3)."""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import APPEND, PATIENCE, PROGRAM, Scratch, until
from faults import HOLD, opened
from shell import continued, typed

FAILING = ("sh", "-c", 'echo "$1" >>effects; [ -e mended ]', "_", "{}")


def test_resume_goes_on_with_the_same_list_command_directory_and_options(scratch: Scratch) -> None:
    """From any directory; without what was said for one run only."""
    scratch.items("a", "b", "c")
    once = ("--max-items", "1", "--max-time=9h", "--failed", "only", "--accept-damage", "--accept-command", "--fresh")
    assert scratch.run("run", "--items", "i", "--tag", *once, "-j", "2", *APPEND).code == 75
    (scratch.path / "below").mkdir()
    words = ("resume", "--journal", "../.resumectl/sh.jsonl")
    ended = subprocess.run([*PROGRAM, *words], cwd=scratch.path / "below", env=scratch.env, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert sorted(scratch.effects()) == ["a", "b", "c"] and scratch.counts()["done"] == 3
    argv = scratch.records("sh", "run")[-1]["argv"]
    assert argv == ["--items", "i", "--tag", "-j", "2", "--", *APPEND]
    assert scratch.run("resume", "sh").code == 0


def test_resume_runs_items_of_the_command_line_again(scratch: Scratch) -> None:
    """`:::` ends the command in the record too."""
    assert scratch.run("run", "--max-items", "1", *APPEND, ":::", "a", "b c", "--").code == 75
    assert scratch.run("resume").code == 0
    assert scratch.effects() == ["a", "b c", "--"]


def test_a_piped_list_is_resumed_from_its_copy_again_and_again(scratch: Scratch) -> None:
    """A run that reads the copy neither replaces it nor forgets that there is one."""
    assert scratch.run("run", "--max-items", "1", *FAILING, stdin=b"a\nb\nc\n").code == 75
    first = scratch.records("sh", "run")[0]["argv"]
    for _ in range(2):
        assert scratch.run("resume").code == 1
    last = scratch.records("sh", "run")[-1]
    assert last["piped"] and last["total"] == 3 and last["argv"] == first[2:]
    assert (scratch.path / ".resumectl" / "sh.items").read_bytes() == b"a\nb\nc\n"
    (scratch.path / "mended").touch()
    assert scratch.run("resume", "sh").code == 0 and scratch.counts()["done"] == 3
    assert scratch.run("status", "--new").code == 0


@pytest.mark.parametrize("where", ["", " --journal kept/jo.jsonl"], ids=["by name", "by path"])
def test_the_line_that_continues_a_piped_list_says_resume(scratch: Scratch, where: str) -> None:
    """Both the run's and status's, and both do it."""
    command = "sh -c 'echo \"$1\" >>effects; [ -e mended ]' _ {}"
    ended = typed(scratch, f"printf 'a\\nb\\n' | resumectl run{where} --max-items 1 -- {command}")
    assert ended.code == 75 and "to continue: resumectl resume " in ended.err
    assert continued(scratch, ended.err).code == 1
    (scratch.path / "mended").touch()
    status = scratch.run("status", *where.split()).out.decode()
    assert "  continue resumectl resume " in status
    assert continued(scratch, status).code == 0
    assert set(scratch.effects()) == {"a", "b"} and scratch.status(*where.split())["counts"]["done"] == 2


@pytest.mark.parametrize("where", ["", " --journal kept/jo.jsonl"], ids=["by name", "by path"])
def test_the_line_that_continues_a_named_list_is_the_same_run(scratch: Scratch, where: str) -> None:
    """Both the run's and status's, and both do it."""
    scratch.items("a", "b", "c")
    command = "sh -c 'echo \"$1\" >>effects' _ {}"
    ended = typed(scratch, f"resumectl run --items i{where} --max-items 1 -- {command}")
    assert ended.code == 75 and f"to continue: resumectl run --items i{where} --max-items 1 -- sh" in ended.err
    assert continued(scratch, ended.err).code == 75
    assert continued(scratch, scratch.run("status", *where.split()).out.decode()).code == 0
    assert scratch.effects() == ["a", "b", "c"]


def test_print_gives_a_line_that_does_the_same(scratch: Scratch) -> None:
    """With the directory, and the copy in the place of a piped list; nothing runs before it is typed."""
    scratch.run("run", "--max-items", "1", "--job", "it's", *APPEND, stdin=b"a\n")
    scratch.run("run", "--max-items", "1", "--job", "x", *APPEND, stdin=b"a\nb\nc\n")
    line = scratch.run("resume", "x", "--print").out.decode()
    assert scratch.effects() == ["a"]
    assert line.startswith(f"cd {scratch.path} && resumectl run --job x --items ")
    assert typed(scratch, f"cd / && {line}").code == 0 and scratch.effects() == ["a", "b", "c"]
    assert scratch.run("resume", "x").code == 0  # that line's own run has a named list


def test_a_list_whose_end_was_never_seen_must_be_piped_again(scratch: Scratch) -> None:
    """Exit 2, and 4 while that run still lives."""
    reader, writer = os.pipe()
    os.write(writer, b"a\nb\n")
    process = scratch.start("run", *HOLD, stdin=reader)
    until(lambda: scratch.lines("begun"))
    busy = scratch.run("resume")
    assert busy.code == 4 and f"in use by pid {process.pid}" in busy.err
    process.send_signal(2)
    opened(scratch)
    assert process.wait(PATIENCE) == -2
    os.close(writer)
    os.close(reader)
    lost = scratch.run("resume")
    assert lost.code == 2 and "pipe it again" in lost.err and scratch.effects() == ["a"]
    status = scratch.run("status").out.decode()
    assert "continue by piping the list" in status
    assert scratch.run("run", *HOLD, stdin=b"a\nb\n").code == 0


def test_a_journal_that_was_moved_is_gone_on_with_where_it_is(scratch: Scratch) -> None:
    """Never anew in the place where it was."""
    scratch.items("a", "b")
    scratch.run("run", "--items", "i", "--max-items", "1", *APPEND)
    os.rename(scratch.path / ".resumectl", scratch.path / "moved")
    assert scratch.run("resume", env={"RESUMECTL_DIR": "moved"}).code == 0
    assert scratch.run("resume", "--journal", "moved/sh.jsonl").code == 0
    os.rename(scratch.path / "moved" / "sh.jsonl", scratch.path / "moved" / "other.jsonl")
    assert scratch.run("resume", "other", env={"RESUMECTL_DIR": "moved"}).code == 0
    assert scratch.effects() == ["a", "b"] and not (scratch.path / ".resumectl").exists()


@pytest.mark.parametrize("gone", ["copy", "directory", "run"])
def test_what_is_gone_is_named(scratch: Scratch, gone: str) -> None:
    """The copy of the list, the directory, or there never was a run."""
    below = scratch.path / "below"
    below.mkdir()
    if gone == "run":
        scratch.run("mark", "done", "--id", "a", "--job", "sh")
    else:
        where = ("--journal", str(scratch.journal()))
        subprocess.run([*PROGRAM, "run", *where, "--", "true"], cwd=below, env=scratch.env, input=b"a\n", stderr=-3)
        (scratch.path / ".resumectl" / "sh.items").unlink() if gone == "copy" else below.rmdir()
    ended = scratch.run("resume")
    assert ended.code == 2 and ended.err.startswith("resumectl: "), ended.err
    assert {"copy": "sh.items", "directory": str(below), "run": "names no run"}[gone] in ended.err
