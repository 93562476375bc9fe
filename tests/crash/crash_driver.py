"""One run of the real core on a disk in memory, with a crew that ends its jobs as it is told.

`play` is the only place that builds a Run and a Loop, in the order in which `resumectl run`
does.  What the commands did and what a person was told goes into a log outside the disk:

    ("open", announced, believed)   the start lines: ids announced as cut off, ids taken for done
    ("start", id, attempt)          the command has begun, its effect is in place
    ("end", id, attempt, kind)      the command has ended
    ("ack", id, kind)               its end was counted and shown
    ("stop", why, unrecorded)       the run has ended, naming these ids as not recorded
    ("refused", code)               the run could not begin
"""

from __future__ import annotations

import random
import time
import types
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from crash_disk import Death, MemoryDisk

from resumectl import fence, journal, loop, records, run
from resumectl.admission import Admission, CutOff, Rules
from resumectl.cli.starting import before
from resumectl.evidence import Ended
from resumectl.items import Item
from resumectl.job import Job, Outcome
from resumectl.ledger import State
from resumectl.lines import JournalError
from resumectl.loop import Loop
from resumectl.outputs import Outputs
from resumectl.pacing import Pacing
from resumectl.place import Place
from resumectl.policy import Policy
from resumectl.run import Run
from resumectl.tally import Tally
from resumectl.verdict import Kind, Verdict

PLACE = Place(Path("/job/.resumectl/j.jsonl"))
VERDICTS = {
    Kind.DONE: Verdict(Kind.DONE),
    Kind.FAILED: Verdict(Kind.FAILED, "exit", "exit 3"),
    Kind.CUT_OFF: Verdict(Kind.CUT_OFF, "sigint", "stopped with SIGINT"),
    Kind.UNCHARGED: Verdict(Kind.UNCHARGED, "limit", "later"),
}
AT = "2027-01-15T08:00:00.000Z"
Log = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Script:
    """What is to be run, and how it goes: which ends come in which order, how many of them at once."""

    ids: tuple[bytes, ...]
    jobs: int = 1
    seed: int = 0
    together: int = 1
    fates: Mapping[bytes, tuple[Kind, ...]] = field(default_factory=dict)  # of attempts 1, 2 …; then done
    sync: str = "full"
    max_attempts: int = 0
    cut_off: CutOff = CutOff.RERUN
    keep: bool = False  # what the commands print
    batch: int = 1  # items of one start

    def calm(self) -> Script:
        """The same list, and nothing fails any more."""
        return replace(self, fates={})

    @property
    def parks(self) -> bool:
        """Whether items may be held for a person."""
        return bool(self.max_attempts) or self.cut_off is CutOff.HOLD

    def fate(self, id: bytes, attempt: int) -> Kind:
        told = self.fates.get(id, ())
        return told[attempt - 1] if attempt <= len(told) else Kind.DONE


class Crew:
    """Crew and inbox in one: jobs begin in the log, and end when the loop waits for them."""

    def __init__(self, script: Script, disk: MemoryDisk, log: Log) -> None:
        self._script, self._disk, self._log = script, disk, log
        self._running: list[Job[None]] = []
        self._random = random.Random(script.seed)
        self._more = 0

    def start(self, job: Job[None]) -> None:
        self._disk.step("spawn")
        self._log += [("start", id, attempt) for id, attempt in zip(job.ids, job.attempts, strict=True)]
        self._running.append(job)

    def drain(self) -> None:
        """Nothing: what was started here has begun."""

    def stop(self, signum: int) -> None:
        raise AssertionError("nobody sent a signal")

    def empty(self) -> bool:
        return not self._more

    def get(self, timeout: float | None = None) -> Outcome[None]:
        assert self._running, "the loop waits, and nothing runs"
        if timeout is not None:
            self._more = min(self._script.together, len(self._running))
        self._more -= 1
        self._disk.step("end")
        job = self._running.pop(self._random.randrange(len(self._running)))
        kinds = {id: self._script.fate(id, attempt) for id, attempt in zip(job.ids, job.attempts, strict=True)}
        self._log += [("end", id, attempt, kinds[id]) for id, attempt in zip(job.ids, job.attempts, strict=True)]
        first = kinds[job.ids[0]]
        results = {id: VERDICTS[kind] for id, kind in kinds.items() if kind is not first}
        ended = Ended(0 if first is Kind.DONE else 3)
        return Outcome(job, VERDICTS[first], 0.001, ended, *printed(job), results)  # type: ignore[arg-type]


