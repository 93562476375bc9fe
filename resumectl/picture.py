"""How a job has gone, as a picture for a terminal: throughput, durations, the slowest, the failures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import ceil

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .ledger import Ledger
from .outputs import Kept, Shelf
from .survey import Survey
from .words import duration, shown

BLOCKS, ASCII = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
ROWS = 10  # of the histogram
REASONS = 5
LAST_LINES, LAST_BYTES = 3, 4096  # of a failed item's stderr
WHOLE = 1 << 24  # bytes: a longer stream isn't read whole to see that it is intact
SHADES = {"done": "green", "failed": "red", "cut_off": "yellow", "parked": "magenta"}


def picture(survey: Survey, ledger: Ledger, shelf: Shelf) -> str:
    """The whole picture as text with colours, for the terminal on standard output."""
    console = _console()
    with console.capture() as captured:
        for part in _parts(survey, ledger, shelf, console):
            console.print(part)
    return captured.get()


def _console() -> Console:
    console = Console(highlight=False, markup=False, emoji=False)
    console.show_cursor = lambda show=True: False  # type: ignore[method-assign]  # no death can lose the cursor then
    return console


def _parts(survey: Survey, ledger: Ledger, shelf: Shelf, console: Console) -> Iterator[RenderableType]:
    blocks = ASCII if console.options.ascii_only else BLOCKS
    yield from _throughput(survey, blocks, max(1, min(console.width - 4, 72)))
    yield from _histogram(survey, blocks[-1], max(10, min(console.width - 40, 40)))
    if slowest := survey.slowest():
        rows = [(duration(ms / 1000), shown(id, 60)) for ms, id in slowest]
        yield from _section("slowest", rows)
    yield from _failures(survey, ledger, shelf)


def _throughput(survey: Survey, blocks: str, width: int) -> Iterator[RenderableType]:
    rates, began, length = survey.throughput(width)
    if len(rates) < 2:
        return
    most, steps = max(rates), len(blocks) - 1
    cells = "".join(blocks[ceil(rate * steps / most)] for rate in rates)
    yield Text(f"\n  ended per second, at most {most:.3g}", style="bold")
    yield Text(f"  {cells}", style="green", no_wrap=True)
    first, last = (time.strftime("%F %H:%M", time.localtime(began + length * part)) for part in (0, len(rates)))
    yield Text(f"  {first}{last:>{max(len(rates) - len(first), len(last) + 1)}}", style="dim", no_wrap=True)


def _histogram(survey: Survey, block: str, width: int) -> Iterator[RenderableType]:
    """One row for each doubling of the time, or for each two if there are many."""
    filled = [at for at, count in enumerate(survey.durations) if count]
    if not filled:
        return
    step = -(-(filled[-1] - filled[0] + 1) // ROWS)
    rows = [(at, sum(survey.durations[at : at + step])) for at in range(filled[0], filled[-1] + 1, step)]
    most = max(count for _, count in rows)
    texts = [
        (f"< {duration((1 << at + step - 1) / 1000)}", block * -(-count * width // most) + f" {count}")
        for at, count in rows
    ]
    yield from _section("durations", texts)


def _failures(survey: Survey, ledger: Ledger, shelf: Shelf) -> Iterator[RenderableType]:
    groups = list(survey.groups(ledger))
    for group in groups[:REASONS]:
        reason = shown(group.reason.encode(errors="surrogateescape"), 60)
        yield Text(f"\n  {group.size} failed: {reason}, such as {shown(group.example, 60)}", style="bold red")
        for line in last_lines(shelf, group.err):
            yield Text(f"    {shown(line, 200)}", no_wrap=True, overflow="ellipsis")
    if len(groups) > REASONS:
        yield Text(f"\n  and {len(groups) - REASONS} more reasons", style="dim")


def last_lines(shelf: Shelf, where: Kept | None) -> list[bytes]:
    """The last lines of a kept stream that say something; none if it is not what was kept."""
    if where is None or where.length > WHOLE or (span := shelf.get(where)) is None:
        return []
    end = span.tail(LAST_BYTES)
    return [line for line in end.split(b"\n") if line.strip()][-LAST_LINES:]


def _section(title: str, rows: list[tuple[str, str]]) -> Iterator[RenderableType]:
    yield Text(f"\n  {title}", style="bold")
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right")
    table.add_column(no_wrap=True, overflow="ellipsis")
    for name, text in rows:
        table.add_row(f"    {name}", Text(text))
    yield table


class Screen:
    """Some lines and a bar that stay in place and are drawn anew; a context manager."""

    def __init__(self) -> None:
        self._console = _console()
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)

    def show(self, lines: list[str], counts: dict[str, int]) -> None:
        """Draw; `counts` as `status --json` has them."""
        texts = [Text(line, no_wrap=True, overflow="ellipsis") for line in lines]
        width = max(10, min(60, self._console.width - 4))
        self._live.update(Group(*texts, self._bar(counts, width)), refresh=True)

    def _bar(self, counts: dict[str, int], width: int) -> Text:
        full, rest = ("#", "-") if self._console.options.ascii_only else ("━", "─")
        bar, at, upto = Text("  "), 0, 0
        for name, style in SHADES.items():
            upto += counts[name]
            cells = round(width * upto / max(counts["total"], 1)) - at
            bar.append(full * cells, style)
            at += cells
        return bar.append(rest * (width - at), "dim")

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
