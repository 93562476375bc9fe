"""A PostgreSQL of the tests' own: on loopback, in a directory that goes away with it, never a system's cluster."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

PASSWORD = "p@ss/w:rd"
QUOTED = "p%40ss%2Fw%3Ard"
QUICK = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_wal_size=256MB -c shared_buffers=16MB"


class Unavailable(Exception):
    """Why there can't be a server here."""


def programs() -> Path:
    """Where initdb and pg_ctl are.  Raises Unavailable."""
    on_path = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found and on_path is None:
        raise Unavailable("PostgreSQL is not installed")
    return (found[-1] if found else Path(str(on_path))).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """One cluster.  It refuses to run as root, so root hands it to the user `postgres`."""

    def __init__(self) -> None:
        self._programs = programs()
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            try:
                entry = pwd.getpwnam("postgres")
            except KeyError:
                raise Unavailable("there is no user postgres to run it as") from None
            self._user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.path = Path(tempfile.mkdtemp(prefix="resumectl-pg-"))
        if self._user:
            os.chown(self.path, self._user["user"], self._user["group"])
        self.port = free_port()
        self._tables = count(1)
        secret = self.path / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._call("initdb", "-D", "data", "-U", "me", "-A", "scram-sha-256", f"--pwfile={secret}", "-N", "-E", "UTF8")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://me:{QUOTED}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self.path} {QUICK}"
        self._call("pg_ctl", "-D", "data", "-l", "log", "-w", "-t", "30", "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        self._call("pg_ctl", "-D", "data", "-m", how, "-w", "stop")

    def _call(self, program: str, *words: str) -> None:
        ended = subprocess.run(
            [self._programs / program, *words], cwd=self.path, capture_output=True, text=True, **self._user,
            stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(self.path)},
        )
        if ended.returncode:
            raise Unavailable(f"{program} failed: {ended.stderr or ended.stdout}")

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement and commit it; the rows that it gives."""
        import psycopg

        dsn = {"host": "127.0.0.1", "port": self.port, "user": "me", "password": PASSWORD, "dbname": "postgres"}
        with psycopg.connect(**dsn) as connection:  # type: ignore[arg-type]
            found = connection.execute(sql, values or None)  # type: ignore[call-overload]
            return found.fetchall() if found.description is not None else []

    def name(self) -> str:
        """A table's name that is not taken."""
        return f"t{next(self._tables)}"

    def close(self) -> None:
        try:
            self.stop()
        except Unavailable:
            pass  # a test has stopped it
        shutil.rmtree(self.path, ignore_errors=True)
