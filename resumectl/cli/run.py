"""`resumectl run`: the command once for each item, from where the last run stopped."""

from __future__ import annotations

import os
import resource
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Annotated, Any

import typer

from .. import admission as admit
from ..admission import NAMED, Admission, CutOff, DuplicateId, Duplicates, Failed
from ..child import Limits
from ..command import Command
from ..crew import Threads
from ..disk import Disk
from ..items import Format, Reader
from ..job import ReaderGone, Signal
from ..ledger import State
from ..lines import JournalError
from ..loop import Loop
from ..pacing import Pacing, Policy
from ..place import Place, directory, fleeting, name_for
from ..printer import Done, Printer
from ..program import find
from ..records import pack
from ..report import asides, cut_off_line, first_line, pace, progress_line, shown
from ..run import Run
from ..snapshot import continuation
from ..stream import Stream
from ..tally import Tally
from ..template import Template, Values, has_placeholder_in_script, program, quote_command
from ..template import compile as compile_template
from ..verdict import Rules
from . import Refusal, catch, interrupt, tell
from .dry import describe
from .ending import exit_code, last_words
from .lists import Listing, Source, chosen_format, open_list
from .opening import archived, refuse_a_twin, refuse_another_command, settle_orphans
from .options import OnOrphans, Progress, Sync, seconds, slots
from .where import named_place

LIST, RETRY, RUN, STOP, JOB = "Items", "What to run again", "Running", "Stopping", "The job"
SPARE, PER_SLOT = 24, 6  # descriptors: our own, and a child's (streams, pidfd, the pipe that reports a failed start)

