"""A scratch directory with the fake claude first on the PATH, its plan, and what it wrote down."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from conftest import Scratch
from warm import Ended, Warm

CLAUDE = ("claude", "-p", "{}", "--output-format", "json")
TEXT = ("claude", "-p", "{}")
FAR = 4102444800  # 2100, when no test runs any more


class Llm:
    """Runs of resumectl over the fake claude; `plan` says what it answers, `calls` what it was asked."""

    def __init__(self, scratch: Scratch, warm: Warm) -> None:
        self.scratch, self._warm = scratch, warm
        self.state = scratch.path / "state"
        (programs := scratch.path / "bin").mkdir()
        self.state.mkdir()
        (programs / "claude").symlink_to(Path(__file__).parent / "bin" / "claude")
        (programs / "python3").symlink_to(os.path.realpath(sys.executable))  # a shim costs ten times as much
        scratch.env |= {
            "PATH": f"{programs}{os.pathsep}{scratch.env['PATH']}",
            "FAKE_CLAUDE_STATE": str(self.state),
            "FAKE_CLAUDE_PLAN": str(scratch.path / "plan"),
        }
        self.plan()

    def plan(self, **outcomes: Any) -> None:
        """Outcomes by item; `rest` is everything else."""
        rest = outcomes.pop("rest", ["ok"])
        self.scratch.write("plan", json.dumps({"*": rest, **outcomes}))

    def ids(self, count: int) -> list[str]:
        """So many items, `item-0001` the first; none contains another's name."""
        ids = [f"item-{n:04}" for n in range(1, count + 1)]
        self.scratch.items(*ids)
        return ids

    def run(self, *options: str, command: tuple[str, ...] = CLAUDE, **env: str) -> Ended:
        """A run over the items to its end."""
        return self.call("run", "--items", "i", *options, "--", *command, **env)

    def call(self, *words: str, **env: str) -> Ended:
        self._warm.start(list(words), self.scratch.path, {**self.scratch.env, **env})
        return self._warm.wait()

    def status(self, job: str = "claude") -> dict[str, Any]:
        return json.loads(self.call("status", "--json", "--job", job).out)

    def noted(self, name: str = "calls.jsonl") -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.scratch.lines(f"state/{name}")]

    def calls(self) -> list[str]:
        """The items that it was called for, in order."""
        return [line["item"] for line in self.noted() if line["event"] == "start"]

    def most_at_once(self, calls: list[dict[str, Any]] | None = None) -> int:
        most = count = 0
        for line in calls if calls is not None else self.noted():
            count += 1 if line["event"] == "start" else -1
            most = max(most, count)
        return most

    def counts(self, job: str = "claude") -> dict[str, int]:
        """The states that are not empty."""
        counts = self.status(job)["counts"]
        return {name: count for name, count in counts.items() if count and name != "total"}

    def ends(self, *types: str) -> list[dict[str, Any]]:
        return self.scratch.records("claude", *types)
