"""The grammar of tests on an ended item, and what they look at."""

import mmap
import pickle

import pytest

from resumectl.evidence import Ended, Evidence, Pick, last_line, path
from resumectl.when import When, any_of


def evidence(stdout=b"", stderr=b"", code=0, pick=None):
    return Evidence(Ended(code), stdout, stderr, Pick.parse(pick) if pick else None)


def holds(when, *args, **named):
    return When.parse(when).holds(evidence(*args, **named))


@pytest.mark.parametrize("text", ["code:0,75", "!code:1", "text:^a$", "!text:x", "json:a.b[0] == 1", "empty", "!empty"])
def test_a_test_remembers_its_text_and_survives_pickling(text):
    when = When.parse(text)
    assert str(when) == text
    assert pickle.loads(pickle.dumps(when)) == when
    assert when.kind == text.lstrip("!").partition(":")[0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "none of"),
        ("codes:1", "none of"),
        ("!!empty", "none of"),
        ("empty:", "none of"),
        ("empty:x", "none of"),
        ("code", "none of"),
        ("code:", "0 to 255"),
        ("code:x", "0 to 255"),
        ("code:256", "0 to 255"),
        ("code:-1", "0 to 255"),
        ("code:1,,2", "0 to 255"),
        ("text:", "needs a pattern"),
        ("text:(", "regular expression"),
        ("json:", "PATH"),
        ("json:a = 1", "PATH OP JSON"),
        ("json:a == x", "double quotes"),
        ("json:a ==", "JSON"),
        ("json:a =~ 1", "double quotes"),
        ('json:a =~ "("', "regular expression"),
        ("json:a < true", "number or a string"),
        ("json:a..b", "not a path"),
        ("json:[0]", "not a path"),
        ("json:a[x]", "not a path"),
        ("json:.a", "not a path"),
    ],
)
def test_what_is_no_test_is_refused_in_one_sentence(text, part):
    with pytest.raises(ValueError, match=part) as caught:
        When.parse(text)
    assert "\n" not in str(caught.value)


def test_code_holds_for_any_of_its_codes_and_never_for_a_death_by_signal():
    assert holds("code:0,75", code=75)
    assert not holds("code:0,75", code=1)
    assert holds("!code:0", code=1)
    assert not When.parse("code:0").holds(Evidence(Ended(None, signal=11)))


def test_text_is_looked_for_on_stdout_then_on_stderr_line_by_line():
    assert holds("text:^two$", b"one\ntwo\n")
    assert holds("text:^two$", b"one", b"two")
    assert not holds("text:^wo", b"two")
    assert holds("!text:three", b"one\ntwo\n")


def test_text_may_be_any_bytes():
    assert holds("text:\udcff\u00e9", b"\xff\xc3\xa9")


def test_empty_means_no_byte_but_white_space_on_stdout():
    assert holds("empty", b" \n\t", b"words")
    assert not holds("empty", b"\0")


OBJECT = b'{"n":3,"half":0.5,"no":false,"null":null,"s":"b","list":[{"k":1},2],"deep":{"a":{"b":"c"}},"empty":""}'


@pytest.mark.parametrize(
    "expr",
    [
        "n",
        "empty",
        "deep.a.b",
        "list[0].k == 1",
        "list[-1] == 2",
        'list == [{"k":1},2.0]',
        "n == 3.0",
        "n==3",
        "n != 4",
        "n != true",
        "n >= 3",
        "n < 3.5",
        "half <= 0.5",
        's > "a"',
        's =~ "^[ab]$"',
        "missing == null",
        "null == null",
        "missing.far[3].away == null",
        "no == false",
        'deep == {"a":{"b":"c"}}',
    ],
)
def test_an_expression_holds(expr):
    assert holds(f"json:{expr}", OBJECT)
    assert not holds(f"!json:{expr}", OBJECT)


@pytest.mark.parametrize(
    "expr",
    [
        "no",
        "null",
        "missing",
        "n == 4",
        "n == true",
        "s > 1",
        'n > "a"',
        "null < 1",
        "no < 1",
        'n =~ "3"',
        "list[2]",
        "s[0]",
    ],
)
def test_an_expression_does_not_hold(expr):
    assert not holds(f"json:{expr}", OBJECT)
    assert holds(f"!json:{expr}", OBJECT)


@pytest.mark.parametrize("stdout", [b"", b"words", b"3", b'"a"', b"[1,2]", b'{"torn":'])
def test_without_an_object_nothing_holds_not_even_a_negation(stdout):
    assert not holds("json:a", stdout)
    assert not holds("json:a == null", stdout)
    assert not holds("!json:a", stdout)


@pytest.mark.parametrize(
    ("stdout", "stderr", "n"),
    [
        (b'{"n":1}', b"", 1),
        (b'\n{\n "n":\n1}\n\n', b'{"n":2}', 1),
        (b'[{"n":1},{"n":2},3]', b"", 2),
        (b'{"n":1}\n{"n":2}\nwords\n[]\n', b"", 2),
        (b'words\r\n {"n":1} \r\n', b"", 1),
        (b'{"n":1}\n{"n":', b"", 1),
        (b" \n", b'noise\n{"n":5}\n', 5),
        (b"words", b'{"n":5}', None),
        (b'\xff\n{"n":1}', b"", 1),
    ],
)
def test_the_object_is_all_of_stdout_or_its_last_line_that_is_one(stdout, stderr, n):
    found = evidence(stdout, stderr).object
    assert (found and found["n"]) == n


