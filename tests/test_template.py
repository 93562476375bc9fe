"""Words with placeholders become argv, and nothing that an item holds becomes code."""

import pickle
import subprocess
from dataclasses import replace

import pytest

from resumectl.template import Values, compile, has_placeholder_in_script, program

VALUES = Values(id=b"d.e/f.tar.gz", index=7, slot=3, key="1f0c-key", attempt=2, record=None)
RECORD = {"id": "r", "name": "N", "key": "k", "a": {"b": [{"c": 5}]}, "First Name": "Ada", "x-y": "dash"}
NASTY = b"a'b\"c $(touch PWNED) `touch PWNED` ; touch PWNED\n\\ * {} {key} $HOME #\xff"


def argv(*words, values=VALUES, **options):
    return compile([word.encode() for word in words], **options).argv(values)


def run(script_argv, tmp_path="/"):
    return subprocess.run(script_argv, capture_output=True, cwd=tmp_path, check=True).stdout


@pytest.mark.parametrize(
    "word, expected",
    [
        ("{}", b"d.e/f.tar.gz"),
        ("{id}", b"d.e/f.tar.gz"),
        ("{.}", b"d.e/f.tar"),
        ("{/}", b"f.tar.gz"),
        ("{//}", b"d.e"),
        ("{/.}", b"f.tar"),
        ("{#}", b"7"),
        ("{%}", b"3"),
        ("{key}", b"1f0c-key"),
        ("{attempt}", b"2"),
        ("--out={/.}-{#}.json", b"--out=f.tar-7.json"),
        ('{"id":"{}","n":{"k":1}}', b'{"id":"d.e/f.tar.gz","n":{"k":1}}'),
        ("{{#}}", b"{7}"),
        ("{}{}", b"d.e/f.tar.gzd.e/f.tar.gz"),
    ],
)
def test_each_placeholder_is_replaced_wherever_it_stands(word, expected):
    assert argv("echo", word) == [b"echo", expected]


@pytest.mark.parametrize(
    "word", ["{print $1}", "{ }", "{name}", "{record.name}", "{", "}", "{id", "{Id}", "${x:-y}", "{///}"]
)
def test_any_other_braces_are_left_as_they_stand(word):
    assert argv("echo", word, "{}")[1] == word.encode()


# what GNU parallel 20221122 gives for {.} {/} {//} {/.}
@pytest.mark.parametrize(
    "row",
    """a|a|a|.|a
    a.b|a|a.b|.|a
    .bashrc||.bashrc|.|
    d/.x|d/|.x|d|
    d.e/f|d.e/f|f|d.e|f
    d.e/f.g|d.e/f|f.g|d.e|f
    /|/||/|
    //|//||/|
    /a|/a|a|/|a
    //a|//a|a|/|a
    a/|a/||.|
    a//|a//||.|
    /a/|/a/||/|
    /a/b|/a/b|b|/a|b
    a/b//|a/b//||a|
    a//b|a//b|b|a|b
    a.|a|a.|.|a
    a.b.|a.b|a.b.|.|a.b
    .||.|.|
    ..|.|..|.|.
    ../x|../x|x|..|x
    a.tar.gz|a.tar|a.tar.gz|.|a.tar
    /a//b/|/a//b/||/a|
    a.b/|a.b/||.|""".split(),
)
def test_path_placeholders_mean_what_they_mean_to_gnu_parallel(row):
    path, *expected = row.split("|")
    values = replace(VALUES, id=path.encode())
    assert argv("{.}", "{/}", "{//}", "{/.}", values=values) == [part.encode() for part in expected]


def test_path_placeholders_see_a_newline_as_any_other_byte():
    values = replace(VALUES, id=b"a\nb.c/d\n.e\nf")
    assert argv("{.}", "{/}", "{//}", "{/.}", values=values) == [b"a\nb.c/d\n", b"d\n.e\nf", b"a\nb.c", b"d\n"]


