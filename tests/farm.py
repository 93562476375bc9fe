"""A real Dask scheduler and real workers on loopback, each ended by its own pid."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import Scratch, until

QUIET = ("--no-dashboard",)
# The witness is a file of the commands' own: one line when an attempt starts, one when it ends.
WITNESS = ("sh", "-c", 'echo "start $1" >>log; sleep "$SECONDS_EACH"; echo "end $1" >>log', "_", "{}")


class Farm:
    """A scheduler and its workers; `file` is the scheduler file."""

    def __init__(self, path: Path, *security: str, env: dict[str, str] | None = None, port: int = 0) -> None:
        self.path, self._security = path, security
        path.mkdir(exist_ok=True)
        self.file = path / "scheduler.json"
        root = str(Path(__file__).parent.parent)
        self.env = {**os.environ, "PYTHONPATH": root, **(env or {})}
        self.env["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "3"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--port", str(port), "--scheduler-file", str(self.file))
        until(lambda: self.file.exists() and self.file.read_text().rstrip().endswith("}"), "a scheduler")

    def _start(self, what: str, *words: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", what, "--host", "127.0.0.1", *QUIET, *self._security, *words]
        with open(self.path / f"{what}.{len(self.processes)}.log", "wb") as log:
            process = subprocess.Popen(
                command, cwd=self.path, env={**self.env, **(env or {})}, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process

    def worker(self, threads: int = 1, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """One more worker, which may take a second or two until it is there."""
        words = ["--scheduler-file", str(self.file), "--nthreads", str(threads), "--no-nanny"]
        return self._start("worker", *words, "--local-directory", str(self.path / "scratch"), env=env)

    def workers(self, count: int) -> list[subprocess.Popen[bytes]]:
        """Exactly so many workers of one slot, all of them there; those of an earlier test serve again."""
        alive = [process for process in self.processes[1:] if process.poll() is None]
        for process in alive[count:]:
            self.end(process)
        started = [self.worker() for _ in range(count - len(alive))]
        for process in started:
            self.there(process)
        return alive[:count] + started

    def there(self, process: subprocess.Popen[bytes]) -> None:
        log = self.path / f"worker.{self.processes.index(process)}.log"
        until(lambda: "Registered to" in log.read_text(), "a worker")

    @property
    def address(self) -> str:
        return str(json.loads(self.file.read_text())["address"])

    def logs(self) -> str:
        return "".join(path.read_text() for path in self.path.glob("*.log"))

    def end(self, process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
        """A worker that is told to go takes its commands with it; one that is killed leaves them.

        Dask may hang for ever in the end of a worker that was closing when it was told, so that is not waited for long.
        """
        if process.poll() is None:
            os.kill(process.pid, signal.SIGCONT)
            os.kill(process.pid, number)
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def of(self, pid: int) -> subprocess.Popen[bytes]:
        return next(process for process in self.processes if process.pid == pid)

    def close(self) -> None:
        """Every test has seen the end of its commands."""
        for process in reversed(self.processes):
            self.end(process, signal.SIGKILL)


class Hands:
    """Runs of the program on a farm, in a scratch directory."""

    def __init__(self, scratch: Scratch, farm: Farm, seconds: float = 0.0) -> None:
        self.scratch, self.farm = scratch, farm
        scratch.env["SECONDS_EACH"] = str(seconds)
        self.words = ["run", "--engine", "dask", "--scheduler", str(farm.file), "--items", "i"]

    def items(self, count: int) -> list[str]:
        names = [f"i{n:03}" for n in range(count)]
        self.scratch.items(*names)
        return names

    def run(self, *words: str, command: tuple[str, ...] = WITNESS) -> Any:
        return self.scratch.run(*self.words, *words, *command)

    def start(self, *words: str, command: tuple[str, ...] = WITNESS) -> subprocess.Popen[bytes]:
        with open(self.scratch.path / "err", "ab") as err:
            return self.scratch.start(*self.words, *words, *command, stderr=err)

    @property
    def err(self) -> str:
        return (self.scratch.path / "err").read_text()

    def count(self, what: str, item: str | None = None) -> int:
        """How many lines of the witness say that an item started, or ended."""
        lines = self.scratch.lines("log")
        return sum(line.startswith(what) and (item is None or line == f"{what} {item}") for line in lines)

    def children(self) -> list[int]:
        """The pids of what this job's commands left alive."""
        mine = f"RESUMECTL_JOURNAL={self.scratch.journal()}".encode()
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and mine in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
            except OSError:
                continue
        return found

    def gone(self) -> None:
        until(lambda: not self.children(), "the end of all commands")

    def ended(self, *types: str) -> dict[str, str]:
        """The last word of the journal on each item."""
        kinds = types or ("started", "done", "failed", "cut_off", "uncharged", "held")
        return {record["id"]: record["t"] for record in self.scratch.records("sh", *kinds) if "id" in record}


def started_once(scratch: Scratch) -> bool:
    """Whether the witness has seen no item start twice."""
    return max(Counter(scratch.lines("log")).values(), default=0) <= 1


def raises(call: Callable[[], Any], error: type[Exception]) -> str:
    """The text of the error that a call ends in; empty if it does not."""
    try:
        call()
    except error as found:
        return str(found)
    return ""
