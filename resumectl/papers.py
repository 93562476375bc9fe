"""A batch's papers: the file that tells the command its items, and the one in which it reports on them.

They lie beside the journal under the batch's own name, so that the next run finds
what a killed one had reported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from .disk import Disk, write_all
from .items import Item, record
from .job import Job
from .place import Place
from .records import pack, unpack
from .verdict import Kind, Verdict

_NAME = re.compile(
    r"\.(batch|report)\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)  # behind the job's; another job may look alike
FOREIGN = 5  # how many ids that are not in the batch are named


class Papers:
    """The two files of one batch."""

    def __init__(self, place: Place, uuid: str) -> None:
        self._disk = Disk()
        self.items = place.beside(f".batch.{uuid}")
        self.report = place.beside(f".report.{uuid}")

    def write(self, job: Job[Any]) -> None:
        """Write the items file, one JSON object a line.  Raises OSError."""
        lines = [_line(*each) for each in zip(job.items, job.keys, job.attempts, strict=True)]
        fd = self._disk.open(self.items, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            write_all(self._disk, fd, b"".join(lines))
        finally:
            self._disk.close(fd)

    def open_report(self) -> int:
        """Make the report; its descriptor.  Raises OSError."""
        return self._disk.open(self.report, os.O_RDWR | os.O_CREAT | os.O_APPEND)

    def remove(self) -> None:
        """The batch has been recorded."""
        for path in (self.items, self.report):
            if self._disk.exists(path):
                self._disk.unlink(path)

    def told(self) -> dict[bytes, Verdict]:
        """What the command reported, by id; of several words on one id the last counts.

        A line that is no report, such as one that a crash has torn, says nothing.
        """
        try:
            data = self.report.read_bytes()
        except FileNotFoundError:
            return {}
        return dict(found for line in data.split(b"\n") for found in _word(line))


def leftovers(place: Place) -> Iterator[Path]:
    """The papers that killed runs have left."""
    for path in place.journal.parent.glob("*"):
        if path.name.startswith(place.job) and _NAME.fullmatch(path.name, len(place.job)):
            yield path


def _line(item: Item[Any], key: str, attempt: int) -> bytes:
    own = {"id": pack(item.id), "key": key, "attempt": attempt, "index": item.index}
    fields = orjson.loads(record(item)) if item.value is not None else {}
    return orjson.dumps({**fields, **own}) + b"\n"


def _word(line: bytes) -> Iterator[tuple[bytes, Verdict]]:
    try:
        said = orjson.loads(line)
        id, status = said["id"], said["status"]
        name = str(id).encode() if isinstance(id, int) else unpack(id)
    except (ValueError, KeyError, TypeError):
        return
    if status == "done":
        yield name, Verdict(Kind.DONE)
    elif status == "failed":
        text = said.get("error") or said.get("message") or "reported failed"
        yield name, Verdict(Kind.FAILED, "error", text if isinstance(text, str) else orjson.dumps(text).decode())


def shared_out(whole: Verdict, count: int) -> Verdict:
    """A batch's verdict as one of its items has it: costs are shared out, so that sums over items are sums over starts."""
    cost = None if whole.cost is None else whole.cost / count
    return replace(whole, cost=cost, sums={name: amount / count for name, amount in whole.sums.items()})


def results(whole: Verdict, told: dict[bytes, Verdict], ids: Iterable[bytes]) -> dict[bytes, Verdict]:
    """The verdict on each item: the command's own word, else not reported, or what stopped the whole."""
    missing = whole
    if whole.kind in (Kind.DONE, Kind.FAILED) and whole.why != "spawn":
        reason = f" ({whole.text})" if whole.kind is Kind.FAILED and whole.text else ""
        missing = Verdict(
            Kind.FAILED, "not-reported", f"not reported by its batch{reason}", cost=whole.cost, sums=whole.sums
        )
    found = {id: told.get(id, missing) for id in ids}
    if whole.cost is None and not whole.sums:
        return found
    return {id: replace(verdict, cost=whole.cost, sums=whole.sums) for id, verdict in found.items()}


def strangers(told: dict[bytes, Verdict], ids: Iterable[bytes]) -> str:
    """A note on reported ids that are not in the batch; empty if there are none."""
    foreign = sorted(set(told) - set(ids))
    if not foreign:
        return ""
    more = f" and {len(foreign) - FOREIGN} more" if len(foreign) > FOREIGN else ""
    names = ", ".join(id.decode(errors="backslashreplace") for id in foreign[:FOREIGN])
    return f"the batch reported on {names}{more}, which it was not given; nothing was recorded for that"
