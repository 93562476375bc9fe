"""What can stand where on resumectl's command line: read off the commands, for the shells' completions.

`python -m resumectl.cli.completions DIRECTORY` writes the three scripts (make completions).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from typer.core import TyperArgument, TyperCommand, TyperOption

from ... import presets
from ..app import VERBS, verb
from ..help import choices_of, options_of, page

FILES = {"items", "journal", "out", "err"}
KINDS = {"FILE": "file", "DIR": "dir", "ID": "id", "[JOB]": "job", "ID...": "id"}
NOTHING = "nothing"


@dataclass(frozen=True)
class Value:
    """What a value can be: `file`, `dir`, `job`, `id`, `command`, `words` (one of these), `nothing` that is known."""

    kind: str
    words: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Opt:
    """An option: its names, its help, whether it repeats, and its value; None for a flag."""

    names: tuple[str, ...]
    help: str
    repeats: bool
    value: Value | None


@dataclass(frozen=True)
class Word:
    """A command: its name, what it does, its options and its arguments."""

    name: str
    summary: str
    options: tuple[Opt, ...]
    arguments: tuple[Value, ...]


HELP = Opt(("-h", "--help"), "Short help, and long.", False, None)
VERSION = Opt(("--version",), "Print the version.", False, None)


def tree() -> list[Word]:
    """Every command that is shown."""
    return [_word(verb(name)) for name in VERBS]


def _word(command: TyperCommand) -> Word:
    options = tuple(
        Opt(tuple(one.opts), one.help or "", bool(one.multiple), None if one.is_flag else _value(one))
        for one in options_of(command)
    )
    arguments = tuple(_value(one) for one in command.params if isinstance(one, TyperArgument) and not one.hidden)
    return Word(str(command.name), page(command).summary.rstrip("."), (*options, HELP), arguments)


def _value(param: TyperArgument | TyperOption) -> Value:
    name = (param.metavar or str(param.name)).strip("[]").upper()
    if words := choices_of(param):
        return Value("words", tuple(words), name)
    if name.startswith("COMMAND"):
        return Value("command", (), name)
    if param.name == "job":
        return Value("job", (), name)
    if param.name == "preset" or (name == "NAME" and isinstance(param, TyperArgument)):
        return Value("words", tuple(presets.names()), name)
    kind = "file" if param.name in FILES else KINDS.get(param.metavar or "", NOTHING)
    return Value(kind, (), name)


def write(directory: Path) -> None:
    """Write the scripts of all shells into a directory."""
    from . import bash, fish, zsh

    words = tree()
    for name, script in (("resumectl.bash", bash), ("_resumectl", zsh), ("resumectl.fish", fish)):
        (directory / name).write_text(script.script(words))
