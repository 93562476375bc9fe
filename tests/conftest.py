"""A scratch directory in which the program is run, and run again, as a user would."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from warm import Warm

from resumectl.place import Place
from resumectl.snapshot import take

PROGRAM = [sys.executable, "-m", "resumectl"]
APPEND = ("sh", "-c", 'printf "%s\\n" "$1" >>effects', "_", "{}")
PATIENCE = 90.0  # seconds after which a wait has failed; never a measure of anything
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # by a shell's `&`; whatever the tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Result:
    """What one call of the program came to."""

    code: int
    out: bytes
    err: str


class Scratch:
    """One directory; `run` and `start` call the program in it, `effects` is what the children did."""

    def __init__(self, path: Path, warm: Warm | None = None) -> None:
        """`warm` saves `run` the start-up of the interpreter, where nothing depends on that."""
        self.path, self._warm = path, warm
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("RESUMECTL_")}
        self.env["PYTHONPATH"] = str(Path(__file__).parent.parent)
        self._started: list[subprocess.Popen[bytes]] = []

    def write(self, name: str, data: bytes | str) -> Path:
        path = self.path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def items(self, *ids: bytes | str, name: str = "i") -> Path:
        return self.write(name, b"".join((id if isinstance(id, bytes) else id.encode()) + b"\n" for id in ids))

    def run(self, *words: str | bytes, stdin: bytes | int = b"", **options: Any) -> Result:
        """`resumectl WORDS…` to its end."""
        if self._warm is not None and isinstance(stdin, bytes) and len(stdin) < 1 << 15 and not options:
            return self._run_warm(self._warm, words, stdin)
        given = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        env = {**self.env, **options.pop("env", {})}
        ended = subprocess.run(
            [*PROGRAM, *words], cwd=self.path, env=env, capture_output=True, timeout=PATIENCE * 4, **given, **options
        )
        return Result(ended.returncode, ended.stdout, ended.stderr.decode(errors="replace"))

    def _run_warm(self, warm: Warm, words: Sequence[str | bytes], stdin: bytes) -> Result:
        streams = self.path.parent / "streams"
        streams.mkdir(exist_ok=True)
        warm.start([os.fsdecode(word) for word in words], self.path, self.env, os.fsdecode(stdin), streams)
        code = warm.wait().code
        return Result(code, (streams / "out").read_bytes(), (streams / "err").read_bytes().decode(errors="replace"))

    def start(self, *words: str | bytes, **options: Any) -> subprocess.Popen[bytes]:
        """`resumectl WORDS…` in the background, its streams discarded unless given, SIGINT not ignored."""
        defaults: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        env = {**self.env, **options.pop("env", {})}
        process = subprocess.Popen(
            [*PROGRAM, *words], cwd=self.path, env=env, start_new_session=True, **{**defaults, **options}
        )
        self._started.append(process)
        return process

    def lines(self, name: str = "effects") -> list[str]:
        """The whole lines of a witness file, in order."""
        try:
            return (self.path / name).read_text(errors="surrogateescape").splitlines()
        except FileNotFoundError:
            return []

    def effects(self) -> list[str]:
        return self.lines("effects")

    def journal(self, job: str = "sh") -> Path:
        return self.path / ".resumectl" / f"{job}.jsonl"

    def records(self, job: str = "sh", *types: str) -> list[dict[str, Any]]:
        """The journal's intact lines as JSON, of the given types only."""
        found = []
        for line in self.journal(job).read_bytes().split(b"\n"):
            try:
                record = json.loads(line.lstrip(b"\0"))
            except ValueError:
                continue
            if not types or record["t"] in types:
                found.append(record)
        return found

    def status(self, *words: str) -> dict[str, Any]:
        """`status --json` of the only job."""
        return json.loads(self.run("status", "--json", *words).out)

    def counts(self, job: str = "sh") -> dict[str, int]:
        """What `status` counts, without a start of the program."""
        found: dict[str, int] = take(Place(self.journal(job))).fields()["counts"]
        return found

    def has(self, **counts: int) -> bool:
        """Whether `status` would count so many, among others."""
        return self.counts() == self.counts() | counts

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()


def until(holds: Callable[[], Any], what: str = "it") -> Any:
    """Wait for a fact (a line in a file, a record, an exit); fail after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true")
        time.sleep(0.01)
    return found


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warms: list[Warm]) -> Any:
    """A Scratch in a new directory; HOME is there too, so that no test touches the real one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place = Scratch(tmp_path / "work", warms[0])
    place.path.mkdir()
    yield place
    place.close()


@pytest.fixture(scope="session")
def warms() -> Iterator[list[Warm]]:
    """Two warm interpreters, for tests that run the program a hundred times."""
    pair = [Warm(), Warm()]
    yield pair
    for warm in pair:
        warm.close()


class Quick(Scratch):
    """A Scratch whose `run` costs no start of an interpreter; its stdin is empty."""

    def __init__(self, path: Path, warm: Warm) -> None:
        super().__init__(path)
        self._warm = warm

    def run(self, *words: str | bytes, stdin: bytes | int = b"", **options: Any) -> Result:
        env = {**self.env, **options.pop("env", {})}
        assert not stdin and not options
        self._warm.start([os.fsdecode(word) for word in words], self.path, env)
        ended = self._warm.wait()
        return Result(ended.code, (self.path / "out").read_bytes(), ended.err)


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warms: list[Warm]) -> Any:
    """A Quick in a new directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    place = Quick(tmp_path / "work", warms[0])
    yield place
    place.close()


@pytest.fixture
def ram(tmp_path: Path) -> Iterator[Path]:
    """A new directory in memory where there is one, so that a sync costs nothing."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    path = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="resumectl-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def book(ram: Path) -> Path:
    """Where a checkpoint of `process_batches` is to be."""
    return ram / "work.jsonl"


@pytest.fixture(scope="session")
def server() -> Iterator[Any]:
    """A PostgreSQL of the tests' own, or why there is none; ask `tables.needs` for it."""
    from postgres import Server, Unavailable

    try:
        started = Server()
    except Unavailable as error:
        yield str(error)
        return
    yield started
    started.close()


@pytest.fixture(scope="session")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Dask scheduler for all tests that need no other; each says how many workers it wants."""
    from farm import Farm

    farm = Farm(tmp_path_factory.mktemp("farm"))
    yield farm
    farm.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def base(request: pytest.FixtureRequest, scratch: Scratch) -> Any:
    """A database for a table, of each kind in turn."""
    from tables import needs, postgres_base, sqlite_base

    if request.param == "sqlite":
        return sqlite_base(scratch.path)
    return postgres_base(needs(request.getfixturevalue("server")))


@pytest.fixture
def llm(scratch: Scratch, warms: list[Warm]) -> Any:
    """The fake claude in a Scratch; nothing of it costs anything."""
    from llm import Llm

    return Llm(scratch, warms[0])


@pytest.fixture
def batches(scratch: Scratch, warms: list[Warm]) -> Any:
    """Batch commands in a Scratch, run from a warm interpreter."""
    from batches import Batches

    return Batches(scratch, warms[0])


@pytest.fixture
def kept(scratch: Scratch, warms: list[Warm]) -> Any:
    """Commands that print in a Scratch, run from a warm interpreter."""
    from kept import Kept

    return Kept(scratch, warms[0])
