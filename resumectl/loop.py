"""The turn: collect what ended, write its end lines and the started lines of what comes next in
one append and one sync, then start it.

So "started before its effect" and "done before it is believed" are adjacent lines
here.  The main thread alone writes, and waits in one place: the inbox.  What is run,
and where, is the crew's affair.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from .admission import Admission
from .feed import Feed
from .interrupts import Interrupts
from .job import Crew, Job, Outcome, ReaderGone, Show, Signal, end_record, streams
from .ledger import State
from .lines import JournalError
from .outputs import Kept, Outputs
from .pacing import Pacing
from .records import Record
from .run import Run
from .stream import Chunk, Stream
from .throttle import Moment
from .verdict import Kind

T = TypeVar("T")
LOOK = 1.0  # seconds between two looks at the journal while nothing happens


class Loop(Generic[T]):
    """Runs what the pacing lets start, and records what ends, until nothing is left to do.

    After `go`, `interrupts.signal`, `broken` and `reader_gone` say what else happened.
    """

    def __init__(
        self,
        run: Run,
        pacing: Pacing[T],
        admission: Admission[T],
        crew: Crew,
        show: Show,
        inbox: SimpleQueue[Any],
        *,
        stream: Stream | None = None,
        outputs: Outputs | None = None,
        grace: float = 10.0,
    ) -> None:
        self.run, self.pacing, self.admission = run, pacing, admission
        self.crew, self.show, self.inbox = crew, show, inbox
        self.interrupts = Interrupts(crew, pacing, show, grace)
        self.outputs = outputs  # None: nothing is kept
        self.tally = admission.tally
        self._feed = Feed(run, admission, stream)
        self.broken: JournalError | None = None
        self.reader_gone: ReaderGone | None = None
        self._arrived: list[Outcome[T]] = []  # ended; their output is not kept yet
        self._kept: list[tuple[Outcome[T], Kept | None, Kept | None]] = []  # ended and kept; not in the journal yet
        self._owed: list[Record] = []  # what the journal lacks
        self._slots = list(range(1, pacing.slots + 1))

    def go(self) -> None:
        """Turn until everything has ended."""
        self._turn([])
        while self.pacing.running or not self.pacing.over():
            self._turn(self._wait())
        self._read_on()
        self._keep()
        if (self._owed or self._kept) and self._write([]):
            self._acknowledge()

    def _turn(self, outcomes: Sequence[Outcome[T]]) -> None:
        """What ended and what comes next in one append, one sync; then it is believed, and started."""
        for outcome in outcomes:
            self._settle(outcome)
        self._keep()
        jobs = self._choose()
        if self._write(jobs):
            self._acknowledge()
            for job in jobs:
                self.crew.start(job)
        self._feed.want()

    def _wait(self) -> list[Outcome[T]]:
        """Everything that has come into the inbox; returns after LOOK seconds at the latest."""
        outcomes: list[Outcome[T]] = []
        try:
            event = self.inbox.get(timeout=self._patience())
            while True:
                if isinstance(event, Outcome):
                    outcomes.append(event)
                else:
                    self._event(event)
                event = self.inbox.get_nowait()
        except Empty:
            self._tick()
        return outcomes

    def _patience(self) -> float:
        """How long to wait for an event, in seconds."""
        wake = self.pacing.wake(moment())
        return self.interrupts.patience(LOOK if wake is None else min(LOOK, max(wake, 0.001)))

    def _tick(self) -> None:
        self.interrupts.tick()
        self.show.limited(None if self.pacing.stop else self.pacing.throttle.until)
        if self.broken is None:
            try:
                self.run.journal.look()
            except JournalError as error:
                self._break(error)

    def _event(self, event: Any) -> None:
        if isinstance(event, Signal):
            self.interrupts.got(event.number)
        elif isinstance(event, Chunk):
            self._listed(event)
        elif isinstance(event, ReaderGone):
            self.reader_gone = event
            self.pacing.halt("sigpipe", event.error)
        elif isinstance(event, BaseException):
            raise event

    def _listed(self, chunk: Chunk) -> None:
        try:
            for record in self._feed.take(chunk):
                self._owe(record)
        except JournalError as error:
            self._break(error)

    def _choose(self) -> list[Job[T]]:
        """The next jobs, one for each free slot, while the pacing and the printing allow."""
        jobs: list[Job[T]] = []
        while not self.show.full and (item := self.pacing.next(moment())) is not None:
            check = item.id in self.admission.to_check
            attempt = self.run.ledger.attempts(item.id) + (not check)
            keys = (self.run.key(item.id),)
            jobs.append(Job((item,), (attempt,), keys, str(uuid.uuid4()), heappop(self._slots), check))
        return jobs

    def _write(self, jobs: Sequence[Job[T]]) -> bool:
        """Append what is owed and the starts; False if the journal did not take it."""
        started = [Record("started", job.ids, job.attempts) for job in jobs if not job.check]
        held, self.admission.held = self.admission.held, []
        owed = [*self._owed, *held]
        try:
            if self.broken and (owed or self._kept):  # a failed sync has left nothing owed, and nothing proven
                self.run.journal.mend(owed)
            elif owed or started:
                self.run.journal.append([*owed, *started])
        except JournalError as error:
            self._unwritten(error, owed, started, jobs)
            return False
        self._owed = []
        for record in started:
            self._enter(record)
            self.tally.running |= dict.fromkeys(record.ids, time.monotonic())
        return True

    def _unwritten(
        self, error: JournalError, owed: list[Record], started: list[Record], jobs: Sequence[Job[T]]
    ) -> None:
        """Keep what the file lacks; a start that is in it but will not happen is taken back."""
        landed = error.landed
        back = started[: max(0, landed - len(owed))]
        self._owed = owed[landed:] + [Record("uncharged", r.ids, r.attempts, {"why": "stop"}) for r in back]
        for job in jobs:
            self.pacing.running -= 1
            heappush(self._slots, job.slot)
        self._break(error)

    def _break(self, error: JournalError) -> None:
        """Start nothing more; what runs ends, and is recorded if that is possible after all."""
        if self.broken is None:
            self.broken = error
            self.pacing.halt("journal")
            self.show.say(f"{error}; starting nothing more")

    def _settle(self, outcome: Outcome[T]) -> None:
        """The slot is free, and the pacing knows what came of it."""
        heappush(self._slots, outcome.job.slot)
        if outcome.error:
            self._break(JournalError(outcome.error, 74))
        if outcome.job.check:
            return self._checked(outcome)
        item = outcome.job.items[0]
        standing = self.run.ledger.standing(item.id)
        verdict, again = self.pacing.ended(
            item,
            outcome.verdict,
            outcome.seconds,
            moment(),
            failures=standing.failures,
            last=self.admission.last_attempt(standing),
        )
        self._arrived.append(replace(outcome, verdict=verdict, again=again))

    def _keep(self) -> None:
        """Make durable what has been printed, then owe the journal the lines that name it."""
        if not self._arrived:
            return
        spools = [spool for outcome in self._arrived for spool in (outcome.out, outcome.err)]
        try:
            where = self.outputs.keep(spools) if self.outputs is not None else [None] * len(spools)
        except OSError as error:
            return self._break(JournalError(f"{self.run.place.out}: {error.strerror}", 74))
        for outcome, out, err in zip(self._arrived, where[::2], where[1::2], strict=True):
            named = (out, err) if self.outputs is not None and self.outputs.named else (None, None)
            self._owe(end_record(outcome, self.run.number, *named))
            if outcome.verdict.kind in (Kind.FAILED, Kind.CUT_OFF):
                self._exhaust(outcome.job.items[0].id)
            self._kept.append((outcome, out, err))
        self._arrived.clear()

    def _exhaust(self, id: bytes) -> None:
        if held := self.admission.exhausted(id):
            self._owe(held)

    def _owe(self, record: Record) -> None:
        self.run.ledger.enter(record)
        self._owed.append(record)

    def _checked(self, outcome: Outcome[T]) -> None:
        """`--verify` has answered for a cut-off item: done, to run after all, or unknown."""
        item, verdict = outcome.job.items[0], outcome.verdict
        self.pacing.checked(item)
        outcome = replace(outcome, again=verdict.kind is Kind.FAILED)
        self.show.outcome(outcome, *streams(outcome, None, None, None))
        attempts = (self.run.ledger.attempts(item.id),)
        if verdict.kind is Kind.DONE:
            self._owe(Record("done", (item.id,), attempts, {"by": "verify"}))
            self.tally.move(State.CUT_OFF, State.DONE)
            self.tally.resumed += 1
        elif verdict.kind is Kind.HELD:
            self._owe(Record("held", (item.id,), attempts, {"why": "verify", "by": "verify", "text": verdict.text}))
            self.tally.move(State.CUT_OFF, State.PARKED)
        elif verdict.kind is Kind.FAILED:
            self.admission.to_check.discard(item.id)
            self.pacing.again(item)

    def _acknowledge(self) -> None:
        """What is durable may be believed: counted and shown."""
        for outcome, out, err in self._kept:
            id = outcome.job.items[0].id
            state = self.run.ledger.state(id)
            self.tally.running.pop(id, None)
            self.tally.move(State.CUT_OFF, state)
            self.tally.completed += outcome.verdict.kind is Kind.DONE
            self.tally.failed += outcome.verdict.kind is Kind.FAILED
            self.tally.cut_off += outcome.verdict.kind is Kind.CUT_OFF
            self.show.outcome(outcome, *streams(outcome, self.outputs, out, err))
        self._kept.clear()

    def _enter(self, record: Record) -> None:
        for id in record.ids:
            self.tally.move(self.run.ledger.state(id), State.CUT_OFF)
        self.run.ledger.enter(record)

    def _read_on(self) -> None:
        try:
            for record in self._feed.rest(self.inbox):
                self._owe(record)
        except JournalError as error:
            self._break(error)

    def unrecorded(self) -> list[bytes]:
        """The ids of what ended and could not be recorded."""
        ended = [*self._arrived, *(outcome for outcome, _, _ in self._kept)]
        return [id for outcome in ended for id in outcome.job.ids]

    def why(self) -> str:
        """Why the run ended, as `end` says it; the first that applies."""
        if self.interrupts.signal is not None:
            return self.interrupts.name()
        if self.broken is not None:
            return "journal"
        if self.reader_gone is not None:
            return "sigpipe"
        if self.pacing.stop is not None:
            return self.pacing.stop
        return "complete" if self.tally.complete else "exhausted"


def moment() -> Moment:
    """Now, on both clocks."""
    return Moment(time.monotonic(), time.time())
