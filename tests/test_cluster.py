"""Every row of the journal table: what a crew on other machines records, on an engine that does as it is told."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from pathlib import Path

from conftest import PATIENCE, until
from handing import HERE, FakeEngine, Handing, crew_on, ends, reply, stays, waits

from resumectl.admission import CutOff
from resumectl.engine import Parcel, window
from resumectl.files import FileTemplate
from resumectl.items import Item
from resumectl.job import Job
from resumectl.policy import Policy
from resumectl.throttle import Rhythm
from resumectl.verdict import Kind, Verdict


def test_a_start_is_durable_before_it_is_handed_out_and_its_end_before_it_is_forgotten(tmp_path: Path) -> None:
    """The fake engine looks into the journal at each `submit` and each `forget`."""
    handing = Handing(tmp_path)
    handing.run("a", "b")
    assert handing.story("a") == ["started", "began", "done"]
    names = [attempt for _, attempt in handing.engine.submitted]
    assert [line["att"] for line in handing.engine.lines("started")] == names and len(set(names)) == 2


def test_who_began_it_and_where_it_ran_are_in_the_journal(tmp_path: Path) -> None:
    handing = Handing(tmp_path)
    handing.run("a")
    (began,), (done,) = handing.engine.lines("began"), handing.engine.lines("done")
    assert (began["worker"], began["host"], done["host"]) == (HERE.worker, "node7", "node7")


def test_what_was_given_up_after_it_began_is_cut_off_and_does_not_run_again_in_this_run(tmp_path: Path) -> None:
    def gives_up(engine: FakeEngine, item: str, attempt: str) -> None:
        engine.begin(attempt)
        engine.listener.failed(attempt)

    handing = Handing(tmp_path, a=[gives_up])
    handing.run("a", "b")
    assert handing.story("a") == ["started", "began", "cut_off worker"]
    assert handing.story("b")[-1] == "done" and handing.loop.why() == "exhausted"
    (line,) = handing.engine.lines("cut_off")
    assert (line["host"], line["worker"]) == ("node7", HERE.worker) and "began" in line


def test_what_was_given_up_before_it_began_is_released_and_runs_under_another_name(tmp_path: Path) -> None:
    handing = Handing(tmp_path, a=[lambda engine, item, attempt: engine.listener.failed(attempt)])
    handing.run("a")
    assert handing.story("a") == ["started", "uncharged released", "started", "began", "done"]
    assert len({attempt for _, attempt in handing.engine.submitted}) == 2 and handing.loop.why() == "complete"


def test_a_refused_claim_is_settled_by_the_ledger_and_never_by_the_refusal(tmp_path: Path) -> None:
    """The refused one may be the second of two workers, while the first had begun it."""

    def refuses(engine: FakeEngine, item: str, attempt: str) -> None:
        if item == "a":
            engine.begin(attempt)
        engine.listener.came(attempt, reply(None, refused="not claimed"))  # type: ignore[arg-type]

    handing = Handing(tmp_path, a=[refuses], b=[refuses])
    handing.run("a", "b")
    assert handing.story("a")[-1] == "cut_off worker"
    assert handing.story("b")[1] == "uncharged released" and handing.story("b")[-1] == "done"


def test_a_lost_worker_cuts_off_what_it_had_begun_at_once(tmp_path: Path) -> None:
    def lost(engine: FakeEngine, item: str, attempt: str) -> None:
        engine.begin(attempt)
        engine.listener.lost([attempt], HERE)
        engine.listener.came(attempt, reply())  # too late: it has ended once

    handing = Handing(tmp_path, a=[lost])
    handing.run("a")
    assert handing.story("a") == ["started", "began", "cut_off worker"]


def test_a_lost_scheduler_leaves_everything_unknown_and_stops_the_run(tmp_path: Path) -> None:
    """Nobody can prove that `b` never began, so it is not said."""

    def dies(engine: FakeEngine, item: str, attempt: str) -> None:
        engine.alive = False

    handing = Handing(tmp_path, slots=1, a=[stays], b=[waits], c=[dies])
    handing.run("a", "b", "c", "d")
    assert {handing.story(item)[-1] for item in "abc"} == {"cut_off worker"} and not handing.story("d")
    assert handing.loop.why() == "vanished" and "scheduler was lost" in handing.loop.pacing.text


def test_the_first_interrupt_takes_back_what_has_not_begun_and_lets_the_rest_end(tmp_path: Path) -> None:
    handing = Handing(tmp_path, a=[stays], b=[waits])

    def after() -> None:
        handing.send(signal.SIGINT)()
        while "uncharged released" not in handing.story("b"):
            pass
        handing.engine.listener.came(handing.engine.submitted[0][1], reply())

    handing.run("a", "b", after=after)
    assert handing.story("a")[-1] == "done" and handing.story("b") == ["started", "uncharged released"]
    assert handing.loop.why() == "sigint"


def test_the_second_interrupt_reaches_the_commands(tmp_path: Path) -> None:
    handing = Handing(tmp_path, a=[stays], b=[waits])
    handing.run("a", "b", after=handing.send(signal.SIGINT, signal.SIGINT))
    assert handing.engine.signals == [signal.SIGINT]
    assert handing.story("a")[-1] == "cut_off sigint" and handing.story("b")[-1] == "uncharged released"


def test_what_does_not_answer_even_a_kill_is_given_up(tmp_path: Path, monkeypatch) -> None:
    """A frozen machine must not hold the run for ever; its item may still run, and is cut off."""
    monkeypatch.setattr("resumectl.cluster.DEAF", 0.1)
    handing = Handing(tmp_path, a=[stays])
    handing.engine.signal = lambda attempts, signum: handing.engine.signals.append(signum)  # type: ignore[method-assign]
    handing.run("a", after=handing.send(signal.SIGTERM))
    assert handing.engine.signals == [signal.SIGTERM, signal.SIGKILL] and handing.story("a")[-1] == "cut_off worker"


def test_a_limit_takes_back_what_has_not_begun(tmp_path: Path) -> None:
    limit = Verdict(Kind.UNCHARGED, "limit", "too many requests")
    handing = Handing(tmp_path, a=[ends(limit)], b=[waits])
    handing.run("a", "b", policy=Policy(rhythm=Rhythm(wait=False)))
    assert handing.story("b") == ["started", "uncharged released"] and handing.loop.why() == "limit"


def test_workers_that_begin_nothing_stop_the_run(tmp_path: Path) -> None:
    """A worker that can't even unpack what it is given must not be fed for ever."""
    handing = Handing(tmp_path, a=[lambda engine, item, attempt: engine.listener.failed(attempt)] * 100)
    handing.run("a")
    assert handing.loop.why() == "vanished" and len(handing.engine.submitted) < 30


