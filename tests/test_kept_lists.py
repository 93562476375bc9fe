"""The copy of a list that was piped in is a list like any other."""

from __future__ import annotations

from conftest import APPEND, Scratch


def test_a_kept_list_fed_back_on_standard_input_is_not_emptied(scratch: Scratch) -> None:
    """`resumectl run … < .resumectl/NAME.items` reads the file that a run writes piped lists to."""
    assert scratch.run("run", "--max-items", "1", *APPEND, stdin=b"a\nb\n").code == 75
    kept = scratch.journal().with_suffix(".items")
    with open(kept, "rb") as list_:
        assert scratch.run("run", *APPEND, stdin=list_.fileno()).code == 0
    assert scratch.effects() == ["a", "b"] and kept.read_bytes() == b"a\nb\n"
