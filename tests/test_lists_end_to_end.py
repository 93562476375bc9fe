"""A list becomes items, byte for byte, however it arrives (SPEC 2.1)."""

from __future__ import annotations

import os
import subprocess

from conftest import APPEND, PATIENCE, Scratch, until
from faults import HOLD, opened
from shell import continued, typed

ODD = [b"a b", b"it's", b"$(touch pwned)", b"; touch pwned", b">pwned", b"-n", b"--jobs", b"*", b"{}", b"\t"]
ODD += [b"caf\xc3\xa9", b"\xff\xfe", b"x\xe2\x80\xa8y", b"[red]x[/red]", b"\x1b[31m"]


def test_every_byte_of_an_id_reaches_the_command_and_no_shell_sees_it(scratch: Scratch) -> None:
    """Also as the variable RESUMECTL_ITEM; the second run knows them all again."""
    both = ("sh", "-c", 'printf "%s\\n" "$1" >>effects; printf "%s\\n" "$RESUMECTL_ITEM" >>variable', "_", "{}")
    wanted = scratch.items(*ODD).read_bytes()
    assert scratch.run("run", "--items", "i", *both).code == 0
    assert scratch.run("run", "--items", "i", *both).code == 0
    assert (scratch.path / "effects").read_bytes() == wanted == (scratch.path / "variable").read_bytes()
    assert scratch.run("status", "--done").out == wanted
    assert not (scratch.path / "pwned").exists()


def test_a_plain_list_loses_line_ends_a_mark_and_empty_lines_and_nothing_else(scratch: Scratch) -> None:
    """CR LF is a line end, a BOM at the start is none of the id, the last line needs no newline."""
    scratch.write("i", b"\xef\xbb\xbfone\r\n\r\ntwo \n\n a\rb")
    ended = scratch.run("run", "--items", "i", *APPEND)
    assert ended.code == 0 and "2 empty lines left out" in ended.err
    assert (scratch.path / "effects").read_bytes() == b"one\ntwo \n a\rb\n"


def test_ids_may_end_with_nul_or_any_other_byte(scratch: Scratch) -> None:
    """With -0 an id may hold a newline; -d takes escapes, as xargs does."""
    scratch.write("i", b"a\nb\0c\0")
    assert scratch.run("run", "--items", "i", "-0", "--job", "nul", *APPEND).code == 0
    assert (scratch.path / "effects").read_bytes() == b"a\nb\nc\n"
    assert scratch.run("run", "-d", r"\t", "--job", "tab", *APPEND, stdin=b"x\ty\t").code == 0
    assert scratch.effects()[3:] == ["x", "y"]


def test_what_no_argument_can_hold_fails_alone(scratch: Scratch) -> None:
    """A NUL inside an id is named, a megabyte is too long; neither is cut, neither stops the rest."""
    scratch.items(b"a\0b", b"x" * 1_000_000, "short")
    ended = scratch.run("run", "--items", "i", *APPEND)
    assert ended.code == 1 and scratch.effects() == ["short"]
    assert "failed a\\x00b: the id holds a NUL byte" in ended.err and "128 KiB" in ended.err
    assert "Traceback" not in ended.err and len(ended.err) < 3000
    assert {record["why"] for record in scratch.records("sh", "failed")} == {"spawn"}
    # A command that takes the item from elsewhere is not bound by that.
    ended = scratch.run("run", "--items", "i", "--job", "b", "sh", "-c", 'echo "$RESUMECTL_OMITTED"', "_", "{#}")
    assert ended.code == 0 and ended.out == b"RESUMECTL_ITEM\nRESUMECTL_ITEM\n\n"


def test_a_list_is_read_once_whatever_it_is(scratch: Scratch) -> None:
    """A process substitution, a named pipe, a pipe; --items beside a pipe is one source."""
    words = "-- sh -c 'echo \"$1\" >>effects' _ {}"
    assert typed(scratch, f"resumectl run --items <(seq 1 2) {words}", shell="bash").code == 0
    assert typed(scratch, f"mkfifo p; seq 3 4 >p & resumectl run --items p {words}").code == 0
    assert typed(scratch, f"seq 5 6 | resumectl run {words}").code == 0
    assert typed(scratch, f"seq 7 8 >f; echo no | resumectl run --items f {words}").code == 0
    assert scratch.effects() == [str(n) for n in range(1, 9)]


def test_a_list_that_was_piped_in_can_be_continued_from_its_copy(scratch: Scratch) -> None:
    """Whatever it came from; `status` prints a command that works too, and knows what is new."""
    words = "--max-items 1 -- sh -c 'echo \"$1\" >>effects' _ {}"
    ways = ["seq 2 | resumectl run --items -", "resumectl run -a <(seq 2)", "seq 2 >f; resumectl run <f"]
    for number, way in enumerate(ways):
        first = typed(scratch, f"{way} --job job{number} {words}", shell="bash")
        assert first.code == 75
        status = scratch.run("status", f"job{number}").out.decode()
        assert continued(scratch, status if number else first.err).code == 0
    assert scratch.effects() == ["1", "2"] * len(ways)


