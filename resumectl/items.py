"""A stream of bytes becomes items.

An id is bytes from the list to the child's argv: nothing is decoded that need not be, so a file name in Latin-1
comes through whole. `Reader` is fed chunks as they arrive; where one chunk ends and the next begins never matters.
"""

import re
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar, cast

T = TypeVar("T")
Fields = Mapping[str, object]
Sift = Callable[[list[bytes]], Iterable[int]]  # says of some ids which are worth an Item, by their places
Found = tuple[bytes, Fields] | None  # None: an empty entry, to be counted

BOM = b"\xef\xbb\xbf"
_PATH = re.compile(r"[^.\[\]]+(?:\[[0-9]+\])*(?:\.[^.\[\]]+(?:\[[0-9]+\])*)*")
_OPEN = "unexpected end of data"  # the csv module of lines that end inside quotes
_STEP = re.compile(r"\[([0-9]+)\]|([^.\[\]]+)")


class Item(NamedTuple, Generic[T]):
    """One entry of a list: the id that names it, what else its record holds, its position (from 1, repeats counted)."""

    id: bytes
    value: T
    index: int  # type: ignore[assignment]  # a tuple's method of that name is of no use here


class ListError(Exception):
    """A record that cannot be read. The text begins with `line L, column C: `."""

    def __init__(self, line: int, column: int, what: str) -> None:
        super().__init__(f"line {line}, column {column}: {what}")


@dataclass(frozen=True)
class Format:
    """How the list is written. `key` names the field that holds the id; only the formats with records have one."""

    name: str = "lines"
    delimiter: bytes = b"\n"
    key: str | None = None


def format_of(
    format: str = "lines", null: bool = False, delimiter: str | bytes | None = None, key: str | None = None
) -> Format:
    """The Format that these options ask for. Raises ValueError, a plain sentence, where they contradict."""
    if format not in ("lines", "jsonl", "csv", "tsv"):
        raise ValueError(f"--format {format} is unknown; use lines, jsonl, csv or tsv")
    if null and delimiter is not None:
        raise ValueError("--null and --delimiter exclude each other; give one of them")
    if format != "lines" and (null or delimiter is not None):
        raise ValueError(f"--null and --delimiter are for plain lists; leave them out with --format {format}")
    if format != "lines" and not key:
        raise ValueError(f"--format {format} needs --key FIELD, the field that holds the id")
    if format == "lines" and key is not None:
        raise ValueError("--key is for records; add --format jsonl, csv or tsv")
    if format != "lines" or null:
        return Format("null" if null else format, b"\0" if null else b"\n", key)
    return Format() if delimiter is None else Format("delimiter", _delimiter(delimiter))


def _delimiter(text: str | bytes) -> bytes:
    r"""One byte, as it is or escaped as xargs reads it: `\t`, `\0`, `\x41`, `\101`."""
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    if re.fullmatch(rb"\\(?:[abfnrtv\\]|x[0-9a-fA-F]{2}|[0-3]?[0-7]{1,2})", raw):
        raw = bytes([ord(raw.decode("unicode_escape"))])
    if len(raw) != 1:
        raise ValueError(r"--delimiter must be one byte, or an escape such as \t or \x1f; for NUL use --null")
    return raw


