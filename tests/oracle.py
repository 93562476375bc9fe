"""Whether a history of crashes kept the promises, judged by what the commands did, not by the journal's opinion.

The effects file has a line `ID ATTEMPT KEY` for each time that the command did its
work; the same `ID ATTEMPT` on the program's standard output acknowledges it.  An
item named `slow` waits until there is a file `go`.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from warm import Ended, Warm

CHILD = (
    'until [ "$RESUMECTL_ITEM" != slow ] || [ -e go ]; do sleep 0.01; done; '
    'printf "%s %s %s\\n" "$RESUMECTL_ITEM" "$RESUMECTL_ATTEMPT" "$RESUMECTL_KEY" >>"$EFFECTS" && '
    'printf "%s %s\\n" "$RESUMECTL_ITEM" "$RESUMECTL_ATTEMPT"'
)
ENDS = {"done", "failed", "cut_off", "uncharged", "held"}
JOB = "sh"
# All names that the job's files have; a path that is missing here is not looked at.
NAMES = [".jsonl", ".jsonl.new", ".out", ".items", ".items.new", ".lock", ".live", ".live.new"]


class Effect(NamedTuple):
    id: str
    attempt: int
    key: str


@dataclass(frozen=True)
class Seen:
    """One run: the journal and the number of effects that it found, and how it ended."""

    before: bytes
    effects: int
    ended: Ended


@dataclass
class History:
    """One job in a directory of its own, run again and again.  `journal` may stand elsewhere."""

    path: Path
    ids: Sequence[str]
    jobs: int = 1
    stream: bool = False
    journal: Path = Path()
    runs: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True)
        self.where = [] if self.journal == Path() else ["--journal", str(self.journal)]
        if not self.where:
            self.journal = self.path / ".resumectl" / f"{JOB}.jsonl"
        self.list = "".join(f"{id}\n" for id in self.ids)
        (self.path / "i").write_text(self.list)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RESUMECTL_")}
        self.env = {**kept, "EFFECTS": str(self.path / "effects"), "HOME": str(self.path)}

    def words(self, *options: str) -> list[str]:
        """The command line of a run."""
        source = [] if self.stream else ["-a", "i"]
        return ["run", "-j", str(self.jobs), *self.where, *source, *options, "--", "sh", "-c", CHILD]

    def paths(self) -> list[Path]:
        """The journal's directory and every name that a file of the job may have there."""
        directory = self.journal.parent
        names = [f"{self.journal.name.removesuffix('.jsonl')}{suffix}" for suffix in NAMES]
        return [directory, *(directory / name for name in [*names, ".gitignore", ".gitignore.new"])]

    def bytes(self) -> bytes:
        try:
            return self.journal.read_bytes()
        except FileNotFoundError:
            return b""

    def run(self, warm: Warm, *options: str, **spy: Any) -> Ended:
        """One run to its end, or its death."""
        before = self.found()
        warm.start(self.words(*options), self.path, self.env, self.list if self.stream else "", **spy)
        return self.saw(before, warm.wait())

    def found(self) -> tuple[bytes, int]:
        """What the next run finds."""
        return self.bytes(), len(self.effects())

    def saw(self, before: tuple[bytes, int], ended: Ended) -> Ended:
        self.runs.append(Seen(*before, ended))
        return ended

    def effects(self) -> list[Effect]:
        try:
            lines = (self.path / "effects").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [Effect(id, int(attempt), key) for id, attempt, key in map(str.split, lines)]

    @property
    def crashes(self) -> int:
        return sum(seen.ended.code != 0 for seen in self.runs)

    def judge(self) -> None:
        """AssertionError naming the invariant (JOURNAL.md) that does not hold after the last run."""
        text = self.bytes()
        i1_what_was_acknowledged_or_recorded_never_runs_again(self)
        i2_every_item_is_done_once(self, records(text))
        i3_each_crash_repeats_at_most_what_was_in_flight(self)
        i4_every_repeat_was_announced(self)
        i5_the_grammar_holds(records(text))
        i6_every_line_passes_and_no_byte_changed(self, text)
        what_the_journal_names_as_kept_is_there(self, records(text))


def i1_what_was_acknowledged_or_recorded_never_runs_again(history: History) -> None:
    believed: dict[str, int] = {}
    for seen in history.runs:
        believed |= acknowledged(seen.ended)
        believed |= {record["id"]: record["a"] for record in records(seen.before) if record["t"] == "done"}
    for effect in history.effects():
        attempt = believed.get(effect.id, effect.attempt)
        assert effect.attempt <= attempt, f"I1: {effect.id} was done in attempt {attempt} and ran again: {effect}"


def acknowledged(ended: Ended) -> dict[str, int]:
    """The items whose output a run has printed, each with its attempt."""
    return {id: int(attempt) for id, attempt in map(str.split, ended.out.splitlines())}


def i2_every_item_is_done_once(history: History, found: Iterable[dict[str, Any]]) -> None:
    done = Counter(record["id"] for record in found if record["t"] == "done")
    assert done == Counter(history.ids), f"I2: done {done}"
    assert {effect.id for effect in history.effects()} == set(history.ids), "I2: an item had no effect"


def i3_each_crash_repeats_at_most_what_was_in_flight(history: History) -> None:
    effects = history.effects()
    repeats = len(effects) - len(history.ids)
    assert repeats <= history.crashes * history.jobs, f"I3: {repeats} repeats after {history.crashes} crashes"
    assert len(effects) == len({effect[:2] for effect in effects}), f"I3: one attempt had two effects: {effects}"
    for id, keys in _grouped((effect.id, effect.key) for effect in effects).items():
        assert len(set(keys)) == 1, f"{id} had two keys: {keys}"


