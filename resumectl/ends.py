"""What has ended: from an outcome to the lines that record it, and on to whoever believes and shows it.

The order is the promise: output kept and durable, then the end's line durable (the
loop's part), then counted and shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from .admission import Admission
from .items import Item
from .job import Follower, Outcome, Show, end_records, streams
from .ledger import State
from .lines import JournalError
from .outputs import Kept, Outputs
from .pacing import Pacing
from .papers import Papers
from .records import Record
from .run import Run
from .throttle import Moment
from .verdict import Kind, Verdict

T = TypeVar("T")


class Ended(NamedTuple, Generic[T]):
    """An outcome whose output is kept: where its two streams are, or those of each of its items."""

    outcome: Outcome[T]
    places: Sequence[Kept | None]


class Ends(Generic[T]):
    """Takes outcomes in, gives the records that are owed for them, and shows them when these are durable."""

    def __init__(
        self,
        run: Run,
        pacing: Pacing[T],
        admission: Admission[T],
        show: Show,
        outputs: Outputs | None,
        follower: Follower[T] | None = None,
    ) -> None:
        """`outputs` is None when nothing is kept."""
        self._run, self._pacing, self._admission, self._show = run, pacing, admission, show
        self._outputs, self._tally = outputs, admission.tally
        self._arrived: list[Outcome[T]] = []  # their output is not kept yet
        self._kept: list[Ended[T]] = []  # not in the journal yet
        self._follower = follower
        self._found: list[Item[T]] = []  # done, as `--verify` has found; not in the journal yet

    @property
    def waiting(self) -> bool:
        """Whether anything waits for its lines to be durable."""
        return bool(self._kept)

    def settle(self, outcome: Outcome[T], now: Moment) -> list[Record]:
        """A start has ended: tell the pacing.  Gives the record of a check, which stands alone."""
        if outcome.job.check:
            return self._checked(outcome)
        self._pacing.freed(outcome.seconds)
        if outcome.clean:
            self._pacing.passed(outcome.job.ids, outcome.verdict)
            self._arrived.append(outcome)
            return []
        results, again = dict(outcome.results), set()
        said: set[str] = set()
        for item in outcome.job.items:
            verdict = outcome.of(item.id)
            echo = verdict.why in said and verdict.why != "error"
            said.add(verdict.why)
            if verdict.kind is Kind.DONE:
                self._pacing.passed((item.id,), verdict, echo=echo)
                continue
            results[item.id], more = self._ended(item, verdict, outcome.seconds, now, echo=echo)
            if more:
                again.add(item.id)
        self._arrived.append(outcome._replace(results=results, again=frozenset(again)))
        return []

    def _ended(
        self, item: Item[T], verdict: Verdict, seconds: float, now: Moment, *, echo: bool
    ) -> tuple[Verdict, bool]:
        """`echo`: another item of its start has ended in this way, for the same reason."""
        standing = self._run.ledger.standing(item.id)
        return self._pacing.ended(
            item,
            verdict,
            seconds,
            now,
            failures=standing.failures,
            last=self._admission.last_attempt(standing),
            echo=echo,
        )

    def _checked(self, outcome: Outcome[T]) -> list[Record]:
        """`--verify` has answered for a cut-off item: done, to run after all, or unknown."""
        item, verdict = outcome.job.items[0], outcome.verdict
        self._pacing.checked(item)
        again = frozenset(outcome.job.ids if verdict.kind is Kind.FAILED else ())
        self._show.outcome(outcome._replace(again=again), *streams(outcome, None, ()))
        attempts = (self._run.ledger.attempts(item.id),)
        if verdict.kind is Kind.FAILED:
            self._admission.to_check.discard(item.id)
            self._pacing.again(item)
        elif verdict.kind is Kind.DONE:
            self._tally.move(State.CUT_OFF, State.DONE)
            self._tally.resumed += 1
            self._found.append(item)
            return [Record("done", (item.id,), attempts, {"by": "verify"})]
        elif verdict.kind is Kind.HELD:
            self._tally.move(State.CUT_OFF, State.PARKED)
            return [Record("held", (item.id,), attempts, {"why": "verify", "by": "verify", "text": verdict.text})]
        return []

    def keep(self) -> list[Record]:
        """Make durable what has been printed; gives the lines that name it.  Raises JournalError 74."""
        if not self._arrived:
            return []
        printed = [outcome.streams() for outcome in self._arrived]
        try:
            places = self._outputs.keep([one for each in printed for one in each]) if self._outputs is not None else []
        except OSError as error:
            raise JournalError(f"{self._run.place.out}: {error.strerror}", 74) from error
        named = self._outputs is not None and self._outputs.named
        records, at = [], 0
        for outcome, own in zip(self._arrived, printed, strict=True):
            mine = places[at : at + len(own)]
            at += len(own)
            for record in end_records(outcome, self._run.number, mine if named else ()):
                records += self._enter(record)
            self._kept.append(Ended(outcome, mine))
        self._arrived.clear()
        return records

    def _enter(self, record: Record) -> list[Record]:
        """Take an end in; behind the last attempt that an item may have, it is held."""
        self._run.ledger.enter(record)
        held = self._admission.exhausted(record.ids[0]) if record.t in ("failed", "cut_off") else None
        if held is None:
            return [record]
        self._run.ledger.enter(held)
        return [record, held]

    def acknowledge(self) -> None:
        """What is durable may be believed: counted and shown."""
        if self._follower is not None:
            self._follow(self._follower)
        for outcome, places in self._kept:
            if outcome.clean:
                self._tally.finish(outcome.job.ids, State.DONE)
                self._tally.completed += len(outcome.job.ids)
            else:
                for id in outcome.job.ids:
                    self._count(id, outcome.of(id))
            self._show.outcome(outcome, *streams(outcome, self._outputs, places))
            if outcome.job.batch and outcome.job.keys:  # a handler gets neither keys nor papers
                Papers(self._run.place, outcome.job.uuid).remove()
        self._kept.clear()

    def _follow(self, follower: Follower[T]) -> None:
        items, self._found = self._found, []
        for outcome, _ in self._kept:
            items += [item for item in outcome.job.items if outcome.of(item.id).kind is Kind.DONE]
        if items:
            follower.done(items)

    def _count(self, id: bytes, verdict: Verdict) -> None:
        self._tally.finish((id,), self._run.ledger.state(id))
        self._tally.completed += verdict.kind is Kind.DONE
        self._tally.failed += verdict.kind is Kind.FAILED
        self._tally.cut_off += verdict.kind is Kind.CUT_OFF

    def unrecorded(self) -> list[bytes]:
        """The ids of what ended and could not be recorded."""
        ended = [*self._arrived, *(one.outcome for one in self._kept)]
        return [id for outcome in ended for id in outcome.job.ids]
