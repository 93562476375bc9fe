"""The quick way through a long journal finds what the general way finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from resumectl.disk import Disk
from resumectl.ledger import Ledger
from resumectl.lines import Text, read
from resumectl.records import Record, encode, seal

PIECE = 64  # bytes
AT = "2027-01-15T08:00:00.000Z"
IDS = st.sampled_from([b"a", b"b", b"c", b"quote\"d", b"back\\slash", "é".encode(), b"\xff", b"x" * 300, b"]", b"{\"t\":"])
KEPT = st.sampled_from([{}, {"out": 0, "err": 0}, {"out": [5, 7, "0123abcd"], "err": 0}, {"out": [5, 7, "0123abcd"], "err": [12, 9, "0123abcd"]}])
RECORDS = st.one_of(
    st.tuples(st.just("started"), st.just({})),
    st.tuples(st.just("done"), st.just({"by": "hand"})),
    st.tuples(st.just("done"), KEPT.map(lambda kept: {"rc": 0, "ms": 12, **kept})),
    st.tuples(st.just("done"), st.just({"rc": 0, "ms": 3, "out": 0, "err": 0, "cost": 0.5})),
    st.tuples(st.just("failed"), st.just({"rc": 1, "why": "exit", "ms": 4})),
    st.tuples(st.just("cut_off"), st.just({"run": 1, "why": "crash"})),
    st.tuples(st.just("uncharged"), st.just({"rc": 1, "why": "limit", "ms": 1})),
    st.tuples(st.just("held"), st.just({"why": "attempts"})),
    st.tuples(st.just("reset"), st.just({})),
)


def lines(story: list[tuple[bytes, tuple[str, dict[str, Any]]]]) -> bytes:
    attempts: dict[bytes, int] = {}
    written = []
    for id, (t, rest) in story:
        attempts[id] = attempts.get(id, 0) + (t == "started")
        written.append(encode(Record(t, (id,), () if t == "reset" else (attempts[id],), rest), 0, AT))
    return b"".join(written)


def facts(ledger: Ledger) -> tuple[Any, ...]:
    """All that can be asked of a ledger."""
    standings = [(id, ledger.standing(id), ledger.named(id), ledger.cries(id)) for id in ledger.ids()]
    sums = ledger.ended, ledger.ended_ms, ledger.run_ended, ledger.kept_end, ledger.limited, ledger.spending
    return standings, ledger.counts(), ledger.open_items(), sums


def journal(path: Path, body: bytes) -> Path:
    header = b'{"t":"header","v":1,"app":"resumectl","ver":"0","jid":"","ns":"6f1e0000-0000-4000-8000-000000000000","at":"x"'
    path.write_bytes(seal(header, 0) + body)
    return path


class Small(Disk):
    """Reads a few bytes at a time, so that lines are cut anywhere."""

    def read(self, fd: int, size: int, offset: int) -> bytes:
        return super().read(fd, min(size, 4 * PIECE), offset)


def fold(path: Path, *, quick: bool) -> tuple[Ledger, Text]:
    ledger, text = Ledger(), Text(path)
    for record in read(path, Small(), text=text, plain=ledger.enter_plain if quick else None):
        ledger.enter(record)
    return ledger, text


@settings(max_examples=300, deadline=None)
@given(story=st.lists(st.tuples(IDS, RECORDS), max_size=30))
def test_runs_of_plain_lines_fold_as_each_line_does(tmp_path_factory, story):
    """Whatever stands between them, in whatever order, also where it makes no sense."""
    # The first lines of a file go the general way: one whole piece of them stands before the story.
    path = journal(tmp_path_factory.getbasetemp() / "story.jsonl", b"\n" * 4 * PIECE + lines(story))
    (general, slow), (quick, fast) = fold(path, quick=False), fold(path, quick=True)
    assert facts(quick) == facts(general) and fast == slow


def test_a_long_journal_is_read_the_same_either_way_bad_lines_included(tmp_path):
    """Line numbers, byte offsets and counts do not depend on the way."""
    body = b"".join(
        encode(Record(t, (b"item-%d" % n,), (1,), {} if t == "started" else {"rc": 0, "ms": n}), 0, AT)
        for n in range(9000)
        for t in ("started", "done")
    )
    middle = body.index(b"\n", len(body) // 2) + 1
    spoiled = body[:middle] + b'{"t":"done","id":"torn","a":1,"rc":0\n\n\0\0\n' + body[middle:].replace(b"item-8000", b"item-8001", 1)
    path = journal(tmp_path / "j.jsonl", spoiled)
    (general, slow), (quick, fast) = fold(path, quick=False), fold(path, quick=True)
    assert facts(quick) == facts(general)
    assert len(slow.bad) == 2 and fast == slow
