"""Joining a cluster: may its scheduler be trusted, do both sides speak alike, does it keep its word.

All of it comes before anything is recorded.  Whoever reaches a scheduler's port runs
code there, so one that is neither on this machine nor behind TLS is refused.
"""

from __future__ import annotations

import ipaddress
import json
import os
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .command import Command
from .engine import Claim, EngineLost, Parcel, Reply
from .items import Item
from .job import Job
from .place import Place
from .program import Unusable
from .template import compile as compile_template

PATIENCE = 10.0  # seconds for each step of the test
SCHEMES = {"tcp", "tls"}
NO_EXTRA = "--engine dask needs Dask; pip install 'resumectl[dask]'"


class NotJoined(Exception):
    """Why a cluster can't be used, and the way out."""


@dataclass(frozen=True)
class Address:
    """Where a scheduler is, and what proves who is who."""

    url: str
    tls: tuple[str, str, str] | None = None  # the files of the CA, our certificate, our key

    @classmethod
    def parse(cls, given: str, tls: Sequence[str | None], *, insecure: bool = False) -> Address:
        """From an address or a scheduler file.  Raises NotJoined."""
        url = _from_file(given) if os.path.exists(given) else given
        url = url if "://" in url else f"tcp://{url}"
        scheme, host = urlsplit(url).scheme, urlsplit(url).hostname
        if scheme not in SCHEMES or not host:
            raise NotJoined(f"--scheduler {given} is neither tcp://HOST:PORT, tls://HOST:PORT nor a file that exists")
        if any(tls) and not all(tls):
            raise NotJoined("TLS needs all three of --tls-ca, --tls-cert and --tls-key")
        if (scheme == "tls") != all(tls):
            raise NotJoined("a tls:// scheduler needs --tls-ca, --tls-cert and --tls-key, and only that takes them")
        for path in tls:
            if path is not None and not os.access(path, os.R_OK):
                raise NotJoined(f"{path} can't be read; check --tls-ca, --tls-cert and --tls-key")
        if scheme == "tcp" and not insecure and not _loopback(host):
            raise NotJoined(
                f"{url} is not on this machine, and whoever reaches that port runs code there; "
                "use tls:// with --tls-ca, --tls-cert and --tls-key, or say --insecure-scheduler"
            )
        return cls(url, (str(tls[0]), str(tls[1]), str(tls[2])) if all(tls) else None)


def _from_file(path: str) -> str:
    try:
        return str(json.loads(Path(path).read_text())["address"])
    except (OSError, ValueError, KeyError, TypeError):
        raise NotJoined(f"{path} is no scheduler file; make it with dask scheduler --scheduler-file") from None


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Needs:
    """What the run will want of each worker."""

    program: bytes | None  # None: it depends on the item
    path: Mapping[bytes, bytes]  # PATH alone: Dask logs the arguments of a call that fails
    cwd: bytes


def join(address: Address, needs: Needs, say: Callable[[str], None]) -> Any:
    """An engine on that scheduler, after it has kept its word.

    Raises NotJoined, or Unusable where a worker lacks the program.
    """
    try:
        from distributed.security import Security

        from .dask import Dask, connect
    except ImportError:
        raise NotJoined(NO_EXTRA) from None
    security = None
    if address.tls is not None:
        ca, cert, key = address.tls
        security = Security(  # type: ignore[no-untyped-call]
            tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True
        )
    try:
        client = connect(address.url, security)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise NotJoined(f"no scheduler answers at {address.url} ({_first(error)}); check --scheduler") from None
    try:
        _compare_versions(client)
        try:
            engine = Dask.equip(client)
        except Exception as error:
            raise NotJoined(
                f"{_lacking(error)} on the scheduler or a worker; install the same resumectl there"
            ) from None
        _wait_for_workers(engine, address, say)
        _survey(engine, needs, say)
        Probe(engine, needs).test(say)
    except EngineLost as error:
        raise NotJoined(f"the scheduler at {address.url} stopped answering ({error}); look at its log") from None
    except BaseException:
        client.close(timeout=1)
        raise
    return engine


