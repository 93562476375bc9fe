"""Makes each step on a database an operation that a diskspy.Spy counts, so that a process can die there too."""

from __future__ import annotations

from typing import Any

from diskspy import Spy
from sqlalchemy import Engine, event


class DatabaseSpy(Spy):
    """Besides the operations of Disk: each statement (`select`, `update`), before it and after it, each commit."""

    def install(self) -> None:
        super().install()
        event.listen(Engine, "before_cursor_execute", self._statement)
        event.listen(Engine, "after_cursor_execute", self._statement)
        event.listen(Engine, "commit", lambda connection: self._step("commit"))

    def _statement(self, connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        self._step(statement.split(None, 1)[0].lower())

    def _step(self, name: str) -> None:
        if next(self._count) == self.at:
            self._die()
        self._note(name, ("",), "")
