"""A job as its journal shows it at one moment, read without a lock, also while a run writes it."""

from __future__ import annotations

import os
import shlex
import time
import uuid
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .disk import Disk
from .ledger import Ledger, State
from .lines import Fold, JournalError, Text, fold, read
from .place import NAME, Place, directory, holder
from .records import Only, Record, of_types, unpack

if TYPE_CHECKING:  # the start-up of `status` is felt
    from .items import Item, Sift

SCHEMA = 1
ONE_SHOT = frozenset({"--fresh", "--accept-command", "--accept-damage", "--dry-run"})  # not part of going on
LIST = frozenset({"--items", "--arg-file", "-a"})
RUNS = of_types("run", "list", "end")  # the records that tell of runs, not of items


class Snapshot:
    """The ledger of a job, whether a run is under way, and the counts over the journal or over a list."""

    def __init__(self, place: Place, ledger: Ledger, text: Text, running: bool) -> None:
        self.place, self.ledger, self.text, self.running = place, ledger, text, running
        self.damage: JournalError | None = text.damage()
        self._open = set(ledger.open_items()) if running else set()
        self.counts = self._over_journal()
        self.compared: tuple[int, int] | None = None  # ids of the list in the journal, ids of the journal not in it

    @property
    def namespace(self) -> uuid.UUID:
        """The namespace in which every idempotency key of this journal is made."""
        return uuid.UUID(self.text.header["ns"])

    def state_of(self, id: bytes) -> State | None:
        """The state of an id; None while it runs."""
        return None if id in self._open else self.ledger.state(id)

    def _over_journal(self) -> dict[str, int]:
        counts = self.ledger.counts()
        counts[State.CUT_OFF] -= len(self._open)
        return self._named(counts, len(self._open))

    def count_over(self, listing: Callable[[Sift], Iterable[Item[Any]]]) -> None:
        """Count over a list from now on; an id that stands in it twice counts once.

        `listing` gives its items, but for those of plain lists that the sift counts by the lot.
        """
        counts, running = dict.fromkeys(State, 0), 0
        known, named = self.ledger.known, 0

        def sift(ids: list[bytes]) -> list[int]:
            nonlocal named
            rest = self.ledger.sift(ids)
            counts[State.DONE] += len(ids) - len(rest)
            named += len(ids) - len(rest)
            return rest

        for item in listing(sift):
            if self.ledger.enlist(item.id) is None:
                continue
            named += self.ledger.named(item.id)
            state = self.state_of(item.id)
            if state is None:
                running += 1
            else:
                counts[state] += 1
        self.counts = self._named(counts, running)
        self.compared = (named, known - named)

    def _named(self, counts: dict[State, int], running: int) -> dict[str, int]:
        named = {
            "done": counts[State.DONE],
            "failed": counts[State.FAILED],
            "cut_off": counts[State.CUT_OFF],
            "parked": counts[State.PARKED],
            "new": counts[State.NEW],
            "running": running,
        }
        return {"total": sum(named.values()), **named}

    @property
    def state(self) -> str:
        if self.running:
            return "running"
        known = self.ledger.list_total is not None or not self.ledger.run
        return "complete" if known and self.counts["total"] == self.counts["done"] else "stopped"

    def command(self) -> list[bytes]:
        """The command of the last run, empty if there was none."""
        return [unpack(word) for word in self.ledger.run.get("cmd", ())]

    def arguments(self) -> list[str]:
        """What the last run was called with, after `run`."""
        return [os.fsdecode(unpack(word)) for word in self.ledger.run.get("argv", ())]

    def directory(self) -> str:
        """Where the last run was started."""
        return os.fsdecode(unpack(self.ledger.run.get("cwd", "")))

    def continuation(self) -> str | None:
        """The command line that goes on; None if there was no run, or its list was not read to the end."""
        words, piped = self.arguments(), self.ledger.run.get("piped")
        if not words or (piped and self.ledger.list_total is None):
            return None
        if piped:
            return shlex.join(resumption(self.place))
        line = shlex.join(continuation(words))
        return line if self.directory() == os.getcwd() else f"cd {shlex.quote(self.directory())} && {line}"

    def rate(self) -> float | None:
        """Attempts ended per second in the run that is under way, by the wall clock."""
        if not self.running or not self.ledger.figures.run_ended:
            return None
        began = datetime.fromisoformat(self.ledger.run["at"]).timestamp()
        return self.ledger.figures.run_ended / max(time.time() - began, 1e-3)

    def fields(self) -> dict[str, Any]:
        """What `status --json` prints."""
        rate = self.rate()
        left = self.counts["new"] + self.counts["running"] + self.counts["cut_off"]
        end = self.ledger.end if not self.running else {}
        return {
            "schema": SCHEMA,
            "job": printable(self.place.job),
            "journal": printable(os.fsdecode(self.place.journal)),
            "state": self.state,
            "reason": end.get("why"),
            "resume_at": self.ledger.figures.resume_at,
            "counts": self.counts,
            "cost": {
                "total": self.ledger.figures.spending.total,
                "mean": self.ledger.figures.spending.mean,
                "unknown_attempts": self.ledger.figures.spending.unknown,
                "sums": self.ledger.figures.spending.sums,
            },
            "pid": holder(self.place, Disk()).get("pid") if self.running else None,
            "rate": rate,
            "eta": left / rate if rate else None,
            "command": [word.decode(errors="backslashreplace") for word in self.command()],
            "continue": printable(self.continuation() or "") or None,
        }


