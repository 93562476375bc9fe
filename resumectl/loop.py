"""The turn: collect what ended, write its end lines and the started lines of what comes next in
one append and one sync, then start it.

So "started before its effect" and "done before it is believed" are adjacent lines
here.  The main thread alone writes, and waits in one place: the inbox.  What is run,
and where, is the crew's affair.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from heapq import heappop, heappush
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from .admission import Admission
from .ends import Ends
from .feed import Source
from .interrupts import Interrupts
from .job import Crew, Followed, Follower, Job, News, Notice, Outcome, ReaderGone, Show, Signal
from .lines import JournalError
from .outputs import Outputs
from .pacing import Pacing
from .records import Record
from .run import Run, new_uuid
from .stream import Chunk
from .throttle import Moment
from .verdict import Kind

T = TypeVar("T")
LOOK = 1.0  # seconds between two looks at the journal while nothing happens
PAUSES = frozenset({"limit", "slow"})  # what holds further starts


class Loop(Generic[T]):
    """Runs what the pacing lets start, and records what ends, until nothing is left to do.

    After `go`, `interrupts.signal`, `broken`, `followed` and `reader_gone` say what else happened.
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
        feed: Source | None = None,
        outputs: Outputs | None = None,
        follower: Follower[T] | None = None,
        batched: bool = False,
        keyed: bool = True,
        named: bool = False,
        grace: float = 10.0,
    ) -> None:
        self.run, self.pacing, self.admission = run, pacing, admission
        self.crew, self.show, self.inbox = crew, show, inbox
        self.interrupts = Interrupts(crew, pacing, show, grace)
        self.batched = batched  # each start gets its items as a list
        self.keyed = keyed  # whoever runs the jobs wants idempotency keys
        self.named = named  # each start is handed out under a name of its own
        self.tally = admission.tally
        self._feed = feed
        self.broken: JournalError | None = None
        self._looked = 0.0  # monotonic seconds
        self.reader_gone: ReaderGone | None = None
        self.follower, self.followed = follower, Followed() if follower is None else None
        self._ends = Ends(run, pacing, admission, show, outputs, follower)
        self._owed: list[Record] = []  # what the journal lacks
        self._slots: list[int] = []  # numbers that were given back
        self._most = 0  # the highest number that was given out

    def go(self) -> None:
        """Turn until everything has ended."""
        self._turn([])
        while self.pacing.running or not self.pacing.over():
            self._turn(self._wait())
        self._read_on()
        self._keep()
        if (self._owed or self._ends.waiting) and self._write([]):
            self._ends.acknowledge()
        self._follow()

    def _turn(self, outcomes: Sequence[Outcome[T]]) -> None:
        """What ended and what comes next in one append, one sync; then it is believed, and started."""
        now = moment()
        for outcome in outcomes:
            self._settle(outcome, now)
        self._keep()
        if self.pacing.stop is not None:
            self.crew.drain()
        jobs = self._choose(now)
        if self._write(jobs):
            self._ends.acknowledge()
            for job in jobs:
                self._start(job, now)
        self._listed(None)

    def _settle(self, outcome: Outcome[T], now: Moment) -> None:
        heappush(self._slots, outcome.job.slot)
        if outcome.error:
            self._break(JournalError(outcome.error, 74))
        if outcome.verdict.kind is Kind.UNCHARGED and outcome.verdict.why in PAUSES:
            self.crew.drain()
        for record in self._ends.settle(outcome, now):
            self._owe(record)

    def _keep(self) -> None:
        try:
            self._owed += self._ends.keep()
        except JournalError as error:
            self._break(error)

    def _owe(self, record: Record) -> None:
        self.run.ledger.enter(record)
        self._owed.append(record)

    def _start(self, job: Job[T], now: Moment) -> None:
        """Its `started` is durable."""
        if not job.check:
            self.tally.start(job.ids, self.run.ledger.states(job.ids), now.mono)
            self.run.ledger.enter(job.started())
        self.crew.start(job)

    def _wait(self) -> list[Outcome[T]]:
        """Everything that has come into the inbox; returns after LOOK seconds at the latest."""
        outcomes: list[Outcome[T]] = []
        try:
            event = self.inbox.get(timeout=self._patience() if self.inbox.empty() else None)
            while True:
                if isinstance(event, Outcome):
                    outcomes.append(event)
                else:
                    self._event(event)
                if self.inbox.empty():
                    break
                event = self.inbox.get()
        except Empty:
            pass
        self._tick()
        return outcomes

    def _patience(self) -> float:
        """How long to wait for an event, in seconds."""
        wake = self.pacing.wake(moment())
        return self.interrupts.patience(LOOK if wake is None else min(LOOK, max(wake, 0.001)))

    def _tick(self) -> None:
        self.interrupts.tick()
        self.show.limited(None if self.pacing.stop else self.pacing.throttle.until)
        if self.broken is None and time.monotonic() - self._looked >= LOOK:
            self._looked = time.monotonic()
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
        elif isinstance(event, Notice):
            self.show.say(event.text)
        elif isinstance(event, Followed):
            self.followed = event
            if event.error:
                self.pacing.halt("table", event.error)
        elif isinstance(event, News):
            self._heard(event)
        elif isinstance(event, BaseException):
            raise event

    def _heard(self, news: News) -> None:
        if news.record is not None:
            self._owe(news.record)
        if news.say:
            self.show.say(news.say)
        if news.slots is not None:
            self.pacing.resize(news.slots)
        if news.halt:
            self.pacing.halt("vanished", news.halt)

    def _listed(self, chunk: Chunk | None) -> None:
        """Take in more of the list, or ask for it."""
        if self._feed is None:
            return
        try:
            for record in self._feed.want() if chunk is None else self._feed.take(chunk):
                self._owe(record)
        except JournalError as error:
            self._break(error)

    def _choose(self, now: Moment) -> list[Job[T]]:
        """The next jobs, one for each free slot, while the pacing and the printing allow."""
        jobs: list[Job[T]] = []
        while not self.show.full and (items := self.pacing.next(now)):
            check = items[0].id in self.admission.to_check
            ids = tuple([item.id for item in items])
            last = self.run.ledger.attempts_of(ids)
            attempts = tuple(last if check else [attempt + 1 for attempt in last])
            keys = tuple(map(self.run.key, ids)) if self.keyed else ()
            jobs.append(Job(items, ids, attempts, keys, new_uuid(), self._slot(), check, self.batched, self.named))
        return jobs

    def _slot(self) -> int:
        """The lowest free slot number."""
        if self._slots:
            return heappop(self._slots)
        self._most += 1
        return self._most

    def _write(self, jobs: Sequence[Job[T]]) -> bool:
        """Append what is owed and the starts; False if the journal did not take it."""
        started = [job.started() for job in jobs if not job.check]
        held, self.admission.held = self.admission.held, []
        owed = [*self._owed, *held]
        try:
            if self.broken and (owed or self._ends.waiting):  # a failed sync has left nothing owed, and nothing proven
                self.run.journal.mend(owed)
            elif owed or started:
                self.run.journal.append([*owed, *started])
        except JournalError as error:
            self._unwritten(error, owed, started, jobs)
            return False
        self._owed = []
        return True

    def _unwritten(
        self, error: JournalError, owed: list[Record], started: list[Record], jobs: Sequence[Job[T]]
    ) -> None:
        """Keep what the file lacks; a start that is in it but will not happen is taken back."""
        landed, owed = error.landed, [line for record in owed for line in record.lines()]
        back = started[: max(0, landed - len(owed))]
        self._owed = owed[landed:] + [
            Record("uncharged", (id,), (attempt,), {"why": "stop"})
            for record in back
            for id, attempt in zip(record.ids, record.attempts, strict=True)
        ]
        for job in jobs:
            self.pacing.freed(0.0)
            heappush(self._slots, job.slot)
        self._break(error)

    def _break(self, error: JournalError) -> None:
        """Start nothing more; what runs ends, and is recorded if that is possible after all."""
        if self.broken is None:
            self.broken = error
            self.pacing.halt("journal")
            self.show.say(f"{error}; starting nothing more")

    def _read_on(self) -> None:
        if self._feed is None:
            return
        try:
            for record in self._feed.rest(self.inbox):
                self._owe(record)
        except JournalError as error:
            self._break(error)

    def _follow(self) -> None:
        """Wait until the follower has caught up; when a signal has come, for a moment only."""
        if self.follower is not None:
            self.follower.close()
        while self.followed is None:
            try:
                event = self.inbox.get(timeout=LOOK if self.interrupts.signal is not None else None)
            except Empty:
                break
            if not isinstance(event, Chunk):  # of the list nothing more is wanted
                self._event(event)

    def unrecorded(self) -> list[bytes]:
        """The ids of what ended and could not be recorded."""
        return self._ends.unrecorded()

    def why(self) -> str:
        """Why the run ended, as `end` says it; the first that applies."""
        if self.interrupts.signal is not None:
            return self.interrupts.name()
        if self.broken is not None:
            return "journal"
        if self.followed is not None and self.followed.error:
            return "table"
        if self.reader_gone is not None:
            return "sigpipe"
        if self.pacing.stop is not None:
            return self.pacing.stop
        return "complete" if self.tally.complete else "exhausted"


def moment() -> Moment:
    """Now, on both clocks."""
    return Moment(time.monotonic(), time.time())