def i4_every_repeat_was_announced(history: History) -> None:
    told = Counter(id for seen in history.runs for id in announced(seen.ended.err))
    for id, count in Counter(effect.id for effect in history.effects()).items():
        assert count - 1 <= told[id], f"I4: {id} ran {count} times, announced {told[id]} times"


def announced(err: str) -> list[str]:
    """The ids that a run said were cut off before it."""
    lines = re.findall(r"^cut off before: (.*)$", err, re.MULTILINE)
    return [id for line in lines for id in line.split(", ")]


def i5_the_grammar_holds(found: Iterable[dict[str, Any]]) -> None:
    for id, story in _grouped((record["id"], record) for record in found if "id" in record).items():
        running, last, done = 0, 0, False
        for record in story:
            kind, attempt = record["t"], record.get("a", 0)
            if kind == "started":
                assert attempt > last and not running and not done, f"I5: {id} is started in spite of its story: {story}"
                running = last = attempt
            elif kind in ENDS and "by" not in record:
                assert attempt == running, f"I5: {id}: {kind} ends nothing: {story}"
                running = 0
            done = (done or kind == "done") and kind != "reset"


def i6_every_line_passes_and_no_byte_changed(history: History, text: bytes) -> None:
    for one, other in zip(history.runs, [*history.runs[1:], Seen(text, 0, Ended(0, "", ""))], strict=True):
        if not is_cut(one, other):
            assert other.before.startswith(one.before), "I6: bytes that a run had found have changed"
    assert text.endswith(b"\n"), "I6: the last line is torn"
    bad = 0
    for record in lines(text):
        bad += record is None
        if record is not None and "bad" in record:
            assert record["bad"] == bad, f"I6: {bad} bad lines stand before {record}"
    assert bad <= history.crashes * (2 * history.jobs + 1), f"I6: {bad} bad lines after {history.crashes} crashes"


def what_the_journal_names_as_kept_is_there(history: History, found: Iterable[dict[str, Any]]) -> None:
    path = history.journal.with_suffix(".out")
    kept = path.read_bytes() if path.exists() else b""
    for record in found:
        for stream in ("out", "err"):
            if field := record.get(stream):
                offset, length, crc = field
                piece = kept[offset : offset + length]
                intact = len(piece) == length and f"{zlib.crc32(piece):08x}" == crc
                assert intact, f"the kept {stream} of {record} is not there: {piece!r}"


def i8_after_an_error_nothing_starts_and_what_is_not_recorded_is_named(
    history: History, ended: Ended, before: Iterable[tuple[str, str, str]]
) -> None:
    """`before`: the writes and syncs that went well, each with its path and what was written."""
    assert ended.code == 74, f"I8: exit {ended.code}: {ended.err}"
    complaints = [line for line in ended.err.splitlines() if line.startswith("resumectl: ") and "cleaned up" not in line]
    assert len(complaints) == 1 and "Traceback" not in ended.err, ended.err
    did = {effect[:2] for effect in history.effects()[history.runs[-1].effects :]}
    may = may_start(history.journal, before)
    assert {id for id, _ in did} <= may, f"I8: only {may or 'none'} might have started, and {did} did"
    recorded = {(record["id"], record["a"]) for record in records(history.bytes()) if record["t"] in ENDS}
    lost = {id for id, _ in did - recorded}
    named = unrecorded(ended)
    assert lost <= named, f"I8: {lost} ended and not recorded, {named or 'none'} named"
    untold = {id for id, _ in did} - acknowledged(ended).keys()
    assert untold == named, f"I8: {untold or 'none'} ended and not acknowledged, {named or 'none'} named"


def unrecorded(ended: Ended) -> set[str]:
    """The ids that a run named as ended but not recorded."""
    lines = re.findall(r"^ended but not recorded: (.*)$", ended.err, re.MULTILINE)
    return {id for line in lines for id in line.split(", ")}


def may_start(journal: Path, events: Iterable[tuple[str, str, str]]) -> set[str]:
    """The ids whose `started` was written and synced."""
    written: set[str] = set()
    durable: set[str] = set()
    for name, path, text in events:
        if path == str(journal):
            if name == "write":
                written |= set(re.findall(r'"t":"started","id":"(\w+)"', text))
            elif name in ("sync", "fdatasync"):
                durable |= written
    return durable


def harmless(name: str, paths: Sequence[str]) -> bool:
    """The lock's note is for messages only: whether it can be written is all the same."""
    return name in ("write", "truncate", "ftruncate") and paths[0].endswith(".lock")


def is_cut(one: Seen, other: Seen) -> bool:
    """After a power cut a file that was never synced may be gone."""
    return not other.before and not one.before


def lines(text: bytes) -> Iterable[dict[str, Any] | None]:
    """Each line as a record, None for one that does not pass; the CRC is counted here, not by the program."""
    seed = 0
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n") if text else ()):
        line = line.lstrip(b"\0")
        body, _, crc = line.rpartition(b',"c":"')
        if crc == b'%08x"}' % zlib.crc32(body, seed):
            record = json.loads(line)
            seed = seed if number else zlib.crc32(record["jid"].encode())
            yield record
        elif line:
            yield None


def records(text: bytes) -> list[dict[str, Any]]:
    """The lines that pass."""
    return [record for record in lines(text) if record is not None]


def _grouped(pairs: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for id, value in pairs:
        found[id].append(value)
    return found