def printable(text: str) -> str:
    """Text that JSON can hold: what is not UTF-8 is escaped."""
    return os.fsencode(text).decode(errors="backslashreplace")


def take(place: Place, also: Fold | None = None) -> Snapshot:
    """Read a job's journal, giving each record to `also` too.

    Raises JournalError (no journal of ours, newer, header damaged).
    """
    ledger, text, running = Ledger(), Text(place.journal), locked(place, Disk())
    try:
        fold(place.journal, [ledger] if also is None else [ledger, also], Disk(), text=text)
    except OSError as error:
        raise JournalError(f"{place.journal}: {error.strerror}", 2) from error
    return Snapshot(place, ledger, text, running)


def glimpse(place: Place, only: Only) -> tuple[Snapshot, list[Record]]:
    """A snapshot that knows no more than the lines that `only` picks, and their records.  Raises JournalError, as `take`."""
    ledger, text, running = Ledger(), Text(place.journal), locked(place, Disk())
    try:
        records = list(read(place.journal, text=text, only=only))
    except OSError as error:
        raise JournalError(f"{place.journal}: {error.strerror}", 2) from error
    for record in records:
        ledger.enter(record)
    return Snapshot(place, ledger, text, running), records


def locked(place: Place, disk: Disk) -> bool:
    """Whether a run holds the lock; ours lasts for the length of this call."""
    try:
        fd = disk.open(place.lock, os.O_RDWR)
    except OSError:
        return False
    try:
        return disk.held(fd)
    except OSError:
        return False
    finally:
        disk.close(fd)


def continuation(arguments: list[str]) -> list[str]:
    """The words that go on where a run stopped, from what it was called with after `run`."""
    return ["resumectl", "run", *without(arguments, ONE_SHOT, frozenset({"--failed"}))]


def resumption(place: Place) -> list[str]:
    """The words that go on where a run stopped whose list was kept, in any directory."""
    by_name = place.journal == directory(os.environ) / f"{place.job}.jsonl" and NAME.match(place.job)
    return ["resumectl", "resume", *([place.job] if by_name else ["--journal", os.fsdecode(place.journal)])]


def without(arguments: list[str], flags: AbstractSet[str], valued: AbstractSet[str]) -> list[str]:
    """The words after `run` without some options, of which the `valued` ones take a value."""
    end = arguments.index("--")
    options, skip = [], False
    for word in arguments[:end]:
        if not skip and word not in flags and word.partition("=")[0] not in valued:
            options.append(word)
        skip = not skip and word in valued
    return [*options, *arguments[end:]]
