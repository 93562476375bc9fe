"""Each shell block of the README is run, in one directory, from top to bottom."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_shell_blocks_of_the_readme_run(scratch):
    """A block marked `sh` exits 0 and prints no complaint."""
    blocks = re.findall(r"^```sh\n(.*?)^```", README.read_text(), re.M | re.S)
    assert blocks
    shim = scratch.write("bin-resumectl", f'#!/bin/sh\nexec {sys.executable} -m resumectl "$@"\n')
    shim.chmod(0o755)
    (scratch.path / "bin").mkdir()
    shim.rename(scratch.path / "bin" / "resumectl")
    env = {**scratch.env, "PATH": f"{scratch.path}/bin:{scratch.env['PATH']}"}
    for block in blocks:
        ended = subprocess.run(["sh", "-euc", block], cwd=scratch.path, env=env, capture_output=True, text=True)
        assert ended.returncode == 0, f"{block}\n{ended.stdout}\n{ended.stderr}"
        assert "resumectl: " not in ended.stderr.replace("resumectl: this journal will be", "")


def test_the_python_blocks_of_the_readme_run(scratch):
    """As a library: each block marked `python` runs as it stands."""
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)
    assert blocks
    for block in blocks:
        ended = subprocess.run(
            [sys.executable, "-c", block], cwd=scratch.path, env=scratch.env, capture_output=True, text=True
        )
        assert ended.returncode == 0, f"{block}\n{ended.stderr}"
