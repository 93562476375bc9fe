"""A script's values are quoted for the place where they stand; no item becomes code."""

import os
import shlex
import subprocess
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from resumectl.shell import quote
from resumectl.template import Values, compile, quote_command

VALUES = Values(id=b"d.e/f.tar.gz", index=7, slot=3, key="1f0c-key", attempt=2, record=None)
RECORD = {"id": "r", "name": "N", "key": "k", "a": {"b": [{"c": 5}]}, "First Name": "Ada", "x-y": "dash"}
NASTY = b"a'b\"c $(touch PWNED) `touch PWNED` ; touch PWNED\n\\ * {} {key} $HOME #\xff"


def argv(*words, values=VALUES, **options):
    return compile([word.encode() for word in words], **options).argv(values)


def run(script_argv, tmp_path="/"):
    return subprocess.run(script_argv, capture_output=True, cwd=tmp_path, check=True).stdout


@given(st.text(st.characters(codec="ascii", exclude_characters="\0")))
def test_quoting_is_that_of_shlex(text):
    assert quote(text.encode()) == shlex.quote(text).encode()


def test_shell_takes_one_string_and_quotes_each_value():
    values = replace(VALUES, id=b"it's", record={"name": "a b"})
    assert argv("cp {} {name}{#}", values=values, shell=True, any_field=True) == [
        b"/bin/sh",
        b"-c",
        b"cp 'it'\"'\"'s' 'a b'7",
    ]
    with pytest.raises(ValueError, match="put it in quotes"):
        compile([b"echo", b"{}"], shell=True)


@pytest.mark.parametrize(
    "script",
    [
        "printf %s {}",
        'printf %s "{}"',
        ': "$$((1+("; printf %s {}',
        "printf %s '{}'",
        'x="$(printf %s. {})"; printf %s "${x%.}"',
        "printf %s",
    ]
    + [
        'printf %s "$(true "x")"{}',
        "(printf %s {})",
        "true $(( (1+${#x}) * $(echo 2) )); printf %s {}",
        "true '#' # it's\nprintf %s {}",
        "case a in a) printf %s {};; esac",
    ]
    + ["true \\' \\\" $# ${#x}; printf %s {}", "printf %s ''\"\"{}", 'x={}; printf %s "$x"', "true '\\'; printf %s {}"]
    + ["printf %s \\\n", 'printf %s "`echo "a"`" >&2; printf %s {}', 'printf %s "${x:-}"{}'],
)
def test_a_value_passes_through_a_script_unchanged_in_or_out_of_quotes(script, tmp_path):
    if script.endswith("\\\n"):
        with pytest.raises(ValueError):
            argv(script, shell=True)
        return
    for id in (NASTY, b"", b"-n", b"~", b"2", b"a'"):
        assert run(argv(script, values=replace(VALUES, id=id), shell=True), tmp_path) == id
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "script, words",
    [
        ("cat <<E\n{}\nE", "<<"),
        ("echo `echo {}`", "backticks"),
        ('echo "`echo {}`"', "backticks"),
        ("true # {}", "comment"),
        ("echo $${}", r"behind a \$"),
        ("echo ${x:-{}}", "inside"),
        ("echo ${x:- # $'} {}", "intricate"),
        ("echo $(({}+1))", "arithmetic"),
        ("echo $(( (1+{}) ))", "arithmetic"),
        ("echo $(('1' + 1)) {}", "intricate"),
        ("true \\ # <<E\n{}", "<<"),
        ("cat <\\\n<E\n{}\nE", "intricate"),
        ("echo \\{}", "backslash"),
        ('echo "\\{}"', "backslash"),
        ("echo ${}", r"behind a \$"),
        ("echo $'a' {}", "intricate"),
        ('echo "${x:-{}}"', "inside"),
        ('echo "${x:-"a"}" {}', "intricate"),
        ('echo "$(case a in a) echo {};; esac)"', "intricate"),
    ],
)
def test_a_place_where_no_quoting_is_safe_is_refused(script, words):
    with pytest.raises(ValueError, match=words):
        compile([script.encode()], shell=True)


@pytest.mark.parametrize(
    "script", ["true;", "true &", "true |", "true &&", "true >", "true # x", "cat <<E\nE", "echo 'a", "(true"]
)
def test_nothing_is_appended_where_it_would_not_be_an_argument(script):
    with pytest.raises(ValueError, match="say with {} where it goes"):
        compile([script.encode()], shell=True)


def test_an_id_is_appended_to_a_script_on_its_last_line():
    assert run(argv("printf %s\n", values=replace(VALUES, id=b"a;b"), shell=True)) == b"a;b"


def test_a_number_before_a_redirection_is_no_descriptor(tmp_path):
    assert run(argv("echo {}>f; cat f", values=replace(VALUES, id=b"2"), shell=True), tmp_path) == b"2\n"


def test_json_and_awk_in_a_script_are_text_even_if_a_record_has_such_a_name():
    values = replace(VALUES, record={"print $1": "$(touch PWNED)"})
    assert argv("awk '{print $1}' {}", values=values, shell=True, any_field=True)[2] == b"awk '{print $1}' d.e/f.tar.gz"


def test_verify_quotes_the_same_way_and_appends_nothing():
    values = replace(VALUES, record={"name": "a b"})
    assert quote_command(b"test -s out/{name} -a {nope}", values) == b"test -s out/'a b' -a {nope}"
    assert quote_command(b"test -e done", values) == b"test -e done"
    assert quote_command(b"test -e X", values, replace=b"X") == b"test -e d.e/f.tar.gz"
    with pytest.raises(ValueError):
        quote_command(b"echo `{}`", values)


IDS = st.binary(max_size=3000).map(lambda id: id.replace(b"\0", b""))
SCRIPT = st.sampled_from(
    [b"$(touch P)", b"`touch P`", b"'", b'"', b"\\", b";touch P;", b"\n", b"{}", b"{key}", b"${x}", b"*", b"#"]
)


@settings(max_examples=60, deadline=None)
@given(st.one_of(IDS, st.lists(SCRIPT).map(b"".join)), st.sampled_from(["{}", '"{}"', "'{}'"]))
@example(NASTY, "{}")
def test_every_id_passes_through_the_shell_and_through_argv_unchanged(id, place):
    values = replace(VALUES, id=id)
    assert run(argv(f"printf %s {place}", values=values, shell=True)) == id
    assert run(argv("printf", "%s", "{}", values=values)) == id