def test_the_first_item_starts_as_soon_as_its_line_has_been_read(scratch: Scratch) -> None:
    """`tail -f list | resumectl run …` works through what comes; its end is the end of the list."""
    read, write = os.pipe()
    process = scratch.start("run", *APPEND, stdin=read)
    os.close(read)
    for id in ("first", "second", "third"):
        os.write(write, id.encode() + b"\n")
        until(lambda id=id: id in scratch.effects())
    until(lambda: len(scratch.records("sh", "done")) == 3)
    status = scratch.status()
    assert status["state"] == "running" and status["counts"]["done"] == 3 and status["continue"] is None
    os.close(write)
    assert process.wait(PATIENCE) == 0


def test_a_stream_that_was_cut_short_is_not_taken_for_the_whole_list(scratch: Scratch) -> None:
    """What was read is kept, but only the pipe itself can go on."""
    read, write = os.pipe()
    process = scratch.start("run", *APPEND, stdin=read, stderr=subprocess.PIPE)
    os.close(read)
    os.write(write, b"1\n")
    until(lambda: scratch.effects())
    process.send_signal(2)
    _, err = process.communicate(timeout=PATIENCE)
    os.close(write)
    assert process.returncode == -2 and b"to continue: pipe the list into the same command again" in err
    assert b"continue by piping the list into the same command again" in scratch.run("status").out
    unknown = scratch.run("status", "--pending")
    assert unknown.code == 2 and "pipe it again" in unknown.err


def test_a_slow_run_reads_its_list_slowly(scratch: Scratch) -> None:
    """Reading is lazy: a list without an end neither fills the memory nor delays the first item."""
    endless = subprocess.Popen(["awk", 'BEGIN { for (;;) printf "%04000d\\n", ++n }'], stdout=subprocess.PIPE)
    process = scratch.start("run", *HOLD, stdin=endless.stdout)
    until(lambda: scratch.lines("begun"))
    copy = scratch.path / ".resumectl" / "sh.items"
    assert copy.stat().st_size < 1 << 20
    endless.kill()
    endless.wait()
    opened(scratch)
    assert process.wait(PATIENCE) == 0 and scratch.effects() == copy.read_text().splitlines()


def test_a_repeated_id_runs_once_or_is_refused(scratch: Scratch) -> None:
    """--duplicates fail: a file is refused before anything runs, a stream stops there."""
    scratch.items("a", "b", "a")
    fail = ("run", "--duplicates", "fail")
    refused = scratch.run(*fail, "--items", "i", *APPEND)
    assert refused.code == 2 and "entry 3" in refused.err and scratch.effects() == []
    dry = scratch.run(*fail, "--items", "i", "--dry-run", *APPEND)
    assert dry.code == 2 and "Traceback" not in dry.err
    stopped = scratch.run(*fail, *APPEND, stdin=b"a\nb\na\n")
    assert stopped.code == 3 and "entry 3" in stopped.err
    assert scratch.run("run", "--items", "i", *APPEND).code == 0
    assert scratch.effects() == ["a", "b"]


def test_of_two_faults_in_a_list_the_first_is_named(scratch: Scratch) -> None:
    """However many entries are read at a time."""
    scratch.write("l", '{"id":"a"}\n{"id":"a"}\nno record\n')
    records = ("--format", "jsonl", "--key", "id", "-a", "l")
    for more in ["--duplicates", "fail"], ["--duplicates", "fail", "--dry-run"]:
        refused = scratch.run("run", *records, *more, "true")
        assert refused.code == 2 and "entry 2 of the list repeats an id" in refused.err
    assert "line 3" in scratch.run("run", *records, "true").err


def test_a_dry_run_says_what_would_run_and_touches_nothing(scratch: Scratch) -> None:
    """It works beside a run, takes no lock, prints argv quoted for a shell."""
    scratch.items("a", "it's", "c", "d", "e")
    dry = scratch.run("run", "--items", "i", "--dry-run", *HOLD)
    assert dry.code == 0 and not (scratch.path / ".resumectl").exists()
    assert "5 new: would run" in dry.err and dry.out.count(b"\n") == 3
    assert dry.out.splitlines()[1].endswith(b"_ 'it'\"'\"'s'")
    process = scratch.start("run", "--items", "i", *HOLD)
    until(lambda: scratch.lines("begun"))
    before = scratch.journal().read_bytes()
    assert scratch.run("run", "--items", "i", "--dry-run", *HOLD).code == 0
    assert scratch.journal().read_bytes() == before
    opened(scratch)
    assert process.wait(PATIENCE) == 0
    done = scratch.run("run", "--items", "i", "--dry-run", *HOLD)
    assert done.code == 0 and "5 done: skipped" in done.err and "would start 0 items" in done.err


def test_the_options_end_at_the_command(scratch: Scratch) -> None:
    """What looks like an option of ours behind the command's first word is the command's."""
    scratch.items("1", "2")
    scratch.items("9", name="q")
    ended = scratch.run("run", "--items", "i", "echo", "--items", "q", "-j", "5", "{}")
    assert (ended.code, ended.out) == (0, b"--items q -j 5 1\n--items q -j 5 2\n")
