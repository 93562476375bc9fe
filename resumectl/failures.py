"""How many failures are too many.  Pure."""

from __future__ import annotations


class Failures:
    """Counts failures, and those in a row of items that had never failed before: a hopeless tail
    must not starve the rest."""

    def __init__(self, most: int, most_in_a_row: int) -> None:
        """0 is no limit."""
        self._most, self._most_in_a_row = most, most_in_a_row
        self._count = 0
        self._streak: list[str] = []  # the reasons

    def passed(self) -> None:
        """An item was done: the row is broken."""
        self._streak.clear()

    def add(self, reason: str, *, first: bool) -> str | None:
        """One failure more; `first`: its item had never failed before this run.  Why to stop, or None."""
        self._count += 1
        if first:
            self._streak.append(reason)
        if self._most and self._count >= self._most:
            return f"{self._count} items failed (--max-failures)"
        if self._most_in_a_row and len(self._streak) >= self._most_in_a_row:
            return f"{len(self._streak)} items in a row failed{self._hint()} (--max-consecutive-failures)"
        return None

    def _hint(self) -> str:
        same = set(self._streak)
        if same == {"exit 1"}:
            return ", all with exit 1; if that is no failure here, say --ok code:0,1"
        return f", all with {same.pop()}" if len(same) == 1 else ""
