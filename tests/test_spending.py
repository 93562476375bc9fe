"""What attempts cost, as far as they say so (SPEC 2.8)."""

from __future__ import annotations

import pytest

from resumectl.spending import Spending


def spent(*costs: float | None) -> Spending:
    spending = Spending()
    for cost in costs:
        spending.add(cost, {})
    return spending


@pytest.mark.parametrize(
    ("costs", "total", "mean", "unknown"),
    [
        ((), 0.0, None, 0),
        ((0.5, 0.25), 0.75, 0.375, 0),
        ((None,), 0.0, None, 1),
        ((1.0, None, 3.0), 6.0, 2.0, 1),
        ((None, None, 0.5), 1.5, 0.5, 2),
        ((0.0, None), 0.0, 0.0, 1),
    ],
)
def test_an_attempt_that_does_not_say_what_it_cost_counts_as_the_mean(costs: tuple[float | None, ...], total: float, mean: float | None, unknown: int) -> None:
    """The mean of those that do; it is known only when one of them has said something."""
    spending = spent(*costs)
    assert (spending.total, spending.mean, spending.unknown) == (pytest.approx(total), mean, unknown)


def test_sums_are_added_up_by_their_names_and_what_is_missing_adds_nothing() -> None:
    """A sum is what was reported: no mean is put in place of what was not."""
    spending = Spending()
    for sums in ({"input": 5.0, "output": 1.0}, {}, {"input": 7.0}):
        spending.add(None, sums)
    assert spending.sums == {"input": 12.0, "output": 1.0}
