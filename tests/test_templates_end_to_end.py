"""Records, fields, placeholders and environments as a command gets them (SPEC 2.1–2.3)."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from conftest import APPEND, PATIENCE, Scratch, until
from kept import Kept
from shell import typed

HOSTILE = ["a b", "it's", '"q"', "$(touch pwned)", "`touch pwned`", "; touch pwned", "$HOME", "*", "-n", "a\\nb", "{}", "{id}", "~", "!x", "#", "&", "|", "\u2028"]


@pytest.mark.parametrize("shape", ["csv", "tsv", "jsonl"])
def test_every_field_of_a_record_is_a_placeholder_and_the_record_a_variable(kept: Kept, shape: str) -> None:
    rows = [{"id": "k1", "name": 'Ann, "A"\t', "city": "x\ny"}, {"id": "k2", "name": "", "city": "{id}"}]
    if shape == "jsonl":
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        cut = "\t" if shape == "tsv" else ","
        quoted = [cut.join('"' + value.replace('"', '""') + '"' for value in row.values()) for row in rows]
        text = cut.join(rows[0]) + "\r\n" + "\r\n".join(quoted) + "\r\n"
    kept.scratch.write("list", text)
    words = ["run", "-a", "list", "--format", shape, "--key", "id"]
    script = 'printf "%s\\0" "$@" >>effects; printf "%s\\n" "$RESUMECTL_RECORD" >>records'
    assert kept.run(*words, "sh", "-c", script, "_", "{}", "n={name}", "{record.city}", "{other}").code == 0
    parts = (kept.scratch.path / "effects").read_text().split("\0")
    assert parts[:-1] == ["k1", 'n=Ann, "A"\t', "x\ny", "{other}", "k2", "n=", "{id}", "{other}"]
    assert [json.loads(line) for line in kept.scratch.lines("records")] == rows
    assert kept.run("status", "--done").out.split() == ["k1", "k2"]


def test_json_fields_are_bare_text_or_json_and_reached_by_paths(kept: Kept) -> None:
    record = {"a": {"id": 7}, "list": [{"x": "y z"}, 2.5], "yes": True, "none": None, "key": "mine", "attempt": 9}
    kept.scratch.write("r.jsonl", json.dumps(record) + "\n")
    words = ["-a", "r.jsonl", "--format", "jsonl", "--key", "a.id"]
    command = ["printf", "%s|", "{}", "{list[0].x}", "{list}", "{yes}", "{none}", "{record.key}", "{attempt}", "{record.attempt}", "{a}"]
    assert kept.run("run", *words, *command).code == 0
    assert kept.out() == b'7|y z|[{"x":"y z"},2.5]|true||mine|1|9|{"id":7}|'


def test_path_placeholders_are_those_of_gnu_parallel(kept: Kept) -> None:
    kept.scratch.items("dir/sub.d/file.tar.gz", "plain", "/abs/x.", ".hidden")
    assert kept.run("run", "-a", "i", "printf", "%s ", "{.}", "{/}", "{//}", "{/.}", "{#}").code == 0
    assert kept.out().decode().split(" ")[:15] == (
        "dir/sub.d/file.tar file.tar.gz dir/sub.d file.tar 1 plain plain . plain 2 /abs/x x. /abs x 3".split()
    )


def test_items_may_stand_on_the_command_line(kept: Kept) -> None:
    """Behind `:::`, to the byte; with --items it is a word like any other, and so is what looks like an option."""
    assert kept.run("run", "--job", "a", "echo", "x{}", ":::", "1", "-j", "{}", "a b").code == 0
    assert kept.out() == b"x1\nx-j\nx{}\nxa b\n"
    kept.scratch.items("1")
    assert kept.run("run", "-a", "i", "--job", "b", "echo", "{}", ":::", "2").code == 0 and kept.out() == b"1 ::: 2\n"
    assert kept.run("run", "--job", "c", "echo", ":::").code == 0 and kept.out() == b""
    refused = kept.run("run", ":::", "a")
    assert refused.code == 2 and "no command before :::" in refused.err


def test_another_word_may_stand_for_the_item(kept: Kept) -> None:
    """-I as xargs has it: then {} is text."""
    kept.scratch.items("a b")
    assert kept.run("run", "-a", "i", "-I", "ITEM", "echo", "ITEM", "xITEMx", "{}", "{id}").code == 0
    assert kept.out() == b"a b xa bx {} a b\n"
    angle = kept.run("run", "-a", "i", "--job", "angle", "echo", "<id>", "<id>!")
    assert kept.out() == b"a b <id>!\n" and "<id> stands for the item" in angle.err


def test_shell_takes_one_string_and_quotes_whatever_an_item_holds(kept: Kept) -> None:
    """In the open, inside single and double quotes, in a substitution; nothing of an item is executed."""
    kept.scratch.items(*HOSTILE)
    script = "printf '%s\\n' {} >>open; printf '%s\\n' 'in {} it' >>single; printf '%s\\n' \"in {} it\" >>double; printf '%s\\n' \"$(printf %s {})\" >>nested"
    ended = kept.run("run", "-a", "i", "--shell", script)
    assert ended.code == 0 and not (kept.scratch.path / "pwned").exists()
    wanted = "".join(id + "\n" for id in HOSTILE)
    around = "".join(f"in {id} it\n" for id in HOSTILE)
    found = [(kept.scratch.path / name).read_bytes().decode() for name in ("open", "nested", "single", "double")]
    assert found == [wanted, wanted, around, around]


def test_shell_appends_the_item_and_refuses_what_it_cannot_quote(kept: Kept) -> None:
    kept.scratch.items("a b", "$(touch pwned)")
    assert kept.run("run", "-a", "i", "--shell", "printf '%s\\n' x").code == 0
    assert kept.out() == b"x\na b\nx\n$(touch pwned)\n"
    for wrong in (["echo", "{}"], ["echo `echo {}`"], ["cat <<E\n{}\nE\n"], ["echo \\{}"]):
        refused = kept.run("run", "--job", "w", "-a", "i", "--shell", *wrong)
        assert refused.code == 2 and "Traceback" not in refused.err and refused.err.startswith("resumectl: "), wrong


def test_a_script_with_a_placeholder_inside_is_warned_of(kept: Kept) -> None:
    """It names --shell and the variable; a script that takes the item as an argument is silent."""
    kept.scratch.items("a")
    for words, warned in (
        (["sh", "-c", "echo {} >>effects"], True),
        (["bash", "-xc", "echo '{}'"], True),
        (["env", "sh", "-c", "echo {.}"], True),
        (["sh", "-c", 'echo "$1"', "_", "{}"], False),
        (["--shell", "echo {}"], False),
    ):
        ended = kept.run("run", "--fresh", "-a", "i", *words)
        assert ('--shell' in ended.err and '"$RESUMECTL_ITEM"' in ended.err) == warned, words


def test_a_command_may_read_its_item_and_only_that(kept: Kept) -> None:
    """The id, or the record, and a newline, then the end; the list on our own stdin stays whole."""
    ids = "".join(f"{n}\n" for n in range(700))
    assert kept.run("run", "--stdin", "item", "--sync", "none", "-j", "2", "-k", "cat", stdin=ids).code == 0
    assert kept.out().decode() == ids
    kept.scratch.write("r.jsonl", '{"id":"a","n":[1,"\\u00e9"]}\n')
    words = ["-a", "r.jsonl", "--format", "jsonl", "--key", "id", "--stdin", "item"]
    assert kept.run("run", "--job", "r", *words, "cat").code == 0 and json.loads(kept.out()) == {"id": "a", "n": [1, "é"]}
    kept.run("run", "--job", "none", "sh", "-c", "cat", "_", stdin="x\ny\n")
    assert kept.out() == b""


def test_the_environment_is_what_was_asked_for(kept: Kept) -> None:
    """--env sets, hands on, or takes back what a preset or the caller set; --unset takes away."""
    kept.scratch.items("a")
    kept.scratch.env |= {"HERE": "1", "GONE": "1"}
    script = 'echo "$A,$B,${HERE-none},${GONE-none},$RESUMECTL_JOB,$RESUMECTL_INDEX,$RESUMECTL_SLOT,$RESUMECTL_ATTEMPT"'
    words = ["--env", "A=x=y z", "--env", "B=", "--env", "HERE", "--unset", "GONE"]
    assert kept.run("run", "-a", "i", *words, "sh", "-c", script, "_").code == 0
    assert kept.out() == b"x=y z,,1,none,sh,1,1,1\n"
    environ = 'echo "$RESUMECTL_JOURNAL"; echo ${#RESUMECTL_KEY} ${#RESUMECTL_ATTEMPT_UUID}'
    kept.run("run", "--fresh", "-a", "i", "sh", "-c", environ, "_")
    assert kept.out().decode().splitlines() == [str(kept.scratch.journal()), "36 36"]


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("x.csv", 'id,n\na,1\n"b,2\n', "line 3, column 1"),
        ("x.csv", "id,n\na,1\nb\n", "line 3, column 2"),
        ("x.csv", "id,n\n,1\n", "line 2, column 1"),
        ("x.csv", "name,n\na,1\n", "line 1"),
        ("x.tsv", "id\tn\na\t1\t2\n", "line 2, column 3"),
        ("x.jsonl", '{"id":"a"}\n{"id":\n', "line 2, column"),
        ("x.jsonl", '{"id":"a"}\n{"no":1}\n', "line 2"),
        ("x.jsonl", '{"id":1.5}\n', "line 1"),
    ],
)
def test_a_bad_row_is_named_before_anything_runs_and_a_stream_stops_there(kept: Kept, name: str, text: str, where: str) -> None:
    """Exit 2 for a file; exit 3 for a stream, whose items before it have run and stay recorded."""
    kept.scratch.write(name, text)
    words = ["--format", name[2:], "--key", "id", *APPEND]
    refused = kept.run("run", "-a", name, *words)
    assert refused.code == 2 and f"{name}: {where}" in refused.err and not kept.scratch.effects()
    assert not kept.scratch.journal().exists() or not kept.scratch.records("sh", "started")
    stopped = kept.run("run", "--job", "s", *words, stdin=text)
    assert stopped.code == 3 and where in stopped.err
    good = ["a"] if ("a,1\n" in text and "name" not in text) or '"a"' in text else []
    assert kept.scratch.effects() == good and len(kept.scratch.records("s", "done")) == len(good)


def test_a_list_that_looks_like_a_table_gets_one_line_of_advice(kept: Kept) -> None:
    for name in ("x.csv", "x.CSV", "x.tsv", "x.jsonl", "x.txt", "csv"):
        kept.scratch.write(name, "a,b\n")
        ended = kept.run("run", "--fresh", "-a", name, *APPEND)
        hints = [line for line in ended.err.splitlines() if "is read as plain lines" in line]
        assert ended.code == 0 and len(hints) == (name[2:].lower() in ("csv", "tsv", "jsonl")), name
        assert not hints or f"--format {name[2:].lower()} --key FIELD" in hints[0]


def test_options_of_a_list_that_contradict_are_refused(kept: Kept) -> None:
    kept.scratch.items("a")
    for words in (["--key", "x"], ["--format", "csv"], ["-0", "-d", ","], ["--format", "csv", "--key", "a", "-0"], ["-d", "ab"]):
        refused = kept.run("run", "-a", "i", *words, *APPEND)
        assert refused.code == 2 and refused.err.startswith("resumectl: "), words


def test_each_line_of_a_growing_list_starts_at_once(scratch: Scratch) -> None:
    """`tail -f list | resumectl run …`: a line that has been written is an effect before the next one is."""
    scratch.write("grows", b"")
    tail = subprocess.Popen(["tail", "-f", "grows"], cwd=scratch.path, stdout=subprocess.PIPE)
    process = scratch.start("run", *APPEND, stdin=tail.stdout)
    with open(scratch.path / "grows", "ab", buffering=0) as file:
        for n in range(10):
            file.write(b"%d\n" % n)
            until(lambda n=n: len(scratch.effects()) == n + 1)
    tail.kill()
    tail.wait()
    assert process.wait(PATIENCE) == 0 and scratch.effects() == [str(n) for n in range(10)]


def test_names_that_are_not_text_pass_through_find_and_fields(kept: Kept) -> None:
    folder = os.fsencode(kept.scratch.path / "files")
    os.mkdir(folder)
    names = [b"caf\xe9", b"new\nline", b"a'b", b"-rf"]
    for name in names:
        open(folder + b"/" + name, "w").close()
    line = "find files -type f -print0 | resumectl run -0 -- sh -c 'test -f \"$1\" && printf \"%s\\0\" \"$1\" >>effects' _ {}"
    assert typed(kept.scratch, line).code == 0
    assert sorted((kept.scratch.path / "effects").read_bytes().split(b"\0")[:-1]) == sorted(b"files/" + name for name in names)
    kept.scratch.write("x.csv", b"id,n\ncaf\xe9,\xff\n")
    kept.run("run", "-a", "x.csv", "--format", "csv", "--key", "id", "--job", "c", "printf", "%s %s %s", "{}", "{n}", "{id}")
    assert kept.out() == b"caf\xe9 \xff caf\xe9"
