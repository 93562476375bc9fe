"""A crew on other machines: hands jobs out, and settles each one by the engine's ledger.

One thread, the desk, owns all that is known of what was handed out, so there is no
lock and no race: the main thread and the engine only put steps on its queue.  An
attempt ends exactly once: by its reply, by the ledger (never began: released; began:
cut off), or, when the ledger can't be asked, as cut off and unknown.
"""

from __future__ import annotations

import pickle
import signal
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from .command import Command, put_in_place
from .disk import Disk, write_all
from .engine import Claim, Engine, EngineLost, Parcel, Reply, window
from .files import FileTemplate, PartFile
from .job import Caught, Job, News, Outcome
from .outputs import NOTHING, SHORT, Spool, Text
from .records import Record
from .template import Values
from .verdict import Kind, Verdict

LOOK = 0.5  # seconds between two looks at the engine while nothing happens
SOON = 0.1  # seconds that the news of a beginning waits for company: it is information, and costs a sync
MANY = 64  # settled attempts that are worth a call to the ledger
LAST = 2.0  # seconds for a last word to the ledger
DEAF = 5.0  # seconds after the KILL until what does not answer is given up
VAIN = 20  # starts that never began, in a row, until the engine is given up
LOST = Verdict(Kind.CUT_OFF, "worker", "the worker was lost, and its command may still run there")
UNKNOWN = Verdict(Kind.CUT_OFF, "worker", "the scheduler was lost; whether it began, and still runs, is unknown")
RELEASED = Verdict(Kind.UNCHARGED, "released")


