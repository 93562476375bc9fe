"""An ended attempt is done, failed, cut off, or not to be charged at all.

The rules, in this order:

1. We stopped it, or it died of HUP INT QUIT KILL TERM: cut off. Its time was up: failed, or cut off where a repeat
   must be ruled out first.
2. Every `ok` must hold (exit code 0 is one unless an `ok` speaks of the code) and no `fail` may.
3. Only what failed so far may be a limit, a halt or slow. Otherwise it failed.

For 3, `text:` sees only what the tool itself said: a model that merely quotes a limit must never pause a run. One
runner that matched anywhere paused an account for eleven hours.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import Enum
from functools import cached_property, partial
from typing import Any

from .evidence import Ended, Evidence, Pick, objects, path
from .resets import reset_time
from .when import When, any_of

__all__ = ["Ended", "Evidence", "Kind", "Pick", "Rules", "Verdict", "When", "judge"]

TEMPFAIL = 75  # EX_TEMPFAIL of sysexits.h: "try again later", the way a script of one's own says limit
UNSTARTED = frozenset({"stop", "released"})  # uncharged, because it never began: it cost nothing, and is not news
TEXT = 300  # characters of a tool's words that are worth keeping

_CUT_OFF: dict[int, str] = {
    signal.SIGHUP: "sighup",
    signal.SIGINT: "sigint",
    signal.SIGTERM: "sigterm",
    signal.SIGQUIT: "killed",
    signal.SIGKILL: "killed",
}


class Kind(Enum):
    DONE = "done"
    FAILED = "failed"
    CUT_OFF = "cut_off"
    UNCHARGED = "uncharged"
    HELD = "held"


@dataclass(frozen=True)
class Verdict:
    """What an attempt came to. `why` is a word of the journal, `text` the reason for a person.

    `resume_at` is in epoch seconds and may already have passed; `source` says how it was found (epoch, seconds,
    duration, clock, json or none). `cost` and `sums` are what the attempt reported, whatever it came to; a cost of
    None is unknown. `retry` says whether a retry in the same run is allowed.
    """

    kind: Kind
    why: str = ""
    text: str = ""
    resume_at: float | None = None
    source: str | None = None
    cost: float | None = None
    sums: Mapping[str, float] = field(default_factory=dict)
    retry: bool = True


@dataclass(frozen=True)
class Rules:
    """What counts as done, failed, limit, halt and slow for a job. Frozen and picklable."""

    ok: tuple[When, ...] = ()
    fail: tuple[When, ...] = ()
    limit: tuple[When, ...] = ()
    halt: tuple[When, ...] = ()
    slow: tuple[When, ...] = ()
    retry: tuple[When, ...] = ()
    pick: Pick | None = None
    cost: str | None = None
    sums: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Rules:
        """From option names and texts: lists of WHENs, `json-pick`, `cost`, and `sum` as a list of NAME=PATH.

        Other options are ignored. Raises ValueError with a sentence that names the option.
        """
        names = ("ok", "fail", "limit", "halt", "slow", "retry")
        whens = {name: tuple(_each(name, When.parse, options.get(name, ()))) for name in names}
        (pick,) = _each("json-pick", Pick.parse, _one(options, "json-pick")) or [None]
        _each("cost", path, _one(options, "cost"))
        sums = dict(_each("sum", _named_path, options.get("sum", ())))
        return cls(**whens, pick=pick, cost=options.get("cost"), sums=sums)

    @cached_property
    def look_at_output(self) -> bool:
        """Whether any rule needs what the command wrote."""
        whens = self.ok + self.fail + self.limit + self.halt + self.slow + self.retry
        return bool(self.cost or self.sums) or any(when.kind != "code" for when in whens)

    def accept(self, code: int) -> bool:
        """Whether every `ok` about the exit code admits this one; without such an `ok`, only 0 is admitted."""
        about_code = [when for when in self.ok if when.kind == "code"]
        if not about_code:
            return code == 0
        evidence = Evidence(Ended(code))
        return all(when.holds(evidence) for when in about_code)


def judge(
    ended: Ended,
    stdout: Any,
    stderr: Any,
    rules: Rules,
    *,
    now: float,
    hold_timeouts: bool = False,
    tz: tzinfo | None = None,
) -> Verdict:
    """The verdict on an ended attempt; `--verify`, if there is one, is still to be asked about what is done here.

    `stdout` and `stderr` are bytes or mmap, `now` is in epoch seconds, `tz` the zone of clock times that name none.
    With `hold_timeouts` a timeout is a cut-off: nobody knows whether its effect is in place.
    """
    evidence = Evidence(ended, stdout, stderr, rules.pick)
    cost = evidence.number(rules.cost) if rules.cost else None
    told = partial(Verdict, cost=cost, sums=_sums(evidence, rules.sums))
    if cut_off := _cut_off(ended, hold_timeouts):
        return told(Kind.CUT_OFF, *cut_off)
    missed = _missed(evidence, rules)
    if missed is None:
        return told(Kind.DONE)
    if pause := _pause(evidence, rules, now, tz):
        return told(Kind.UNCHARGED, **pause)
    return told(Kind.FAILED, *missed, retry=_may_retry(evidence, rules.retry))


def _cut_off(ended: Ended, hold_timeouts: bool) -> tuple[str, str] | None:
    """Why and in which words; None if the attempt came to an end of its own, or to a timeout that is charged.

    A timeout comes first, for it is we who sent the signal; then our stopping, whatever the command made of it.
    """
    if ended.timed_out:
        return ("timeout", "timed out") if hold_timeouts else None
    if ended.stopped is not None:
        return _CUT_OFF.get(ended.stopped, "killed"), f"stopped with {_name(ended.stopped)}"
    if ended.signal is not None and ended.signal in _CUT_OFF:
        return _CUT_OFF[ended.signal], f"died of {_name(ended.signal)}"
    return None


def _missed(evidence: Evidence, rules: Rules) -> tuple[str, str] | None:
    """The first reason why it is not done: the end itself, then each `ok`, then each `fail`."""
    ended = evidence.ended
    if ended.timed_out:
        return "timeout", "timed out"
    if ended.signal is not None:
        return "signal", f"died of {_name(ended.signal)}"
    if ended.code is None or not rules.accept(ended.code):
        return "exit", f"exit {ended.code}"
    for when in rules.ok:
        if when.kind == "json" and evidence.object is None:
            return "no-json", f"no JSON object in its output for --ok {when}"
        if not when.holds(evidence):
            return "ok", f"--ok {when} did not hold"
    bad = next((when for when in rules.fail if when.holds(evidence)), None)
    return ("fail", f"--fail {bad} held") if bad else None


def _pause(evidence: Evidence, rules: Rules, now: float, tz: tzinfo | None) -> dict[str, Any] | None:
    """The fields of a limit, a halt or slow: what stops the run, or slows it, and is not the item's fault."""
    if evidence.ended.code == TEMPFAIL and not rules.accept(TEMPFAIL):
        return _limit(evidence, _said(evidence, None) or f"exit {TEMPFAIL}", now, tz)
    for why in ("limit", "halt", "slow"):
        if when := any_of(getattr(rules, why), evidence, own_words=True):
            text = _said(evidence, when) or f"--{why} {when} held"
            return _limit(evidence, text, now, tz) if why == "limit" else {"why": why, "text": text}
    return None


