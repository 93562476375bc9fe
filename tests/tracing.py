"""The installed program, unmodified, under strace: what it asks of the system, and what happens when that fails."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oracle import History
from warm import ROOT, Ended

PROGRAM = [sys.executable, "-m", "resumectl"]
# What changes files or makes a change durable; each under the names that an architecture may give it.
CHANGES = {
    "mkdir": "?mkdir,?mkdirat",
    "openat": "openat",
    "write": "write",
    "ftruncate": "ftruncate",
    "fdatasync": "fdatasync",
    "fsync": "fsync",
    "rename": "?rename,?renameat,?renameat2",
    "link": "?link,?linkat",
    "unlink": "?unlink,?unlinkat",
}
LONGEST = 65536  # bytes of a string that strace shows whole
_CALL = re.compile(r"(\w+)\((.*)\) += (.*)")
_FILE = re.compile(r"\d+<(.*?)>(?:, |$)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Call:
    """One system call of one process or thread."""

    pid: int
    name: str
    arguments: str
    result: str

    @property
    def injected(self) -> bool:
        return self.result.endswith("(INJECTED)")

    @property
    def kind(self) -> str:
        """Its name in CHANGES."""
        return next((kind for kind, names in CHANGES.items() if self.name in names.replace("?", "").split(",")), self.name)

    @property
    def paths(self) -> list[str]:
        """The files that it names, by descriptor or by path; what is written is no name."""
        if match := _FILE.match(self.arguments):
            return [match[1]]
        return _STRING.findall(self.arguments)

    @property
    def text(self) -> str:
        """What a write writes (as far as it is printable)."""
        return "".join(_STRING.findall(self.arguments)).replace('\\"', '"') if self.kind == "write" else ""


@dataclass(frozen=True)
class Fault:
    """What happens at the `when`-th call of a kind on the job's paths: an error's name, or KILL.

    `when` is strace's: `3`, or `3+` for the third and all that follow.
    """

    kind: str
    what: str
    when: str

    def options(self) -> list[str]:
        how = "signal=KILL" if self.what == "KILL" else f"error={self.what}"
        # strace loses an injected signal under its seccomp filter, which spares half of the time otherwise
        quick = [] if self.what == "KILL" else ["--seccomp-bpf"]
        return [*quick, "-e", f"inject={CHANGES[self.kind]}:{how}:when={self.when}"]


def unavailable() -> str | None:
    """Why nothing can be traced here, None if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(
        ["strace", "-f", "-y", "-P", "/", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=1", "true"],
        capture_output=True,
        text=True,
    )
    return f"strace can't trace here: {tried.stderr.strip()[-200:]}" if tried.returncode else None


def trace(words: Sequence[str], log: Path, options: Iterable[str], cwd: Path, env: dict[str, str], stdin: str = "") -> Ended:
    """`resumectl WORDS…` to its end under strace.  Whatever it started has ended too."""
    ended = subprocess.run(
        ["strace", "-f", "-y", "-s", str(LONGEST), "-o", str(log), *options, *PROGRAM, *words],
        cwd=cwd,
        env={**env, "PYTHONPATH": os.pathsep.join([*filter(None, [env.get("PYTHONPATH")]), str(ROOT)])},
        input=stdin.encode(),
        capture_output=True,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def traced(
    history: History, *extra: str, fault: Fault | None = None, words: Sequence[str] = (), everywhere: bool = False
) -> tuple[Ended, list[Call]]:
    """The next run of a history (or another command on its job), and its calls on the job's paths (or on all)."""
    log = history.path / "strace"
    options = ["-e", f"trace={','.join(CHANGES.values())}"]
    options += [word for path in ([] if everywhere else history.paths()) for word in ("-P", str(path))]
    options += fault.options() if fault else ["--seccomp-bpf"]
    before, stdin = history.found(), history.list if history.stream else ""
    ended = trace(words or history.words(*extra), log, options, history.path, history.env, stdin)
    return history.saw(before, ended), calls(log)


def calls(log: Path) -> list[Call]:
    """The calls that strace wrote down, in the order in which they came back."""
    found, begun = [], {}
    for line in log.read_text(errors="surrogateescape").splitlines():
        number, _, text = line.partition(" ")
        pid, text = int(number), text.strip()
        if text.endswith(" <unfinished ...>"):
            begun[pid] = text.removesuffix(" <unfinished ...>")
            continue
        if text.startswith("<... "):
            text = begun.pop(pid, "") + text.partition(" resumed>")[2]
        if match := _CALL.fullmatch(text):
            found.append(Call(pid, *match.groups()))
    return found


def own(found: Sequence[Call]) -> list[Call]:
    """The calls of the program's main thread, which alone writes."""
    return [call for call in found if call.pid == found[0].pid]
