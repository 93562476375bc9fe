"""The options of `run` against each other, before anything is opened.  All raise Refusal."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..admission import CutOff
from ..files import FileTemplate
from ..template import Template, Values, quote_command
from ..template import compile as compile_template
from ..verdict import Rules
from . import Refusal


def template_of(words: Sequence[bytes]) -> Template:
    try:
        return compile_template(words)
    except ValueError as error:
        raise Refusal(str(error)) from None


def rules_of(ok: Sequence[str] | None) -> Rules:
    try:
        return Rules.parse({"ok": ok or ()})
    except ValueError as error:
        raise Refusal(str(error)) from None


def cut_off_policy(chosen: CutOff | None, verify: str | None) -> CutOff:
    if chosen is CutOff.VERIFY and verify is None:
        raise Refusal("--cut-off verify needs something to ask; add --verify CMD")
    if verify is not None:
        try:
            quote_command(os.fsencode(verify), Values(b"", 1, 1, "", 1))
        except ValueError as error:
            raise Refusal(f"--verify: {error}") from None
    return chosen or (CutOff.VERIFY if verify is not None else CutOff.RERUN)


def files_of(out: str | None, err: str | None) -> tuple[FileTemplate | None, FileTemplate | None]:
    """The paths of --out and --err."""
    try:
        return (
            FileTemplate.parse(os.fsencode(out), "--out") if out is not None else None,
            FileTemplate.parse(os.fsencode(err), "--err") if err is not None else None,
        )
    except ValueError as error:
        raise Refusal(str(error)) from None


def refuse_with_ungroup(rules: Rules, **others: object) -> None:
    """With --ungroup nothing is caught, so nothing can be tested, held back or kept."""
    if rules.look_at_output:
        raise Refusal("--ungroup lets the output pass by, so no test can see it; drop --ungroup or the test")
    for name, given in others.items():
        if given:
            raise Refusal(
                f"--{name.replace('_', '-')} needs the output, which --ungroup lets pass by; drop one of them"
            )
