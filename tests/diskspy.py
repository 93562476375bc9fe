"""Stands between the program and its Disk: notes each operation, and dies or fails at one of them."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import struct
from collections.abc import Callable
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from resumectl.disk import APPEND, Disk

READS = {"close", "read", "size", "identity", "exists", "is_directory", "is_odd"}  # whatever else there is changes something
PARTS: dict[str, Callable[[int], int]] = {"half": lambda size: size // 2, "most": lambda size: size - 1}
SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN
NO_LOG_FLUSH = 2  # what is not on the disk by now is lost


def cut_power(mount: Path) -> None:
    """The file system stops as it is on its disk; needs root.  Raises OSError."""
    fd = os.open(mount, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(fd)


class Spy:
    """Wraps every method of Disk that is not in READS, in this process.

    At operation `at` (from 1; 0 never) the process is killed: `before` it, `after`
    it, or when `half` or `most` of a write's bytes are out.  With `mount` the power of
    that file system is cut first.  With `error` (such as ENOSPC) nobody dies: that
    operation fails `once`, or from then on `all` of its name do.

    `log` gets one JSON array an operation: its name (`create` for an open that may make
    or empty a file), the paths, what a write wrote, and the error that it ended with.
    """

    def __init__(
        self, log: Path | None = None, at: int = 0, how: str = "before", mount: Path | None = None, error: str = ""
    ) -> None:
        self.at, self.how, self.mount, self.error = at, how, mount, error
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC) if log else -1
        self._count = count(1)
        self._failing = ""

    def install(self) -> None:
        for name, method in list(vars(Disk).items()):
            if callable(method) and name[0] != "_" and name not in READS:
                setattr(Disk, name, self._wrap(name, method))

    def _wrap(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(disk: Disk, *args: Any, **options: Any) -> Any:
            here = next(self._count) == self.at
            self._befall(name, args, here)
            result = method(disk, *args, **options)
            if here and not self.error:
                self._die()
            self._note(name, args, "")
            return result

        return call

    def _befall(self, name: str, args: tuple[Any, ...], here: bool) -> None:
        """What happens to an operation instead of what was asked for."""
        if self.error and (here or name == self._failing):
            self._failing = name if self.how == "all" else ""
            self._note(name, args, self.error)
            number = getattr(errno, self.error)
            raise OSError(number, os.strerror(number))
        if here and not self.error and name == "write" and self.how in PARTS:
            os.write(args[0], args[1][: PARTS[self.how](len(args[1]))])
            self._die()
        if here and not self.error and self.how == "before":
            self._die()

    def _note(self, name: str, args: tuple[Any, ...], error: str) -> None:
        if self._log >= 0:
            paths = [_path(arg) for arg in args if isinstance(arg, Path) or arg is args[0]]
            data = _text(args[1]) if name == "write" else ""
            if name == "open" and (args[1] if len(args) > 1 else APPEND) & (os.O_CREAT | os.O_TRUNC):
                name = "create"
            os.write(self._log, json.dumps([name, paths, data, error]).encode() + b"\n")

    def _die(self) -> None:
        if self.mount is not None:
            cut_power(self.mount)
        os.kill(os.getpid(), signal.SIGKILL)


class Operation(NamedTuple):
    """One line of a Spy's log."""

    name: str
    paths: list[str]
    data: str
    error: str


def _text(data: bytes | memoryview) -> str:
    return bytes(data).decode("latin-1")


def _path(target: int | Path) -> str:
    if isinstance(target, Path):
        return str(target)
    try:
        return os.readlink(f"/proc/self/fd/{target}")
    except OSError:
        return ""


def noted(log: Path) -> list[Operation]:
    """The operations in a log, in order."""
    return [Operation(*json.loads(line)) for line in log.read_text().splitlines()]
