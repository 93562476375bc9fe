"""What another tool has done already is done here too; what it can't tell for sure is refused (SPEC 3)."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from conftest import APPEND, Quick

HEADER = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"


def row(seq: int, command: str, code: int = 0, signal: int = 0) -> str:
    return f"{seq}\t:\t1795987372.538\t     0.013\t0\t3\t{code}\t{signal}\t{command}\n"


def imported(quick: Quick, source: str, data: bytes | str, *words: str, job: str = "sh") -> str:
    """Import a file that must be good; what was said."""
    quick.write("file", data)
    told = quick.run("import", "file", "--from", source, "--job", job, *words)
    assert told.code == 0, told.err
    return told.err


def refused(quick: Quick, source: str, data: bytes | str, *words: str) -> str:
    """Import a file that must be refused, before anything is written; what was said."""
    quick.write("file", data)
    told = quick.run("import", "file", "--from", source, "--job", "none", *words)
    assert told.code == 2 and told.err.count("\n") == 1 and not quick.journal("none").exists()
    return told.err


def ids(quick: Quick, state: str, job: str = "sh") -> list[str]:
    return quick.run("status", f"--{state}", "--job", job).out.decode(errors="surrogateescape").split("\n")[:-1]


def test_parallels_joblog_speaks_of_positions_in_its_list(quick: Quick) -> None:
    """Exit 0 and no signal is done, all else failed; a repeated Seq counts by its last line; then a run goes on."""
    quick.items("a", "b", "it's", "d", "e")
    log = HEADER + row(2, "f b", 3) + row(1, "f a") + row(3, r"f it\'s", 0, 9) + row(4, "f d", -1, 15) + row(2, "f b")
    said = imported(quick, "parallel", log, "--items", "i")
    assert "imported 4 items (2 done, 2 failed)" in said
    assert (ids(quick, "done"), ids(quick, "failed")) == (["b", "a"], ["it's", "d"])
    records = quick.records("sh", "done", "failed")
    assert {record["by"] for record in records} == {"import"} and records[2]["why"] == "import" and records[2]["rc"] == -9
    assert quick.run("run", "--items", "i", *APPEND).code == 0
    assert quick.effects() == ["e", "it's", "d"]


@pytest.mark.skipif(not shutil.which("parallel"), reason="GNU parallel is not installed")
def test_a_joblog_that_parallel_has_really_written(quick: Quick) -> None:
    """With quoting, an empty line (which parallel runs and counts), and a failure."""
    quick.write("l", b"a b\n\nit's $x\nf\n")
    call = ["parallel", "--joblog", "log", "-a", "l", "test {} '!=' f"]
    subprocess.run(call, cwd=quick.path, env=quick.env, capture_output=True, check=False)
    told = quick.run("import", "log", "--from", "parallel", "--items", "l", "--job", "sh")
    assert told.code == 0, told.err
    assert (ids(quick, "done"), ids(quick, "failed")) == (["a b", "it's $x"], ["f"])


def test_another_list_than_parallel_had_is_noticed(quick: Quick) -> None:
    """It would mark the wrong items as done.  Where no command has its item in it, it can't be told."""
    quick.items("aa", "bb", "cc")
    log = HEADER + row(1, "f aa") + row(2, "f bb") + row(3, "f cc")
    quick.items("aa", "zz", "cc", name="shifted")
    byte = len(HEADER + row(1, "f aa"))
    assert f"line 3 (byte {byte}) did not run zz" in refused(quick, "parallel", log, "--items", "shifted")
    quick.items("aa", "bb", name="short")
    assert "is about item 3 of a list that has 2" in refused(quick, "parallel", log, "--items", "short")
    imported(quick, "parallel", HEADER + row(1, "f 1"), "--items", "i")
    assert ids(quick, "done") == ["aa"]


FOREIGN = ["19", row(2, "f bb")[:-1], "\0" * 20, "\n", "hello\n", row(2, "f bb").replace("\t", " "), "2" * 5000 + row(2, "f bb")]


