"""`resumectl path`: where the journal is."""

from __future__ import annotations

from . import put
from .where import JobArgument, JobOption, JournalOption, find_place


def path(argument: JobArgument = None, job: JobOption = None, journal: JournalOption = None) -> None:
    """Print the journal's absolute path.

    Example: cp "$(resumectl path claude)" backup.jsonl
    """
    put(str(find_place(argument, job, journal).journal))
