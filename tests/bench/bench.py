"""Side by side in one run: what an item costs here, under xargs and under GNU parallel; medians, as ratios.

    make bench                 the table, and build/bench.json
    make bench BENCH=--large   ten million items, too (minutes, and 3 GB of disk)

A figure in seconds means nothing elsewhere; a ratio of two medians of one run does.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parent.parent.parent
ITEMS = 2000
MILLION = 1_000_000
OURS = [sys.executable, "-m", "resumectl"]
NEEDED = {"parallel": "parallel", "xargs": "findutils", "grep": "grep"}


@dataclass
class Figures:
    """Seconds and peak resident bytes of one command, over several runs."""

    seconds: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def peak(self) -> int:
        return max(self.memory)


class Bench:
    """Runs commands in one scratch directory, in turn, so that drift hits all of them alike."""

    def __init__(self, runs: int, place: Path) -> None:
        self.runs, self.place = runs, place
        self.rows: list[dict[str, object]] = []
        self.env = {**os.environ, "PYTHONPATH": str(ROOT)}

    def once(self, words: Sequence[str], figures: Figures, clean: bool) -> None:
        """Run a command once and add its figures; `clean`: from an empty journal."""
        if clean:
            shutil.rmtree(self.place / ".resumectl", ignore_errors=True)
        began = perf_counter()
        child = subprocess.Popen(
            words,
            cwd=self.place,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        figures.seconds.append(perf_counter() - began)
        figures.memory.append(usage.ru_maxrss * 1024)

    def compare(
        self, commands: dict[str, Sequence[str]], *, clean: bool = True, runs: int | None = None
    ) -> dict[str, Figures]:
        """Each command in turn, round after round."""
        found = {name: Figures() for name in commands}
        for _ in range(runs or self.runs):
            for name, words in commands.items():
                self.once(words, found[name], clean)
        return found

    def row(self, what: str, measured: float, unit: str, goal: str, met: bool | None) -> None:
        """One line of the table."""
        self.rows.append({"what": what, "measured": round(measured, 3), "unit": unit, "goal": goal, "met": met})
        mark = {True: "yes", False: "NO", None: ""}[met]
        print(f"{what:58} {measured:10.2f} {unit:10} {goal:28} {mark}", flush=True)


def ours(*options: str, items: str = "big") -> list[str]:
    return [*OURS, "run", "--items", items, "--progress", "none", *options]


def per_item(bench: Bench) -> None:
    """What one `true` costs, start-up subtracted, at several widths."""
    for slots in (2, 8, 64):
        wide = f"-j{slots}"
        commands = {
            "xargs": ["xargs", f"-P{slots}", "-n1", "-a", "big", "true"],
            "full": ours(wide, "true"),
            "none": ours(wide, "--sync", "none", "--no-keep", "true"),
            "start": ours(wide, "true", items="one"),
        }
        if slots == 2:
            commands["parallel"] = ["parallel", wide, "-a", "big", "true"]
            commands["joblog"] = ["sh", "-c", f"rm -f log; exec parallel {wide} --joblog log -a big true"]
        found = bench.compare(commands)
        start = found["start"].median
        base = found["xargs"].median / ITEMS
        full, none = ((found[name].median - start) / ITEMS for name in ("full", "none"))
        bench.row(
            f"{ITEMS} × true, -j {slots}, synced and kept / xargs",
            full / base,
            "×",
            "≤ 1.35" if slots == 2 else "",
            full / base <= 1.35 if slots == 2 else None,
        )
        bench.row(
            f"{ITEMS} × true, -j {slots}, --sync none --no-keep / xargs",
            none / base,
            "×",
            "≤ 1.2" if slots == 2 else "",
            none / base <= 1.2 if slots == 2 else None,
        )
        if slots == 2:
            faster = found["joblog"].median / found["full"].median
            bench.row("parallel --joblog / synced and kept", faster, "×", "≥ 3.5", faster >= 3.5)
            bench.row("parallel / synced and kept", found["parallel"].median / found["full"].median, "×", "", None)


def kept(bench: Bench) -> None:
    """What keeping a thousand bytes an item costs."""
    prints = ["sh", "-c", "head -c 1000 /dev/zero"]
    found = bench.compare({"kept": ours("-j2", "--", *prints), "not": ours("-j2", "--no-keep", "--", *prints)})
    share = found["kept"].median / found["not"].median - 1
    bench.row("keeping 1 kB an item", share * 100, "% more", "< 15", share < 0.15)


def resumed(bench: Bench, count: int, peers: bool) -> float:
    """How long it takes to see that all of `count` items are done; seconds per item."""
    shutil.rmtree(bench.place / ".resumectl", ignore_errors=True)
    (bench.place / "many").write_text("".join(f"item-{n}\n" for n in range(count)))
    subprocess.run(
        [*OURS, "mark", "done", "--items", "many", "--job", "true"],
        cwd=bench.place,
        env=bench.env,
        check=True,
        capture_output=True,
    )
    commands = {"ours": ours("true", items="many")}
    if peers:
        header = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
        lines = (f"{n + 1}\t:\t1700000000.000\t0.001\t0\t0\t0\t0\ttrue item-{n}\n" for n in range(count))
        (bench.place / "log").write_text(header + "".join(lines))
        commands["parallel"] = ["parallel", "--joblog", "log", "--resume", "-a", "many", "true"]
        commands["grep"] = ["grep", "-vxFf", "many", "many"]
    found = bench.compare(commands, clean=False, runs=3 if peers else 1)
    mine = found["ours"]
    limit = 250e6 if count == MILLION else 1.6e9
    bench.row(f"{count:,} done: peak memory", mine.peak / 1e6, "MB", f"≤ {limit / 1e6:.0f}", mine.peak <= limit)
    if peers:
        faster = found["parallel"].median / mine.median
        bench.row(f"{count:,} done: parallel --resume / ours", faster, "×", "≥ 8", faster >= 8)
        slower = mine.median / found["grep"].median
        bench.row(f"{count:,} done: ours / grep -vxFf", slower, "×", "≤ 3.5", slower <= 3.5)
    return mine.median / count


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
    bench.row("start-up of a run of one item / import typer", found["run"].median / base, "×", "", None)


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
    parser.add_argument("--only", default="", help="a part: items, kept, resumed, start, library")
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
            "resumed": lambda bench: resumed(bench, MILLION, True),
            "start": start_up,
            "library": library,
        }
        for name, part in parts.items():
            if given.only in ("", name):
                part(bench)
        if given.large:
            small, large = resumed(bench, MILLION, False), resumed(bench, 10 * MILLION, False)
            bench.row(
                "time per item at 10,000,000 / at 1,000,000",
                large / small,
                "×",
                "0.8 to 1.2",
                0.8 <= large / small <= 1.2,
            )
        out = ROOT / "build" / "bench.json"
        out.parent.mkdir(exist_ok=True)
        out.write_text(json.dumps(bench.rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
