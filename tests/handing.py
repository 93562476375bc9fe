"""A crew on a scripted engine: no network, no processes, every answer as the test wants it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from resumectl.admission import Admission, CutOff, Rules
from resumectl.cli.machines import Recorded
from resumectl.cluster import Cluster
from resumectl.command import Command
from resumectl.engine import Claim, EngineLost, Listener, Parcel, Reply
from resumectl.items import Item
from resumectl.job import Outcome, Signal
from resumectl.loop import Loop, moment
from resumectl.outputs import Outputs
from resumectl.pacing import Pacing
from resumectl.place import Place
from resumectl.policy import Policy
from resumectl.run import Run, Settle
from resumectl.tally import Tally
from resumectl.template import compile as compile_template
from resumectl.verdict import Ended, Kind, Verdict

DONE = Verdict(Kind.DONE)
HERE = Claim("tcp://10.0.0.7:4000", "node7", 1_790_000_000.0)
Script = Callable[["FakeEngine", str, str], None]  # engine, item, attempt


def reply(verdict: Verdict = DONE, out: bytes = b"", **rest: Any) -> Reply:
    return Reply(verdict, 0.01, Ended(0), out, b"", host="node7", **rest)


def ends(verdict: Verdict = DONE, **rest: Any) -> Script:
    """It begins, and ends so."""

    def script(engine: FakeEngine, item: str, attempt: str) -> None:
        engine.begin(attempt)
        engine.listener.came(attempt, reply(verdict, **rest))

    return script


def stays(engine: FakeEngine, item: str, attempt: str) -> None:
    """It begins, and nothing is heard of it."""
    engine.begin(attempt)


def waits(engine: FakeEngine, item: str, attempt: str) -> None:
    """It never begins."""


class FakeEngine:
    """Does with the n-th attempt of each item what its n-th script says; after the last, it ends well."""

    def __init__(self, journal: Path, scripts: dict[str, Sequence[Script]], slots: int = 1) -> None:
        self.journal, self.scripts, self.slots, self.alive = journal, scripts, slots, True
        self.claims: dict[str, Claim | None] = {}
        self.submitted: list[tuple[str, str]] = []  # item, attempt
        self.forgotten: list[str] = []
        self.released: list[str] = []
        self.signals: list[int] = []
        self.told: list[str] = []  # what was not as it must be
        self.listener: Listener

    def listen(self, listener: Listener) -> None:
        self.listener = listener
        listener.room(self.slots)

    def lines(self, *types: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.journal.read_bytes().splitlines()]
        return [line for line in lines if line["t"] in types]

    def begin(self, attempt: str) -> bool:
        if self.claims.setdefault(attempt, HERE) is not HERE:
            return False
        self.listener.began(attempt, HERE)
        return True

    def submit(self, parcels: Sequence[Parcel]) -> None:
        for parcel in parcels:
            self._begin(parcel)

    def _begin(self, parcel: Parcel) -> None:
        item = parcel.job.ids[0].decode()
        if not parcel.job.check and parcel.attempt not in [line["att"] for line in self.lines("started")]:
            self.told.append(f"{item} was handed out before its line was written")
        scripts = list(self.scripts.get(item, ()))
        turn = sum(name == item for name, _ in self.submitted)
        self.submitted.append((item, parcel.attempt))
        (scripts[turn] if turn < len(scripts) else ends())(self, item, parcel.attempt)

    def burn(self, attempts: Sequence[str]) -> dict[str, Claim | None]:
        if not self.alive:
            raise EngineLost("gone")
        return {attempt: self.claims.setdefault(attempt, None) for attempt in attempts}

    def forget(self, attempts: Sequence[str]) -> None:
        ended = {(line["id"], line["a"]) for line in self.lines("done", "failed", "cut_off", "uncharged", "held")}
        started = {line["att"]: (line["id"], line["a"]) for line in self.lines("started")}
        self.told += [f"{name} was forgotten before its end" for name in attempts if started.get(name) not in ended]
        self.forgotten += attempts

    def release(self, attempts: Sequence[str]) -> None:
        self.released += attempts

    def signal(self, attempts: Sequence[str], signum: int) -> None:
        self.signals.append(signum)
        for attempt in attempts:
            self.listener.came(attempt, reply(Verdict(Kind.CUT_OFF, "sigint", "ended by SIGINT")))


def crew_on(engine: FakeEngine, directory: Path) -> Cluster:
    """A crew without a loop; nobody reads its inbox."""
    return Cluster(engine, Command(compile_template([b"x"]), {}, Place(directory / "job.jsonl")), SimpleQueue())


class Told:
    """A Show that remembers."""

    full = False

    def __init__(self) -> None:
        self.said: list[str] = []
        self.outcomes: list[Outcome[Any]] = []

    def outcome(self, outcome: Outcome[Any], out: Any, err: Any) -> None:
        self.outcomes.append(outcome)

    def say(self, text: str) -> None:
        self.said.append(text)

    def limited(self, until: float | None) -> None:
        """Nothing."""


class Handing:
    """One run of some items on a scripted engine, in a journal that may have been there before."""

    def __init__(self, directory: Path, slots: int = 1, epoch: str = "e1", **scripts: Sequence[Script]) -> None:
        self.place = Place(directory / "job.jsonl")
        self.engine = FakeEngine(self.place.journal, scripts, slots)
        self.epoch, self.inbox, self.show = epoch, SimpleQueue[Any](), Told()
        self.loop: Loop[Any]

    def run(
        self,
        *items: str,
        settle: Settle | None = None,
        policy: Policy | None = None,
        cut_off: CutOff = CutOff.RERUN,
        after: Callable[[], None] | None = None,
        **command: Any,
    ) -> None:
        """The whole run; `after` is called in a thread of its own while it goes on."""
        run = Run(self.place)
        try:
            run.acquire()
            run.load()
            sealed = run.seal_open(settle=settle)
            pacing: Pacing[Any] = Pacing(policy or Policy(), 0, moment())
            admission: Admission[Any] = Admission(Rules(cut_off), run.ledger, pacing, Tally(spending=pacing.spending))
            for index, item in enumerate(items, 1):
                admission.take(Item(item.encode(), None, index))
            admission.tally.total = len(items)
            pacing.close()
            outputs = Outputs(run.disk, self.place.out)
            run.heal()
            run.open_outputs(outputs)
            run.begin({"engine": "dask", "epoch": self.epoch, "total": len(items)}, [*sealed, *admission.held])
            work = Command(compile_template([b"x"]), {}, self.place, **command)
            crew = Cluster(self.engine, work, self.inbox)
            shown = Recorded(self.show, crew)
            self.loop = Loop(run, pacing, admission, crew, shown, self.inbox, outputs=outputs, named=True, grace=0.1)
            if after is not None:
                threading.Thread(target=after, daemon=True).start()
            self.loop.go()
            run.end(self.loop.why(), {})
        finally:
            run.close()
        assert not self.engine.told

    def send(self, *signals: int) -> Callable[[], None]:
        """Signals for the loop, once something is waited for."""

        def after() -> None:
            for number in signals:
                time.sleep(0.1)
                self.inbox.put(Signal(number))

        return after

    def story(self, item: str) -> list[str]:
        """What the journal says of an item: `started done`."""
        return [
            line["t"] + (f" {line['why']}" if "why" in line else "")
            for line in self.engine.lines("started", "began", "done", "failed", "cut_off", "uncharged", "held")
            if line.get("id") == item
        ]
