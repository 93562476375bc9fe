"""What a person reads: ids made safe to print, counts, durations, the first and the last lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .ledger import State
from .spending import Spending
from .words import duration, shown

if TYPE_CHECKING:  # `status` needs none of them, and its start-up is felt
    from .job import Outcome
    from .tally import Tally
    from .verdict import Kind

WORDS = {State.DONE: "done", State.CUT_OFF: "cut off", State.FAILED: "failed", State.PARKED: "parked", State.NEW: "new"}


def items(count: int) -> str:
    return f"{count} item" if count == 1 else f"{count} items"


def listing(counts: Mapping[State, int]) -> str:
    """`512 done, 2 cut off, 3 failed, 1196 new`, without what is 0."""
    return ", ".join(f"{counts[state]} {word}" for state, word in WORDS.items() if counts[state]) or "nothing"


def first_line(tally: Tally, journal: Mapping[State, int], source: str) -> str:
    """What will happen, before anything does; for a stream, what the journal has."""
    if tally.total is None or tally.listed < tally.total:
        count = "items" if tally.total is None else items(tally.total)
        return f"{count} from {source}; journal: {listing(journal)}"
    line = f"{items(tally.total)}: {listing(tally.states)}"
    if tally.total == tally.states[State.DONE]:
        line += "; nothing to do" if tally.total else ""
    return line


def asides(tally: Tally) -> Iterable[str]:
    """What was left out of the list, and what the journal has besides."""
    if tally.duplicates:
        yield f"{tally.duplicates} duplicate{'s' * (tally.duplicates > 1)} left out"
    if tally.empty:
        yield f"{tally.empty} empty line{'s' * (tally.empty > 1)} left out"
    if tally.elsewhere:
        yield f"{items(tally.elsewhere)} of the journal not in this list"


def cut_off_line(ids: Sequence[bytes], count: int) -> str:
    """The announcement of items that may have had their effect already."""
    more = f" and {count - len(ids)} more" if count > len(ids) else ""
    return f"cut off before: {', '.join(shown(id) for id in ids)}{more}"


def lost_lines(lost: Mapping[bytes, Mapping[str, object]], ids: Iterable[bytes]) -> Iterator[str]:
    """Of items that were cut off with another machine: where each began, and may still run."""
    for id in ids:
        if id in lost:
            yield f"{shown(id)} may still run on {lost[id]['host']}, where it began at {lost[id]['began']}"


def progress_line(tally: Tally) -> str:
    """One line for a log: `57/200 done (12 resumed, 45 completed), 2 failed, 4 running, 3.1/s, 40s left`."""
    done = tally.states[State.DONE]
    total = "" if tally.total is None else f"/{tally.total}"
    parts = [f"{done}{total} done ({tally.resumed} resumed, {tally.completed} completed)"]
    for state in (State.FAILED, State.CUT_OFF, State.PARKED):
        if count := tally.now(state):
            parts.append(f"{count} {WORDS[state]}")
    if tally.running:
        parts.append(f"{len(tally.running)} running")
    if tally.spending.told:
        parts.append(money(tally.spending))
    return ", ".join(parts)


def money(spending: Spending) -> str:
    """`cost 1.23, input 5120`, as the commands reported it; what did not report counts as the mean, and is said."""
    unknown = f" ({spending.unknown} unknown, counted as the mean)" if spending.unknown else ""
    cost = [f"cost {spending.total:.6g}{unknown}"] if spending.reported else []
    if spending.wanted and spending.unknown and not spending.reported:
        cost = [f"cost unknown ({spending.unknown} said nothing)"]
    return ", ".join(cost + [f"{name} {amount:.15g}" for name, amount in spending.sums.items()])


def pace(tally: Tally) -> str:
    """` 3.1/s, 40s left`, from this run only; empty while nothing has ended."""
    if not tally.completed + tally.failed:
        return ""
    eta = tally.eta()
    return f"{tally.rate():.1f}/s" + (f", {duration(eta)} left" if eta is not None else "")


def ended_lines(outcome: Outcome[object]) -> Iterator[str]:
    """What is said of items that did not end well: one line for each reason, naming the first."""
    from .verdict import UNSTARTED, Kind

    words = {Kind.FAILED: "failed", Kind.CUT_OFF: "cut off", Kind.HELD: "held", Kind.UNCHARGED: "not now"}
    groups: dict[tuple[Kind, str, str], list[bytes]] = {}
    for id in outcome.job.ids:
        verdict = outcome.of(id)
        if verdict.kind is not Kind.DONE and verdict.why not in UNSTARTED and not (outcome.job.check and outcome.again):
            groups.setdefault((verdict.kind, verdict.why, verdict.text), []).append(id)
    for (kind, why, text), ids in groups.items():
        more = f" and {len(ids) - 1} more of its batch" if len(ids) > 1 else ""
        yield f"{words[kind]} {shown(ids[0])}{more}: {shown(text.encode(errors='surrogateescape')) or why}"
    if outcome.note:
        yield f"resumectl: {outcome.note}"


def last_line(tally: Tally) -> str:
    """The counts at the end of a run; they add up to the total."""
    left = tally.now(State.NEW) + tally.total - tally.listed if tally.total is not None else 0
    line = progress_line(tally)
    return line + (f", {left} not started" if left else "")