def _first(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


def _lacking(error: BaseException) -> str:
    return "resumectl can't be imported" if isinstance(error, ImportError) else f"resumectl fails ({_first(error)})"


def _compare_versions(client: Any) -> None:
    """Python and Dask must be the same on all sides: what travels is pickled."""
    found = client.get_versions()
    ours = _versions(found["client"])
    for who, theirs in [("the scheduler", found["scheduler"]), *found["workers"].items()]:
        for name, version in _versions(theirs or {}).items():
            if version != ours[name]:
                raise NotJoined(f"{who} has {name} {version}, here it is {ours[name]}; install the same on all sides")


def _versions(side: Mapping[str, Any]) -> dict[str, str]:
    python = str(side.get("host", {}).get("python", "of an unknown version"))
    return {
        "Python": ".".join(python.split(".")[:2]),
        "distributed": str(side.get("packages", {}).get("distributed", "of an unknown version")),
    }


def _wait_for_workers(engine: Any, address: Address, say: Callable[[str], None]) -> None:
    if not engine.slots:
        say(f"waiting for workers at {address.url}; Ctrl-C ends the wait")
    while not engine.slots:
        if not engine.alive:
            raise EngineLost("it went away")
        time.sleep(0.1)


def _survey(engine: Any, needs: Needs, say: Callable[[str], None]) -> None:
    """Ask each worker whether it has what the run wants."""
    from . import __version__
    from .worker import survey

    elsewhere = set()
    for worker, told in engine.on_workers(survey, needs.program, needs.path, needs.cwd).items():
        if not isinstance(told, dict):
            raise NotJoined(f"{_lacking(told)} on the worker {worker}; install the same resumectl there")
        if told["version"] != __version__:
            raise NotJoined(f"{worker} has resumectl {told['version']}, here it is {__version__}; install the same")
        if "unusable" in told:
            raise Unusable(f"on {told['host']}: {told['unusable']}", told["code"])
        if not told["cwd"]:
            elsewhere.add(told["host"])
    if engine.version != __version__:
        raise NotJoined(f"the scheduler has resumectl {engine.version}, here it is {__version__}; restart it with that")
    if elsewhere:
        where = ", ".join(sorted(elsewhere))
        say(f"{where}: no {os.fsdecode(needs.cwd)} there, so commands run in the worker's own directory")


class Probe:
    """A command that does nothing, handed out to see that claim, burn and kill behave."""

    def __init__(self, engine: Any, needs: Needs) -> None:
        self._engine = engine
        self._began: dict[str, Claim] = {}
        self._replies: dict[str, Reply | None] = {}
        self._news = threading.Condition()
        command = Command(compile_template([b"sleep", b"60", b"{}"]), needs.path, Place(Path("probe.jsonl")))
        self._command = pickle.dumps(command)

    def test(self, say: Callable[[str], None]) -> None:
        """Raises NotJoined if the cluster does not keep its word, EngineLost if it is gone."""
        from .worker import held

        engine, kept, burnt = self._engine, f"probe.{uuid.uuid4().hex}", f"probe.{uuid.uuid4().hex}"
        engine.listen(self)
        self._require(engine.burn([burnt]) == {burnt: None}, "burn")
        self._submit(burnt)
        self._submit(kept)
        self._wait_for_a_slot(kept, say)
        where = self._began[kept].worker
        self._require(not engine.claim(kept, where, "another"), "claim")
        self._require(engine.burn([kept])[kept] is not None, "burn")
        self._require(bool(self._ended(where, [kept], held, gone=False)), "begin")
        engine.release([kept])
        self._require(self._ended(where, [kept], held, gone=True), "kill")
        self._require(self._wait(lambda: burnt in self._replies) and burnt not in self._began, "claim")
        engine.forget([kept, burnt])

    def _wait_for_a_slot(self, name: str, say: Callable[[str], None]) -> None:
        """Another coordinator may have all slots; that is no fault, but a start that was not claimed is."""
        from .worker import held

        told = False
        while not self._wait(lambda: name in self._began or name in self._replies):
            self._require(self._engine.alive, "begin")
            self._require(not any(self._engine.on_workers(held, [name]).values()), "claim")
            if not told:
                say("no slot is free for a test of the cluster; waiting, Ctrl-C ends the wait")
            told = True
        self._require(name in self._began, "begin")

    def _submit(self, name: str) -> None:
        item: Item[Any] = Item(b"0", None, 1)
        job: Job[Any] = Job((item,), (item.id,), (1,), ("0" * 32,), uuid.uuid4().hex, 1, named=True)
        self._engine.submit([Parcel(name, job, self._command, 1 << 20)])

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise NotJoined(f"the cluster does not keep its word ({what}); restart its scheduler and its workers")

    def _wait(self, holds: Callable[[], bool]) -> bool:
        with self._news:
            return self._news.wait_for(holds, PATIENCE)

    def _ended(self, worker: str, names: Sequence[str], held: Any, *, gone: bool) -> bool:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if bool(self._engine.on_workers(held, names, workers=[worker]).get(worker)) is not gone:
                return True
            time.sleep(0.01)
        return False

    # Listener

    def _hear(self, change: Callable[[], object]) -> None:
        with self._news:
            change()
            self._news.notify_all()

    def began(self, attempt: str, claim: Claim) -> None:
        self._hear(lambda: self._began.update({attempt: claim}))

    def came(self, attempt: str, reply: Reply) -> None:
        self._hear(lambda: self._replies.update({attempt: reply}))

    def failed(self, attempt: str) -> None:
        self._hear(lambda: self._replies.update({attempt: None}))

    def lost(self, attempts: Sequence[str], claim: Claim) -> None:
        for attempt in attempts:
            self.failed(attempt)

    def room(self, slots: int) -> None:
        """Nothing."""
