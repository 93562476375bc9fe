"""The scripts that histories are made of: few items, each with its own kind of trouble."""

from __future__ import annotations

from crash_driver import Script

from resumectl.admission import CutOff
from resumectl.verdict import Kind

A, B, C, D, E = b"a", b"b", b"c", b"d", b"\xff" * 300  # the last id is long, and no UTF-8
F, X, L = Kind.FAILED, Kind.CUT_OFF, Kind.UNCHARGED

TINY = Script((A,))
SCRIPTS = {
    "one by one": Script((A, B, C), keep=True),
    "four at once": Script((A, B, C, D, E), jobs=4, seed=3, together=3, keep=True),
    "failures, a stop, a limit": Script((A, B, C), jobs=2, seed=1, fates={A: (F,), B: (X, F), C: (L,)}),
    "at most two attempts": Script((A, B), jobs=2, max_attempts=2, fates={A: (F, F, F)}),
    "one attempt": Script((A, B), max_attempts=1, fates={A: (F,)}),
    "what was cut off is held": Script((A, B, E), jobs=2, seed=2, cut_off=CutOff.HOLD, max_attempts=9),
    "in batches": Script((A, B, C, D), jobs=2, batch=2, seed=4, together=2, keep=True, fates={B: (F,), C: (L,)}),
    "batches that end well": Script((A, B, C, E), jobs=2, batch=2, seed=4, together=2, keep=True),
    "one large batch": Script((A, B, E), batch=3, keep=True, fates={B: (F,)}),
    "synced at barriers only": Script((A, B, C), jobs=2, sync="none"),
}