@pytest.mark.parametrize(
    "stdout",
    [
        b'{"type":"result","n":1}\n{"type":"other"}\n{"type":"result","n":2}\n{"type":"later"}\n',
        b'[{"type":"result","n":1},{"type":"result","n":2},{"type":"later"}]',
        b'{"type":"result","n":2}',
    ],
)
def test_a_pick_takes_the_last_one_that_matches(stdout):
    assert evidence(stdout, pick="type=result").object["n"] == 2


def test_a_pick_that_nothing_matches_leaves_no_object():
    assert evidence(b'{"type":"other"}', pick="type=result").object is None


def test_a_pick_compares_strings_as_they_stand_and_else_as_json():
    assert Pick.parse("a.b=3").matches({"a": {"b": 3}})
    assert Pick.parse("a=3").matches({"a": "3"})
    assert Pick.parse("a=true").matches({"a": True})
    assert not Pick.parse("a=1").matches({"a": True})
    assert not Pick.parse("a=null").matches({})
    with pytest.raises(ValueError, match="PATH=VALUE"):
        Pick.parse("type")


def test_a_path_has_names_and_places():
    assert path("errors[0].message") == ("errors", 0, "message")
    assert path("model-usage.x/y") == ("model-usage", "x/y")


def test_the_tools_own_words_are_certain_strings_of_the_object():
    said = b'{"result":"a","error":{"message":"d"},"errors":["b",{"x":1},"c"],"message":"e","response":"quoted"}'
    assert evidence(said, b"stderr").words == (b"a", b"b", b"c", b"d", b"e")
    assert evidence(b'{"error":"a"}').words == (b"a",)


def test_else_they_are_the_last_line_of_each_stream():
    assert evidence(b"quoted\nlast\n \n", b"first\nlog\n").words == (b"last", b"log")
    assert evidence(b"", b"\x1b[31mERROR: red\x1b[0m\r\n").words == (b"ERROR: red",)


def test_a_line_of_data_is_not_the_tools_words():
    assert evidence(b'{"response":"quoted limit"}', b"the quota is gone").words == (b"the quota is gone",)
    assert evidence(b'[{"response":"quoted limit"}]').words == ()


def test_what_is_said_after_the_object_counts_too():
    """A script that prints JSON and then hits a limit must not burn through the list."""
    assert evidence(b'{"message":"begun"}\nYou hit your limit\n', b"log").words == (b"begun", b"You hit your limit")
    assert evidence(b'{\n"message":"begun"\n}\n').words == (b"begun",)


def test_own_words_narrow_text_and_nothing_else():
    quoting = evidence(b"hit your limit\nbye\n")
    assert When.parse("text:limit").holds(quoting)
    assert not When.parse("text:limit").holds(quoting, own_words=True)


def test_of_several_any_one_decides_and_any_veto_forbids():
    whens = tuple(map(When.parse, ["json:a", "json:b", "!json:c", "!json:d"]))
    assert str(any_of(whens, evidence(b'{"b":1}'))) == "json:b"
    assert any_of(whens, evidence(b'{"a":1,"d":1}')) is None
    assert any_of(whens, evidence(b"{}")) is None
    assert any_of(whens[2:], evidence(b"{}")) is None


def test_a_veto_about_json_forbids_nothing_where_there_is_none():
    whens = (When.parse("text:limit"), When.parse("!json:cost > 0"))
    assert any_of(whens, evidence(b"hit your limit"), own_words=True)


@pytest.fixture
def mapped(tmp_path):
    def write(data):
        (tmp_path / "out").write_bytes(data)
        with open(tmp_path / "out", "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    return write


def test_a_mapped_file_is_judged_where_it_lies_and_can_be_closed_after(mapped):
    out = mapped(b'{"n":1}\nlong\n' + b"x" * 100_000 + b'\n{"n":2}\nend\n')
    seen = evidence(out)
    assert seen.object == {"n": 2}
    assert When.parse("text:^long$").holds(seen)
    assert last_line(out) == b"end"
    out.close()


def test_a_whole_document_in_a_mapped_file_leaves_nothing_open(mapped):
    for data, n in ((b'{\n"n":1}', 1), (b'{"n":1}\n{"n":2}', 2)):
        out = mapped(data)
        assert evidence(out).object == {"n": n}
        out.close()


def test_what_is_too_large_to_parse_is_still_read_by_lines(monkeypatch):
    monkeypatch.setattr("resumectl.evidence.PARSED", 20)
    assert evidence(b'[{"n":1},\n{"n":2}\n]                ').object == {"n": 2}
    assert evidence(b'{"n":1}\n{"n":2,"s":"xxxxxxxxxxxxxxxx"}').object == {"n": 1}


def test_a_memoryview_will_do():
    assert evidence(memoryview(b'{"n":1}')).object == {"n": 1}
