"""A list that is no regular file, read as it comes by a thread of its own."""

from __future__ import annotations

import os
import select
import threading
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from .items import Item, ListError, Reader

CHUNK = 1 << 16  # bytes: what a pipe holds


@dataclass(frozen=True)
class Chunk:
    """What one reading brought: the items and the bytes they came in; `end` when there is no more.

    With an `error`, `why` is what the journal's `end` says of it.
    """

    items: list[Item[Any]]
    raw: bytes = b""
    end: bool = False
    error: str = ""
    why: str = "stream"


class Asked:
    """Puts one Chunk, the `next` one, into the inbox for each call of `more`; lazy, so a slow run reads slowly.

    `empty` is how many empty entries were dropped so far.
    """

    empty = 0

    def __init__(self, inbox: SimpleQueue[Any]) -> None:
        self._inbox = inbox
        self._wanted = threading.Semaphore(0)
        self._asked = False
        threading.Thread(target=self._read, name="list", daemon=True).start()

    def more(self) -> None:
        """Ask for the next chunk, unless it has been asked for already."""
        if not self._asked:
            self._asked = True
            self._wanted.release()

    def came(self) -> None:
        """The chunk that was asked for has arrived."""
        self._asked = False

    def _read(self) -> None:
        end = False
        while not end:
            self._wanted.acquire()
            try:
                chunk = self.next()
            except BaseException as error:
                return self._inbox.put(error)
            end = chunk.end
            self._inbox.put(chunk)

    def next(self) -> Chunk:
        """What comes next of the list; called in a thread of its own."""
        raise NotImplementedError


class Stream(Asked):
    """Reads the raw descriptor: a daemon that blocks in `sys.stdin.buffer` would abort the interpreter at exit."""

    def __init__(self, fd: int, reader: Reader, inbox: SimpleQueue[Any]) -> None:
        self._fd, self._reader = fd, reader
        super().__init__(inbox)

    def next(self) -> Chunk:
        """What one read brings."""
        try:
            raw = self._bytes()
        except OSError as error:
            return Chunk([], end=True, error=f"the list can't be read: {error.strerror}")
        try:
            items = self._reader.feed(raw) if raw else self._reader.close()
        except ListError as error:
            return Chunk([], raw, end=True, error=str(error))
        if self._reader.error is not None:  # the items before the bad record are good
            return Chunk(items, raw, end=True, error=str(self._reader.error))
        return Chunk(items, raw, end=not raw)

    @property
    def empty(self) -> int:  # type: ignore[override]
        return self._reader.empty

    def _bytes(self) -> bytes:
        while True:
            try:
                return os.read(self._fd, CHUNK)
            except BlockingIOError:  # whoever opened it wants it non-blocking
                ready = select.poll()
                ready.register(self._fd, select.POLLIN)
                ready.poll()
