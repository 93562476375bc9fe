"""The quick way through a long journal finds what the general way finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from resumectl import compaction
from resumectl.accounts import Accounts
from resumectl.catalogue import Catalogue
from resumectl.disk import Disk
from resumectl.extent import Extent
from resumectl.inspection import Streams
from resumectl.ledger import Ledger, State
from resumectl.lines import Fold, Text, fold, read
from resumectl.outputs import Shelf
from resumectl.records import Record, encode, seal
from resumectl.survey import Survey

PIECE = 64  # bytes
AT, EARLIER = "2027-01-15T08:00:00.000Z", "2027-01-14T08:00:00.000Z"
IDS = st.sampled_from([b"a", b"b", b"c", b"quote\"d", b"back\\slash", "é".encode(), b"\xff", b"x" * 300, b"]", b"{\"t\":"])
KEPT = st.sampled_from([{}, {"out": 0, "err": 0}, {"out": [5, 7, "0123abcd"], "err": 0}, {"out": [5, 7, "0123abcd"], "err": [12, 9, "0123abcd"]}])
COMPACTED = {"by": "compact", "cut_offs": 0, "failures": 0, "limited": False}
RECORDS = st.one_of(
    st.tuples(st.just("started"), st.just({})),
    st.tuples(st.just("done"), st.just({"by": "hand"})),
    st.tuples(st.just("done"), KEPT.map(lambda kept: {"rc": 0, "ms": 12, **kept})),
    st.tuples(st.just("done"), st.just({"rc": 0, "ms": 3, "cost": 0.5, "out": 0, "err": 0})),
    st.tuples(st.just("done"), st.just({"rc": 0, "ms": 5, "cost": 0.25, "sums": {"tokens": 12, "a}": 1}})),
    st.tuples(st.just("done"), st.just({"rc": 0, "ms": 70, "worker": "w1"})),
    st.tuples(st.just("done"), st.just({"rc": 0, "ms": 7, "by": "compact", "cut_offs": 1, "failures": 2, "limited": True})),
    st.tuples(st.just("done"), st.just({"rc": 0, "ms": 9, "out": 0, "err": 0, **COMPACTED, "cost": 0.5, "costs": 2, "unknown": 1})),
    st.tuples(st.just("done"), st.just({**COMPACTED, "at": EARLIER})),
    st.tuples(st.just("failed"), st.just({"by": "hand"})),
    st.tuples(st.just("failed"), st.just({"rc": 1, "ms": 12, "why": "exit", "cost": 0.3, "sums": {"b": 3}})),
    st.tuples(st.just("done"), st.just({"rc": 0, "ms": 12, "cost": 0.1, "sums": {"c": 1}})),
    st.tuples(st.just("done"), st.just({"rc": 0, "ms": 12, "cost": 0.2})),
    st.tuples(st.just("reset"), st.just({**COMPACTED, "cost": 0.25})),
    st.tuples(st.sampled_from(["done", "failed", "reset"]), st.integers(0, 2).map(lambda bad: {"by": "import", "bad": bad})),
    st.tuples(st.just("failed"), st.just({"rc": 0, "ms": 4, "why": "fail", "out": [5, 7, "0123abcd"], "err": 0})),
    st.tuples(st.just("failed"), st.just({"rc": 1, "why": "exit", "ms": 4})),
    st.tuples(st.just("cut_off"), st.just({"run": 1, "why": "crash"})),
    st.tuples(st.just("uncharged"), st.just({"rc": 1, "why": "limit", "ms": 1})),
    st.tuples(st.just("held"), st.just({"why": "attempts"})),
    st.tuples(st.just("reset"), st.just({})),
)
BATCH = st.tuples(st.lists(IDS, min_size=2, max_size=4, unique=True), st.just(("started", {"uuid": "u1"})))


def lines(story: list[tuple[list[bytes], tuple[str, dict[str, Any]]]]) -> bytes:
    attempts: dict[bytes, int] = {}
    written = []
    for ids, (t, rest) in story:
        for id in ids:
            attempts[id] = attempts.get(id, 0) + (t == "started")
        numbers = () if t == "reset" and "by" not in rest else tuple(attempts[id] for id in ids)
        if rest.get("bad"):
            written.append(b"torn\n")
        written.append(encode(Record(t, tuple(ids), numbers, rest), 0, AT))
    return b"".join(written)


def facts(ledger: Ledger) -> tuple[Any, ...]:
    """All that can be asked of a ledger."""
    standings = [(id, ledger.standing(id), ledger.named(id), ledger.cries(id)) for id in ledger.ids()]
    sums = vars(ledger.figures)
    return standings, ledger.counts(), ledger.open_items(), sums


def journal(path: Path, body: bytes) -> Path:
    header = b'{"t":"header","v":1,"app":"resumectl","ver":"0","jid":"","ns":"6f1e0000-0000-4000-8000-000000000000","at":"x"'
    path.write_bytes(seal(header, 0) + body)
    return path


class Small(Disk):
    """Reads a few bytes at a time, so that lines are cut anywhere; or a few, and then the rest at once."""

    def __init__(self, *, all_at_once: bool) -> None:
        self._most = 1 << 20 if all_at_once else 4 * PIECE

    def read(self, fd: int, size: int, offset: int) -> bytes:
        return super().read(fd, min(size, self._most if offset else 4 * PIECE), offset)


def untimed(line: bytes) -> dict[str, Any]:
    """A line's fields, without the time that compact itself gives what never ended."""
    fields: dict[str, Any] = orjson.loads(line)
    del fields["c"]
    return {name: value for name, value in fields.items() if name != "at" or value in (AT, EARLIER)}


