"""`resumectl import`: what another tool has done already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from ..foreign import ForeignError, Told, parallel, resumable, rush
from ..ledger import Ledger, State
from ..place import directory, jobs_in
from ..records import Record
from ..report import items as counted
from ..run import Run
from . import Refusal, catch, interrupt, tell
from . import options as o
from . import tables as t
from .lists import Listing, chosen_format, open_list
from .mark import append_by_hand
from .where import JobOption, JournalOption, find_place, named_place

BOM = b"\xef\xbb\xbf"


class Source(StrEnum):
    """Who wrote the file."""

    PARALLEL = "parallel"
    RUSH = "rush"
    RESUMABLE = "resumable"
    IDS = "ids"
    DB = "db"


def import_(
    source: Annotated[
        Source,
        typer.Option("--from", help="Who wrote it; ids: a plain list of what is done; db: a table's marked rows."),
    ],
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="What the tool wrote; - is standard input.", show_default=False),
    ] = None,
    items: Annotated[
        str | None,
        typer.Option("--items", "-a", metavar="LIST", help="With parallel: the list that it had.", show_default=False),
    ] = None,
    null: Annotated[bool, typer.Option("--null", "-0", help="Entries of LIST (or ids) end with NUL.")] = False,
    template: Annotated[
        str | None,
        typer.Option("--template", metavar="CMD", help="With rush: its command, to find the items at {}."),
    ] = None,
    db: t.Db = None,
    table: t.TableName = None,
    key: o.Key = None,
    where: t.Where = None,
    done_column: t.DoneColumn = None,
    job: JobOption = None,
    journal: JournalOption = None,
) -> int:
    """Record as done (or failed) what another tool's file says, so that a run goes on from there.

    FILE is a joblog of GNU parallel, the -C file of rush, the {"key","t"} lines of
    resumable.mjs, or a list of ids; with --from db the rows of a table whose done column
    is set are taken, as --db --table --key --done-column name it.  A line that is torn or strange is named, and nothing
    is recorded.  What the journal has as done stays done.

    Example: resumectl import joblog --from parallel --items ids.txt --job ffmpeg
    """
    catch(interrupt)
    _refuse_misfits(source, items, template, null)
    tabled = t.wanted(db, table, where, done_column, key, file=file)
    if tabled is not (source is Source.DB) or tabled is (file is not None):
        raise Refusal(
            "--from db needs a table (--db, --table, --key, --done-column), all others a FILE; name the right one"
        )
    if tabled:
        row = {"db": db, "table": table, "key": key, "where": where, "done_column": done_column}
        told: Sequence[Told] = [Told(id) for id in t.processed(row)]
    else:
        told = _told(file or "-", source, items, null, template)
    place = named_place(job, journal)
    if place is None and not jobs_in(directory(os.environ)):
        raise Refusal("which job is it for? there is none here yet; say --job NAME (a run's is its program's name)")
    run = Run(place or find_place(None, job, journal), sync="none")
    try:
        run.acquire()
        run.load()
        records = list(_records(run.ledger, told))
        run.heal()
        append_by_hand(run, records)
    finally:
        run.close()
    failed = sum(record.t == "failed" for record in records)
    same = len({one.id for one in told}) - len(records)
    tell(
        f"imported {counted(len(records))} ({len(records) - failed} done, {failed} failed) into {run.place.journal}"
        + (f"; of {counted(same)} it says so already" if same else "")
    )
    if source is Source.RUSH and template is None:
        tell("the ids are whole commands, for rush writes nothing else; --template CMD finds the items in them")
    return 0


def _refuse_misfits(source: Source, items: str | None, template: str | None, null: bool) -> None:
    if (source is Source.PARALLEL) != (items is not None):
        raise Refusal(
            "parallel's joblog has no items, only their positions: --from parallel and --items LIST go together"
        )
    if template is not None and source is not Source.RUSH:
        raise Refusal("--template is for --from rush; leave it out")
    if null and source in (Source.RUSH, Source.RESUMABLE):
        raise Refusal(f"--null is for lists; leave it out with --from {source.value}")


def _told(file: str, source: Source, items: str | None, null: bool, template: str | None) -> Sequence[Told]:
    """All that the file says, read and judged as a whole; Refusal."""
    if source is Source.IDS:
        return [Told(item.id) for item in Listing(open_list(file), chosen_format(null, None))]
    data = _bytes(file)
    try:
        if source is Source.PARALLEL:
            return list(parallel(data, _entries(items or "-", null)))
        if source is Source.RUSH:
            return list(rush(data, os.fsencode(template) if template is not None else None))
        return list(resumable(data))
    except ForeignError as error:
        raise Refusal(f"{file}: {error}; nothing was recorded") from None
    except ValueError as error:
        raise Refusal(f"--template: {error}") from None


def _entries(path: str, null: bool) -> list[bytes]:
    """A list with its empty entries, which parallel counts too; the ids as a run would have them."""
    data = _bytes(path)
    if null:
        return data.removesuffix(b"\0").split(b"\0")
    lines = data.removeprefix(BOM).removesuffix(b"\n").split(b"\n")
    return [line.removesuffix(b"\r") for line in lines]


def _bytes(path: str) -> bytes:
    source = open_list(path)
    try:
        return b"".join(source.chunks())
    except OSError as error:
        raise Refusal(f"{source.label}: {error.strerror}; nothing was recorded") from None


def _records(ledger: Ledger, told: Iterable[Told]) -> Iterator[Record]:
    """A line for each item of which the journal does not say the same, or better, already; the last word on it counts."""
    for one in {one.id: one for one in told}.values():
        state, attempts = ledger.state(one.id), (ledger.attempts(one.id),)
        rc = {} if one.rc is None else {"rc": one.rc}
        if one.done and state is not State.DONE:
            yield Record("done", (one.id,), attempts, {**rc, "by": "import"})
        elif not one.done and state is State.NEW:
            yield Record("failed", (one.id,), attempts, {**rc, "why": "import", "by": "import"})
