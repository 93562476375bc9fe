"""What is known of one item, packed into one integer, its *word*: a million of them must fit in memory."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class State(IntEnum):
    """The state of an item, from its journal alone (SPEC 1)."""

    NEW = 0
    CUT_OFF = 1
    FAILED = 2
    DONE = 3
    PARKED = 4


ALL = tuple(State)
STATE = 0b111
BEFORE = 3  # shift: the state before the open start
OPEN = 1 << 6  # the last record is `started`
LIMITED = 1 << 7  # was uncharged for a limit since its last end
LISTED = 1 << 8  # stands in this run's list
NAMED = 1 << 9  # the journal has a record of it
EXHAUSTED = 1 << 10  # parked for its attempts, so a higher --max-attempts frees it
CUTS, FAILURES, ATTEMPTS = 11, 19, 35  # shifts: cut-offs (8 bits), failures (16 bits), attempts (the rest)
LOW = (1 << ATTEMPTS) - 1  # all but the attempts
NOT_STARTED = LOW & ~(STATE | STATE << BEFORE)  # what a start leaves as it is,
LASTING = LOW & ~(STATE | OPEN | EXHAUSTED | LIMITED)  # and what an end `done`
CUT_OFF_OPEN, DONE_NAMED = State.CUT_OFF.value | OPEN, State.DONE.value | NAMED
MAX_CUTS, MAX_FAILURES = 0xFF, 0xFFFF
UNTOLD = 0  # the word of an id whose only mention so far is a start that is being read in bulk
COUNTED = {"failed": FAILURES, "cut_off": CUTS}
STATES = {"done": State.DONE, "failed": State.FAILED, "cut_off": State.CUT_OFF, "held": State.PARKED}


class Standing(NamedTuple):
    """What the ledger says of one id."""

    state: State
    attempts: int = 0  # the last attempt's number, over all runs
    failures: int = 0  # ends `failed` since the last reset
    cut_offs: int = 0  # ends `cut_off` since the last reset
    limited: bool = False
    exhausted: bool = False
    open: bool = False

    @property
    def charged(self) -> int:
        """How many attempts count against --max-attempts."""
        return self.failures + self.cut_offs


def unpack_word(word: int) -> Standing:
    return Standing(
        ALL[word & STATE],
        word >> ATTEMPTS,
        word >> FAILURES & MAX_FAILURES,
        word >> CUTS & MAX_CUTS,
        bool(word & LIMITED),
        bool(word & EXHAUSTED),
        bool(word & OPEN),
    )


def started(word: int, attempt: int) -> int:
    return word & NOT_STARTED | (word & STATE) << BEFORE | CUT_OFF_OPEN | attempt << ATTEMPTS


def once_more(word: int, counter: int) -> int:
    """Count a cut-off or a failure (CUTS or FAILURES), as far as there is room."""
    most = MAX_CUTS if counter == CUTS else MAX_FAILURES
    return word + (1 << counter) if word >> counter & most < most else word


def compacted(word: int, attempt: int, failures: int, cut_offs: int) -> int:
    """The word of an item of which only this is told, and its state."""
    counted = min(failures, MAX_FAILURES) << FAILURES | min(cut_offs, MAX_CUTS) << CUTS
    return word & (STATE | LISTED) | NAMED | attempt << ATTEMPTS | counted


def done_again(word: int, attempt: int) -> int:
    """The word of an id that was known before, now that it is done."""
    if attempt < word >> ATTEMPTS:
        attempt = word >> ATTEMPTS
    return word & LASTING | DONE_NAMED | attempt << ATTEMPTS


class Start(NamedTuple):
    """A start without an end: its attempt, its run, which start of all it is, its batch's name if it was in one."""

    attempt: int
    run: int
    order: int
    batch: str | None
    name: str | None = None  # under which it was handed out, if it was
