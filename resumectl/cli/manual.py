"""The manual page, made from what `--help` says: `python -m resumectl.cli.manual` prints it (make man)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .. import __version__
from .app import VERBS, verb
from .help import ABOUT, RUN_CODES, Page, Row, page

FILES: tuple[Row, ...] = (
    (".resumectl/JOB.jsonl", "The journal: append-only, one JSON object a line."),
    (".resumectl/JOB.out", "What the commands printed."),
    (".resumectl/JOB.items", "The list as it was read, when it was no regular file."),
    (".resumectl/JOB.lock", "Locked by the run that writes; never deleted."),
)
ENVIRONMENT: tuple[Row, ...] = (
    ("RESUMECTL_DIR", "Where the journals are, instead of .resumectl in the current directory."),
    ("RESUMECTL_ITEM, RESUMECTL_KEY, RESUMECTL_ATTEMPT", "Set for each command: its item, idempotency key, attempt."),
)


def manual() -> str:
    """The page in roff, for `man`."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f'.TH RESUMECTL 1 "" "resumectl {__version__}" "User Commands"'
    yield from (".SH NAME", "resumectl \\- make any per\\-item shell command resumable")
    pages = [page(verb(name)) for name in VERBS]
    yield ".SH SYNOPSIS"
    for one in pages:
        yield from (_bold(one.usage), ".br")
    yield from (".SH DESCRIPTION", _text(ABOUT))
    yield ".SH COMMANDS"
    for one in pages:
        yield from _command(one)
    for title, rows in (("EXIT STATUS", RUN_CODES), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        yield from (f".SH {title}", *_rows(rows))


def _command(page: Page) -> Iterator[str]:
    yield from (f".SS {_text(page.name)}", _text(page.summary))
    for paragraph in page.paragraphs:
        yield from (".PP", _text(" ".join(paragraph.split())))
    for title, rows in page.groups:
        yield from (".PP", f".I {_text(title)}", *_rows(rows))
    if page.examples:
        yield from (".PP", ".I Example", ".PP", ".RS", ".nf", *(_text(line) for line in page.examples), ".fi", ".RE")
    if page.codes != RUN_CODES:
        yield from (".PP", ".I Exit status", *_rows(page.codes))


def _rows(rows: Sequence[Row]) -> Iterator[str]:
    for name, text in rows:
        yield from (".TP", _bold(name), _text(text))


def _bold(text: str) -> str:
    return f"\\fB{_text(text)}\\fR"


def _text(text: str) -> str:
    """Text in which roff finds nothing of its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


if __name__ == "__main__":
    print(manual(), end="")