def added_up(path: Path, *, quick: bool, all_at_once: bool = False) -> tuple[Any, Text]:
    """All that the folds say of a journal, and what its lines are like."""
    ledger, survey, catalogue, accounts, text = Ledger(), Survey(), Catalogue(), Accounts(), Text(path)
    extent, streams = Extent(), Streams(Shelf(path.with_name("none")))
    folds: list[Fold] = [ledger, survey, catalogue, accounts, extent, streams]
    if quick:
        fold(path, folds, Small(all_at_once=all_at_once), text=text)
    else:
        for record in read(path, Small(all_at_once=all_at_once), text=text):
            for one in folds:
                one.enter(record)
    entries = [(id, catalogue.entry(id, state)) for id in ledger.ids() for state in State]
    fields = [(id, accounts.of(id).fields(ledger.state(id)), accounts.of(id).spending) for id in ledger.ids()]
    compacted = [untimed(line) for lot in compaction.lines(ledger, accounts, extent, 0) for line in lot]
    surveyed = survey.durations, survey.slowest(), survey.throughput(72), [*survey.groups(ledger)]
    return (facts(ledger), entries, fields, compacted, surveyed, extent.end, (streams.count, streams.bytes, streams.whole)), text


@settings(max_examples=300, deadline=None)
@given(story=st.lists(st.one_of(st.tuples(IDS.map(lambda id: [id]), RECORDS), BATCH), max_size=30), all_at_once=st.booleans())
def test_runs_of_plain_lines_fold_as_each_line_does(tmp_path_factory, story, all_at_once):
    """Whatever stands between them, in whatever order, also where it makes no sense."""
    # The first lines of a file go the general way: one whole piece of them stands before the story.
    path = journal(tmp_path_factory.getbasetemp() / "story.jsonl", b"\n" * 4 * PIECE + lines(story))
    general, slow = added_up(path, quick=False)
    quick, fast = added_up(path, quick=True, all_at_once=all_at_once)
    assert quick == general and fast == slow


def test_a_long_journal_is_read_the_same_either_way_bad_lines_included(tmp_path):
    """Line numbers, byte offsets and counts do not depend on the way."""
    body = b"".join(
        encode(Record(t, (b"item-%d" % n,), (1,), {} if t == "started" else {"rc": 0, "ms": n}), 0, AT)
        for n in range(3000)
        for t in ("started", "done")
    )
    middle = body.index(b"\n", len(body) // 2) + 1
    spoiled = body[:middle] + b'{"t":"done","id":"torn","a":1,"rc":0\n\n\0\0\n' + body[middle:].replace(b"item-2500", b"item-2501", 1)
    path = journal(tmp_path / "j.jsonl", spoiled)
    (general, slow), (quick, fast) = added_up(path, quick=False), added_up(path, quick=True)
    assert quick == general
    assert len(slow.bad) == 2 and fast == slow
