"""What goes wrong on purpose: a gate that commands wait at, a small disk, a patched Python, a limit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import PROGRAM, Result, Scratch

# Says that it has begun, then waits for the file `go`; gives up by itself, so that nothing is left for ever.
WAITING = 'echo "$1" >>begun; n=0; until [ -e go ] || [ $((n+=1)) -gt 2000 ]; do sleep 0.02; done; '
HOLD = ("sh", "-c", WAITING + 'echo "$1" >>effects', "_", "{}")
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def opened(scratch: Scratch) -> None:
    """Let every command that waits in `HOLD` go on."""
    (scratch.path / "go").touch()


@contextmanager
def small_disk(path: Path, pages: int = 16) -> Iterator[Path]:
    """A tmpfs of so many pages at `path`; skips the test where nobody may mount one."""
    path.mkdir()
    size = f"size={pages * 4}k,mode=755"
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", path], capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def filled(disk: Path, leave: int = 0) -> Path:
    """A file that takes all the room of a disk but so many bytes."""
    ballast = disk / "ballast"
    room = os.statvfs(disk)
    ballast.write_bytes(b"x" * (room.f_bavail * room.f_frsize - leave))
    return ballast


def named(err: str) -> list[str]:
    """The pids that are named as still living: whatever the commands have started is among them, in any order."""
    return re.findall(r"\d+", "".join(re.findall(r"still live \(pid ([^)]*)\)", err)[-1:]))


def patched(scratch: Scratch, code: str) -> dict[str, str]:
    """The environment of a program that runs this code before its own."""
    site = scratch.path / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": f"{site}{os.pathsep}{scratch.env['PYTHONPATH']}"}


def peak_memory(pid: int) -> int:
    """MiB that a process had in memory at most until now; 0 when it has gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM")), 0)


def bound(scratch: Scratch, *words: str) -> Result:
    """Run the program so that file permissions bind it, root or not."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root can't lose its privileges without setpriv")
    under = UNPRIVILEGED if os.geteuid() == 0 else ()
    ended = subprocess.run(
        [*under, *PROGRAM, *words], cwd=scratch.path, env=scratch.env, capture_output=True, stdin=subprocess.DEVNULL
    )
    return Result(ended.returncode, ended.stdout, ended.stderr.decode(errors="replace"))
