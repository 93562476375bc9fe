"""What a limit does to the queue: it stops or is sat out, one probe goes first, nobody can block the rest (SPEC 2.8)."""

from __future__ import annotations

import pytest
from paced import DONE, EPOCH, FAILED, HALT, SLOW, Paced, limit

from resumectl.pacing import Before
from resumectl.throttle import Rhythm
from resumectl.verdict import Kind, Verdict

WAIT = Rhythm(wait=True)
HOUR = 3600.0


def test_a_limit_stops_the_starts_and_what_runs_is_judged() -> None:
    """Nothing is charged to the item that met it; the reason and the time are there for a person."""
    paced = Paced(*"abcd", slots=2)
    paced.start()
    ending = paced.end("a", limit(EPOCH + HOUR))
    assert ending == (limit(EPOCH + HOUR), False)
    assert (paced.start(), paced.pacing.stop, paced.pacing.text) == ([], "limit", "You've hit your limit")
    assert paced.end("b", DONE).verdict is DONE
    assert paced.pacing.over() and paced.pacing.wake(paced.now) is None and paced.pacing.resume_at == EPOCH + HOUR


def test_a_time_that_was_named_is_not_forgotten_for_one_that_was_not() -> None:
    """Of several that meet the limit together some may say it in other words."""
    paced = Paced("a", "b", slots=2)
    paced.start()
    paced.end("a", limit(EPOCH + HOUR))
    paced.end("b", limit())
    assert paced.pacing.resume_at == EPOCH + HOUR


def test_a_limit_is_sat_out_and_one_probe_goes_first_the_next_other_item() -> None:
    """Only when it has been answered all slots are open again; who met the limit comes last."""
    paced = Paced(*"abcdefg", slots=3, rhythm=WAIT)
    assert paced.start() == ["a", "b", "c"]
    assert paced.end("b", limit(EPOCH + HOUR)).again
    assert paced.end("a", DONE).verdict is DONE and paced.start() == []
    paced.end("c", DONE)
    assert HOUR + 60 <= paced.wait() <= HOUR + 90
    assert paced.start() == ["d"]
    assert paced.pacing.wake(paced.now) is None  # only the probe's answer opens the rest
    paced.end("d", DONE)
    assert paced.start() == ["e", "f", "g"]
    paced.end("e", DONE)
    assert paced.start() == ["b"] and paced.pacing.stop is None


def test_a_probe_that_meets_the_limit_too_begins_another_wait() -> None:
    """The time that was named may be stale; the waits without a usable time double up to an hour."""
    paced, waits = Paced(*"abcdef", slots=2, rhythm=WAIT), []
    for probe in (["a", "b"], ["c"], ["d"], ["e"], ["f"]):
        while not (started := paced.start()):
            waits.append(paced.wait())
        assert started == probe
        for id in started:
            paced.end(id, limit(EPOCH))
    assert [round(wait / 900) for wait in waits] == [1, 2, 4, 4]


def test_what_was_still_running_is_no_probe() -> None:
    """It was started before the limit, and ends long after it: that says nothing."""
    paced = Paced(*"abcdef", slots=3, rhythm=WAIT)
    paced.start()
    paced.end("a", limit())
    paced.mono += 2 * HOUR
    paced.end("b", DONE)
    paced.end("c", FAILED)
    assert paced.start() == ["d"]
    paced.end("d", DONE)
    assert paced.start() == ["e", "f", "a"]


@pytest.mark.parametrize(("probe", "after"), [(DONE, 4), (FAILED, 4), (Verdict(Kind.CUT_OFF, "killed"), 4), (SLOW, 0), (HALT, 0)])
def test_a_run_after_a_limit_begins_with_one_probe(probe: Verdict, after: int) -> None:
    """Any answer of the service opens the rest, but that it is slow or that nobody is logged in."""
    paced = Paced(*"abcdefgh", slots=4, before=Before(limited=True))
    assert paced.start() == ["a"]
    paced.mono += 1
    paced.end("a", probe)
    assert len(paced.start()) == after


def test_a_run_that_slept_over_the_limit_goes_on_at_once() -> None:
    paced = Paced("a", "b", rhythm=WAIT)
    paced.end(*paced.start(), limit(EPOCH + HOUR))
    assert paced.start() == []
    paced.slept = 2 * HOUR
    assert paced.pacing.wake(paced.now) is None and paced.start() == ["b"]


