"""`run --dry-run`: what would run and be skipped, and why.  Writes nothing and takes no lock."""

from __future__ import annotations

import shlex
import sys
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import admission as admit
from ..admission import Admission, BadEntry
from ..disk import Disk
from ..items import Format
from ..ledger import Ledger, State
from ..lines import Text, fold
from ..loop import moment
from ..pacing import Pacing
from ..place import Place
from ..policy import Policy
from ..records import Record
from ..report import WORDS, items
from ..run import key_for
from ..tally import Tally
from ..template import Template, Values
from ..throttle import Rhythm
from ..words import duration
from . import Refusal, put_bytes, tell
from .lists import Source
from .opening import refuse_another_command
from .starting import before

SAMPLES = 3


def describe(
    place: Place,
    source: Source,
    format: Format,
    template: Template,
    rules: admit.Rules,
    policy: Policy,
    command: tuple[Sequence[bytes], bool],
    accept_command: bool,
    fresh: bool,
    jobs: int,
) -> int:
    """Print the plan: counts and reasons on standard error, the first command lines on standard output."""
    ledger, namespace = _ledger(place, fresh)
    if not accept_command:
        refuse_another_command(ledger, *command)
    for id, start in ledger.open_items().items():
        ledger.enter(Record("cut_off", (id,), (start.attempt,), {"run": start.run, "why": "crash"}))
    unpaced = replace(policy, rhythm=Rhythm()), sys.maxsize, moment(), replace(before(ledger), limited=False)
    pacing: Pacing[Any] = Pacing(*unpaced)  # all that would run, one probe or a rate notwithstanding
    admission: Admission[Any] = Admission(rules, ledger, pacing, Tally())
    try:
        admission.take_all(source.listing(format))
    except BadEntry as error:
        raise Refusal(f"{source.label}: {error}; nothing was run") from None
    pacing.close()
    would: list[Any] = []
    now = moment()
    while chosen := pacing.next(now):
        would += chosen
    tell(f"journal {place.journal}{'' if place.journal.exists() else ' (new)'}")
    for line in _plan(admission, ledger, would, jobs):
        tell(line)
    for item in would[:SAMPLES]:
        values = Values(item.id, item.index, 1, key_for(namespace, item.id), ledger.attempts(item.id) + 1, item.value)
        put_bytes(b" ".join(_quoted(word) for word in template.argv(values)) + b"\n")
    return 0


def _ledger(place: Place, fresh: bool) -> tuple[Ledger, uuid.UUID]:
    ledger, namespace = Ledger(), uuid.uuid4()
    if place.journal.exists() and place.journal.stat().st_size:
        text = Text(place.journal)
        fold(place.journal, [] if fresh else [ledger], Disk(), text=text)
        namespace = uuid.UUID(text.header["ns"])
    return ledger, namespace


def _plan(admission: Admission[Any], ledger: Ledger, would: Sequence[Any], jobs: int) -> list[str]:
    tally = admission.tally
    lines = [f"{items(tally.listed)} in the list"]
    whys = {
        State.DONE: "skipped",
        State.NEW: "would run",
        State.CUT_OFF: f"--cut-off {admission.rules.cut_off.value}",
        State.FAILED: f"--failed {admission.rules.failed.value}, after all others",
        State.PARKED: "skipped until mark, reset or a higher --max-attempts",
    }
    lines += [f"  {tally.states[state]} {WORDS[state]}: {why}" for state, why in whys.items() if tally.states[state]]
    mean = ledger.figures.mean_seconds()
    estimate = f", about {duration(mean * len(would) / jobs)} by the journal's mean" if mean and would else ""
    return [*lines, f"would start {items(len(would))}{estimate}"]


def _quoted(word: bytes) -> bytes:
    return shlex.quote(word.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
