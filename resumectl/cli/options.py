"""The options of `run`, by what they are for."""

from __future__ import annotations

from typing import Annotated

import typer

from ..admission import CutOff, Duplicates, Failed
from .choices import OnOrphans, Progress, Sync, seconds

LIST, RETRY, RUN, STOP, OUTPUT, JOB = "Items", "What to run again", "Running", "Stopping", "Output", "The job"

Command = Annotated[
    list[str], typer.Argument(metavar="COMMAND [ARG]...", help="What to run for each item.", show_default=False)
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
Repeats = Annotated[
    Duplicates, typer.Option("--duplicates", help="An id that stands in the list twice.", rich_help_panel=LIST)
]

Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", "-P", min=0, metavar="N", help="How many run at once; 0: one a core.", rich_help_panel=RUN
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
