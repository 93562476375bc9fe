"""What must hold of every history, read from what the commands did and what a person was told.

The journal's own opinion counts for nothing here.  Its text is judged by a reader of our
own, which shares no line with the core.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from crash_driver import Log, Script

from resumectl.admission import CutOff
from resumectl.verdict import Kind

ENDS = {"done", "failed", "cut_off", "uncharged", "held"}
IN_FLIGHT = None  # the fate of a command that was running when the process died


class Broken(AssertionError):
    """An invariant does not hold."""


def demand(holds: object, what: str) -> None:
    if not holds:
        raise Broken(what)


class Witness:
    """Follows a history run by run."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.fate: dict[bytes, Kind | None] = {}  # of each id's last start
        self.attempt: dict[bytes, int] = {}
        self.done: set[bytes] = set()  # ids whose command has ended well
        self.told: set[bytes] = set()  # ids that a person was told are done
        self.charged: dict[bytes, int] = {}
        self.repeats = 0
        self.deaths = 0
        self.last: tuple[Any, ...] = ()

    def run(self, log: Log, *, died: bool) -> None:
        """Take in what one run did, as far as it came."""
        announced: frozenset[bytes] = frozenset()
        self.deaths += died
        for event in log:
            if event[0] == "start":
                self._start(event[1], event[2], announced)
            elif event[0] == "end":
                self._end(event[1], event[3])
            elif event[0] == "ack":
                self._acknowledge(event[1], event[2])
            elif event[0] == "open":
                announced = event[1]
                demand(event[2] <= self.done, "I1 taken for done without having run")
                self.told |= event[2]
            else:
                self.last = event

    def _start(self, id: bytes, attempt: int, announced: frozenset[bytes]) -> None:
        demand(id not in self.told, "I1 acknowledged as done and run again")
        demand(attempt > self.attempt.get(id, 0), "I5 an attempt's number was used twice")
        before = self.fate.get(id, Kind.FAILED)
        if before in (IN_FLIGHT, Kind.DONE):
            self.repeats += 1
        if before in (IN_FLIGHT, Kind.DONE, Kind.CUT_OFF):
            demand(id in announced, "I4 repeated without having been announced as cut off")
            demand(self.script.cut_off is not CutOff.HOLD, "what was cut off was not held")
        self.fate[id], self.attempt[id] = IN_FLIGHT, attempt
        self.charged[id] = self.charged.get(id, 0) + 1
        limit = self.script.max_attempts
        demand(not limit or self.charged[id] <= limit, "run more often than --max-attempts")

    def _end(self, id: bytes, kind: Kind) -> None:
        self.fate[id] = kind
        if kind is Kind.DONE:
            self.done.add(id)
        if kind is Kind.UNCHARGED:
            self.charged[id] -= 1

    def _acknowledge(self, id: bytes, kind: Kind) -> None:
        demand(self.fate[id] is kind, "told of an end that it did not have")
        if kind is Kind.DONE:
            self.told.add(id)

    def finished(self) -> None:
        """The last run met no trouble: the job must be complete."""
        if self.script.parks:
            demand(self.last in (("stop", "complete", frozenset()), ("stop", "exhausted", frozenset())), f"I9 {self.last}")
        else:
            demand(self.last == ("stop", "complete", frozenset()), f"I9 the next run did not finish the job: {self.last}")
            demand(self.told == set(self.script.ids), "I2 not all items were done")
        demand(self.repeats <= self.deaths * self.script.jobs * self.script.batch, "I3 more repeats than were in flight")


class Told:
    """What the text of a journal says, read by the letter of its specification."""

    def __init__(self, data: bytes) -> None:
        demand(data.endswith(b"\n"), "I6 the last line has no newline")
        self.bad = 0
        self.records: list[dict[str, Any]] = []
        self._long: dict[str, bytes] = {}
        header, *lines = data[:-1].split(b"\n")
        self.seed = zlib.crc32(json.loads(header)["jid"].encode())
        demand(_sound(header, 0), "I6 the header's CRC")
        for line in lines:
            self._line(line.lstrip(b"\0"))

    def _line(self, line: bytes) -> None:
        if not line:
            return
        record = _parsed(line, self.seed)
        if record is None:
            self.bad += 1
            return
        if "bad" in record:
            demand(record["bad"] == self.bad, f"I6 a barrier says {record['bad']} bad lines, there are {self.bad}")
        for one in _singles(record):
            if one["t"] == "started":
                self.id(one)
            self.records.append(one)

    def id(self, record: dict[str, Any]) -> bytes:
        """The whole id of a record."""
        value = record["id"]
        if isinstance(value, dict) and "h" in value:
            return self._long[value["h"]]
        id = value.encode() if isinstance(value, str) else base64.b64decode(value["b64"])
        if len(id) > 256:
            self._long[hashlib.blake2b(id, digest_size=16).hexdigest()] = id
        return id

    def grammar(self) -> None:
        """I5: each started is ended at most once, attempts grow, done is final."""
        open: dict[bytes, int] = {}
        last: dict[bytes, int] = {}
        done: set[bytes] = set()
        for record in self.records:
            if "id" not in record:
                continue
            t, id = record["t"], self.id(record)
            if t == "started":
                demand(record["a"] > last.get(id, 0), f"I5 {id!r} started({record['a']}) after {last.get(id)}")
                demand(id not in done, f"I5 {id!r} started after done")
                open[id] = last[id] = record["a"]
            elif t in ENDS and not _alone(record):
                demand(open.pop(id, None) == record["a"], f"I5 {t} of {id!r} ends nothing that is open")
            if t == "done":
                done.add(id)

    def once(self, ids: Sequence[bytes]) -> None:
        """I2: every item has one done."""
        done = sorted(self.id(record) for record in self.records if record["t"] == "done")
        demand(done == sorted(ids), "I2 not one done for each item")

    def kept(self, out: bytes) -> None:
        """Every stretch that a record names is there, is what was kept, and is named once."""
        end = 0
        batch: Any = None  # the items of one batch name the same stretch
        for record in self.records:
            for where in filter(None, (record.get("out"), record.get("err"))):
                offset, length, crc = where
                demand(f"{zlib.crc32(out[offset : offset + length]):08x}" == crc, "a record without its kept output")
                demand(offset >= end or where == batch, "a stretch of kept output was used twice")
                batch, end = where, offset + length

    def settled(self, ids: Sequence[bytes]) -> None:
        """The last word about every item is that it is done, or held."""
        last = {self.id(record): record["t"] for record in self.records if "id" in record}
        demand(all(last.get(id) in ("done", "held") for id in ids), f"I9 left over: {last}")


def _singles(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The start of a batch as the starts of its items."""
    if "ids" not in record:
        return [record]
    rest = {name: value for name, value in record.items() if name not in ("ids", "a")}
    return [{**rest, "id": id, "a": attempt} for id, attempt in zip(record["ids"], record["a"], strict=True)]


@lru_cache(maxsize=1 << 15)
def _parsed(line: bytes, seed: int) -> dict[str, Any] | None:
    """The line's object, None if it is bad; the histories of one script share most of their lines."""
    return json.loads(line) if _sound(line, seed) else None


def _sound(line: bytes, seed: int) -> bool:
    return len(line) > 16 and line[-16:] == b',"c":"%08x"}' % zlib.crc32(line[:-16], seed)


def _alone(record: dict[str, Any]) -> bool:
    return "by" in record or (record["t"] == "held" and record["why"] in ("attempts", "cut-off"))
