"""`resumectl presets`: what is known of the tools that many people loop over."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import presets as known
from . import Refusal, put


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print the flags of this preset.", show_default=False)
    ] = None,
) -> None:
    """List the presets, or print the flags that one of them stands for.

    Example: resumectl presets claude
    """
    if name is None:
        for one in known.names():
            put(one)
        return
    try:
        preset = known.load(name)
    except ValueError as error:
        raise Refusal(str(error)) from None
    for flag in preset.flags():
        put(flag)
    if preset.json_when:
        when = " or ".join(" ".join(words) for words in preset.json_when)
        put(f"# json tests, --json-pick, --cost and --sum count only with {when}")
