"""What a run was asked to do about retries, budgets and batches, and what earlier runs left for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .throttle import Rhythm
from .verdict import Verdict


@dataclass(frozen=True)
class Policy:
    """When to try again and when to stop starting.  0 is no limit for counts, None for times and costs."""

    max_failures: int = 0
    max_consecutive_failures: int = 20
    max_items: int = 0
    max_time: float | None = None  # seconds
    retries: int = 0
    max_cost: float | None = None  # of this run
    max_total_cost: float | None = None  # of all runs
    rhythm: Rhythm = Rhythm()
    batch: int = 1  # items of one start, at most


@dataclass(frozen=True)
class Before:
    """What earlier runs left: the mean seconds of an attempt, their cost, whether the last one hit a limit."""

    mean: float | None = None
    cost: float = 0.0
    limited: bool = False


class Ending(NamedTuple):
    """How an attempt is to be recorded, and whether another one of it follows in this run."""

    verdict: Verdict
    again: bool = False
