"""Start-up is felt by whoever polls `status`: each call loads what it needs and no more (SPEC 7)."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

import pytest
from conftest import Scratch

HEAVY = {"pydantic", "rich", "portalocker", "resumectl.loop", "resumectl.verdict", "resumectl.run"}


def loaded(scratch: Scratch, *words: str) -> set[str]:
    """The modules that one call imports."""
    call = [sys.executable, "-X", "importtime", "-m", "resumectl", *words]
    ended = subprocess.run(call, cwd=scratch.path, env=scratch.env, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if line.startswith("import time:")}


def test_version_loads_no_command_and_status_nothing_that_only_a_run_needs(scratch: Scratch) -> None:
    """Pydantic, which typer loads for the first value that it coerces, takes longer than all the rest."""
    scratch.items("a")
    scratch.run("run", "--items", "i", "true")
    version = loaded(scratch, "--version")
    assert not version & (HEAVY | {"orjson", "resumectl.lines"}) and "typer" in version
    for words in (["status"], ["status", "true", "--json"], ["status", "--failed"], ["path"]):
        assert not loaded(scratch, *words) & HEAVY, words


def test_a_wrong_value_is_still_explained(scratch: Scratch) -> None:
    """By typer, in its words."""
    scratch.items("a")
    for option, value, words in (
        ("-j", "x", "valid integer"),
        ("-j", "-1", "greater than or equal to 0"),
        ("--max-cost", "much", "is no amount"),
        ("--max-total-cost", "nan", "is no amount"),
        ("--max-cost", "-1", "is no amount"),
        ("-n", "1" * 20, "less than or equal"),
        ("--cut-off", "maybe", "'rerun', 'verify', 'hold'"),
        ("--grace", "soon", "30s"),
    ):
        ended = scratch.run("run", "--items", "i", option, value, "true")
        assert ended.code == 2 and words in ended.err and len(ended.err.splitlines()) == 1, ended.err


@pytest.mark.slow
def test_version_and_status_start_about_as_fast_as_typer_itself(scratch: Scratch) -> None:
    """CPU time, medians of several taken in turn: at most 1.3 and 2 times `import typer`."""
    scratch.items(*map(str, range(20)))
    scratch.run("run", "--items", "i", "true")
    calls = {"typer": ["-c", "import typer"], "version": ["-m", "resumectl", "--version"], "status": ["-m", "resumectl", "status"]}
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(11):
        for name, words in calls.items():
            before = os.times()
            subprocess.run([sys.executable, *words], cwd=scratch.path, env=scratch.env, stdout=subprocess.DEVNULL)
            after = os.times()
            found[name].append(after[2] + after[3] - before[2] - before[3])
    seconds = {name: statistics.median(times) for name, times in found.items()}
    assert seconds["version"] <= 1.3 * seconds["typer"] and seconds["status"] <= 2 * seconds["typer"], seconds
