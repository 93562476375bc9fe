"""`--engine dask`: the options of other machines against each other, the join, and what the run wants of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Annotated, Any

import typer

from ..cluster import Cluster
from ..command import Command
from ..engine import EngineLost, window
from ..job import Outcome, Show
from ..joining import NO_EXTRA, Address, Needs, NotJoined, join
from ..ledger import Ledger
from ..outputs import Stream
from ..verdict import Kind
from . import Refusal, tell
from .choices import EngineName, size

PANEL = "More than one machine"
MANY = 100  # handed-out jobs that there is room for from the start; slots may still come


def _file(name: str, help: str) -> Any:
    return typer.Option(name, metavar="FILE", help=help, rich_help_panel=PANEL)


Engine = Annotated[EngineName, typer.Option("--engine", help="Where the commands run.", rich_help_panel=PANEL)]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS|FILE", help="The Dask scheduler.", rich_help_panel=PANEL),
]
TlsCa = Annotated[str | None, _file("--tls-ca", "Who signs the certificates of a tls:// scheduler.")]
TlsCert = Annotated[str | None, _file("--tls-cert", "Our certificate.")]
TlsKey = Annotated[str | None, _file("--tls-key", "Our key.")]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure-scheduler",
        help="Use a tcp:// scheduler on another machine: who reaches its port runs code there.",
        rich_help_panel=PANEL,
    ),
]
MaxOutput = Annotated[
    int,
    typer.Option(
        "--max-output",
        parser=size,
        metavar="SIZE",
        help="How much of an item's output travels back; an item that prints more is held.",
        rich_help_panel=PANEL,
    ),
]


@dataclass
class Machines:
    """A cluster that this run will use; nothing is asked of it before `join`."""

    address: Address
    room: int  # bytes of an item's output that travel back
    ceiling: int  # how many may run at once, 0: as many as there are slots
    engine: Any = None
    crew: Cluster | None = None
    settled: Sequence[str] = ()  # of earlier runs, to be forgotten when that is durable

    def join(self, program: bytes | None, environ: Mapping[bytes, bytes]) -> None:
        """Raises Refusal, or Unusable where a worker lacks the program."""
        path = {name: environ[name] for name in (b"PATH",) if name in environ}
        try:
            self.engine = join(self.address, Needs(program, path, os.getcwdb()), tell)
        except NotJoined as error:
            raise Refusal(str(error)) from None

    @property
    def slots(self) -> int:
        """How many jobs are handed out at first."""
        return window(self.engine.slots, self.ceiling)

    @property
    def count(self) -> int:
        """How many jobs there is room for from the start."""
        return self.ceiling or max(MANY, self.slots)

    def settle(self, ledger: Ledger, names: Sequence[str]) -> dict[str, tuple[Kind, Mapping[str, Any]]]:
        """What became of starts of an earlier run: the ledger's word, if its scheduler is still the same one."""
        if ledger.run.get("epoch") != self.engine.epoch:
            return {}
        self.settled = sorted(set(names))
        try:
            told = self.engine.burn(self.settled)
        except EngineLost as error:
            raise Refusal(f"the scheduler stopped answering ({error}); look at its log") from None
        released = (Kind.UNCHARGED, {"why": "released"})
        return {name: (Kind.CUT_OFF, claim.facts()) if claim else released for name, claim in told.items()}

    def fields(self) -> dict[str, Any]:
        """What the `run` line says of it."""
        return {"engine": "dask", "scheduler": self.address.url, "epoch": self.engine.epoch}

    def crew_for(self, work: Command, inbox: SimpleQueue[Any]) -> Cluster:
        """What earlier runs left has been settled and is durable."""
        self.crew = Cluster(self.engine, work, inbox, ceiling=self.ceiling, room=self.room)
        self.crew.forget(self.settled)
        return self.crew

    def watch(self, show: Show) -> Show:
        """A Show that lets the ledger forget what has ended, as soon as that is durable."""
        assert self.crew is not None
        return Recorded(show, self.crew)

    def close(self) -> None:
        if self.crew is not None:
            self.crew.close()
        if self.engine is not None:
            self.engine.close()


class Recorded:
    """Stands between the loop and whoever shows: what is shown is durable."""

    def __init__(self, show: Show, crew: Cluster) -> None:
        self._show, self._crew = show, crew
        self.say, self.limited = show.say, show.limited

    def outcome(self, outcome: Outcome[Any], out: Stream | None, err: Stream | None) -> None:
        if not outcome.job.check:
            self._crew.forget([outcome.job.name])
        self._show.outcome(outcome, out, err)

    @property
    def full(self) -> bool:
        return self._show.full


def machines(
    engine: EngineName,
    scheduler: str | None,
    tls: Sequence[str | None],
    insecure: bool,
    room: int,
    jobs: int | None,
    ungroup: bool,
) -> Machines | None:
    """The cluster that the options ask for; None for this machine alone.  Raises Refusal."""
    if engine is EngineName.LOCAL:
        if scheduler is not None:
            raise Refusal("--scheduler is for other machines; add --engine dask")
        return None
    if scheduler is None:
        raise Refusal("--engine dask needs to know its scheduler; add --scheduler ADDRESS or FILE")
    if ungroup:
        raise Refusal("--ungroup lets commands write directly, and on other machines they can't; drop one of them")
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise Refusal(NO_EXTRA) from None
    try:
        return Machines(Address.parse(scheduler, tls, insecure=insecure), room, jobs or 0)
    except NotJoined as error:
        raise Refusal(str(error)) from None
