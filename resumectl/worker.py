"""The worker's side: begin an attempt if the claim ledger allows, and end it when nobody waits for it any more.

A command that runs for nobody is hidden work: when Dask takes a task away (its
coordinator or scheduler died, the worker is retired, the task was given back), the
command is told to go, and killed after its grace.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import pickle
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from distributed import Status, WorkerPlugin, get_worker

from . import __version__
from .child import Leash
from .claims import key_for
from .command import Command
from .engine import Parcel, Reply
from .job import Caught, Outcome
from .papers import Papers
from .place import Place
from .program import Unusable, find
from .template import program
from .verdict import Kind, Verdict
from .warden import Warden

NAME = "resumectl-hands"
ANSWER = 30.0  # seconds that the claim ledger may take
CLOSING = 5.0  # seconds that a closing worker gives its commands at most: whoever closes it may kill it then
RUNNING = frozenset({"executing", "long-running"})
ENDED = frozenset({"memory", "error", "long-running"})
LOST = Verdict(Kind.CUT_OFF, "worker", "its worker was closed, or nobody waited for it any more")


class Watched(Leash):
    """A leash whose child the warden knows, from its start until nothing of it can be signalled any more."""

    def __init__(self, warden: Warden) -> None:
        super().__init__()
        self._warden, self._child = warden, 0

    def begin(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes] | None:
        child = super().begin(start)
        if child is not None:
            self._child = child.pid
            self._warden.tell(b"+", child.pid)
        return child

    def collect(self, child: subprocess.Popen[bytes], *, wait: bool) -> bool:
        ended = super().collect(child, wait=wait)
        if ended and self.signal is None:
            self._warden.tell(b"-", child.pid)
        return ended

    def empty(self) -> bool:
        gone = super().empty()
        if gone and self._child:
            self._warden.tell(b"-", self._child)
        return gone


@dataclass
class Hold:
    """One attempt in this worker's hands."""

    leash: Leash
    grace: float  # seconds
    unwanted: bool = False
    over: threading.Event = field(default_factory=threading.Event)

    def end(self) -> None:
        """Tell it to go, and kill it if it has not gone within its grace."""
        if not self.unwanted:
            self.unwanted = True
            self.leash.stop(signal.SIGTERM)
            threading.Thread(target=self._kill, daemon=True).start()

    def _kill(self) -> None:
        if not self.over.wait(self.grace):
            self.leash.stop(signal.SIGKILL)


class Hands(WorkerPlugin):
    """What runs on this worker, by Dask's key.  Registered once a cluster, for late workers too."""

    idempotent = True
    name = NAME

    def __init__(self) -> None:
        self._worker: Any = None
        self._warden: Any = None
        self.holds: dict[str, Hold] = {}

    def __reduce__(self) -> Any:
        return (Hands, ())

    def setup(self, worker: Any) -> None:
        """Called in the worker.  A worker without a nanny that gets a TERM goes without `teardown`."""
        self._worker, self._warden = worker, Warden()
        worker.handlers["resumectl_signal"] = self.signal
        atexit.register(self._go)

    async def teardown(self, worker: Any) -> None:
        """Called when the worker closes: nothing of it may run on."""
        await asyncio.to_thread(self._go)
        atexit.unregister(self._go)

    def _go(self) -> None:
        holds = list(self.holds.values())
        for hold in holds:
            hold.end()
        end = time.monotonic() + CLOSING
        for hold in holds:
            hold.over.wait(max(0.0, min(end - time.monotonic(), hold.grace)))
            hold.leash.stop(signal.SIGKILL)
        self._warden.close()

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Called by the worker: a running task that goes anywhere but to its end is no longer wanted."""
        if start in RUNNING and finish not in ENDED and (hold := self.holds.get(key)) is not None:
            hold.end()

    def signal(self, attempts: Sequence[str], signum: int) -> None:
        """A person's Ctrl-C, sent on by the coordinator."""
        for attempt in attempts:
            if (hold := self.holds.get(key_for(attempt))) is not None:
                hold.leash.stop(signum)

    def attempt(self, parcel: Parcel) -> Reply:
        """Begin it, if the ledger allows, and wait for its end.  In a thread of the worker's."""
        try:
            command = command_of(parcel.command, self._worker.local_directory)
        except Unusable as error:  # nobody's fault, as it is when a program vanishes
            return Reply(Verdict(Kind.UNCHARGED, "spawn", f"{socket.gethostname()}: {error}"))
        hold = Hold(Watched(self._warden), command.limits.grace)
        self.holds[key_for(parcel.attempt)] = hold
        try:
            if self._worker.status not in (Status.running, Status.paused) or not self._claim(parcel.attempt):
                return Reply(refused="not claimed")
            outcome = command(parcel.job, hold.leash)
            return _reply(outcome, hold, parcel.room)
        finally:
            hold.over.set()
            self.holds.pop(key_for(parcel.attempt), None)
            if parcel.job.batch:
                Papers(command.place, parcel.job.uuid).remove()

    def tell(self, attempt: str, reply: Reply) -> None:
        """Send a reply on its way, before Dask hears that its task has ended."""
        message = {"op": "resumectl-reply", "attempt": attempt, "reply": pickle.dumps(reply)}
        self._worker.loop.add_callback(self._worker.batched_send, message)

    def _claim(self, attempt: str) -> bool:
        call = self._worker.scheduler.resumectl_claim(
            attempt=attempt, worker=self._worker.address, host=socket.gethostname(), claim_id=uuid.uuid4().hex
        )
        asked = asyncio.run_coroutine_threadsafe(call, self._worker.loop.asyncio_loop)
        try:
            return bool(asked.result(ANSWER))
        except Exception:  # whether it counted as claimed, the ledger knows
            return False


