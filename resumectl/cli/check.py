"""`resumectl check`: is the journal, and all that it keeps, what was written?"""

from __future__ import annotations

from ..inspection import Inspection
from ..lines import JournalError
from . import put, tell
from .where import JobArgument, JobOption, JournalOption, find_place


def check(argument: JobArgument = None, job: JobOption = None, journal: JournalOption = None) -> int:
    """Read every line of the journal and every kept byte; name all that is wrong, and exit 65 if anything is.

    Takes no lock: during a run, the line that is just being written is not wrong.

    Example: resumectl check claude
    """
    place = find_place(argument, job, journal)
    inspection, wrong = Inspection(place), 0
    try:
        for fault in inspection.faults():
            wrong += 1
            put(str(fault))
    except OSError as error:
        raise JournalError(f"{place.journal}: {error.strerror}", 2) from error
    if not wrong:
        put(f"{place.journal}: {inspection.counts()}; all as written")
        return 0
    tell(
        f"resumectl: {wrong} thing{'s' * (wrong > 1)} wrong in {place.journal} ({inspection.counts()}); restore a copy, "
        "or go on with what is intact: run --accept-damage"
    )
    return 65
