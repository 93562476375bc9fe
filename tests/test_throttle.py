"""How many may run now: rates, slow services, limits and the wall's clock (SPEC 2.8)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from paced import EPOCH

from resumectl.throttle import Moment, Rhythm, Throttle

MINUTE = 60.0


def at(mono: float, slept: float = 0.0) -> Moment:
    """A moment so many seconds after the start; while the machine slept only the wall's clock went on."""
    return Moment(mono, EPOCH + mono + slept)


def throttle(slots: int = 8, seed: int = 1, probe: bool = False, **rhythm: float) -> Throttle:
    return Throttle(Rhythm(**rhythm), slots, random.Random(seed), probe=probe)  # type: ignore[arg-type]


def waits(of: Callable[[Throttle], None], seeds: int = 50) -> list[float]:
    """How long a limit at moment 0 makes each of many throttles wait."""
    found = []
    for seed in range(seeds):
        one = throttle(seed=seed)
        of(one)
        found.append(one.wake(at(0)) or 0.0)
    return found


def test_a_rate_spaces_the_starts() -> None:
    """At 30 a minute one start every two seconds, whatever the slots; late ones are not made up for."""
    one = throttle(interval=2.0)
    assert one.allowed(at(0)) == 8
    one.started(at(0))
    assert (one.allowed(at(1.9)), one.wake(at(0.5))) == (0, 1.5)
    assert one.allowed(at(2)) == 8
    one.started(at(10))
    assert one.allowed(at(11)) == 0 and one.wake(at(12)) is None


def test_without_a_rate_nothing_is_spaced() -> None:
    one = throttle()
    one.started(at(0))
    assert one.allowed(at(0)) == 8 and one.wake(at(0)) is None


@pytest.mark.parametrize(("tries", "least", "most"), [(0, 2, 4), (1, 4, 8), (2, 8, 16), (4, 30, 60), (5, 30, 60), (2000, 30, 60)])
def test_retries_wait_exponentially_longer_with_jitter(tries: int, least: float, most: float) -> None:
    """Never less than --retry-delay and never more than --retry-max-delay; no two alike."""
    found = [throttle(seed=seed).retry_at(at(100), tries) - 100 for seed in range(200)]
    assert least <= min(found) < least * 1.1 and most * 0.9 < max(found) <= most
    assert len(set(found)) > 190


def test_a_longest_delay_below_the_first_one_holds() -> None:
    """It is the longest, whatever the other says."""
    one = throttle(retry_delay=90.0, retry_max_delay=10.0)
    assert {one.retry_at(at(0), tries) for tries in range(3)} == {10.0}


def test_the_same_seed_gives_the_same_jitter() -> None:
    assert throttle(seed=3).retry_at(at(0), 1) == throttle(seed=3).retry_at(at(0), 1)


def test_one_burst_of_slow_answers_halves_the_slots_once() -> None:
    """All that began before the first of them was heard belong to it; what begins later is another burst."""
    one = throttle()
    for ended in (1.0, 1.1, 1.2, 1.3):
        assert not one.slowed(at(ended), began=0.0)
    assert one.width == 4 and one.allowed(at(2.9)) == 0 and one.allowed(at(3)) == 4
    assert not one.slowed(at(5), began=3.0)
    assert one.width == 2


def test_slots_never_go_below_one() -> None:
    one = throttle(slots=1)
    one.slowed(at(1), began=0.0)
    assert one.allowed(at(100)) == 1


def test_each_burst_holds_the_starts_twice_as_long_up_to_the_longest_delay() -> None:
    """From --retry-delay to --retry-max-delay; a success begins anew."""
    one, now, held = throttle(retry_max_delay=10.0), 0.0, []
    for _ in range(5):
        one.slowed(at(now), began=now)
        held.append(one.wake(at(now)))
        now += 100
    one.passed()
    one.slowed(at(now), began=now)
    assert [*held, one.wake(at(now))] == [2, 4, 8, 10, 10, 2]


def test_ten_successes_give_one_slot_back() -> None:
    """Until all are back, and not one more."""
    one, widths = throttle(slots=4), []
    one.slowed(at(0), began=0.0)
    for count in range(1, 61):
        one.passed()
        if count in (9, 10, 19, 20, 60):
            widths.append(one.width)
    assert widths == [2, 3, 3, 4, 4]


