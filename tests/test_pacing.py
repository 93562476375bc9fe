"""Which item starts next, and what stops a run (SPEC 2.4, 2.8); time is a variable."""

from __future__ import annotations

from typing import Any

import pytest
from paced import CUT_OFF, DONE, FAILED, HALT, SLOW, Paced, limit

from resumectl.pacing import Before
from resumectl.throttle import Rhythm
from resumectl.verdict import Kind, Verdict


def queue(slots: int = 1) -> Paced:
    """`a`, `b` and `c` stand in list order; the others met something in earlier runs."""
    paced = Paced("a", "b", "c", slots=slots)
    for id, attempts, limited in (("limited", 0, True), ("thrice", 3, False), ("once", 1, False), ("twice", 2, False), ("also once", 1, False)):
        paced.pacing.defer(paced.item(id), attempts, limited=limited)
    return paced


def test_new_items_come_first_in_list_order_and_what_met_a_limit_comes_last() -> None:
    """Between them what failed, fewest attempts first, then in the order of the list."""
    assert queue().through() == ["a", "b", "c", "once", "also once", "twice", "thrice", "limited"]


def test_what_is_deferred_waits_until_the_list_has_been_read() -> None:
    """A stream may still bring new items, and they come first."""
    paced = queue()
    paced.pacing.closed = False
    assert [*iter_done(paced, 3)] == ["a", "b", "c"] and paced.start() == []
    assert paced.pacing.wake(paced.now) is None
    paced.pacing.add(paced.item("late"))
    paced.pacing.close()
    assert paced.through()[:2] == ["late", "once"]


def iter_done(paced: Paced, count: int) -> Any:
    for _ in range(count):
        (id,) = paced.start()
        yield id
        paced.end(id, DONE)


def test_never_more_run_than_there_are_slots() -> None:
    paced = Paced(*"abcde", slots=2)
    assert (paced.start(), paced.start()) == (["a", "b"], [])
    paced.end("a", FAILED)
    assert paced.start() == ["c"]


def test_an_item_whose_check_says_run_it_is_next_of_all() -> None:
    """The check itself is no start: --max-items does not count it."""
    paced = Paced("a", "b", max_items=1)
    assert paced.start() == ["a"]
    paced.pacing.checked(paced.item("a"))
    paced.pacing.again(paced.item("a"))
    assert paced.start() == ["a"]


def test_a_retry_waits_without_a_slot_and_is_taken_as_soon_as_it_is_due() -> None:
    """Others run in the meantime; --retries counts tries beyond the first."""
    paced = Paced("bad", "b", "c", retries=1)
    assert paced.start() == ["bad"]
    assert paced.end("bad", FAILED).again
    assert paced.start() == ["b"]
    paced.mono = 4.0
    paced.end("b", DONE)
    assert paced.start() == ["bad"]
    assert not paced.end("bad", FAILED).again
    assert paced.start() == ["c"]


def test_retries_come_ever_later() -> None:
    """Each wait is longer than the one before; what a run may sleep is told to the second."""
    paced, waits = Paced("bad", retries=4), []
    for _ in range(4):
        paced.end(*paced.start(), FAILED)
        waits.append(paced.wait())
    assert [2 <= waits[0] <= 4, 4 <= waits[1] <= 8, 8 <= waits[2] <= 16, 16 <= waits[3] <= 32] == [True] * 4
    assert not paced.end(*paced.start(), FAILED).again and paced.pacing.over()


@pytest.mark.parametrize(("verdict", "last"), [(Verdict(Kind.FAILED, retry=False), False), (FAILED, True), (CUT_OFF, False), (Verdict(Kind.HELD), False)])
def test_what_may_not_be_retried_is_not(verdict: Verdict, last: bool) -> None:
    """--retry narrows it, --max-attempts ends it; a cut-off or held item is never tried again in the same run."""
    paced = Paced("a", retries=5)
    paced.start()
    assert not paced.end("a", verdict, last=last).again and paced.pacing.over()


