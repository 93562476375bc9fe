"""What a crew on other machines and the engine that reaches them say to each other.

A start is handed out under a name that no other start ever has (the attempt).  The
engine's ledger lets each attempt begin at most once; `burn` is the other half of the
same compare-and-set, so "never began" is proven and never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import __version__
from .job import Job
from .records import stamp
from .verdict import Ended, Verdict

MOST = 16  # starts handed out beyond those that can run, where there are few slots


class EngineLost(Exception):
    """The engine can't be asked any more; what began there is unknown from now on."""


@dataclass(frozen=True)
class Claim:
    """Who began an attempt: the worker's address, its host, and when (epoch seconds, by the scheduler's clock)."""

    worker: str
    host: str
    at: float

    def facts(self) -> dict[str, Any]:
        """As the journal has it."""
        return {"host": self.host, "worker": self.worker, "began": stamp(self.at)}


@dataclass(frozen=True)
class Parcel:
    """What travels to a worker: the attempt's name, its job, the pickled Command, and how many bytes of
    output may travel back.  It shows nothing of that, for whoever logs it."""

    attempt: str
    job: Job[Any]
    command: bytes
    room: int
    version: str = __version__

    def __repr__(self) -> str:
        return f"<attempt {self.attempt}>"


@dataclass(frozen=True)
class Reply:
    """What came of a parcel.  Without a verdict it did not begin there: `refused` says why."""

    verdict: Verdict | None = None
    seconds: float = 0.0
    ended: Ended | None = None
    out: bytes | None = None  # None: nothing caught
    err: bytes | None = None
    results: Mapping[bytes, Verdict] = field(default_factory=dict)
    note: str = ""
    error: str = ""
    host: str = ""
    refused: str = ""

    def __repr__(self) -> str:
        return f"<reply {self.verdict.kind.value if self.verdict else self.refused}>"


def window(slots: int, ceiling: int = 0) -> int:
    """How many are handed out at once: some more than can run, so that no worker waits for the next,
    even when several end together.

    `ceiling` is the most that may run at once, 0 for no such limit.
    """
    wanted = slots + max(min(2 * slots, MOST), slots // 4)
    return min(wanted, ceiling) if ceiling else wanted


class Listener(Protocol):
    """Whoever is told what happens on the engine; called from any thread, must not block."""

    def came(self, attempt: str, reply: Reply) -> None: ...

    def failed(self, attempt: str) -> None:
        """The engine gave it up, for a reason that says nothing about whether it began."""

    def began(self, attempt: str, claim: Claim) -> None: ...

    def lost(self, attempts: Sequence[str], claim: Claim) -> None:
        """The worker that had begun these is gone."""

    def room(self, slots: int) -> None:
        """So many may run at once from now on."""


class Engine(Protocol):
    """Where attempts begin at most once."""

    def listen(self, listener: Listener) -> None: ...

    def submit(self, parcels: Sequence[Parcel]) -> None:
        """Hand them out; exactly one `came` or `failed` follows for each that is not released before.  Raises EngineLost."""

    def burn(self, attempts: Sequence[str]) -> Mapping[str, Claim | None]:
        """Who began each; None: nobody, and nobody ever will.  Raises EngineLost."""

    def forget(self, attempts: Sequence[str]) -> None:
        """These are settled and durable."""

    def release(self, attempts: Sequence[str]) -> None:
        """Nobody waits for these any more: what runs of them is ended."""

    def signal(self, attempts: Sequence[str], signum: int) -> None:
        """Send a signal to the commands of these, wherever they run."""

    @property
    def slots(self) -> int: ...

    @property
    def alive(self) -> bool: ...
