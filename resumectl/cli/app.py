"""The commands of resumectl, each loaded when it is called: start-up is felt by whoever polls `status`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from . import put, tell
from .coercion import Lean

if TYPE_CHECKING:
    from typer._click import Context

VERBS = {  # verb → its module here and its function there
    "run": "run.run",
    "resume": "resume.resume",
    "status": "status.status",
    "results": "results.results",
    "reset": "reset.reset",
    "mark": "mark.mark",
    "log": "log.log",
    "explain": "explain.explain",
    "check": "check.check",
    "compact": "compact.compact",
    "import": "import_.import_",
    "export": "export.export",
    "path": "path.path",
    "presets": "presets.presets",
}
SETTINGS: dict[str, dict[str, Any]] = {"run": {"allow_interspersed_args": False}}  # COMMAND's options are its own
PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
HELP = {"help_option_names": ["-h", "--help"]}


@cache
def verb(name: str) -> TyperCommand:
    """One command, with its options; KeyError if there is none of that name."""
    from .help import Verb

    module, _, function = VERBS[name].partition(".")
    alone = typer.Typer(**PLAIN)
    settings = {**HELP, **SETTINGS.get(name, {})}
    alone.command(name, cls=Verb, context_settings=settings)(
        getattr(import_module(f".{module}", __package__), function)
    )
    command = typer.main.get_command(alone)
    assert isinstance(command, TyperCommand)
    return command


class Verbs(Lean, TyperGroup):
    """All commands by their names, none of them loaded before it is asked for."""

    _long = True

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = dict.fromkeys(VERBS)  # type: ignore[assignment]  # the names, for "did you mean"

    def get_command(self, ctx: Context, cmd_name: str) -> TyperCommand | None:
        return verb(cmd_name) if cmd_name in VERBS else None

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        self._long = "--help" in args
        if not args and not ctx.resilient_parsing:
            from .help import overview

            tell(overview(map(verb, VERBS), long=False))
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def get_help(self, ctx: Context) -> str:
        from .help import overview

        return overview(map(verb, VERBS), long=self._long)


app = typer.Typer(
    name="resumectl",
    cls=Verbs,
    help="Make any per-item shell command resumable: run the same command again and it goes on.",
    context_settings=HELP,
    **PLAIN,
)


def _version(wanted: bool) -> None:
    if wanted:
        put(f"resumectl {__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