@pytest.mark.parametrize(
    "word, expected",
    [
        ("{name}", b"N"),
        ("{key}", b"1f0c-key"),
        ("{record.key}", b"k"),
        ("{id}", b"d.e/f.tar.gz"),
        ("{record.id}", b"r"),
        ("{a.b[0].c}", b"5"),
        ("{record.a.b}", b'[{"c":5}]'),
        ("{a}", b'{"b":[{"c":5}]}'),
        ("{First Name}", b"Ada"),
        ("{x-y}", b"dash"),
        ("{nope} {a.nope}", b"{nope} {a.nope}"),
        ('{"name":"{name}"}', b'{"name":"N"}'),
    ],
)
def test_a_name_is_a_field_if_the_record_has_it(word, expected):
    values = replace(VALUES, record=RECORD)
    assert argv("echo", word, "{}", values=values, any_field=True)[1] == expected
    assert argv("echo", word, "{}", values=values, fields=set(RECORD))[1] == expected


def test_a_field_named_record_is_reached_when_no_field_answers_to_the_rest():
    values = replace(VALUES, record={"record": {"x": 1}})
    assert argv("echo", "{record.x}", values=values, any_field=True) == [b"echo", b"1"]


@pytest.mark.parametrize(
    "value, expected",
    [("\udcffä", b"\xff\xc3\xa4"), (12, b"12"), (1.5, b"1.5"), (1e300, b"1e+300"), (True, b"true"), (False, b"false")]
    + [
        (None, b""),
        ([1, "ä"], '[1,"ä"]'.encode()),
        ({"a": None}, b'{"a":null}'),
        (b"\xff", b"\xff"),
        (2**70, b"%d" % 2**70),
    ],
)
def test_a_field_value_is_bare_text_or_json(value, expected):
    values = replace(VALUES, record={"v": value})
    assert argv("echo", "{v}", values=values, any_field=True) == [b"echo", expected]


def test_what_a_value_holds_is_never_expanded():
    values = replace(VALUES, id=b"{key} {name} {} <id>", record={"name": "{} {#}"})
    assert argv("{}{name}", values=values, any_field=True) == [b"{key} {name} {} <id>{} {#}"]


def test_another_word_can_stand_for_the_id_and_then_braces_do_not():
    assert argv("mv", "X", "{}/X.{#}", replace=b"X") == [b"mv", b"d.e/f.tar.gz", b"{}/d.e/f.tar.gz.7"]
    assert argv("echo", "{.}", replace=b"{.}") == [b"echo", b"d.e/f.tar.gz"]
    with pytest.raises(ValueError, match="-I"):
        compile([b"echo"], replace=b"")


def test_without_a_placeholder_the_id_is_the_last_argument():
    template = compile([b"echo", b"a"])
    assert template.appended and not template.angle
    assert template.argv(VALUES) == [b"echo", b"a", b"d.e/f.tar.gz"]
    assert not compile([b"echo", b"{#}"]).appended


def test_an_item_of_which_no_field_is_filled_in_is_appended_too():
    template = compile([b"echo", b"{url}"], any_field=True)
    assert not template.appended
    assert template.argv(replace(VALUES, record={"url": "u"})) == [b"echo", b"u"]
    assert template.argv(replace(VALUES, record={"uri": "u"})) == [b"echo", b"{url}", b"d.e/f.tar.gz"]


def test_angle_brackets_count_when_nothing_else_does():
    template = compile([b"echo", b"<id>", b"a<id>"])
    assert template.angle and not template.appended
    assert template.argv(VALUES) == [b"echo", b"d.e/f.tar.gz", b"a<id>"]
    assert argv("echo", "<id>", "{#}") == [b"echo", b"<id>", b"7"]
    assert argv("echo", "a<id>") == [b"echo", b"a<id>", b"d.e/f.tar.gz"]


@pytest.mark.parametrize("words", [[], [b""], [b"  "]])
def test_no_command_is_refused(words):
    with pytest.raises(ValueError, match="there is no command"):
        compile(words)


def test_a_template_can_be_pickled():
    template = compile([b"echo {} {name}"], any_field=True, shell=True)
    assert pickle.loads(pickle.dumps(template)).argv(VALUES) == template.argv(VALUES)


