"""`process_batches`: the loop and the journal of `resumectl run`, with a Python handler in the command's place."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, Literal, TypeVar

import orjson

from .admission import Admission, Rules
from .child import Leash
from .crew import Threads
from .feed import Pull
from .items import Item
from .job import Job, Outcome
from .ledger import State
from .loop import Loop, moment
from .outputs import NOTHING, Outputs, Stream, Text
from .pacing import Pacing
from .papers import results as verdicts
from .papers import strangers
from .place import chosen
from .policy import Before, Policy
from .run import Run
from .tally import Tally
from .verdict import Kind, Verdict

T = TypeVar("T")
Key = str | bytes | int
Result = Mapping[str, Any]
Handler = Callable[[list[T]], Any]
DONE = Verdict(Kind.DONE)


@dataclass(frozen=True)
class Progress:
    """Counts of items: done in this call, done before it, failed attempts, and how many there are (None: not known yet)."""

    completed: int
    resumed: int
    failed: int
    total: int | None


@dataclass(frozen=True)
class Summary(Progress):
    """The counts at the end; `ok` is true only if every item is done."""

    ok: bool = False


def process_batches(
    items: Iterable[T],
    handler: Handler[T],
    *,
    key: Callable[[T], Key] | None = None,
    checkpoint: str | os.PathLike[str],
    batch_size: int = 10,
    jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    on_batch_error: Callable[[Exception, list[T]], None] | None = None,
    max_attempts: int = 0,
    sync: Literal["full", "none"] = "full",
) -> Summary:
    """Call `handler` once for each batch of items that the checkpoint does not have as done.

    `key(item)` names an item: str, bytes or int; by default the item itself if it is
    one of these, else its `id`.  `handler(batch)` gives one mapping an item with its
    `id` (or `key`) and, if it failed, a `status` other than `done`; or True if all are
    done.  An item without a result is failed; None, or anything else, fails the batch.
    A coroutine function is run by `asyncio.run`.  An exception fails the batch, goes to
    `on_batch_error(error, batch)`, and the rest goes on; items of a failed batch are
    handed over one by one by later calls.

    With jobs=1 the handler runs in the calling thread, else in `jobs` threads.  With
    `sync="full"` what is recorded outlives a power cut.  The checkpoint is a journal as
    `resumectl run` writes it.

    Raises `resumectl.JournalError` if the checkpoint is in use, damaged, not a journal,
    or can't be written; TypeError or ValueError for arguments that make no sense.
    """
    if batch_size < 1 or jobs < 1:
        raise ValueError("batch_size and jobs count from 1")
    if sync not in ("full", "none"):
        raise ValueError(f"sync is 'full' or 'none', not {sync!r}")
    if not callable(handler):
        raise TypeError(f"a handler must be callable, and {type(handler).__name__} is not")
    name = key or _own_key
    run = Run(chosen(checkpoint), sync=sync, jobs=jobs * batch_size)
    try:
        run.acquire()
        run.load()
        call = _Call(run, _numbered(items, name), _Work(handler, name, on_batch_error), jobs, batch_size, max_attempts)
        return call.go(on_progress, known=len(items) if isinstance(items, Sequence) else None)
    finally:
        run.close()


class _Call(Generic[T]):
    """One call of `process_batches`, from the open journal to its end."""

    def __init__(
        self, run: Run, items: Iterator[Item[T]], work: _Work[T], jobs: int, batch_size: int, max_attempts: int
    ) -> None:
        self._run, self._items, self._jobs, self._work = run, items, jobs, work
        self._sealed = run.seal_open()
        policy = Policy(max_consecutive_failures=0, batch=batch_size)
        self._pacing: Pacing[T] = Pacing(policy, jobs, moment(), Before())
        self._tally = Tally()
        self._admission: Admission[T] = Admission(
            Rules(max_attempts=max_attempts), run.ledger, self._pacing, self._tally
        )

    def go(self, on_progress: Callable[[Progress], None] | None, known: int | None) -> Summary:
        """Run it all; `known` is the number of items where they can be counted beforehand."""
        inbox: SimpleQueue[Any] = SimpleQueue()
        feed: Pull[T] = Pull(self._run, self._admission, self._items, inbox)
        if known is not None:
            feed.all()
        outputs = Outputs(self._run.disk, self._run.place.out, sync=self._run.journal.sync == "full")
        self._run.heal()
        self._run.open_outputs(outputs)
        self._run.begin(self._fields(), [*self._sealed, *self._admission.held])
        self._admission.held.clear()
        crew = Threads(self._work, self._jobs, inbox) if self._jobs > 1 else _Inline(self._work, inbox)
        show = _Show(self._tally, on_progress)
        loop = Loop(
            self._run,
            self._pacing,
            self._admission,
            crew,
            show,
            inbox,
            feed=feed,
            outputs=outputs,
            batched=True,
            keyed=False,
        )
        try:
            loop.go()
        finally:
            outputs.close()
        if loop.broken is not None:
            raise loop.broken
        counts = {"done": self._tally.completed, "failed": self._tally.failed, "cut_off": self._tally.cut_off}
        self._run.end(loop.why(), counts)
        return Summary(*show.counts(), ok=self._tally.complete)

    def _fields(self) -> dict[str, Any]:
        tally = self._tally
        return {
            "handler": self._work.name,
            "total": tally.total,
            "new": tally.new if tally.total is not None else None,
            "jobs": self._run.journal.jobs,
            "batch": self._pacing.policy.batch,
            "sync": self._run.journal.sync,
        }


class _Inline:
    """A crew for one slot: the handler runs in the thread that starts it."""

    def __init__(self, work: _Work[Any], inbox: SimpleQueue[Any]) -> None:
        self._work, self._inbox = work, inbox

    def start(self, job: Job[Any]) -> None:
        self._inbox.put(self._work(job, None))

    def drain(self) -> None:
        """Nothing to do: what was started here has ended."""

    def stop(self, signum: int) -> None:
        """Nothing runs while the loop does."""


class _Work(Generic[T]):
    """Calls the handler for one job and judges what it gives back."""

    def __init__(
        self,
        handler: Handler[T],
        key: Callable[[T], Key],
        on_error: Callable[[Exception, list[T]], None] | None,
    ) -> None:
        self._handler, self._key, self._on_error = handler, key, on_error
        self._coroutine = inspect.iscoroutinefunction(handler)
        self.name = getattr(handler, "__qualname__", type(handler).__name__)

    def __call__(self, job: Job[T], leash: Leash | None) -> Outcome[T]:
        began = time.perf_counter()
        batch = [item.value for item in job.items]
        try:
            given = asyncio.run(self._handler(batch)) if self._coroutine else self._handler(batch)
            if given is True:
                return Outcome(job, DONE, time.perf_counter() - began, out=NOTHING)
            found = _told(given)
            each = {id: Text(_kept(found[id])) for id in job.ids if id in found}
        except Exception as error:
            if self._on_error is not None:
                self._on_error(error, batch)
            verdict = Verdict(Kind.FAILED, "error", f"{type(error).__name__}: {error}")
            return Outcome(job, verdict, time.perf_counter() - began)
        if note := strangers(dict.fromkeys(found, DONE), job.ids):
            warnings.warn(note, RuntimeWarning, stacklevel=2)
        told = {id: _judge(result) for id, result in found.items()}
        seconds = time.perf_counter() - began
        return Outcome(job, DONE, seconds, results=verdicts(DONE, told, job.ids), each=each)


def _told(given: Any) -> dict[bytes, Result]:
    """The results by id.  TypeError for anything that is no result."""
    if inspect.iscoroutine(given):
        given.close()
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"the handler gave {type(given).__name__}; it must give one mapping an item, or True")
    found: dict[bytes, Result] = {}
    for result in given:
        if not isinstance(result, Mapping):
            raise TypeError(f"the handler gave a {type(result).__name__} among its results; each must be a mapping")
        name = result.get("id", result.get("key"))
        if name is None:
            raise TypeError("a result of the handler has neither id nor key")
        found[_bytes(name)] = result
    return found


def _judge(result: Result) -> Verdict:
    status = result.get("status", "done")
    if status == "done":
        return DONE
    return Verdict(Kind.FAILED, "error", str(result.get("error") or f"status {status}"))


def _kept(result: Result) -> bytes:
    """A result as JSON, as far as it can be written so."""
    return orjson.dumps(dict(result), default=str, option=orjson.OPT_NON_STR_KEYS) + b"\n"


def _own_key(item: Any) -> Key:
    if isinstance(item, (str, bytes, int)):  # a tuple: several times as fast as a union
        return item
    return item["id"] if isinstance(item, Mapping) else item.id  # type: ignore[no-any-return]


def _bytes(name: Any) -> bytes:
    if isinstance(name, str):
        return name.encode("utf-8", "surrogateescape")
    if isinstance(name, int):
        return b"%d" % name
    if isinstance(name, bytes):
        return name
    raise TypeError(f"a key must be str, bytes or int, not {type(name).__name__}")


def _numbered(items: Iterable[T], key: Callable[[T], Key]) -> Iterator[Item[T]]:
    for index, item in enumerate(items, 1):  # a generator: a key that raises StopIteration must not end the list
        yield Item(_bytes(key(item)), item, index)


class _Show:
    """Tells the caller after each batch."""

    full = False

    def __init__(self, tally: Tally, on_progress: Callable[[Progress], None] | None) -> None:
        self._tally, self._on_progress = tally, on_progress

    def counts(self) -> tuple[int, int, int, int | None]:
        tally = self._tally
        return tally.completed, tally.resumed, tally.states[State.FAILED], tally.total

    def outcome(self, outcome: Outcome[Any], out: Stream | None, err: Stream | None) -> None:
        if self._on_progress is not None:
            self._on_progress(Progress(*self.counts()))

    def say(self, text: str) -> None:
        """An exception says it."""

    def limited(self, until: float | None) -> None:
        """A handler knows no limits."""
