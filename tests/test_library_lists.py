"""`process_batches`: how it takes the items in (SPEC 5)."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkpoints import record, states

from resumectl import process_batches, read_journal


def test_a_generator_is_read_no_further_than_the_handler_has_come(book: Path) -> None:
    """Batches are full all the same, and what ended is recorded before the generator is asked for more."""
    taken: list[int] = []
    seen: list[tuple[int, int, int]] = []

    def numbers() -> Iterator[int]:
        for n in range(7):
            taken.append(n)
            if n and n % 3 == 0:
                assert sum(entry.state == "done" for entry in read_journal(book)) == n
            yield n

    def handler(batch: list[int]) -> bool:
        seen.append((batch[0], len(batch), len(taken)))
        return True

    summary = process_batches(numbers(), handler, checkpoint=book, batch_size=3)
    assert seen == [(0, 3, 3), (3, 3, 6), (6, 1, 7)] and summary.total == 7 and summary.ok
    assert record(book, "list")[0]["total"] == 7


def test_a_generator_that_raises_leaves_what_was_done(book: Path) -> None:
    def broken() -> Iterator[str]:
        yield from "abc"
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        process_batches(broken(), lambda batch: True, checkpoint=book, batch_size=1)
    assert states(book) == dict.fromkeys("abc", "done") and process_batches("abcde", lambda batch: True, checkpoint=book).resumed == 3


@pytest.mark.parametrize("listed", [True, False])
def test_a_key_that_raises_ends_no_list_early_and_names_nothing_wrong(book: Path, listed: bool) -> None:
    """Not even a StopIteration, by which a loop would take the list to be at its end."""
    items = [{"id": "a"}, {"name": "b"}, {"id": "c"}]
    got: list[Any] = []
    with pytest.raises(RuntimeError):
        process_batches(
            items if listed else iter(items),
            lambda batch: got.extend(batch) or True,
            key=lambda item: next(value for name, value in item.items() if name == "id"),
            checkpoint=book,
        )
    assert got == [] and not (book.exists() and "c" in states(book))


def test_items_are_let_go_of_when_their_batch_has_ended(book: Path) -> None:
    """Whatever an item holds, and wherever it comes from: it is asked for once, and not kept."""
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    class Heavy:
        def __init__(self, id: int) -> None:
            self.id = id
            alive.add(self)

    class Source:
        def __init__(self) -> None:
            self.left = iter(range(40))

        def __iter__(self) -> Source:
            return self

        def __copy__(self) -> Source:
            return self

        def __next__(self) -> Heavy:
            return Heavy(next(self.left))

    most: list[int] = []
    handed: list[int] = []

    def handler(batch: list[Heavy]) -> bool:
        handed.extend(item.id for item in batch)
        most.append(len(alive))
        return True

    assert process_batches(Source(), handler, checkpoint=book, batch_size=1).ok
    assert handed == list(range(40)) and max(most) <= 3
