"""What commands print and where it is kept: a warm runner, the bytes of an item, readers."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from conftest import Scratch
from warm import Ended, Warm

# 1 to 5 kB that tell their item: the number's line, as often as fits.
PRINTS = ("sh", "-c", 'echo $1 >>effects; yes "item $1 $(($1 * 7919))" | head -c $((1000 + $1 * 997 % 4000)); echo', "_", "{}")


def printed(id: str) -> bytes:
    """What PRINTS prints for an item."""
    line, size = f"item {id} {int(id) * 7919}\n".encode(), 1000 + int(id) * 997 % 4000
    return (line * (size // len(line) + 1))[:size] + b"\n"


class Kept:
    """Runs of commands that print; the job is `sh`."""

    def __init__(self, scratch: Scratch, warm: Warm) -> None:
        self.scratch, self.warm = scratch, warm

    def run(self, *words: str, stdin: str = "") -> Ended:
        """`resumectl WORDS…` to its end."""
        self.warm.start([*words], self.scratch.path, self.scratch.env, stdin)
        return self.warm.wait()

    def out(self) -> bytes:
        """What the last run printed, to the byte."""
        return (self.scratch.path / "out").read_bytes()

    def numbers(self, count: int) -> list[str]:
        ids = [str(n) for n in range(1, count + 1)]
        self.scratch.items(*ids)
        return ids

    def results(self, *words: str) -> list[dict[str, Any]]:
        """`results --format jsonl` as objects."""
        self.run("results", "--format", "jsonl", *words)
        return [json.loads(line) for line in self.out().splitlines()]

    def file(self, suffix: str = ".out") -> Any:
        return self.scratch.journal().with_suffix(suffix)


def sha256(data: bytes) -> str:
    return subprocess.run(["sha256sum"], input=data, capture_output=True, check=True).stdout.split()[0].decode()
