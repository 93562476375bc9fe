"""The completions, as each real shell gives them (SPEC 3)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from completing import SCRIPTS, offered, started
from conftest import Scratch

SHELLS = ("bash", "zsh", "fish")
STATIC = {
    "resumectl st": {"status"},
    "resumectl status --fail": {"--failed"},
    "resumectl status ": {"one", "two"},
    "resumectl run --job t": {"two"},
    "resumectl run --cut-off ": {"rerun", "verify", "hold"},
    "resumectl mark ": {"done", "failed", "new"},
    "resumectl presets cl": {"claude"},
    "resumectl run --items li": {"list"},
    "resumectl run -j 2 --tag xarg": {"xargs"},
    "resumectl run -- xarg": {"xargs"},
}
JOB = ("sh", "-c", '[ "$1" = fine ]', "_", "{}")


@pytest.fixture
def jobs(scratch: Scratch) -> Scratch:
    """Two jobs, one with failed items whose ids a shell would split, expand or run."""
    scratch.items("fine", "f 1", "f$(touch pwned)", "g'q", name="list")
    scratch.run("run", "--items", "list", "--job", "one", "true")
    scratch.run("run", "--items", "list", "--job", "two", *JOB)
    return scratch


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_offers_what_can_stand_there_without_starting_resumectl(jobs: Scratch, shell: str) -> None:
    """Commands, options, choices, job names, files, and the commands that a run may run."""
    for line, words in STATIC.items():
        found = offered(jobs, shell, line)
        assert set(found) >= words, (line, found)
        assert len(set(found)) <= len(words) + 3, (line, found)
    assert started(jobs) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_value_behind_an_equals_sign_is_completed_too(jobs: Scratch, shell: str) -> None:
    """Some shells give it back with its option."""
    found = offered(jobs, shell, "resumectl run --format=j")
    assert [word.rpartition("=")[2] for word in found] == ["jsonl"]


@pytest.mark.parametrize("shell", SHELLS)
def test_failed_ids_are_offered_where_an_id_is_asked_for(jobs: Scratch, shell: str) -> None:
    """Those of the job that the line names, quoted so that the shell takes them as they are."""
    quoted = {r"f\ 1", r"f\$\(touch\ pwned\)", r"g\'q"} if shell != "fish" else {"f 1", "f$(touch pwned)", "g'q"}
    lines = ("resumectl reset two --id ", "resumectl mark --job two done --id ", "resumectl explain --job two ")
    for line in lines:
        assert set(offered(jobs, shell, line)) == quoted, line
    assert started(jobs) == ["status --job two --failed"] * len(lines)
    assert offered(jobs, shell, "resumectl reset one --id ") == []
    assert len(offered(jobs, shell, "resumectl results --journal .resumectl/two.jsonl --id g")) == 1
    assert not (jobs.path / "pwned").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_directory_of_the_jobs_may_have_any_name(jobs: Scratch, shell: str) -> None:
    """RESUMECTL_DIR says where they are; where there are none nothing is offered and nothing is complained of."""
    (jobs.path / ".resumectl").rename(jobs.path / "a b*")
    assert set(offered(jobs, shell, "resumectl path ", RESUMECTL_DIR="a b*")) == {"one", "two"}
    assert offered(jobs, shell, "resumectl path ") == []


def test_the_scripts_are_what_make_completions_writes(tmp_path: Path) -> None:
    """Whoever changes an option runs `make completions`."""
    root = SCRIPTS.parent
    subprocess.run([sys.executable, "-m", "resumectl.cli.completions", str(tmp_path)], cwd=root, check=True)
    for path in tmp_path.iterdir():
        assert path.read_text() == (SCRIPTS / path.name).read_text(), f"run `make completions`: {path.name} is stale"
    assert len(list(tmp_path.iterdir())) == len(list(SCRIPTS.iterdir())) == 3