def test_a_batch_puts_all_ids_where_the_placeholder_is():
    ids = [b"a", b"b c", b"it's"]
    assert compile([b"rm", b"{}", b"-f"]).batch_argv(ids) == [b"rm", *ids, b"-f"]
    assert compile([b"rm", b"<id>"]).batch_argv(ids) == [b"rm", *ids]
    assert compile([b"rm", b"-f"]).batch_argv(ids) == [b"rm", b"-f", *ids]
    assert compile([b"run", b"--slot={%}"]).batch_argv(ids, slot=2) == [b"run", b"--slot=2", *ids]
    assert compile([b"rm X", b"X"], replace=b"X").batch_argv(ids)[1:] == ids
    for script in (b"printf '%s\n' {}; true", b"printf '%s\n'"):
        assert run(compile([script], shell=True).batch_argv(ids)) == b"a\nb c\nit's\n"


@pytest.mark.parametrize(
    "words, shell, expected",
    [
        ("rm {}", False, None),
        ("rm <id>", False, None),
        ("rm", False, None),
        ("run {%}", False, None),
        ('curl {"a":1}', False, None),
        ("rm {}.json", False, "{} stands inside a longer argument"),
        ("rm {id}{id}", False, "{id} stands inside"),
        ("rm {} {key}", False, "{key} differs"),
        ("rm {attempt}", False, "{attempt} differs"),
        ("rm {#}", False, "{#} differs"),
        ("rm {/}", False, "{/} differs"),
        ("rm {name}", False, "{name} differs"),
        ("rm {}; echo", True, None),
        ("(rm {})", True, None),
        ("rm x{}", True, "{} stands inside"),
        ("rm '{}'", True, "{} stands inside"),
    ],
)
def test_a_batch_is_refused_where_a_placeholder_is_one_items_own(words, shell, expected):
    error = compile([words.encode()] if shell else words.encode().split(), shell=shell, any_field=True).batch_error()
    assert (error is None) if expected is None else error.startswith(expected)


def test_the_program_is_the_first_word_unless_it_depends_on_the_item():
    assert program(compile([b"/usr/bin/curl", b"{}"])) == b"/usr/bin/curl"
    assert program(compile([b"bin/{}"])) is None
    assert program(compile([b"{tool}", b"{}"], any_field=True)) is None
    assert program(compile([b"a{ b }"], any_field=True)) == b"a{ b }"
    assert program(compile([b"curl {}"], shell=True)) == b"/bin/sh"


@pytest.mark.parametrize(
    "words, expected",
    [
        (["sh", "-c", "echo {}"], True),
        (["/bin/bash", "-ec", "echo {/}"], True),
        (["bash", "-o", "pipefail", "-c", "echo {}"], True),
        (["bash", "-c", "-e", "echo {}"], True),
        (["sh", "-c", "--", "echo {}"], True),
        (["timeout", "5", "zsh", "-c", "{}"], True),
        (["sh", "-c", 'echo "$1"', "_", "{}"], False),
        (["sh", "-c", "awk '{print $1}'", "{}"], False),
        (["sh", "script.sh", "-c", "{}"], False),
        (["bash", "--norc", "x", "{}"], False),
        (["python", "-c", "print('{}')"], False),
        (["sh"], False),
        (["sh", "-c"], False),
    ],
)
def test_a_placeholder_inside_a_script_is_noticed(words, expected):
    assert has_placeholder_in_script([word.encode() for word in words]) is expected


def test_the_script_may_hold_a_field_or_the_replacement_word():
    assert has_placeholder_in_script([b"sh", b"-c", b"echo {url}"], any_field=True)
    assert has_placeholder_in_script([b"sh", b"-c", b"echo {url}"], fields=["url"])
    assert has_placeholder_in_script([b"sh", b"-c", b"echo X"], replace=b"X")
    assert not has_placeholder_in_script([b"sh", b"-c", b"echo {}"], replace=b"X")