class Reader:
    """The items of a list whose bytes arrive in chunks of any size.

    A malformed record ends the list: the items before it are still returned, `error` is set, and the next call raises
    it (this call does, if there is no item before it). Items and error are the same for every cut into chunks.
    """

    def __init__(self, format: Format, sift: Sift | None = None) -> None:
        """`sift` is asked where the list has no records."""
        self.empty, self._sift, self.error = 0, sift, cast(ListError | None, None)
        self._format = format
        self._count = 0
        self._tail: list[bytes] = []  # of the unfinished entry; joined once, so a long one is not copied per chunk
        self._head: bytes | None = None if format.name in ("null", "delimiter") else b""
        self._parser: Callable[[list[bytes], bool], Iterator[Found]] | None = None
        if format.key is not None:
            self._parser = _Objects(format.key) if format.name == "jsonl" else _Table(format)

    def feed(self, chunk: bytes) -> list[Item[Fields | None]]:
        """The items that `chunk` completes. Raises ListError."""
        if self._head is not None:
            self._head += chunk
            if len(self._head) < len(BOM) and BOM.startswith(self._head):
                return []
            chunk, self._head = self._head.removeprefix(BOM), None
        return self._take(self._split(chunk), last=False)

    def close(self) -> list[Item[Fields | None]]:
        """The end of the list: the last item, if no separator followed it. Raises ListError."""
        tail = b"".join((*self._tail, self._head or b""))
        self._tail, self._head = [], None
        return self._take([tail] if tail else [], last=True)

    def _split(self, chunk: bytes) -> list[bytes]:
        separator = self._format.delimiter
        if separator not in chunk:
            self._tail.append(chunk)
            return []
        data = b"".join((*self._tail, chunk))
        if self._format.name == "lines" and b"\r\n" in data:
            data = data.replace(b"\r\n", b"\n")
        *entries, tail = data.split(separator)
        self._tail = [tail]
        return entries

    def _take(self, entries: list[bytes], last: bool) -> list[Item[Fields | None]]:
        if self.error is not None:
            raise self.error
        if self._parser is not None:  # no new line, nothing new to parse
            return [] if not (entries or last) else self._records(self._parser(entries, last))
        full = [entry for entry in entries if entry]
        self.empty += len(entries) - len(full)
        start, self._count = self._count + 1, self._count + len(full)
        places = range(len(full)) if self._sift is None else self._sift(full)
        return [Item(full[at], None, start + at) for at in places]

    def _records(self, found: Iterable[Found]) -> list[Item[Fields | None]]:
        items: list[Item[Fields | None]] = []
        try:
            for record in found:
                if record is None:
                    self.empty += 1
                    continue
                self._count += 1
                items.append(Item(*record, self._count))
        except ListError as error:
            self.error = error
            if not items:
                raise
        return items


class _Objects:
    """JSONL: one object a line."""

    def __init__(self, key: str) -> None:
        self._key, self._line = key, 0

    def __call__(self, lines: list[bytes], last: bool) -> Iterator[Found]:
        for line in lines:
            self._line += 1
            yield self._object(line) if line.strip() else None

    def _object(self, line: bytes) -> Found:
        import orjson

        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ListError(self._line, *_json_fault(line, error)) from None
        if not isinstance(record, dict):
            raise ListError(self._line, 1, "not a JSON object")
        try:
            return self._id(field(record, self._key)), record
        except KeyError:
            raise ListError(self._line, 1, f"the record has no field {self._key!r}") from None

    def _id(self, value: object) -> bytes:
        if isinstance(value, bool) or not isinstance(value, (str, int)):  # a float too: rounding would merge two ids
            raise ListError(self._line, 1, f"the field {self._key!r} is not a string or a whole number of 64 bits")
        if value == "":
            raise ListError(self._line, 1, f"the field {self._key!r} is empty; it must name the item")
        return str(value).encode()


def _json_fault(line: bytes, error: Any) -> tuple[int, str]:
    """Column, in characters from 1, and what is wrong there."""
    try:
        line.decode()
    except UnicodeDecodeError as bad:
        return len(line[: bad.start].decode()) + 1, f"byte 0x{line[bad.start]:02x} is not UTF-8"
    return error.colno, f"not JSON: {error.msg}"


