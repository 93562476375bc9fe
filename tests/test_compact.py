"""Compact keeps all that a run goes by: the same fold, the same keys, the same output, and nothing runs again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Quick, until
from faults import HOLD, opened

from resumectl.accounts import Accounts
from resumectl.catalogue import Catalogue
from resumectl.compaction import compact
from resumectl.disk import Disk
from resumectl.ledger import Ledger, State
from resumectl.lines import Text, read
from resumectl.place import Place
from resumectl.records import Record
from resumectl.run import Run

IDS = [b"a", b"b c", b"\xff\n", b"long" * 100, b"e", b"f"]
TALK = 'echo "$1 $RESUMECTL_ATTEMPT $RESUMECTL_KEY" | tee -a effects; [ "$1" != f ] || [ -e ok ]'
TELL = ("sh", "-c", TALK, "_", "{}")


class Past:
    """Histories that keep the grammar, one record after the other."""

    def __init__(self, seed: int) -> None:
        self._random, self._attempts, self._open = random.Random(seed), dict.fromkeys(IDS, 0), dict[bytes, int]()
        self._run = 0

    def records(self, count: int) -> Iterator[Record]:
        yield from self._begin()
        for _ in range(count):
            yield from self._random.choice([self._step, self._step, self._step, self._word, self._finish])()

    def forget_open(self) -> None:
        """Compact has cut off what was open."""
        self._open.clear()

    def _begin(self) -> Iterator[Record]:
        sealed = [Record("cut_off", (id,), (a,), {"run": self._run, "why": "crash"}) for id, a in self._open.items()]
        self._open.clear()
        self._run += 1
        total = self._random.choice([None, len(IDS), 9])
        listed = {"total": total, "new": total and self._random.randrange(4), "jobs": 9, "sync": "none"}
        yield Record("run", (), (), {"run": self._run, "at": "…", **listed, "bad": 0})
        yield from sealed
        if total is None and self._random.random() < 0.5:
            yield Record("list", (), (), {"run": self._run, "total": 7, "new": 2})

    def _step(self) -> Iterator[Record]:
        id = self._random.choice(IDS)
        if id in self._open:
            yield self._end(id, self._open.pop(id))
            return
        self._attempts[id] += 1
        self._open[id] = self._attempts[id]
        yield Record("started", (id,), (self._attempts[id],))

    def _end(self, id: bytes, attempt: int) -> Record:
        t, why = self._random.choice(
            [("done", None), ("failed", "exit"), ("cut_off", "sigint"), ("held", "verify"), ("uncharged", "limit"), ("uncharged", "stop")]
        )
        rest: dict[str, Any] = {"rc": 1, "ms": self._random.randrange(99)} | ({"why": why} if why else {})
        if self._random.random() < 0.5:
            rest |= {"cost": self._random.randrange(8) / 8, "sums": {"n": self._random.randrange(9)}}
        if self._random.random() < 0.5:
            rest |= {"out": [self._random.randrange(999), 7, "00000000"], "err": 0}
        if why == "limit":
            rest["resume_at"] = f"at {self._random.randrange(9)}"
        return Record(t, (id,), (attempt,), rest)

    def _word(self) -> Iterator[Record]:
        id = self._random.choice([id for id in IDS if id not in self._open] or IDS)
        self._open.pop(id, None)
        t, rest = self._random.choice(
            [("done", {"by": "hand"}), ("failed", {"why": "hand", "by": "hand"}), ("reset", {}), ("held", {"why": "attempts"})]
        )
        yield Record(t, (id,), () if t == "reset" else (self._attempts[id],), rest)

    def _finish(self) -> Iterator[Record]:
        if self._random.random() < 0.3:
            if not self._open and self._random.random() < 0.7:
                yield Record("end", (), (), {"run": self._run, "why": "exhausted", "bad": 0})
            yield from self._begin()


def folded(ledger: Ledger, catalogue: Catalogue) -> dict[str, Any]:
    """All that anybody asks a ledger, and what `results` would print."""
    spending = ledger.figures.spending
    listed = {"bad", "total", "new", "by", "past", "at"}
    return {
        "items": [(id, ledger.standing(id), ledger.standing(id).limited and ledger.cries(id)) for id in ledger.ids()],
        "counts": ledger.counts(),
        "run": {name: value for name, value in ledger.run.items() if name not in listed},
        "end": {name: value for name, value in ledger.end.items() if name not in listed},
        "money": (spending.known, spending.reported, spending.unknown, spending.sums),
        "journal": (ledger.figures.past(), ledger.list_total, ledger.figures.mean_seconds()),
        "kept": [
            (id, entry.out, entry.err, entry.rc, entry.ms)
            for state in (State.DONE, State.FAILED)
            for id, entry in catalogue.of(ledger, state)
            if entry is not None and entry.out is not None
        ],
    }


def read_back(path: Path) -> tuple[Ledger, Catalogue, Text]:
    ledger, catalogue, text = Ledger(), Catalogue(), Text(path)
    for record in read(path, text=text):
        ledger.enter(record)
        catalogue.enter(record)
    return ledger, catalogue, text


def compacted(place: Place, past: list[Record]) -> tuple[Ledger, Catalogue]:
    """Write a history, compact it, and give what it came to before."""
    writer = Run(place, sync="none")
    writer.acquire()
    writer.load()
    writer.heal()
    writer.journal.append(past)
    writer.close()
    run, accounts, catalogue = Run(place, sync="none"), Accounts(), Catalogue()
    run.acquire()
    run.load(accounts, catalogue)
    compact(run, accounts)
    run.close()
    return run.ledger, catalogue


def sealed(ledger: Ledger) -> Ledger:
    """As the next run, or compact, has it."""
    for id, start in ledger.open_items().items():
        ledger.enter(Record("cut_off", (id,), (start.attempt,), {"run": start.run, "why": "crash"}))
    return ledger


@pytest.mark.parametrize("block", range(10))
def test_what_the_ledger_folds_is_the_same_before_and_after(ram: Path, block: int) -> None:
    """For any history, whatever comes after it, and when that is compacted too."""
    for seed in range(block * 20, block * 20 + 20):
        source, place = Past(seed), Place(ram / f"{seed}" / "j.jsonl")
        ledger, catalogue = compacted(place, list(source.records(seed % 60)))
        again, shown, text = read_back(place.journal)
        assert folded(again, shown) == folded(ledger, catalogue), seed
        assert not text.bad and text.lines <= 1 + len(IDS) + 2
        source.forget_open()
        old, later = next(place.journal.parent.glob("*.bak-*")), list(source.records(20))
        first, second = sealed(read_back(old)[0]), read_back(place.journal)[0]
        for record in later:
            first.enter(record)
            second.enter(record)
        nothing = Catalogue()
        assert folded(second, nothing)["items"] == folded(first, nothing)["items"], seed
        assert second.counts() == first.counts() and second.figures.spending == first.figures.spending
        twice, _ = compacted(place, later)
        assert folded(twice, nothing) == folded(sealed(second), nothing), seed


def test_a_run_after_compact_goes_on_as_one_without_it(quick: Quick) -> None:
    """Nothing that is done runs again, keys and attempts go on, results and --replay give the same."""
    quick.items("a", "f", "b")
    run = ("run", "--items", "i", "--max-attempts", "3", *TELL)
    assert quick.run(*run).code == 1
    quick.items("a", "f", "b", "n")
    assert quick.run(*run).code == 1
    before = quick.journal().read_bytes()
    printed, counts = quick.run("results").out, quick.counts()
    told = quick.run("compact")
    kept = Path(told.out.decode().strip())
    assert told.code == 0 and "lines to 7" in told.err
    assert kept.read_bytes() == before and kept.name.startswith("sh.jsonl.bak-2")
    assert quick.counts() == counts and quick.run("results").out == printed
    header = before.split(b"\n")[0]
    assert quick.journal().read_bytes().startswith(header + b"\n")
    assert quick.run("check").code == 0
    quick.write("ok", b"")
    ended = quick.run("run", "--replay", *run[1:])
    assert ended.code == 0 and ended.out.startswith(printed)
    told_by = [line.split() for line in quick.effects()]
    assert [words[:2] for words in told_by] == [["a", "1"], ["f", "1"], ["b", "1"], ["n", "1"], ["f", "2"], ["f", "3"]]
    assert len({words[2] for words in told_by if words[0] == "f"}) == 1
    assert quick.has(total=4, done=4)


def test_an_item_that_a_kill_cut_off_is_still_announced_and_counted(quick: Quick) -> None:
    """Its charge is written down by compact, where the next run would have done it."""
    quick.items("a", "b")
    process = quick.start("run", "--items", "i", *HOLD)
    until(lambda: quick.lines("begun"))
    busy = quick.run("compact")
    assert busy.code == 4 and "in use" in busy.err
    process.kill()
    process.wait()
    beside = quick.run("compact")
    assert beside.code == 4 and "still live" in beside.err
    opened(quick)
    until(lambda: quick.effects())
    until(lambda: quick.run("compact").code == 0)
    assert quick.has(cut_off=1, new=1)
    assert [record["cut_offs"] for record in quick.records("sh", "cut_off")] == [1]
    ended = quick.run("run", "--items", "i", *HOLD)
    assert ended.code == 0 and "cut off before: a" in ended.err


class Full(Disk):
    """A disk on which one kind of operation fails."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattribute__(self, name: str) -> Any:
        if name[0] != "_" and name == self._what:
            raise OSError(28, "No space left on device")
        return super().__getattribute__(name)


@pytest.mark.parametrize("what", ["write", "sync", "link", "rename"])
def test_where_the_new_file_cannot_be_written_the_old_one_stays(quick: Quick, what: str) -> None:
    quick.run("mark", "done", "--id", "a", "--job", "j")
    before = quick.journal("j").read_bytes()
    run, accounts = Run(Place(quick.journal("j"))), Accounts()
    run.load(accounts)
    run.journal.disk = run.disk = Full(what)
    with pytest.raises(Exception, match="No space"):
        compact(run, accounts)
    assert quick.journal("j").read_bytes() == before
    assert not list(quick.journal("j").parent.glob("*.new"))


def test_a_damaged_journal_is_refused(quick: Quick) -> None:
    """What can't be read would be lost without a word."""
    quick.items("a", "b", "c", "d")
    quick.run("run", "--items", "i", *TELL)
    data = bytearray(quick.journal().read_bytes())
    data[len(data) // 2] ^= 1
    quick.journal().write_bytes(bytes(data))
    refused = quick.run("compact")
    assert refused.code == 65 and "line" in refused.err
    assert quick.journal().read_bytes() == bytes(data)
