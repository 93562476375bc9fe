"""What a running job costs, however long its journal is, and what it costs to look at it."""

from __future__ import annotations

import json
import shutil
import statistics
from datetime import datetime
from pathlib import Path
from time import sleep

from measure import ITEMS, MILLION, OURS, Bench, Figures, ours


def by_length(bench: Bench, large: bool) -> None:
    """Cost per item of a running job whose journal has so many lines already."""
    sizes = [10_000, 100_000, MILLION, *([10 * MILLION] if large else [])]
    seeds = {size: bench.place / f"seed-{size}" for size in sizes}
    for size, seed in seeds.items():
        bench.mark_done(size, "true").rename(seed)
    (bench.place / "many").unlink()
    found: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(bench.runs):
        for size, seed in seeds.items():
            journal = shutil.copy(seed, bench.place / ".resumectl" / "true.jsonl")
            bench.once(ours("-j2", "true"), Figures(), clean=False)
            found[size].append(span(journal, 2 * ITEMS + 2) / ITEMS)
    for seed in seeds.values():
        seed.unlink()
    base = statistics.median(found[sizes[0]])
    for size in sizes[1:]:
        ratio = statistics.median(found[size]) / base
        what = f"an item of a running job at {size:,} lines / at {sizes[0]:,}"
        bench.row(what, ratio, "×", "0.8 to 1.2", 0.8 <= ratio <= 1.2)


def span(journal: Path, lines: int) -> float:
    """Seconds from the last `run` of a journal to its `end`, which are among its last lines."""
    with journal.open("rb") as file:
        file.seek(max(0, journal.stat().st_size - 200 * lines))
        tail = [json.loads(line) for line in file.read().split(b"\n")[1:-1]]
    (began,) = (datetime.fromisoformat(line["at"]) for line in tail if line["t"] == "run")
    (ended,) = (datetime.fromisoformat(line["at"]) for line in tail if line["t"] == "end")
    return (ended - began).total_seconds()


def looked_at(bench: Bench) -> None:
    """`status` of a job of a million items while it runs."""
    journal = bench.mark_done(MILLION, "sleep")
    size = journal.stat().st_size
    running = bench.start(ours("sleep", "60", items="one"))
    try:
        while journal.stat().st_size < size + 200:  # its `run` and its `started`
            sleep(0.05)
        found = bench.compare({"status": [*OURS, "status", "sleep"]}, clean=False)
    finally:
        running.terminate()
        running.wait()
    bench.row(f"status of a running job of {MILLION:,} items", found["status"].median, "s", "< 3", found["status"].median < 3)
    bench.row("the same: peak memory", found["status"].peak / 1e6, "MB")


def bar(bench: Bench) -> None:
    """What the bar costs: CPU of a run on a terminal, with it and without; start-up subtracted."""
    bench.terminal = True
    commands = {
        f"{progress} {items}": ours("-j2", "true", items=items, progress=progress)
        for progress in ("bar", "none")
        for items in ("big", "one")
    }
    found = bench.compare(commands, runs=2 * bench.runs)
    bench.terminal = False
    costs = {
        progress: [most - least for most, least in zip(found[f"{progress} big"].cpu, found[f"{progress} one"].cpu, strict=True)]
        for progress in ("bar", "none")
    }
    share = statistics.median(with_it / without for with_it, without in zip(costs["bar"], costs["none"], strict=True)) - 1
    bench.row(f"the bar, over {ITEMS} × true", share * 100, "% more", "< 2", share < 0.02)
