"""The library beside the program: one journal, one lock, kills and power, types, weight (SPEC 5)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import PATIENCE, Scratch, until

from resumectl import JournalError, process_batches, read_journal, read_results

ROOT = Path(__file__).parent.parent

# Handles 1,713 items in batches of five; strikes (an exception, Ctrl-C, kill -9) come from the file `strike`.
PROGRAM = """
import os, signal, sys
from resumectl import process_batches
def note(id):
    fd = os.open("effects", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, b"%d\\n" % id)
    os.close(fd)
count = 0
kind, after = sys.argv[1], int(sys.argv[2])
def handler(batch):
    global count
    for id in batch:
        note(id)
        count += 1
        if count == after:
            if kind == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if kind == "interrupt":
                raise KeyboardInterrupt
            raise ValueError(kind)
    return [{"id": id, "square": id * id} for id in batch]
process_batches(range(1713), handler, checkpoint="work.jsonl", batch_size=5, sync="none")
"""


def test_a_list_interrupted_by_an_exception_ctrl_c_and_sigkill_ends_with_each_item_done_once(scratch: Scratch) -> None:
    """Never more than the batch in flight is repeated."""
    rng = random.Random(7)
    scratch.write("work.py", PROGRAM)
    kinds = ["kill", "interrupt", "kill", "interrupt", "kill", "error", "none"]
    for kind in kinds:
        words = [sys.executable, "work.py", kind, str(rng.randrange(20, 300)) if kind != "none" else "0"]
        ended = subprocess.run(words, cwd=scratch.path, env=scratch.env, capture_output=True)
        assert ended.returncode == {"kill": -signal.SIGKILL, "interrupt": -signal.SIGINT}.get(kind, 0), ended.stderr
    book = scratch.path / "work.jsonl"
    entries = list(read_journal(book))
    assert len(entries) == 1713 and {entry.state for entry in entries} == {"done"}
    effects = [int(line) for line in scratch.effects()]
    assert set(effects) == set(range(1713)) and len(effects) - 1713 <= 5 * (len(kinds) - 1)
    assert dict(read_results(book))[b"1712"] == b'{"id":1712,"square":2930944}\n'


def test_status_and_results_work_on_a_librarys_journal(scratch: Scratch) -> None:
    """Named by --journal, or as a job where it lies among others; a handler's name stands where a command would."""
    folder = scratch.path / ".resumectl"
    process_batches(["a", "b"], lambda batch: [{"id": "a"}], checkpoint=folder / "lib.jsonl")
    for words in (["lib"], ["--journal", ".resumectl/lib.jsonl"]):
        shown = scratch.run("status", *words)
        assert shown.code == 0 and b"1 done" in shown.out and b"1 failed" in shown.out
        assert scratch.run("results", *words).out == b'{"id":"a"}\n'
    assert scratch.run("status", "lib", "--failed").out == b"b\n"
    assert scratch.run("mark", "done", "--job", "lib", "--id", "b").code == 0
    assert process_batches(["a", "b"], lambda batch: True, checkpoint=folder / "lib.jsonl").resumed == 2


def test_a_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """Also the lines of another checkpoint format: they have to be imported."""
    book = tmp_path / "done.jsonl"
    for data in (b'{"key":"a","t":"2026-01-01"}\n', b"a\nb\n", b"\0" * 64, b'{"t":"header","v":99}\n'):
        book.write_bytes(data)
        with pytest.raises(JournalError) as refused:
            process_batches(["a"], lambda batch: True, checkpoint=book)
        assert refused.value.code == 2 and book.read_bytes() == data
        assert {path.name for path in tmp_path.iterdir()} <= {"done.jsonl", "done.lock"}


def test_damage_is_refused_by_the_library_too(tmp_path: Path) -> None:
    book = tmp_path / "work.jsonl"
    process_batches(range(9), lambda batch: True, checkpoint=book, batch_size=1)
    data = book.read_bytes()
    at = data.index(b'"started","id":"3"')
    book.write_bytes(data[:at] + b"X" + data[at + 1 :])
    with pytest.raises(JournalError, match="line") as refused:
        process_batches(range(9), lambda batch: True, checkpoint=book)
    assert refused.value.code == 65


