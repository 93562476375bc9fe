"""Every exit code means one thing (SPEC 2.12), and says at once what to do."""

from __future__ import annotations

import pytest
from conftest import APPEND, Scratch

EXIT_WITH_ITEM = ("sh", "-c", 'echo "$1" >>effects; exit "$1"', "_", "{}")


def test_0_says_that_every_item_of_the_list_is_done(scratch: Scratch) -> None:
    """Also when there is nothing to do, and for an empty list."""
    scratch.items("a", "b")
    assert scratch.run("run", "--items", "i", *APPEND).code == 0
    again = scratch.run("run", "--items", "i", *APPEND)
    assert (again.code, scratch.effects()) == (0, ["a", "b"])
    assert "2 items: 2 done; nothing to do" in again.err
    scratch.items(name="empty")
    empty = scratch.run("run", "--items", "empty", *APPEND)
    assert empty.code == 0 and "0 items" in empty.err


def test_1_says_that_the_list_was_gone_through_and_some_items_failed(scratch: Scratch) -> None:
    """Codes that a shell gives to its own failures are ordinary failures, and end nothing."""
    scratch.items("1", "128", "255", "126", "127", "0")
    ended = scratch.run("run", "--items", "i", *EXIT_WITH_ITEM)
    assert ended.code == 1
    assert scratch.effects() == ["1", "128", "255", "126", "127", "0"]
    assert "1/6 done" in ended.err and "5 failed" in ended.err
    assert "failed 255: exit 255" in ended.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--no-such-option", "--", "true"], "--help"),
        (["--items", "i"], "COMMAND"),
        (["--items", "i", "--job", "a/b", "true"], "job name"),
        (["--items", "i", "--timeout", "soon", "true"], "30s"),
        (["--items", "i", "--cut-off", "verify", "true"], "--verify CMD"),
        (["--items", "missing", "true"], "missing: No such file"),
        (["--items", ".", "true"], "directory"),
    ],
)
def test_2_refuses_a_wrong_call_and_leaves_no_trace(scratch: Scratch, words: list[str], hint: str) -> None:
    """One line that says what to do; no journal is made."""
    scratch.items("a")
    ended = scratch.run("run", *words)
    assert ended.code == 2
    assert hint in ended.err and ended.err.startswith("resumectl: ") and "Traceback" not in ended.err
    assert not (scratch.path / ".resumectl").exists()


def test_2_refuses_a_file_that_is_no_journal_or_a_newer_one_and_leaves_it_as_it_is(scratch: Scratch) -> None:
    """It is never appended to, and every command says the same."""
    scratch.items("a")
    newer = '{"t":"header","v":2,"app":"resumectl","ver":"9.1","jid":"x","ns":"y","c":"00000000"}\n'
    for name, text, hint in (("notes.jsonl", "my notes\n", "not a resumectl journal"), ("new.jsonl", newer, "9.1")):
        kept = scratch.write(name, text)
        for words in (["run", "--items", "i", "true"], ["status"], ["mark", "done", "--id", "a"]):
            ended = scratch.run(words[0], "--journal", name, *words[1:])
            assert ended.code == 2 and hint in ended.err, (words, ended.err)
            assert kept.read_text() == text
    assert scratch.effects() == []


def test_3_stops_after_too_many_failures(scratch: Scratch) -> None:
    """--max-failures counts in this run; what never began is new."""
    scratch.items(*"12345")
    ended = scratch.run("run", "--items", "i", "--max-failures", "2", *EXIT_WITH_ITEM)
    assert (ended.code, scratch.effects()) == (3, ["1", "2"])
    assert "2 items failed (--max-failures)" in ended.err and "3 not started" in ended.err
    scratch.run("run", "--items", "i", "--max-items", "2", *EXIT_WITH_ITEM)
    assert scratch.effects()[2:] == ["3", "4"]  # those that never failed come first


def test_3_stops_after_twenty_failures_in_a_row_and_names_the_option_that_helps(scratch: Scratch) -> None:
    """When all ended with 1 the way out may be --ok code:0,1."""
    scratch.items(*map(str, range(30)))
    ended = scratch.run("run", "--items", "i", "false")
    assert ended.code == 3
    assert "20 items in a row failed" in ended.err and "--ok code:0,1" in ended.err
    assert scratch.run("run", "--items", "i", "--ok", "code:0,1", "false").code == 0


