"""The warden of a worker: what the worker leaves running when it is killed, it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE, until

from resumectl.warden import Warden, end, running


def test_what_began_and_did_not_end_is_running() -> None:
    assert running([b"+10\n", b"+11\n", b"-10\n", b"+12\n", b"-12\n", b"+12\n"]) == {11, 12}


def test_a_group_that_ignores_a_term_is_killed_and_one_that_is_gone_is_no_matter() -> None:
    stubborn = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo ready; read forever"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    gone = subprocess.Popen(["true"], start_new_session=True)
    gone.wait()
    assert stubborn.stdout is not None and stubborn.stdout.readline() == b"ready\n"
    end({stubborn.pid, gone.pid}, 0.1)
    assert stubborn.wait(PATIENCE) == -signal.SIGKILL


def test_it_ends_what_runs_when_whoever_made_it_is_killed(tmp_path: Path) -> None:
    script = (
        "import signal, subprocess, sys; from resumectl.warden import Warden; warden = Warden()\n"
        "children = [subprocess.Popen(['sleep', '60'], start_new_session=True) for _ in range(2)]\n"
        "warden.tell(b'+', children[0].pid); print(*[child.pid for child in children], flush=True); signal.pause()"
    )
    root = str(Path(__file__).parent.parent)
    maker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=root)
    assert maker.stdout is not None
    known, unknown = map(int, maker.stdout.readline().split())
    maker.kill()
    maker.wait()
    until(lambda: not alive(known), "the end of what runs")
    assert alive(unknown)
    end({unknown}, 0)


def alive(pid: int) -> bool:
    """Whether it runs; a dead one whose new parent has not collected it does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def test_it_goes_when_its_worker_has_ended_well() -> None:
    warden = Warden()
    warden.tell(b"+", 1 << 22)
    warden.tell(b"-", 1 << 22)
    warden.close()
    assert warden._process.wait(PATIENCE) == 0
