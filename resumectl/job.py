"""What is started and what came of it: the words in which the loop and the places where jobs run speak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from .items import Item
from .outputs import Kept, Outputs, Spool, Stream
from .records import Record, stamp
from .verdict import Ended, Kind, Verdict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """The items of one start, each with its attempt and idempotency key; a check starts no attempt."""

    items: tuple[Item[T], ...]
    attempts: tuple[int, ...]
    keys: tuple[str, ...]
    uuid: str
    slot: int
    check: bool = False

    @property
    def ids(self) -> tuple[bytes, ...]:
        return tuple(item.id for item in self.items)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How one start ended: its verdict, seconds, the child's end, and its two streams.

    `again`: another attempt of its items follows in this run.  `error` says that what it printed can't be caught or put in its place: the disk's fault, not the item's.
    """

    job: Job[T]
    verdict: Verdict
    seconds: float
    ended: Ended | None = None
    out: Spool | None = None
    err: Spool | None = None
    again: bool = False
    error: str = ""


@dataclass(frozen=True)
class Signal:
    """A signal that the process got."""

    number: int


@dataclass(frozen=True)
class ReaderGone:
    """Standard output can't be written any more; `error` is empty if its reader just left."""

    error: str = ""


class Crew(Protocol):
    """Where jobs run.  Outcomes are put into the inbox, in any order."""

    def start(self, job: Job[Any]) -> None: ...

    def stop(self, signum: int) -> None:
        """Signal what runs; what has not begun never begins."""


class Show(Protocol):
    """Whoever tells a person; called by the main thread, must not block."""

    def outcome(self, outcome: Outcome[Any], out: Stream | None, err: Stream | None) -> None:
        """An attempt has ended and is recorded; the streams are None where there is nothing to print."""

    def say(self, text: str) -> None: ...

    def limited(self, until: float | None) -> None:
        """A limit is sat out until then (epoch seconds), or none is; called again and again."""

    @property
    def full(self) -> bool:
        """Whether so much waits to be printed that nothing new should start."""


def end_record(outcome: Outcome[Any], run: int, out: Kept | None, err: Kept | None) -> Record:
    """The line that ends an attempt; where its streams are kept, None if they are not."""
    verdict = outcome.verdict
    rest: dict[str, Any] = {}
    ended = outcome.ended
    if verdict.kind is Kind.CUT_OFF:
        rest["run"] = run
    if ended is not None:
        rest["rc"] = ended.code if ended.code is not None else -(ended.signal or 0)
    if verdict.kind is not Kind.DONE:
        rest["why"] = verdict.why
    rest["ms"] = round(outcome.seconds * 1000)
    rest |= {name: where.field() for name, where in (("out", out), ("err", err)) if where is not None}
    if verdict.resume_at is not None:
        rest["resume_at"] = stamp(verdict.resume_at)
    if verdict.source is not None:
        rest["source"] = verdict.source
    if verdict.cost is not None:
        rest["cost"] = verdict.cost
    if verdict.sums:
        rest["sums"] = dict(verdict.sums)
    if verdict.text and verdict.kind is not Kind.DONE:
        rest["text"] = verdict.text
    job = outcome.job
    return Record(verdict.kind.value, job.ids, job.attempts, rest)


def streams(
    outcome: Outcome[Any], outputs: Outputs | None, out: Kept | None, err: Kept | None
) -> tuple[Stream | None, Stream | None]:
    """What of an ended attempt is to be printed: from where it is kept, else from where the child wrote it."""
    return _stream(outcome.out, outputs, out), _stream(outcome.err, outputs, err)


def _stream(spool: Spool | None, outputs: Outputs | None, where: Kept | None) -> Stream | None:
    if spool is not None and (outputs is not None or spool.fd < 0 or not spool.size()):
        spool.close()
        spool = None
    if outputs is None:
        return spool
    return outputs.span(where) if where is not None and where.length else None