def test_3_when_the_program_vanishes_in_mid_run_and_charges_nobody(scratch: Scratch) -> None:
    """The rest is neither failed nor lost: the program is put back, and the same command goes on."""
    tool = scratch.write("tool", '#!/bin/sh\necho "$1" >>effects; [ -e back ] || rm tool\n')
    tool.chmod(0o755)
    scratch.items("a", "b", "c")
    ended = scratch.run("run", "--items", "i", "./tool")
    assert ended.code == 3 and "tool" in ended.err
    assert scratch.counts("tool") == dict(total=3, done=1, failed=0, cut_off=0, parked=0, new=2, running=0)
    tool.write_text('#!/bin/sh\necho "$1" >>effects\n')
    tool.chmod(0o755)
    assert scratch.run("run", "--items", "i", "./tool").code == 0
    assert scratch.effects() == ["a", "b", "c"]


def test_65_refuses_a_damaged_journal_and_names_the_line(scratch: Scratch) -> None:
    """--accept-damage goes on with what the other lines say, and is needed only once."""
    scratch.items("a", "b", "c")
    scratch.run("run", "--items", "i", *APPEND)
    text = scratch.journal().read_bytes()
    scratch.journal().write_bytes(text.replace(b'{"t":"done","id":"a"', b'{"t":"done","id":"A"'))
    ended = scratch.run("run", "--items", "i", *APPEND)
    assert ended.code == 65 and "line 4 (byte " in ended.err and "--accept-damage" in ended.err
    accepted = scratch.run("run", "--items", "i", "--accept-damage", *APPEND)
    assert accepted.code == 0 and set(scratch.effects()) == {"a", "b", "c"}
    assert scratch.run("run", "--items", "i", *APPEND).code == 0


def test_75_asks_for_the_same_command_again(scratch: Scratch) -> None:
    """--max-items, --max-time, --failed only with others left, and a command that exits 75."""
    scratch.items(*"0123")
    limited = scratch.run("run", "--items", "i", "--max-items", "1", *EXIT_WITH_ITEM)
    assert limited.code == 75 and "--max-items" in limited.err and scratch.effects() == ["0"]
    short = scratch.run("run", "--items", "i", "--max-time", "0", *EXIT_WITH_ITEM)
    assert short.code == 75 and "nothing was started" in short.err  # or an agent would call it for ever
    assert scratch.run("run", "--items", "i", "--max-items", "1", *EXIT_WITH_ITEM).code == 75
    only = scratch.run("run", "--items", "i", "--failed", "only", *EXIT_WITH_ITEM)
    assert (only.code, scratch.effects()) == (75, ["0", "1", "1"])
    scratch.items("75", "9")
    assert scratch.run("run", "--items", "i", "--job", "b", *EXIT_WITH_ITEM).code == 75
    assert scratch.counts("b")["new"] == 2  # a limit is nobody's failure


def test_126_and_127_say_that_nothing_ran(scratch: Scratch) -> None:
    """As env and xargs say it: not executable, not found, an interpreter that is missing; nothing is recorded."""
    scratch.items("a", "b")
    scratch.write("plain", "no program\n")
    scratch.write("script", "#!/no/such/interpreter\n").chmod(0o755)
    for command, code, hint in (
        ("./plain", 126, "not executable"),
        (".", 126, "is a directory"),
        ("nosuchprogram", 127, "nosuchprogram: command not found"),
        ("./script", 127, "/no/such/interpreter"),
    ):
        ended = scratch.run("run", "--items", "i", command)
        assert ended.code == code and hint in ended.err and len(ended.err.splitlines()) == 1
    assert not (scratch.path / ".resumectl").exists()


def test_a_reason_for_a_person_comes_before_run_it_again(scratch: Scratch) -> None:
    """Of several reasons the first that applies of signal, 74, 141, 3, 75, 1."""
    scratch.items("1", "75", "2", "3")
    script = 'n=0; [ "$1" = 75 ] || until [ -e 75 ]; do sleep 0.02; done; [ "$1" != 75 ] || touch 75; exit "$1"'
    both = scratch.run("run", "--items", "i", "-j", "2", "--max-failures", "1", "sh", "-c", script, "_", "{}")
    assert both.code == 3
