"""What an ended attempt left behind: how it ended, the object in its output, the tool's own words.

Everything is looked for when it is first asked for, and only once. Output may be a mapped file of a gigabyte: it is
searched where it lies, from the end, and never copied as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from mmap import mmap
from typing import Any

import orjson

Searchable = bytes | bytearray | mmap  # has rfind: can be searched from its end where it lies

PARSED = 64 << 20  # bytes: a longer document or line is not parsed as JSON
LINE = 64 << 10  # bytes: as much of a last line as anybody reads

_INK = re.compile(rb"\S")
_COLOUR = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
_STEP = re.compile(r"\.?([^\s.\[\]=!<>~]+)|\[(-?\d+)\]")
_NO_JSON = object()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `code` is None exactly when a signal ended it.

    `stopped` is the signal with which we stopped it from outside; `timed_out` says that its time was up, and then the
    signal that we sent for that reason counts for nothing.
    """

    code: int | None
    signal: int | None = None
    stopped: int | None = None
    timed_out: bool = False


@lru_cache(maxsize=256)
def path(text: str) -> tuple[str | int, ...]:
    """The steps of a dotted path such as `errors[0].message`; a negative index counts from the end.

    Raises ValueError for anything else.
    """
    steps: list[str | int] = []
    at = 0
    while match := _STEP.match(text, at):
        name, index = match.groups()
        if name is not None and (match[0][0] == ".") != bool(steps):
            break
        steps.append(name if name is not None else int(index))
        at = match.end()
    if at < len(text) or not steps or isinstance(steps[0], int):
        raise ValueError(f"{text!r} is not a path such as usage.tokens or errors[0]")
    return tuple(steps)


def look_up(value: Any, steps: tuple[str | int, ...]) -> Any:
    """What stands at the end of the path, None if there is nothing."""
    for step in steps:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        elif isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def same(left: Any, right: Any) -> bool:
    """Equality as JSON means it: 1 equals 1.0, but true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


@dataclass(frozen=True, slots=True)
class Pick:
    """`PATH=VALUE`: which of several JSON objects is the one that is judged. VALUE is a plain string or JSON."""

    path: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Pick:
        """Raises ValueError, in one sentence, if the text is not PATH=VALUE."""
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"{text!r} is not PATH=VALUE, such as type=result")
        path(name)
        return cls(name, value)

    def __str__(self) -> str:
        return f"{self.path}={self.value}"

    def matches(self, found: dict[str, Any]) -> bool:
        value = look_up(found, path(self.path))
        if isinstance(value, str):
            return value == self.value
        wanted = parsed(self.value)
        return wanted is not _NO_JSON and value is not None and same(value, wanted)


def parsed(text: str | bytes | memoryview) -> Any:
    """The JSON value, or a mark that equals nothing."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _NO_JSON


def spans_from_end(buffer: Searchable) -> Iterator[tuple[int, int]]:
    """Start and end of each line, the last one first, without copying any."""
    end = len(buffer)
    while end >= 0:
        start = buffer.rfind(b"\n", 0, end) + 1
        yield start, end
        end = start - 1


def _objects_of_lines(buffer: Searchable, holding: bytes) -> Iterator[dict[str, Any]]:
    """Lines without a brace, or without what they must hold, are skipped in one search and never seen here."""
    before = len(buffer)
    while (at := buffer.rfind(holding or b"{", 0, before)) >= 0:
        start = buffer.rfind(b"\n", 0, at) + 1
        end = buffer.find(b"\n", at)
        line = _line_of_object(buffer, start, len(buffer) if end < 0 else end)
        if line is not None and isinstance(value := parsed(line), dict):
            yield value
        before = start


def _line_of_object(buffer: Searchable, start: int, end: int) -> bytes | None:
    ink = _INK.search(buffer, start, end)
    if ink is None or buffer[ink.start()] != ord("{") or end - start > PARSED:
        return None
    return bytes(buffer[start:end])


def objects(buffer: Searchable, holding: bytes = b"") -> Iterator[dict[str, Any]]:
    """The JSON objects of an output, the last one first: the whole of it, the elements of its array, or its lines.

    Lines that do not contain `holding` are passed over unparsed.
    """
    ink = _INK.search(buffer)
    if ink is None:
        return
    if len(buffer) <= PARSED and buffer[ink.start()] in b"{[":
        with memoryview(buffer) as view:
            whole = parsed(view)
        if whole is not _NO_JSON:
            elements = whole if isinstance(whole, list) else [whole]
            yield from (one for one in reversed(elements) if isinstance(one, dict))
            return
    yield from _objects_of_lines(buffer, holding)


def last_line(buffer: Searchable) -> bytes:
    """The last line that is not blank, without colours and at most LINE bytes of it; empty if there is none."""
    for start, end in spans_from_end(buffer):
        if ink := _INK.search(buffer, start, end):
            first = ink.start()
            return _COLOUR.sub(b"", bytes(buffer[first : min(end, first + LINE)])).strip()
    return b""


def _searchable(buffer: Any) -> Searchable:
    return buffer if hasattr(buffer, "rfind") else bytes(buffer)


class Evidence:
    """All that may be asked about an ended attempt.

    `stdout` and `stderr` are bytes, a bytearray or an mmap (any other bytes-like object is copied).
    """

    def __init__(self, ended: Ended, stdout: Any = b"", stderr: Any = b"", pick: Pick | None = None) -> None:
        self.ended = ended
        self.stdout = _searchable(stdout)
        self.stderr = _searchable(stderr)
        self.pick = pick

    @cached_property
    def empty(self) -> bool:
        """Whether stdout holds nothing but white space."""
        return _INK.search(self.stdout) is None

    @cached_property
    def object(self) -> dict[str, Any] | None:
        """The object that `json:` tests look at: in stdout, or in stderr if stdout is blank."""
        found = objects(self.stderr if self.empty else self.stdout)
        return next((one for one in found if self.pick is None or self.pick.matches(one)), None)

    @cached_property
    def words(self) -> tuple[bytes, ...]:
        """What the tool itself says, as opposed to what a model wrote through it.

        The strings `result error errors[] error.message message` of the object, and a last line of text that follows
        it. Without such strings: the last non-blank line of each stream, but none that is data of the object's stream.
        """
        said = [text.encode("utf-8", "surrogatepass") for text in _strings(self.object or {})]
        lines = [last_line(self.stdout), last_line(self.stderr)]
        source = 1 if self.empty else 0
        if self.object is not None and lines[source][:1] in (b"{", b"}", b"[", b"]"):
            lines[source] = b""
        return tuple(filter(None, [*said, lines[source]] if said else lines))

    def number(self, where: str) -> float | None:
        """The number at a path of the object, None if there is none (a negative one would pay a budget back)."""
        value = look_up(self.object, path(where))
        countable = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        return float(value) if countable else None


def _strings(found: dict[str, Any]) -> list[str]:
    errors = found.get("errors")
    said = [found.get("result"), found.get("error"), *(errors if isinstance(errors, list) else [])]
    said += [look_up(found, ("error", "message")), found.get("message")]
    return [text for text in said if isinstance(text, str) and text.strip()]