class Print:
    """What a job printed, as if it stood in a file."""

    def __init__(self, data: bytes) -> None:
        self.data, self.fd = data, 0

    def size(self) -> int:
        return len(self.data)

    def pieces(self) -> Iterator[bytes]:
        yield self.data

    def close(self) -> None:
        self.fd = -1


def printed(job: Job[None]) -> tuple[Print, Print]:
    """A line on stdout, nothing on stderr."""
    return Print(b"%d of %s\n" % (job.attempts[0], job.ids[0][:9])), Print(b"")


class Show:
    """Logs what a person is told."""

    full = False

    def __init__(self, disk: MemoryDisk, log: Log) -> None:
        self._disk, self._log = disk, log

    def outcome(self, outcome: Outcome[None], out: Any, err: Any) -> None:
        self._disk.step("acknowledge")
        self._log += [("ack", id, outcome.of(id).kind) for id in outcome.job.ids]

    def say(self, text: str) -> None:
        pass

    def limited(self, until: float | None) -> None:
        pass


def play(disk: MemoryDisk, script: Script, log: Log) -> Loop[None] | None:
    """One run from its lock to its end, or to its death; what it did is in the log."""
    held, turns = Run(PLACE, disk, sync=script.sync, jobs=script.jobs), None
    try:
        turns = _begin(held, script, disk, log)
        turns.go()
        _end(turns)
        log.append(("stop", turns.why(), frozenset(turns.unrecorded())))
    except JournalError as error:
        log.append(("refused", error.code))
    except Death:
        pass
    finally:
        held.close()
    return turns


def _begin(held: Run, script: Script, disk: MemoryDisk, log: Log) -> Loop[None]:
    held.acquire()
    held.load()
    assert not held.orphans().busy
    sealed = held.seal_open()
    pacing: Pacing[None] = Pacing(Policy(batch=script.batch), script.jobs, loop.moment(), before(held.ledger))
    rules = Rules(script.cut_off, max_attempts=script.max_attempts)
    admission: Admission[None] = Admission(rules, held.ledger, pacing, Tally(spending=pacing.spending))
    for index, id in enumerate(script.ids, 1):
        admission.take(Item(id, None, index))
    admission.tally.total, pacing.closed = admission.tally.listed, True
    held.heal()
    outputs = Outputs(disk, PLACE.out, sync=script.sync == "full") if script.keep else None
    if outputs is not None:
        held.open_outputs(outputs)
    held.begin(_head(script, admission), [*sealed, *admission.held])
    admission.held.clear()
    believed = frozenset(id for id in script.ids if held.ledger.state(id) is State.DONE)
    log.append(("open", frozenset(admission.announced), believed))
    crew = Crew(script, disk, log)
    show, batched = Show(disk, log), script.batch > 1
    return Loop(held, pacing, admission, crew, show, crew, outputs=outputs, batched=batched)  # type: ignore[arg-type]


def _head(script: Script, admission: Admission[None]) -> dict[str, Any]:
    counts = {"total": admission.tally.total, "new": admission.tally.new}
    return {"cwd": "/job", "argv": ["--", "true"], "cmd": ["true"], **counts, "jobs": script.jobs, "sync": script.sync}


def _end(turns: Loop[None]) -> None:
    """As the command line ends a run: `end` only if the journal still takes it."""
    if turns.broken is None:
        try:
            turns.run.end(turns.why(), {"done": turns.tally.completed})
        except JournalError as error:
            turns.broken = error


@contextmanager
def stillness() -> Iterator[None]:
    """No clock moves, no id is drawn, no process is looked for: equal disks play equal runs."""
    clock = types.SimpleNamespace(time=lambda: 1.8e9, monotonic=lambda: 1000.0, sleep=time.sleep)
    drawn = types.SimpleNamespace(uuid4=lambda: uuid.UUID(int=7), UUID=uuid.UUID)
    with ExitStack() as stack:
        for module in (records, journal, loop):
            stack.enter_context(mock.patch.object(module, "time", clock))
        stack.enter_context(mock.patch.object(journal, "uuid", drawn))
        stack.enter_context(mock.patch.object(loop, "new_uuid", lambda: str(drawn.uuid4())))
        for module in (journal, run):
            stack.enter_context(mock.patch.object(module, "stamp", lambda: AT))
        stack.enter_context(mock.patch.object(run, "boot", lambda: "0" * 8))
        stack.enter_context(mock.patch.object(fence, "_pids", list))
        yield