def test_a_disk_that_fails_raises_and_the_next_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing new is handed over once a record could not be written."""
    book, seen = tmp_path / "work.jsonl", list[int]()

    def handler(batch: list[int]) -> bool:
        seen.extend(batch)
        if seen[-1] == 2 and len(seen) == 3:
            monkeypatch.setattr(os, "fdatasync", fails)
        return True

    def fails(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with pytest.raises(JournalError, match="Input/output error") as broken:
        process_batches(range(6), handler, checkpoint=book, batch_size=1)
    assert broken.value.code == 74 and seen == [0, 1, 2]
    monkeypatch.undo()
    assert process_batches(range(6), handler, checkpoint=book, batch_size=1).ok and len(seen) <= 7


def test_kill_9_of_a_threaded_call_repeats_at_most_what_was_in_flight(scratch: Scratch) -> None:
    body = PROGRAM.replace("batch_size=5", "batch_size=5, jobs=4").replace("range(1713)", "range(300)")
    scratch.write("work.py", body)
    words = [sys.executable, "work.py"]
    for after in ("40", "60", "0"):
        kind = "kill" if after != "0" else "none"
        subprocess.run([*words, kind, after], cwd=scratch.path, env=scratch.env)
    effects = [int(line) for line in scratch.effects()]
    assert set(effects) == set(range(300)) and len(effects) - 300 <= 2 * 4 * 5


def test_a_sigterm_ends_the_program_as_its_own_handler_says(scratch: Scratch) -> None:
    """No signal handler is installed: the default action stands, and the next call goes on."""
    scratch.write(
        "work.py",
        "import signal, sys\nfrom resumectl import process_batches\n"
        "def handler(batch):\n"
        "    open('begun', 'a').write(f'{batch[0]}\\n')\n"
        "    signal.pause() if len(sys.argv) > 1 else None\n"
        "    return True\n"
        "process_batches(range(3), handler, checkpoint='w.jsonl', batch_size=1)\n",
    )
    process = subprocess.Popen([sys.executable, "work.py", "x"], cwd=scratch.path, env=scratch.env)
    until(lambda: scratch.lines("begun"))
    process.terminate()
    assert process.wait(PATIENCE) == -signal.SIGTERM
    subprocess.run([sys.executable, "work.py"], cwd=scratch.path, env=scratch.env, check=True)
    assert scratch.lines("begun") == ["0", "0", "1", "2"]


def test_the_library_pulls_in_neither_the_command_line_nor_its_pictures() -> None:
    """Not by its import, and not by its use."""
    code = """
    import sys, tempfile, pathlib, resumectl
    assert not {"typer", "rich", "orjson", "portalocker"} & set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        resumectl.process_batches([1, 2], lambda batch: True, checkpoint=pathlib.Path(folder) / "w.jsonl")
        list(resumectl.read_results(pathlib.Path(folder) / "w.jsonl"))
    assert not {"typer", "rich"} & set(sys.modules)
    """
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, env=environ)


TYPED = """
from dataclasses import dataclass
from pathlib import Path
from resumectl import Progress, Summary, process_batches, read_journal, read_results, reset

@dataclass
class Order:
    id: str
    cents: int

def book(batch: list[Order]) -> list[dict[str, object]]:
    return [{"id": order.id, "cents": order.cents} for order in batch]

async def later(batch: list[Order]) -> bool:
    return True

def lost(error: Exception, batch: list[Order]) -> None: ...

orders = [Order("a", 1)]
reveal_type(process_batches(orders, book, checkpoint="x.jsonl", on_batch_error=lost).ok)
reveal_type(process_batches(orders, lambda batch: reveal_type(batch) == [], key=lambda order: order.cents, checkpoint=Path("x")).total)
process_batches(orders, later, checkpoint="x.jsonl", sync="none", on_progress=lambda progress: print(progress.completed))
reveal_type([entry.attempts for entry in read_journal("x.jsonl")])
reveal_type(dict(read_results("x.jsonl")))
reveal_type(reset("x.jsonl"))
process_batches([1, 2], book, checkpoint="x.jsonl")
process_batches(orders, book, checkpoint="x.jsonl", sync="often")
process_batches(orders, book)
"""


@pytest.mark.slow
def test_the_types_of_items_are_inferred_and_wrong_calls_are_found(tmp_path: Path) -> None:
    """With mypy --strict; the last three calls are wrong."""
    pytest.importorskip("mypy")
    (tmp_path / "typed.py").write_text(TYPED)
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", str(tmp_path / "cache"), "typed.py"]
    ended = subprocess.run(words, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True)
    notes = [line.split("Revealed type is ")[1].strip('"') for line in ended.stdout.splitlines() if "Revealed" in line]
    short = [note.replace("builtins.", "") for note in notes]
    expected = {"bool", "list[typed.Order]", "int | None", "list[int]", "dict[bytes, bytes | None]", "list[pathlib.Path]"}
    assert set(short) == expected, ended.stdout
    errors = [line for line in ended.stdout.splitlines() if ": error:" in line]
    lines = TYPED.splitlines()
    assert sorted({int(line.split(":")[1]) for line in errors}) == [len(lines) - 2, len(lines) - 1, len(lines)], ended.stdout