def test_a_rate_spaces_all_starts_retries_too() -> None:
    paced, times = Paced("a", "b", "c", slots=3, rhythm=Rhythm(interval=10.0, retry_delay=1.0), retries=1), []
    for _ in range(4):
        while not (started := paced.start()):
            paced.wait()
        times.append(paced.mono)
        paced.end(*started, FAILED if started == ["a"] else DONE)
    assert times == [0, 10, 20, 30]


def test_max_items_counts_items_and_not_their_retries() -> None:
    """The items that it lets start get all their tries; then the run stops with work left."""
    paced = Paced(*"abcd", retries=2, max_items=2)
    assert paced.through({"a": [FAILED, FAILED], "b": [FAILED]}) == ["a", "b", "a", "b", "a"]
    assert paced.pacing.stop == "max-items" and paced.failures == {"a": 2, "b": 1}


def test_max_items_is_no_reason_to_stop_when_there_is_nothing_left() -> None:
    paced = Paced("a", "b", max_items=2)
    assert paced.through() == ["a", "b"] and paced.pacing.stop is None


def test_max_time_starts_nothing_that_would_by_the_mean_so_far_end_later() -> None:
    """Until something has ended in this run the mean is that of the earlier ones."""
    paced = Paced(*"abcdef", max_time=10.0)
    assert paced.through(seconds=3.0) == ["a", "b", "c"] and paced.pacing.stop == "max-time"
    slow = Paced("a", max_time=10.0, before=Before(mean=11.0))
    assert slow.start() == [] and slow.pacing.stop == "max-time"
    quicker = Paced(*"abcd", max_time=10.0, before=Before(mean=9.0))
    assert quicker.through(seconds=1.0) == [*"abcd"]


def test_max_failures_counts_items_whose_last_try_failed() -> None:
    paced = Paced(*"abcd", retries=1, max_failures=2)
    answers = {"a": FAILED, "b": [FAILED, DONE], "c": FAILED}
    assert set(paced.through(answers)) == {*"abcd"} and paced.pacing.stop == "failures"
    assert "2 items failed" in paced.pacing.text and "--max-failures" in paced.pacing.text


def test_twenty_failures_in_a_row_stop_a_run_by_default() -> None:
    """A success between them begins anew; what is the same of all of them is named, with a way on for exit 1."""
    ids = [f"{n:02}" for n in range(60)]
    paced = Paced(*ids)
    assert paced.through({id: FAILED for id in ids if id != "07"}) == ids[:28]
    assert paced.pacing.stop == "failures" and "--ok code:0,1" in paced.pacing.text
    other = Paced(*ids)
    other.through({id: Verdict(Kind.FAILED, "exit", "exit 4") for id in ids})
    assert "all with exit 4" in other.pacing.text and "--ok" not in other.pacing.text
    mixed = Paced(*ids)
    mixed.through({id: Verdict(Kind.FAILED, "exit", f"exit {id}") for id in ids})
    assert "all with" not in mixed.pacing.text


def test_a_hopeless_tail_of_old_failures_does_not_stop_a_run() -> None:
    """Only items that had never failed before count."""
    paced = Paced("new")
    old = [f"{n:02}" for n in range(30)]
    for id in old:
        paced.failures[id] = 1
        paced.pacing.defer(paced.item(id), 1)
    assert len(paced.through({id: FAILED for id in ["new", *old]})) == 31 and paced.pacing.stop is None


def test_a_retried_item_is_one_failure_in_the_row() -> None:
    paced = Paced(*"abc", retries=3, max_consecutive_failures=3)
    assert len(paced.through({id: FAILED for id in "abc"})) == 12
    assert paced.pacing.stop == "failures" and "3 items in a row" in paced.pacing.text


