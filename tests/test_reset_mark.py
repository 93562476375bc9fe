"""A person's word: start over, in whole or in part; done, failed, new (SPEC 3)."""

from __future__ import annotations

import time

import pytest
from conftest import APPEND, Scratch

FAILS_F = ("sh", "-c", 'echo "$1 $RESUMECTL_ATTEMPT $RESUMECTL_KEY" >>effects; [ "$1" != f ] || [ -e f ]', "_", "{}")


def keys(scratch: Scratch) -> dict[str, set[str]]:
    """The idempotency keys that each item's commands were given."""
    found: dict[str, set[str]] = {}
    for line in scratch.effects():
        found.setdefault(line.split()[0], set()).add(line.split()[2])
    return found


def test_a_whole_reset_archives_the_journal_and_keeps_the_keys(scratch: Scratch) -> None:
    """The path of the archive is printed; everything runs again, from attempt 1; --new-keys is a wish of its own."""
    scratch.items("a", "b")
    scratch.run("run", "--items", "i", *FAILS_F)
    before = scratch.journal().read_bytes()
    reset = scratch.run("reset", "--yes")
    kept = reset.out.decode().splitlines()[0]
    assert reset.code == 0 and kept.startswith(f"{scratch.journal()}.bak-2")
    assert (scratch.path / kept).read_bytes() == before
    assert scratch.has(total=0)
    assert scratch.run("run", "--items", "i", *FAILS_F).code == 0
    assert [line.split()[:2] for line in scratch.effects()] == [["a", "1"], ["b", "1"]] * 2
    assert all(len(one) == 1 for one in keys(scratch).values())
    assert scratch.run("reset", "--yes", "--new-keys").code == 0
    scratch.run("run", "--items", "i", *FAILS_F)
    assert all(len(one) == 2 for one in keys(scratch).values())
    assert len(list(scratch.journal().parent.glob("*.jsonl.bak-*"))) == 2


def test_purge_keeps_nothing(scratch: Scratch) -> None:
    """Not even an archive; the job can be begun again."""
    scratch.items("a")
    scratch.run("run", "--items", "i", *APPEND)
    assert scratch.run("reset", "--yes", "--purge").code == 0
    assert not list(scratch.journal().parent.glob("*.bak-*"))
    assert scratch.run("run", "--items", "i", *APPEND).code == 0 and scratch.effects() == ["a", "a"]


def test_a_partial_reset_forgets_the_chosen_items_only(scratch: Scratch) -> None:
    """By state, by id, by a list; attempts go on counting, and nothing is archived."""
    scratch.items("a", "f", "b")
    scratch.run("run", "--items", "i", "--max-attempts", "1", *FAILS_F)
    assert scratch.has(parked=1)
    parked = scratch.run("reset", "--parked", "--yes")
    assert parked.code == 0 and "reset 1 item" in parked.err
    assert scratch.run("reset", "--id", "a", "--yes").code == 0
    scratch.items("b", "unheard", name="some")
    assert scratch.run("reset", "--items", "some", "--yes").code == 0
    scratch.write("f", b"")
    assert scratch.run("run", "--items", "i", "--max-attempts", "1", *FAILS_F).code == 0
    assert [line.split()[:2] for line in scratch.effects()[3:]] == [["a", "2"], ["f", "2"], ["b", "2"]]
    unknown = scratch.run("reset", "--id", "nobody", "--yes")
    assert unknown.code == 2 and "nobody is not in" in unknown.err
    assert not list(scratch.journal().parent.glob("*.bak-*"))


@pytest.mark.parametrize("words", [["reset"], ["reset", "--failed"], ["reset", "--id", "a", "--purge", "--yes"]])
def test_a_reset_is_never_taken_for_granted(scratch: Scratch, words: list[str]) -> None:
    """Without a terminal it needs --yes, and what would make no sense is refused."""
    scratch.run("mark", "done", "--id", "a", "--job", "j")
    before = scratch.journal("j").read_bytes()
    refused = scratch.run(*words)
    assert refused.code == 2 and scratch.journal("j").read_bytes() == before


def test_mark_records_a_persons_word(scratch: Scratch) -> None:
    """Done is skipped, failed comes last, new runs again; it is told from what a command did."""
    scratch.items("a", "b", "c", "d")
    assert scratch.run("mark", "done", "--id", "a", "--id", "d", "--job", "sh").code == 0
    assert scratch.run("mark", "failed", "--id", "b", "--job", "sh").code == 0
    assert {record["by"] for record in scratch.records("sh", "done", "failed")} == {"hand"}
    assert scratch.run("run", "--items", "i", *APPEND).code == 0
    assert scratch.effects() == ["c", "b"]
    again = scratch.run("mark", "new", "--id", "a")
    assert again.code == 0 and "marked 1 item new" in again.err
    assert scratch.run("run", "--items", "i", *APPEND).code == 0
    assert scratch.effects() == ["c", "b", "a"]
    assert scratch.run("mark", "done").code == 2 and scratch.run("mark", "finished", "--id", "a").code == 2
    assert scratch.run("mark", "done", "--items", "missing").code == 2


@pytest.mark.slow
def test_marking_two_hundred_thousand_items_takes_seconds(scratch: Scratch) -> None:
    """And so does a run that finds them all done but one."""
    scratch.items(*map(str, range(200_000)))
    began = time.monotonic()
    marked = scratch.run("mark", "done", "--items", "i", "--job", "sh")
    assert marked.code == 0 and "marked 200000 items done" in marked.err
    scratch.items(*map(str, range(200_001)))
    ended = scratch.run("run", "--items", "i", *APPEND)
    assert ended.code == 0 and "200001 items: 200000 done, 1 new" in ended.err
    assert scratch.effects() == ["200000"]
    assert time.monotonic() - began < 30


def test_an_empty_name_names_nothing(scratch: Scratch) -> None:
    """What an unset variable leaves behind must not mean the only job there is."""
    scratch.items("a")
    scratch.run("run", "-a", "i", "true")
    for words in (["reset", "", "--yes"], ["compact", ""], ["status", ""], ["mark", "done", "--id", ""]):
        assert scratch.run(*words).code == 2, words
    assert scratch.run("status", "--done").out == b"a\n"
