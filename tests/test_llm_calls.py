"""What each call of an LLM tool gets, costs and is judged by: presets, budgets, hangs (SPEC 2.3, 2.7, 2.8)."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time

import pytest
from conftest import until
from llm import CLAUDE, FAR, TEXT, Llm

STREAM = ("claude", "-p", "{}", "--verbose", "--output-format", "stream-json")


def verdicts(llm: Llm, job: str) -> dict[str, tuple[str, str | None]]:
    """What each item's last attempt came to."""
    kinds = ("done", "failed", "cut_off", "uncharged")
    return {record["id"]: (record["t"], record.get("why")) for record in llm.scratch.records(job, *kinds)}


def test_cost_totals_are_the_sum_over_all_attempts_of_all_runs(llm: Llm) -> None:
    """Failed, limited and retried ones too; in the last line of a run its own, in `status` everything."""
    llm.ids(6)
    dear = {"outcome": "max-turns", "cost": 0.25}
    llm.plan(**{"item-0002": [dear, dear, "ok"], "item-0004": ["max-budget", "ok"], "item-0006": ["auth", "ok"]})
    first = llm.run("--retries", "1", "--retry-delay", "1ms")
    assert first.code == 3 and f"cost {4 * 0.0123 + 0.5 + 0.44704:.6g}, " in first.err
    second = llm.run()
    assert second.code == 0 and re.search(r"cost 0\.0246$", second.err, re.M)
    reported = [record["cost"] for record in llm.ends("done", "failed", "uncharged")]
    assert len(reported) == 10 == len(llm.calls())
    cost = llm.status()["cost"]
    assert cost["total"] == pytest.approx(sum(reported)) == pytest.approx(6 * 0.0123 + 0.5 + 0.44704)
    assert cost["mean"] == pytest.approx(sum(reported) / 10) and cost["unknown_attempts"] == 0
    assert f"cost {sum(reported):.6g}\n" in llm.call("status").out


def test_an_attempt_without_a_figure_counts_as_the_mean_and_that_is_said(llm: Llm) -> None:
    """Killed by its timeout, or by a crash that left no end of it at all."""
    llm.ids(4)
    llm.plan(**{"item-0002": ["hang", "cut-off", {"outcome": "ok", "cost": 0.5}]}, rest=[{"outcome": "ok", "cost": 0.5}])
    ended = llm.run("--timeout", "1s")
    assert ended.code == 1 and "cost 2 (1 unknown, counted as the mean)" in ended.err
    llm.scratch.start("run", "--items", "i", "--", *CLAUDE).wait()
    assert llm.run().code == 0
    cost = llm.status()["cost"]
    assert (cost["total"], cost["unknown_attempts"]) == (3.0, 2)
    assert "cost 3 (2 unknown, counted as the mean)" in llm.call("status").out


def test_sums_are_shown_where_no_cost_is_reported(llm: Llm) -> None:
    """In full, for tokens come in millions."""
    llm.ids(3)
    ended = llm.run("--preset", "none", "--sum", "in=usage.input_tokens", "--sum", "ms=duration_ms", "--json-pick", "type=result")
    assert ended.code == 0 and ", in 33, ms 5502\n" in ended.err and "cost" not in ended.err
    assert "  in 33, ms 5502\n" in llm.call("status").out
    assert llm.status()["cost"]["sums"] == {"in": 33, "ms": 5502}


def test_a_budget_that_is_used_up_needs_a_person(llm: Llm) -> None:
    """Of one run, or of all; failed attempts count; the same command goes on where it is raised."""
    llm.ids(10)
    llm.plan(**{"item-0001": [{"outcome": "max-turns", "cost": 1.0}, "ok"]}, rest=[{"outcome": "ok", "cost": 0.5}])
    first = llm.run("--max-cost", "2")
    assert first.code == 3 and llm.counts() == {"done": 2, "failed": 1, "new": 7}
    assert "stopped: the reported cost of this run has come to 2 (--max-cost)" in first.err
    assert llm.run("--max-cost", "0.5").code == 3 and len(llm.calls()) == 4
    total = llm.run("--max-total-cost", "3.5")
    assert total.code == 3 and len(llm.calls()) == 6 and "all runs has come to 3.5 (--max-total-cost)" in total.err
    assert llm.run("--max-total-cost", "3.5").code == 3 and len(llm.calls()) == 6
    assert llm.run("--max-total-cost", "100").code == 0


@pytest.mark.parametrize("budget", ["--max-cost", "--max-total-cost"])
@pytest.mark.parametrize("command", [TEXT, ("echo", "{}")])
def test_a_budget_without_a_source_of_costs_is_refused(llm: Llm, budget: str, command: tuple[str, ...]) -> None:
    """Nothing runs; an own --cost is a source."""
    llm.ids(1)
    refused = llm.run(budget, "1", command=command)
    assert refused.code == 2 and "--cost PATH" in refused.err and llm.calls() == []
    assert not (llm.scratch.path / ".resumectl").exists()
    assert llm.run(budget, "1", "--cost", "x", "--ok", "code:0", command=command).code == 0