def test_a_halt_stops_at_once_and_charges_nothing() -> None:
    paced = Paced(*"abc", slots=2, retries=9)
    paced.start()
    assert paced.end("a", HALT) == (HALT, False)
    assert (paced.start(), paced.pacing.stop, paced.pacing.text) == ([], "halt", "Not logged in")
    assert paced.end("b", FAILED).again is True or paced.pacing.over()


@pytest.mark.parametrize("first", ["limit", "max-items", "max-time"])
@pytest.mark.parametrize("second", ["halt", "failures", "budget", "vanished", "stream"])
def test_of_several_reasons_to_stop_one_that_needs_a_person_wins(first: str, second: str) -> None:
    """Whichever came first; among those that need one, and among those that do not, the first stays."""
    for order in ((first, second), (second, first)):
        paced = Paced("a")
        for why in order:
            paced.pacing.halt(why, why)
        assert (paced.pacing.stop, paced.pacing.text) == (second, second)
        paced.pacing.halt("halt" if second != "halt" else "budget", "later")
        assert paced.pacing.stop == second
    paced = Paced("a")
    paced.pacing.halt(first)
    paced.pacing.halt("limit" if first != "limit" else "max-items")
    assert paced.pacing.stop == first


def test_the_part_of_a_list_that_could_be_read_is_gone_through_first() -> None:
    """Then the reason why the rest could not stops the run."""
    paced = Paced("a", "b")
    paced.pacing.close("stream", "line 3")
    assert paced.through() == ["a", "b"] and (paced.pacing.stop, paced.pacing.text) == ("stream", "line 3")


def costing(cost: float | None, kind: Kind = Kind.DONE) -> Verdict:
    return Verdict(kind, cost=cost)


def test_a_budget_stops_the_starts_when_it_is_used_up() -> None:
    """Failed attempts cost too; what runs counts as the mean, so that a budget is not passed by all slots at once."""
    paced = Paced(*"abcdef", max_cost=1.0)
    assert paced.through({id: costing(0.4, Kind.FAILED if id == "b" else Kind.DONE) for id in "abcdef"}) == [*"abc"]
    assert paced.pacing.stop == "budget" and "--max-cost" in paced.pacing.text and "1.2" in paced.pacing.text
    wide = Paced(*"abcdef", slots=2, max_cost=1.0)
    wide.start()
    wide.end("a", costing(0.4))
    assert wide.start() == ["c"]
    wide.end("b", costing(0.4))
    assert wide.start() == [] and wide.pacing.stop == "budget"


def test_an_attempt_of_unknown_cost_uses_up_the_mean() -> None:
    paced = Paced(*"abcdef", max_cost=1.0)
    answers = {id: costing(0.4 if id == "a" else None, Kind.CUT_OFF if id == "b" else Kind.DONE) for id in "abcdef"}
    assert paced.through(answers) == [*"abc"] and paced.pacing.stop == "budget"


def test_a_budget_of_all_runs_counts_the_earlier_ones() -> None:
    paced = Paced(*"abc", max_total_cost=1.0, before=Before(cost=0.5))
    assert paced.through({id: costing(0.3) for id in "abc"}) == ["a", "b"]
    assert paced.pacing.stop == "budget" and "--max-total-cost" in paced.pacing.text and "1.1" in paced.pacing.text


def test_an_attempt_that_was_slow_or_limited_has_its_cost_too() -> None:
    paced = Paced(*"ab")
    for verdict in (Verdict(Kind.UNCHARGED, "slow", cost=0.25), Verdict(Kind.UNCHARGED, "limit", cost=0.5)):
        paced.end(*paced.start(), verdict)
        paced.mono += 60
    assert paced.pacing.spending.known == 0.75


def test_slow_and_limited_items_are_charged_no_attempt_and_stand_behind() -> None:
    paced = Paced(*"abc", rhythm=Rhythm(wait=True))
    assert paced.through({"a": [SLOW], "b": [limit()]}) == ["a", "b", "c", "a", "b"]
    assert paced.failures == {"a": 0, "b": 0, "c": 0}
