"""What a person at a terminal sees, and what a log sees instead (SPEC 2.10, 2.11)."""

from __future__ import annotations

import signal

from conftest import APPEND, PATIENCE, Scratch, until
from faults import HOLD, opened
from shell import Terminal

HIDE_CURSOR = b"\x1b[?25l"
ODD = [b"[red]x[/red]", b"img[/model/1.jpg]", b"a\nb", b"\x1b[2J", b"\x9b31m", b"\xff\r"]
ODD_SHOWN = [r"[red]x[/red]", r"img[/model/1.jpg]", r"a\nb", r"\x1b[2J", r"\x9b31m", r"\xff\r"]


def test_a_terminal_shows_a_bar_with_resumed_and_completed_counts(scratch: Scratch) -> None:
    """What is printed stands above the bar; the cursor is never hidden, so no death can lose it."""
    scratch.items("r1", "r2")
    command = ("sh", "-c", HOLD[2] + '; printf "out %s" "$1"', "_", "{}")
    opened(scratch)
    scratch.run("run", "--items", "i", *command)
    (scratch.path / "go").unlink()
    scratch.items("r1", "r2", "new1", "new2")
    terminal = Terminal(scratch, "run", "--items", "i", "-j", "2", *command)
    terminal.shows(b"2/4 done (2 resumed, 0 completed), 2 running")
    terminal.shows("━".encode())
    terminal.shows(b"longest: new1")
    opened(scratch)
    assert terminal.end() == 0
    assert b"4/4 done (2 resumed, 2 completed)\r\n" in terminal.seen and b"out new1\r\n" in terminal.seen
    assert HIDE_CURSOR not in terminal.seen and b"\x1b[" in terminal.seen


def test_a_log_gets_whole_lines_and_no_control_codes(scratch: Scratch) -> None:
    """Whatever is asked for: a picture needs a terminal to be drawn on."""
    scratch.items(*map(str, range(60)))
    for options in ((), ("--progress", "bar")):
        ended = scratch.run("run", "--fresh", "--items", "i", *options, "true")
        assert ended.code == 0 and "60/60 done" in ended.err
        assert "\x1b" not in ended.err and "\r" not in ended.err and len(ended.err.splitlines()) < 8
    silent = Terminal(scratch, "run", "--fresh", "--items", "i", "true", TERM="dumb")
    assert silent.end() == 0 and b"\x1b" not in silent.seen


def test_ids_are_shown_escaped_and_are_never_markup(scratch: Scratch) -> None:
    """On a terminal, in a log, and in the state lists of a terminal; on a pipe these are raw."""
    scratch.write("i", b"\0".join(ODD))
    command = ("run", "--items", "i", "-0", "sh", "-c", "exit 3", "_", "{}")
    log = scratch.run(*command)
    terminal = Terminal(scratch, *command)
    assert (log.code, terminal.end()) == (1, 1)
    for id in ODD_SHOWN:
        assert f"failed {id}: exit 3\n" in log.err
        assert f"failed {id}: exit 3\r\n".encode() in terminal.seen
    assert b"\x1b[2J" not in terminal.seen and "\x1b" not in log.err
    listed = Terminal(scratch, "status", "--failed")
    assert listed.end() == 0 and b"-0" in listed.seen  # an id with a newline: the warning names -0
    assert set(ODD_SHOWN) <= set(listed.seen.decode().split("\r\n")) and b"\x1b" not in listed.seen
    assert scratch.run("status", "--failed", "-0").out == b"\0".join([*ODD, b""])


def test_the_c_locale_degrades_the_picture_and_never_the_work(scratch: Scratch) -> None:
    """Ids that it can't show are escaped; the bytes reach the command all the same."""
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    scratch.items("café")
    words = ("run", "--items", "i", *HOLD)
    terminal = Terminal(scratch, *words, **locale)
    terminal.shows(b"longest: caf")
    opened(scratch)
    assert terminal.end() == 0 and scratch.effects() == ["café"] and b"1/1 done" in terminal.seen
    scratch.items("naïve", name="i")
    failing = scratch.run("run", "--items", "i", "--job", "b", "false", env=locale)
    assert failing.code == 1 and "failed na" in failing.err and "Traceback" not in failing.err
    assert scratch.run("status", "b", "--failed", env=locale).out == "naïve\n".encode()


def test_the_interrupt_key_reaches_resumectl_only(scratch: Scratch) -> None:
    """The commands have a session of their own; the terminal is left as it was found."""
    scratch.items("a", "b")
    terminal = Terminal(scratch, "run", "--items", "i", *HOLD)
    until(lambda: scratch.lines("begun"))
    terminal.press(b"\x03")
    terminal.shows(b"interrupted: 1 running")
    opened(scratch)
    assert terminal.end() == -signal.SIGINT
    assert scratch.effects() == ["a"] and scratch.records("sh", "cut_off") == []
    assert HIDE_CURSOR not in terminal.seen


def test_a_closed_terminal_stops_the_run_and_leaves_nothing_running(scratch: Scratch) -> None:
    """Every write to it fails then; what ran is told to go and recorded as cut off."""
    scratch.items("a", "b")
    terminal = Terminal(scratch, "run", "--items", "i", *HOLD)
    until(lambda: scratch.lines("begun"))
    terminal.hang_up()
    assert terminal.process.wait(PATIENCE) == -signal.SIGHUP
    opened(scratch)
    again = scratch.run("run", "--items", "i", "--orphan-wait", "0", *HOLD)
    assert again.code == 0 and "cut off before: a" in again.err and scratch.effects() == ["a", "b"]


def test_a_terminal_that_nobody_reads_holds_neither_the_records_nor_the_end(scratch: Scratch) -> None:
    """A paused terminal blocks whoever writes to it; what ended is recorded, and a signal ends the wait."""
    scratch.items("a", "b", "c")
    flood = ("sh", "-c", 'head -c 300000 /dev/zero | tr "\\0" x; echo "$1" >>effects', "_", "{}")
    terminal = Terminal(scratch, "run", "--items", "i", *flood, read=False)
    until(lambda: len(scratch.effects()) == 3)
    until(lambda: len(scratch.records("sh", "done")) == 3)
    until(lambda: scratch.records("sh", "end"))
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.process.wait(PATIENCE) == -signal.SIGTERM
    assert scratch.run("run", "--items", "i", *flood).code == 0


def test_a_list_is_never_awaited_from_a_terminal(scratch: Scratch) -> None:
    """The usage error comes at once and says what to do."""
    terminal = Terminal(scratch, "run", "--", "true")
    assert terminal.end() == 2 and b"--items FILE" in terminal.seen
    assert not (scratch.path / ".resumectl").exists()


def test_a_reset_asks_on_a_terminal(scratch: Scratch) -> None:
    """Anything but yes leaves the journal as it is."""
    scratch.items("a")
    scratch.run("run", "--items", "i", *APPEND)
    for answer, code, kept in (("n", 1, 1), ("y", 0, 0)):
        terminal = Terminal(scratch, "reset")
        terminal.shows(b"?")
        terminal.press(answer.encode() + b"\n")
        assert terminal.end() == code
        assert scratch.has(done=kept)
