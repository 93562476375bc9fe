"""The program forked from an interpreter that has its imports behind it: a run costs what it does, not its start-up.

Only tests may do this; the program itself never forks.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
ROOT = Path(__file__).parent.parent
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


@dataclass(frozen=True)
class Ended:
    """What one call of the program came to; a negative code is a signal."""

    code: int
    out: str
    err: str


class Warm:
    """One warm interpreter; runs one program at a time."""

    def __init__(self) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._streams: tuple[Path, Path] | None = None

    def start(
        self, words: list[str], cwd: Path, env: dict[str, str], stdin: str = "", streams: Path | None = None, **spy: Any
    ) -> None:
        """`resumectl WORDS…` in the background; `spy` is what a diskspy.Spy is made of.

        Its output goes to `out` and `err` in the directory `streams`, by default `cwd`.
        """
        place = streams or cwd
        self._streams = place / "out", place / "err"
        for path in self._streams:
            path.write_bytes(b"")
        request = {"words": words, "cwd": str(cwd), "env": env, "stdin": stdin, "streams": str(place)}
        request |= {"spy": {name: str(value) if isinstance(value, Path) else value for name, value in spy.items()}}
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()

    def wait(self) -> Ended:
        """The program's end.  What it had started may live on."""
        code = self._answer()
        assert self._streams is not None
        out, err = (path.read_text(errors="surrogateescape") for path in self._streams)
        return Ended(code, out, err)

    def drain(self) -> None:
        """Wait until nothing lives that any program had started."""
        assert self._server.stdin is not None
        self._server.stdin.write(b"{}\n")
        self._server.stdin.flush()
        self._answer()

    def _answer(self) -> int:
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        assert line, "the warm interpreter has died"
        return int(line)

    def close(self) -> None:
        os.killpg(self._server.pid, signal.SIGKILL)  # with the program, if a failed test has left one
        self._server.wait()


def spread(work: Callable[[Warm, T], None], points: Iterable[T], warms: Sequence[Warm]) -> None:
    """`work(warm, point)` for every point, one interpreter a thread; AssertionError with every point that failed."""
    left, failed = deque(points), []

    def drive(warm: Warm) -> None:
        while left:
            point = left.popleft()
            try:
                work(warm, point)
            except AssertionError as error:
                failed.append(f"{point}: {error}")

    with ThreadPoolExecutor(len(warms)) as pool:
        list(pool.map(drive, warms))
    assert not failed, f"{len(failed)} points failed\n" + "\n".join(failed[:20])


def serve() -> None:
    """Fork for each request line; answer with how that process ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1)  # the orphans of a killed program are ours to wait for
    with os.fdopen(os.dup(1), "wb", buffering=0) as answers:
        _warm_up()
        for line in iter(sys.stdin.buffer.readline, b""):
            answers.write(b"%d\n" % _serve_one(json.loads(line)))


def _warm_up() -> None:
    """Have everything imported that a run imports, by a run that writes nothing."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    import portalocker  # noqa: F401
    import typer.main

    typer.main.get_command = functools.cache(typer.main.get_command)  # built once, not once a run
    from resumectl.cli import _run

    sys.path.insert(0, str(Path(__file__).parent))
    import diskspy  # noqa: F401

    try:
        import psycopg  # noqa: F401
        import sqlalchemy.dialects.postgresql.psycopg
        import sqlalchemy.dialects.sqlite.pysqlite  # noqa: F401

        import resumectl.rows  # noqa: F401
    except ImportError:
        pass  # their tests are skipped, or say that they are missing
    sys.argv = ["resumectl", "run", "--dry-run", "-a", os.devnull, "--", "true"]
    _run(sys.argv[1:])
    gc.freeze()


def _serve_one(request: dict[str, Any]) -> int:
    if not request:
        return _reap()
    pid = os.fork()
    if pid == 0:
        _become(**request)
    while True:  # an orphan that ends meanwhile is collected, as by an init
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def _reap() -> int:
    count = 0
    try:
        while os.waitpid(-1, 0):
            count += 1
    except ChildProcessError:
        return count


def _become(words: list[str], cwd: str, env: dict[str, str], stdin: str, streams: str, spy: dict[str, Any]) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    _redirect(stdin, streams)
    sys.argv = ["resumectl", *words]
    if spy:
        from diskspy import Spy

        if spy.pop("database", False):
            from dbspy import DatabaseSpy as Spy
        Spy(**spy).install()
    from resumectl.cli import main

    main()


def _redirect(stdin: str, streams: str) -> None:
    reader, writer = os.pipe()
    os.write(writer, stdin.encode(errors="surrogateescape"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    out, err = (os.open(os.path.join(streams, name), flags, 0o600) for name in ("out", "err"))
    for new, old in ((reader, 0), (out, 1), (err, 2)):
        os.dup2(new, old)
    for fd in (reader, writer, out, err):
        os.close(fd)


if __name__ == "__main__":
    serve()
