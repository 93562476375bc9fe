"""The README's recipe for Slurm, on a real one of one node: workers that come and go as batch jobs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PATIENCE, Scratch, until
from farm import Farm, Hands, started_once
from slurm import Slurm, Unavailable

pytest.importorskip("distributed", reason="the extra resumectl[dask] is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Slurm]:
    try:
        started = Slurm(tmp_path / "slurm")
    except Unavailable as error:
        pytest.skip(str(error))
    yield started
    started.close()


def test_workers_come_by_sbatch_go_by_scancel_and_a_second_sbatch_finishes_the_list(
    scratch: Scratch, slurm: Slurm, tmp_path: Path
) -> None:
    """scancel leaves no command running; what it cut off is announced, and nothing else runs twice."""
    farm = Farm(tmp_path / "farm")
    worker = f"{sys.executable} -m dask worker --scheduler-file {farm.file} --nthreads 1 --no-nanny --no-dashboard"
    recipe = ("-n", "2", "--wrap", f"exec srun {worker}")
    try:
        hands = Hands(scratch, farm, 0.3)
        names = hands.items(16)
        run = hands.start()
        until(lambda: "waiting for workers" in hands.err)
        job = slurm.sbatch(*recipe, env=farm.env)
        until(lambda: hands.count("start") >= 5)
        slurm.scancel(job)
        hands.gone()
        until(lambda: scratch.records("sh", "cut_off"))
        before = hands.count("start")
        slurm.sbatch(*recipe, env=farm.env)
        assert run.wait(PATIENCE) == 1, hands.err
        assert hands.count("start") > before and started_once(scratch)
        last = hands.run()
        assert last.code == 0, last.err
    finally:
        farm.close()
    cut = {record["id"] for record in scratch.records("sh", "cut_off")}
    starts = Counter(line.split()[1] for line in scratch.lines("log") if line.startswith("start"))
    assert sorted(starts) == sorted(hands.ended("done")) == names
    assert {item for item, count in starts.items() if count > 1} <= cut and max(starts.values()) <= 2
    assert all(hands.count("end", item) for item in names) and all(item in last.err for item in cut)
