"""What a Dask cluster does to a run when its scheduler, its network or its own rules fail."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE, Scratch, until
from farm import Farm, Hands, raises
from faults import patched, peak_memory

pytest.importorskip("distributed", reason="the extra resumectl[dask] is not installed")

from resumectl import joining
from resumectl.claims import key_for
from resumectl.command import Command
from resumectl.dask import Dask, connect
from resumectl.engine import Parcel
from resumectl.items import Item
from resumectl.job import Job
from resumectl.joining import Address, Needs, NotJoined, Probe
from resumectl.place import Place
from resumectl.template import compile as compile_template
from resumectl.worker import attempt

cloudpickle = pytest.importorskip("cloudpickle")
pytestmark = pytest.mark.slow  # clusters of their own, one a test
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers don't have the tests
PATH = {b"PATH": os.environb[b"PATH"]}


@pytest.fixture
def engine(farm: Farm) -> Iterator[Dask]:
    farm.workers(2)
    engine = Dask.equip(connect(farm.address, None))
    until(lambda: engine.slots == 2)
    yield engine
    engine.close()


def always(dask_worker: Any = None) -> None:
    """Runs on a worker: from now on it never asks whether it may begin."""
    dask_worker.plugins["resumectl-hands"]._claim = lambda attempt: True


def never_kill(dask_worker: Any = None) -> None:
    """Runs on a worker: from now on it never ends what nobody waits for."""
    dask_worker.plugins["resumectl-hands"].transition = lambda *_, **__: None


def parcel(log: Path, seconds: float) -> Parcel:
    import pickle

    script = f'echo "start $1" >>{log}; sleep {seconds}; echo "end $1" >>{log}'.encode()
    command = Command(compile_template([b"sh", b"-c", script, b"_", b"{}"]), PATH, Place(log.with_name("j.jsonl")))
    job: Job[Any] = Job((Item(b"x", None, 1),), (b"x",), (1,), ("0" * 32,), os.urandom(4).hex(), 1, named=True)
    return Parcel(job.name, job, pickle.dumps(command), 1 << 20)


def lose_its_result(engine: Dask, farm: Farm, log: Path) -> None:
    """Run one attempt, hold its future, and kill the worker that has the result."""
    one = parcel(log, 0)
    future = engine.client.submit(attempt, one, key=key_for(one.attempt), pure=False, retries=0)
    until(lambda: future.status == "finished")
    (where,) = engine.client.who_has([future])[key_for(one.attempt)]
    farm.end(farm.of(engine.client.run(os.getpid, workers=[where])[where]), signal.SIGKILL)
    future.result(20)
    future.release()


def retire_its_worker(engine: Dask, farm: Farm, log: Path) -> None:
    """Retire the worker that runs an attempt; Dask starts it anew on another one."""
    one = parcel(log, 2)
    future = engine.client.submit(attempt, one, key=key_for(one.attempt), pure=False, retries=0)
    until(lambda: log.exists())
    (where,) = [name for name, keys in engine.client.processing().items() if key_for(one.attempt) in keys]
    process = farm.of(engine.client.run(os.getpid, workers=[where])[where])
    engine.client.retire_workers([where])
    future.result(20)
    future.release()
    process.wait(PATIENCE)


@pytest.mark.parametrize("trouble", [lose_its_result, retire_its_worker])
def test_dask_runs_it_again_and_the_ledger_does_not_let_it(
    trouble: Callable[[Dask, Farm, Path], None], engine: Dask, farm: Farm, tmp_path: Path
) -> None:
    """The control is in it: with the ledger off the same trouble gives two starts, so the test can see them."""
    trouble(engine, farm, tmp_path / "on")
    assert (tmp_path / "on").read_text().count("start") == 1
    farm.workers(2)
    until(lambda: engine.slots == 2)
    engine.on_workers(always)
    trouble(engine, farm, tmp_path / "off")
    assert (tmp_path / "off").read_text().count("start") == 2
    farm.workers(0)  # they are not what they should be


@pytest.mark.parametrize(("fault", "word"), [(always, "claim"), (never_kill, "kill")])
def test_a_cluster_that_does_not_keep_its_word_is_refused(
    fault: Callable[..., None], word: str, engine: Dask, farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "PATIENCE", 1.0)
    probe = Probe(engine, Needs(b"sh", PATH, b"/"))
    engine.on_workers(fault)
    assert f"keep its word ({word})" in raises(lambda: probe.test(print), NotJoined)
    farm.workers(0)


def test_a_worker_with_another_resumectl_is_refused_before_anything_is_recorded(scratch: Scratch, farm: Farm) -> None:
    farm.workers(0)
    other = patched(scratch, "import resumectl; resumectl.__version__ = '9.9'")
    odd = farm.worker(env=other)
    farm.there(odd)
    hands = Hands(scratch, farm)
    hands.items(1)
    ended = hands.run()
    farm.end(odd)
    assert ended.code == 2 and "has resumectl 9.9" in ended.err and not (scratch.path / ".resumectl").exists()


def test_a_scheduler_without_resumectl_is_refused_in_plain_words(scratch: Scratch, tmp_path: Path) -> None:
    hidden = patched(
        scratch,
        "import sys\nclass No:\n def find_spec(self, name, *_):\n"
        "  if name.startswith('resumectl'): raise ModuleNotFoundError(name)\nsys.meta_path.insert(0, No())",
    )
    farm = Farm(tmp_path / "bare", env=hidden)
    try:
        hands = Hands(scratch, farm)
        hands.items(1)
        ended = hands.run()
        assert ended.code == 2 and "resumectl can't be imported" in ended.err
    finally:
        farm.close()


def test_another_scheduler_at_the_same_port_knows_nothing_so_nothing_is_called_released(
    scratch: Scratch, tmp_path: Path
) -> None:
    """A naive question would say "never began" of what had begun: a new ledger is empty."""
    farm = Farm(tmp_path / "one")
    farm.workers(1)
    hands = Hands(scratch, farm, 30)
    hands.items(4)
    run = hands.start()
    until(lambda: hands.count("start"))
    port = farm.address.rpartition(":")[2]
    farm.end(farm.scheduler, signal.SIGKILL)
    assert run.wait(PATIENCE) == 3 and "the scheduler was lost" in hands.err
    hands.gone()
    scratch.journal().write_bytes(b"".join(_before_the_end(scratch.journal())))  # as if it had been killed too
    again = Farm(tmp_path / "two", port=int(port))
    try:
        again.workers(1)
        scratch.env["SECONDS_EACH"] = "0"
        assert Hands(scratch, again).run().code == 0
    finally:
        farm.close()
        again.close()
    cut = scratch.records("sh", "cut_off")
    assert len(cut) == 3 and all("unknown" in record["text"] for record in cut)
    assert not scratch.records("sh", "uncharged")


def _before_the_end(journal: Path) -> list[bytes]:
    lines = journal.read_bytes().splitlines(keepends=True)
    return [line for line in lines if not line.startswith((b'{"t":"cut_off"', b'{"t":"end"'))]


def test_a_frozen_worker_is_given_up_and_what_it_had_is_killed_when_it_thaws(scratch: Scratch, tmp_path: Path) -> None:
    farm = Farm(tmp_path / "ttl", env={"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "2s"})
    try:
        frozen, _ = farm.workers(2)
        hands = Hands(scratch, farm, 0)
        scratch.env["SECONDS_EACH"] = "20"
        hands.items(2)
        run = hands.start("--timeout", "4")
        until(lambda: hands.count("start") == 2)
        os.kill(frozen.pid, signal.SIGSTOP)
        until(lambda: scratch.records("sh", "cut_off"))
        os.kill(frozen.pid, signal.SIGCONT)
        run.wait(PATIENCE)
        hands.gone()
        assert hands.count("start") == 2 and hands.count("end") == 0
        assert [record["why"] for record in scratch.records("sh", "cut_off")] == ["worker"]
    finally:
        farm.close()


def test_mutual_tls_lets_the_right_certificate_in_and_no_other(scratch: Scratch, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    ours, theirs = authority(tmp_path / "ours"), authority(tmp_path / "theirs")
    files = [f"--tls-ca-file={ours}/ca.pem", f"--tls-cert={ours}/cert.pem", f"--tls-key={ours}/key.pem"]
    farm = Farm(tmp_path / "tls", "--protocol", "tls", *files)
    try:
        farm.workers(1)
        hands = Hands(scratch, farm)
        hands.items(2)
        wrong = hands.run(
            "--tls-ca", f"{ours}/ca.pem", "--tls-cert", f"{theirs}/cert.pem", "--tls-key", f"{theirs}/key.pem"
        )
        assert wrong.code == 2 and "no scheduler answers" in wrong.err
        assert hands.run().code == 2
        right = hands.run(
            "--tls-ca", f"{ours}/ca.pem", "--tls-cert", f"{ours}/cert.pem", "--tls-key", f"{ours}/key.pem"
        )
        assert right.code == 0, right.err
    finally:
        farm.close()


def authority(where: Path) -> Path:
    """A certificate authority, and one certificate that it has signed."""
    where.mkdir()
    new = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split()
    calls = [
        [*new, "-x509", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem"],
        [*new, "-subj", "/CN=resumectl", "-keyout", "key.pem", "-out", "csr.pem"],
        "openssl x509 -req -in csr.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out cert.pem".split(),
    ]
    for call in calls:
        subprocess.run(call, cwd=where, check=True, capture_output=True)
    return where


@pytest.mark.parametrize(
    ("given", "tls", "words"),
    [
        ("tcp://10.1.2.3:8786", (None,) * 3, "--insecure-scheduler"),
        ("10.1.2.3:8786", (None,) * 3, "not on this machine"),
        ("tls://10.1.2.3:8786", (None,) * 3, "needs --tls-ca"),
        ("tls://10.1.2.3:8786", ("ca", None, None), "needs all three"),
        ("tcp://127.0.0.1:1", ("/dev/null",) * 3, "only that takes them"),
        ("inproc://1", (None,) * 3, "neither"),
        ("/no/such/file", (None,) * 3, "neither"),
        ("/dev/null", (None,) * 3, "no scheduler file"),
    ],
)
def test_an_address_that_must_not_be_used_is_refused(given: str, tls: tuple[Any, ...], words: str) -> None:
    assert words in raises(lambda: Address.parse(given, tls), NotJoined)


def test_loopback_needs_no_word_and_an_insecure_one_does() -> None:
    none = (None, None, None)
    assert Address.parse("127.0.0.1:8786", none).url == "tcp://127.0.0.1:8786"
    assert Address.parse("tcp://[::1]:8786", none) and Address.parse("localhost:1", none)
    assert Address.parse("tcp://10.1.2.3:8786", none, insecure=True).url == "tcp://10.1.2.3:8786"


def test_a_scheduler_that_is_not_there_and_a_missing_extra_exit_2(scratch: Scratch) -> None:
    scratch.items("a")
    words = ("run", "--engine", "dask", "--scheduler", "127.0.0.1:1", "--items", "i", "true")
    monkey = patched(scratch, "import sys; sys.modules['distributed'] = None")
    missing = scratch.run(*words, env=monkey)
    assert (missing.code, missing.err.count("\n")) == (2, 1) and "resumectl[dask]" in missing.err
    assert scratch.run("run", "--engine", "dask", "--items", "i", "true").code == 2
    assert scratch.run("run", "--scheduler", "127.0.0.1:1", "--items", "i", "true").code == 2


def test_five_thousand_small_items_leave_the_coordinator_no_larger(scratch: Scratch, farm: Farm) -> None:
    """What has ended is forgotten on both sides: memory is the window's, not the list's (MiB)."""
    farm.workers(2)
    hands = Hands(scratch, farm)
    hands.items(5000)
    run = hands.start("--job", "sh", command=("true", "{}"))
    until(lambda: scratch.journal().exists() and scratch.counts()["done"] > 500)
    early, scheduler = peak_memory(run.pid), peak_memory(farm.scheduler.pid)
    for done in range(1000, 5000, 500):  # each step has the patience of a wait
        until(lambda done=done: scratch.counts()["done"] > done or run.poll() is not None)  # type: ignore[misc]
    late = peak_memory(run.pid)
    assert run.wait(200) == 0 and scratch.has(done=5000) and late < early + 20
    assert early and peak_memory(farm.scheduler.pid) - scheduler < 30
