"""The presets are data that can be typed; the wordings that were collected are judged rightly by them."""

import shlex

import pytest

from resumectl import presets
from resumectl.verdict import Ended, Rules, judge

CLAUDE_JSON = [b"claude", b"-p", b"{}", b"--output-format", b"json"]


def verdict(name, code, stdout=b"", stderr=b"", words=()):
    rules = Rules.parse(presets.load(name).settings(words))
    found = judge(Ended(code), stdout, stderr, rules, now=1e9)
    return " ".join(filter(None, (found.kind.value, found.why)))


def test_the_tools_that_were_tried_have_one_each():
    assert presets.names() == ["claude", "codex", "curl", "gemini", "llm", "opencode"]


def test_a_program_is_known_by_the_last_part_of_its_path():
    assert presets.for_program(b"/opt/bin/claude").name == "claude"
    assert presets.for_program(b"curl").name == "curl"
    for stranger in (b"true", b"", b"claude.toml", b"\xff", b"__init__"):
        assert presets.for_program(stranger) is None


def test_an_unknown_name_is_refused_and_the_known_are_named():
    with pytest.raises(ValueError, match="claude codex"):
        presets.load("../claude")


@pytest.mark.parametrize("name", presets.names())
def test_its_flags_can_be_typed_and_mean_the_same(name):
    preset = presets.load(name)
    typed: dict = {}
    for flag in preset.flags():
        option, text = shlex.split(flag)
        typed.setdefault(option.removeprefix("--"), []).append(text)
    one = {option: texts[0] if isinstance(preset.options[option], str) else texts for option, texts in typed.items()}
    assert Rules.parse(one) == Rules.parse(preset.options)
    assert one == dict(preset.options)


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("claude", [b"-p", b"--output-format", b"json"], True),
        ("claude", [b"--output-format=stream-json"], True),
        ("claude", [b"--output-format", b"text", b"json"], False),
        ("claude", [b"json", b"--output-format"], False),
        ("claude", [], False),
        ("codex", [b"exec", b"--json"], True),
        ("gemini", [b"-o", b"json"], True),
        ("gemini", [b"-o=json"], True),
        ("opencode", [b"--format", b"default"], False),
        ("curl", [], True),
    ],
)
def test_json_counts_only_if_the_command_asks_for_it(name, words, expected):
    assert presets.load(name).applies_json(words) is expected


def test_without_json_only_texts_are_judged():
    claude = presets.load("claude")
    settings = claude.settings([b"claude", b"-p"])
    assert not {"cost", "json-pick", "sum"} & settings.keys()
    assert not any("json:" in text for name in presets.WHENS for text in settings.get(name, ()))
    assert settings["ok"] == ["!empty"]
    assert settings["timeout"] == "30m"


def test_own_whens_add_and_other_own_options_win():
    own = {"ok": ["text:x"], "timeout": "5m", "cost": "mine", "json-pick": None, "sum": ["input=a", "new=b"]}
    merged = presets.load("claude").settings(CLAUDE_JSON, own)
    assert merged["ok"][-1] == "text:x" and "!empty" in merged["ok"]
    assert (merged["timeout"], merged["cost"], merged["json-pick"]) == ("5m", "mine", "type=result")
    codex = presets.load("codex").settings([b"--json"], own)
    assert codex["sum"] == ["input=a", "cached=usage.cached_input_tokens", "output=usage.output_tokens", "new=b"]
    assert presets.load("claude").settings([], {"ok": ["json:mine"]})["ok"] == ["!empty", "json:mine"]


@pytest.mark.parametrize(
    ("name", "words", "jobs", "part"),
    [
        ("claude", [b"-p"], 1, "--output-format json"),
        ("claude", CLAUDE_JSON, 1, None),
        ("claude", CLAUDE_JSON, 2, "login token"),
        ("claude", [*CLAUDE_JSON, b"--bare"], 2, None),
        ("llm", [b"{}"], 1, None),
        ("llm", [b"{}"], 4, "--no-log"),
        ("llm", [b"{}", b"-n"], 4, None),
        ("curl", [b"{}"], 1, "--fail"),
        ("curl", [b"-sSfL", b"{}"], 1, None),
        ("curl", [b"--fail-with-body", b"{}"], 1, None),
        ("gemini", [], 4, None),
    ],
)
def test_advice_is_given_where_it_applies(name, words, jobs, part):
    advice = presets.load(name).advice(words, jobs)
    assert (part is None and not advice) or (part is not None and part in " ".join(advice))