def test_released_attempts_cost_nothing_and_count_nowhere(tmp_path: Path) -> None:
    handing = Handing(tmp_path, a=[lambda engine, item, attempt: engine.listener.failed(attempt)])
    handing.run("a", policy=Policy(max_items=1))
    standing = handing.loop.run.ledger.standing(b"a")
    assert (standing.charged, handing.loop.run.ledger.figures.spending.unknown) == (0, 1) and handing.loop.why() == "complete"


def test_a_resumed_coordinator_settles_what_is_open_by_the_ledger(tmp_path: Path) -> None:
    """The first run dies with three handed out: one had begun, one never, of one nothing is known."""
    dead(tmp_path)
    handing = Handing(tmp_path)
    told = {"a": (Kind.CUT_OFF, HERE.facts()), "b": (Kind.UNCHARGED, {"why": "released"})}
    names = {line["att"]: line["id"] for line in handing.engine.lines("started")}
    handing.run(
        "a", "b", "c", settle=lambda attempts: {name: told[names[name]] for name in attempts if names[name] in told}
    )
    assert handing.story("a")[:3] == ["started", "began", "cut_off crash"]
    assert handing.story("b")[:2] == ["started", "uncharged released"]
    (known, unknown) = handing.engine.lines("cut_off")
    assert known["host"] == "node7" and "unknown" in unknown["text"]
    assert all(handing.story(item)[-1] == "done" for item in "abc")


def test_hold_holds_what_began_and_not_what_was_released(tmp_path: Path) -> None:
    dead(tmp_path)
    handing = Handing(tmp_path)
    names = {line["att"]: line["id"] for line in handing.engine.lines("started")}
    free = (Kind.UNCHARGED, {"why": "released"})
    handing.run(
        "a", "b", "c", cut_off=CutOff.HOLD, settle=lambda told: {name: free for name in told if names[name] != "a"}
    )
    assert handing.story("a")[-1] == "held cut-off" and handing.story("b")[-1] == handing.story("c")[-1] == "done"


def dead(tmp_path: Path) -> None:
    """A run that was killed with a, b and c handed out."""

    class Killed(BaseException):
        pass

    handing = Handing(tmp_path, slots=1, a=[stays], b=[waits], c=[waits])

    def kill() -> None:
        while len(handing.engine.submitted) < 3 or not handing.engine.lines("began"):
            pass
        handing.inbox.put(Killed())

    try:
        handing.run("a", "b", "c", after=kill)
    except Killed:
        pass


def test_output_files_are_written_by_the_coordinator_and_long_output_is_kept_on_the_disk(tmp_path: Path) -> None:
    text = b"x" * 100_000
    handing = Handing(tmp_path, a=[ends(out=text)], b=[ends(Verdict(Kind.FAILED, "exit"), out=text)])
    handing.run("a", "b", files=(FileTemplate.parse(f"{tmp_path}/out/{{}}.txt".encode(), "--out"), None))
    assert (tmp_path / "out/a.txt").read_bytes() == text and not (tmp_path / "out/b.txt").exists()
    assert handing.engine.lines("failed")[0]["out"][1] == len(text)


def test_slots_follow_the_workers_that_are_there(tmp_path: Path) -> None:
    """With no worker nothing is handed out; a late one is fed at once."""
    handing = Handing(tmp_path, slots=0)

    def late() -> None:
        while not handing.engine.lines("run"):
            pass
        assert not handing.engine.submitted
        handing.engine.listener.room(4)

    handing.run(*"abcdef", after=late)
    assert handing.loop.why() == "complete"


def test_a_few_more_are_handed_out_than_can_run_but_never_more_than_wanted() -> None:
    assert [window(slots) for slots in (0, 1, 4, 100)] == [0, 3, 12, 125]
    assert (window(8, 3), window(8, 100)) == (3, 24)


def test_what_comes_while_the_engine_is_busy_is_handed_out_in_one_call(tmp_path: Path) -> None:
    """A call for each start costs both sides as much as the start itself."""
    busy, free = threading.Event(), threading.Event()
    calls: list[list[bytes]] = []

    class Slow(FakeEngine):
        def submit(self, parcels: Sequence[Parcel]) -> None:
            calls.append([parcel.job.ids[0] for parcel in parcels])
            busy.set()
            free.wait(PATIENCE)

    crew = crew_on(Slow(tmp_path, {}), tmp_path)
    for at, id in enumerate(b"a b c d".split()):
        crew.start(Job((Item(id, None, at),), (id,), (1,), ("0" * 32,), f"{at:08}", at, named=True))
        assert busy.wait(PATIENCE)
    free.set()
    until(lambda: len(calls) == 2)
    assert calls == [[b"a"], [b"b", b"c", b"d"]]