def test_a_budget_that_learns_no_cost_says_so(llm: Llm) -> None:
    """A path that leads nowhere must not pass for a budget that is kept."""
    llm.ids(2)
    ended = llm.run("--max-cost", "0.01", "--cost", "nowhere")
    assert ended.code == 0 and "cost unknown (2 said nothing)" in ended.err


def test_the_start_lines_name_the_preset_and_what_of_it_counts(llm: Llm) -> None:
    """Chosen by the program's name, also at the end of a path; another one can be named, or none."""
    llm.ids(1)
    path = str(llm.scratch.path / "bin" / "claude")
    for command in (CLAUDE, STREAM, ("claude", "-p", "{}", "--output-format=json"), (path, *CLAUDE[1:])):
        said = llm.run("--fresh", command=command).err
        assert "preset claude (resumectl presets claude; --preset none drops it)" in said and "only the texts" not in said
    said = llm.run("--fresh", command=TEXT).err
    assert re.search(r"^preset claude, of which only the texts count, for .* no JSON", said, re.M)
    assert "add --output-format json" in said
    assert "\npreset " not in llm.run("--fresh", "--preset", "none").err
    assert "preset curl (" in llm.run("--fresh", "--preset", "curl").err
    assert "login token" in llm.run("--fresh", "-j", "2").err
    refused = llm.run("--preset", "clod")
    assert refused.code == 2 and "claude codex curl" in refused.err


def test_own_flags_win_and_own_tests_add(llm: Llm) -> None:
    """`denied` is done unless one asks for more; the timeout and the cost of the preset give way."""
    llm.ids(3)
    llm.plan(**{"item-0001": ["denied"], "item-0002": [{"outcome": "exec-error", "cost": 0}], "item-0003": ["hang"]})
    own = ("--ok", "json:permission_denials == []", "--timeout", "500ms", "--cost", "duration_ms", "--limit", "json:num_turns == 0")
    assert llm.run(*own, "--cut-off", "hold").code == 75
    assert verdicts(llm, "claude") == {"item-0001": ("failed", "ok"), "item-0002": ("uncharged", "limit")}
    assert llm.ends("failed")[0]["cost"] == 1834
    llm.run(*own, "--cut-off", "hold")
    assert verdicts(llm, "claude")["item-0003"] == ("cut_off", "timeout")


def test_without_a_preset_the_exit_code_alone_decides(llm: Llm) -> None:
    """That is what a preset is there to prevent."""
    llm.ids(3)
    llm.plan(**{"item-0001": ["exec-error"], "item-0002": ["limit-exit0"], "item-0003": ["limit"]})
    assert llm.run("--preset", "none").code == 1
    assert verdicts(llm, "claude") == {"item-0001": ("done", None), "item-0002": ("done", None), "item-0003": ("failed", "exit")}


EACH = ["ok", "max-turns", "exec-error", "empty", "denied", "talks", "talks-fails", "unknown-command", "network", "max-budget", "limit-blocking"]


def test_the_printed_flags_of_a_preset_give_the_same_verdicts(llm: Llm) -> None:
    """They can be pasted into a shell; `presets` names all there are."""
    assert llm.call("presets").out.split() == ["claude", "codex", "curl", "gemini", "llm", "opencode"]
    printed = llm.call("presets", "claude").out
    typed = shlex.split(printed, comments=True)
    assert "# json tests" in printed and "--cost" in typed
    llm.plan(**{id: [outcome] for id, outcome in zip(llm.ids(len(EACH)), EACH, strict=True)})
    assert llm.run().code == llm.run("--preset", "none", *typed, "--job", "typed").code == 75
    assert verdicts(llm, "claude") == verdicts(llm, "typed") and len(verdicts(llm, "typed")) == len(EACH)
    costs = [llm.status(job)["cost"] for job in ("claude", "typed")]
    assert costs[0] == costs[1]


def test_the_reset_time_of_a_stream_is_taken_from_its_event(llm: Llm) -> None:
    """Where the words name no time."""
    llm.ids(2)
    llm.plan(rest=[{"outcome": "limit-stream", "epoch": FAR, "result": "You've hit your limit"}])
    assert llm.run(command=STREAM).code == 75
    assert llm.status()["resume_at"].startswith("2100-01-01T00:00:00")


def test_a_reset_time_that_has_passed_is_not_given_as_one_to_come(llm: Llm) -> None:
    """Services name stale ones."""
    llm.ids(2)
    llm.plan(rest=[{"outcome": "limit-legacy", "epoch": 1700000000}])
    stopped = llm.run()
    assert stopped.code == 75 and "which has passed" in stopped.err and "from now" not in stopped.err