def test_an_item_that_cries_limit_after_a_later_start_has_passed_has_only_failed() -> None:
    """It is not tried again in this run, opens no wait, and so can't block the rest."""
    paced = Paced("liar", "b", "c", rhythm=WAIT, retries=3)
    assert paced.through({"liar": limit(EPOCH + 10)}) == ["liar", "b", "c", "liar"]
    assert paced.failures["liar"] == 1 and paced.pacing.stop is None


def test_who_cries_limit_again_is_believed_while_nothing_else_has_passed_since() -> None:
    """A failure of another item proves nothing, and neither does what was started before the limit."""
    paced = Paced("old", "limited", "bad", slots=2, rhythm=WAIT)
    assert paced.start() == ["old", "limited"]
    paced.end("limited", limit())
    paced.mono += HOUR
    paced.end("old", DONE)
    for id in ("bad", "limited"):
        assert paced.start() == [id]
        ending = paced.end(id, FAILED if id == "bad" else limit())
    assert ending.verdict.kind is Kind.UNCHARGED and paced.pacing.throttle.until is not None


def test_the_failure_of_such_an_item_says_that_it_is_a_limit() -> None:
    """Also when the earlier limit was met in another run; it stands behind all others there."""
    paced = Paced("b", before=Before(limited=True), retries=3)
    paced.pacing.defer(paced.item("liar"), 0, limited=True)
    paced.end(*paced.start(), DONE)
    assert paced.start() == ["liar"]
    verdict, again = paced.end("liar", limit())
    assert (verdict.kind, verdict.why, verdict.retry, again) == (Kind.FAILED, "limit", False, False)
    assert paced.pacing.stop is None and paced.pacing.over()


def test_alone_it_stays_a_limit() -> None:
    """Nothing has passed that would prove it wrong."""
    paced = Paced(before=Before(limited=True))
    paced.pacing.defer(paced.item("liar"), 0, limited=True)
    assert paced.end(*paced.start(), limit()).verdict.kind is Kind.UNCHARGED
    assert paced.pacing.stop == "limit"


def test_alone_it_has_failed_if_an_earlier_run_proved_it_wrong() -> None:
    """Else "run it again" would never end, and --max-attempts never hold it."""
    paced = Paced(before=Before(limited=True))
    paced.pacing.defer(paced.item("liar"), 1, limited=True, cries=True)
    assert paced.end(*paced.start(), limit()).verdict.kind is Kind.FAILED
    assert paced.pacing.stop is None and paced.pacing.over()


def test_a_limit_is_not_sat_out_beyond_max_time() -> None:
    """Then the run stops at once: whoever called it will call it again."""
    paced = Paced("a", "b", rhythm=WAIT, max_time=HOUR)
    paced.end(*paced.start(), limit(EPOCH + 2 * HOUR))
    assert paced.pacing.stop == "limit" and paced.pacing.over()
    short = Paced("a", "b", rhythm=WAIT, max_time=HOUR)
    short.end(*short.start(), limit(EPOCH + 60))
    assert short.pacing.stop is None


def test_a_slow_burst_narrows_the_run_and_successes_widen_it() -> None:
    """Eight at once, all slow: four slots after the delay; nothing is charged and all come again."""
    paced = Paced(*(f"{n:03}" for n in range(100)), slots=8)
    first = paced.start()
    paced.mono += 1
    for id in first[:6]:
        assert paced.end(id, SLOW).again
    for id in first[6:]:
        paced.end(id, DONE)
    assert paced.start() == [] and paced.wait() == 2
    assert len(paced.start()) == 4
    while paced.pacing.running < 8:
        paced.mono += 1
        for id in list(paced._began):
            paced.end(id, DONE)
        paced.start()
    assert set(paced.failures.values()) == {0}


def test_ten_slow_ends_in_a_row_stop_like_a_limit() -> None:
    """Exit 75 and the same command again; sat out where limits are."""
    paced = Paced(*(f"{n}" for n in range(20)))
    assert len(paced.through({f"{n}": SLOW for n in range(20)})) == 10
    assert paced.pacing.stop == "limit" and paced.pacing.resume_at is None
    waiting = Paced(*(f"{n}" for n in range(20)), rhythm=WAIT)
    waiting.through({f"{n}": [SLOW] for n in range(12)})
    assert waiting.pacing.stop is None and waiting.mono > 900
