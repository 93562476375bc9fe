"""No change reaches the job's files but through the Disk object: so a test that stands in for it sees everything.

The system calls of the whole program are compared with what the Disk says that it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest
import tracing
from diskspy import noted
from oracle import JOB, History
from tracing import Call, Fault, calls, trace
from warm import Warm, spread

REASON = tracing.unavailable()
pytestmark = [pytest.mark.strace, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
SPYING = """
import os, sys
sys.path.insert(0, {tests!r})
from diskspy import Spy
Spy(log={log!r}).install()
"""
TRACED = "%file,write,pwrite64,writev,pwritev,pwritev2,ftruncate,fallocate,copy_file_range,sendfile,fsync,fdatasync"
# What changes nothing, of the calls that strace counts to %file.
LOOKS = ("stat", "lstat", "statx", "newfstatat", "fstatat64", "statfs", "access", "faccessat", "faccessat2", "readlink")
LOOKS += ("readlinkat", "execve", "getcwd", "chdir", "getxattr", "lgetxattr", "inotify_add_watch")
NAMES = {"sync": "fdatasync", "sync_dir": "fsync", "truncate": "ftruncate"}  # what a Disk calls what the system calls so
Event = tuple[str, list[str]]


@dataclass(frozen=True)
class Scene:
    """A state of the job, what is called then, and what fails."""

    words: tuple[str, ...]
    stream: bool = False
    done: bool = True
    torn: bool = False
    fault: Fault | None = None


RUN = ("run",)
SCENES = [
    Scene(RUN, done=False),
    Scene(RUN, stream=True, done=False),
    Scene(RUN, torn=True),
    Scene(RUN, done=False, fault=Fault("fdatasync", "EIO", "9")),
    Scene(("run", "--fresh")),
    Scene(("mark", "failed", "--id", "b", "--job", JOB)),
    Scene(("reset", JOB, "--id", "b", "--yes")),
    Scene(("reset", JOB, "--purge", "--yes")),
    Scene(("compact", JOB)),
]


def test_every_change_to_the_files_of_a_job_is_an_operation_of_its_disk(ram, warms):
    """Runs from a file and from a stream, recovery, a rewrite after a failed sync, --fresh, mark, reset, compact."""

    def audit(warm: Warm, scene: Scene) -> None:
        history = prepared(ram / str(SCENES.index(scene)), warm, scene)
        found, log = spied(history, scene)
        inside, outside = sorted_out(found, history.journal.parent, log)
        known, _ = divided(operations(log), history.journal.parent)
        assert known, "nothing was done"
        for system, disk in zip_longest(inside, known):
            assert system == disk, f"the system did {system}, the Disk {disk}"
        assert all(name == "fsync" for name, _ in outside), f"changed elsewhere: {outside}"

    spread(audit, SCENES, warms)


def prepared(path: Path, warm: Warm, scene: Scene) -> History:
    history = History(path, ["a", "b"], 2, scene.stream)
    if scene.torn:
        history.run(warm, at=30)
        warm.drain()
        with history.journal.open("ab") as file:
            file.write(b'{"t":"done","id":"a')
    elif scene.done:
        assert history.run(warm).code == 0
    return history


def spied(history: History, scene: Scene) -> tuple[list[Call], Path]:
    """What the whole program asked of the system, and where its Disk wrote down what it did."""
    spy, log = history.path / "spy", history.path / "operations"
    spy.mkdir()
    (spy / "sitecustomize.py").write_text(SPYING.format(tests=str(Path(__file__).parent), log=str(log)))
    env = {**history.env, "PYTHONPATH": str(spy), "PYTHONDONTWRITEBYTECODE": "1"}
    words = history.words(*scene.words[1:]) if scene.words[0] == "run" else list(scene.words)
    options = ["-e", f"trace={TRACED}", *(scene.fault.options() if scene.fault else ["--seccomp-bpf"])]
    stdin = history.list if scene.stream else ""
    ended = trace(words, history.path / "strace", options, history.path, env, stdin)
    assert ended.code == (74 if scene.fault else 0), ended.err
    return own(calls(history.path / "strace")), log


def own(found: list[Call]) -> list[Call]:
    """The program's calls, all its threads': whoever executes another program is a child."""
    children = {call.pid for call in found if call.name == "execve" and call.pid != found[0].pid}
    return [call for call in found if call.pid not in children]


def sorted_out(found: Iterable[Call], directory: Path, log: Path) -> tuple[list[Event], list[Event]]:
    """The changes in the job's directory and those elsewhere, those that went well."""
    went_well = (call for call in found if call.name not in LOOKS and not call.result.startswith("-1"))
    events = (changed(call) for call in went_well)
    return divided((event for event in events if event is not None and event[1] != [str(log)]), directory)


def divided(events: Iterable[Event], directory: Path) -> tuple[list[Event], list[Event]]:
    inside: list[Event] = []
    outside: list[Event] = []
    for event in events:
        here = any(directory in [Path(path), *Path(path).parents] for path in event[1])
        (inside if here else outside).append(event)
    return inside, outside


def changed(call: Call) -> Event | None:
    """What a call changed, by its kind and the files' names; None if nothing that has a name."""
    if call.kind == "openat":
        makes = ("O_CREAT" in call.arguments or "O_TRUNC" in call.arguments) and "O_TMPFILE" not in call.arguments
        return ("create", call.paths[-1:]) if makes else None
    if call.kind == "write":
        standard = int(call.arguments.partition("<")[0]) <= 2
        named = call.paths[0].startswith("/") and not call.paths[0].startswith("/dev/null")
        return (f"write {call.result}", call.paths) if named and not standard else None
    return call.kind, call.paths


def operations(log: Path) -> Iterator[Event]:
    """What the Disk did, in the system's words."""
    for operation in noted(log):
        if operation.error or operation.name in ("open", "lock"):
            continue
        name = f"write {len(operation.data)}" if operation.name == "write" else NAMES.get(operation.name, operation.name)
        yield name, operation.paths
