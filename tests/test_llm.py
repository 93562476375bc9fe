"""Loops over an LLM tool: what its limits, its logins and its lies do to a run (SPEC 2.7, 2.8).

The tool is the fake claude; what it wrote down is the assertion.
"""

from __future__ import annotations

import re
import shlex
import signal
from datetime import datetime

import pytest
from conftest import PATIENCE, until
from faults import patched
from llm import CLAUDE, FAR, TEXT, Llm
from shell import Terminal


@pytest.mark.slow
def test_a_limit_at_the_413th_of_a_thousand_items_loses_nothing_and_the_rerun_probes(llm: Llm) -> None:
    """412 done, none failed, 588 to do, when it resets, exit 75; the same command again does the rest."""
    ids = llm.ids(1000)
    limit = {"outcome": "limit", "until": "lifted"}
    llm.plan(**{id: [limit] for id in ids[412:]})
    stopped = llm.run("--sync", "none")
    assert stopped.code == 75 and llm.calls() == ids[:413]
    assert llm.counts() == {"done": 412, "new": 588} and not llm.ends("failed", "cut_off")
    last = stopped.err.splitlines()
    assert re.search(r"stopped: You've hit your session limit.*; it resets at \S.* \(\d+.* from now\)", last[-4])
    assert "412/1000 done (0 resumed, 412 completed)" in last[-3] and "588 not started" in last[-3]
    assert last[-1] == f"to continue: resumectl run --items i --sync none -- {shlex.join(CLAUDE)}"
    assert_half_past_three_in_new_york(llm.status()["resume_at"])
    (llm.state / "lifted").touch()
    before = len(llm.noted())
    assert llm.run("-j", "4", "--sync", "none").code == 0
    again = llm.noted()[before:]
    assert [line["event"] for line in again[:2]] == ["start", "end"] and again[0]["item"] == ids[413]
    assert llm.most_at_once(again) > 1 and llm.counts() == {"done": 1000}
    assert llm.calls().count(ids[412]) == 2 and len(llm.calls()) == 1001 and ids[412] in llm.calls()[-4:]


def assert_half_past_three_in_new_york(stamp: str) -> None:
    from zoneinfo import ZoneInfo

    at = datetime.fromisoformat(stamp).astimezone(ZoneInfo("America/New_York"))
    assert (at.hour, at.minute) == (3, 30)


def test_with_four_slots_at_most_three_more_calls_meet_the_limit(llm: Llm) -> None:
    """What ran when it came is judged; each that met it is charged nothing and stands behind the others."""
    ids = llm.ids(60)
    llm.plan(**{id: [{"outcome": "limit", "until": "lifted"}] for id in ids[40:]})
    assert llm.run("-j", "4").code == 75
    assert 41 <= len(llm.calls()) <= 44 and llm.counts() == {"done": 40, "new": 20}
    met = [line["item"] for line in llm.noted() if line["event"] == "end" and line["how"] == 1]
    (llm.state / "lifted").touch()
    before = len(llm.noted())
    assert llm.run("-j", "4").code == 0
    again = llm.noted()[before:]
    assert [line["event"] for line in again[:2]] == ["start", "end"]
    assert again[0]["item"] not in met
    order = [record["id"] for record in llm.ends("started")]
    assert set(order[-len(met) :]) == set(met)


def test_text_that_only_quotes_a_limit_never_pauses(llm: Llm) -> None:
    """Whether its item passed or failed, in each form of output."""
    llm.ids(6)
    llm.plan(**{"item-0001": ["talks"], "item-0003": ["talks-fails"]})
    stream = ("claude", "-p", "{}", "--verbose", "--output-format=stream-json")
    for job, command in (("json", CLAUDE), ("text", TEXT), ("stream", stream)):
        ended = llm.run("--job", job, command=command)
        assert ended.code == 1 and llm.counts(job) == {"done": 5, "failed": 1}, job
        assert not llm.scratch.records(job, "uncharged")
    assert len(llm.calls()) == 18


def test_an_item_that_always_cries_limit_cannot_stop_the_others(llm: Llm) -> None:
    """It stops one run; the next does all the others first, and then says that this one failed."""
    ids = llm.ids(60)
    llm.plan(**{ids[0]: ["limit"], ids[30]: ["limit-blocking"]})
    assert [llm.run("-j", "2").code for _ in range(3)] == [75, 75, 1]
    assert llm.counts() == {"done": 58, "failed": 2}
    assert [record["why"] for record in llm.ends("failed")] == ["limit", "limit"]
    assert [llm.run("--max-attempts", "3").code for _ in range(4)] == [1] * 4
    assert llm.counts() == {"done": 58, "parked": 2} and len(llm.calls()) <= 58 + 2 * 4


