"""The journal's records as events that a person reads, one a line, or a program."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from .records import Record, pack, pack_all, unpack
from .words import duration, shown

WORDS = {"cut_off": "cut off", "uncharged": "not now"}
BY = {"hand": "by hand", "verify": "by --verify", "import": "imported", "compact": "compacted"}
COMMAND = 200  # characters of a command that are shown


def lines(record: Record) -> Iterator[str]:
    """A line for each item of a record (a batch has several), or one for what speaks of the whole run."""
    when = f"{local(record.rest.get('at', ''))}  {WORDS.get(record.t, record.t):<9} "
    if not record.ids:
        yield when + _whole(record)
    for at, id in enumerate(record.ids):
        attempt = record.attempts[at] if at < len(record.attempts) else 0
        about = ", ".join(details(record, attempt))
        yield f"{when}{shown(id)}{'  ' + about if about else ''}"


def details(record: Record, attempt: int = 0) -> Iterator[str]:
    """`attempt 2`, `exit 3`, `1.8s`, `cost 0.0123` …, as far as the record tells."""
    rest = record.rest
    if attempt:
        yield f"attempt {attempt}"
    if said := reason(rest):
        yield said
    if "ms" in rest:
        yield duration(rest["ms"] / 1000)
    if "cost" in rest:
        yield f"cost {rest['cost']:.6g}"
    for name, amount in (rest.get("sums") or {}).items():
        yield f"{name} {amount:.15g}"
    if "resume_at" in rest:
        yield f"resets {local(rest['resume_at'])}"
    if "by" in rest:
        yield BY.get(rest["by"], str(rest["by"]))
    for name in ("failures", "cut_offs"):
        if count := rest.get(name):
            yield f"{count} {name.replace('_', '-')[: -1 if count == 1 else None]}"


def reason(rest: Any) -> str:
    """`exit 3`, or the journal's word with the tool's own words: `limit: usage limit reached`."""
    why = rest.get("why", "")
    if why == "exit" and "rc" in rest:
        return f"exit {rest['rc']}"
    if why == "signal" and "rc" in rest:
        return f"signal {-rest['rc']}"
    text = shown(str(rest.get("text", "")).encode(errors="surrogateescape"))
    return f"{why}: {text}" if text and text != why else why


def _whole(record: Record) -> str:
    rest = record.rest
    number = rest.get("run", "")
    if record.t == "run":
        command = b" ".join(unpack(word) for word in rest.get("cmd", ()))
        total = "a stream" if rest.get("total") is None else f"{rest['total']} items"
        return f"{number}  {total}, -j {rest.get('jobs', 1)}, pid {rest.get('pid')}: {shown(command, COMMAND)}"
    if record.t == "end":
        counts = ", ".join(
            f"{rest[name]} {name.replace('_', ' ')}" for name in ("done", "failed", "cut_off") if name in rest
        )
        return f"{number}  {rest.get('why')}: {counts}"
    if record.t == "list":
        return f"{number}  {rest.get('total')} items, read to its end"
    return ""


def as_json(record: Record) -> bytes:
    """A record as a JSON line, with whole ids and without its checksum."""
    head: dict[str, Any] = {"t": record.t}
    if len(record.ids) > 1:
        head |= {"ids": pack_all(record.ids), "a": record.attempts}
    elif record.ids:
        head |= {"id": pack(record.ids[0]), "a": record.attempts[0] if record.attempts else 0}
    return orjson.dumps({**head, **record.rest}) + b"\n"


def local(at: str) -> str:
    """A journal's time on the local clock, `2026-11-29 18:12:03`; as it stands if it is none."""
    return _local(at[:19])


@lru_cache(maxsize=1024)
def _local(at: str) -> str:
    try:
        return datetime.fromisoformat(f"{at}+00:00").astimezone().strftime("%F %T")
    except ValueError:
        return f"{shown(at.encode()):<19}"
