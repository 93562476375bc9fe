"""Batch commands for the tests: small scripts that work through `$RESUMECTL_ITEMS_FILE`, and what they wrote down."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from conftest import Scratch
from warm import Ended, Warm

# What every script below begins with: `items`, `report(id, status)`, `note(file, text)` with one write a line.
HEAD = """
import json, os, signal, sys, time
items = [json.loads(line) for line in open(os.environ["RESUMECTL_ITEMS_FILE"])]
def note(name, text):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, text.encode() + b"\\n")
    os.close(fd)
def report(id, status="done", **more):
    note(os.environ["RESUMECTL_REPORT"], json.dumps({"id": id, "status": status, **more}))
def gate():
    for _ in range(2000):
        if os.path.exists("go"):
            return
        time.sleep(0.02)
"""
WORK = "for item in items:\n    note('effects', item['id'])\n    report(item['id'])\n"


def script(scratch: Scratch, body: str, name: str = "work.py") -> tuple[str, ...]:
    """A batch command in Python: the words that run `body`, with no item among its arguments needed."""
    scratch.write(name, HEAD + body)
    return os.path.realpath(sys.executable), "-IS", name


class Batches:
    """Runs of batch commands from a warm interpreter; the job is `b`."""

    def __init__(self, scratch: Scratch, warm: Warm) -> None:
        self.scratch, self.warm = scratch, warm

    def ids(self, count: int) -> list[str]:
        ids = [f"item-{n:04}" for n in range(1, count + 1)]
        self.scratch.items(*ids)
        return ids

    def run(self, *words: str, stdin: str = "") -> Ended:
        """`resumectl run --job b WORDS…` to its end."""
        self.start(*words, stdin=stdin)
        return self.warm.wait()

    def start(self, *words: str, stdin: str = "") -> None:
        self.warm.start(["run", "--job", "b", *words], self.scratch.path, self.scratch.env, stdin)

    def records(self, *types: str) -> list[dict[str, Any]]:
        return self.scratch.records("b", *types)

    def starts(self) -> list[list[str]]:
        """The ids of each start, in order."""
        return [one.get("ids") or [one["id"]] for one in self.records("started")]

    def papers(self) -> list[str]:
        """The names of what lies beside the journal for batches that run, or ran when the program was killed."""
        return sorted(path.name for path in self.folder.iterdir() if ".batch." in path.name or ".report." in path.name)

    @property
    def folder(self) -> Path:
        return self.scratch.journal("b").parent

    def lines(self, name: str) -> list[Any]:
        """The lines of a witness file as JSON."""
        return [json.loads(line) for line in self.scratch.lines(name)]
