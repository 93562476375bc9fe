"""Where a file of ours should be stands something else, or nothing can be reached there (SPEC 2.5, 2.12, 8)."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest
from conftest import APPEND, PATIENCE, PROGRAM, Quick, Scratch, until
from faults import HOLD, UNPRIVILEGED, opened, patched

from resumectl import JournalError, files, process_batches
from resumectl.cli import Refusal
from resumectl.cli.starting import make_room
from resumectl.disk import Disk
from resumectl.files import Claims, FileTemplate, safe
from resumectl.items import Item
from resumectl.program import Unusable, find

READERS = ["status", "check", "export", "log", "results", "explain a", "resume"]
WRITERS = ["run -a i -- true", "mark done --id a", "reset --yes", "compact", "import --from ids i"]


@pytest.mark.parametrize("linked", [True, False])
def test_a_journal_that_is_no_file_is_never_waited_for_and_never_replaced(quick: Quick, linked: bool) -> None:
    """A pipe, or a link to a device: not a journal, exit 2, and it is what it was."""
    quick.items("a")
    path = quick.path / "w.jsonl"
    (path.symlink_to("/dev/zero") if linked else os.mkfifo(path))
    before = path.lstat()
    for command in READERS + WRITERS:
        verb, *words = command.split()
        ended = quick.run(verb, "--journal", "w.jsonl", *words)
        assert ended.code == 2 and "it is no regular file" in ended.err and "Traceback" not in ended.err, command
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert not list(Path("/dev").glob("zero.*")), "nothing is made beside what a link leads to"


def test_a_handler_has_no_checkpoint_in_a_device(tmp_path: Path) -> None:
    device = tmp_path / "c.jsonl"
    device.symlink_to(os.devnull)
    with pytest.raises(JournalError, match="no regular file"):
        process_batches([1], lambda batch: True, checkpoint=device)
    assert not os.path.isfile(os.devnull) and device.is_symlink()


def test_a_link_to_a_journal_and_the_journal_have_one_lock(scratch: Scratch) -> None:
    scratch.items("a")
    (scratch.path / "sub").mkdir()
    (scratch.path / "w.jsonl").symlink_to("sub/real.jsonl")
    process = scratch.start("run", "--journal", "w.jsonl", "-a", "i", *HOLD)
    until(lambda: scratch.lines("begun"))
    beside = scratch.run("run", "--journal", "sub/real.jsonl", "-a", "i", *HOLD)
    opened(scratch)
    assert beside.code == 4 and process.wait(PATIENCE) == 0 and scratch.effects() == ["a"]
    assert scratch.run("compact", "--journal", "w.jsonl").code == 0
    assert (scratch.path / "w.jsonl").is_symlink() and scratch.run("status", "--done", "--journal", "w.jsonl").out == b"a\n"


def test_a_current_directory_that_is_gone_is_said_before_anything_is_made(scratch: Scratch) -> None:
    scratch.items("a")
    gone = scratch.path / "gone"
    for words in (["status"], ["run", "-a", f"{scratch.path}/i", "--journal", f"{scratch.path}/j/w.jsonl", *APPEND]):
        gone.mkdir()
        line = f'cd {gone} && rmdir {gone} && exec "$@"'
        ended = subprocess.run(["sh", "-c", line, "_", *PROGRAM, *words], env=scratch.env, capture_output=True, text=True, check=False)
        assert ended.returncode == 2 and ended.stderr == "resumectl: the current directory is gone; cd to one that exists\n"
    assert not (scratch.path / "j").exists()


def test_a_directory_that_may_not_be_read_is_named(scratch: Scratch) -> None:
    """As after a run by another user: one line, and no word of a bug."""
    scratch.items("a")
    scratch.run("run", "-a", "i", *APPEND)
    where = scratch.path / ".resumectl"
    where.chmod(0)
    drop = UNPRIVILEGED if os.geteuid() == 0 else ()
    try:
        for command in ("status", "status sh", "run -a i -- true", "explain a", "log"):
            words = [*drop, *PROGRAM, *command.split()]
            ended = subprocess.run(words, cwd=scratch.path, env=scratch.env, capture_output=True, text=True, check=False)
            assert ended.returncode == 74 and ended.stderr.count("\n") == 1 and "Permission denied" in ended.stderr, command
    finally:
        where.chmod(0o700)


def test_an_interpreter_is_judged_by_a_whole_first_line_alone(tmp_path: Path) -> None:
    """A file may lack its newline; a line that is cut where we stop reading may be right where more is read (macOS)."""
    script = tmp_path / "script"
    for first, refused in (("/no/such", True), ("/no/such\n", True), ("/no/" + "x" * 300 + "\n", False), ("/bin/sh\n", False)):
        script.write_text(f"#!{first}")
        script.chmod(0o755)
        with pytest.raises(Unusable, match="its interpreter") if refused else nullcontext():
            assert find(os.fsencode(script), {}) == os.fsencode(script)


def test_slots_that_a_system_does_not_allow_files_for_are_refused_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """As macOS, whose own limit lies below the hard one."""

    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    with pytest.raises(Refusal, match="the limit is 256"):
        make_room(2000)
    assert make_room(4) == 72


def test_a_file_system_that_can_not_flush_its_drive_is_synced_as_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As SMB and FUSE under macOS: that is no reason to refuse a run."""
    asked, synced = [], []

    def refuse(fd: int, command: int) -> int:
        asked.append(command)
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(os, "fsync", synced.append)
    Disk().sync(7)
    assert (asked, synced) == ([51], [7])


def test_where_names_are_folded_no_two_items_share_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS: neither case nor the form of an accent tells two files apart, and names are UTF-8."""
    claims = [Claims([FileTemplate.parse(b"out/{}.txt", "--out")]) for _ in range(2)]
    pairs = [(b"a", b"A"), ("é".encode(), "e\u0301".encode())]
    for strict in (False, True):
        monkeypatch.setattr(files, "STRICT", strict)
        for number, pair in enumerate(pairs):
            taken = [claims[strict].taken(Item(id, None, 2 * number + at)) for at, id in enumerate(pair)]
            assert [path is not None for path in taken] == [False, strict]
    names = [safe(id) for id in (b"\xff", b"%FF", "é".encode() * 120, "é".encode() * 121)]
    assert len({name.decode() for name in names}) == 4 and max(map(len, names)) <= files.LONGEST


def test_a_fence_is_found_whatever_its_journal_is_called(scratch: Scratch) -> None:
    """Brackets in a name are no pattern."""
    scratch.items("a", "b")
    run = ("run", "--journal", "w[1].jsonl", "-a", "i")
    process = scratch.start(*run, *HOLD)
    until(lambda: scratch.lines("begun"))
    process.kill()
    process.wait()
    env = patched(scratch, "import resumectl.fence as f\nf._of_journal = lambda journal: iter(())")
    beside = scratch.start(*run, "--orphans", "ignore", *HOLD, env=env)
    until(lambda: len(scratch.lines("begun")) > 1)
    beside.kill()
    beside.wait()
    assert scratch.run(*run, "--orphan-wait", "0s", *HOLD, env=env).code == 4
    opened(scratch)
