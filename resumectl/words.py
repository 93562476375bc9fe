"""Small things made readable: ids, durations, times of day."""

from __future__ import annotations

import re
import time

SHOWN = 200  # characters of an id that a message shows
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def shown(raw: bytes, limit: int = SHOWN) -> str:
    """An id as text that can't move a cursor, change a colour or break a line."""
    text = raw[: limit * 4].decode(errors="backslashreplace")
    text = _CONTROL.sub(_escape, text)
    return text if len(text) <= limit and len(raw) <= limit * 4 else text[:limit] + "…"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def duration(seconds: float) -> str:
    """`850ms`, `12s`, `3m 05s`, `2h 07m`, `3d 04h`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    whole = round(seconds)
    for unit, size, small, part in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size}{unit} {whole % size // part:02d}{small}"
    return f"{whole}s"


def clock(epoch: float) -> str:
    """A time (epoch seconds) as the local clock shows it, with the date unless it is today."""
    then = time.localtime(epoch)
    today = time.strftime("%F") == time.strftime("%F", then)
    return time.strftime("%H:%M:%S" if today else "%F %H:%M:%S", then)
