"""What `-h` and `--help` say, and the pages of the manual: read off the commands, laid out as plain text."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from typer.core import TyperArgument, TyperCommand, TyperOption

from .coercion import Lean

if TYPE_CHECKING:
    from typer._click import Context

Row = tuple[str, str]
COMMON = {  # what the short help of a command with many options shows
    "run": ("items", "format", "key", "jobs", "timeout", "retries", "max_time", "dry_run", "job"),
    "status": ("items", "json", "watch", "check", "failed", "pending"),
}
FEW = 8  # options: so many are shown all
WIDEST, NAMES = 100, 30  # columns: of a line, of the options' names
RUN_CODES: tuple[Row, ...] = (
    ("0", "every item of the list is done"),
    ("1", "the list was gone through; some failed, are cut off or parked"),
    ("2", "usage; command changed; list unreadable; not a journal, or a newer one: nothing ran"),
    ("3", "stopped, needs a person: halt, too many failures, budget, bad record, program vanished"),
    ("4", "the journal is in use (another run, or an orphan)"),
    ("65", "the journal is damaged: refused, line named"),
    ("70", "a bug in resumectl"),
    ("74", "the journal or the kept output can't be made, locked or written"),
    ("75", "stopped early with work left: run it again"),
    ("126/127", "the command can't be executed, was not found: nothing ran"),
    ("129/130/143/141", "ended by HUP, INT, TERM, PIPE"),
)
CODES: tuple[Row, ...] = (
    ("0", "done as asked"),
    ("2", "usage; no such job; not a journal, or a newer one"),
    ("4", "the journal is in use"),
    ("65", "the journal is damaged"),
    ("70", "a bug in resumectl"),
    ("74", "the journal can't be locked or written, or the answer can't"),
)
ABOUT = """resumectl runs a command once for each item of a list and remembers, in a journal, which items are done.
After a Ctrl-C, a crash, a usage limit or a reboot, run the same command again and it goes on."""


@dataclass(frozen=True)
class Page:
    """What is to be said of a command; rows are names and what they mean."""

    name: str
    usage: str
    summary: str
    paragraphs: Sequence[str]
    groups: Sequence[tuple[str, Sequence[Row]]]
    examples: Sequence[str]
    codes: Sequence[Row]


class Verb(Lean, TyperCommand):
    """A command whose `-h` is short and whose `--help` says everything."""

    _long = True

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        self._long = "--help" in args
        return super().parse_args(ctx, args)

    def get_help(self, ctx: Context) -> str:
        return as_text(page(self, long=self._long))


def page(command: TyperCommand, *, long: bool = True) -> Page:
    """The page of one command."""
    name = str(command.name)
    parts = inspect.cleandoc(command.help or "").split("\n\n")
    told = {head: _after(parts, head) for head in ("Example:", "Exit codes:")}
    plain = [part for part in parts if not part.startswith(tuple(told))]
    codes = [_code(line) for line in told["Exit codes:"]] or (RUN_CODES if name in ("run", "resume") else CODES)
    return Page(
        f"resumectl {name}",
        " ".join(["resumectl", name, "[OPTIONS]", *(_place(one) for one in _arguments(command))]),
        " ".join(plain[0].split()),
        plain[1:] if long else (),
        list(_groups(command, long)),
        told["Example:"],
        codes if long else (),
    )


def overview(commands: Iterable[TyperCommand], *, long: bool) -> str:
    """The page of resumectl itself, which has these commands."""
    rows = [(command.name or "", page(command).summary.rstrip(".")) for command in commands]
    options = [("--version", "Print the version."), ("-h, --help", "Short or long help, also behind a command.")]
    return as_text(
        Page(
            "resumectl",
            "resumectl COMMAND [OPTIONS] ...",
            "Make any per-item shell command resumable: run the same command again and it goes on.",
            (ABOUT,) if long else (),
            [("Commands", rows), ("Options", options)],
            ("resumectl run --items ids.txt -- ./fetch.sh {}",),
            RUN_CODES if long else (),
        )
    )


def _after(parts: Iterable[str], head: str) -> list[str]:
    """The lines that stand under this heading in a docstring."""
    found = (part.removeprefix(head).strip("\n") for part in parts if part.startswith(head))
    return [line.strip() for text in found for line in text.splitlines() if line.strip()]


def _code(line: str) -> Row:
    code, _, meaning = line.partition(" ")
    return code, meaning


def _arguments(command: TyperCommand) -> Iterator[TyperArgument]:
    return (one for one in command.params if isinstance(one, TyperArgument) and not one.hidden)


def _place(argument: TyperArgument) -> str:
    """An argument as the usage line has it."""
    name = _value(argument)
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _value(param: TyperArgument | TyperOption) -> str:
    """What stands for a value: its metavar, its choices, or its name."""
    choices = choices_of(param)
    return param.metavar or ("|".join(choices) if choices else str(param.name).upper())


def choices_of(param: TyperArgument | TyperOption) -> list[str]:
    """The words that a parameter takes; empty if it takes any."""
    found = param.type_descriptor.choices if param.type_descriptor.is_choice else None
    return [str(one.value if isinstance(one, Enum) else one) for one in found or ()]


def options_of(command: TyperCommand) -> list[TyperOption]:
    """The options that are shown."""
    return [one for one in command.params if isinstance(one, TyperOption) and not one.hidden]


def _groups(command: TyperCommand, long: bool) -> Iterator[tuple[str, list[Row]]]:
    options = options_of(command)
    if not long:
        names = COMMON.get(str(command.name), ())
        few = len(options) <= FEW or not names
        rows = [row(one) for one in options if few or one.name in names]
        rows.append(("--help", "All options, what they mean, and the exit codes."))
        yield "Options" if few else "The most common options", rows
        return
    groups: dict[str, list[Row]] = {}
    for one in options:
        groups.setdefault(one.rich_help_panel or "Options", []).append(row(one))
    plain = groups.pop("Options", [])
    arguments = [(_value(one), one.help or "") for one in _arguments(command)]
    yield from [("Arguments", arguments)] if arguments else []
    yield from groups.items()
    yield "Options", [*plain, ("-h, --help", "Short help, and this one.")]


def row(option: TyperOption) -> Row:
    """An option's names with its value, short ones first; its help with its default."""
    names = ", ".join(sorted(option.opts, key=lambda name: name.startswith("--")))
    value = "" if option.is_flag else f" {_value(option)}"
    help, default = option.help or "", option.default
    default = default.value if isinstance(default, Enum) else default
    if default not in (None, False, "", 0) and "[default" not in help:
        help += f" [default: {default}]"
    return names + value, help


