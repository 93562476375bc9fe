"""Any ids, any interleaving of ends, any kill point; and readers that answer or refuse, whatever they are given."""

from __future__ import annotations

import gc
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crash_disk import MemoryDisk
from crash_driver import PLACE, Log, Script, play, stillness
from crash_oracle import Told, Witness
from crash_state import EMPTY, File, State, power_cuts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resumectl.ledger import Ledger
from resumectl.ledger import State as Standing
from resumectl.lines import JournalError, Text, read
from resumectl.records import Decoder, Record, encode, intact
from resumectl.run import Run
from resumectl.snapshot import Snapshot
from resumectl.verdict import Kind

SEED = 0x5EED
QUICK = settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
IDS = st.one_of(st.binary(min_size=1, max_size=20), st.text(min_size=1, max_size=9).map(str.encode), st.binary(min_size=250, max_size=270))
FATES = st.lists(st.sampled_from([Kind.DONE, Kind.FAILED, Kind.CUT_OFF]), max_size=3).map(tuple)
STATES = {Kind.DONE: Standing.DONE, Kind.FAILED: Standing.FAILED, Kind.CUT_OFF: Standing.CUT_OFF}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["h", "b64", "x"]), inner, max_size=2),
    max_leaves=4,
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    gc.disable()
    with stillness():
        yield
    gc.enable()


@st.composite
def scripts(draw: Any) -> Script:
    ids = tuple(draw(st.lists(IDS, min_size=1, max_size=6, unique=True)))
    fates = draw(st.dictionaries(st.sampled_from(ids), FATES))
    jobs, together = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    return Script(ids, jobs, draw(st.integers(0, 99)), together, fates, keep=draw(st.booleans()))


def loaded(disk: State, memory: MemoryDisk | None = None) -> Run:
    run = Run(PLACE, memory or MemoryDisk(disk))
    run.load()
    return run


@given(script=scripts(), at=st.integers(1, 120), part=st.integers(0, 300))
@QUICK
def test_the_journal_agrees_with_what_the_commands_did(script: Script, at: int, part: int) -> None:
    """Killed anywhere: what was acknowledged has that state, what runs is open, what is done has run."""
    log: Log = []
    disk = MemoryDisk(die_at=at, part=part)
    play(disk, script, log)
    run = loaded(disk.state)
    started = {event[1]: event[2] for event in log if event[0] == "start"}
    ended = {event[1]: event[3] for event in log if event[0] == "end"}
    told = {event[1]: event[2] for event in log if event[0] == "ack"}
    for id in script.ids:
        standing = run.ledger.standing(id)
        assert standing.attempts >= started.get(id, 0)
        if id in told:
            assert standing.state is STATES[told[id]]
        elif id in ended:
            assert standing.state in (STATES[ended[id]], Standing.CUT_OFF)
        else:
            assert standing.open if id in started else standing.state in (Standing.NEW, Standing.CUT_OFF)


@given(script=scripts(), at=st.integers(15, 120), pick=st.integers(0, 99))
@QUICK
def test_any_job_is_finished_after_a_power_cut(script: Script, at: int, pick: int) -> None:
    """The whole history is judged, with ids that nobody would choose."""
    witness, log = Witness(script), []
    memory = MemoryDisk(die_at=at, part=pick)
    play(memory, script, log)
    witness.run(log, died=True)
    disk = random.Random(pick).choice(list(power_cuts(memory.state)))
    for _ in range(2):
        memory, log = MemoryDisk(disk), []
        play(memory, script.calm(), log)
        witness.run(log, died=False)
        disk = memory.state
    witness.finished()
    told = Told(disk.read(PLACE.journal))
    told.grammar()
    told.kept(disk.read(PLACE.out))


@given(t=st.sampled_from(["started", "done", "failed", "cut_off", "reset"]), ids=st.lists(IDS, min_size=1, max_size=3), attempt=st.integers(0, 2**40))
@QUICK
def test_a_record_comes_back_as_it_was_written(t: str, ids: list[bytes], attempt: int) -> None:
    """Ids are bytes of any kind and length; the line is one line and its sum holds."""
    decoder = Decoder()
    for id in ids:
        decoder.record(encode(Record("started", (id,), (1,)), SEED, "now"))
    record = Record(t, tuple(ids), (attempt,) * len(ids), {"why": "x"})
    line = encode(record, SEED, "now")
    assert line.count(b"\n") == 1 and intact(line[:-1], SEED)
    back = decoder.record(line[:-1])
    assert (back.t, back.ids, back.attempts, back.rest["why"]) == (t, tuple(ids), record.attempts, "x")


def journal(data: bytes) -> State:
    """A disk with this journal."""
    directory, path = str(PLACE.journal.parent), str(PLACE.journal)
    names = {**EMPTY.names, directory: 0, path: 1}
    return State(names, {1: File(data, data)}, names)


def answers(data: bytes) -> None:
    """Run.load and the lock-free reader answer or raise JournalError, nothing else."""
    disk, text, ledger = MemoryDisk(journal(data)), Text(Path("j")), Ledger()
    try:
        for record in read(PLACE.journal, disk, text=text):
            ledger.enter(record)
        Snapshot(PLACE, ledger, text, running=False).fields()
    except JournalError:
        pass
    try:
        run = loaded(journal(data), disk)
        run.orphans()
        run.seal_open()
        run.heal()
        run.begin({"jobs": 1})
    except JournalError:
        pass


@given(st.binary(max_size=400))
@QUICK
def test_any_bytes_are_answered_or_refused(data: bytes) -> None:
    answers(data)


def real() -> bytes:
    """The journal of a run with a failure, a long id and one that is no UTF-8."""
    memory = MemoryDisk()
    play(memory, Script((b"a", b"\xff", b"c" * 300), jobs=2, fates={b"a": (Kind.FAILED,)}, keep=True), [])
    return memory.state.read(PLACE.journal)


with stillness():
    DATA = real()


@given(st.lists(st.tuples(st.sampled_from(["cut", "insert", "swap", "drop"]), st.integers(0, 5000), st.binary(max_size=30)), min_size=1, max_size=4))
@QUICK
def test_a_journal_that_was_tampered_with_is_answered_or_refused(changes: list[tuple[str, int, bytes]]) -> None:
    data = DATA
    for how, at, some in changes:
        at %= len(data) + 1
        if how == "cut":
            data = data[:at]
        elif how == "insert":
            data = data[:at] + some + data[at:]
        elif how == "swap":
            data = data[at:] + data[:at]
        else:
            data = data[:at] + data[at + len(some) :]
    answers(data)


@given(st.sampled_from(["began", "started", "run"]), st.dictionaries(st.sampled_from(["x", "att", "worker"]), JSON, max_size=3))
@QUICK
def test_what_a_newer_version_adds_is_skipped(t: str, fields: dict[str, Any]) -> None:
    """Unknown records and unknown fields change nothing that is known."""
    before = loaded(journal(DATA))
    ids = ("never-heard-of",) if t == "started" else ()
    more: dict[str, Any] = {"run": 9, "jobs": 2, "bad": 0} if t == "run" else {}
    record = Record(t, tuple(map(str.encode, ids)), (1,) * len(ids), {**more, **fields})
    after = loaded(journal(DATA + encode(record, zlib.crc32(b"0" * 16), "now")))
    known = list(before.ledger.ids())
    assert [after.ledger.standing(id) for id in known] == [before.ledger.standing(id) for id in known]
    assert not after.journal.text.bad
