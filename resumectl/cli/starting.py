"""Between the options and the first start: room for the slots, the list, who prints, the first lines."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any

from ..admission import NAMED, Admission, BadEntry
from ..items import Format
from ..ledger import Ledger, State
from ..place import Place, fleeting
from ..policy import Before
from ..printer import Printer
from ..report import asides, cut_off_line, first_line, lost_lines, pace, progress_line
from ..run import Run
from ..tally import Tally
from ..template import Template
from ..words import shown
from . import Refusal
from .choices import Progress
from .lists import Listing, Source

SPARE, PER_SLOT = 24, 6  # descriptors: our own, and a child's (streams, pidfd, the pipe that reports a failed start)


def make_room(count: int) -> int:
    """Raise the soft limit as far as the slots need it; return how many unprinted items it leaves room for."""
    wanted = SPARE + PER_SLOT * count + 2 * (64 + 2 * count)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = hard == resource.RLIM_INFINITY
    if wanted > soft:
        soft = wanted if unlimited else min(wanted, hard)
        with suppress(ValueError):  # macOS has a limit of its own below the hard one
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = min(64 + 2 * count, (soft - SPARE - PER_SLOT * count) // 2)
    if most < 1:
        needs = SPARE + PER_SLOT * count + 2
        raise Refusal(f"-j {count} needs {needs} open files and the limit is {soft}; lower -j, or raise ulimit -n")
    return most


def take_all(held: Run, source: Source, format: Format, admission: Admission[Any]) -> None:
    """Read a regular file to its end, before anything starts: then the totals are known."""
    known = admission.ledger.known
    copied = not source.named and not source.is_file(held.place.items)  # `< NAME.items` must not empty its own list
    listing = Listing(
        source, format, keep=held.keep_list if copied else None, sift=admission.sift if admission.hasty else None
    )
    try:
        admission.take_all(listing)
    except BadEntry as error:
        raise Refusal(f"{source.label}: {error}; nothing was run") from None
    tally = admission.tally
    tally.total, tally.empty = tally.listed, listing.empty
    tally.elsewhere = known - (tally.listed - tally.new)
    admission.pacing.close()
    if copied:
        held.sync_list()


def printer_for(
    inbox: SimpleQueue[Any], most: int, tally: Tally, progress: Progress, tag: bool, quiet: bool
) -> Printer:
    terminal = os.isatty(2)
    if terminal and (progress is Progress.BAR or (progress is Progress.AUTO and os.environ.get("TERM") != "dumb")):
        from ..bar import Bar

        printer = Printer(inbox, most, tag=tag, quiet=quiet)
        printer.picture = Bar(tally, printer.notice)
        return printer
    plain = None if progress is Progress.NONE else lambda: f"{progress_line(tally)}, {pace(tally)}".rstrip(", ")
    return Printer(inbox, most, progress=plain, tag=tag, quiet=quiet)


def named_job(environ: Mapping[bytes, bytes], place: Place) -> dict[bytes, bytes]:
    """The commands' environment, with the names of the job and of its journal."""
    return {**environ, b"RESUMECTL_JOB": os.fsencode(place.job), b"RESUMECTL_JOURNAL": os.fsencode(place.journal)}


def before(ledger: Ledger) -> Before:
    """What earlier runs left for the pacing."""
    return Before(ledger.figures.mean_seconds(), ledger.figures.spending.total, ledger.figures.limited or ledger.end.get("why") == "limit")


def start_lines(
    held: Run,
    admission: Admission[Any],
    counts: Mapping[State, int],
    source: Source,
    template: Template,
    new: bool,
    format: Format,
    risky: bool,
) -> Iterator[str]:
    """What whoever starts a run learns at once."""
    place, tally = held.place, admission.tally
    yield f"journal {shown(os.fsencode(place.journal), 4000)}{' (new)' if new else ''}"
    if why := fleeting(place.journal):
        yield f"resumectl: this journal will be cleaned up by the system: {why}; choose a lasting place with --journal"
    yield first_line(tally, counts, source.label)
    yield from asides(tally)
    if cut := tally.states[State.CUT_OFF] if source.whole else counts[State.CUT_OFF]:
        announced = admission.announced or list(islice(held.ledger.ids(State.CUT_OFF), NAMED))
        yield cut_off_line(announced, cut)
        yield from lost_lines(held.ledger.lost, announced)
    if template.angle:
        yield "<id> stands for the item"
    if risky:
        yield 'resumectl: an item inside a script is run as code; use "$RESUMECTL_ITEM" there, or --shell'
    suffix = os.path.splitext(source.label)[1].lower().lstrip(".")
    if format.key is None and suffix in ("csv", "tsv", "jsonl"):
        yield f"resumectl: {source.label} is read as plain lines; for its fields add --format {suffix} --key FIELD"
