"""`status --watch`: the status of a job, again and again until its run has ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from ..disk import Disk
from ..ledger import Ledger
from ..place import Place
from ..snapshot import Snapshot, locked
from ..tail import Tail
from . import catch, interrupt, put_now

if TYPE_CHECKING:
    from ..picture import Screen

PAUSE = 0.5  # seconds between two looks

Describe = Callable[[Snapshot], Iterable[str]]


class Watcher:
    """A job of which only what was added is read."""

    def __init__(self, place: Place) -> None:
        self.place, self._disk = place, Disk()
        self._tail = Tail(place.journal, self._begin)

    def look(self) -> Snapshot:
        """How things stand now."""
        running = locked(self.place, self._disk)  # asked first: then the end of the run is in what is read
        self._tail.look()
        return Snapshot(self.place, self._ledger, self._tail.text, running)

    def _begin(self) -> list[Ledger]:
        self._ledger = Ledger()
        return [self._ledger]


def watch(place: Place, describe: Describe, line: Describe) -> Snapshot:
    """Show the job until its run has ended: `describe` on a terminal, else `line` whenever it has changed.

    Returns the last look.
    """
    catch(interrupt)  # so that the screen is left as it should be
    watcher, last = Watcher(place), list[str]()
    with _screen() as screen:
        while True:
            snapshot = watcher.look()
            if screen is not None:
                screen.show(list(describe(snapshot)), snapshot.counts)
            elif (lines := list(line(snapshot))) != last:
                last = lines
                put_now("\n".join(lines))
            if not snapshot.running:
                return snapshot
            time.sleep(PAUSE)


def _screen() -> AbstractContextManager[Screen | None]:
    """What is drawn on; None where there is no terminal."""
    if not os.isatty(1) or os.environ.get("TERM") == "dumb":
        return nullcontext()
    from ..picture import Screen

    return Screen()
