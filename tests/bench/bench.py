"""Side by side in one run: what an item costs here, under xargs and under GNU parallel; medians, as ratios.

    make bench                 the table, and build/bench.json
    make bench BENCH=--large   ten million items, too (minutes, and 3 GB of disk)

A figure in seconds means nothing elsewhere; a ratio of two medians of one run does.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from measure import ITEMS, MILLION, OURS, ROOT, Bench, ours
from running import bar, by_length, looked_at

NEEDED = {"parallel": "parallel", "xargs": "findutils", "grep": "grep", "time": "time"}


def per_item(bench: Bench) -> None:
    """What one `true` costs, start-up subtracted, at several widths, synced or not, kept or not."""
    for slots in (2, 8, 64):
        wide = f"-j{slots}"
        variants = {
            "synced and kept": (),
            "synced, --no-keep": ("--no-keep",),
            "--sync none, kept": ("--sync", "none"),
            "--sync none --no-keep": ("--sync", "none", "--no-keep"),
        }
        goals = {"synced and kept": 1.35, "--sync none --no-keep": 1.2} if slots == 2 else {}
        commands = {name: ours(wide, *options, "true") for name, options in variants.items()}
        commands["xargs"] = ["xargs", f"-P{slots}", "-n1", "-a", "big", "true"]
        commands["start"] = ours(wide, "true", items="one")
        if slots == 2:
            commands["parallel"] = ["parallel", wide, "-a", "big", "true"]
            for name, items in (("joblog", "big"), ("joblog start", "one")):
                commands[name] = ["sh", "-c", f"rm -f log; exec parallel {wide} --joblog log -a {items} true"]
        found = bench.compare(commands)
        start, base = found["start"].median, found["xargs"].median
        for name in variants:
            ratio, goal = (found[name].median - start) / base, goals.get(name)
            met = ratio <= goal if goal else None
            bench.row(f"{ITEMS} × true, -j {slots}, {name} / xargs", ratio, "×", f"≤ {goal}" if goal else "", met)
        if slots == 2:
            mine = found["synced and kept"].median
            faster = (found["joblog"].median - found["joblog start"].median) / (mine - start)
            bench.row("parallel --joblog / synced and kept, an item", faster, "×", "≥ 3.5", faster >= 3.5)
            for what, name in ("parallel --joblog", "joblog"), ("parallel", "parallel"):
                bench.row(f"{what} / synced and kept, start-up and all", found[name].median / mine, "×")
            for name in ("xargs", "parallel", "synced and kept"):
                bench.row(f"peak memory of {ITEMS} × true, -j 2, {name}", found[name].peak / 1e6, "MB")


def kept(bench: Bench) -> None:
    """What keeping a thousand bytes an item costs."""
    prints = ["sh", "-c", "head -c 1000 /dev/zero"]
    found = bench.compare({"kept": ours("-j2", "--", *prints), "not": ours("-j2", "--no-keep", "--", *prints)})
    share = found["kept"].median / found["not"].median - 1
    bench.row("keeping 1 kB an item", share * 100, "% more", "< 15", share < 0.15)


def resumed(bench: Bench) -> None:
    """How long it takes to see that all of a million items are done."""
    bench.mark_done(MILLION, "true")
    header = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
    with (bench.place / "log").open("w") as file:
        file.writelines([header])
        file.writelines(f"{n + 1}\t:\t1700000000.000\t0.001\t0\t0\t0\t0\ttrue item-{n}\n" for n in range(MILLION))
    commands = {
        "ours": ours("true", items="many"),
        "parallel": ["parallel", "--joblog", "log", "--resume", "-a", "many", "true"],
        "grep": ["grep", "-vxFf", "many", "many"],
    }
    found = bench.compare(commands, clean=False, runs=3)
    mine = found["ours"]
    bench.row(f"{MILLION:,} done: peak memory", mine.peak / 1e6, "MB", "≤ 250", mine.peak <= 250e6)
    faster = found["parallel"].median / mine.median
    bench.row(f"{MILLION:,} done: parallel --resume / ours", faster, "×", "≥ 8", faster >= 8)
    slower = mine.median / found["grep"].median
    bench.row(f"{MILLION:,} done: ours / grep -vxFf", slower, "×", "≤ 3.5", slower <= 3.5)


def grown(bench: Bench) -> None:
    """The same of ten million, against one million in turn; start-up subtracted."""
    sizes = MILLION, 10 * MILLION
    for size in sizes:
        bench.mark_done(size, "true").rename(bench.place / f"seed-{size}")
        (bench.place / "many").rename(bench.place / f"many-{size}")
    for size in sizes:
        (bench.place / f"seed-{size}").rename(bench.place / ".resumectl" / f"{size}.jsonl")
    commands = {str(size): ours("--job", str(size), "true", items=f"many-{size}") for size in sizes}
    found = bench.compare({**commands, "start": ours("true", items="one")}, clean=False, runs=3)
    small, large = ((found[str(size)].median - found["start"].median) / size for size in sizes)
    peak = found[str(sizes[1])].peak
    bench.row(f"{sizes[1]:,} done: peak memory", peak / 1e6, "MB", "≤ 1600", peak <= 1.6e9)
    met = 0.8 <= large / small <= 1.2
    bench.row(f"time per item at {sizes[1]:,} / at {MILLION:,}", large / small, "×", "0.8 to 1.2", met)


def start_up(bench: Bench) -> None:
    """What an agent that polls pays."""
    bench.compare({"seed": ours("true", items="one")}, runs=1)
    commands = {
        "typer": [sys.executable, "-c", "import typer"],
        "version": [*OURS, "--version"],
        "status": [*OURS, "status"],
        "run": ours("true", items="one"),
    }
    found = bench.compare(commands, clean=False, runs=2 * bench.runs)
    base = found["typer"].median
    for name, goal in (("version", 1.3), ("status", 2.0)):
        ratio = found[name].median / base
        bench.row(f"start-up of {name} / import typer", ratio, "×", f"≤ {goal}", ratio <= goal)
    bench.row("start-up of a run of one item / import typer", found["run"].median / base, "×")


def library(bench: Bench) -> None:
    """`process_batches` with a handler that does nothing."""
    code = (
        "import resumectl, time, tempfile, os, statistics as s\n"
        "def once():\n"
        "    with tempfile.TemporaryDirectory(dir='.') as d:\n"
        "        t = time.perf_counter()\n"
        "        resumectl.process_batches(range(20000), lambda b: True, checkpoint=os.path.join(d, 'c.jsonl'), sync='none')\n"
        "        return time.perf_counter() - t\n"
        f"print(s.median(once() for _ in range({bench.runs})) / 20000)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=bench.place, env=bench.env, check=True, capture_output=True, text=True
    )
    micro = float(ran.stdout) * 1e6
    bench.row("process_batches, no-op handler, sync none", micro, "µs an item", "≤ 10", micro <= 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", default="", help="a part: items, kept, bar, length, look, resumed, start, library, grown")
    given = parser.parse_args()
    if missing := [package for program, package in NEEDED.items() if shutil.which(program) is None]:
        sys.exit(f"bench: needs the Debian packages {' '.join(missing)}")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="bench-") as place:
        bench = Bench(given.runs, Path(place))
        (bench.place / "big").write_text("".join(f"{n}\n" for n in range(ITEMS)))
        (bench.place / "one").write_text("1\n")
        parts: dict[str, Callable[[Bench], object]] = {
            "items": per_item,
            "kept": kept,
            "bar": bar,
            "length": lambda bench: by_length(bench, given.large),
            "look": looked_at,
            "resumed": resumed,
            "start": start_up,
            "library": library,
        }
        if given.large:
            parts["grown"] = grown
        for name, part in parts.items():
            if given.only in ("", name):
                part(bench)
        out = ROOT / "build" / "bench.json"
        out.parent.mkdir(exist_ok=True)
        out.write_text(json.dumps(bench.rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
