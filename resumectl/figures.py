"""What all ended attempts of a journal come to together: time, money, the last limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .columns import SILENT, Rows, told
from .records import ENDS, Record
from .spending import Spending

PAST = ("ended", "ended_ms", "limited", "resume_at")


class Figures:
    """Takes in the ends of attempts, in the order of the journal."""

    def __init__(self) -> None:
        self.ended = 0  # done attempts
        self.ended_ms = 0  # of all of them
        self.run_ended = 0  # attempts ended in the last run
        self.spending = Spending()  # of all attempts, failed ones too
        self.limited = False  # a limit was met, and nothing was done since
        self.resume_at: str | None = None  # when the last limit said that it ends

    def begin(self, run: Mapping[str, Any]) -> None:
        """A run begins; the one that compact wrote tells what was before it."""
        self.run_ended, self.resume_at = 0, None
        past = run.get("past") or {}
        vars(self).update((name, past[name]) for name in PAST if name in past)

    def past(self) -> dict[str, Any]:
        """What compact writes beside the last run, for no item's record tells it any more."""
        return {name: getattr(self, name) for name in PAST}

    def take(self, record: Record) -> None:
        """The ends of one record."""
        t, rest, count = record.t, record.rest, len(record.ids)
        if t in ENDS or rest.get("by") == "compact":
            self.spending.take(record, count)
        if t == "uncharged":
            self.resume_at = rest.get("resume_at", self.resume_at)
            self.limited = self.limited or rest.get("why") == "limit"
        elif t in ENDS and "ms" in rest and rest.get("by") != "compact":
            self.run_ended += count
            if t == "done":
                self._well(count, rest["ms"] * count)

    def take_rows(self, rows: Rows) -> None:
        """Many records at once, as `take` does one by one."""
        ends, costly = rows.ends, [at for at in rows.ends if rows.costs[at]] if any(rows.costs) else []
        costs = dict(zip(costly, told([rows.costs[at] for at in costly]), strict=True))
        sums = {at: summed for at in rows.compacted if (summed := rows.summed(at)) != SILENT}
        compacted = dict(zip(sums, told([*sums.values()]), strict=True))
        for at in sorted([*rows.unusual, *costly, *sums]):  # in their order: sums of fractions depend on it
            if (spent := costs.get(at)) is not None:
                self.spending.add(spent.get("cost"), spent.get("sums") or {})
            elif at in compacted:
                self.spending.take_all(compacted[at])
            else:
                self.take(rows.record(at))
        self.spending.unknown += len(ends) - len(costly) + len(rows.compacted) - len(sums)
        if ends:
            self.run_ended += len(ends)
            self._well(len(ends), sum(rows.times))

    def _well(self, count: int, ms: int) -> None:
        self.ended += count
        self.ended_ms += ms
        self.limited = False

    def mean_seconds(self) -> float | None:
        """The mean time of a done attempt; None when there is none."""
        return self.ended_ms / self.ended / 1000 if self.ended else None
