"""A Slurm of one node, in a directory of its own, as it comes in Debian's packages."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from conftest import PATIENCE, until

NEEDED = {"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "sbatch": "slurm-wlm", "munged": "munge"}
CPUS = 4  # as the node says; Slurm is told not to look


class Unavailable(Exception):
    """Why there is no Slurm here."""


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


class Slurm:
    """munged, slurmctld and slurmd; `sbatch` and `scancel` speak to them.  Raises Unavailable."""

    def __init__(self, path: Path) -> None:
        lacking = sorted({package for program, package in NEEDED.items() if shutil.which(program) is None})
        if lacking:
            raise Unavailable(f"a Slurm of one node needs the packages {' and '.join(lacking)}")
        if os.geteuid() != 0:
            raise Unavailable("a Slurm of one node needs root")
        self.path = path
        path.mkdir()
        conf = path / "slurm.conf"
        conf.write_text(self._configuration())
        self.env = {**os.environ, "SLURM_CONF": str(conf)}
        self._processes: list[subprocess.Popen[bytes]] = []
        (path / "key").write_bytes(os.urandom(128))
        (path / "key").chmod(0o600)
        munged = {"socket": "munge.sock", "key-file": "key", "pid-file": "munged.pid", "seed-file": "seed"}
        files = [f"--{option}={path / name}" for option, name in {**munged, "log-file": "munged.log"}.items()]
        self._start("munged", "--foreground", "--force", *files)
        until(lambda: (path / "munge.sock").exists(), "munged")
        self._start("slurmctld", "-D")
        self._start("slurmd", "-D")
        until(lambda: "idle" in self._say("sinfo", "-h", "-o", "%T"), "the node of Slurm")

    def _configuration(self) -> str:
        host, path = socket.gethostname().split(".")[0], self.path
        return f"""
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={_free_port()}
SlurmdPort={_free_port()}
SlurmUser=root
AuthInfo=socket={path}/munge.sock
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
StateSaveLocation={path}/state
SlurmdSpoolDir={path}/spool
SlurmctldPidFile={path}/slurmctld.pid
SlurmdPidFile={path}/slurmd.pid
SlurmctldLogFile={path}/slurmctld.log
SlurmdLogFile={path}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={CPUS} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""

    def _start(self, *words: str) -> None:
        with open(self.path / f"{words[0]}.out", "wb") as out:
            process = subprocess.Popen(words, env=self.env, stdout=out, stderr=out, start_new_session=True)
        self._processes.append(process)

    def _say(self, *words: str) -> str:
        return subprocess.run(words, env=self.env, cwd=self.path, capture_output=True, text=True).stdout

    def sbatch(self, *words: str, env: dict[str, str]) -> str:
        """The number of a new job, which inherits this environment."""
        told = subprocess.run(
            ["sbatch", "--parsable", *words], env={**env, **self.env}, cwd=self.path, capture_output=True, text=True
        )
        assert told.returncode == 0, told.stderr
        return told.stdout.strip()

    def scancel(self, job: str) -> None:
        self._say("scancel", job)

    def close(self) -> None:
        self._say("scancel", "--user=root")
        until(lambda: not self._say("squeue", "-h"), "the end of Slurm's jobs")
        for process in reversed(self._processes):
            process.terminate()
            process.wait(PATIENCE)