class Cluster:
    """Runs `command` on an engine's workers; each outcome goes into the inbox.

    `files` are the paths of --out and --err, which are written here; `room` is how many
    bytes of an item's output travel back.
    """

    def __init__(
        self,
        engine: Engine,
        command: Command,
        inbox: SimpleQueue[Any],
        *,
        ceiling: int = 0,
        room: int = 1 << 24,
    ) -> None:
        self._engine, self._inbox, self._ceiling, self._room = engine, inbox, ceiling, room
        self._files, self._spools = command.files, command.spools
        self._command = pickle.dumps(replace(command, files=(None, None), keep_open=(), program=None))
        self._out: dict[str, Job[Any]] = {}  # handed out and not ended
        self._begun: dict[str, Claim] = {}
        self._news: list[News] = []  # of beginnings
        self._parcels: list[Parcel] = []  # to be handed out by the end of the turn
        self._doubtful: list[str] = []
        self._forgotten: list[str] = []
        self._vain = 0
        self._give_up = float("inf")  # monotonic seconds
        self._draining = self._gone = self._closing = False
        self._closed = threading.Event()
        self._steps: SimpleQueue[Callable[[], None]] = SimpleQueue()
        engine.listen(self)
        threading.Thread(target=self._run, name="desk", daemon=True).start()

    # What the loop says.

    def start(self, job: Job[Any]) -> None:
        """Hand a job out; its line is durable."""
        self._draining = False
        self._steps.put(partial(self._start, job))

    def drain(self) -> None:
        """Nothing more is to begin: what has not begun comes back, as released."""
        if not self._draining:
            self._draining = True
            self._steps.put(self._drain)

    def stop(self, signum: int) -> None:
        """Signal what runs; what has not begun never begins."""
        self._draining = True
        self._steps.put(partial(self._stop, signum))

    def forget(self, names: Sequence[str]) -> None:
        """How these ended is durable, so the ledger need not know them any more."""
        self._steps.put(partial(self._forgotten.extend, names))

    def close(self) -> None:
        """What ended is durable: let the ledger forget the last of it, if it answers soon."""
        self._steps.put(lambda: setattr(self, "_closing", True))
        self._closed.wait(LAST)

    # What the engine says (Listener).

    def came(self, attempt: str, reply: Reply) -> None:
        self._steps.put(partial(self._came, attempt, reply))

    def failed(self, attempt: str) -> None:
        self._steps.put(partial(self._doubt, attempt))

    def began(self, attempt: str, claim: Claim) -> None:
        self._steps.put(partial(self._began, attempt, claim))

    def lost(self, attempts: Sequence[str], claim: Claim) -> None:
        self._steps.put(partial(self._lost, attempts, claim))

    def room(self, slots: int) -> None:
        self._inbox.put(News(slots=window(slots, self._ceiling)))

    # The desk.

    def _run(self) -> None:
        try:
            while True:
                self._turn()
        except BaseException as error:
            self._inbox.put(error)

    def _turn(self) -> None:
        """All steps that have come, then one question to the ledger for all that they left in doubt."""
        idle = True
        try:
            self._steps.get(timeout=SOON if self._news else LOOK)()
            idle = False
            while True:
                self._steps.get_nowait()()
        except Empty:
            pass
        self._hand_out()
        if idle:
            self._tell_news()
        doubtful, self._doubtful = [name for name in self._doubtful if name in self._out], []
        if doubtful:
            self._settle(doubtful)
        if time.monotonic() > self._give_up:
            self._settle(list(self._out))
        if not self._gone and not self._engine.alive:
            self._lose()
        if (idle or self._closing or len(self._forgotten) >= MANY) and self._forgotten and not self._gone:
            names, self._forgotten = self._forgotten, []
            self._guarded(lambda: self._engine.forget(names))
        if self._closing:
            self._closed.set()

    def _start(self, job: Job[Any]) -> None:
        # A check leaves no line, and may be handed out again: each time under another name.
        name = job.name if job.named and not job.check else f"check.{uuid.uuid4().hex[:16]}"
        self._out[name] = job
        self._parcels.append(Parcel(name, job, self._command, self._room))

    def _hand_out(self) -> None:
        """What one turn of the loop starts goes out as one: a call of its own for each would cost as much as a start."""
        parcels, self._parcels = self._parcels, []
        if parcels and not self._guarded(lambda: self._engine.submit(parcels)):
            self._doubtful += [parcel.attempt for parcel in parcels]

    def _guarded(self, call: Callable[[], None]) -> bool:
        try:
            call()
            return True
        except EngineLost:
            return False

    def _doubt(self, name: str) -> None:
        self._doubtful.append(name)

    def _began(self, name: str, claim: Claim) -> None:
        job = self._out.get(name)
        if job is None or name in self._begun:
            return
        self._begun[name], self._vain = claim, 0
        if not job.check:
            facts = {"att": name, "worker": claim.worker, "host": claim.host}
            for id, attempt in zip(job.ids, job.attempts, strict=True):
                self._news.append(News(record=Record("began", (id,), (attempt,), facts)))

    def _tell_news(self) -> None:
        news, self._news = self._news, []
        for one in news:
            self._inbox.put(one)

    def _came(self, name: str, reply: Reply) -> None:
        if name not in self._out:
            return
        if reply.verdict is None:
            return self._doubt(name)
        self._vain = 0
        self._landed(name, reply, reply.verdict)

    def _landed(self, name: str, reply: Reply, verdict: Verdict) -> None:
        """What a worker has sent goes where it would have gone here."""
        job = self._out[name]
        facts = {"host": reply.host}
        try:
            out, err = self._streams(job, reply, done=verdict.kind is Kind.DONE)
        except OSError as error:
            trouble = f"{error.filename or self._spools}: {error.strerror}; what the command printed can't be kept"
            return self._end(name, Verdict(Kind.CUT_OFF, "journal", trouble), reply.seconds, facts, error=trouble)
        rest = {"ended": reply.ended, "out": out, "err": err, "results": reply.results, "note": reply.note}
        self._end(name, verdict, reply.seconds, facts, error=reply.error, **rest)

    def _streams(self, job: Job[Any], reply: Reply, *, done: bool) -> list[Caught | None]:
        files = self._files if done and not job.check else (None, None)
        return [self._stream(job, data, file) for data, file in zip((reply.out, reply.err), files, strict=True)]

    def _stream(self, job: Job[Any], data: bytes | None, file: FileTemplate | None) -> Caught | None:
        """Long output waits on the disk, as it would here."""
        if data is None or (file is None and len(data) <= SHORT):
            return Text(data) if data else NOTHING if data is not None else None
        spool = Spool.nameless(self._spools) if file is None else PartFile(self._path(job, file), Disk())
        write_all(Disk(), spool.fd, data)
        if isinstance(spool, PartFile):
            put_in_place((spool,), done=True)
        return spool

    def _path(self, job: Job[Any], file: FileTemplate) -> Path:
        item = job.items[0]
        return file.path(Values(item.id, item.index, job.slot, job.keys[0], job.attempts[0], item.value))

    def _lost(self, names: Sequence[str], claim: Claim) -> None:
        names = [name for name in names if name in self._out]
        self._guarded(lambda: self._engine.release(names))
        for name in names:
            self._end(name, LOST, 0.0, claim.facts())

    def _settle(self, names: Sequence[str], verdict: Verdict = LOST) -> None:
        """The ledger's word on attempts that nothing will be heard of any more."""
        try:
            told = self._engine.burn(names)
        except EngineLost:
            for name in names:
                claim = self._begun.get(name)
                self._end(name, UNKNOWN, 0.0, claim.facts() if claim is not None else {})
            return
        self._guarded(lambda: self._engine.release(names))
        for name in names:
            if (claim := told[name]) is not None:
                self._end(name, verdict, 0.0, claim.facts())
            else:
                self._release(name)
                self._count_vain()

    def _release(self, name: str) -> None:
        """It never began, and never will under this name."""
        job = self._out[name]
        if job.check and not self._draining:
            del self._out[name]
            self._forgotten.append(name)
            return self._start(job)
        self._end(name, RELEASED, 0.0, {})

    def _count_vain(self) -> None:
        self._vain += 1
        if self._vain == VAIN:
            self._inbox.put(News(halt="the workers begin nothing of what is handed out; look at their logs"))

    def _drain(self) -> None:
        self._hand_out()
        waiting = [name for name in self._out if name not in self._begun]
        if not waiting:
            return
        try:
            told = self._engine.burn(waiting)
        except EngineLost:
            return  # the look at the engine settles them
        free = [name for name in waiting if told[name] is None]
        self._guarded(lambda: self._engine.release(free))
        for name in free:
            self._release(name)
        self._begun |= {name: claim for name, claim in told.items() if claim is not None}

    def _stop(self, signum: int) -> None:
        self._drain()
        self._guarded(lambda: self._engine.signal(list(self._out), signum))
        if signum == signal.SIGKILL:
            self._give_up = time.monotonic() + DEAF

    def _lose(self) -> None:
        self._gone = True
        self._settle(list(self._out), UNKNOWN)
        self._inbox.put(News(halt="the scheduler was lost; start one, then run the same command again"))

    def _end(self, name: str, verdict: Verdict, seconds: float, facts: Mapping[str, Any], **rest: Any) -> None:
        self._tell_news()
        self._begun.pop(name, None)
        job = self._out.pop(name)
        if job.check:
            self._forgotten.append(name)
        self._inbox.put(Outcome(job, verdict, seconds, facts=facts, **rest))
