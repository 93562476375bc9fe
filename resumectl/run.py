"""One run's hold on a job: lock, read, ask who still lives, heal, begin, end.

The order is the protocol: nothing that was read is trusted before it is synced, and
nothing is written before everything that could refuse the run has been asked.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import orjson

from . import __version__
from .disk import Busy, Disk, exclusive, write_all
from .extent import Extent
from .fence import Fence, Orphans, ask
from .journal import Journal
from .ledger import Ledger
from .lines import Fold, JournalError
from .outputs import Outputs
from .papers import Papers, leftovers
from .place import Place, holder
from .records import Record, stamp
from .verdict import Kind, Verdict

Pause = Callable[[float], None]
T = TypeVar("T")
# What is known of starts that were handed out under these names: how each ended, and more fields of its line.
Settle = Callable[[Sequence[str]], Mapping[str, tuple[Kind, Mapping[str, Any]]]]
UNKNOWN = {"text": "handed out to another machine; whether it began is unknown"}


class Run:
    """A locked job: its journal, what that adds up to, and the fence of its children."""

    def __init__(self, place: Place, disk: Disk | None = None, *, sync: str = "full", jobs: int = 1) -> None:
        self.place, self.disk = place, disk or Disk()
        self.journal = Journal(place.journal, self.disk, sync, jobs)
        self.ledger, self.extent = Ledger(), Extent()
        self.fence = Fence(self.disk, place.live)
        self.number = 0
        self._lock = -1
        self._list = -1  # the copy of a list that is no regular file

    def acquire(self, wait: float = 0.0, pause: Pause = time.sleep) -> None:
        """Make the directory and take the lock.  Raises JournalError 2 (no file), 4 (in use) or 74."""
        if self.disk.is_odd(self.place.journal):  # asked before anything is made beside it
            raise JournalError(f"{self.place.journal}: it is no regular file", 2)
        try:
            self.place.prepare(self.disk)
            self._lock = exclusive(self.disk, self.place.lock, wait, pause)
        except Busy:
            raise JournalError(f"{self.place.journal} is in use{self.holder()}", 4) from None
        except OSError as error:
            where = error.filename if error.filename is not None else self.place.lock
            raise JournalError(f"{os.fsdecode(where)}: {error.strerror}", 74) from error
        note = {"pid": os.getpid(), "host": socket.gethostname(), "start": stamp()}
        try:
            self.disk.truncate(self._lock, 0)
            write_all(self.disk, self._lock, orjson.dumps(note) + b"\n")
        except OSError:
            pass  # the note is for messages only; the lock itself is held

    def holder(self) -> str:
        """Who holds the lock, in words, as far as the lock's note tells."""
        note = holder(self.place, self.disk)
        return " by pid {pid} on {host} since {start}".format(**note) if note else ""

    def load(self, *also: Fold, accept_damage: bool = False) -> None:
        """Read the journal, giving each record to `also` too.

        Raises JournalError 2, 65 (damage, unless accepted) or 74.
        """
        self._guard(lambda: self.journal.load(self.ledger, self.extent, *also))
        damage = self.journal.text.damage()
        if damage is not None and not accept_damage:
            raise JournalError(
                f"{damage}; restore a copy, or go on with what is intact: run --accept-damage", damage.code
            )
        self.number = self.ledger.run.get("run", 0)

    def key(self, id: bytes) -> str:
        """The idempotency key of an item, the same for every attempt and run."""
        return key_for(self.journal.namespace, id)

    def orphans(self) -> Orphans:
        """Who still lives of a run that did not end.  Raises JournalError 74."""
        if not self.ledger.run or self.ledger.end:
            return Orphans()
        open_items = self.ledger.open_items()
        keys = [self.key(id) for id in open_items]
        files = [os.fspath(Papers(self.place, name).items) for name in {s.batch for s in open_items.values()} if name]
        return self._guard(lambda: ask(self.disk, self.place.live, self.place.journal, keys, files))

    def seal_open(self, why: str = "crash", settle: Settle | None = None) -> list[Record]:
        """The end of each item whose last record is `started`: done if its batch had reported so, else
        cut off, or what `settle` knows.  The ledger takes them in at once."""
        told: dict[str, dict[bytes, Verdict]] = {}
        names = [start.name for start in self.ledger.open_items().values() if start.name is not None]
        settled = settle(names) if settle is not None and names else {}
        records = []
        for id, start in self.ledger.open_items().items():
            if start.batch is not None and start.batch not in told:
                told[start.batch] = self._guard(Papers(self.place, start.batch).told)
            verdict = told[start.batch].get(id) if start.batch is not None else None
            if verdict is not None:
                why_too = {} if verdict.kind is Kind.DONE else {"why": verdict.why, "text": verdict.text}
                records.append(Record(verdict.kind.value, (id,), (start.attempt,), {"reported": True, **why_too}))
            else:
                unknown = (Kind.CUT_OFF, UNKNOWN if start.name is not None else {})
                kind, facts = settled.get(start.name or "", unknown)
                rest = {"run": start.run, "why": why} if kind is Kind.CUT_OFF else {}
                records.append(Record(kind.value, (id,), (start.attempt,), {**rest, **facts}))
        for record in records:
            self.ledger.enter(record)
        return records

    def heal(self, namespace: uuid.UUID | None = None) -> None:
        """Make what was read durable, or create the journal if there is none."""
        self._guard(lambda: self.journal.heal(namespace))

    def open_outputs(self, outputs: Outputs, *, nameless: bool = False) -> None:
        """Open the kept output for appending, behind every byte that the journal names."""
        self._guard(outputs.open_nameless if nameless else lambda: outputs.open(self.extent.end))

    def begin(self, fields: Mapping[str, Any], more: Sequence[Record] = (), *, keep_fence: bool = False) -> None:
        """Make the new fence, then write `run` with `more` behind it.  `heal` comes before."""
        if keep_fence:
            self._guard(lambda: self.fence.keep_old(self.number))
        self._guard(self.fence.make)
        self.number += 1
        head = {"run": self.number, "at": stamp(), "pid": os.getpid(), "host": socket.gethostname()}
        record = Record("run", (), (), {**head, "boot": boot(), "ver": __version__, **fields})
        self.ledger.enter(record)
        self.journal.barrier(record, more)
        if not keep_fence:
            self._guard(self._sweep)

    def _sweep(self) -> None:
        """What batches of killed runs have left is in the journal by now."""
        for path in leftovers(self.place):
            self.disk.unlink(path)

    def keep_list(self, raw: bytes) -> None:
        """Add to `NAME.items` what was read of a list that is no regular file.  Raises JournalError 74."""

        def write() -> None:
            if self._list < 0:
                self._list = self.disk.open(self.place.items, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            write_all(self.disk, self._list, raw)

        self._guard(write)

    def sync_list(self) -> None:
        """The list has been read to its end: make the copy durable, before the journal says so."""

        def sync() -> None:
            if self._list < 0:  # an empty list
                self.keep_list(b"")
            self.disk.sync(self._list)
            self.disk.sync_dir(self.place.items.parent)

        self._guard(sync)

    def end(self, why: str, counts: Mapping[str, int]) -> None:
        """Write `end`, the barrier that says that nothing of this run lives."""
        self.journal.barrier(Record("end", (), (), {"run": self.number, "why": why, **counts}))

    def archive(self, namespace: uuid.UUID | None = None) -> list[Path]:
        """Start a new journal in the old one's place and keep the old files; return where they are now.

        The new one keeps the key namespace unless another is given.
        """
        if not self.journal.exists:
            return []
        kept = self._backup()
        namespace = namespace or self.journal.namespace

        def swap() -> None:
            self.disk.link(self.place.journal, kept)
            self.journal.create(namespace)

        self._guard(swap)
        self.ledger, self.extent, self.number = Ledger(), Extent(), 0
        return [kept, *self._archive_others(kept.name.removeprefix(self.place.journal.name))]

    def compact(self, lines: Iterable[Sequence[bytes]]) -> Path:
        """Put these lines, some at a time, which say the same as all that are there, in their place; return where the old file is now.

        What they name of `NAME.out` stays where it is.
        """
        kept = self._backup()
        self._guard(lambda: self.journal.replace(lines, kept))
        return kept

    def _backup(self) -> Path:
        return self._unused(f"{self.place.journal.name}.bak-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")

    def _archive_others(self, suffix: str) -> list[Path]:
        """The journal has been replaced: what its records named goes with the old one."""
        moved = []
        for path in (self.place.out, self.place.items):
            if self.disk.exists(path):
                target = path.with_name(path.name + suffix)
                self._guard(lambda path=path, target=target: self.disk.rename(path, target))  # type: ignore[misc]
                moved.append(target)
        if moved:
            self._guard(lambda: self.disk.sync_dir(self.place.journal.parent))
        return moved

    def delete(self, path: Path) -> None:
        """Delete an archive.  Raises JournalError 74."""
        self._guard(lambda: self.disk.unlink(path))

    def _unused(self, name: str) -> Path:
        path, count = self.place.journal.with_name(name), 1
        while self.disk.exists(path):
            count += 1
            path = self.place.journal.with_name(f"{name}-{count}")
        return path

    def _guard(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except OSError as error:
            where = os.fsdecode(error.filename) if error.filename else self.place.journal
            raise JournalError(f"{where}: {error.strerror}", 74) from error

    def close(self) -> None:
        """Let everything go; the lock last."""
        self.fence.close()
        self.journal.close()
        for fd in (self._list, self._lock):
            if fd >= 0:
                self.disk.close(fd)
        self._list = self._lock = -1


def key_for(namespace: uuid.UUID, id: bytes) -> str:
    """UUIDv5 of a journal's key namespace and an id's bytes (RFC 9562, 5.5)."""
    return _spelled(hashlib.sha1(namespace.bytes + id, usedforsecurity=False).hexdigest(), 5)


def new_uuid() -> str:
    """A random UUID (RFC 9562, 5.4)."""
    return _spelled(os.urandom(16).hex(), 4)


def _spelled(digits: str, version: int) -> str:
    """A UUID without a UUID object, which takes three times as long."""
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-{version}{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def boot() -> str:
    """The first eight digits of this boot's id, empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return ""
