"""Make any per-item shell command, or Python handler, resumable.

`process_batches` is the loop of `resumectl run` for a handler of one's own; a journal
that either has written is read by `read_journal` and `read_results`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .batches import Progress, Summary, process_batches
    from .lines import JournalError
    from .reading import JournalEntry, read_journal, read_results, reset

__all__ = [
    "JournalEntry",
    "JournalError",
    "Progress",
    "Summary",
    "process_batches",
    "read_journal",
    "read_results",
    "reset",
]

_HOMES = {
    "JournalEntry": "reading",
    "JournalError": "lines",
    "Progress": "batches",
    "Summary": "batches",
    "process_batches": "batches",
    "read_journal": "reading",
    "read_results": "reading",
    "reset": "reading",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the command line needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
