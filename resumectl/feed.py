"""A list that is no regular file: asked for when slots are free, copied, and counted at its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from .admission import Admission, BadEntry
from .items import Item
from .records import Record
from .run import Run
from .stream import Asked, Chunk
from .tally import Tally

T = TypeVar("T")
READ_ON = 1.0  # seconds that a stop goes on reading the list


class Source(Protocol):
    """Whoever brings a list that is not known beforehand.  All methods give records that are owed for it."""

    def want(self) -> list[Record]:
        """See to it that more comes if the queue has room for it."""

    def take(self, chunk: Chunk) -> list[Record]:
        """A chunk has come."""

    def rest(self, inbox: SimpleQueue[Any]) -> list[Record]:
        """Nothing more will start."""


def ended(run: Run, tally: Tally) -> Record:
    """The line that says how long a list was."""
    tally.total = tally.listed
    return Record("list", (), (), {"run": run.number, "total": tally.total, "new": tally.new})


class Pull(Generic[T]):
    """Takes items from an iterator of the caller's when slots are free, and not before: it may wait as
    long as it likes, and what has ended is recorded by then."""

    def __init__(self, run: Run, admission: Admission[T], items: Iterator[Item[T]], inbox: SimpleQueue[Any]) -> None:
        self._run, self._admission, self._items, self._inbox = run, admission, items, inbox

    def all(self) -> None:
        """Take the whole list at once, before the run has begun."""
        self._admission.take_all(self._items)
        self._admission.pacing.close()
        self._admission.tally.total = self._admission.tally.listed

    def want(self) -> list[Record]:
        pacing = self._admission.pacing
        if pacing.wants(0):
            self._inbox.put(None)  # there may be something to start: turn again
        while pacing.wants(0):
            item = next(self._items, None)
            if item is None:
                pacing.close()
                return [ended(self._run, self._admission.tally)]
            self._admission.take(item)
        return []

    def take(self, chunk: Chunk) -> list[Record]:
        raise AssertionError("nothing is read")

    def rest(self, inbox: SimpleQueue[Any]) -> list[Record]:
        return []


class Feed(Generic[T]):
    """Takes the chunks of a stream into the queue; `stream` is None once it is at its end."""

    def __init__(self, run: Run, admission: Admission[T], stream: Asked, *, copied: bool = True) -> None:
        """`copied`: the list can't be read again, so what comes is kept."""
        self._run, self._admission, self._copied = run, admission, copied
        self._stream: Asked | None = stream

    def want(self) -> list[Record]:
        """Ask for more if the queue has room for it."""
        if self._stream is not None and self._admission.pacing.wants(1):
            self._stream.more()
        return []

    def take(self, chunk: Chunk) -> list[Record]:
        """Admit what has come; at the end, the record that says how long the list was.

        Raises JournalError when the list's copy can't be written.
        """
        if self._stream is None:
            return []
        tally = self._admission.tally
        self._stream.came()
        if self._copied:
            self._run.keep_list(chunk.raw)
        tally.empty = self._stream.empty
        error = self._admit(chunk) or chunk.error
        if not error and not chunk.end:
            return []
        self._stream = None
        self._admission.pacing.close(*((chunk.why, error) if error else ()))
        if error:
            return []
        if self._copied:
            self._run.sync_list()
        return [ended(self._run, tally)]

    def _admit(self, chunk: Chunk) -> str:
        try:
            self._admission.take_all(chunk.items)
        except BadEntry as error:
            return str(error)
        return ""

    def rest(self, inbox: SimpleQueue[Any]) -> list[Record]:
        """After a stop: read on for a moment, so that a list which was about to end is kept whole."""
        records: list[Record] = []
        end = time.monotonic() + READ_ON
        while self._copied and self._stream is not None and (left := end - time.monotonic()) > 0:
            self._stream.more()
            try:
                event = inbox.get(timeout=left)
            except Empty:
                break
            if isinstance(event, Chunk):
                records += self.take(event)
            elif event is not None:
                inbox.put(event)  # somebody else's affair, or a signal that ends this
                break
        return records
