"""After the last item: the counts, the journal, the command that goes on, the exit code."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any

from ..job import ReaderGone, Signal
from ..lines import JournalError
from ..loop import Loop
from ..order import Order
from ..printer import Done, Printer
from ..report import last_line
from ..snapshot import continuation, resumption
from ..words import clock, duration, shown
from . import tell
from .lists import Source

CODES = {"complete": 0, "exhausted": 1, "sigpipe": 141, "journal": 74, "table": 74}
PERSON, LATER = 3, 75
WHY_75 = {"limit", "max-time", "max-items"}
NAMED = 20  # how many unrecorded ids are named in one line


def finish(
    loop: Loop[Any],
    order: Order,
    printer: Printer,
    inbox: SimpleQueue[Any],
    options: Sequence[str],
    command: Sequence[str],
    source: Source,
) -> int:
    """Record the end, print what is left and the last lines, and give the exit code."""
    tally = loop.tally
    order.finish()
    if loop.broken is None:
        counts = {"done": tally.completed, "failed": tally.failed, "cut_off": tally.cut_off}
        try:
            loop.run.end(loop.why(), counts)
        except JournalError as error:
            loop.broken = error
    lines = last_words(loop, order, _go_on(loop, source, [*options, "--", *command]), source.hint)
    for line in lines:
        printer.say(line)
    printer.finish()
    unprinted = _wait_for_reader(loop, printer, inbox)
    if unprinted:
        for line in (f"the output of {unprinted} ended items was not printed", *lines):
            tell(line, wait=False)
    return exit_code(loop) or (1 if order.missing else 0)


def _go_on(loop: Loop[Any], source: Source, words: list[str]) -> str | None:
    """The command that continues the run; None if the list can't be read again."""
    if source.named and not source.kept:
        return shlex.join(continuation(words))
    return shlex.join(resumption(loop.run.place)) if loop.tally.total is not None else None


def _wait_for_reader(loop: Loop[Any], printer: Printer, inbox: SimpleQueue[Any]) -> int:
    """Until all is printed; a signal ends the wait.  Returns how many items were not printed."""
    while True:
        try:
            event = inbox.get(timeout=1.0 if loop.interrupts.signal is not None else None)
        except Empty:
            return printer.waiting
        if isinstance(event, Done):
            return 0
        if isinstance(event, Signal):
            loop.interrupts.signal = loop.interrupts.signal or event.number
        elif isinstance(event, ReaderGone):
            loop.reader_gone = loop.reader_gone or event
        elif isinstance(event, BaseException):
            raise event


def exit_code(loop: Loop[Any]) -> int:
    """SPEC 2.12: the first that applies of signal, 74, 141, 3, 75, 1; 0 only if every item is done."""
    if loop.interrupts.signal is not None:
        return 128 + loop.interrupts.signal
    why = loop.why()
    if loop.followed is not None and loop.followed.error:
        return 74
    if loop.reader_gone is not None and loop.reader_gone.error:
        return 74
    if why == "exhausted" and loop.admission.passed_over and loop.admission.rules.failed == "only":
        return LATER
    return CODES.get(why, LATER if why in WHY_75 else PERSON)


def last_words(loop: Loop[Any], order: Order, go_on: str | None, hint: str = "") -> list[str]:
    """The last lines of a run.  `go_on` is what continues it, None if the list can't be read again; `hint` says more."""
    lines = []
    if loop.pacing.text:
        lines.append(f"stopped: {shown(loop.pacing.text.encode(errors='surrogateescape'), 500)}{_resets(loop)}")
    elif loop.pacing.stop in WHY_75:
        lines.append(f"stopped: --{loop.pacing.stop}{_too_short(loop)}")
    if loop.followed is not None and loop.followed.error not in ("", loop.pacing.text):
        lines.append(f"resumectl: {loop.followed.error}")
    if loop.follower is not None:
        lines += loop.follower.lines()
    if loop.broken is not None:
        lines.append(f"resumectl: {loop.broken}; mend that, then run it again")
    if ids := loop.unrecorded():
        lines.append(f"ended but not recorded: {named(ids)}")
    if order.missing:
        lines.append(f"done, but nothing was kept to print again: {named(order.missing)}")
    lines.append(last_line(loop.tally))
    lines.append(f"journal {shown(str(loop.run.place.journal).encode(errors='surrogateescape'), 4000)}")
    if not loop.tally.complete:
        lines.append(f"to continue: {go_on or 'pipe the list into the same command again'}")
        lines += [hint] if hint else []
    return lines


def _resets(loop: Loop[Any]) -> str:
    """When the limit that stopped the run ends, if it said so."""
    when = loop.pacing.resume_at
    if loop.pacing.stop != "limit" or when is None:
        return ""
    left = when - time.time()
    if left <= 0:
        return f"; it was to reset at {clock(when)}, which has passed"
    return f"; it resets at {clock(when)} ({duration(left)} from now)"


def _too_short(loop: Loop[Any]) -> str:
    """What to say where --max-time let nothing start at all: the same command would do no more the next time."""
    tally, mean = loop.tally, loop.run.ledger.figures.mean_seconds()
    if loop.pacing.stop != "max-time" or mean is None or tally.completed + tally.failed + tally.cut_off:
        return ""
    return f"; nothing was started, for an item takes {duration(mean)} by the mean so far: give it more than that"


def named(ids: Sequence[bytes]) -> str:
    """The first ids, and how many more there are."""
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    return ", ".join(shown(id) for id in ids[:NAMED]) + more
