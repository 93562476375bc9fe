"""Dask as an engine: our own adapter between attempts and Dask's tasks.

Dask's own executor is not used: it runs tasks twice without a word, and may leave a
future without an end.  Here each attempt is one task under its own key, followed by a
coroutine that always reports, whatever became of it.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import warnings
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future as Answer
from concurrent.futures import TimeoutError as Late
from typing import Any

from distributed import Client
from distributed.security import Security

from .claims import TOPIC, Claims, key_for
from .engine import Claim, EngineLost, Listener, Parcel
from .worker import Hands, attempt

PATIENCE = 10.0  # seconds for an answer of the scheduler


def connect(address: str, security: Security | None) -> Any:
    """A client of the scheduler.  Raises OSError if none answers.  Dask says nothing on our streams."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    logging.getLogger("tornado").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="distributed")
    return Client(  # type: ignore[no-untyped-call]
        address, security=security, timeout=PATIENCE, set_as_default=False, name="resumectl"
    )


class Dask:
    """An Engine on a connected client, whose scheduler has the claim ledger and whose workers have the hands."""

    def __init__(self, client: Any, state: Mapping[str, Any]) -> None:
        """`state` is what the claim ledger says of itself."""
        self.client: Any = client
        self.epoch, self.version = str(state["epoch"]), str(state["version"])
        self._slots = int(state["slots"])
        self._futures: dict[str, Any] = {}
        self._listener: Listener | None = None
        client.subscribe_topic(TOPIC, self._event)

    @classmethod
    def equip(cls, client: Any) -> Dask:
        """Give the scheduler its ledger and the workers their hands, unless they have them.

        Raises ImportError if resumectl is not there, OSError if nobody answers.
        """
        client.register_plugin(Claims())
        client.register_plugin(Hands())
        return cls(client, client.sync(client.scheduler.resumectl_state))

    def listen(self, listener: Listener) -> None:
        self._listener = listener
        listener.room(self._slots)

    @property
    def slots(self) -> int:
        return self._slots

    @property
    def alive(self) -> bool:
        comm = self.client.scheduler_comm
        return bool(self.client.status == "running" and comm is not None and not comm.comm.closed())

    def submit(self, parcels: Sequence[Parcel]) -> None:
        """One task of its own key for each; nobody ever submits that again."""
        if not self.alive:
            raise EngineLost("the scheduler was lost")
        try:
            keys = [key_for(parcel.attempt) for parcel in parcels]
            futures = self.client.map(attempt, parcels, key=keys, pure=False, retries=0)
        except Exception as error:
            raise EngineLost(str(error)) from error
        named = {parcel.attempt: future for parcel, future in zip(parcels, futures, strict=True)}
        self._futures |= named
        self._spawn(self._follow_all(named))

    async def _follow_all(self, futures: Mapping[str, Any]) -> None:
        await asyncio.gather(*[self._follow(name, future) for name, future in futures.items()])

    async def _follow(self, name: str, future: Any) -> None:
        """Always ends in a word to the listener, if there was none, and in a release."""
        try:
            await future._state.wait()
        except BaseException:  # cancelled
            pass
        future.release()
        if self._futures.pop(name, None) is not None and self._listener is not None:
            self._listener.failed(name)  # refused, killed with its worker, lost: the ledger knows more

    def burn(self, attempts: Sequence[str]) -> dict[str, Claim | None]:
        told = self._ask(lambda: self.client.scheduler.resumectl_burn(attempts=list(attempts)))
        return {name: Claim(**told[name]) if told[name] is not None else None for name in attempts}

    def forget(self, attempts: Sequence[str]) -> None:
        self._ask(lambda: self.client.scheduler.resumectl_forget(attempts=list(attempts)))

    def claim(self, attempt: str, worker: str, claim_id: str) -> bool:
        """A claim by another hand, to see that it is refused."""
        return bool(
            self._ask(
                lambda: self.client.scheduler.resumectl_claim(
                    attempt=attempt, worker=worker, host="", claim_id=claim_id
                )
            )
        )

    def release(self, attempts: Sequence[str]) -> None:
        for name in attempts:
            if (future := self._futures.pop(name, None)) is not None:
                future.release()

    def signal(self, attempts: Sequence[str], signum: int) -> None:
        message = {"op": "resumectl_signal", "attempts": list(attempts), "signum": signum}
        self._spawn(self.client.scheduler.broadcast(msg=message, on_error="ignore"))

    def on_workers(self, function: Callable[..., Any], *args: Any, workers: list[str] | None = None) -> dict[str, Any]:
        """What each worker answers; an exception where it can't.  Raises EngineLost."""
        try:
            found: dict[str, Any] = self.client.run(function, *args, workers=workers, on_error="return")
        except (OSError, TimeoutError) as error:
            raise EngineLost(str(error)) from error
        return found

    def close(self) -> None:
        """What nobody waits for any more is ended by the workers."""
        try:
            self.client.close(timeout=2)
        except Exception:  # the process ends anyway, and that closes it too
            pass

    def _ask(self, call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The scheduler's answer.  Raises EngineLost."""
        if not self.alive:
            raise EngineLost("the scheduler was lost")
        asked = self._spawn(call())
        try:
            return asked.result(PATIENCE)
        except (Exception, Late, asyncio.CancelledError) as error:
            asked.cancel()
            raise EngineLost(str(error)) from error

    def _spawn(self, call: Coroutine[Any, Any, Any]) -> Answer[Any]:
        return asyncio.run_coroutine_threadsafe(call, self.client.loop.asyncio_loop)

    def _event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """What the claim ledger has told, in the order in which it happened."""
        told = dict(event[1])
        if "slots" in told:
            self._slots = told["slots"]
        if self._listener is None:
            return
        if "slots" in told:
            self._listener.room(self._slots)
        elif (name := told.get("came")) is not None:
            if self._futures.pop(name, None) is not None:
                self._listener.came(name, pickle.loads(told["reply"]))
        elif (name := told.pop("began", None)) is not None:
            self._listener.began(name, Claim(**told))
        elif (lost := told.pop("lost", None)) is not None:
            self._listener.lost(lost, Claim(**told))
