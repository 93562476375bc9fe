"""What is started and what came of it: the words in which the loop and the places where jobs run speak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from .items import Item
from .outputs import Kept, Outputs, Spool, Stream, Text
from .records import Record, stamp
from .verdict import Ended, Kind, Verdict

T = TypeVar("T")
Caught = Spool | Text  # what a start has printed


class Job(NamedTuple, Generic[T]):
    """The items of one start, each with its id, attempt and idempotency key; a check starts no attempt."""

    items: tuple[Item[T], ...]
    ids: tuple[bytes, ...]
    attempts: tuple[int, ...]
    keys: tuple[str, ...]
    uuid: str
    slot: int
    check: bool = False
    batch: bool = False  # its items are handed over as a list, even if there is only one
    named: bool = False  # it is handed out under a name of its own, which its line carries

    def singles(self) -> Iterator[Job[T]]:
        """A job for each of its items alone."""
        for item, attempt, key in zip(self.items, self.attempts, self.keys, strict=True):
            yield Job((item,), (item.id,), (attempt,), (key,), self.uuid, self.slot)

    @property
    def name(self) -> str:
        """A name that no other start ever has, and that tells nothing of the id: part of the key, part of the UUID."""
        return f"{self.keys[0].replace('-', '')[:16]}.{self.uuid[:8]}"

    def started(self) -> Record:
        """The line before its start; a batch's names the files that belong to it."""
        rest = {"uuid": self.uuid} if self.batch else {}
        return Record("started", self.ids, self.attempts, {**rest, "att": self.name} if self.named else rest)


class Outcome(NamedTuple, Generic[T]):
    """How one start ended: its verdict, seconds, the child's end, and what it printed.

    `results` are the verdicts of items that differ from the whole's, `each` what is to
    be kept for each item of its own, `again` the items of which another attempt follows
    in this run, `note` what a person should know besides, `facts` what its lines are to
    tell besides (where it ran).  `error` says that what it printed can't be caught or put in its place: the disk's fault, not the item's.
    """

    job: Job[T]
    verdict: Verdict
    seconds: float
    ended: Ended | None = None
    out: Caught | None = None
    err: Caught | None = None
    results: Mapping[bytes, Verdict] = {}
    each: Mapping[bytes, Text] = {}
    again: frozenset[bytes] = frozenset()
    note: str = ""
    error: str = ""
    facts: Mapping[str, Any] = {}

    @property
    def clean(self) -> bool:
        """Whether all of its items are done, each by the verdict on the whole."""
        return self.verdict.kind is Kind.DONE and not self.results

    def of(self, id: bytes) -> Verdict:
        """The verdict on one of its items."""
        return self.results.get(id, self.verdict)

    def streams(self) -> list[Caught | None]:
        """What is to be kept: its two streams, or one for each item."""
        return [self.each.get(id) for id in self.job.ids] if self.each else [self.out, self.err]


@dataclass(frozen=True)
class Signal:
    """A signal that the process got."""

    number: int


@dataclass(frozen=True)
class ReaderGone:
    """Standard output can't be written any more; `error` is empty if its reader just left."""

    error: str = ""


@dataclass(frozen=True)
class Notice:
    """What a thread of ours has to tell a person."""

    text: str


@dataclass(frozen=True)
class Followed:
    """The follower has come to its end: it has caught up, or can't, and `error` says why."""

    error: str = ""


class Follower(Protocol[T]):
    """Whoever repeats elsewhere what the journal says is done.  Called by the main thread, must not block."""

    def done(self, items: Sequence[Item[T]]) -> None:
        """The lines that say so are durable."""

    def close(self) -> None:
        """Nothing more will be done: puts `Followed` into the inbox, unless that has been put there before."""

    def lines(self) -> list[str]:
        """What is to be said of it at the end of the run."""


@dataclass(frozen=True)
class News:
    """What a crew has to tell besides outcomes: a line for the journal, a line for a person, how many
    jobs it takes at once from now on, or why nothing can be started any more."""

    record: Record | None = None
    say: str = ""
    slots: int | None = None
    halt: str = ""


class Crew(Protocol):
    """Where jobs run.  Outcomes and News are put into the inbox, in any order."""

    def start(self, job: Job[Any]) -> None: ...

    def drain(self) -> None:
        """Nothing more is to begin: give back what was started and has not begun, as uncharged `released`."""

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


def end_records(outcome: Outcome[Any], run: int, places: Sequence[Kept | None]) -> Iterator[Record]:
    """What ends the attempts of a start, a line an item; where its streams are kept, empty if they are not."""
    job, own, last = outcome.job, outcome.each and places, None
    if outcome.clean and not own:
        rest = _fields(outcome, outcome.verdict, run)
        yield Record("done", job.ids, job.attempts, rest | _where(places))
        return
    for at, (id, attempt) in enumerate(zip(job.ids, job.attempts, strict=True)):
        verdict = outcome.of(id)
        if own or verdict is not last:
            last, kind = verdict, verdict.kind.value
            rest = _fields(outcome, verdict, run)
            rest |= _where((places[at], None) if own else places)
        yield Record(kind, (id,), (attempt,), rest)


def _where(places: Sequence[Kept | None]) -> dict[str, Any]:
    return {name: where.field() for name, where in zip(("out", "err"), places, strict=False) if where is not None}


def _fields(outcome: Outcome[Any], verdict: Verdict, run: int) -> dict[str, Any]:
    rest: dict[str, Any] = {}
    ended = outcome.ended
    if verdict.kind is Kind.CUT_OFF:
        rest["run"] = run
    if ended is not None:
        rest["rc"] = ended.code if ended.code is not None else -(ended.signal or 0)
    if verdict.kind is not Kind.DONE:
        rest["why"] = verdict.why
    rest["ms"] = round(outcome.seconds * 1000)
    rest |= outcome.facts
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
    return rest


def streams(
    outcome: Outcome[Any], outputs: Outputs | None, places: Sequence[Kept | None]
) -> tuple[Stream | None, Stream | None]:
    """What of an ended start is to be printed: from where it is kept, else from where the child wrote it."""
    if outcome.each:
        return None, None
    out, err = places or (None, None)
    return _stream(outcome.out, outputs, out), _stream(outcome.err, outputs, err)


def _stream(spool: Caught | None, outputs: Outputs | None, where: Kept | None) -> Stream | None:
    if spool is not None and (outputs is not None or spool.fd < 0 or not spool.size()):
        spool.close()
        spool = None
    if outputs is None:
        return spool
    return outputs.span(where) if where is not None and where.length else None
