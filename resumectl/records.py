"""A record and its line: what one JSON object of the journal looks like, sealed with a CRC.

`t` comes first, then the ids, then the attempts; `c` is last.  Ids are bytes:
valid UTF-8 is written as a string, anything else as base64 in an object.
"""

from __future__ import annotations

import base64
import hashlib
import re
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

LONG = 256  # bytes: a longer id is written whole by its `started`, then as a hash
SEAL = b',"c":"%08x"}'  # what closes each line: the CRC of all before it
TAIL = 16  # bytes of that
ENDS = frozenset({"done", "failed", "cut_off", "uncharged", "held"})
_OF_ATTEMPTS = (b"started", *[t.encode() for t in ENDS])
BARRIER = b'"bad":'  # stands in the lines that say how many bad ones stand before them; in no id, whose quotes are escaped
ALONE = frozenset({"attempts", "cut-off"})  # a `held` for these ends no attempt


class Record(NamedTuple):
    """One line: its type, the ids it speaks of, their attempts, and the other fields.

    Ends of one start that differ in nothing but the item are one record until they are written.
    """

    t: str
    ids: tuple[bytes, ...] = ()
    attempts: tuple[int, ...] = ()
    rest: Mapping[str, Any] = {}

    def lines(self) -> list[Record]:
        """A record for each line that it is written as."""
        if self.t not in ENDS or len(self.ids) < 2:
            return [self]
        return [self._replace(ids=(id,), attempts=(a,)) for id, a in zip(self.ids, self.attempts, strict=True)]


def stamp(when: float | None = None) -> str:
    """A time (epoch seconds, default now) in UTC with milliseconds, as every `at` has it."""
    second, rest = divmod(round((time.time() if when is None else when) * 1e6), 1_000_000)
    return f"{_second(second)}.{rest // 1000:03d}Z"


@lru_cache(maxsize=1)
def _second(second: int) -> str:
    """A whole second, which many turns share."""
    return datetime.fromtimestamp(second, UTC).isoformat()[:-6]


