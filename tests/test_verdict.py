"""What an ended attempt comes to."""

import pickle
import signal
from datetime import UTC, datetime

import pytest

from resumectl.verdict import Ended, Kind, Rules, judge

NOW = datetime(2026, 1, 10, 12, 0, tzinfo=UTC).timestamp()


def verdict(ended=0, stdout=b"", stderr=b"", hold_timeouts=False, **options):
    """The verdict under options spelled as on the command line, but with _ for -."""
    if isinstance(ended, int):
        ended = Ended(ended)
    rules = Rules.parse({name.replace("_", "-"): value for name, value in options.items()})
    return judge(ended, stdout, stderr, rules, now=NOW, hold_timeouts=hold_timeouts, tz=UTC)


def short(*args, **options):
    found = verdict(*args, **options)
    return found.kind.value, found.why


def test_without_rules_the_exit_code_alone_decides():
    assert short(0) == ("done", "")
    for code in (1, 2, 126, 127, 128, 130, 137, 143, 255):
        assert short(code) == ("failed", "exit")
    assert verdict(3).text == "exit 3"


@pytest.mark.parametrize(
    ("number", "why"),
    [("SIGHUP", "sighup"), ("SIGINT", "sigint"), ("SIGTERM", "sigterm"), ("SIGKILL", "killed"), ("SIGQUIT", "killed")],
)
def test_who_died_of_a_signal_that_people_send_was_cut_off(number, why):
    found = verdict(Ended(None, signal=signal.Signals[number]))
    assert (found.kind, found.why, found.text) == (Kind.CUT_OFF, why, f"died of {number}")


def test_who_died_of_any_other_signal_failed_whatever_ok_says_of_codes():
    found = verdict(Ended(None, signal=signal.SIGSEGV), ok=["!code:1"])
    assert (found.kind, found.why, found.text) == (Kind.FAILED, "signal", "died of SIGSEGV")


def test_what_we_stopped_is_cut_off_whatever_it_made_of_it():
    assert short(Ended(0, stopped=signal.SIGINT)) == ("cut_off", "sigint")
    assert short(Ended(75, stopped=signal.SIGTERM)) == ("cut_off", "sigterm")
    assert short(Ended(None, signal=signal.SIGKILL, stopped=signal.SIGTERM)) == ("cut_off", "sigterm")
    assert short(Ended(None, signal=signal.SIGKILL, stopped=signal.SIGKILL)) == ("cut_off", "killed")


def test_a_timeout_is_a_failure_or_a_cut_off_where_repeats_must_be_ruled_out():
    late = Ended(None, signal=signal.SIGTERM, timed_out=True)
    assert short(late) == ("failed", "timeout")
    assert short(Ended(0, timed_out=True)) == ("failed", "timeout")
    assert short(late, hold_timeouts=True) == ("cut_off", "timeout")


def test_a_command_that_hangs_on_a_limit_is_limited():
    late = Ended(None, signal=signal.SIGTERM, timed_out=True)
    assert short(late, b"Monthly usage limit reached\n", limit=["text:usage limit"]) == ("uncharged", "limit")


def test_code_0_is_required_unless_an_ok_speaks_of_codes():
    assert short(1, b"fine", ok=["text:fine"]) == ("failed", "exit")
    assert short(1, b"fine", ok=["text:fine", "code:0,1"]) == ("done", "")
    assert short(2, b"fine", ok=["text:fine", "!code:1"]) == ("done", "")
    assert short(0, ok=["code:1"]) == ("failed", "exit")


def test_every_ok_must_hold_and_the_first_that_does_not_is_named():
    found = verdict(0, b'{"is_error":true}', ok=["!empty", "json:is_error == false", "text:x"])
    assert (found.why, found.text) == ("ok", "--ok json:is_error == false did not hold")


def test_an_ok_about_json_without_any_object_is_a_failure_of_its_own():
    for when in ("json:a == null", "!json:a"):
        assert short(0, b"words", ok=[when]) == ("failed", "no-json")
    assert short(1, b"words", ok=["json:a"]) == ("failed", "exit")


