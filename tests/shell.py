"""What a person has before them: a shell line with `resumectl` on its PATH, and a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
from typing import Any

from conftest import PATIENCE, Result, Scratch, until


def typed(scratch: Scratch, line: str, shell: str = "sh", **env: str) -> Result:
    """Run a line in a shell that finds `resumectl`."""
    program = scratch.path.parent / "bin" / "resumectl"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m resumectl "$@"\n')
    program.chmod(0o755)
    environ = {**scratch.env, "PATH": f"{program.parent}:{scratch.env['PATH']}", **env}
    ended = subprocess.run(
        [shell, "-c", line], cwd=scratch.path, env=environ, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE * 4
    )
    return Result(ended.returncode, ended.stdout, ended.stderr.decode(errors="replace"))


def continued(scratch: Scratch, text: str) -> Result:
    """Run the command to continue that a run, or `status`, has printed."""
    found = re.findall(r"^(?:to continue:|  continue) (.*)$", text, re.MULTILINE)
    assert len(found) == 1, text
    return typed(scratch, found[0])


class Terminal:
    """`resumectl WORDS…` in a terminal of its own; `seen` is all that it has written there."""

    def __init__(self, scratch: Scratch, *words: str, read: bool = True, columns: int = 120, **env: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        def control() -> None:
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        streams: dict[str, Any] = {"stdin": slave, "stdout": slave, "stderr": slave}
        self.process = scratch.start(*words, preexec_fn=control, env={"TERM": "xterm", **env}, **streams)
        os.close(slave)
        self._seen = bytearray()
        self._wake, self._waker = os.pipe()
        self._reader = threading.Thread(target=self._read, daemon=True)
        if read:
            self._reader.start()

    def _read(self) -> None:
        try:
            while self._wake not in select.select([self._master, self._wake], [], [])[0]:
                self._seen += os.read(self._master, 1 << 16)
        except OSError:
            pass  # the other side has gone

    @property
    def seen(self) -> bytes:
        return bytes(self._seen)

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def shows(self, what: bytes) -> None:
        """Wait until something stands on the terminal."""
        until(lambda: what in self._seen, f"{what!r} on the terminal")

    def hang_up(self) -> None:
        """Close the terminal's window."""
        os.close(self._waker)
        self._reader.join()
        os.close(self._master)

    def end(self) -> int:
        """Wait for the program's end and for the last it wrote; return its code."""
        code = self.process.wait(PATIENCE)
        if self._reader.ident:
            self._reader.join(PATIENCE)
        return code