def test_ten_slow_answers_in_a_row_are_a_limit() -> None:
    """A success between them begins anew, and so does the limit."""
    one = throttle(slots=64)
    row = [one.slowed(at(n), began=n) for n in range(9)]
    one.passed()
    row += [one.slowed(at(n), began=n) for n in range(10, 20)]
    assert row == [False] * 18 + [True]
    assert not any(one.slowed(at(n), began=n) for n in range(20, 29))


def test_a_limit_that_names_its_end_is_sat_out_for_a_minute_longer_with_jitter() -> None:
    """What services name is often stale by minutes."""
    found = waits(lambda one: one.limited(at(0), EPOCH + 600))
    assert min(found) >= 660 and max(found) <= 690 and len(set(found)) == len(found)


@pytest.mark.parametrize("resume_at", [None, EPOCH - 600, EPOCH])
def test_a_limit_without_a_usable_time_is_sat_out_for_a_quarter_of_an_hour(resume_at: float | None) -> None:
    """None was named, or one that has passed already."""
    found = waits(lambda one: one.limited(at(0), resume_at))
    assert min(found) >= 15 * MINUTE and max(found) <= 15.5 * MINUTE and len(set(found)) == len(found)


def test_waits_for_an_unknown_time_double_up_to_an_hour_until_something_passes() -> None:
    one, now, found = throttle(), 0.0, []
    for n in range(5):
        if n == 4:
            one.passed()
        one.limited(at(now), None)
        wait = one.wake(at(now)) or 0.0
        found.append(wait // (5 * MINUTE) * 5)
        now += wait
        assert one.allowed(at(now)) == 1
    assert found == [15, 30, 60, 60, 15]


def test_the_rest_of_a_burst_at_a_limit_adds_nothing() -> None:
    """Only a time that is named and later moves the end."""
    one = throttle()
    one.limited(at(0), None)
    first = one.until
    one.limited(at(1), None)
    one.limited(at(2), EPOCH - 1)
    assert one.until == first
    one.limited(at(3), EPOCH + 7200)
    later = one.until
    assert later is not None and later >= EPOCH + 7260
    one.limited(at(4), EPOCH + 600)
    assert one.until == later


def test_a_machine_that_slept_over_the_end_of_a_limit_goes_on_at_once() -> None:
    """The wall's clock counts, for the other one stands still in that time."""
    one = throttle()
    one.limited(at(0), EPOCH + 3600)
    assert one.allowed(at(10)) == 0 and (one.wake(at(10)) or 0) > 3600
    assert one.allowed(at(11, slept=4000)) == 1 and one.wake(at(11, slept=4000)) is None


def test_after_a_limit_one_probe_goes_before_all_slots_are_open() -> None:
    """Whatever it comes to, if only the service has answered; another limit begins a new wait."""
    one = throttle()
    one.limited(at(0), None)
    assert one.allowed(at(2000)) == 1
    one.started(at(2000))
    assert one.allowed(at(2001)) == 1
    one.limited(at(2002), None)
    assert one.allowed(at(2003)) == 0
    assert one.allowed(at(9000)) == 1
    one.started(at(9000))
    one.answered()
    assert one.allowed(at(9001)) == 8


def test_what_was_started_before_the_limit_is_no_probe() -> None:
    """It may end during the wait, or after it; only what is started next tells whether the limit is over."""
    one = throttle()
    one.limited(at(0), None)
    one.passed()
    assert one.allowed(at(2000)) == 1
    one.passed()
    assert one.allowed(at(2001)) == 1
    one.started(at(2001))
    one.passed()
    assert one.allowed(at(2002)) == 8


def test_a_slow_probe_is_followed_by_another_one() -> None:
    """Slow is no answer: the service is not back."""
    one = throttle(probe=True)
    assert one.allowed(at(0)) == 1
    one.started(at(0))
    one.slowed(at(1), began=0.0)
    assert one.allowed(at(10)) == 1
    one.started(at(10))
    one.passed()
    assert one.allowed(at(11)) == 4