def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND [ARG]...", help="What to run for each item.", show_default=False)],
    items: Annotated[
        str | None,
        typer.Option("--items", "-a", "--arg-file", metavar="FILE", help="One item a line; - or nothing is standard input.", rich_help_panel=LIST),
    ] = None,
    null: Annotated[bool, typer.Option("--null", "-0", help="Items end with NUL.", rich_help_panel=LIST)] = False,
    delimiter: Annotated[str | None, typer.Option("--delimiter", "-d", metavar="C", help="Items end with this byte.", rich_help_panel=LIST)] = None,
    duplicates: Annotated[Duplicates, typer.Option(help="An id that stands in the list twice.", rich_help_panel=LIST)] = Duplicates.SKIP,
    jobs: Annotated[int, typer.Option("--jobs", "-j", "-P", min=0, metavar="N", help="How many run at once; 0: one a core.", rich_help_panel=RUN)] = 1,
    timeout: Annotated[float | None, typer.Option(parser=seconds, metavar="DUR", help="Stop an attempt after this time.", rich_help_panel=RUN)] = None,
    idle_timeout: Annotated[float | None, typer.Option(parser=seconds, metavar="DUR", help="Stop an attempt that prints nothing for this time.", rich_help_panel=RUN)] = None,
    grace: Annotated[float, typer.Option(parser=seconds, metavar="DUR", help="From TERM to KILL.", rich_help_panel=RUN)] = "10s",  # type: ignore[assignment]
    ok: Annotated[list[str] | None, typer.Option(metavar="WHEN", help="What must hold for done, such as code:0,1.", rich_help_panel=RUN)] = None,
    verify: Annotated[str | None, typer.Option(metavar="CMD", help="A shell command: exit 0 if the item's effect is in place, 1 if not.", rich_help_panel=RUN)] = None,
    cut_off: Annotated[CutOff | None, typer.Option(help="An item that was cut off. [default: rerun, or verify with --verify]", rich_help_panel=RETRY)] = None,
    failed: Annotated[Failed, typer.Option(help="An item that failed in an earlier run.", rich_help_panel=RETRY)] = Failed.RETRY,
    max_attempts: Annotated[int, typer.Option(min=0, metavar="N", help="Hold an item after so many failed or cut-off attempts; 0: never.", rich_help_panel=RETRY)] = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Archive the journal and start over.", rich_help_panel=RETRY)] = False,
    max_items: Annotated[int, typer.Option(min=0, metavar="N", help="Start at most so many items.", rich_help_panel=STOP)] = 0,
    max_time: Annotated[float | None, typer.Option(parser=seconds, metavar="DUR", help="Start nothing that would end later.", rich_help_panel=STOP)] = None,
    max_failures: Annotated[int, typer.Option(min=0, metavar="N", help="Stop after so many failures; 0: never.", rich_help_panel=STOP)] = 0,
    max_consecutive_failures: Annotated[int, typer.Option(min=0, metavar="N", help="Stop after so many in a row; 0: never.", rich_help_panel=STOP)] = 20,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run; run and write nothing.", rich_help_panel=STOP)] = False,
    job: Annotated[str | None, typer.Option("--job", metavar="NAME", help="The job's name. [default: the program's]", rich_help_panel=JOB)] = None,
    journal: Annotated[str | None, typer.Option("--journal", metavar="PATH", help="The journal, anywhere.", rich_help_panel=JOB)] = None,
    sync: Annotated[Sync, typer.Option(help="full: what is recorded outlives a power cut.", rich_help_panel=JOB)] = Sync.FULL,
    accept_command: Annotated[bool, typer.Option("--accept-command", help="The command has changed, the work has not.", rich_help_panel=JOB)] = False,
    accept_damage: Annotated[bool, typer.Option("--accept-damage", help="Go on with what a damaged journal still says.", rich_help_panel=JOB)] = False,
    lock_wait: Annotated[float, typer.Option(parser=seconds, metavar="DUR", help="Wait for another run to end.", rich_help_panel=JOB)] = "0",  # type: ignore[assignment]
    orphans: Annotated[OnOrphans, typer.Option(help="Commands of a killed run that still live.", rich_help_panel=JOB)] = OnOrphans.WAIT,
    orphan_wait: Annotated[float, typer.Option(parser=seconds, metavar="DUR", help="How long to wait for them.", rich_help_panel=JOB)] = "60s",  # type: ignore[assignment]
    progress: Annotated[Progress, typer.Option(help="How progress is shown.", rich_help_panel=JOB)] = Progress.AUTO,
) -> int:
    """Run COMMAND once for each item, and go on where the last run stopped.

    {} in COMMAND is the item; without a {} it is appended.  No shell is involved.
    Run the same command again after a Ctrl-C, a crash or a reboot: what is done is
    skipped, what was cut off is announced and run again.

    Example: resumectl run --items ids.txt -j 4 -- ./fetch.sh {}
    """
    catch(interrupt)
    words = [os.fsencode(word) for word in command]
    template = _template(words)
    source = open_list(items)
    format = chosen_format(null, delimiter)
    policy = _when_cut_off(cut_off, verify)
    name = program(template)
    executable = find(name, os.environb) if name is not None else None
    place = named_place(job, journal) or Place(directory(os.environ) / f"{name_for(words[0])}.jsonl")
    refuse_a_twin(place, words, False)
    admission_rules = admit.Rules(policy, failed, duplicates, max_attempts)
    pacing_policy = Policy(max_failures, max_consecutive_failures, max_items, max_time)
    if dry_run:
        return describe(place, source, format, template, admission_rules, pacing_policy, words, accept_command, fresh, slots(jobs))
    count = slots(jobs)
    most = _descriptors(count)
    inbox: SimpleQueue[Any] = SimpleQueue()
    held = Run(place, Disk(), sync=sync.value, jobs=count)
    try:
        held.acquire(lock_wait)
        held.load(accept_damage=accept_damage)
        if not (accept_command or fresh):
            refuse_another_command(held.ledger, words, False)
        ignored = settle_orphans(held, orphans, orphan_wait, grace)
        if fresh:
            archived(held)
        sealed = held.seal_open()
        tally = Tally()
        pacing: Pacing[Any] = Pacing(pacing_policy, count, time.monotonic(), held.ledger.mean_seconds())
        admission: Admission[Any] = Admission(admission_rules, held.ledger, pacing, tally)
        journal_counts = held.ledger.counts()
        new = not held.journal.exists
        if source.whole:
            _take_all(source, format, admission, held)
        options = _options(command)
        held.heal()
        held.begin(
            {
                "cwd": pack(os.fsencode(os.getcwd())),
                "argv": [pack(os.fsencode(word)) for word in [*options, "--", *command]],
                "cmd": [pack(word) for word in words],
                "shell": False,
                "total": tally.total,
                "new": tally.new if source.whole else None,
                "jobs": count,
                "batch": 1,
                "sync": sync.value,
                **({} if source.named else {"piped": True}),
            },
            [*sealed, *admission.held],
            keep_fence=ignored,
        )
        admission.held.clear()
        work = Command(
            template=template,
            environ={**os.environb, b"RESUMECTL_JOB": os.fsencode(place.job), b"RESUMECTL_JOURNAL": os.fsencode(place.journal)},
            spools=place.journal.parent,
            program=executable,
            rules=_rules(ok),
            limits=Limits(timeout, idle_timeout, grace),
            keep_open=(held.fence.fd,),
            verify=os.fsencode(verify) if verify is not None else None,
            hold_timeouts=policy is not CutOff.RERUN,
        )
        printer = _printer(inbox, most, tally, progress)
        for line in _start_lines(held, admission, journal_counts, source, template, words, new):
            printer.say(line)
        stream = None if source.whole else Stream(source.fd, Reader(format), inbox)
        loop = Loop(held, pacing, admission, Threads(work, count, inbox), printer, inbox, stream=stream, grace=grace)
        catch(lambda number, _frame: inbox.put(Signal(number)))
        loop.go()
        return _finish(loop, printer, inbox, options, command, source)
    finally:
        held.close()


def _template(words: Sequence[bytes]) -> Template:
    try:
        return compile_template(words)
    except ValueError as error:
        raise Refusal(str(error)) from None


def _rules(ok: Sequence[str] | None) -> Rules:
    try:
        return Rules.parse({"ok": ok or ()})
    except ValueError as error:
        raise Refusal(str(error)) from None


