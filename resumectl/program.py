"""Find the program that a command names, the way env and execvp do, before anything is written."""

from __future__ import annotations

import os
from collections.abc import Mapping

HEAD = 256  # bytes of a script's first line that the kernel looks at


class Unusable(Exception):
    """The program can't be run; `code` is 126 (not executable) or 127 (not found)."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(what)
        self.code = code


def find(name: bytes, environ: Mapping[bytes, bytes], cwd: bytes | None = None) -> bytes:
    """The file that `name` stands for on the PATH of `environ`, seen from `cwd`; raises Unusable."""
    shown = os.fsdecode(name)
    if not name:
        raise Unusable("the command's first word is empty; name a program", 127)
    denied = None
    for path in _candidates(name, environ):
        path = os.path.join(cwd or b"", path)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            _check_interpreter(path, shown)
            return path
        if os.path.exists(path):
            denied = denied or path
    if denied is not None:
        why = "is a directory" if os.path.isdir(denied) else "is not executable"
        raise Unusable(f"{os.fsdecode(denied)} {why}; name a program, or chmod +x it", 126)
    raise Unusable(f"{shown}: command not found; check its name and PATH", 127)


def _candidates(name: bytes, environ: Mapping[bytes, bytes]) -> list[bytes]:
    if b"/" in name:
        return [name]
    path = environ.get(b"PATH", os.fsencode(os.defpath))
    return [os.path.join(folder or b".", name) for folder in path.split(b":")]


def _check_interpreter(path: bytes, shown: str) -> None:
    """A script whose `#!` names nothing fails as "not found" too: say which file is missing."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return  # executable but not readable: the kernel will do it
    if not head.startswith(b"#!"):
        return
    line, newline, _ = head[2:].partition(b"\n")
    words = line.split()
    cut = not newline and len(head) == HEAD  # macOS looks at more, so what lacks its end here is not judged
    if not cut and words and not os.path.exists(words[0]):
        raise Unusable(f"{shown}: its interpreter {os.fsdecode(words[0])} was not found; correct its first line", 127)
