"""The turn: collect what ended, write its end lines and the started lines of what comes next in
one append and one sync, then start it.

So "started before its effect" and "done before it is believed" are adjacent lines
here.  The main thread alone writes, and waits in one place: the inbox.  What is run,
and where, is the crew's affair.
"""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import Sequence
from heapq import heappop, heappush
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from .admission import Admission, DuplicateId
from .items import Item
from .job import Crew, Job, Outcome, ReaderGone, Show, Signal, end_record
from .ledger import State
from .lines import JournalError
from .pacing import Pacing
from .records import Record
from .run import Run
from .stream import Chunk, Stream
from .verdict import Kind, Verdict

T = TypeVar("T")
READ_ON = 1.0  # seconds that a stop goes on reading the list
LOOK = 1.0  # seconds between two looks at the journal while nothing happens


class Loop(Generic[T]):
    """Runs what the pacing lets start, and records what ends, until nothing is left to do.

    After `go`, `signal`, `broken` and `reader_gone` say what else happened.
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
        grace: float = 10.0,
    ) -> None:
        self.run, self.pacing, self.admission = run, pacing, admission
        self.crew, self.show, self.inbox, self.stream = crew, show, inbox, stream
        self.tally = admission.tally
        self.grace = grace
        self.signal: int | None = None
        self.broken: JournalError | None = None
        self.reader_gone: ReaderGone | None = None
        self.unrecorded: list[Outcome[T]] = []  # ended, and not (yet) in the journal
        self._owed: list[Record] = []  # what the journal lacks
        self._slots = list(range(1, pacing.slots + 1))
        self._interrupts = 0
        self._kill_at: float | None = None

    def go(self) -> None:
        """Turn until everything has ended."""
        self._turn([])
        while self.pacing.running or not self.pacing.over:
            self._turn(self._wait())
        self._read_on()
        if (self._owed or self.unrecorded) and self._write([]):
            self._acknowledge()

    def _turn(self, outcomes: Sequence[Outcome[T]]) -> None:
        """What ended and what comes next in one append, one sync; then it is believed, and started."""
        for outcome in outcomes:
            self._judge(outcome)
        jobs = self._choose()
        if self._write(jobs):
            self._acknowledge()
            for job in jobs:
                self.crew.start(job)
        if self.stream is not None and self.pacing.hungry:
            self.stream.more()

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
        if self._kill_at is None:
            return LOOK
        return min(LOOK, max(0.0, self._kill_at - time.monotonic()))

    def _tick(self) -> None:
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._kill_at = None
            self.crew.stop(signal.SIGKILL)
        if self.broken is None:
            try:
                self.run.journal.look()
            except JournalError as error:
                self._break(error)

    def _event(self, event: Any) -> None:
        if isinstance(event, Signal):
            self._signalled(event.number)
        elif isinstance(event, Chunk):
            self._listed(event)
        elif isinstance(event, ReaderGone):
            self.reader_gone = event
            self.pacing.halt("sigpipe", event.error)
        elif isinstance(event, JournalError):
            self._break(event)
        elif isinstance(event, BaseException):
            raise event

    def _signalled(self, number: int) -> None:
        """First Ctrl-C: let what runs end.  Second, or TERM or HUP: tell it to go.  Third: kill it."""
        self.signal = self.signal or number
        self.pacing.halt(signal.Signals(number).name.lower())
        self._interrupts += 1 if number == signal.SIGINT else 2
        if self._interrupts == 1 and self.pacing.running:
            count = self.pacing.running
            self.show.say(f"interrupted: {count} running, waiting for {'it' if count == 1 else 'them'}; Ctrl-C again stops")
        elif self._interrupts >= 3 and self._kill_at is not None and number == signal.SIGINT:
            self._kill_at = None
            self.crew.stop(signal.SIGKILL)
        elif self._interrupts >= 2:
            self._kill_at = self._kill_at or time.monotonic() + self.grace
            self.crew.stop(number)

    def _listed(self, chunk: Chunk) -> None:
        """More of a list that is no regular file."""
        assert self.stream is not None
        self.stream.came()
        try:
            self.run.keep_list(chunk.raw)
        except JournalError as error:
            return self._break(error)
        error = chunk.error
        try:
            for item in chunk.items:
                self.admission.take(item)
        except DuplicateId as duplicate:
            error = str(duplicate)
        self.tally.empty = self.stream.empty
        if error:
            self.pacing.halt("stream", error)
            self.stream = None
        elif chunk.end:
            self.stream = None
            self._list_ended()

    def _list_ended(self) -> None:
        self.pacing.closed = True
        self.tally.total = self.tally.listed
        try:
            self.run.sync_list()
        except JournalError as error:
            return self._break(error)
        counts = {"run": self.run.number, "total": self.tally.total, "new": self.tally.new}
        self._owe(Record("list", (), (), counts))

    def _choose(self) -> list[Job[T]]:
        """The next jobs, one for each free slot, while the pacing and the printing allow."""
        jobs: list[Job[T]] = []
        while not self.show.full and (item := self.pacing.next(time.monotonic())) is not None:
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
            if self.broken:
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

    def _unwritten(self, error: JournalError, owed: list[Record], started: list[Record], jobs: Sequence[Job[T]]) -> None:
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

    def _judge(self, outcome: Outcome[T]) -> None:
        """Turn an outcome into what the journal is owed, and tell the pacing."""
        job, verdict = outcome.job, outcome.verdict
        heappush(self._slots, job.slot)
        if job.check:
            return self._checked(job.items[0], verdict)
        ledger, id = self.run.ledger, job.items[0].id
        first = ledger.standing(id).failures == 0
        self.pacing.ended(verdict, outcome.seconds, first_failure=first)
        self._owe(end_record(outcome, self.run.number))
        if verdict.kind in (Kind.FAILED, Kind.CUT_OFF) and (held := self.admission.exhausted(id)):
            self._owe(held)
        self.unrecorded.append(outcome)

    def _owe(self, record: Record) -> None:
        self.run.ledger.enter(record)
        self._owed.append(record)

    def _checked(self, item: Item[T], verdict: Verdict) -> None:
        """`--verify` has answered for a cut-off item: done, to run after all, or unknown."""
        self.pacing.checked()
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
        for outcome in self.unrecorded:
            id = outcome.job.items[0].id
            state = self.run.ledger.state(id)
            self.tally.running.pop(id, None)
            self.tally.move(State.CUT_OFF, state)
            self.tally.completed += outcome.verdict.kind is Kind.DONE
            self.tally.failed += outcome.verdict.kind is Kind.FAILED
            self.tally.cut_off += outcome.verdict.kind is Kind.CUT_OFF
            self.show.outcome(outcome)
        self.unrecorded.clear()

    def _enter(self, record: Record) -> None:
        for id in record.ids:
            self.tally.move(self.run.ledger.state(id), State.CUT_OFF)
        self.run.ledger.enter(record)

    def _read_on(self) -> None:
        """A stop reads on for a second, so that a list which was about to end is kept whole."""
        end = time.monotonic() + READ_ON
        while self.stream is not None and (left := end - time.monotonic()) > 0:
            self.stream.more()
            try:
                event = self.inbox.get(timeout=left)
            except Empty:
                return
            if isinstance(event, Signal):
                return
            self._event(event)

    def why(self) -> str:
        """Why the run ended, as `end` says it; the first that applies."""
        if self.signal is not None:
            return signal.Signals(self.signal).name.lower()
        if self.broken is not None:
            return "journal"
        if self.reader_gone is not None:
            return "sigpipe"
        if self.pacing.stop is not None:
            return self.pacing.stop
        return "complete" if self.tally.complete else "exhausted"
