"""Option types that several commands share."""

from __future__ import annotations

import math
import os
import re
from enum import StrEnum

import typer

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Sync(StrEnum):
    """When the journal is synced."""

    FULL = "full"
    NONE = "none"


class FormatName(StrEnum):
    """How a list is written."""

    LINES = "lines"
    JSONL = "jsonl"
    CSV = "csv"
    TSV = "tsv"


class StdinName(StrEnum):
    """What a command reads on its standard input."""

    ITEM = "item"
    ITEMS = "items"


class BatchResults(StrEnum):
    """How the items of a batch are judged."""

    EXIT = "exit"
    REPORT = "report"
    STDOUT = "stdout"


class OnOrphans(StrEnum):
    """What to do about commands of a killed run that still live."""

    WAIT = "wait"
    KILL = "kill"
    IGNORE = "ignore"


class EngineName(StrEnum):
    """Where the commands run."""

    LOCAL = "local"
    DASK = "dask"


class Progress(StrEnum):
    """How progress is shown."""

    AUTO = "auto"
    BAR = "bar"
    PLAIN = "plain"
    NONE = "none"


def seconds(text: str) -> float:
    """A duration such as `30s`, `5m`, `1h30m`, `250ms`, or a bare number of seconds."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise typer.BadParameter(f"{text!r} is no duration; write 30s, 5m, 1h30m or 250ms")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


class OnLimit(StrEnum):
    """What to do at a usage limit."""

    STOP = "stop"
    WAIT = "wait"


def interval(text: str) -> float:
    """The seconds between two starts for a rate such as `30/m`, `2/s`, `100/h`; a bare number is per second."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(?:/(s|m|h|d))?", text)
    if match is None or not float(match[1]):
        raise typer.BadParameter(f"{text!r} is no rate; write 30/m, 2/s or 100/h")
    return _UNITS[match[2] or "s"] / float(match[1])


def size(text: str) -> int:
    """A number of bytes such as `16MiB`, `500K`, `2g`: units of 1024."""
    match = re.fullmatch(r"(\d+)([kmg]?)(?:i?b)?", text.lower())
    if match is None:
        raise typer.BadParameter(f"{text!r} is no size; write 500K, 16MiB or 1G")
    return int(match[1]) << 10 * " kmg".index(match[2] or " ")


def amount(text: str) -> float:
    """What something may cost: a number that is not negative, and not endless."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise typer.BadParameter(f"{text!r} is no amount; write a number such as 2.50")
    return number


def slots(jobs: int | None) -> int:
    """How many slots `-j` asks for, one if it was not given; 0 is one for each core that we may use."""
    if jobs != 0:
        return jobs or 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1