def test_an_output_that_a_pipe_would_cut_is_judged_and_kept_whole(llm: Llm) -> None:
    """A file takes what a pipe cuts at 65,536 bytes with exit 0."""
    llm.ids(1)
    llm.plan(rest=["truncated"])
    ended = llm.run()
    assert ended.code == 0 and len(ended.out) > 200_000 and ended.out == llm.call("results").out
    cut = subprocess.run(CLAUDE, cwd=llm.scratch.path, env=llm.scratch.env, stdin=subprocess.DEVNULL, capture_output=True)
    assert cut.returncode == 0 and len(cut.stdout) == 65536


def test_no_call_gets_the_list_or_the_callers_session(llm: Llm) -> None:
    """Its stdin is empty and at its end, CLAUDECODE is taken away unless one hands it on; each has its own session id."""
    ids = llm.ids(3)
    session = (*CLAUDE, "--session-id", "{key}")
    piped = "".join(f"{id}\n" for id in ids).encode()
    outer = {"CLAUDECODE": "1", "FAKE_CLAUDE_VARIANTS": "nested stdin-old"}
    ended = llm.scratch.run("run", "--", *session, stdin=piped, env=outer)
    assert ended.code == 0 and b"no stdin data" not in ended.out and "no stdin data" not in ended.err
    starts = [line for line in llm.noted() if line["event"] == "start"]
    assert [line["item"] for line in starts] == ids
    assert all(not line["stdin"] and line["stdout"] == "file" and "CLAUDECODE" not in line["env"] for line in starts)
    handed = llm.run("--job", "b", "--env", "CLAUDECODE", "--max-items", "1", **outer)
    assert handed.code == 75 and llm.counts("b") == {"failed": 1, "new": 2}
    llm.run("--job", "c", "--env", "CLAUDECODE=x", "--max-items", "1", CLAUDECODE="1")
    assert llm.noted()[-2]["env"]["CLAUDECODE"] == "x"
    llm.run("--job", "d", "--preset", "none", "--unset", "CLAUDECODE", "--max-items", "1", CLAUDECODE="1")
    assert "CLAUDECODE" not in llm.noted()[-2]["env"]


@pytest.mark.parametrize(("outcome", "code"), [("hang", -15), ("hang-after-result", -15), ("hang-stubborn", -9)])
def test_a_call_that_hangs_is_killed_with_its_group_within_timeout_and_grace(llm: Llm, outcome: str, code: int) -> None:
    """Failed for its timeout, and tried again as often as one asks for."""
    llm.ids(1)
    llm.plan(rest=[outcome])
    began = time.monotonic()
    assert llm.run("--timeout", "700ms", "--grace", "300ms", "--retries", "1", "--retry-delay", "1ms").code == 1
    failed = llm.ends("failed")
    assert [(record["why"], record["rc"]) for record in failed] == [("timeout", code)] * 2
    assert all(700 <= record["ms"] for record in failed) and time.monotonic() - began < 20
    for line in llm.noted():
        with pytest.raises(ProcessLookupError):
            os.killpg(line.get("pgid", line["pid"]), 0)


def test_an_orphan_that_holds_stdout_open_does_not_hold_its_item(llm: Llm) -> None:
    """The leader's exit ends it, in this run; a later one may ask who still lives."""
    llm.ids(2)
    llm.plan(**{"item-0001": [{"outcome": "orphan", "seconds": 60}]})
    assert llm.run().code == 0 and llm.counts() == {"done": 2}
    (orphan,) = until(lambda: llm.noted("orphans.jsonl"))
    os.kill(orphan["pid"], 9)
    assert max(record["ms"] for record in llm.ends("done")) < 30_000


def test_a_dry_run_tells_of_all_that_would_run_after_a_limit(llm: Llm) -> None:
    """One probe goes first, and then the others; a rate spaces them, and they run all the same."""
    llm.ids(4)
    llm.plan(**{"item-0002": ["limit"]})
    assert llm.run().code == 75
    for options in ((), ("--rate", "1/h", "-j", "3")):
        assert "would start 3 items" in llm.run("--dry-run", *options).err


def test_a_retry_that_starts_at_once_is_counted_once(llm: Llm) -> None:
    """Its end and its next start may stand in one append; the counts add up all the same."""
    llm.ids(3)
    llm.plan(**{"item-0002": ["max-turns"] * 4 + ["ok"], "item-0003": ["overloaded", "ok"]})
    ended = llm.run("--retries", "3", "--retry-delay", "0", "--retry-max-delay", "0")
    assert ended.code == 1 and "2/3 done (0 resumed, 2 completed), 1 failed, cost" in ended.err
    assert llm.counts() == {"done": 2, "failed": 1} and len(llm.calls()) == 1 + 4 + 2