def attempt(parcel: Parcel) -> None:
    """The task that Dask runs.  It never raises: Dask would log what it was given.

    Its result is nothing, so none can be lost; without a reply before it, it was refused.
    """
    hands: Any = get_worker().plugins.get(NAME)
    if hands is not None and parcel.version == __version__:
        hands.tell(parcel.attempt, hands.attempt(parcel))


@lru_cache(maxsize=8)
def command_of(pickled: bytes, scratch: str) -> Command:
    """The command as this machine runs it: its streams lie in the worker's own directory.  Raises Unusable."""
    command: Command = pickle.loads(pickled)
    place = Place(Path(scratch) / command.place.journal.name)
    command = replace(command, place=place, cwd=here(command.cwd))
    name = program(command.template)
    return replace(command, program=find(name, command.environ, command.cwd) if name is not None else None)


def here(cwd: bytes | None) -> bytes | None:
    """The coordinator's directory if this machine has it, else our own."""
    return cwd if cwd is not None and os.path.isdir(cwd) else None


def survey(name: bytes | None, environ: Mapping[bytes, bytes], cwd: bytes) -> dict[str, Any]:
    """What a worker says of itself before anything is recorded; runs there."""
    told: dict[str, Any] = {"version": __version__, "host": socket.gethostname(), "cwd": here(cwd) is not None}
    try:
        if name is not None:
            find(name, environ, here(cwd))
    except Unusable as error:
        told |= {"unusable": str(error), "code": error.code}
    return told


def held(attempts: Sequence[str], dask_worker: Any = None) -> list[str]:
    """Which of these are in the hands of the worker that this runs on."""
    hands = dask_worker.plugins.get(NAME)
    return [name for name in attempts if hands is not None and key_for(name) in hands.holds]


def _reply(outcome: Outcome[Any], hold: Hold, room: int) -> Reply:
    verdict, results = outcome.verdict, outcome.results
    sizes = [stream.size() if stream is not None and stream.fd >= 0 else 0 for stream in (outcome.out, outcome.err)]
    fits = sum(sizes) <= room
    if not fits and verdict.kind in (Kind.DONE, Kind.FAILED):
        text = f"it printed {sum(sizes)} bytes, more than --max-output {room}; let the command write a file"
        verdict, results = Verdict(Kind.HELD, "output", text, cost=verdict.cost, sums=verdict.sums), {}
    if hold.unwanted and verdict.kind is Kind.CUT_OFF:
        verdict = LOST
    out, err = (_data(stream) if fits else None for stream in (outcome.out, outcome.err))
    host = socket.gethostname()
    error = f"{host}: {outcome.error}" if outcome.error else ""
    return Reply(verdict, outcome.seconds, outcome.ended, out, err, results, outcome.note, error, host)


def _data(stream: Caught | None) -> bytes | None:
    if stream is None or stream.fd < 0:
        return None
    try:
        return b"".join(stream.pieces())
    finally:
        stream.close()
