"""What the next run would do with one item, and why: admission itself is asked."""

from __future__ import annotations

from typing import Any

from .admission import Admission, Rules
from .items import Item
from .ledger import Ledger, Standing, State
from .loop import moment
from .pacing import Pacing
from .policy import Policy
from .records import Record
from .report import WORDS
from .tally import Tally


class _Queue(Pacing[Any]):
    """Notes which place the item would get."""

    place = ""

    def add(self, *items: Item[Any]) -> None:
        self.place = "in its place in the list"

    def defer(self, item: Item[Any], attempts: int, *, limited: bool = False, cries: bool = False) -> None:
        self.place = "behind all that never met a limit" if limited else "behind all others, fewest attempts first"


def forecast(ledger: Ledger, id: bytes, rules: Rules) -> str:
    """What becomes of the item, in one phrase.  The ledger takes it in as a run's would: ask for nothing else of it then."""
    if start := ledger.open_items().get(id):
        ledger.enter(Record("cut_off", (id,), (start.attempt,), {"run": start.run, "why": "crash"}))
    standing, queue = ledger.standing(id), _Queue(Policy(), 1, moment())
    admission: Admission[Any] = Admission(rules, ledger, queue, Tally())
    admission.take(Item(id, None, 1))
    state = WORDS[standing.state]
    if admission.held:
        return f"holds it for a person: {_held(admission.held[0].rest['why'], standing, rules)}"
    if admission.passed_over:
        return f"leaves it: it is {state}, and --failed is {rules.failed.value}"
    if not queue.place:
        return _skipped(standing, rules)
    if id in admission.to_check:
        return f"asks --verify whether its effect is in place; if not, runs it {queue.place}"
    return f"runs it {queue.place}: {_why(standing, rules)}"


def _held(why: str, standing: Standing, rules: Rules) -> str:
    if why == "attempts":
        return f"{standing.charged} attempts count, and --max-attempts is {rules.max_attempts}"
    return "it was cut off, and --cut-off is hold"


def _skipped(standing: Standing, rules: Rules) -> str:
    if standing.state is State.DONE:
        return "skips it: it is done (reset --id, or mark new, to have it run again)"
    if standing.exhausted:
        most = f"--max-attempts is {rules.max_attempts}" if rules.max_attempts else "no --max-attempts is given"
        return f"skips it: it is parked after {standing.charged} attempts that count, and {most} (a higher one frees it, or reset --id)"
    return "skips it: it is parked, for a person to decide (mark done, or reset --id)"


def _why(standing: Standing, rules: Rules) -> str:
    limit = f" of {rules.max_attempts}" if rules.max_attempts else ""
    charged = f"; attempts that count: {standing.charged}{limit}" if standing.charged else ""
    if standing.limited:
        return f"it met a limit, which is not counted{charged}"
    if standing.state is State.NEW:
        return "it has not been run" if not standing.attempts else f"it is new again after {standing.attempts} attempts"
    if standing.state is State.PARKED:
        return f"it was parked, and --max-attempts is {rules.max_attempts} now{charged}"
    return f"it {'failed' if standing.state is State.FAILED else 'was cut off'}{charged}"