def pack(raw: bytes) -> str | dict[str, str]:
    """Bytes as a JSON value: a string if they are UTF-8, else base64 in an object."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode()}


def pack_all(some: Sequence[bytes]) -> list[Any]:
    """The same of each."""
    try:
        return [raw.decode() for raw in some]
    except UnicodeDecodeError:
        return list(map(pack, some))


def unpack(value: Any) -> bytes:
    """The bytes that `pack` was given; ValueError, KeyError or TypeError for anything else."""
    if isinstance(value, str):
        return value.encode()
    return base64.b64decode(value["b64"], validate=True)


def digest(id: bytes) -> str:
    """What stands for a long id in the line that ends its `started`."""
    return hashlib.blake2b(id, digest_size=16).hexdigest()


def seal(body: bytes, seed: int) -> bytes:
    """Close an object (given without its last brace) with its CRC; return the whole line."""
    return body + SEAL % zlib.crc32(body, seed) + b"\n"


def intact(line: bytes, seed: int) -> bool:
    """Whether the CRC of a line (without its newline) holds."""
    return line[-TAIL:] == SEAL % zlib.crc32(line[:-TAIL], seed)


def encode(record: Record, seed: int, at: str) -> bytes:
    """The line of a record: `t`, ids, attempts, the rest in order, `at`, the CRC."""
    t, ids, attempts, rest = record
    head: dict[str, Any]
    if len(ids) > 1:
        head = {"t": t, "ids": pack_all(ids), "a": list(attempts), **rest}
    elif attempts:
        head = {"t": t, "id": _id_value(ids[0], record), "a": attempts[0], **rest}
    else:
        head = {"t": t, "id": _id_value(ids[0], record), **rest} if ids else {"t": t, **rest}
    head.setdefault("at", at)
    return seal(orjson.dumps(head)[:-1], seed)


def encode_all(records: Iterable[Record], seed: int, at: str) -> list[bytes]:
    """The lines of some records: one each, but one an item of those that end several."""
    lines: list[bytes] = []
    for record in records:
        if record.t in ENDS and len(record.ids) > 1:
            lines += _alike(record, seed, at)
        else:
            lines.append(encode(record, seed, at))
    return lines


def _alike(record: Record, seed: int, at: str) -> list[bytes]:
    """What the lines have in common is put into JSON once."""
    t, ids, attempts, rest = record
    begin, common = b'{"t":"%b","id":' % t.encode(), orjson.dumps({**rest, "at": rest.get("at", at)})[1:-1]
    values = pack_all(ids) if max(map(len, ids)) <= LONG else [_id_value(id, record) for id in ids]
    names = orjson.dumps(values)[1:-1].split(b",")
    if len(names) > len(ids):  # one has a comma
        names = list(map(orjson.dumps, values))
    pairs = zip(names, attempts, strict=True)
    return [seal(b'%b%b,"a":%d,%b' % (begin, name, attempt, common), seed) for name, attempt in pairs]


def _id_value(id: bytes, record: Record) -> Any:
    if len(id) <= LONG or record.t not in ENDS or "by" in record.rest:
        return pack(id)
    return pack(id) if record.t == "held" and record.rest.get("why") in ALONE else {"h": digest(id)}


class Only:
    """Picks lines out of many: those that begin in a certain way, and those that hold one of some texts."""

    def __init__(self, head: bytes, texts: Collection[bytes] = ()) -> None:
        """`head` is a regular expression."""
        self._head = re.compile(b"\n(?:%b)" % head)  # far quicker than `^`
        self._texts = re.compile(b"|".join(map(re.escape, texts))) if texts else None

    def spans(self, lines: bytes) -> Iterator[tuple[int, int]]:
        """Where the lines that are picked begin and end, of some that all end with a newline."""
        text = b"\n" + lines
        found = {match.start() for match in self._head.finditer(text)}
        if self._texts is not None:
            found |= {text.rindex(b"\n", 0, match.start()) for match in self._texts.finditer(text)}
        for begin in sorted(found):
            yield begin, text.index(b"\n", begin + 1) - 1

    def wants(self, line: bytes) -> bool:
        return any(self.spans(line + b"\n"))


def about(ids: Collection[bytes]) -> Only:
    """The lines that may speak of these ids, all that tell of a run as a whole, and all barriers.

    The whole ids that later hashes stand for are let through too.
    """
    names = [BARRIER, *[orjson.dumps(pack(id)) for id in ids], *[digest(id).encode() for id in ids if len(id) > LONG]]
    start = rb'\{"t":"started"'
    return Only(rb'(?!\{"t":"(?:%b|reset)").|%b.{%d}' % (b"|".join(_OF_ATTEMPTS), start, LONG), names)


def of_types(*types: str) -> Only:
    """The lines that begin as records of these types do, and all barriers."""
    return Only(rb'\{"t":"(?:%b)",' % "|".join(types).encode(), [BARRIER])


class Decoder:
    """Gives each line's record back with whole ids; a hash stands for a `started` seen before."""

    def __init__(self) -> None:
        self._long: dict[str, bytes] = {}

    def record(self, line: bytes) -> Record:
        """Raises KeyError, ValueError or TypeError when the line is no record."""
        fields = orjson.loads(line)
        t, id = fields.pop("t"), fields.pop("id", None)
        fields.pop("c")
        if type(id) is str:
            whole = self._keep(t, id.encode())
        elif id is not None:
            whole = self._long[id["h"]] if "h" in id else self._keep(t, unpack(id))
        elif "ids" in fields:
            ids = tuple(self._keep(t, unpack(value)) for value in fields.pop("ids"))
            return Record(t, ids, tuple(fields.pop("a")), fields)
        else:
            return Record(t, (), (), fields)
        return Record(t, (whole,), (fields.pop("a", 0),), fields)

    def _keep(self, t: str, id: bytes) -> bytes:
        if t == "started" and len(id) > LONG:
            self._long[digest(id)] = id
        return id
