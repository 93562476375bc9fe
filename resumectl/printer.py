"""The printing thread: the only writer to standard output and standard error.

A reader that stalls blocks this thread and nothing else: what ended is recorded
all the same.  The commands' bytes go out as they are, never through Rich.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from .job import Outcome, ReaderGone
from .outputs import Stream
from .report import ended_lines
from .words import clock, duration, shown

REPAINT = 0.2  # seconds between two repaints
MOMENT = 0.05  # seconds for which output is gathered, so that the picture is not moved for each item, or a full pipe left alone
PLAIN = 30.0  # seconds between two lines of progress where there is no terminal


class Picture(Protocol):
    """A bar that stands below the output while nothing is being written."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def refresh(self) -> None: ...


class Done:
    """The printing thread has printed all that it was given."""


class Printer:
    """Prints what ended and what is said, in the order given; shows the picture in between."""

    def __init__(
        self,
        inbox: SimpleQueue[Any],
        most: int,
        *,
        progress: Callable[[], str] | None = None,
        tag: bool = False,
        quiet: bool = False,
    ) -> None:
        """`most` unprinted items stop new starts; `progress` gives a line for a log now and then.

        `tag` puts the id before each line of output; `quiet` prints no output.
        """
        self._inbox, self._most = inbox, most
        self.picture: Picture | None = None
        self._progress = progress
        self._tag, self._quiet = tag, quiet
        self._until: float | None = None
        self._tasks: SimpleQueue[bytes | tuple[Stream | None, Stream | None, bytes, bytes] | None] = SimpleQueue()
        self._given = self._printed = 0
        self._deaf = {1: False, 2: False}
        self._terminal = {fd: os.isatty(fd) for fd in (1, 2)}

    def start(self) -> None:
        """Print what was said until now, before anything it announces can begin; a thread prints what comes after."""
        while not self._tasks.empty():
            self._one(self._tasks.get())
        threading.Thread(target=self._run, name="printer", daemon=True).start()

    @property
    def full(self) -> bool:
        return self.waiting >= self._most

    @property
    def waiting(self) -> int:
        """How many items have ended and are not printed yet."""
        return self._given - self._printed

    def outcome(self, outcome: Outcome[Any], out: Stream | None, err: Stream | None) -> None:
        """Print a finished item's streams, each in one piece, and a word if it did not end well."""
        good = outcome.clean and not outcome.note
        lines = b"" if good else b"".join(_line(line) for line in ended_lines(outcome))
        self._give(outcome.job.ids[0], out, err, lines)

    def replay(self, id: bytes, out: Stream | None) -> None:
        """Print what an item that is done already printed when it ran."""
        self._give(id, out, None, b"")

    def _give(self, id: bytes, out: Stream | None, err: Stream | None, line: bytes) -> None:
        if self._quiet:
            for stream in (out, err):
                if stream is not None:
                    stream.close()
            out = err = None
        if out or err or line:
            self._given += 1
            tag = shown(id).encode() + b"\t" if self._tag else b""
            self._tasks.put((out, err, line, tag))

    def say(self, text: str) -> None:
        """One line of our own, on standard error."""
        self._tasks.put(_line(text))

    def limited(self, until: float | None) -> None:
        """Say once, then count down, that a limit is sat out until then (epoch seconds)."""
        if until is not None and until != self._until:
            self.say(f"limit: waiting until {clock(until)} ({duration(until - time.time())}); Ctrl-C ends the wait")
        self._until = until

    def notice(self) -> str:
        """What a progress display shows besides the counts; empty for nothing."""
        until = self._until
        return "" if until is None else f"limit: {duration(max(0.0, until - time.time()))} left"

    def finish(self) -> None:
        """Nothing more will be given; `Done` goes into the inbox when all is printed."""
        self._tasks.put(None)

    def _run(self) -> None:
        try:
            self._print()
        except BaseException as error:
            self._inbox.put(error)
        finally:
            self._inbox.put(Done())

    def _print(self) -> None:
        self._show("start")
        over, next_line = False, time.monotonic() + PLAIN
        while not over:
            tasks = self._take()
            over = None in tasks
            if any(self._terminal.values()) and tasks:
                self._show("stop")
            for task in tasks:
                self._one(task)
            if any(self._terminal.values()) and tasks and not over:
                self._show("start")
            self._show("refresh")
            if self._progress and time.monotonic() >= next_line:
                next_line = time.monotonic() + PLAIN
                self._write(2, _line("; ".join(filter(None, (self._progress(), self.notice())))))
        self._show("stop")

    def _take(self) -> list[Any]:
        """What has come: at once, or gathered for a moment when there is a picture."""
        patience = REPAINT if self.picture else (PLAIN / 30 if self._progress else None)
        try:
            tasks = [self._tasks.get(timeout=patience)]
        except Empty:
            return []
        if self.picture:
            time.sleep(MOMENT)
        while tasks[-1] is not None:
            try:
                tasks.append(self._tasks.get_nowait())
            except Empty:
                break
        return tasks

    def _one(self, task: Any) -> None:
        if isinstance(task, bytes):
            self._write(2, task)
        elif task is not None:
            out, err, line, tag = task
            try:
                self._copy(1, out, tag)
                self._copy(2, err, tag)
            except OSError as error:
                self._inbox.put(ReaderGone(f"what a command printed can't be read: {error.strerror}"))
            self._write(2, line)
            self._printed += 1
            if self._printed == self._given or self.waiting == self._most - 1:
                self._inbox.put(None)  # the loop may start something again

    def _copy(self, fd: int, stream: Stream | None, tag: bytes) -> None:
        if stream is None:
            return
        last = b"\n"
        for piece in stream.pieces():
            self._write(fd, _tagged(piece, tag, last == b"\n") if tag else piece)
            last = piece[-1:]
        if (self._terminal[fd] or tag) and last != b"\n":
            self._write(fd, b"\n")
        stream.close()

    def _write(self, fd: int, data: bytes) -> None:
        """Write all; a stream that nobody reads any more is written to no more."""
        view = memoryview(data)
        while view and not self._deaf[fd]:
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                time.sleep(MOMENT)
            except OSError as error:
                self._deaf[fd] = True
                if fd == 1 and error.errno not in (errno.EIO, errno.EBADF):
                    self._inbox.put(
                        ReaderGone("" if error.errno == errno.EPIPE else f"standard output: {error.strerror}")
                    )

    def _show(self, what: str) -> None:
        """A dead terminal must not end the printing."""
        if self.picture is not None and not self._deaf[2]:
            try:
                getattr(self.picture, what)()
            except OSError:
                self._deaf[2] = True


def _tagged(piece: bytes, tag: bytes, begins: bool) -> bytes:
    """A piece with the tag before each of its lines; `begins`: its first byte begins one."""
    body, end = (piece[:-1], piece[-1:]) if piece.endswith(b"\n") else (piece, b"")
    return (tag if begins else b"") + body.replace(b"\n", b"\n" + tag) + end


def _line(text: str) -> bytes:
    encoding = os.device_encoding(2) or "utf-8"
    return text.encode(encoding, "backslashreplace") + b"\n"
