"""`process_batches`: what a handler gives back decides, item by item (SPEC 5)."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from checkpoints import record, states
from conftest import PATIENCE

from resumectl import JournalError, process_batches, read_journal, read_results, reset

ABC = ["a", "b", "c", "d", "e"]


def test_done_is_what_came_back_as_done_and_nothing_else(book: Path) -> None:
    """Any order, a failure, a missing one, an unknown id: the next call gets exactly what is not done."""

    def handler(batch: list[str]) -> list[dict[str, object]]:
        return [{"id": "e"}, {"key": "c", "status": "done"}, {"id": "stranger"}, {"id": "a"}, {"id": "b", "status": "no", "error": "sour"}]

    with pytest.warns(RuntimeWarning, match="stranger"):
        summary = process_batches(ABC, handler, checkpoint=book)
    assert (summary.completed, summary.failed, summary.total, summary.ok) == (3, 2, 5, False)
    assert states(book) == {"a": "done", "b": "failed", "c": "done", "d": "failed", "e": "done"}
    assert {one["id"]: (one["why"], one["text"]) for one in record(book, "failed")} == {
        "b": ("error", "sour"),
        "d": ("not-reported", "not reported by its batch"),
    }
    seen: list[list[str]] = []
    again = process_batches(ABC, lambda batch: seen.append(batch) or True, checkpoint=book)
    assert seen == [["b"], ["d"]]  # alone from then on
    assert (again.completed, again.resumed, again.failed, again.ok) == (2, 3, 0, True)


async def coroutine(batch: list[str]) -> bool:
    await asyncio.sleep(0)
    return True


class Awaited:
    async def __call__(self, batch: list[str]) -> bool:
        return True


@pytest.mark.parametrize(
    "handler",
    [
        lambda batch: None,
        lambda batch: False,
        lambda batch: "done",
        lambda batch: b"done",
        lambda batch: {"id": "a", "status": "done"},
        lambda batch: 5,
        lambda batch: coroutine(batch),
        Awaited(),
        lambda batch: batch,
        lambda batch: [{"status": "done"}],
        lambda batch: [{"id": 1.5}],
    ],
)
def test_a_forgotten_return_or_await_fails_the_batch(book: Path, handler: Callable[[list[str]], Any]) -> None:
    """None, text, one mapping, a coroutine that nobody ran: never done, and the error says what came back."""
    errors: list[tuple[str, list[str]]] = []
    told = lambda error, batch: errors.append((type(error).__name__, batch))  # noqa: E731
    summary = process_batches(ABC, handler, checkpoint=book, batch_size=3, on_batch_error=told)
    assert not summary.ok and summary.completed == 0 and set(states(book).values()) == {"failed"}
    assert errors == [("TypeError", ABC[:3]), ("TypeError", ABC[3:])]


@pytest.mark.parametrize("handler", [coroutine, functools.partial(coroutine)])
def test_a_coroutine_function_is_run(book: Path, handler: Callable[[list[str]], Any]) -> None:
    assert process_batches(ABC, handler, checkpoint=book).ok


def test_results_may_come_from_a_generator(book: Path) -> None:
    """What it yields before it raises is not believed: the batch has failed."""

    def handler(batch: list[str]) -> Iterator[dict[str, str]]:
        for item in batch:
            if item == "d":
                raise ValueError("no d")
            yield {"id": item}

    assert process_batches(ABC, handler, checkpoint=book, batch_size=3).completed == 3
    assert states(book) == dict.fromkeys("abc", "done") | dict.fromkeys("de", "failed")


@pytest.mark.parametrize("value", [2**70, "\ud800", {(1, 2): 3}])
def test_a_result_that_can_not_be_written_down_fails_its_batch_and_the_rest_goes_on(book: Path, value: Any) -> None:
    """Else the call would end there, that item would be cut off, and every later call would end there again."""
    heard: list[list[int]] = []
    summary = process_batches(
        range(4),
        lambda batch: [{"id": one, "x": value if one == 1 else 0} for one in batch],
        checkpoint=book,
        batch_size=1,
        on_batch_error=lambda error, batch: heard.append(batch),
    )
    assert (summary.completed, summary.failed, heard) == (3, 1, [[1]])


def test_an_exception_fails_its_batch_and_the_rest_goes_on(book: Path) -> None:
    """Whatever it is, however often: no rule stops the run, and the next call hands the items over alone."""
    errors: list[str] = []

    def handler(batch: list[int]) -> bool:
        if 3 in batch or min(batch) >= 10:
            raise RuntimeError(f"bad {batch}")
        return True

    summary = process_batches(
        range(60), handler, checkpoint=book, batch_size=2, on_batch_error=lambda error, batch: errors.append(f"{error} {batch}")
    )
    assert summary.completed == 8 and len(errors) == 26 and errors[0] == "bad [2, 3] [2, 3]"
    assert record(book, "failed")[0]["text"] == "RuntimeError: bad [2, 3]" and record(book, "end")[0]["why"] == "exhausted"
    seen: list[list[int]] = []
    process_batches(range(5), lambda batch: seen.append(batch) or True, checkpoint=book, batch_size=2)
    assert seen == [[2], [3]]


def test_max_attempts_holds_an_item_over_all_calls(book: Path) -> None:
    def handler(batch: list[str]) -> bool:
        raise RuntimeError

    for _ in range(4):
        process_batches(["a"], handler, checkpoint=book, max_attempts=2)
    assert [entry.state for entry in read_journal(book)] == ["parked"] and len(record(book, "started")) == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_leaves_a_journal_that_resumes(book: Path, error: type[BaseException], jobs: int) -> None:
    """It passes through to the caller; what was in flight is cut off, what was done is not done again."""
    done: list[str] = []

    def handler(batch: list[str]) -> bool:
        if "c" in batch and not interrupted:
            interrupted.append(True)
            raise error
        done.extend(batch)
        return True

    interrupted: list[bool] = []
    with pytest.raises(error):
        process_batches(ABC, handler, checkpoint=book, batch_size=1, jobs=jobs)
    assert set(states(book).values()) <= {"done", "cut_off"}
    assert process_batches(ABC, handler, checkpoint=book, batch_size=1, jobs=jobs).ok
    assert set(done) == set(ABC) and len(done) <= len(ABC) + jobs - 1
    assert record(book, "cut_off")[0]["why"] == "crash"


def test_several_jobs_run_in_threads_and_one_in_the_callers(book: Path) -> None:
    """With three jobs three batches meet at a barrier."""
    threads: set[int] = set()
    barrier = threading.Barrier(3, timeout=PATIENCE)

    def handler(batch: list[int]) -> bool:
        threads.add(threading.get_ident())
        barrier.wait()
        return True

    assert process_batches(range(6), handler, checkpoint=book, batch_size=2, jobs=3).ok
    assert len(threads) == 3 and threading.get_ident() not in threads
    threads.clear()
    alone = lambda batch: threads.add(threading.get_ident()) or True  # noqa: E731
    assert process_batches(range(9), alone, checkpoint=book, jobs=1).ok
    assert threads == {threading.get_ident()}


def test_the_key_names_an_item(book: Path) -> None:
    """By default the item itself, else its `id`, as a field or an attribute; repeats are one."""
    seen: list[Any] = []

    def handler(batch: list[Any]) -> bool:
        seen.extend(batch)
        return True

    things = ["a", b"\xff", 3, {"id": "m", "x": 1}, SimpleNamespace(id=7), "a", 3, {"id": "m", "x": 2}]
    summary = process_batches(things, handler, checkpoint=book)
    assert seen == things[:5] and summary.total == 5 and summary.ok
    assert [entry.id for entry in read_journal(book)] == [b"a", b"\xff", b"3", b"m", b"7"]
    process_batches([("x", 1), ("y", 2)], handler, key=lambda pair: pair[0], checkpoint=book)
    assert [entry.id for entry in read_journal(book)][5:] == [b"x", b"y"]
    with pytest.raises(TypeError, match="a key must be str, bytes or int, not float"):
        process_batches([1.5], handler, key=lambda item: item, checkpoint=book)  # type: ignore[arg-type,return-value]


def test_progress_is_told_after_each_batch(book: Path) -> None:
    told: list[tuple[int, int, int, int | None]] = []
    see = lambda p: told.append((p.completed, p.resumed, p.failed, p.total))  # noqa: E731
    process_batches(ABC[:2], lambda batch: True, checkpoint=book)
    process_batches(ABC, lambda batch: [{"id": id} for id in batch if id != "d"], checkpoint=book, batch_size=2, on_progress=see)
    assert told == [(1, 2, 1, 5), (2, 2, 1, 5)]


def test_results_are_kept_and_can_be_read(book: Path) -> None:
    """As JSON, whatever the handler put in; True keeps nothing but is no error."""
    process_batches(["a", "b"], lambda batch: [{"id": one, "n": {1: one}, "p": Path("/x")} for one in batch], checkpoint=book)
    process_batches(["c"], lambda batch: True, checkpoint=book)
    assert list(read_results(book)) == [
        (b"a", b'{"id":"a","n":{"1":"a"},"p":"/x"}\n'),
        (b"b", b'{"id":"b","n":{"1":"b"},"p":"/x"}\n'),
        (b"c", b""),
    ]


def test_a_reset_archives_and_starts_over(book: Path) -> None:
    process_batches(["a"], lambda batch: True, checkpoint=book)
    kept = reset(book)
    assert all(path.exists() for path in kept) and len(kept) == 2 and not list(read_journal(book))
    assert process_batches(["a"], lambda batch: True, checkpoint=book).completed == 1
    assert reset(book.with_name("none.jsonl")) == []


def test_wrong_arguments_are_refused_before_anything_is_touched(book: Path) -> None:
    for wrong in ({"batch_size": 0}, {"jobs": 0}):
        with pytest.raises(ValueError, match="count from 1"):
            process_batches(ABC, lambda batch: True, checkpoint=book, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'ful'"):
        process_batches(ABC, lambda batch: True, checkpoint=book, sync="ful")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callable"):
        process_batches(ABC, None, checkpoint=book)  # type: ignore[arg-type]
    assert not book.exists()


def test_one_checkpoint_serves_one_call_at_a_time(book: Path) -> None:
    def handler(batch: list[str]) -> bool:
        with pytest.raises(JournalError, match="in use") as refused:
            process_batches(["z"], lambda batch: True, checkpoint=book)
        return refused.value.code == 4

    assert process_batches(["a"], handler, checkpoint=book).ok
