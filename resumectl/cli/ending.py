"""After the last item: the counts, the journal, the command that goes on, the exit code."""

from __future__ import annotations

from typing import Any

from ..loop import Loop
from ..report import last_line, shown

CODES = {"complete": 0, "exhausted": 1, "sigpipe": 141, "journal": 74}
PERSON, LATER = 3, 75
WHY_75 = {"limit", "max-time", "max-items"}
NAMED = 20  # how many unrecorded ids are named in one line


def exit_code(loop: Loop[Any]) -> int:
    """SPEC 2.12: the first that applies of signal, 74, 141, 3, 75, 1; 0 only if every item is done."""
    if loop.signal is not None:
        return 128 + loop.signal
    why = loop.why()
    if loop.reader_gone is not None and loop.reader_gone.error:
        return 74
    if why == "exhausted" and loop.admission.passed_over and loop.admission.rules.failed == "only":
        return LATER
    return CODES.get(why, LATER if why in WHY_75 else PERSON)


def last_words(loop: Loop[Any], go_on: str | None) -> list[str]:
    """The last lines of a run.  `go_on` is what continues it, None if the list can't be read again."""
    lines = []
    if loop.pacing.text:
        lines.append(f"stopped: {shown(loop.pacing.text.encode(errors='surrogateescape'), 500)}")
    elif loop.pacing.stop in WHY_75:
        lines.append(f"stopped: --{loop.pacing.stop}")
    if loop.broken is not None:
        lines.append(f"resumectl: {loop.broken}; mend that, then run it again")
    if ids := [id for outcome in loop.unrecorded for id in outcome.job.ids]:
        more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
        lines.append(f"ended but not recorded: {', '.join(shown(id) for id in ids[:NAMED])}{more}")
    lines.append(last_line(loop.tally))
    lines.append(f"journal {shown(str(loop.run.place.journal).encode(errors='surrogateescape'), 4000)}")
    if not loop.tally.complete:
        lines.append(f"to continue: {go_on or 'pipe the list into the same command again'}")
    return lines


