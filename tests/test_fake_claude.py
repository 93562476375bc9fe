"""The fake claude behaves as reported of the real one, and the claude preset judges each of its outcomes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PATIENCE

from resumectl import presets
from resumectl.verdict import Ended, Rules, judge

FAKE = Path(__file__).parent / "bin" / "claude"
EPOCH = 4102444800  # 2100


class Fake:
    """Calls the fake with its streams in regular files, under one plan and in one state folder."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {"PATH": os.environ["PATH"], "FAKE_CLAUDE_STATE": str(folder), "FAKE_CLAUDE_STDIN_WAIT": "0.2"}

    def plan(self, **outcomes):
        (self.folder / "plan.json").write_text(json.dumps(outcomes))
        self.env["FAKE_CLAUDE_PLAN"] = str(self.folder / "plan.json")

    def start(self, *argv, program=(sys.executable, "-S", "-E", str(FAKE)), stdin=subprocess.DEVNULL, **env):
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            argv = [*program, *argv]
            return subprocess.Popen(argv, stdin=stdin, stdout=out, stderr=err, env={**self.env, **env})

    def call(self, *argv, **named):
        code = self.start(*argv, **named).wait(PATIENCE)
        return code, (self.folder / "out").read_bytes(), (self.folder / "err").read_bytes()

    def lines(self, name="calls.jsonl"):
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait_for(self, name):
        end = time.monotonic() + 10
        while not self.lines(name) and time.monotonic() < end:
            time.sleep(0.005)


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


def judged(ended, out, err, form):
    words = [b"claude", b"-p", b"{}", b"--output-format", form.encode()]
    rules = Rules.parse(presets.load("claude").settings(words))
    return judge(ended, out, err, rules, now=time.time())


def said(fake, outcome, form):
    fake.plan(**{"*": [outcome]})
    argv = ["-p", "item", "--output-format", form, *(["--verbose"] if form == "stream-json" else [])]
    code, out, err = fake.call(*argv)
    ended = Ended(code) if code >= 0 else Ended(None, signal=-code)
    return judged(ended, out, err, form)


ROWS = """
    outcome          json               text
    ok               done               done
    server           done               done
    auth             uncharged/halt     uncharged/halt
    limit            uncharged/limit    uncharged/limit
    limit-blocking   uncharged/limit    uncharged/limit
    limit-completed  uncharged/limit    uncharged/limit
    limit-legacy     uncharged/limit    uncharged/limit
    limit-exit0      uncharged/slow     uncharged/slow
    limit-stream     uncharged/limit    uncharged/limit
    throttle429      uncharged/slow     uncharged/slow
    overloaded       uncharged/slow     uncharged/slow
    network          failed/exit        failed/exit
    max-turns        failed/exit        failed/exit
    max-budget       failed/exit        failed/exit
    exec-error       failed/ok          -
    empty            failed/ok          failed/ok
    unknown-command  failed/fail        failed/fail
    denied           done               done
    truncated        done               done
    talks            done               done
    talks-fails      failed/exit        failed/exit
    partial-stream   cut_off/killed     -
"""
TABLE = [row.split() for row in ROWS.strip().splitlines()[1:]]


@pytest.mark.parametrize(("name", "in_json", "in_text"), TABLE)
def test_each_outcome_gets_its_verdict_in_json_and_in_text(fake, name, in_json, in_text):
    for form, expected in (("json", in_json), ("text", in_text)):
        if expected != "-":
            found = said(fake, name, form)
            assert "/".join(filter(None, (found.kind.value, found.why))) == expected, (form, found)


@pytest.mark.parametrize("name", ["ok", "talks", "limit-stream", "overloaded", "max-turns"])
def test_a_stream_is_judged_by_its_result(fake, name):
    in_json = next(row[1] for row in TABLE if row[0] == name)
    found = said(fake, name, "stream-json")
    assert "/".join(filter(None, (found.kind.value, found.why))) == in_json