def test_no_fail_may_hold():
    found = verdict(0, b"ERROR", fail=["text:^ERROR", "empty"])
    assert (found.kind, found.why, found.text) == (Kind.FAILED, "fail", "--fail text:^ERROR held")
    assert short(0, b"", fail=["!text:fine"]) == ("failed", "fail")
    assert short(0, b"words", fail=["json:error", "!json:fine"]) == ("done", "")


def test_exit_75_is_always_a_limit_unless_ok_lists_it():
    found = verdict(75)
    assert (found.kind, found.why, found.text, found.source) == (Kind.UNCHARGED, "limit", "exit 75", "none")
    assert short(75, limit=["!code:75"], halt=["code:75"]) == ("uncharged", "limit")
    assert short(75, ok=["code:0,75"]) == ("done", "")
    assert short(75, b"", ok=["code:0,75", "!empty"]) == ("failed", "ok")


def test_only_what_failed_can_be_a_limit_a_halt_or_slow():
    every = {why: ["text:limit"] for why in ("limit", "halt", "slow")}
    assert short(0, b"limit", **every) == ("done", "")
    assert short(1, b"limit", **every) == ("uncharged", "limit")
    assert short(1, b"limit", halt=["text:limit"], slow=["text:limit"]) == ("uncharged", "halt")
    assert short(1, b"limit", slow=["text:limit"]) == ("uncharged", "slow")


@pytest.mark.parametrize("why", ["limit", "halt", "slow"])
def test_any_positive_one_decides_and_any_negated_one_vetoes(why):
    whens = {why: ["code:7", "text:limit", "!json:cost > 0", "!code:9"]}
    assert short(1, b'{"result":"limit"}', **whens) == ("uncharged", why)
    assert short(7, b"nothing", **whens) == ("uncharged", why)
    assert short(1, b'{"result":"limit","cost":1}', **whens) == ("failed", "exit")
    assert short(9, b"limit", **whens) == ("failed", "exit")
    assert short(1, **{why: ["!code:9"]}) == ("failed", "exit")


def test_a_quoted_limit_never_pauses_a_run():
    quoting = b"I saw:\nYou've hit your limit\nand gave up\n"
    assert short(1, quoting, limit=["text:hit your limit"]) == ("failed", "exit")
    assert short(1, quoting, b"You've hit your limit\n", limit=["text:hit your limit"]) == ("uncharged", "limit")


def test_the_text_of_a_limit_is_the_words_that_matched():
    found = verdict(1, b"working\n", "You've hit your limit · resets 1pm (UTC)\n".encode(), limit=["text:^You've"])
    assert found.text == "You've hit your limit · resets 1pm (UTC)"
    assert (found.resume_at, found.source) == (NOW + 3600, "clock")


def test_the_text_of_a_halt_without_words_names_the_option():
    assert verdict(41, halt=["code:41"]).text == "--halt code:41 held"


def test_long_words_are_cut():
    assert len(verdict(1, b"x" * 1000, slow=["text:x"]).text) == 300


EVENT = b'{"type":"rate_limit_event","rate_limit_info":{"status":"%s","resetsAt":%d,"overageStatus":"rejected"}}\n'


@pytest.mark.parametrize(
    ("stdout", "stderr", "expected"),
    [
        (b'{"resets_at":1777936568}\nlimit\n', b"", 1777936568),
        (b'{"resetsAt":1777936568123}\nlimit\n', b"", 1777936568.123),
        (b'{"resets_at":"2026-01-10T13:00:00Z"}\nlimit\n', b"", NOW + 3600),
        (b"limit\n", b'{"error":{"status":429,"resets_at":1777936568}}\nbye', 1777936568),
        (EVENT % (b"rejected", 1) + EVENT % (b"rejected", 1777936568) + b"limit\n", b"", 1777936568),
        (EVENT % (b"rejected", 1777936568) + EVENT % (b"allowed", 5) + b"limit\n", b"", 1777936568),
        (EVENT % (b"allowed_warning", 5) + b"limit\n", b"", None),
        (b'[{"resetsAt":1777936568},\n{"result":"limit"}]', b"", 1777936568),
        (b'{"resets_at":1e300}\n{"resets_at":"soon"}\n{"resets_at":null}\nlimit\n', b"", None),
    ],
)
def test_where_the_words_name_no_time_the_last_json_with_one_does(stdout, stderr, expected):
    found = verdict(1, stdout, stderr, limit=["text:limit"])
    assert (found.why, found.resume_at) == ("limit", expected)
    assert found.source == ("none" if expected is None else "json")


