"""What stands in a table's cells: a key that names an item, and the time at which it was done.  Knows no SQL."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from .records import stamp

Clock = Callable[[], Any]


class BadKey(ValueError):
    """A key that can't name an item."""


def id_of(key: Any) -> bytes:
    """The id that a key stands for: text, bytes, a whole number or a UUID.  Raises BadKey."""
    if isinstance(key, int) and not isinstance(key, bool):
        return b"%d" % key
    id = key if isinstance(key, bytes) else b""
    if isinstance(key, str | uuid.UUID):
        id = str(key).encode("utf-8", "surrogateescape")
    if id:
        return id
    what = "empty" if key in ("", b"") else "NULL" if key is None else f"of the type {type(key).__name__}"
    raise BadKey(f"a key is {what}; it must be text, a whole number, bytes or a UUID")


def plain(value: Any) -> Any:
    """A value as a template takes it."""
    return bytes(value) if isinstance(value, memoryview) else value


def clock(python: type | None, aware: bool) -> Clock | None:
    """What gives the present time in UTC for a column of this Python type (None: undeclared): a time, a date,
    seconds since 1970, or text; None where the column can't hold any of these.  `aware`: with a time zone.
    """
    clocks: dict[type | None, Clock] = {
        datetime: lambda: datetime.now(UTC).replace(tzinfo=UTC if aware else None),
        date: lambda: datetime.now(UTC).date(),
        str: stamp,
        None: stamp,
        int: lambda: int(time.time()),
        float: time.time,
        Decimal: lambda: Decimal(f"{time.time():.3f}"),
    }
    return clocks.get(python)
