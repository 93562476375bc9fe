"""What a signal asks of a run: let what runs end, tell it to go, or kill it."""

from __future__ import annotations

import signal
import time
from typing import Any

from .job import Crew, Show
from .pacing import Pacing


class Interrupts:
    """The first Ctrl-C lets what runs end; the second, or a TERM or HUP, sends the signal on; the third kills.

    `signal` is the number of the first one, by which the run will end.
    """

    def __init__(self, crew: Crew, pacing: Pacing[Any], show: Show, grace: float) -> None:
        """`grace` is the time in seconds from telling the commands to go to killing them."""
        self._crew, self._pacing, self._show, self._grace = crew, pacing, show, grace
        self.signal: int | None = None
        self._count = 0
        self._kill_at: float | None = None

    def got(self, number: int) -> None:
        """A signal has come."""
        self.signal = self.signal or number
        self._pacing.halt(self.name())
        self._count += 1 if number == signal.SIGINT else 2
        if self._count == 1:
            self._announce()
        elif self._count >= 3 and self._kill_at is not None and number == signal.SIGINT:
            self._kill()
        else:
            self._kill_at = self._kill_at or time.monotonic() + self._grace
            self._crew.stop(number)

    def name(self) -> str:
        """The signal in the journal's words: `sigint`, `sigterm`, `sighup`."""
        return signal.Signals(self.signal or 0).name.lower()

    def _announce(self) -> None:
        if count := self._pacing.running:
            them = "it" if count == 1 else "them"
            self._show.say(f"interrupted: {count} running, waiting for {them}; Ctrl-C again stops {them}")

    def _kill(self) -> None:
        self._kill_at = None
        self._crew.stop(signal.SIGKILL)

    def patience(self, most: float) -> float:
        """How long the main thread may wait, in seconds, at most `most`."""
        return most if self._kill_at is None else min(most, max(0.0, self._kill_at - time.monotonic()))

    def tick(self) -> None:
        """Kill what has outlived the grace."""
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._kill()