def _when_cut_off(chosen: CutOff | None, verify: str | None) -> CutOff:
    if chosen is CutOff.VERIFY and verify is None:
        raise Refusal("--cut-off verify needs something to ask; add --verify CMD")
    if verify is not None:
        try:
            quote_command(os.fsencode(verify), Values(b"", 1, 1, "", 1))
        except ValueError as error:
            raise Refusal(f"--verify: {error}") from None
    return chosen or (CutOff.VERIFY if verify is not None else CutOff.RERUN)


def _descriptors(count: int) -> int:
    """Raise the soft limit as far as the slots need it; return how many unprinted items it leaves room for."""
    wanted = SPARE + PER_SLOT * count + 2 * (64 + 2 * count)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = hard == resource.RLIM_INFINITY
    if wanted > soft:
        soft = wanted if unlimited else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = min(64 + 2 * count, (soft - SPARE - PER_SLOT * count) // 2)
    if most < 1:
        needs = SPARE + PER_SLOT * count + 2
        raise Refusal(f"-j {count} needs {needs} open files and the limit is {soft}; lower -j, or raise ulimit -n")
    return most


def _take_all(source: Source, format: Format, admission: Admission[Any], held: Run) -> None:
    """Read a regular file to its end, before anything starts: then the totals are known."""
    if not source.named:
        held.keep_list(b"")
    listing = Listing(source, format, None if source.named else held.keep_list)
    try:
        for item in listing:
            admission.take(item)
    except DuplicateId as error:
        raise Refusal(f"{source.label}: {error}; nothing was run") from None
    if not source.named:
        held.sync_list()
    tally = admission.tally
    tally.total, tally.empty = tally.listed, listing.empty
    tally.elsewhere = admission.ledger.known - tally.listed
    admission.pacing.closed = True


def _options(command: Sequence[str]) -> list[str]:
    """The words before COMMAND, as they were typed."""
    words = sys.argv[2 : len(sys.argv) - len(command)]
    return words[:-1] if words[-1:] == ["--"] else words


def _printer(inbox: SimpleQueue[Any], most: int, tally: Tally, progress: Progress) -> Printer:
    terminal = os.isatty(2)
    if progress is Progress.BAR or (progress is Progress.AUTO and terminal and os.environ.get("TERM") != "dumb"):
        from ..bar import Bar

        if terminal:
            return Printer(inbox, most, picture=Bar(tally, []))
    plain = None if progress is Progress.NONE else lambda: f"{progress_line(tally)}, {pace(tally)}".rstrip(", ")
    return Printer(inbox, most, progress=plain)


def _start_lines(held, admission, counts, source, template, words, new) -> Iterator[str]:  # type: ignore[no-untyped-def]
    """What whoever starts a run learns at once."""
    place, tally = held.place, admission.tally
    yield f"journal {shown(os.fsencode(place.journal), 4000)}{' (new)' if new else ''}"
    if why := fleeting(place.journal):
        yield f"resumectl: this journal will be cleaned up by the system: {why}; choose a lasting place with --journal"
    yield first_line(tally, counts, source.label)
    yield from asides(tally)
    if cut := tally.states[State.CUT_OFF] if tally.total is not None else counts[State.CUT_OFF]:
        yield cut_off_line(admission.announced or list(islice(held.ledger.ids(State.CUT_OFF), NAMED)), cut)
    if template.angle:
        yield "<id> stands for the item"
    if has_placeholder_in_script(words):
        yield "resumectl: an item inside a script is run as code; use \"$RESUMECTL_ITEM\" there, or --shell"


def _finish(
    loop: Loop[Any], printer: Printer, inbox: SimpleQueue[Any], options: Sequence[str], command: Sequence[str], source: Source
) -> int:
    """Record the end, print what is left and the last lines, and give the exit code."""
    tally = loop.tally
    if loop.broken is None:
        counts = {"done": tally.completed, "failed": tally.failed, "cut_off": tally.cut_off}
        try:
            loop.run.end(loop.why(), counts)
        except JournalError as error:
            loop.broken = error
    again = source.named or tally.total is not None
    kept = None if source.named else str(loop.run.place.items)
    go_on = shlex.join(continuation([*options, "--", *command], kept)) if again else None
    lines = last_words(loop, go_on)
    for line in lines:
        printer.say(line)
    printer.finish()
    unprinted = _wait_for_reader(loop, printer, inbox)
    if unprinted:
        for line in (f"the output of {unprinted} ended items was not printed", *lines):
            tell(line, wait=False)
    return exit_code(loop)


def _wait_for_reader(loop: Loop[Any], printer: Printer, inbox: SimpleQueue[Any]) -> int:
    """Until all is printed; a signal ends the wait.  Returns how many items were not printed."""
    while True:
        try:
            event = inbox.get(timeout=1.0 if loop.signal is not None else None)
        except Empty:
            return printer.waiting
        if isinstance(event, Done):
            return 0
        if isinstance(event, Signal):
            loop.signal = loop.signal or event.number
        elif isinstance(event, ReaderGone):
            loop.reader_gone = loop.reader_gone or event
        elif isinstance(event, BaseException):
            raise event
