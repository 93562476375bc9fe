"""The journal as a file that one run writes: load, heal, append, mend.  It knows no meaning.

An `append` is one write of whole lines and one sync: what it returned from is on
the disk, and what it did not finish can be told from what it did.
"""

from __future__ import annotations

import os
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path

import orjson

from . import __version__
from .disk import APPEND, Disk, write_all, write_new
from .lines import VERSION, Fold, JournalError, Text, fold
from .records import Record, encode_all, seal, stamp

SEAL = b"\n\n"  # behind a stump: two, so that no flipped bit can join it with the line that follows


class Journal:
    """One job's journal, open for appending by the one writer that holds its lock.

    `load` reads it, `heal` makes it ready, `append` adds records.  After an append
    has failed nothing more may be started; `mend` tries to get the rest recorded.
    `jobs` bounds how many lines one crash can tear, `sync` is `full` or `none`.
    """

    def __init__(self, path: Path, disk: Disk, sync: str = "full", jobs: int = 1) -> None:
        self.path, self.disk, self.sync, self.jobs = path, disk, sync, jobs
        self.text = Text(path)
        self._fd = -1
        self._size = 0  # bytes of the file that are ours
        self._unsynced: list[bytes] = []  # what was written since the last good sync
        self._suspect = False  # a sync failed: what it covered may be lost behind our back
        self._looked = 0.0  # monotonic seconds

    def load(self, *folds: Fold) -> None:
        """Read the whole file, if there is one, giving each record to all of `folds`."""
        if not self.disk.exists(self.path):
            return
        self._fd = self.disk.open(self.path, APPEND & ~os.O_CREAT)
        if self.disk.size(self._fd):
            fold(self.path, folds, self.disk, self._fd, self.text)
        self._size = self.text.size

    @property
    def exists(self) -> bool:
        """Whether there is a journal at the path (an empty file is none)."""
        return self._size > 0

    @cached_property
    def namespace(self) -> uuid.UUID:
        """The namespace in which every idempotency key of this journal is made."""
        return uuid.UUID(self.text.header["ns"])

    def create(self, namespace: uuid.UUID | None = None) -> None:
        """Put a new journal in place: its header alone, durable before its name is."""
        jid = uuid.uuid4().hex[:16]
        header = {"t": "header", "v": VERSION, "app": "resumectl", "ver": __version__, "jid": jid}
        header |= {"ns": str(namespace or uuid.uuid4()), "at": stamp()}
        line = seal(orjson.dumps(header)[:-1], 0)
        write_new(self.disk, self.path, line)
        self.close()
        self.__dict__.pop("namespace", None)
        self.text = Text(self.path, header, zlib.crc32(jid.encode()), 1, len(line))
        self._fd, self._size = self.disk.open(self.path, APPEND), len(line)

    def heal(self, namespace: uuid.UUID | None = None) -> None:
        """Seal a torn last line and sync what was read, before it is trusted.

        Where there is no journal, one is made (in the given key namespace).
        """
        if not self.exists:
            return self.create(namespace)
        if not self.text.whole:
            self._write(SEAL)
            self.text.whole = True
        self.disk.sync(self._fd)
        self.disk.sync_dir(self.path.parent)

    def append(self, records: Sequence[Record]) -> None:
        """Write records in one piece and sync them.

        More lines than a crash may tear go out in parts, each synced before the
        next.  Raises JournalError 74, its `landed` telling how many lines are in the file.
        """
        lines = self._lines(records)
        part = 2 * self.jobs + 1 if self.sync == "full" else len(lines)
        for at in range(0, len(lines), max(part, 1)):
            some = lines[at : at + part]
            landed = at
            try:
                self._put(some)
                landed += len(some)
                self.flush(barrier=False)
            except JournalError as error:
                error.landed += landed
                raise

    def barrier(self, record: Record, more: Sequence[Record] = ()) -> None:
        """Append a record that says how many bad lines stand before it, and `more`; synced before and after.

        It goes out alone: what dies here, again and again, adds bad lines to the end of
        the file but no good ones, so the first stump stays within a crash's reach.
        """
        self.flush()
        bad = {**record.rest, "bad": len(self.text.bad)}
        self.append([record._replace(rest=bad)])
        self.append(more)
        self.flush()

    def flush(self, *, barrier: bool = True) -> None:
        """Make what was written durable; between barriers only if `sync` is `full`."""
        if self.sync != "full" and not barrier:
            return
        try:
            self.disk.sync(self._fd)
        except OSError as error:
            self._suspect = True
            raise self._broken(error, 0) from error
        self._unsynced.clear()

    def mend(self, records: Sequence[Record]) -> None:
        """After a failed append: record these all the same, or raise JournalError 74 again.

        A second sync is no proof after a failed one, so the file is then written
        anew.  A file that is no longer at its path is left alone.
        """
        if not self.ours():
            raise JournalError(f"{self.path} was deleted or replaced", 74)
        try:
            if self._suspect:
                self._rewrite()
            self._size = self.disk.size(self._fd)
            if self._size and self.disk.read(self._fd, 1, self._size - 1) != b"\n":
                self._write(SEAL)
        except OSError as error:
            raise self._broken(error, 0) from error
        if records:
            self.append(records)
        else:
            self.flush(barrier=False)

    def _lines(self, records: Sequence[Record]) -> list[bytes]:
        return encode_all(records, self.text.seed, stamp())

    def _put(self, lines: Sequence[bytes]) -> None:
        self.look()
        data = b"".join(lines)
        before = self._size
        try:
            self._write(data)
        except OSError as error:
            written = self._size - before
            # A line that lacks only its newline is whole: the newline that heals it completes it.
            landed = data[: written + (data[written : written + 1] == b"\n")].count(b"\n")
            if data[:written].count(b"\n") == landed and not data[:written].endswith(b"\n") and written:
                self.text.spoil(before)
            raise self._broken(error, landed) from error

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                count = self.disk.write(self._fd, view)
                self._size += count
                view = view[count:]
        finally:
            if self.sync == "full":
                self._unsynced.append(data[: len(data) - len(view)])

    def _rewrite(self) -> None:
        """The same lines in a new file, synced and renamed over the old one."""
        unsynced = b"".join(self._unsynced)
        keep = self._size - len(unsynced)
        fresh = self.path.with_name(self.path.name + ".new")
        fd = self.disk.open(fresh, APPEND | os.O_TRUNC)
        try:
            for at in range(0, keep, 1 << 20):
                write_all(self.disk, fd, self.disk.read(self._fd, min(1 << 20, keep - at), at))
            write_all(self.disk, fd, unsynced)
            self.disk.sync(fd)
            self.disk.rename(fresh, self.path)
        except OSError:
            self.disk.close(fd)
            raise
        self.disk.close(self._fd)
        self._fd = fd  # from here on the new file is ours, even if its name is not durable yet
        self.disk.sync_dir(self.path.parent)
        self._suspect = False
        self._unsynced.clear()

    def replace(self, lines: Iterable[Sequence[bytes]], keep: Path) -> None:
        """Put a file with the same header and these lines, given some at a time, in the place of the old one, which stays at `keep`.

        Raises OSError, JournalError 74; if the new file can't be written, the old one is in its place.
        """
        self.look()
        fresh = self.path.with_name(self.path.name + ".new")
        fd = self.disk.open(fresh, APPEND | os.O_TRUNC)
        text = Text(self.path, self.text.header, self.text.seed)
        try:
            for part in self._anew(lines, text):
                write_all(self.disk, fd, part)
            self.disk.sync(fd)
            self.disk.link(self.path, keep)
            self.disk.rename(fresh, self.path)
        except BaseException:
            self.disk.close(fd)
            with suppress(OSError):
                self.disk.unlink(fresh)
            raise
        self.close()
        self._fd, self._size, self.text = fd, text.size, text
        self.disk.sync_dir(self.path.parent)

    @staticmethod
    def _anew(lines: Iterable[Sequence[bytes]], text: Text) -> Iterator[bytes]:
        """A new file in parts; `text` counts its lines."""
        header = {name: value for name, value in text.header.items() if name != "c"}
        for part in chain([[seal(orjson.dumps(header)[:-1], 0)]], lines):
            data = b"".join(part)
            text.lines, text.size = text.lines + len(part), text.size + len(data)
            yield data

    def look(self) -> None:
        """Notice another writer: a size that is not ours, or another file at the path."""
        try:
            if self.disk.size(self._fd) != self._size:
                raise JournalError(f"{self.path} was changed by another process", 74)
            now = time.monotonic()
            if now - self._looked >= 1:
                self._looked = now
                if not self.ours():
                    raise JournalError(f"{self.path} was deleted or replaced", 74)
        except OSError as error:
            raise self._broken(error, 0) from error

    def ours(self) -> bool:
        """Whether the path still names the file that is open."""
        return self.disk.identity(self.path) == self.disk.identity(self._fd)

    def _broken(self, error: OSError, landed: int) -> JournalError:
        return JournalError(f"{self.path}: {error.strerror}", 74, landed)

    def close(self) -> None:
        if self._fd >= 0:
            self.disk.close(self._fd)
            self._fd = -1
