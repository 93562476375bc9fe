"""`resumectl resume`: the last run again, from where it stopped."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..disk import Disk
from ..place import Place, holder
from ..snapshot import LIST, ONE_SHOT, RUNS, Snapshot, glimpse, without
from . import Refusal, put
from .again import Again, last_options
from .checks import split_command
from .where import JobArgument, JobOption, JournalOption, find_place, place_for

ONCE = frozenset({"--failed", "--max-items", "--max-time"})  # said, like ONE_SHOT, for one run only


def resume(
    argument: JobArgument = None,
    job: JobOption = None,
    journal: JournalOption = None,
    show: Annotated[bool, typer.Option("--print", help="Print the command line instead of running it.")] = False,
) -> int:
    """Run the last run again: same directory, command, list and options.

    What was said for one run only is left out: --max-items, --max-time, --failed, --dry-run, --fresh and
    --accept-*. A list that was piped in is read from the copy that was kept of it.

    Example: resumectl resume claude
    """
    snapshot, _ = glimpse(find_place(argument, job, journal), RUNS)
    options = last_options(snapshot)
    kept = _kept_list(snapshot)
    directory = snapshot.directory()
    try:
        os.chdir(directory)
    except OSError as error:
        raise Refusal(f"{directory}: {error.strerror}; the last run was started there, make it again") from None
    words = without(snapshot.arguments(), ONE_SHOT, ONCE)
    command, _ = split_command(options["command"], options["items"])
    if place_for(options["job"], options["journal"], command, options["shell"]).journal != snapshot.place.journal:
        words = _with(words, {"--job", "--journal"}, "--journal", snapshot.place.journal)  # it was moved
    if show:
        words = words if kept is None else _with(words, LIST, "--items", kept)
        put(f"cd {shlex.quote(directory)} && {shlex.join(['resumectl', 'run', *words])}")
        return 0
    return _run(words, kept)


def _run(words: list[str], kept: Path | None) -> int:
    from .app import verb

    return verb("run").main(words, "resumectl run", standalone_mode=False, obj=Again(words, kept)) or 0


def _kept_list(snapshot: Snapshot) -> Path | None:
    """The copy of the last run's list if it was no regular file; Refusal if its end was never seen."""
    place, ledger = snapshot.place, snapshot.ledger
    if not ledger.run.get("piped"):
        return None
    if ledger.list_total is None and snapshot.running:
        raise Refusal(f"{place.journal} is in use{_by(place)}; wait for its end", 4)
    if ledger.list_total is None:
        raise Refusal("the last run's list was not read to its end; pipe it again into the same command")
    if not place.items.exists():
        raise Refusal(f"{place.items}, the copy of the list, is gone; pipe it again into the same command")
    return place.items


def _by(place: Place) -> str:
    pid = holder(place, Disk()).get("pid")
    return f" by pid {pid}" if pid else ""


def _with(words: list[str], instead: set[str] | frozenset[str], option: str, value: Path) -> list[str]:
    """The words with one option in place of others."""
    words = without(words, frozenset(), frozenset(instead))
    end = words.index("--")
    return [*words[:end], option, os.fspath(value), *words[end:]]