class _Table:
    """CSV and TSV with a header. Columns are counted in cells, lines as an editor counts them."""

    def __init__(self, format: Format) -> None:
        self._key, self._delimiter = str(format.key), "\t" if format.name == "tsv" else ","
        self._header: list[str] | None = None
        self._lines: list[str] = []  # of the record that a quoted line end has left open
        self._done = 0  # physical lines before these

    def __call__(self, lines: list[bytes], last: bool) -> Iterator[Found]:
        import csv

        csv.field_size_limit(2**31 - 1)  # the default refuses a cell of 128 KiB
        self._lines += [line.decode("utf-8", "surrogateescape") + "\n" for line in lines]
        rows, used = csv.reader(self._lines, delimiter=self._delimiter, strict=True), 0
        try:
            for row in rows:
                line, used = self._done + used + 1, rows.line_num
                if not row:
                    yield None
                elif self._header is None:
                    self._header = self._checked(row, line)
                else:
                    yield self._record(self._header, row, line)
        except csv.Error as error:
            if last or str(error) != _OPEN:  # else the record goes on in lines still to come
                raise self._fault("".join(self._lines[used:]), self._done + used + 1, str(error)) from None
        self._lines, self._done = self._lines[used:], self._done + used
        if last and self._header is None:
            raise ListError(1, 1, "there is no header row")

    def _checked(self, header: list[str], line: int) -> list[str]:
        for column, name in enumerate(header, 1):
            if name in header[: column - 1]:
                raise ListError(line, column, f"the header has {name!r} twice")
        if self._key not in header:
            raise ListError(line, 1, f"the header has no field {self._key!r}; it has {', '.join(map(repr, header))}")
        return header

    def _record(self, header: list[str], row: list[str], line: int) -> Found:
        wanted, got = len(header), len(row)
        if got < wanted:
            raise ListError(line, got + 1, f"no cell for {header[got]!r}; the row has {got}, the header {wanted}")
        if got > wanted:
            raise ListError(line, wanted + 1, f"a cell too many; the row has {got}, the header {wanted}")
        record = dict(zip(header, row, strict=True))
        if not record[self._key]:
            raise ListError(line, header.index(self._key) + 1, f"{self._key!r} is empty; it must name the item")
        return record[self._key].encode("utf-8", "surrogateescape"), record

    def _fault(self, text: str, line: int, what: str) -> ListError:
        """Where the csv module gave up on the record that begins `text`, which it does not say itself."""
        if what == _OPEN:
            *before, open_cell = self._cells(text, strict=False)
            line += text.count("\n") - open_cell.count("\n")
            return ListError(line, len(before) + 1, "the quote that opens here is never closed")
        # the shortest beginning that fails in the same way ends with the faulty character
        end = bisect_left(range(len(text)), True, key=lambda end: self._cells(text[:end]) == [what]) - 1
        what = "a carriage return outside quotes" if "new-line" in what else what
        return ListError(line + text[:end].count("\n"), len(self._cells(text[:end], strict=False)), what)

    def _cells(self, text: str, strict: bool = True) -> list[str]:
        import csv

        try:
            return next(csv.reader([text], delimiter=self._delimiter, strict=strict), [])
        except csv.Error as error:
            return [str(error)]


def field(record: Fields, name: str) -> object:
    """What `record` holds under `name`: that very key, else a path such as `a.b[0].c`. Raises KeyError."""
    if name in record:
        return record[name]
    found: Any = record
    try:
        for step in _steps(name):
            found = found[step] if isinstance(found, list if isinstance(step, int) else Mapping) else {}[step]
    except (KeyError, IndexError):
        raise KeyError(name) from None
    return found


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Any, ...]:
    if not _PATH.fullmatch(path):
        return (path,)  # a name that is no path: missing, like any other
    return tuple(int(number) if number else name for number, name in _STEP.findall(path))


def record(item: Item[Fields | None]) -> bytes:
    """The item's record as JSON; bytes, and text that is not UTF-8, stand as `{"b64": "…"}`, as in the journal."""
    import orjson

    fields = {"id": item.id.decode("utf-8", "surrogateescape")} if item.value is None else item.value
    return orjson.dumps({_readable(name): _spelled(value) for name, value in fields.items()}, default=str)


def _readable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _spelled(value: object) -> object:
    odd = isinstance(value, str) and _readable(value) != value
    raw = str(value).encode("utf-8", "surrogateescape") if odd else value
    return {"b64": b64encode(raw).decode()} if isinstance(raw, bytes) else raw
