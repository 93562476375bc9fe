"""`resumectl compact`: a journal that has grown long, in one line an item."""

from __future__ import annotations

from ..accounts import Accounts
from ..compaction import compact as compact_run
from ..run import Run
from . import Refusal, catch, interrupt, put, tell
from .mark import refuse_beside_orphans
from .where import JobArgument, JobOption, JournalOption, find_place


def compact(argument: JobArgument = None, job: JobOption = None, journal: JournalOption = None) -> int:
    """Rewrite the journal in one line an item; the old one is kept, and its path printed.

    States, attempts, costs, keys and kept output stay: a run goes on as if nothing had
    been done.  Refused (exit 4) during a run.

    Example: resumectl compact claude
    """
    catch(interrupt)
    run, accounts = Run(find_place(argument, job, journal), sync="none"), Accounts()
    try:
        run.acquire()
        tell(f"compacting {run.place.journal}")  # at once: a long one takes its time
        run.load(accounts)
        if not run.journal.exists:
            raise Refusal(f"{run.place.journal} is empty; there is nothing to compact")
        refuse_beside_orphans(run)
        before = run.journal.text.lines
        tell(f"read {before} lines; writing one an item")
        kept = compact_run(run, accounts)
        tell(f"compacted {before} lines to {run.journal.text.lines}")
    finally:
        run.close()
    put(str(kept))
    return 0
