"""The installed program, unmodified: killed at each system call on its files, and each of those calls failing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
import tracing
from oracle import (
    JOB,
    History,
    acknowledged,
    harmless,
    i2_every_item_is_done_once,
    i5_the_grammar_holds,
    i8_after_an_error_nothing_starts_and_what_is_not_recorded_is_named,
    records,
)
from tracing import Call, Fault, own, traced
from warm import Ended, Warm, spread

REASON = tracing.unavailable()
pytestmark = [pytest.mark.strace, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
IDS = ["a", "b", "c"]
FAILS = {"fdatasync": "EIO", "fsync": "EIO"}  # everything else: the disk is full


class Bench:
    """Histories in directories of their own, each prepared in the same way."""

    def __init__(self, where: Path, jobs: int = 1, stream: bool = False) -> None:
        self.where, self.jobs, self.stream = where, jobs, stream
        self._count = count()

    def history(self) -> History:
        return History(self.where / str(next(self._count)), IDS, self.jobs, self.stream)

    def counted(self) -> Counter[str]:
        """How often a run that nothing befalls makes each kind of call."""
        ended, found = traced(self.history())
        assert ended.code == 0, ended.err
        return Counter(call.kind for call in own(found))


def faults(kinds: Counter[str], what: str = "") -> Iterator[Fault]:
    """One for each call; of those that change no bytes one half is killed and the other half fails."""
    for kind, calls in kinds.items():
        first, step = (1 + (what != "KILL"), 2) if kind in ("openat", "fsync", "fdatasync") else (1, 1)
        for when in range(first, calls + 1, step):
            yield Fault(kind, what or FAILS.get(kind, "ENOSPC"), str(when))


def finish(history: History, warm: Warm) -> None:
    """I9: the next run finishes the job; then everything is judged."""
    ended = history.run(warm)
    assert ended.code == 0, ended.err
    history.judge()


@pytest.mark.slow
def test_the_program_killed_at_any_call_on_its_files_is_finished_by_the_same_command(ram, warms):
    """Two at once, from standard input: every kind of file is made."""
    bench = Bench(ram, 2, stream=True)

    def kill(warm: Warm, fault: Fault) -> None:
        history = bench.history()
        traced(history, fault=fault)
        finish(history, warm)

    spread(kill, faults(bench.counted(), "KILL"), warms)


@pytest.mark.slow
def test_any_call_that_fails_ends_the_run_with_74_and_the_next_run_finishes(ram, warms):
    """I8: one line says what failed, nothing starts after it, what is not recorded is named."""
    bench = Bench(ram)

    def fail(warm: Warm, fault: Fault) -> None:
        history = bench.history()
        ended, found = traced(history, fault=fault)
        check_failure(history, ended, found)
        assert "not recorded" not in ended.err, f"only one call failed: {ended.err}"
        finish(history, warm)

    spread(fail, faults(bench.counted()), warms)


@pytest.mark.parametrize(("kind", "what", "when"), [("link", "KILL", 1), ("link", "EIO", 1), ("rename", "KILL", 1), ("rename", "EIO", 2)])
def test_starting_over_has_the_old_journal_or_the_new_one(ram, warms, kind, what, when):
    """--fresh, cut in two: no state between the two journals can be seen, and nothing of the old one is lost."""
    history = prepared(ram, warms[0])
    old = history.bytes()
    ended, _ = traced(history, "--fresh", fault=Fault(kind, what, str(when)))
    assert ended.code == (-9 if what == "KILL" else 74), ended.err
    assert "Traceback" not in ended.err
    kept = archives(history)
    assert history.bytes() == old or kept == {old}, "the old journal is gone"
    assert history.run(warms[0], "--fresh").code == 0
    assert old in archives(history)
    assert Counter(effect.id for effect in history.effects()) == Counter(IDS * 2)
    i2_every_item_is_done_once(history, records(history.bytes()))


def archives(history: History) -> set[bytes]:
    return {path.read_bytes() for path in history.journal.parent.glob("*.jsonl.bak-*")}


def prepared(path: Path, warm: Warm) -> History:
    """A job that is done."""
    history = History(path / "h", IDS)
    assert history.run(warm).code == 0
    return history


MARK = ["mark", "failed", "--id", "b", "--job", JOB]
RESET = ["reset", JOB, "--id", "b", "--yes"]
PURGE = ["reset", JOB, "--purge", "--yes"]


@pytest.mark.parametrize(
    ("words", "kind", "what", "when"),
    [
        (MARK, "write", "KILL", 2),  # the first is the lock's note
        (MARK, "write", "ENOSPC", 2),
        (RESET, "write", "KILL", 2),
        (RESET, "fdatasync", "EIO", 1),
        (RESET, "fdatasync", "EIO", 3),
        (PURGE, "link", "KILL", 1),
        (PURGE, "rename", "EIO", 1),
        (PURGE, "unlink", "KILL", 1),
        (PURGE, "unlink", "EIO", 1),
    ],
)
def test_a_person_s_word_that_is_cut_short_can_be_said_again(ram, warms, words, kind, what, when):
    """mark and reset, killed or failing: then the same word and a run do what they say."""
    history = prepared(ram, warms[0])
    ended, _ = traced(history, words=words, fault=Fault(kind, what, str(when)), everywhere=kind == "unlink")
    assert ended.code == (-9 if what == "KILL" else 74), ended.err
    assert "Traceback" not in ended.err
    i5_the_grammar_holds(records(history.bytes()))
    warms[0].start(words, history.path, history.env)
    assert warms[0].wait().code == 0
    ended = history.run(warms[0])
    assert ended.code == 0, ended.err
    assert acknowledged(ended).keys() == set(IDS if words is PURGE else "b")


def test_a_full_disk_under_the_commands_output_is_no_bug_of_ours(ram, warms):
    """A stream that can't be made ends the run with 74; its item never began, and is charged nothing."""
    history = History(ram / "h", [f"i{n}" for n in range(12)])
    calls = traced(History(ram / "known", IDS))[1]
    most = Counter(call.kind for call in own(calls))["openat"]  # more than the main thread makes: a worker's
    ended, _ = traced(history, fault=Fault("openat", "ENOSPC", f"{most + 1}+"))
    assert ended.code == 74, ended.err
    assert len(history.effects()) == most // 2
    finish(history, warms[0])


def check_failure(history: History, ended: Ended, found: Sequence[Call]) -> None:
    """What a failed call must come to."""
    at = next((at for at, call in enumerate(found) if call.injected), None)
    assert at is not None, "nothing failed"
    if harmless(found[at].kind, found[at].paths):
        assert ended.code == 0, ended.err
        return
    events = [(call.kind, call.paths[0], call.text) for call in found[:at]]
    i8_after_an_error_nothing_starts_and_what_is_not_recorded_is_named(history, ended, events)
