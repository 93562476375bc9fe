"""What the attempts cost, as far as they say so.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .records import Record


@dataclass(slots=True)
class Spending:
    """Reported costs and named sums; an attempt that reports no cost counts as the mean of those that do."""

    known: float = 0.0
    reported: int = 0  # attempts that said what they cost
    unknown: int = 0  # attempts that did not
    sums: dict[str, float] = field(default_factory=dict)
    wanted: bool = False  # there is a source of costs, so that its silence is worth a word

    def add(self, cost: float | None, sums: Mapping[str, float], times: int = 1) -> None:
        """One ended attempt, or so many that are alike."""
        if cost is None:
            self.unknown += times
        else:
            self.known += cost * times
            self.reported += times
        for name, amount in sums.items():
            self.sums[name] = self.sums.get(name, 0.0) + amount * times

    def take(self, record: Record, times: int = 1) -> None:
        """What a record says that an attempt cost, or each of so many; one of which a crash left no end may have cost
        something too."""
        rest = record.rest
        if rest.get("by") == "compact":
            self.take_all(rest)
        elif ("ms" in rest or record.t == "cut_off") and rest.get("why") not in ("stop", "released"):
            self.add(rest.get("cost"), rest.get("sums") or {}, times)

    def take_all(self, rest: Mapping[str, Any]) -> None:
        """All attempts of an item, as `fields` gave them to compact."""
        self.known += rest.get("cost", 0.0)
        self.reported += rest.get("costs", int("cost" in rest))
        self.unknown += rest.get("unknown", 0)
        for name, amount in (rest.get("sums") or {}).items():
            self.sums[name] = self.sums.get(name, 0.0) + amount

    def fields(self) -> dict[str, Any]:
        """As one record has it that stands for several attempts."""
        found: dict[str, Any] = {"cost": self.known} if self.reported else {}
        if self.reported > 1:
            found["costs"] = self.reported
        if self.unknown:
            found["unknown"] = self.unknown
        return found | ({"sums": self.sums} if self.sums else {})

    @property
    def told(self) -> bool:
        """Whether any attempt reported a figure, or should have."""
        return bool(self.reported or self.sums or (self.wanted and self.unknown))

    @property
    def mean(self) -> float | None:
        """The mean of the reported costs; None while there is none."""
        return self.known / self.reported if self.reported else None

    @property
    def total(self) -> float:
        """The reported costs, and the mean for each attempt that reported none."""
        return self.known + self.unknown * (self.mean or 0.0)
