"""What is printed when: the output of resumed items in its place, and all of it in list order if that is wanted."""

from __future__ import annotations

from collections import deque
from typing import Any

from .catalogue import Catalogue
from .items import Item
from .job import Outcome
from .ledger import State
from .outputs import Shelf, Stream
from .printer import Printer

Held = tuple[Outcome[Any] | bytes, Stream | None, Stream | None]  # bytes: the id of a resumed item


class Order:
    """Stands between the loop and the printer.

    With `keep` the output of an item waits (on the disk) until all that stands before
    it in the list has been printed.  With a catalogue, what resumed items printed
    earlier is printed again; `missing` are the ids of which nothing was kept.
    """

    def __init__(
        self, printer: Printer, *, keep: bool = False, replay: Catalogue | None = None, shelf: Shelf | None = None
    ) -> None:
        self._printer, self._keep, self._replay, self._shelf = printer, keep, replay, shelf
        self.missing: list[bytes] = []
        self._expected: deque[int] = deque()
        self._ready: dict[int, list[Held]] = {}
        self._over: set[int] = set()
        self._open = False
        self._replayed: set[int] = set()  # where in the kept output what was printed again lies: a batch's only once

    def begin(self) -> None:
        """The first lines have been said: from now on output may be printed."""
        self._open = True
        self._release()

    @property
    def full(self) -> bool:
        return self._printer.full

    def say(self, text: str) -> None:
        self._printer.say(text)

    def limited(self, until: float | None) -> None:
        self._printer.limited(until)

    def resumed(self, item: Item[Any]) -> None:
        """The list has an item that is done."""
        if self._replay is None or self._shelf is None:
            return
        entry = self._replay.entry(item.id, State.DONE)
        span = self._shelf.get(entry.out) if entry is not None else None
        if span is None:
            self.missing.append(item.id)
        elif span.where.length and span.where.offset not in self._replayed:
            self._replayed.add(span.where.offset)
            self._expected.append(item.index)
            self._put(item.index, (item.id, span, None), final=True)

    def queued(self, item: Item[Any]) -> None:
        """The list has an item that will run."""
        if self._keep:
            self._expected.append(item.index)

    def outcome(self, outcome: Outcome[Any], out: Stream | None, err: Stream | None) -> None:
        """An attempt has ended."""
        if not self._keep:
            return self._printer.outcome(outcome, out, err)
        first, *others = outcome.job.items
        for item in others:  # a batch is printed once, in its first item's place
            self._put(item.index, None, final=item.id not in outcome.again)
        self._put(first.index, (outcome, out, err), final=first.id not in outcome.again)

    def _put(self, index: int, held: Held | None, final: bool) -> None:
        if held is not None:
            self._ready.setdefault(index, []).append(held)
        if final:
            self._over.add(index)
        self._release()

    def _release(self) -> None:
        """Print what nothing that is still to come stands before."""
        while self._open and self._expected and (not self._keep or self._expected[0] in self._over):
            index = self._expected.popleft()
            self._over.discard(index)
            self._print(self._ready.pop(index, []))

    def _print(self, held: list[Held]) -> None:
        for outcome, out, err in held:
            if isinstance(outcome, bytes):
                self._printer.replay(outcome, out)
            else:
                self._printer.outcome(outcome, out, err)

    def finish(self) -> None:
        """Nothing more will end: print what waits behind items that did not end."""
        for index in sorted(self._ready):
            self._print(self._ready.pop(index))