def test_a_limit_names_its_time_in_words_as_an_epoch_or_in_an_event(fake):
    found = said(fake, "limit", "json")
    assert (found.source, found.text[:20]) == ("clock", "You've hit your sess")
    assert 0 < found.resume_at - time.time() + 3600 <= 90000
    found = said(fake, {"outcome": "limit-legacy", "epoch": EPOCH}, "text")
    assert (found.source, found.resume_at) == ("epoch", EPOCH)
    wordless = {"outcome": "limit-stream", "epoch": EPOCH, "result": "You've hit your weekly limit"}
    found = said(fake, wordless, "stream-json")
    assert (found.source, found.resume_at) == ("json", EPOCH)


def test_the_cost_is_told_also_of_what_failed(fake):
    costs = {"ok": 0.0123, "max-budget": 0.44704, "exec-error": 0.657, "talks-fails": 2.28, "auth": 0}
    assert {name: said(fake, name, "json").cost for name in costs} == costs


@pytest.mark.parametrize(("name", "code"), [("hang", -15), ("hang-after-result", -15), ("hang-stubborn", -9)])
def test_what_hangs_ends_by_a_signal_only(fake, name, code):
    fake.plan(**{"*": [name]})
    process = fake.start("-p", "item", "--output-format", "json")
    fake.wait_for("calls.jsonl")
    time.sleep(0.1)  # until it has set its handlers
    process.terminate()
    if name == "hang-stubborn":
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
        process.kill()
    assert process.wait(PATIENCE) == code
    out = (fake.folder / "out").read_bytes()
    assert bool(out) == (name == "hang-after-result")
    found = judged(Ended(None, signal=-code, timed_out=True), out, b"", "json")
    assert (found.why, found.cost) == ("timeout", 0.0123 if out else None)


def test_an_interrupt_is_answered_with_130_or_in_a_variant_with_0(fake):
    fake.plan(**{"*": ["hang"]})
    for variant, code in (("", 130), ("sigint-0", 0)):
        (fake.folder / "calls.jsonl").unlink(missing_ok=True)
        process = fake.start("-p", "item", FAKE_CLAUDE_VARIANTS=variant)
        fake.wait_for("calls.jsonl")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == code


def test_the_plan_goes_by_item_and_call_and_the_last_outcome_repeats(fake):
    fake.plan(**{"item-1": ["limit", "ok"], "item-12": ["empty"], "*": ["auth"]})
    prompts = ["do item-1", "do item-1", "do item-1", "do item-12", "do item-3"]
    assert [fake.call("-p", prompt)[0] for prompt in prompts] == [1, 0, 0, 0, 1]
    starts = [line for line in fake.lines() if line["event"] == "start"]
    assert [(line["item"], line["n"]) for line in starts] == [
        ("item-1", 1), ("item-1", 2), ("item-1", 3), ("item-12", 1), ("do item-3", 1),
    ]  # fmt: skip
    assert [line["how"] for line in fake.lines() if line["event"] == "end"] == [1, 0, 0, 0, 1]


def test_a_call_is_on_record_with_all_that_tests_ask_for(fake):
    fake.call("-p", "item", "--output-format=json", RESUMECTL_KEY="k", CLAUDECODE="1", OTHER="x")
    line = fake.lines()[0]
    assert line["argv"] == ["-p", "item", "--output-format=json"]
    assert line["env"] == {"RESUMECTL_KEY": "k", "CLAUDECODE": "1"}
    assert (line["stdout"], line["stdin"], line["n"]) == ("file", "", 1)
    assert line["pid"] > 0 and line["pgid"] > 0 and line["at"] > 0


def test_a_server_keeps_one_effect_a_key_and_others_keep_all(fake):
    fake.plan(a=["server"], b=[{"outcome": "ok", "effect": True}])
    for item in "aabb":
        fake.call("-p", item, RESUMECTL_KEY=f"key-{item}")
    assert [line["key"] for line in fake.lines("effects.jsonl")] == ["key-a", "key-b", "key-b"]


