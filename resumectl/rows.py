"""A table's rows as the list of a run, and its done column, which follows the journal.

Both work in threads of their own, so that a database that is slow or gone for a while
holds up neither a start nor a record: the journal alone decides what is done.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from .cells import BadKey
from .database import Table, TableError
from .items import Item
from .job import Followed, Notice
from .ledger import Ledger, State
from .order import Order
from .place import Place
from .stream import Asked, Chunk
from .words import shown

AHEAD = 64  # rows that a page has at least
NAMED = 10  # how many rows are named in one line
Row = Item[Mapping[str, Any]]


class Rows(Asked):
    """Reads a page each time that more is wanted: rows that somebody else has marked meanwhile are not in it."""

    def __init__(self, table: Table, slots: int, inbox: SimpleQueue[Any]) -> None:
        """`slots`: how many items can run at once, so that no page is too short for them."""
        self._table, self._size = table, table.size(AHEAD + 2 * slots)
        self._last, self._index = None, 1
        super().__init__(inbox)

    def next(self) -> Chunk:
        """The next page."""
        try:
            page = self._table.page(self._last, self._index, self._size)
        except TableError as error:
            return Chunk([], end=True, error=str(error), why="table")
        except BadKey as error:
            return Chunk([], end=True, error=f"{self._table.label}: {error}")
        self._index += len(page)
        if page:
            self._last = page[-1].value[self._table.spec.key]
        return Chunk(list(page), end=len(page) < self._size)


class Marks:
    """Marks the rows of items that are done; of those that have gathered meanwhile, all at once.

    It is also a witness of the list: a row that is read though its item is done is marked, too.
    """

    def __init__(self, table: Table, order: Order, place: Place, inbox: SimpleQueue[Any]) -> None:
        self._table, self._order, self._place, self._inbox = table, order, place, inbox
        self._queue: SimpleQueue[Sequence[Any] | None] = SimpleQueue()
        self._given = self._marked = 0
        self._late: list[bytes] = []  # became NULL during this run though their items were done before

    def start(self) -> None:
        """Begin to mark what is given."""
        self._table.say = lambda text: self._inbox.put(Notice(text))
        threading.Thread(target=self._run, name="table", daemon=True).start()

    def done(self, items: Sequence[Row]) -> None:
        """The journal has them as done, and durably."""
        self._given += len(items)
        self._queue.put([item.value[self._table.spec.key] for item in items])

    def close(self) -> None:
        """Nothing more will be done."""
        self._queue.put(None)

    def resumed(self, item: Row) -> None:
        """The list has an item that is done."""
        self._late.append(item.id)
        self.done([item])
        self._order.resumed(item)

    def queued(self, item: Row) -> None:
        """The list has an item that will run."""
        self._order.queued(item)

    def lines(self) -> list[str]:
        """What the last lines of the run say of the table."""
        behind = self._given - self._marked
        left = f"{behind} done and not marked in {self._table.label}; the next run marks what the journal has as done"
        late = [late_line(self._late, self._table, self._place)] if self._late else []
        return [*late, left] if behind else late

    def _run(self) -> None:
        try:
            open = True
            while open:
                keys, open = self._gathered()
                self._table.mark(keys)
                self._marked += len(keys)
            self._inbox.put(Followed())
        except TableError as error:
            self._inbox.put(Followed(str(error)))
        except BaseException as error:
            self._inbox.put(error)

    def _gathered(self) -> tuple[list[Any], bool]:
        """All that waits to be marked, one thing at least; False when nothing follows."""
        keys: list[Any] = []
        given = self._queue.get()
        try:
            while given is not None:
                keys += given
                given = self._queue.get_nowait()
        except Empty:
            return keys, True
        return keys, False


def behind(table: Table, ledger: Ledger) -> tuple[list[tuple[bytes, Any]], int]:
    """Id and key of the rows that are NULL though the journal has them as done, and how many rows it does not name."""
    late, new = [], 0
    for id, key in table.keys():
        new += not ledger.named(id)
        if ledger.state(id) is State.DONE:
            late.append((id, key))
    return late, new


def late_line(ids: Sequence[bytes], table: Table, place: Place) -> str:
    """What was marked without being run, and how to have it run again."""
    names = ", ".join(map(shown, ids[:NAMED])) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")
    job = ["--job", place.job] if place.own else ["--journal", str(place.journal)]
    reset = shlex.join(["resumectl", "reset", *job, "--id", shown(ids[0]), "--yes"])
    return (
        f"done in the journal but NULL in the table, so marked and not run: {names} "
        f"(to run one again: {reset}, then set its {table.spec.done} to NULL)"
    )
