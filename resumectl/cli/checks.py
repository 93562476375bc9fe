"""The options of `run` against each other, before anything is opened.  All raise Refusal."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..admission import CutOff
from ..files import FileTemplate
from ..items import Item
from ..shell import quoted
from ..template import Template, Values, quote_command
from ..template import compile as compile_template
from ..verdict import Rules
from . import Refusal

LONGEST_WORD = 131_072  # bytes of one argument that Linux takes, with the NUL behind it
LONGEST_ARGV = 6 << 20  # bytes of argv and environment that it takes however large the stack may be
POINTER = 8  # bytes: each argument and variable also has its place in a table
SPARE = 4096  # bytes left for what is added to argv and environment at each start


def template_of(words: Sequence[bytes], replace: str | None, shell: bool, records: bool, stdin: bool) -> Template:
    """The command as a template; `records`: its items have fields; `stdin`: it reads its item, which then needs no place."""
    given = os.fsencode(replace) if replace is not None else b"{}"
    try:
        template = compile_template(words, replace=given, any_field=records, shell=shell)
        return dataclasses.replace(template, certain=True, appended=False) if stdin else template
    except ValueError as error:
        raise Refusal(str(error)) from None


def split_command(command: Sequence[str], items: str | None) -> tuple[list[bytes], list[bytes] | None]:
    """COMMAND, and the items behind `:::`; with --items given, `:::` is a word like any other."""
    words = [os.fsencode(word) for word in command]
    if items is not None or b":::" not in words:
        return words, None
    at = words.index(b":::")
    if not at:
        raise Refusal("there is no command before :::; write COMMAND ::: ITEM...")
    return words[:at], words[at + 1 :]


def cut_off_policy(chosen: CutOff | None, verify: str | None) -> CutOff:
    if chosen is CutOff.VERIFY and verify is None:
        raise Refusal("--cut-off verify needs something to ask; add --verify CMD")
    if verify is not None:
        try:
            quote_command(os.fsencode(verify), Values(b"", 1, 1, "", 1))
        except ValueError as error:
            raise Refusal(f"--verify: {error}") from None
    return chosen or (CutOff.VERIFY if verify is not None else CutOff.RERUN)


def refuse_in_batches(template: Template, replace: str | None, **others: object) -> None:
    """What is one item's own has no place where several share a process."""
    if why := template.batch_error():
        raise Refusal(f"--batch: {why}")
    for name, given in others.items():
        if given:
            raise Refusal(f"--{name} is for one item, and a batch has several; drop one of them")


def argv_room(
    template: Template, environ: Mapping[bytes, bytes], stdin: bool
) -> tuple[int, Callable[[Item[Any]], int]]:
    """How many bytes of items one start takes, and how many an item is, counted as the kernel does (execve).

    An id that no argument can hold weighs as much as there is room, so it fails alone.
    """
    places = template.places(append=not stdin)
    if not places:
        return 0, lambda item: 0
    words = [word if isinstance(word, bytes) else b"" for word in template.words]
    if template.shell:
        room = LONGEST_WORD - len(template.batch_argv([])[-1]) - SPARE
        return room, lambda item: room if b"\0" in item.id else places * (len(quoted(item.id)) + 1)
    used = sum(len(word) + 1 + POINTER for word in words)
    used += sum(len(name) + len(value) + 2 + POINTER for name, value in environ.items())
    room = min(os.sysconf("SC_ARG_MAX"), LONGEST_ARGV) - used - SPARE

    def weight(item: Item[Any]) -> int:
        fits = len(item.id) < LONGEST_WORD and b"\0" not in item.id
        return places * (len(item.id) + 1 + POINTER) if fits else room

    return room, weight


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
        raise Refusal(
            "--ungroup lets the output pass by, so no test can see it; drop --ungroup, the test, or --preset none"
        )
    for name, given in others.items():
        if given:
            raise Refusal(
                f"--{name.replace('_', '-')} needs the output, which --ungroup lets pass by; drop one of them"
            )


def budgets_of(rules: Rules, run: float | None, total: float | None) -> tuple[float | None, float | None]:
    """--max-cost and --max-total-cost; they need something that says what an attempt costs."""
    if (run is not None or total is not None) and rules.cost is None:
        raise Refusal("a budget needs to know what an attempt costs; add --cost PATH, or use a preset with JSON output")
    return run, total
