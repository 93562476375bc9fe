"""When a service says that it will serve again: four ways to say it, tried in this order.

    epoch     usage limit reached|1766502000      "resets_at":1777936568 (seconds; 13 digits are milliseconds)
    seconds   "resets_in_seconds":13872           retry-after: 30
    duration  try again in 2 days 17 hours        reset after 2h52m39s
    clock     resets 1pm (Europe/Lisbon)          try again at Dec 29th, 2025 10:15 PM

The wordings were collected from public reports about claude, codex and gemini. They are what a person is told, so a
time may be stale: services were seen to repeat a limit for 10 to 33 minutes after the reset they had named.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from typing import Any

STALE = 3600.0  # seconds for which a clock time without a date still means the one that has just passed

_I = re.IGNORECASE
_EPOCH = re.compile(r"(?:usage limit reached\||\"?resets_?at\"?\s*[:=]\s*\"?)(\d{10})(\d{3})?(?!\d)", _I)
_SECONDS = re.compile(r"(?:resets?_in_seconds|retry[-_]after)\"?\s*[:=]\s*\"?(\d{1,9}(?:\.\d+)?)(?!\d)", _I)
_AMOUNT = r"\d{1,9}(?:\.\d+)?\s*(?:weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|ms|m|seconds?|secs?|s)(?![a-z])"
_DURATION = re.compile(rf"(?:resets?|try again|retry|wait)\s+(?:in|after|for)\s+((?:{_AMOUNT}[\s,]*(?:and\s+)?)+)", _I)
_EACH = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", _I)
_UNITS = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_CLOCK = re.compile(
    r"(?:resets?|try again)\s+(?:(?:at|on)\s+)?"
    rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<year>\d{4}))?,?\s+(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::\d{2})?\s*(?P<half>[ap])\.?m\b\.?"
    r"(?:\s*\((?P<zone>[^)]*)\)|\s+(?P<bare>(?-i:[A-Z]{2,5}))\b)?",
    _I,
)


def reset_time(text: str, now: float, tz: tzinfo | None = None) -> tuple[float | None, str]:
    """The time named in the text, in epoch seconds, and how it was said; (None, "none") if none was understood.

    A clock time is the next such time in the zone that the text names, else in `tz` (None: this machine's zone), but
    one that passed within STALE is meant as that: the next would be a day off. So the answer may lie before `now`.
    A date without a year takes the year that brings it nearest. An unknown zone, or no zone data: none.
    """
    if match := _EPOCH.search(text):
        return int(match[1]) + int(match[2] or 0) / 1000, "epoch"
    if match := _SECONDS.search(text):
        return now + float(match[1]), "seconds"
    if match := _DURATION.search(text):
        return now + _seconds(match[1]), "duration"
    match = _CLOCK.search(text)
    at = _clock(match.groupdict(), now, tz) if match else None
    return (None, "none") if at is None else (at, "clock")


def _seconds(text: str) -> float:
    amounts = _EACH.findall(text.lower().replace("and", " "))
    return sum(float(amount) * (0.001 if unit == "ms" else _UNITS[unit[0]]) for amount, unit in amounts)


def _clock(said: dict[str, Any], now: float, tz: tzinfo | None) -> float | None:
    name = said["zone"] or said["bare"]
    zone = _zone(name.strip()) if name else tz
    hour, minute = int(said["hour"]), int(said["minute"] or 0)
    if (name and zone is None) or not 1 <= hour <= 12 or minute > 59:
        return None
    hour = hour % 12 + (12 if said["half"].lower() == "p" else 0)
    today = datetime.fromtimestamp(now, zone)
    if said["month"]:
        return _dated(said, today, hour, minute, now)
    days = (today + timedelta(days=n) for n in (-1, 0, 1, 2))
    times = (day.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0).timestamp() for day in days)
    return next(time for time in times if time > now - STALE)


def _dated(said: dict[str, Any], today: datetime, hour: int, minute: int, now: float) -> float | None:
    years = [int(said["year"])] if said["year"] else [today.year + n for n in (-1, 0, 1)]
    month, day = _MONTHS.index(said["month"].lower()) + 1, int(said["day"])
    times = []
    for year in years:
        try:
            times.append(datetime(year, month, day, hour, minute, tzinfo=today.tzinfo).timestamp())
        except (ValueError, OverflowError):  # 29 February of another year, 31 June of any
            continue
    return min(times, key=lambda time: abs(time - now), default=None)


def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo  # only a limit ever needs it

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; not a name at all; a folder of zones
        return None
