"""What a checkpoint of `process_batches` says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from resumectl import read_journal


def states(book: Path) -> dict[str, str]:
    return {entry.id.decode(): entry.state for entry in read_journal(book)}


def record(book: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in book.read_bytes().splitlines()]
    return [line for line in lines if line["t"] == kind]
