"""One grammar for every test of an ended item.

    code:0,75     its exit code is one of these
    text:RE       the pattern is found on stdout or on stderr (^ and $ also match at line ends)
    json:EXPR     PATH, or PATH OP JSON with OP one of == != < <= > >= =~
    empty         stdout has no byte that is not white space
    !…            not

Where there is no JSON object at all nothing holds, neither `json:EXPR` nor `!json:EXPR`: an output that cannot be read
neither proves that an item went well nor, as a veto, that a limit was none.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, AnyStr, Protocol

import orjson

from .evidence import Evidence, look_up, path, same

_EXPR = re.compile(r"\s*([^\s=!<>~]+)\s*(?:(==|!=|<=|>=|=~|<|>)\s*(.*?)\s*)?\Z", re.DOTALL)
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _Test(Protocol):
    def holds(self, evidence: Evidence, own_words: bool) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Code:
    codes: frozenset[int]

    def holds(self, evidence: Evidence, own_words: bool) -> bool:
        return evidence.ended.code in self.codes


@dataclass(frozen=True, slots=True)
class _Text:
    pattern: re.Pattern[bytes]

    def holds(self, evidence: Evidence, own_words: bool) -> bool:
        streams = evidence.words if own_words else (evidence.stdout, evidence.stderr)
        return any(self.pattern.search(stream) for stream in streams)


@dataclass(frozen=True, slots=True)
class _Empty:
    def holds(self, evidence: Evidence, own_words: bool) -> bool:
        return evidence.empty


@dataclass(frozen=True, slots=True)
class _Json:
    steps: tuple[str | int, ...]
    op: str
    operand: Any

    def holds(self, evidence: Evidence, own_words: bool) -> bool:
        if evidence.object is None:
            return False
        return self._compare(look_up(evidence.object, self.steps))

    def _compare(self, value: Any) -> bool:
        if not self.op:
            return value is not None and value is not False
        if self.op in ("==", "!="):
            return same(value, self.operand) == (self.op == "==")
        if self.op == "=~":
            return isinstance(value, str) and self.operand.search(value) is not None
        return _comparable(value, self.operand) and _ORDER[self.op](value, self.operand)


def _comparable(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    both = (left, right)
    return all(isinstance(one, int | float) for one in both) or all(isinstance(one, str) for one in both)


@dataclass(frozen=True, slots=True)
class When:
    """One test of an ended item; it knows the text that it was parsed from. Frozen and picklable."""

    text: str
    kind: str = field(compare=False)  # code, text, json or empty
    negated: bool = field(compare=False)
    test: _Test = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> When:
        """Raises ValueError, in one sentence that says what is wrong, if the text is no such test."""
        negated = text.startswith("!")
        kind, colon, rest = text.removeprefix("!").partition(":")
        if kind == "empty" and not colon:
            return cls(text, kind, negated, _Empty())
        if kind not in _PARSERS or not colon:
            raise ValueError(f"{text!r} is none of code:N,… text:RE json:EXPR empty, with or without a leading !")
        return cls(text, kind, negated, _PARSERS[kind](rest))

    def __str__(self) -> str:
        return self.text

    def holds(self, evidence: Evidence, own_words: bool = False) -> bool:
        """Whether it is so. With `own_words`, `text:` sees only what the tool itself said (see Evidence.words)."""
        if self.negated and self.kind == "json" and evidence.object is None:
            return False
        return self.test.holds(evidence, own_words) != self.negated

    def vetoes(self, evidence: Evidence, own_words: bool = False) -> bool:
        """For `!WHEN` among tests of which any one decides: whether it forbids them, for its WHEN is so."""
        return self.negated and self.test.holds(evidence, own_words)

    def first_in(self, words: Sequence[bytes]) -> bytes:
        """The one of the words that a `text:` test is about; for other tests, or if none matches, the first."""
        if isinstance(self.test, _Text):
            words = [word for word in words if self.test.pattern.search(word)] or words
        return words[0] if words else b""


def any_of(whens: tuple[When, ...], evidence: Evidence, own_words: bool = False) -> When | None:
    """The first that holds, none if a `!WHEN` among them vetoes; a list of vetoes alone never says yes."""
    found = next((when for when in whens if not when.negated and when.holds(evidence, own_words)), None)
    if found is None or any(when.vetoes(evidence, own_words) for when in whens):
        return None
    return found


def _code(text: str) -> _Code:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) < 256 for word in words):
        raise ValueError(f"code:{text} must be exit codes from 0 to 255, such as code:0,75")
    return _Code(frozenset(map(int, words)))


def _text(text: str) -> _Text:
    if not text:
        raise ValueError("text: needs a pattern; to test for no output say empty")
    return _Text(_pattern(text, text.encode("utf-8", "surrogateescape")))


def _json(text: str) -> _Json:
    match = _EXPR.match(text)
    if match is None:
        raise ValueError(f"json:{text} is not PATH or PATH OP JSON, with OP one of == != < <= > >= =~")
    name, op, operand = match.groups()
    steps = path(name)
    return _Json(steps, op or "", _operand(text, op, operand) if op else None)


def _operand(text: str, op: str, written: str) -> Any:
    try:
        value = orjson.loads(written)
    except orjson.JSONDecodeError:
        raise ValueError(
            f"json:{text} compares with something that is not JSON; a string needs double quotes"
        ) from None
    if op == "=~":
        if not isinstance(value, str):
            raise ValueError(f"json:{text} needs a pattern in double quotes after =~")
        return _pattern(value, value)
    if op in _ORDER and not _comparable(value, value):
        raise ValueError(f"json:{text} needs a number or a string after {op}")
    return value


def _pattern(shown: str, pattern: AnyStr) -> re.Pattern[AnyStr]:
    try:
        return re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise ValueError(f"{shown!r} is not a regular expression: {error}") from None


_PARSERS: dict[str, Callable[[str], _Test]] = {"code": _code, "text": _text, "json": _json}