@pytest.mark.parametrize("command", [CLAUDE, TEXT])
def test_not_logged_in_stops_after_the_first_call(llm: Llm, command: tuple[str, ...]) -> None:
    """Exit 3: a person must act. Nothing is charged, and then the same command goes on."""
    llm.ids(50)
    llm.plan(rest=[{"outcome": "auth", "until": "lifted"}])
    stopped = llm.run(command=command)
    assert stopped.code == 3 and len(llm.calls()) == 1 and llm.counts() == {"new": 50}
    assert "stopped: Not logged in" in stopped.err and "to continue: " in stopped.err
    (llm.state / "lifted").touch()
    assert llm.run("--max-items", "2", command=command).code == 75
    assert llm.counts() == {"done": 2, "new": 48}


def test_a_poison_item_is_held_after_so_many_attempts_over_any_number_of_runs(llm: Llm) -> None:
    """Three calls in ten runs; a text that fails at exit 0 is as poisonous."""
    llm.ids(3)
    llm.plan(**{"item-0002": ["max-turns", "exec-error"]})
    assert {llm.run("--max-attempts", "3").code for _ in range(10)} == {1}
    assert llm.calls().count("item-0002") == 3 and len(llm.calls()) == 5
    assert llm.counts() == {"done": 2, "parked": 1}


def test_bursts_of_429_settle_at_fewer_slots_and_recover(llm: Llm) -> None:
    """The service takes three at once, later any number; nothing is charged and nothing is lost."""
    llm.ids(120)
    llm.plan(rest=[{"outcome": "throttle429", "above": 3, "until": "lifted", "sleep": 0.06}])
    process = llm.scratch.start("run", "--items", "i", "-j", "8", "--retry-delay", "50ms", "--retry-max-delay", "100ms", "--", *CLAUDE)
    until(lambda: sum(line["event"] == "end" and line["how"] == 0 for line in llm.noted()) >= 30)
    (llm.state / "lifted").touch()
    before = len(llm.noted())
    assert process.wait(PATIENCE) == 0 and llm.counts() == {"done": 120}
    slow = llm.ends("uncharged")
    assert slow and {record["why"] for record in slow} == {"slow"} and not llm.ends("failed")
    assert llm.most_at_once(llm.noted()[:before]) > 3 and llm.most_at_once(llm.noted()[before:]) > 3
    assert max(record["a"] for record in slow) < 10


COUNTDOWN = "limit: waiting until "
# The wall's clock is a hundred years ahead once the file `later` is there, as if the machine had slept.
AHEAD = "import os, time; real = time.time; time.time = lambda: real() + 3155760000 * os.path.exists('later')"


def waiting(llm: Llm, **env: str) -> tuple[object, list[str]]:
    """A run over three items that sits out a limit, met at the second."""
    llm.ids(3)
    llm.plan(**{"item-0002": [{"outcome": "limit-legacy", "epoch": FAR}, "ok"]})
    with open(llm.scratch.path / "said", "wb") as err:
        process = llm.scratch.start("run", "--items", "i", "-j", "1", "--on-limit", "wait", "--", *CLAUDE, stderr=err, env=env)
    until(lambda: any(COUNTDOWN in line for line in llm.scratch.lines("said")), "the countdown")
    return process, llm.scratch.lines("said")


def test_a_limit_that_is_sat_out_is_counted_down_and_ctrl_c_ends_the_wait_at_once(llm: Llm) -> None:
    """However far away its end; the next run begins with a probe."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process, lines = waiting(llm)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "2100-01-0" in "".join(lines) or "2099-12-31" in "".join(lines)
    process.send_signal(signal.SIGINT)  # type: ignore[attr-defined]
    assert process.wait(PATIENCE) == -signal.SIGINT  # type: ignore[attr-defined]
    assert llm.counts() == {"done": 1, "new": 2} and "to continue: " in llm.scratch.lines("said")[-1]
    noted = len(llm.noted())
    assert llm.run("-j", "2").code == 0
    assert [line["event"] for line in llm.noted()[noted : noted + 2]] == ["start", "end"]


def test_on_a_terminal_the_countdown_stands_in_the_bar(llm: Llm) -> None:
    """It goes down, and the interrupt key ends it."""
    llm.ids(2)
    llm.plan(rest=[{"outcome": "limit", "result": "You've hit your limit · resets in 30 minutes"}])
    terminal = Terminal(llm.scratch, "run", "--items", "i", "--on-limit", "wait", "--", *CLAUDE)
    until(lambda: len(set(re.findall(rb"limit: (3\dm \d\ds) left", terminal.seen))) > 1, "a countdown")
    terminal.press(b"\x03")
    assert terminal.end() == -signal.SIGINT and llm.counts() == {"new": 2}


def test_a_limit_is_over_when_the_walls_clock_says_so(llm: Llm) -> None:
    """Also when decades went by while the machine slept: then the next other item goes first."""
    process, _ = waiting(llm, **patched(llm.scratch, AHEAD))
    llm.scratch.write("later", b"")
    assert process.wait(PATIENCE) == 0  # type: ignore[attr-defined]
    assert llm.calls() == ["item-0001", "item-0002", "item-0003", "item-0002"]
    assert [record["why"] for record in llm.ends("uncharged", "end")] == ["limit", "complete"]
