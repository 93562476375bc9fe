"""The options of `run`, by what they are for."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..admission import CutOff, Duplicates, Failed
from .choices import (
    BatchResults,
    FormatName,
    OnLimit,
    OnOrphans,
    Progress,
    StdinName,
    Sync,
    amount,
    interval,
    seconds,
)

LIST, RETRY, RUN, STOP, OUTPUT, JOB = "Items", "What to run again", "Running", "Stopping", "Output", "The job"


def _when(name: str, help: str, panel: str) -> Any:
    """A WHEN option, which can be repeated."""
    return typer.Option(name, metavar="WHEN", help=help, rich_help_panel=panel)


Command = Annotated[
    list[str],
    typer.Argument(metavar="COMMAND [ARG]... [::: ITEM...]", help="What to run for each item.", show_default=False),
]
Items = Annotated[
    str | None,
    typer.Option(
        "--items",
        "-a",
        "--arg-file",
        metavar="FILE",
        help="One item a line; - or nothing is standard input.",
        rich_help_panel=LIST,
    ),
]
Null = Annotated[bool, typer.Option("--null", "-0", help="Items end with NUL.", rich_help_panel=LIST)]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", "-d", metavar="C", help="Items end with this byte.", rich_help_panel=LIST)
]
ListFormat = Annotated[FormatName, typer.Option("--format", help="How the list is written.", rich_help_panel=LIST)]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="FIELD", help="The field, or the column, that holds the id.", rich_help_panel=LIST),
]
Repeats = Annotated[
    Duplicates, typer.Option("--duplicates", help="An id that stands in the list twice.", rich_help_panel=LIST)
]

Replace = Annotated[str | None, typer.Option("-I", metavar="REPL", help="Use REPL instead of {}.", rich_help_panel=RUN)]
Shell = Annotated[
    bool, typer.Option("--shell", help="COMMAND is one string for /bin/sh; items are quoted.", rich_help_panel=RUN)
]
Stdin = Annotated[
    StdinName | None, typer.Option("--stdin", help="Give the command its item on standard input.", rich_help_panel=RUN)
]
Batch = Annotated[
    int,
    typer.Option(
        "--batch", "-n", "--max-args", min=1, max=10**9, metavar="N", help="Up to N items a process.", rich_help_panel=RUN
    ),
]
HowReported = Annotated[
    BatchResults,
    typer.Option(
        "--batch-results", help="How a batch's items are judged: by its exit, or as it reports.", rich_help_panel=RUN
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        "-P",
        min=0,
        metavar="N",
        help="How many run at once; 0: one a core. [default: 1; all slots of a cluster]",
        rich_help_panel=RUN,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout", parser=seconds, metavar="DUR", help="Stop an attempt after this time.", rich_help_panel=RUN
    ),
]
IdleTimeout = Annotated[
    float | None,
    typer.Option(
        "--idle-timeout",
        parser=seconds,
        metavar="DUR",
        help="Stop an attempt that prints nothing for this time.",
        rich_help_panel=RUN,
    ),
]
Grace = Annotated[
    float, typer.Option("--grace", parser=seconds, metavar="DUR", help="From TERM to KILL.", rich_help_panel=RUN)
]
Ok = Annotated[
    list[str] | None,
    typer.Option("--ok", metavar="WHEN", help="What must hold for done, such as code:0,1.", rich_help_panel=RUN),
]
Fail = Annotated[list[str] | None, _when("--fail", "What must not hold for done.", RUN)]
Limit = Annotated[list[str] | None, _when("--limit", "What shows that the service is at its limit.", STOP)]
Halt = Annotated[list[str] | None, _when("--halt", "What needs a person, such as a login.", STOP)]
Slow = Annotated[list[str] | None, _when("--slow", "What shows that the service is overloaded.", STOP)]
Retry = Annotated[list[str] | None, _when("--retry", "Which failures --retries tries again.", RETRY)]
JsonPick = Annotated[
    str | None,
    typer.Option(
        "--json-pick", metavar="PATH=VALUE", help="Which JSON object of several is meant.", rich_help_panel=RUN
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="NAME", help="A tool's tests. [default: by the program's name]", rich_help_panel=RUN
    ),
]
Rate = Annotated[
    float | None,
    typer.Option("--rate", parser=interval, metavar="N/UNIT", help="Space the starts: 30/m.", rich_help_panel=RUN),
]
Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env", metavar="K[=V]", help="Set a variable of the command's, or hand ours on.", rich_help_panel=RUN
    ),
]
Unset = Annotated[
    list[str] | None, typer.Option("--unset", metavar="K", help="Take a variable away.", rich_help_panel=RUN)
]
Retries = Annotated[
    int,
    typer.Option(
        "--retries", min=0, metavar="N", help="More tries of a failed item in this run.", rich_help_panel=RETRY
    ),
]
RetryDelay = Annotated[
    float,
    typer.Option(
        "--retry-delay",
        parser=seconds,
        metavar="DUR",
        help="Before the first retry; then doubling.",
        rich_help_panel=RETRY,
    ),
]
RetryMaxDelay = Annotated[
    float,
    typer.Option("--retry-max-delay", parser=seconds, metavar="DUR", help="The longest delay.", rich_help_panel=RETRY),
]
WhenLimited = Annotated[
    OnLimit, typer.Option("--on-limit", help="Stop with 75, or sit the limit out.", rich_help_panel=STOP)
]
Cost = Annotated[
    str | None,
    typer.Option("--cost", metavar="PATH", help="Where the JSON says what an attempt cost.", rich_help_panel=STOP),
]
Sum = Annotated[
    list[str] | None,
    typer.Option("--sum", metavar="NAME=PATH", help="A figure to add up over all attempts.", rich_help_panel=STOP),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", parser=amount, metavar="X", help="Stop when this run has cost so much.", rich_help_panel=STOP),
]
MaxTotalCost = Annotated[
    float | None,
    typer.Option("--max-total-cost", parser=amount, metavar="X", help="Stop when all runs have cost so much.", rich_help_panel=STOP),
]
Verify = Annotated[
    str | None,
    typer.Option(
        "--verify",
        metavar="CMD",
        help="A shell command: exit 0 if the item's effect is in place, 1 if not.",
        rich_help_panel=RUN,
    ),
]

WhenCutOff = Annotated[
    CutOff | None,
    typer.Option(
        "--cut-off", help="An item that was cut off. [default: rerun, or verify with --verify]", rich_help_panel=RETRY
    ),
]
WhenFailed = Annotated[
    Failed, typer.Option("--failed", help="An item that failed in an earlier run.", rich_help_panel=RETRY)
]
MaxAttempts = Annotated[
    int,
    typer.Option(
        "--max-attempts",
        min=0,
        metavar="N",
        help="Hold an item after so many failed or cut-off attempts; 0: never.",
        rich_help_panel=RETRY,
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Archive the journal and start over.", rich_help_panel=RETRY)]

MaxItems = Annotated[
    int, typer.Option("--max-items", min=0, metavar="N", help="Start at most so many items.", rich_help_panel=STOP)
]
MaxTime = Annotated[
    float | None,
    typer.Option(
        "--max-time", parser=seconds, metavar="DUR", help="Start nothing that would end later.", rich_help_panel=STOP
    ),
]
MaxFailures = Annotated[
    int,
    typer.Option(
        "--max-failures", min=0, metavar="N", help="Stop after so many failures; 0: never.", rich_help_panel=STOP
    ),
]
MaxConsecutive = Annotated[
    int,
    typer.Option(
        "--max-consecutive-failures",
        min=0,
        metavar="N",
        help="Stop after so many in a row; 0: never.",
        rich_help_panel=STOP,
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would run; run and write nothing.", rich_help_panel=STOP)
]

KeepOrder = Annotated[
    bool, typer.Option("--keep-order", "-k", help="Print the output in list order.", rich_help_panel=OUTPUT)
]
Tag = Annotated[bool, typer.Option("--tag", help="Put the item and a tab before each line.", rich_help_panel=OUTPUT)]
Ungroup = Annotated[
    bool,
    typer.Option("--ungroup", "-u", help="Let the commands write directly; nothing is kept.", rich_help_panel=OUTPUT),
]
Quiet = Annotated[
    bool, typer.Option("--quiet-output", help="Print no output (it is still kept).", rich_help_panel=OUTPUT)
]
NoKeep = Annotated[bool, typer.Option("--no-keep", help="Keep no output beside the journal.", rich_help_panel=OUTPUT)]
Replay = Annotated[
    bool, typer.Option("--replay", help="Print again what items that are done have printed.", rich_help_panel=OUTPUT)
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out", metavar="PATH", help="A file for each item's output, such as 'out/{}.json'.", rich_help_panel=OUTPUT
    ),
]
Err = Annotated[
    str | None, typer.Option("--err", metavar="PATH", help="The same for standard error.", rich_help_panel=OUTPUT)
]
ShowProgress = Annotated[Progress, typer.Option("--progress", help="How progress is shown.", rich_help_panel=OUTPUT)]

Job = Annotated[
    str | None,
    typer.Option("--job", metavar="NAME", help="The job's name. [default: the program's]", rich_help_panel=JOB),
]
Journal = Annotated[
    str | None, typer.Option("--journal", metavar="PATH", help="The journal, anywhere.", rich_help_panel=JOB)
]
SyncLevel = Annotated[
    Sync, typer.Option("--sync", help="full: what is recorded outlives a power cut.", rich_help_panel=JOB)
]
AcceptCommand = Annotated[
    bool, typer.Option("--accept-command", help="The command has changed, the work has not.", rich_help_panel=JOB)
]
AcceptDamage = Annotated[
    bool, typer.Option("--accept-damage", help="Go on with what a damaged journal still says.", rich_help_panel=JOB)
]
LockWait = Annotated[
    float,
    typer.Option(
        "--lock-wait", parser=seconds, metavar="DUR", help="Wait for another run to end.", rich_help_panel=JOB
    ),
]
Orphans = Annotated[
    OnOrphans, typer.Option("--orphans", help="Commands of a killed run that still live.", rich_help_panel=JOB)
]
OrphanWait = Annotated[
    float,
    typer.Option(
        "--orphan-wait", parser=seconds, metavar="DUR", help="How long to wait for them.", rich_help_panel=JOB
    ),
]
