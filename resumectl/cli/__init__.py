"""Options in, one call, an exit status out.  The one place where errors become exit codes."""

from __future__ import annotations

import errno
import io
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

UNWRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class Refusal(Exception):
    """What was asked for is not done; `code` is the exit code (2: usage)."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


class Interrupted(BaseException):
    """A signal that asked us to stop while nothing of ours was running yet."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main() -> None:
    """The program.  Never returns: ends by an exit code, or by the signal that stopped it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # an exception amid an import is not survived well
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    fill_standard_streams()
    try:
        code = _run(sys.argv[1:])
    except Interrupted as stopped:
        die(stopped.number)
    if code == 128 + signal.SIGPIPE:
        die(signal.SIGPIPE)
    with suppress(OSError):  # it has been said
        _flush()
    os._exit(code) if code < 128 else die(code - 128)


def _run(arguments: Sequence[str]) -> int:
    import typer

    from .app import app

    try:
        code = app(list(arguments), prog_name="resumectl", standalone_mode=False) or 0
        _flush()
        return code
    except typer.TyperException as error:
        message = " ".join(error.format_message().split()).rstrip(".")  # a choice is listed one a line
        return complain(f"{message[:1].lower()}{message[1:]}; see resumectl{_verb(arguments)} --help", 2)
    except Refusal as error:
        return complain(str(error), error.code)
    except typer.Abort:
        return complain("nothing was done; answer y, or use --yes", 1)
    except (BrokenPipeError, SystemExit):  # typer leaves so when the reader of its help has gone
        return 128 + signal.SIGPIPE
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    """What could not be done, or printed, or a bug.  Who succeeds needs none of these modules."""
    import traceback

    from ..lines import JournalError
    from ..program import Unusable

    if isinstance(error, JournalError | Unusable):
        return complain(str(error), error.code)
    if isinstance(error, OSError) and error.filename is not None:
        return complain(f"{os.fsdecode(error.filename)}: {error.strerror}", 74)
    if isinstance(error, FileNotFoundError):
        return complain("the current directory is gone; cd to one that exists", 2)
    if isinstance(error, OSError) and error.errno in UNWRITTEN:
        return complain(f"standard output: {error.strerror}; make room and ask again", 74)
    traceback.print_exception(error)
    return complain("this is a bug in resumectl; please report it with the lines above", 70)


def _verb(arguments: Sequence[str]) -> str:
    from .app import VERBS

    return f" {arguments[0]}" if arguments and arguments[0] in VERBS else ""


def complain(message: str, code: int) -> int:
    """Say what is wrong on standard error, in the house's form; return the code."""
    tell(f"resumectl: {message}")
    return code


def tell(text: str, *, wait: bool = True) -> None:
    """A line on standard error, whatever its encoding and whether anybody reads it.

    Without `wait` it is left out where nobody has read for so long that it would block.
    """
    encoding = os.device_encoding(2) or "utf-8"
    try:
        if wait or select.select([], [2], [], 0)[1]:
            os.write(2, text.encode(encoding, "backslashreplace") + b"\n")
    except OSError:
        pass


def put(text: str) -> None:
    """A line on standard output, its undecodable bytes as they are."""
    put_bytes(text.encode("utf-8", "surrogateescape") + b"\n")


def put_now(text: str) -> None:
    """Lines on standard output that somebody waits for."""
    put(text)
    _flush()


def put_bytes(data: bytes) -> None:
    """Ends us by SIGPIPE when the reader has gone (typer would make that an exit 1)."""
    try:
        sys.stdout.buffer.write(data)
    except BrokenPipeError:
        die(signal.SIGPIPE)


def shown_id(id: bytes) -> bytes:
    """An id for a terminal: nothing in it can move the cursor."""
    from ..words import shown

    return shown(id, limit=4 * len(id) or 1).encode()  # as long as its longest escapes can be


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        die(signal.SIGPIPE)
    except (ValueError, AttributeError):  # closed, or none
        pass


class _Patient(io.FileIO):
    """A stream that may not block: a write waits for its reader all the same."""

    def write(self, data: Any) -> int:
        while (count := super().write(data)) is None:
            select.select([], [self], [])
        return count


def fill_standard_streams() -> None:
    """Put /dev/null on a closed standard stream: else the journal would get its number."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)
    if not os.get_blocking(1):  # as a parent that shares it may have made it
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Patient(1, "w", closefd=False)), sys.stdout.encoding, sys.stdout.errors)


def die(number: int) -> None:
    """End by a signal, so that the loops around us stop too."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pause()


def catch(handler: Callable[[int, FrameType | None], None]) -> None:
    """Have INT, TERM and HUP handled, except those that were ignored when we were started (nohup, `&`)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def interrupt(number: int, _frame: FrameType | None) -> None:
    """The handler while nothing of ours runs: whatever we wait for ends at once."""
    raise Interrupted(number)