def test_the_words_come_before_the_json():
    found = verdict(1, EVENT % (b"rejected", 1777936568) + b"limit, resets 1pm\n", limit=["text:limit"])
    assert (found.resume_at, found.source) == (NOW + 3600, "clock")


def test_cost_and_sums_are_told_of_every_ended_attempt():
    out = b'{"cost":0.5,"usage":{"in":3},"is_error":true,"bad":-1,"word":"x","flag":true}'
    paths = {"cost": "cost", "sum": ["input=usage.in", "none=usage.out", "bad=bad", "word=word", "flag=flag"]}
    for ended in (Ended(0), Ended(1), Ended(75), Ended(None, signal=9), Ended(None, signal=15, timed_out=True)):
        found = verdict(ended, out, **paths)
        assert (found.cost, found.sums) == (0.5, {"input": 3.0})
    assert verdict(0, b"words", **paths).cost is None
    assert verdict(0, out, cost="bad").cost is None


def test_retry_narrows_what_may_be_retried():
    assert verdict(1).retry
    assert verdict(1, retry=["code:1", "code:2"]).retry
    assert not verdict(3, retry=["code:1", "code:2"]).retry
    assert verdict(3, retry=["!code:1"]).retry
    assert not verdict(1, retry=["!code:1"]).retry
    assert not verdict(1, b"no", retry=["code:1", "!text:no"]).retry
    assert verdict(1, b"busy\nmore\n", retry=["text:^busy"]).retry


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"ok": ["x"]}, "--ok"),
        ({"limit": ["text:("]}, "--limit"),
        ({"json-pick": "type"}, "--json-pick"),
        ({"cost": "a..b"}, "--cost"),
        ({"sum": ["x"]}, "--sum"),
        ({"sum": ["x=a..b"]}, "--sum"),
    ],
)
def test_a_bad_rule_names_its_option(options, option):
    with pytest.raises(ValueError, match=option):
        Rules.parse(options)


def test_rules_and_verdicts_can_be_sent_to_another_machine():
    rules = Rules.parse({"ok": ['json:a =~ "x"', "!empty"], "json-pick": "a=x", "sum": ["n=a.b"], "cost": "c"})
    assert pickle.loads(pickle.dumps(rules)) == rules
    found = judge(Ended(75), b"", b"", rules, now=NOW)
    assert pickle.loads(pickle.dumps(found)) == found


def test_rules_say_whether_they_look_at_the_output():
    assert not Rules.parse({"ok": ["code:0,1"], "limit": ["code:7"]}).look_at_output
    assert Rules.parse({"ok": ["!empty"]}).look_at_output
    assert Rules.parse({"cost": "c"}).look_at_output


def test_the_output_of_a_job_without_such_rules_is_never_touched():
    class Untouchable:
        def rfind(self, *_):
            raise AssertionError

    assert judge(Ended(0), Untouchable(), Untouchable(), Rules(), now=NOW).kind is Kind.DONE
    assert judge(Ended(1), Untouchable(), Untouchable(), Rules(), now=NOW).kind is Kind.FAILED


def test_what_a_command_prints_may_be_nested_as_deep_as_it_likes() -> None:
    """A limit is found in it all the same, or is not: nothing here recurses."""
    deep = b'{"a":' * 900 + b'{"resets_at": 4102444800}' + b"}" * 900 + b"\n"
    verdict = judge(Ended(75), deep, b"", Rules.parse({"limit": ["code:75"]}), now=0.0)
    assert (verdict.why, verdict.resume_at) == ("limit", 4102444800.0)
