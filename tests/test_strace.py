"""The installed program, unmodified: killed at each system call on its files, and each of those calls failing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
import tracing
from oracle import (
    History,
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
    """One for each call; of those that change nothing themselves half are killed and the other half fail."""
    for kind, calls in kinds.items():
        first, step = (1 + (what != "KILL"), 2) if kind in ("openat", "fsync") else (1, 1)
        for when in range(first, calls + 1, step):
            yield Fault(kind, what or FAILS.get(kind, "ENOSPC"), str(when))


def finish(history: History, warm: Warm) -> None:
    """I9: the next run finishes the job; then everything is judged."""
    ended = history.run(warm)
    assert ended.code == 0, ended.err
    history.judge()


def test_the_program_killed_at_any_call_on_its_files_is_finished_by_the_same_command(ram, warms):
    """Two at once, from standard input: every kind of file is made."""
    bench = Bench(ram, 2, stream=True)

    def kill(warm: Warm, fault: Fault) -> None:
        history = bench.history()
        traced(history, fault=fault)
        finish(history, warm)

    spread(kill, faults(bench.counted(), "KILL"), warms)


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


@pytest.mark.parametrize("what", ["KILL", "EIO"])
@pytest.mark.parametrize("kind", ["link", "rename"])
def test_starting_over_keeps_the_old_journal_or_has_the_new_one(ram, warms, kind, what):
    """--fresh, cut in two: no state between the two journals can be seen, and nothing of the old one is lost."""
    history = prepared(ram, warms[0])
    old = history.bytes()
    fault = Fault(kind, what, "1")
    ended, _ = traced(history, "--fresh", fault=fault)
    assert ended.code in (-9, 74), ended.err
    assert "Traceback" not in ended.err
    kept = [path.read_bytes() for path in history.journal.parent.glob("*.jsonl.bak-*")]
    assert history.bytes() == old and kept in ([], [old])
    ended = history.run(warms[0], "--fresh")
    assert ended.code == 0 and ended.out, ended.err
    assert {path.read_bytes() for path in history.journal.parent.glob("*.jsonl.bak-*")} == {old}
    i2_every_item_is_done_once(history, records(history.bytes()))
    i5_the_grammar_holds(records(history.bytes()))


HAND = {
    "mark": ["mark", "failed", "--id", "b", "--job", "sh"],
    "reset": ["reset", "--id", "b", "--yes"],
    "purge": ["reset", "--purge", "--yes"],
}


@pytest.mark.parametrize("verb", HAND)
def test_a_person_s_word_is_taken_whole_or_not_at_all(ram, warms, verb):
    """mark and reset, killed at each call or failing there: afterwards the same word and a run do what they say."""
    places = count()

    def befall(warm: Warm, fault: Fault) -> None:
        history = prepared(ram / str(next(places)), warm)
        ended, found = traced(history, words=HAND[verb], fault=fault)
        expected = 0 if any(call.injected and harmless(call.kind, call.paths) for call in found) else 74
        assert ended.code == (-9 if fault.what == "KILL" else expected), ended.err
        assert "Traceback" not in ended.err
        i5_the_grammar_holds(records(history.bytes()))
        do(history, warm, HAND[verb])
        ended = history.run(warm)
        assert ended.code == 0, ended.err
        assert set(ended.out.split()[::2]) == set(IDS if verb == "purge" else "b")

    known = Counter(call.kind for call in own(traced(prepared(ram / "known", warms[0]), words=HAND[verb])[1]))
    changing = [kind for kind in known if kind not in ("openat", "fsync", "ftruncate")]
    spread(befall, [Fault(kind, what, str(known[kind])) for kind in changing for what in ("KILL", "EIO")], warms)


def prepared(path: Path, warm: Warm) -> History:
    """A job that is done."""
    history = History(path / "h", IDS)
    assert history.run(warm).code == 0
    return history


def do(history: History, warm: Warm, words: list[str]) -> None:
    """Another command on a history's job.  What it acknowledged before no longer counts."""
    warm.start(words, history.path, history.env)
    ended = warm.wait()
    assert ended.code == 0 or "no journal" in ended.err, ended.err


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