@pytest.mark.parametrize(
    "text",
    [
        "Claude AI usage limit reached|1766502000",
        "5-hour limit reached ∙ resets 3am",
        "Weekly limit reached ∙ resets Oct 6, 1pm",
        "You've hit your limit · resets 1pm (Europe/Lisbon)",
        "You’ve hit your session limit · resets 12:50am (America/Los_Angeles)",
        "You've hit your Sonnet limit",
        "You've hit your weekly limit",
        "You're out of extra usage · resets 11:30am (Asia/Colombo)",
    ],
)
def test_each_limit_wording_of_claude_is_a_limit(text):
    assert verdict("claude", 1, f"{text}\n".encode()) == "uncharged limit"
    assert verdict("claude", 1, f"{text}\nOr so I read.\n".encode()) == "failed exit"


@pytest.mark.parametrize(
    "text",
    [
        "Not logged in · Please run /login",
        "Invalid API key · Fix external API key",
        "OAuth token revoked · Please run /login",
        "Credit balance is too low",
        "Your organization has disabled API key authentication for Claude Code",
        "API Error: 400 This organization has been disabled.",
        'API Error: 401 {"type":"error"} · Please run /login',
        "Failed to authenticate. API Error: 403 forbidden",
    ],
)
def test_each_halt_wording_of_claude_is_a_halt(text):
    assert verdict("claude", 1, f"{text}\n".encode()) == "uncharged halt"
    assert verdict("claude", 1, f"It said: {text}\n".encode()) == "failed exit"


def test_what_a_model_wrote_for_money_never_halts_or_limits():
    for text in ("Not logged in", "You've hit your limit"):
        out = b'{"type":"result","is_error":true,"total_cost_usd":1.5,"result":"%s"}' % text.encode()
        assert verdict("claude", 1, out, words=CLAUDE_JSON) == "failed exit"


CODEX_LIMIT = "You've hit your usage limit. Upgrade to Pro or try again at 12:16 PM."


@pytest.mark.parametrize(
    ("name", "words", "code", "stdout", "stderr", "expected"),
    [
        ("codex", [b"--json"], 0, '{"type":"turn.completed","usage":{"input_tokens":1}}', "", "done"),
        ("codex", [b"--json"], 0, '{"type":"turn.failed","error":{"message":"x"}}', "", "failed ok"),
        (
            "codex",
            [b"--json"],
            1,
            '{"type":"error","message":"a"}\n{"type":"turn.failed","error":{"message":"' + CODEX_LIMIT + '"}}',
            "",
            "uncharged limit",
        ),
        ("codex", [], 1, "", f"banner\nERROR: {CODEX_LIMIT}\n", "uncharged limit"),
        ("codex", [], 1, "", "ERROR: unexpected status 401 Unauthorized\n", "uncharged halt"),
        ("codex", [], 0, "the answer", "log", "done"),
        ("gemini", [b"-o", b"json"], 0, '{"response":"ok","stats":{}}', "", "done"),
        ("gemini", [b"-o", b"json"], 0, '{"error":{"message":"x"}}', "", "failed fail"),
        ("gemini", [b"-o", b"json"], 41, "", '{"error":{"message":"auth"}}', "uncharged halt"),
        ("gemini", [], 1, "", "TerminalQuotaError: Your quota will reset after 2h52m39s.", "uncharged limit"),
        ("gemini", [b"-o", b"json"], 1, '{"response":"exhausted your capacity"}', "", "failed exit"),
        ("opencode", [b"--format", b"json"], 0, '{"type":"error","error":{}}', "", "failed fail"),
        ("opencode", [b"--format", b"json"], 0, '{"type":"step_finish"}', "", "done"),
        ("llm", [], 1, "", "Error: No key found", "failed exit"),
        ("curl", [], 22, "", "curl: (22) The requested URL returned error: 429", "uncharged slow"),
        ("curl", [], 22, "", "curl: (22) The requested URL returned error: 404", "failed exit"),
    ],
)
def test_what_the_other_tools_say_is_judged_by_theirs(name, words, code, stdout, stderr, expected):
    assert verdict(name, code, stdout.encode(), stderr.encode(), words) == expected
