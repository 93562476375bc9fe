"""A cluster on loopback against this machine alone, in one run: two workers of two slots, and -j 4.

    .venv/bin/python tests/bench/machines.py

An item of 0.2 s is compared with the ideal, `true` is given in milliseconds of wall
time; the start-up of the program, with the joining of the cluster, is subtracted.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent))

from farm import Farm

RUNS, WORKERS, THREADS = 3, 2, 2
SLOTS = WORKERS * THREADS
NAP = 0.2  # seconds


def timed(place: Path, words: list[str], count: int, farm: Farm) -> float:
    """Seconds of one run over so many items."""
    (place / "i").write_text("".join(f"i{n}\n" for n in range(count)))
    began = perf_counter()
    subprocess.run(
        [sys.executable, "-m", "resumectl", "run", "--fresh", "--job", "j", "--items", "i", *words],
        cwd=place,
        env=farm.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        farm = Farm(place / "farm")
        try:
            for worker in [farm.worker(THREADS) for _ in range(WORKERS)]:
                farm.there(worker)
            sides = {"cluster": ["--engine", "dask", "--scheduler", str(farm.file)], "here": ["-j", str(SLOTS)]}
            works = {"naps": (200, ["sh", "-c", f"sleep {NAP}", "{}"]), "true": (1000, ["true"])}
            found: dict[tuple[str, str], list[float]] = {}
            for _ in range(RUNS):
                for side, options in sides.items():
                    start = timed(place, [*options, "true"], 1, farm)
                    for work, (count, command) in works.items():
                        seconds = timed(place, [*options, *command], count, farm) - start
                        found.setdefault((work, side), []).append(seconds / count)
        finally:
            farm.close()
    for side in sides:
        nap, least = statistics.median(found["naps", side]), statistics.median(found["true", side])
        print(
            f"{side}: 200 x {NAP} s take {nap * SLOTS / NAP:.3f} x the ideal; true costs {least * 1000:.2f} ms an item"
        )


if __name__ == "__main__":
    main()