@pytest.mark.parametrize("tail", FOREIGN)
def test_a_torn_or_foreign_line_is_named_and_nothing_is_recorded(quick: Quick, tail: str) -> None:
    """parallel itself takes a torn `19` for item 19 and skips it for ever."""
    quick.items("aa", "bb")
    good = HEADER + row(1, "f aa")
    assert f"line 3 (byte {len(good)}) is" in refused(quick, "parallel", good + tail, "--items", "i")


def test_rush_writes_whole_commands_of_which_a_template_tells_the_items(quick: Quick) -> None:
    """Without one the commands are the ids, and that is said."""
    log = b"cp 'a b' out/a b__CMD__\ncp 'two\nlines' out/two\nlines__CMD__\n"
    assert "--template" in imported(quick, "rush", log, job="whole")
    assert quick.run("status", "--done", "-0", "whole").out.split(b"\0")[0] == b"cp 'a b' out/a b"
    imported(quick, "rush", log, "--template", "cp '{}' out/{}")
    assert quick.run("status", "--done", "-0", "sh").out == b"a b\0two\nlines\0"
    assert "line 2 (byte 24) (cp" in refused(quick, "rush", log, "--template", "cp '{} b' out/{} b")
    assert "no {}" in refused(quick, "rush", log, "--template", "cp")
    assert "line 2 (byte 24) is torn" in refused(quick, "rush", log[:-2])
    assert "no single command" in refused(quick, "rush", b"a__CMD_a__CMD__b__CMD__\n")


def test_resumables_lines_name_what_is_done(quick: Quick) -> None:
    """A last line that only lacks its newline is whole; a torn one is named."""
    data = '{"key":"a","t":1795987372}\n{"key":"ü\\n","t":2}'
    assert "imported 2 items (2 done, 0 failed)" in imported(quick, "resumable", data)
    assert quick.run("status", "--done", "-0", "sh").out.decode() == "a\0ü\n\0"
    for bad in data[:-3], data + '\n{"kay":"b"}\n', data + "\n\n", data + "\n[1]\n", data + '\n{"key":3}\n':
        assert "nothing was recorded" in refused(quick, "resumable", bad)


def test_a_plain_list_of_what_is_done(quick: Quick) -> None:
    """What is done stays done, whatever else is imported; an import twice is as good as once."""
    assert "imported 2 items" in imported(quick, "ids", "a\n\nb")
    assert "imported 0 items (0 done, 0 failed)" in imported(quick, "ids", "b\na\n")
    imported(quick, "ids", b"c\0d\ne\0", "--null")
    quick.items("a", "x")
    quick.run("mark", "failed", "--id", "x", "--job", "sh")
    imported(quick, "parallel", row(1, "f a", 7) + row(2, "f x"), "--items", "i")
    assert quick.has(total=5, done=5)
    assert len(quick.records("sh", "failed")) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["file", "--from", "parallel"],
        ["file", "--from", "ids", "--items", "file"],
        ["file", "--from", "ids", "--template", "x {}"],
        ["file", "--from", "rush", "-0"],
        ["missing", "--from", "ids"],
        ["missing", "--from", "rush"],
        [".", "--from", "resumable"],
        ["file"],
    ],
)
def test_what_does_not_go_together_is_a_usage_error(quick: Quick, words: list[str]) -> None:
    quick.write("file", "a\n")
    told = quick.run("import", *words, "--job", "j")
    assert told.code == 2 and told.err.count("\n") == 1 and not (quick.path / ".resumectl").exists()


def test_without_any_job_here_its_name_must_be_said(quick: Quick) -> None:
    quick.write("file", "a\n")
    told = quick.run("import", "file", "--from", "ids")
    assert told.code == 2 and "--job NAME" in told.err
    assert quick.run("import", "file", "--from", "ids", "--journal", "x.jsonl").code == 0
    imported(quick, "ids", "a\n")
    assert quick.run("import", "file", "--from", "ids").code == 0
