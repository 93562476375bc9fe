"""What the program says of itself: `-h`, `--help`, the manual page, and what `make install` puts in place."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Scratch

from resumectl.cli.app import VERBS, verb
from resumectl.cli.help import RUN_CODES, options_of
from resumectl.cli.manual import manual

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", VERBS)
def test_the_help_of_every_command_has_each_option_an_example_and_the_exit_codes(name: str) -> None:
    """Grouped, within the width of a terminal, in ASCII."""
    command = verb(name)
    with command.make_context(name, ["--help"], resilient_parsing=True) as context:
        text = command.get_help(context)
    for option in options_of(command):
        assert re.search(rf"^  .*{re.escape(option.opts[0])}\b", text, re.M), option.opts
        assert option.help, option.opts
    assert f"\nExample:\n  resumectl {name}" in text or f"resumectl {name} " in text.partition("\nExample:\n")[2]
    assert re.search(r"\nExit codes:\n  0 ", text) and text.startswith(f"Usage: resumectl {name} [OPTIONS]")
    assert text.isascii() and max(map(len, text.splitlines())) <= 100
    if name in ("run", "resume"):
        assert "  75 " in text


def test_h_is_short_and_help_is_long(scratch: Scratch) -> None:
    """For `run`: what most people need fits on a screen; both go to standard output and end with 0."""
    short, long = scratch.run("run", "-h"), scratch.run("run", "--help")
    assert short.code == long.code == 0 and short.err == long.err == ""
    assert len(short.out.splitlines()) <= 24 < len(long.out.splitlines())
    assert b"--items" in short.out and b"--retry-max-delay" not in short.out
    assert b"What to run again:" in long.out and b"--retry-max-delay" in long.out
    wide = scratch.run("run", "--help", env={"COLUMNS": "70"})
    assert max(map(len, wide.out.splitlines())) <= 70


def test_without_a_command_the_commands_are_named(scratch: Scratch) -> None:
    """As an error; `--help` says the same and the exit codes; a slip of the finger gets a hint."""
    nothing, long = scratch.run(), scratch.run("--help")
    assert nothing.code == 2 and nothing.out == b"" and long.code == 0
    for name in VERBS:
        assert re.search(rf"^  {name} ", nothing.err, re.M) and f"\n  {name} " in long.out.decode()
    assert b"Exit codes:" in long.out and "Exit codes:" not in nothing.err
    slip = scratch.run("statsu")
    assert slip.code == 2 and "status" in slip.err and slip.err.endswith("see resumectl --help\n")


def test_the_exit_codes_of_the_help_are_those_of_the_readme() -> None:
    """Code by code."""
    listed = [number for code, _ in RUN_CODES for number in re.findall(r"\d+", code)]
    table = README.partition("## Exit codes")[2].partition("##")[0]
    rows = [row for row in table.splitlines() if re.match(r"\| \d", row)]
    assert sorted(number for row in rows for number in re.findall(r"\d+", row.split("|")[1])) == sorted(listed)
    assert len(rows) == len(RUN_CODES)


def test_the_manual_page_has_every_command_and_option_and_no_fault(tmp_path: Path) -> None:
    """Where there is a `man`, it finds nothing to complain of."""
    text = manual()
    for name in VERBS:
        assert f".SS resumectl {name}" in text
        for option in options_of(verb(name)):
            assert option.opts[0].replace("-", "\\-") in text
    path = tmp_path / "resumectl.1"
    path.write_text(text)
    if shutil.which("man"):
        shown = subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True, env={**os.environ, "MANWIDTH": "80"})
        assert shown.returncode == 0 and shown.stderr == "" and "--retry-max-delay" in shown.stdout


def test_make_install_puts_everything_under_the_prefix(tmp_path: Path) -> None:
    """And `make uninstall` takes it away."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "completions", tree / "completions")
    shutil.copy(ROOT / "Makefile", tree)
    given = ["make", "-s", f"DESTDIR={tmp_path}/stage", "PREFIX=/opt/x", "READY=", f"PYTHON={sys.executable}"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*given, "install"], cwd=tree, env=env, check=True)
    share = tmp_path / "stage" / "opt" / "x" / "share"
    found = sorted(str(path.relative_to(share)) for path in share.rglob("*") if path.is_file())
    assert found == [
        "bash-completion/completions/resumectl",
        "fish/vendor_completions.d/resumectl.fish",
        "man/man1/resumectl.1",
        "zsh/site-functions/_resumectl",
    ]
    subprocess.run([*given, "uninstall"], cwd=tree, env=env, check=True)
    assert not [path for path in share.rglob("*") if path.is_file()]
