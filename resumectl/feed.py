"""A list that is no regular file: asked for when slots are free, copied, and counted at its end."""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from .admission import Admission, BadEntry
from .records import Record
from .run import Run
from .stream import Chunk, Stream

T = TypeVar("T")
READ_ON = 1.0  # seconds that a stop goes on reading the list


class Feed(Generic[T]):
    """Takes the chunks of a stream into the queue; `stream` is None once it is at its end, or never was."""

    def __init__(self, run: Run, admission: Admission[T], stream: Stream | None) -> None:
        self._run, self._admission, self._stream = run, admission, stream

    def want(self) -> None:
        """Ask for more if the queue has room for it."""
        if self._stream is not None and self._admission.pacing.hungry:
            self._stream.more()

    def take(self, chunk: Chunk) -> list[Record]:
        """Admit what has come; at the end, the record that says how long the list was.

        Raises JournalError when the list's copy can't be written.
        """
        if self._stream is None:
            return []
        tally = self._admission.tally
        self._stream.came()
        self._run.keep_list(chunk.raw)
        tally.empty = self._stream.empty
        error = chunk.error or self._admit(chunk)
        if not error and not chunk.end:
            return []
        self._stream = None
        self._admission.pacing.close(*(("stream", error) if error else ()))
        if error:
            return []
        tally.total = tally.listed
        self._run.sync_list()
        return [Record("list", (), (), {"run": self._run.number, "total": tally.total, "new": tally.new})]

    def _admit(self, chunk: Chunk) -> str:
        try:
            for item in chunk.items:
                self._admission.take(item)
        except BadEntry as error:
            return str(error)
        return ""

    def rest(self, inbox: SimpleQueue[Any]) -> list[Record]:
        """After a stop: read on for a moment, so that a list which was about to end is kept whole."""
        records: list[Record] = []
        end = time.monotonic() + READ_ON
        while self._stream is not None and (left := end - time.monotonic()) > 0:
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
