"""The commands of resumectl."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import put
from .check import check
from .compact import compact
from .explain import explain
from .export import export
from .import_ import import_
from .log import log
from .mark import mark
from .path import path
from .presets import presets
from .reset import reset
from .results import results
from .run import run
from .status import status

EXIT_CODES = """\b
Exit codes: 0 every item is done · 1 gone through, some are not done · 2 usage, or
refused before anything ran · 3 stopped, needs a person · 4 the journal is in use ·
65 damaged journal · 70 a bug · 74 the journal can't be written · 75 stopped early,
run it again · 126/127 the command can't be run / was not found · 129, 130, 143, 141
ended by HUP, INT, TERM, PIPE."""

app = typer.Typer(
    name="resumectl",
    help="Make any per-item shell command resumable: run the same command again and it goes on.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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


app.command(epilog=EXIT_CODES, context_settings={"allow_interspersed_args": False})(run)
app.command()(status)
app.command()(results)
app.command()(reset)
app.command()(mark)
app.command()(log)
app.command()(explain)
app.command()(check)
app.command()(compact)
app.command("import")(import_)
app.command()(export)
app.command()(path)
app.command()(presets)