def _limit(evidence: Evidence, text: str, now: float, tz: tzinfo | None) -> dict[str, Any]:
    resume_at, source = reset_time("\n".join(map(_decoded, evidence.words)), now, tz)
    if resume_at is None and (told := _told_by_json(evidence)) is not None:
        resume_at, source = told, "json"
    return {"why": "limit", "text": text, "resume_at": resume_at, "source": source}


def _told_by_json(evidence: Evidence) -> float | None:
    """The reset time in the last JSON line that has one, of stdout, else of stderr."""
    found = (one for stream in (evidence.stdout, evidence.stderr) for one in objects(stream, b"resets"))
    times = map(_reset_in, found)
    return next((time for time in times if time is not None), None)


def _reset_in(value: Any) -> float | None:
    """`resets_at` or `resetsAt` in an object or anything inside it, in epoch seconds.

    claude also reports windows that are still open, with the status `allowed` or `allowed_warning`: not those.
    """
    waiting = [value]  # no recursion: what a command prints may be nested deeper than Python calls
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict) and not str(one.get("status")).startswith("allowed"):
            for name in ("resets_at", "resetsAt"):
                if (time := _epoch(one.get(name))) is not None:
                    return time
        if isinstance(one, dict | list):
            waiting += reversed(one.values() if isinstance(one, dict) else one)
    return None


def _epoch(value: Any) -> float | None:
    """Epoch seconds, from a number (of milliseconds, if it is that large) or an ISO 8601 text."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
        return value / 1000 if value > 1e11 else float(value)
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _may_retry(evidence: Evidence, whens: Sequence[When]) -> bool:
    if any(when.vetoes(evidence) for when in whens):
        return False
    wanted = [when for when in whens if not when.negated]
    return not wanted or any(when.holds(evidence) for when in wanted)


def _sums(evidence: Evidence, paths: Mapping[str, str]) -> dict[str, float]:
    found = {name: evidence.number(where) for name, where in paths.items()}
    return {name: number for name, number in found.items() if number is not None}


def _said(evidence: Evidence, when: When | None) -> str:
    words = when.first_in(evidence.words) if when else next(iter(evidence.words), b"")
    return _decoded(words)[:TEXT]


def _decoded(words: bytes) -> str:
    return words.decode("utf-8", "replace")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _one(options: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return (options[name],) if options.get(name) is not None else ()


def _named_path(text: str) -> tuple[str, str]:
    name, equals, where = text.partition("=")
    if not (name and equals):
        raise ValueError(f"{text!r} is not NAME=PATH, such as output=usage.output_tokens")
    path(where)
    return name, where


def _each(option: str, parse: Any, texts: Sequence[str]) -> list[Any]:
    try:
        return [parse(text) for text in texts]
    except ValueError as error:
        raise ValueError(f"--{option}: {error}") from None
