"""What the parts of the table share: commands run in turn, and what each took."""

from __future__ import annotations

import os
import pty
import shutil
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parent.parent.parent
ITEMS = 2000
MILLION = 1_000_000
OURS = [sys.executable, "-m", "resumectl"]


@dataclass
class Figures:
    """Seconds, seconds of CPU and peak resident bytes of one command, over several runs."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def peak(self) -> int:
        return max(self.memory)


class Bench:
    """Runs commands in one scratch directory, in turn, so that drift hits all of them alike."""

    def __init__(self, runs: int, place: Path) -> None:
        self.runs, self.place = runs, place
        self.rows: list[dict[str, object]] = []
        self.env = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.terminal = False  # commands get one as their standard error

    def once(self, words: Sequence[str], figures: Figures, clean: bool) -> None:
        """Run a command once and add its figures; `clean`: from an empty journal."""
        if clean:
            shutil.rmtree(self.place / ".resumectl", ignore_errors=True)
        peak = self.place / "peak"
        with terminal() if self.terminal else nowhere() as stderr:
            began = perf_counter()
            # `time` forks: of a child of ours the kernel would count our own memory before its exec as its peak.
            child = self.start(["time", "--quiet", "-f", "%M", "-o", str(peak), *words], stderr)
            _, status, usage = os.wait4(child.pid, 0)
            figures.seconds.append(perf_counter() - began)
        child.returncode = os.waitstatus_to_exitcode(status)
        figures.cpu.append(usage.ru_utime + usage.ru_stime)
        figures.memory.append(int(peak.read_text()) * 1024)

    def start(self, words: Sequence[str], stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        nothing = subprocess.DEVNULL
        return subprocess.Popen(words, cwd=self.place, env=self.env, stdin=nothing, stdout=nothing, stderr=stderr)

    def compare(
        self, commands: dict[str, Sequence[str]], *, clean: bool = True, runs: int | None = None
    ) -> dict[str, Figures]:
        """Each command in turn, round after round."""
        found = {name: Figures() for name in commands}
        for _ in range(runs or self.runs):
            for name, words in commands.items():
                self.once(words, found[name], clean)
        return found

    def row(self, what: str, measured: float, unit: str, goal: str = "", met: bool | None = None) -> None:
        """One line of the table."""
        self.rows.append({"what": what, "measured": round(measured, 3), "unit": unit, "goal": goal, "met": met})
        mark = {True: "yes", False: "NO", None: ""}[met]
        print(f"{what:58} {measured:10.2f} {unit:10} {goal:28} {mark}", flush=True)

    def mark_done(self, count: int, job: str) -> Path:
        """A journal of so many lines, each an item that is done; the list of these items is `many`."""
        shutil.rmtree(self.place / ".resumectl", ignore_errors=True)
        with (self.place / "many").open("w") as file:
            file.writelines(f"item-{n}\n" for n in range(count))
        words = [*OURS, "mark", "done", "--items", "many", "--job", job]
        subprocess.run(words, cwd=self.place, env=self.env, check=True, capture_output=True)
        return self.place / ".resumectl" / f"{job}.jsonl"


def ours(*options: str, items: str = "big", progress: str = "none") -> list[str]:
    return [*OURS, "run", "--items", items, "--progress", progress, *options]


@contextmanager
def nowhere() -> Iterator[int]:
    yield subprocess.DEVNULL


@contextmanager
def terminal() -> Iterator[int]:
    """A terminal that somebody reads."""
    ours_end, theirs = pty.openpty()
    reader = threading.Thread(target=_drain, args=(ours_end,))
    reader.start()
    try:
        yield theirs
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours_end)


def _drain(fd: int) -> None:
    try:
        while os.read(fd, 1 << 16):
            pass
    except OSError:  # the last of the other end is closed
        pass
