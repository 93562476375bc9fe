"""A list's bytes become items, whatever the cut into chunks."""

import csv
import io
import pickle

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from resumectl.items import Format, Item, ListError, Reader, field, format_of, record

LINES = Format()
CSV, TSV, JSONL = format_of("csv", key="id"), format_of("tsv", key="id"), format_of("jsonl", key="id")


def read(data, format=LINES, size=None):
    """Items, dropped empties and the error's text, as a caller sees them who feeds chunks of `size` bytes."""
    reader, items, size = Reader(format), [], size or len(data) or 1
    try:
        for start in range(0, len(data), size):
            items += reader.feed(data[start : start + size])
        items += reader.close()
    except ListError as error:
        assert reader.error in (None, error)
        return items, reader.empty, str(error)
    return items, reader.empty, None


def ids(data, format=LINES):
    items, _, error = read(data, format)
    assert error is None
    return [item.id for item in items]


@pytest.mark.parametrize(
    "data, expected",
    [
        (b"", []),
        (b"\n\r\n\n", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\nb", [b"a", b"b"]),
        (b"id1\r\nid2\r\n", [b"id1", b"id2"]),
        (b"a\r\r\n", [b"a\r"]),
        (b"a\rb\nc\r", [b"a\rb", b"c\r"]),
        (b"\xef\xbb\xbfid1\nid2", [b"id1", b"id2"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb", [b"\xef\xbb"]),
        (b"a\n\xef\xbb\xbfb", [b"a", b"\xef\xbb\xbfb"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", [b"\xef\xbb\xbfa"]),
        ("a\u2028b\x85c\x0bd\x0c\n".encode(), ["a\u2028b\x85c\x0bd\x0c".encode()]),
        (b"a\xffb\n\xc3\n", [b"a\xffb", b"\xc3"]),
        (b"a\0b\nok", [b"a\0b", b"ok"]),
        (b" a \n\t\n", [b" a ", b"\t"]),
    ],
)
def test_only_a_line_feed_separates_lines_and_every_other_byte_is_kept(data, expected):
    assert ids(data) == expected


@pytest.mark.parametrize(
    "format, data, expected",
    [
        (format_of(null=True), b"a\nb\r\0c\0\0d", [b"a\nb\r", b"c", b"d"]),
        (format_of(null=True), b"\xef\xbb\xbfa\0", [b"\xef\xbb\xbfa"]),
        (format_of(delimiter=","), b"a,b\n", [b"a", b"b\n"]),
        (format_of(delimiter=r"\n"), b"a\r\nb", [b"a\r", b"b"]),
    ],
)
def test_with_null_or_a_delimiter_nothing_else_is_stripped(format, data, expected):
    assert ids(data, format) == expected


def test_empty_entries_are_counted_and_positions_count_the_others():
    items, empty, _ = read(b"a\n\n\na\n\r\nb")
    assert [(item.id, item.index) for item in items] == [(b"a", 1), (b"a", 2), (b"b", 3)]
    assert empty == 3
    assert all(item.value is None for item in items)


def test_an_item_is_there_as_soon_as_its_line_has_been_read():
    reader = Reader(Format())
    assert [item.id for item in reader.feed(b"a\nb")] == [b"a"]
    assert [item.id for item in reader.feed(b"c\n")] == [b"bc"]
    assert reader.close() == []


@pytest.mark.parametrize(
    "text, byte",
    [(";", b";"), ("\t", b"\t"), (r"\t", b"\t"), (r"\0", b"\0"), (r"\n", b"\n"), (r"\x41", b"A"), (r"\101", b"A")]
    + [("\\", b"\\"), (r"\\", b"\\"), (b"\xff", b"\xff"), ("\udcff", b"\xff"), (r"\xff", b"\xff")],
)
def test_a_delimiter_is_one_byte_or_an_escape_for_one(text, byte):
    assert format_of(delimiter=text) == Format("delimiter", byte)


@pytest.mark.parametrize(
    "options, words",
    [
        (dict(format="csv"), "needs --key"),
        (dict(format="jsonl", key=""), "needs --key"),
        (dict(key="id"), "add --format"),
        (dict(null=True, key="id"), "add --format"),
        (dict(null=True, delimiter=","), "exclude each other"),
        (dict(format="tsv", key="id", null=True), "plain lists"),
        (dict(format="csv", key="id", delimiter=";"), "plain lists"),
        (dict(format="xml"), "use lines, jsonl, csv or tsv"),
        (dict(delimiter="ab"), "one byte"),
        (dict(delimiter=""), "--null"),
        (dict(delimiter="é"), "one byte"),
        (dict(delimiter=r"\q"), "one byte"),
        (dict(delimiter=r"\777"), "one byte"),
    ],
)
def test_options_that_contradict_are_refused_with_the_way_out(options, words):
    with pytest.raises(ValueError, match=words):
        format_of(**options)


def test_csv_gives_each_row_as_the_fields_of_its_item():
    data = b'\xef\xbb\xbfid,note\r\n1,"x\r\n""y"", z"\r\n\r\n2,\r\n'
    items, empty, error = read(data, CSV)
    assert [(item.id, item.value) for item in items] == [
        (b"1", {"id": "1", "note": 'x\r\n"y", z'}),
        (b"2", {"id": "2", "note": ""}),
    ]
    assert (empty, error) == (1, None)


def test_tsv_separates_by_tabs_only():
    assert read(b"n\tid\na,b\tx y\n", TSV)[0] == [Item(b"x y", {"n": "a,b", "id": "x y"}, 1)]


def test_csv_ids_stay_the_bytes_they_were():
    assert ids("id\na\u2028b\nä\n".encode() + b"\xff\0\n", CSV) == ["a\u2028b".encode(), "ä".encode(), b"\xff\0"]


def test_csv_takes_a_cell_of_a_megabyte():
    assert ids(b"id,x\n1," + b"x" * 1_000_000, CSV) == [b"1"]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "line 1, column 1: there is no header row"),
        (b"x,y\n", "line 1, column 1: the header has no field 'id'; it has 'x', 'y'"),
        (b"id,a,id\n", "line 1, column 3: the header has 'id' twice"),
        (b"id,b\n1,2\n3\n", "line 3, column 2: no cell for 'b'; the row has 1, the header 2"),
        (b"id,b\n1,2,3\n", "line 2, column 3: a cell too many; the row has 3, the header 2"),
        (b'id,b\n1,"x\ny"\n2\n', "line 4, column 2: no cell for 'b'; the row has 1, the header 2"),
        (b'b,id\n\n1,""\n', "line 3, column 2: 'id' is empty; it must name the item"),
        (b'id,b\n1,"a\n"x\n', "line 3, column 2: ',' expected after '\"'"),
        (b'id,b\n1,"a\nb\nc', "line 2, column 2: the quote that opens here is never closed"),
        (b"id,b\n1,a\rb\n", "line 2, column 2: a carriage return outside quotes"),
    ],
)
def test_a_malformed_table_is_refused_with_line_and_column(data, message):
    assert read(data, CSV)[2] == message


def test_jsonl_takes_the_id_from_a_path():
    data = b'{"a":{"b":[{"c":7}]}}\r\n\n  \n{"a":{"b":[{"c":"x\\u2028"}]}}'
    items, empty, _ = read(data, format_of("jsonl", key="a.b[0].c"))
    assert [item.id for item in items] == [b"7", "x\u2028".encode()]
    assert items[0].value == {"a": {"b": [{"c": 7}]}}
    assert empty == 2


@pytest.mark.parametrize(
    "line, words",
    [
        (b"[1]", "column 1: not a JSON object"),
        (b'{"id":1,}', "column 8: not JSON"),
        (b'{"id":"\xc3\xa4\xff"}', "column 9: byte 0xff is not UTF-8"),
        (b'{"id":"a', "column 9: not JSON"),
        (b'{"x":1}', "column 1: the record has no field 'id'"),
        (b'{"id":""}', "column 1: the field 'id' is empty"),
    ]
    + [
        (b'{"id":%b}' % value, "'id' is not a string or a whole number")
        for value in (b"true", b"null", b"1.0", b"[]", b"{}", b"123456789012345678901234567890")
    ],
)
def test_a_malformed_record_is_refused_with_line_and_column(line, words):
    items, _, error = read(b'{"id":"first"}\n' + line + b"\n", JSONL)
    assert [item.id for item in items] == [b"first"]
    assert error.startswith("line 2, column ") and words in error


def test_the_items_before_a_malformed_record_are_returned_first():
    reader = Reader(JSONL)
    assert len(reader.feed(b'{"id":1}\n{"id":2}\nnonsense\n{"id":3}\n')) == 2
    assert str(reader.error).startswith("line 3, ")
    for call in (lambda: reader.feed(b'{"id":4}\n'), reader.close):
        with pytest.raises(ListError):
            call()


PIECES = st.sampled_from(
    [b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b'"', b'""', b",", b"\t", b"a", b"\xc3\xa4", b"\xff", b"\0"]
    + ["\u2028".encode(), b"id", b"id,b\n", b'1,"x\ny"\n', b'{"id":"\xc3\xa4"}\n', b'{"id":2}', b"id\tb\n"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=12).map(b"".join), st.integers(1, 7))
@example(b'id,b\r\n1,"x\r\ny"\r\n2,"', 1)
def test_the_cut_into_chunks_changes_nothing(data, size):
    for format in (Format(), format_of(null=True), format_of(delimiter=","), CSV, TSV, JSONL):
        for whole in (data, b"id,b\n" + data, b'{"id":1}\n' + data):
            assert read(whole, format, size) == read(whole, format)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(min_size=1).filter(lambda id: b"\0" not in id)))