def as_text(page: Page) -> str:
    """The page for a terminal of any width, or for a pipe."""
    width = max(40, min(shutil.get_terminal_size().columns, WIDEST))
    return "\n".join(_lines(page, width))


def _lines(page: Page, width: int) -> Iterator[str]:
    yield f"Usage: {page.usage}"
    yield from ("", *textwrap.wrap(page.summary, width))
    for paragraph in page.paragraphs:
        yield from ("", *textwrap.wrap(" ".join(paragraph.split()), width))
    column = _column([row for _, rows in page.groups for row in rows], width)
    for title, rows in page.groups:
        yield from ("", f"{title}:", *_table(rows, width, column))
    if page.examples:
        yield from ("", "Example:", *(f"  {line}" for line in page.examples))
    if page.codes:
        yield from ("", "Exit codes:", *_table(page.codes, width, _column(page.codes, width)))


def _column(rows: Sequence[Row], width: int) -> int:
    """Where the second column begins."""
    return min(max((len(name) for name, _ in rows), default=0), NAMES, width // 3) + 4


def _table(rows: Sequence[Row], width: int, column: int) -> Iterator[str]:
    """Two columns; a name too long for its own stands on a line by itself."""
    for name, text in rows:
        first, *rest = textwrap.wrap(text, width - column) or [""]
        if len(name) + 4 > column:
            yield f"  {name}"
            yield f"{'':{column}}{first}"
        else:
            yield f"  {name:{column - 2}}{first}".rstrip()
        yield from (f"{'':{column}}{line}" for line in rest)
