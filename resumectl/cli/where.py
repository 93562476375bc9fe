"""Which job is meant: JOB, --job, --journal, or the only one there is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from ..place import NAME, Place, chosen, directory, jobs_in, name_for
from . import Refusal

JobArgument = Annotated[str | None, typer.Argument(metavar="[JOB]", help="The job's name.", show_default=False)]
JobOption = Annotated[str | None, typer.Option("--job", metavar="NAME", help="The job's name.", show_default=False)]
JournalOption = Annotated[
    str | None, typer.Option("--journal", metavar="PATH", help="The journal, wherever it is.", show_default=False)
]


def named_place(job: str | None, journal: str | None) -> Place | None:
    """The place that a name or a path stands for, whether or not there is a journal; None if neither is given."""
    if job is not None and journal is not None:
        raise Refusal("--job and --journal both say which journal; give one of them")
    if journal is not None:
        return chosen(journal)
    if job is None:
        return None
    if not NAME.match(job):
        raise Refusal(f"{job!r} is no job name; use letters, digits and . _ + -, beginning with a letter or digit")
    return Place(directory(os.environ) / f"{job}.jsonl")


def place_for(job: str | None, journal: str | None, command: Sequence[bytes], shell: bool) -> Place:
    """Where a run keeps its journal: at the named place, else under its program's name."""
    name = name_for(b"/bin/sh" if shell else command[0])
    return named_place(job, journal) or Place(directory(os.environ) / f"{name}.jsonl")


def find_places(argument: str | None, job: str | None, journal: str | None) -> list[Place]:
    """The jobs that are meant: the named one, else all that are here; Refusal if there is none."""
    if argument is not None and job is not None and argument != job:
        raise Refusal("JOB and --job name different jobs; give one of them")
    place = named_place(job if argument is None else argument, journal)
    if place is not None:
        if not place.journal.exists():
            raise Refusal(f"no journal at {place.journal}; check the name, or the directory you are in")
        return [place]
    where = directory(os.environ)
    if not (places := jobs_in(where)):
        raise Refusal(f"no journal in {where}; go to the directory of the run, or use --journal PATH")
    return places


def find_place(argument: str | None, job: str | None, journal: str | None) -> Place:
    """The one job that is meant; Refusal, naming them, if there are several."""
    places = find_places(argument, job, journal)
    if len(places) > 1:
        names = ", ".join(place.job for place in places)
        raise Refusal(f"there are several jobs here ({names}); say which one")
    return places[0]