def test_every_id_without_a_nul_survives_a_null_separated_list(names):
    assert ids(b"\0".join(names), format_of(null=True)) == names


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8")))))
def test_what_the_csv_module_writes_is_read_back(rows):
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([("id", "b"), *rows])
    items, _, error = read(out.getvalue().encode(), CSV, 5)
    assert error is None
    assert [tuple(item.value.values()) for item in items] == rows


def test_a_field_is_the_very_key_before_it_is_a_path():
    fields = {"a.b": 1, "a": {"b": 2, "c": [[3]]}, "s": "text"}
    assert [field(fields, name) for name in ("a.b", "a.c[0][0]", "s")] == [1, 3, "text"]
    for name in ("x", "a.x", "a.c[1]", "a.c.0", "s[0]", "s.x", "a[0]", "a..b", "", "["):
        with pytest.raises(KeyError):
            field(fields, name)


@pytest.mark.parametrize(
    "item, expected",
    [
        (Item(b"a", {"id": "a", "n": [1, None]}, 1), {"id": "a", "n": [1, None]}),
        (Item(b"a", {"id": "\udcff\u00e4"}, 1), {"id": {"b64": "/8Ok"}}),
        (Item(b"a", {"\udcff": "x"}, 1), {"\ufffd": "x"}),
        (Item(b"a", None, 1), {"id": "a"}),
        (Item(b"\xff", None, 1), {"id": {"b64": "/w=="}}),
    ],
)
def test_a_record_is_json_and_bytes_that_are_not_text_are_base64(item, expected):
    assert orjson.loads(record(item)) == expected


def test_an_item_is_frozen_and_can_be_pickled():
    item = Item(b"a", {"id": "a"}, 1)
    assert pickle.loads(pickle.dumps(item)) == item
    with pytest.raises(AttributeError):
        item.id = b"b"
