"""The proof of the proof: each seeded fault of the protocol is noticed.  `make mutants`; not part of the default run."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import ExitStack
from unittest import mock

import pytest
import test_crash_bit_rot as rot
import test_crash_errors as errors
import test_crash_histories as stories
import test_crash_order as order
from crash_disk import Fault
from crash_driver import stillness
from crash_histories import Histories
from crash_mutants import MUTANTS
from crash_scripts import SCRIPTS
from crash_state import EMPTY

pytestmark = pytest.mark.mutants


@pytest.mark.parametrize("name", MUTANTS)
def test_a_seeded_fault_is_noticed(name: str) -> None:
    """By the order, the errors, the histories or the flipped bits; or there is a reason why nobody can notice it."""
    mutant = MUTANTS[name]
    with ExitStack() as stack:
        for owner, attribute, other in mutant.patches:
            stack.enter_context(mock.patch.object(owner, attribute, other, create=True))
        noticed = next(filter(None, map(death, KILLERS)), "")
    print(f"{name}: {noticed or 'equivalent'}")
    assert bool(noticed) != bool(mutant.equivalent), noticed


def death(killer: Callable[[], None]) -> str:
    """Of what a mutant dies, empty if it lives."""
    gc.disable()
    try:
        with stillness():
            killer()
    except (Exception, pytest.fail.Exception) as error:
        return f"{killer.__name__}: {type(error).__name__}: {str(error)[:100]}"
    finally:
        gc.enable()
    return ""


def the_order() -> None:
    order.test_one_at_a_time_the_order_is_write_sync_spawn_write_sync_acknowledge()
    order.test_nothing_starts_or_is_believed_before_its_line_is_on_the_platter(4, 3)
    order.test_kept_output_is_synced_before_the_line_that_names_it()
    order.test_a_directory_made_by_a_killed_run_is_synced_by_the_next()
    order.test_two_runs_at_once_are_one_too_many()


def the_errors() -> None:
    for error, lasting in errors.ERRORS.values():
        for operation in errors.operations(errors.BUSY):
            errors.judge(errors.BUSY, [], EMPTY, Fault(operation, error, lasting))


def the_power_cuts_after_errors() -> None:
    errors.test_a_power_cut_after_an_error_loses_nothing_that_was_counted("I/O")


def the_histories() -> None:
    for name in ("one by one", "at most two attempts"):
        histories = Histories(SCRIPTS[name])
        for logs, disk in histories.die_once():
            histories.die_again(logs, disk, 2)


def the_chains() -> None:
    stories.test_a_stump_stays_what_it_is_however_often_recovery_dies("one attempt")
    for script in SCRIPTS.values():
        histories = Histories(script, seed=3)
        for deaths in range(200):
            histories.die_often(2 + deaths % 5)


def the_flipped_bits() -> None:
    for name in rot.CLOSED:
        rot.test_a_flipped_bit_in_a_journal_that_ended_is_refused_or_changes_nothing(name)


KILLERS = (the_order, the_errors, the_power_cuts_after_errors, the_histories, the_chains, the_flipped_bits)


def test_the_core_itself_passes_what_kills_its_mutants() -> None:
    """Else a mutant would die of something that is no fault of its own."""
    assert not any(map(death, KILLERS))
