"""The power of a real file system is cut, at each operation and at any moment; remounted, the same command goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
from conftest import PATIENCE
from diskspy import cut_power, noted
from oracle import History, acknowledged, records
from test_sigkill import Point, points
from warm import Warm

pytestmark = pytest.mark.powercut
IDS = ["a", "b", "c", "d"]


class Ext4:
    """A file system in a file, on a loop device, with a power switch."""

    def __init__(self, where: Path) -> None:
        self.image, self.mount = where / "image", where / "mount"
        self.mount.mkdir()
        with self.image.open("wb") as file:
            file.truncate(24 << 20)
        _call("mkfs.ext4", "-q", "-F", str(self.image))
        self.on()

    def on(self) -> None:
        _call("mount", "-o", "loop", str(self.image), str(self.mount))

    def off(self) -> None:
        _call("umount", str(self.mount))

    def again(self) -> None:
        """What is left after a cut; its own journal is replayed."""
        self.off()
        self.on()


def _call(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


@pytest.fixture(scope="module")
def ext4() -> Iterator[Ext4]:
    """One file system for all histories; skips where there can be none."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    if missing := [name for name in ("mkfs.ext4", "mount", "umount") if shutil.which(name) is None]:
        pytest.skip(f"{missing[0]} is not installed")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="resumectl-power-") as where:
        try:
            made = Ext4(Path(where))
        except OSError as error:
            pytest.skip(f"no file system of our own here: {error}")
        try:
            try:
                cut_power(made.mount)
            except OSError as error:
                pytest.skip(f"its power can't be cut: {error}")
            made.again()
            yield made
        finally:
            made.off()


class Cutter:
    """Histories whose journal is on the file system, and whose effects and output are not."""

    def __init__(self, ext4: Ext4, where: Path, jobs: int, ids: Sequence[str] = IDS) -> None:
        self.ext4, self.where, self.jobs, self.ids = ext4, where, jobs, ids
        self.repeats = 0
        self._count = count()

    def history(self) -> History:
        name = f"{self.where.name}-{next(self._count)}"
        return History(self.where / name, self.ids, self.jobs, journal=self.ext4.mount / name / "j" / "job.jsonl")

    def resume(self, history: History, warm: Warm) -> None:
        """The power is back: what was acknowledged must still be done, and the job is finished."""
        warm.drain()
        self.ext4.again()
        believed = set(acknowledged(history.runs[-1].ended))
        done = {record["id"] for record in records(history.bytes()) if record["t"] == "done"}
        assert believed <= done, f"acknowledged: {believed}, still done after the power cut: {done}"
        ended = history.run(warm)
        assert ended.code == 0, ended.err
        history.judge()
        self.repeats += len(history.effects()) - len(self.ids)


def test_a_cut_loses_what_was_not_synced_and_nothing_else(ext4):
    """The instrument itself: else the tests below would prove nothing."""
    for name, sync in (("synced", True), ("lost", False)):
        fd = os.open(ext4.mount / name, os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"x")
        if sync:
            os.fsync(fd)
        os.close(fd)
    cut_power(ext4.mount)
    ext4.again()
    assert (ext4.mount / "synced").read_bytes() == b"x"
    assert not (ext4.mount / "lost").exists() or (ext4.mount / "lost").read_bytes() != b"x"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_power_cut_at_any_operation_loses_nothing_that_was_acknowledged(ext4, ram, warms, jobs):
    """Before it, after it, in the midst of a write."""
    cut = Cutter(ext4, ram, jobs)
    history = cut.history()
    assert history.run(warms[0], log=history.path / "log").code == 0
    known = [operation.name for operation in noted(history.path / "log")]
    for point in points(known, "half", "after"):
        if jobs == 1 or point.at >= known.index("lock"):
            check(cut, warms[0], point)
    assert cut.repeats


def check(cut: Cutter, warm: Warm, point: Point) -> None:
    history = cut.history()
    history.run(warm, at=point.at, how=point.how, mount=cut.ext4.mount)
    try:
        cut.resume(history, warm)
    except AssertionError as error:
        raise AssertionError(f"{point}: {error}") from None


def test_a_power_cut_while_the_program_runs_on_loses_nothing_that_was_acknowledged(ext4, ram, warms):
    """Nobody is killed: the program meets a dead disk, says so, and goes; the moment is any after so many effects."""
    cut = Cutter(ext4, ram, 2, [f"i{number}" for number in range(12)])
    for effects in [*range(1, 11)] * 3:
        history = cut.history()
        found = history.found()
        warms[0].start(history.words(), history.path, history.env)
        wait_for_effects(history, effects)
        cut_power(ext4.mount)
        ended = history.saw(found, warms[0].wait())
        assert ended.code == 74 or ended.out.count("\n") == len(cut.ids), ended.err  # or it was quicker
        assert "Traceback" not in ended.err, ended.err
        cut.resume(history, warms[0])
    assert cut.repeats


def wait_for_effects(history: History, count: int) -> None:
    """Without a pause: the next operation may be the one to hit."""
    end = time.monotonic() + PATIENCE
    while len(history.effects()) < count:
        assert time.monotonic() < end, "no effects"
