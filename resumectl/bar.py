"""The bar: one Rich line below the output, resumed and completed in different shades."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from .ledger import State
from .report import pace, progress_line
from .tally import Tally
from .words import duration, shown

SHADES = ((State.DONE, "green"), (State.FAILED, "red"), (State.CUT_OFF, "yellow"), (State.PARKED, "magenta"))


class _Console(Console):
    def show_cursor(self, show: bool = True) -> bool:
        """Never hide it: then no death can lose it."""
        return False


class Bar:
    """A picture of a tally; `start`, `stop` and `refresh` belong to the printing thread."""

    def __init__(self, tally: Tally, notice: Callable[[], str]) -> None:
        """`notice` gives what else is to be said now, such as a countdown."""
        self._tally, self._notice = tally, notice
        self._console = _Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live: Live | None = None

    def start(self) -> None:
        self._live = Live(
            self,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def stop(self) -> None:
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def refresh(self) -> None:
        if self._live is not None:
            self._live.refresh()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(10, min(40, options.max_width // 3))
        yield Text.assemble(self._shades(width, options.ascii_only), " ", self._counts(), no_wrap=True, overflow="ellipsis")
        for line in (self._longest(), self._notice()):
            if line:
                yield Text(line, style="dim", no_wrap=True, overflow="ellipsis")

    def _shades(self, width: int, ascii_only: bool) -> Text:
        tally, bar = self._tally, Text()
        total = max(tally.total or tally.listed, 1)
        full, rest = ("#", "-") if ascii_only else ("━", "─")
        parts = [(tally.resumed, "blue"), (tally.states[State.DONE] - tally.resumed, "green")]
        parts += [(tally.now(state), style) for state, style in SHADES[1:]]
        filled = sum(count for count, _ in parts)
        at, upto = 0, 0
        for count, style in parts:
            upto += count
            cells = round(width * min(upto, total) / total) - at
            bar.append(full * cells, style)
            at += cells
        bar.append(rest * (width - at), "dim" if filled < total else "green")
        return bar

    def _counts(self) -> str:
        rate = pace(self._tally)
        return progress_line(self._tally) + (f", {rate}" if rate else "")

    def _longest(self) -> str:
        running = list(self._tally.running.items())
        if not running:
            return ""
        id, began = min(running, key=lambda pair: pair[1])
        return f"longest: {shown(id, 60)} {duration(time.monotonic() - began)}"