def test_cut_off_does_its_effect_and_kills_its_parent(fake):
    fake.plan(**{"*": ["cut-off"]})
    script = f"{sys.executable} -S -E {FAKE} -p item; exit 0"
    assert fake.call(program=("/bin/sh", "-c", script), RESUMECTL_KEY="k")[0] == -9
    fake.wait_for("effects.jsonl")
    assert [line["key"] for line in fake.lines("effects.jsonl")] == ["k"]


def test_an_orphan_stays_in_the_group_when_its_parent_has_ended(fake):
    fake.plan(**{"*": ["orphan"]})
    assert fake.call("-p", "item")[0] == 0
    fake.wait_for("orphans.jsonl")
    pid = fake.lines("orphans.jsonl")[0]["pid"]
    assert os.getpgid(pid) == fake.lines()[0]["pgid"]
    os.kill(pid, signal.SIGKILL)


def test_throttling_may_depend_on_how_many_run_at_once(fake):
    fake.plan(slow=[{"outcome": "ok", "sleep": 1}], item=[{"outcome": "throttle429", "above": 1}])
    assert fake.call("-p", "item")[0] == 0
    other = fake.start("-p", "slow")
    while len(os.listdir(fake.folder / "running")) == 0:
        time.sleep(0.005)
    assert fake.call("-p", "item")[0] == 1
    other.kill()
    other.wait()
    assert fake.call("-p", "item")[0] == 0


def test_an_outcome_can_be_lifted_for_all(fake):
    fake.plan(**{"*": [{"outcome": "limit", "until": "lifted"}]})
    assert fake.call("-p", "a")[0] == 1
    (fake.folder / "lifted").touch()
    assert fake.call("-p", "a")[0] == 0


def test_a_pipe_cuts_what_a_file_holds_whole(fake):
    fake.plan(**{"*": ["truncated"]})
    argv = [sys.executable, "-S", "-E", str(FAKE), "-p", "item", "--output-format", "json"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=fake.env)
    assert (done.returncode, len(done.stdout)) == (0, 65536)
    assert judged(Ended(0), done.stdout, b"", "json").why == "no-json"
    assert len(fake.call("-p", "item", "--output-format", "json")[1]) > 200_000


def test_stdin_is_waited_for_and_then_read_to_its_end(fake):
    read, write = os.pipe()
    assert b"no stdin data received" in fake.call("-p", "item", stdin=read)[2]
    os.write(write, b"item-2\nitem-3\n")
    os.close(write)
    assert fake.call("-p", "item", stdin=read) == (0, b"All is well.\n", b"")
    os.close(read)
    assert fake.lines()[2]["stdin"] == "item-2\nitem-3\n"


def test_its_old_version_hangs_on_an_open_pipe(fake):
    read, write = os.pipe()
    process = fake.start("-p", "item", stdin=read, FAKE_CLAUDE_VARIANTS="stdin-old")
    fake.wait_for("calls.jsonl")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    os.close(write)
    assert process.wait(PATIENCE) == 0
    os.close(read)


def test_it_refuses_what_the_real_one_refuses(fake):
    code, _, err = fake.call("-p")
    assert (code, err[:29]) == (1, b"Error: Input must be provided")
    assert b"unknown option '--nonsense'" in fake.call("-p", "x", "--nonsense")[2]
    nested = fake.call("-p", "x", CLAUDECODE="1", FAKE_CLAUDE_VARIANTS="nested")
    assert nested[0] == 1 and b"inside another Claude Code session" in nested[2]
    session = ["-p", "x", "--session-id", "0f0e"]
    assert fake.call(*session)[0] == 0
    assert fake.call(*session)[::2] == (1, b"Error: Session ID 0f0e is already in use.\n")


def test_it_runs_by_its_own_first_line(fake):
    assert fake.call("-p", "item", program=(str(FAKE),)) == (0, b"All is well.\n", b"")
