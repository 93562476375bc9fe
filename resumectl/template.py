"""Words with placeholders become argv.

Each word is cut once, at its placeholders; what an item holds is put between the pieces and never looked at again. So
nothing in an item is expanded, and without `--shell` no shell sees it. With `--shell` each value is quoted to stand
where its placeholder stands, and a place where no quoting is safe (a here-document, backticks, a comment) is refused.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .items import field
from .shell import Script, quote_at, quoted

_FIELD = re.compile(r"[^\W\d][\w-]*(?:\[[0-9]+\]|\.[\w-]+)*")  # what looks like a field, not like JSON or awk
_EXTENSION = re.compile(rb"\.[^/.]*\Z")
_SHELLS = {b"sh", b"bash", b"dash", b"zsh", b"ksh"}


@dataclass(frozen=True, slots=True)
class Values:
    """What one start of one item puts in the placeholders' place; `record` is None in a plain list."""

    id: bytes
    index: int
    slot: int
    key: str
    attempt: int
    record: Mapping[str, object] | None = None


def _dirname(path: bytes) -> bytes:
    head = path.rstrip(b"/").rpartition(b"/")[0].rstrip(b"/")
    return head or (b"/" if path.startswith(b"/") else b".")


_BUILT_IN: dict[str, Callable[[Values], bytes]] = {
    "id": lambda values: values.id,
    ".": lambda values: _EXTENSION.sub(b"", values.id),
    "/": lambda values: values.id.rpartition(b"/")[2],
    "//": lambda values: _dirname(values.id),
    "/.": lambda values: _EXTENSION.sub(b"", values.id.rpartition(b"/")[2]),
    "#": lambda values: b"%d" % values.index,
    "%": lambda values: b"%d" % values.slot,
    "key": lambda values: values.key.encode(),
    "attempt": lambda values: b"%d" % values.attempt,
}


@dataclass(frozen=True, slots=True)
class Hole:
    """A placeholder: a built-in one, or a field, which stays as its `text` if the record has no such field."""

    name: str
    text: bytes
    likely: bool = True  # False: looks like JSON or awk, though a record may have such a name
    place: str = ""  # in a script: where it stands, for the quoting

    def value(self, values: Values) -> bytes | None:
        """None if the record has no such field."""
        if fill := _BUILT_IN.get(self.name):
            return fill(values)
        for name in (self.name.removeprefix("record."), self.name):
            try:
                return _bytes(field(values.record or {}, name))
            except KeyError:
                continue
        return None


Part = bytes | Hole
Word = bytes | tuple[Part, ...]  # bytes: nothing to fill in


@dataclass(frozen=True, slots=True)
class Template:
    """A command with its placeholders; made by `compile`."""

    words: tuple[Word, ...]
    shell: bool = False
    angle: bool = False  # an argument `<id>` counts as `{}`
    certain: bool = False  # a built-in placeholder is there; else an item that fills nothing is appended
    appended: bool = False  # no placeholder anywhere: the id becomes the last argument

    def argv(self, values: Values) -> list[bytes]:
        """The words for one item."""
        argv = [word if isinstance(word, bytes) else _filled(word, values, self.shell) for word in self.words]
        if not self.certain and not self._expands(values):
            argv.append(quoted(values.id) if self.shell else values.id)
        return [b"/bin/sh", b"-c", b" ".join(argv)] if self.shell else argv

    def batch_argv(self, ids: Sequence[bytes], slot: int = 0, *, append: bool = True) -> list[bytes]:
        """The words for several items: `{}` as a word of its own becomes all the ids, which are appended where there
        is none. Ask `batch_error` first."""
        values, listed = Values(b"", 0, slot, "", 0), [quoted(id) for id in ids] if self.shell else list(ids)
        argv: list[bytes] = []
        for word in self.words:
            if self.shell and isinstance(word, tuple):
                spread = tuple(b" ".join(listed) if _is_id(part) else part for part in word)
                argv.append(_filled(spread, values, True))
            elif isinstance(word, tuple) and len(word) == 1 and _is_id(word[0]):
                argv += listed
            else:
                argv.append(word if isinstance(word, bytes) else _filled(word, values, False))
        if append and not self.places(False):
            argv += listed
        return [b"/bin/sh", b"-c", b" ".join(argv)] if self.shell else argv

    def places(self, append: bool = True) -> int:
        """How many times the ids stand among the words of a batch."""
        return sum(_is_id(hole) for word in self.words for hole in _holes(word)) or append

    def batch_error(self) -> str | None:
        """Why this command cannot take several items at once, or None."""
        for word in self.words:
            for hole in _holes(word):
                text = hole.text.decode("utf-8", "replace")
                if hole.name == "id" and not _alone(word, hole, self.shell):
                    return f"{text} stands inside a longer argument; a batch needs it as an argument of its own"
                if hole.likely and hole.name not in ("id", "%"):
                    return f"{text} differs from item to item; leave it out of a batch"
        return None

    def _expands(self, values: Values) -> bool:
        return any(hole.value(values) is not None for word in self.words for hole in _holes(word))


def compile(
    words: Sequence[bytes],
    *,
    replace: bytes = b"{}",
    fields: Collection[str] = (),
    any_field: bool = False,
    shell: bool = False,
) -> Template:
    """The template that `words` are. `fields` are the names that records have, where known; `any_field`: each record
    decides. Raises ValueError, with the way out, if nothing is to be run or a script has no safe place for a value.
    """
    if not words or not words[0].strip():
        raise ValueError("there is no command; give one after the options")
    if not replace:
        raise ValueError("-I needs a text to replace; leave it out for {}")
    if shell and len(words) != 1:
        raise ValueError("--shell takes the command as one string; put it in quotes")
    cut = [_cut(word, replace, fields, any_field) for word in words]
    likely = [hole for parts in cut for hole in _holes(parts) if hole.likely]
    angle = not shell and not likely and b"<id>" in words
    if angle:
        cut = [(Hole("id", word),) if word == b"<id>" else parts for word, parts in zip(words, cut, strict=True)]
    certain = angle or any(hole.name in _BUILT_IN for hole in likely)
    if shell:
        cut = [_fitted(cut[0], not certain)]
    packed = tuple(parts if _holes(parts) else words[n].rstrip() if shell else words[n] for n, parts in enumerate(cut))
    return Template(packed, shell, angle, certain, not angle and not likely)


def quote_command(command: bytes, values: Values, *, replace: bytes = b"{}") -> bytes:
    """`command`, for `/bin/sh -c`, with every placeholder's value quoted; nothing is appended. Raises ValueError."""
    return _filled(_script(command, replace), values, True)


def program(template: Template) -> bytes | None:
    """The program's name as it was given; None if it depends on the item."""
    if template.shell:
        return b"/bin/sh"
    first = template.words[0]
    if isinstance(first, bytes):
        return first
    return None if any(hole.likely for hole in _holes(first)) else b"".join(_source(part) for part in first)


def has_placeholder_in_script(
    words: Sequence[bytes], *, replace: bytes = b"{}", fields: Collection[str] = (), any_field: bool = False
) -> bool:
    """Whether `sh -c SCRIPT` is among `words` with a placeholder inside SCRIPT, where an item would become code."""
    for start, word in enumerate(words):
        if word.rpartition(b"/")[2] not in _SHELLS:
            continue
        options, rest = False, iter(words[start + 1 :])
        for word in rest:
            if word[:1] not in (b"-", b"+") or word == b"--":
                script = next(rest, b"") if word == b"--" else word
                if options and any(hole.likely for hole in _holes(_cut(script, replace, fields, any_field))):
                    return True
                break
            options |= b"c" in word and word[:1] == b"-" and word[:2] != b"--"
            if word[-1:] in (b"o", b"O") and word[:2] != b"--":
                next(rest, b"")  # -o pipefail
    return False


def _cut(word: bytes, replace: bytes, fields: Collection[str], any_field: bool) -> tuple[Part, ...]:
    parts: list[Part] = []
    end = 0
    for found in re.finditer(re.escape(replace) + rb"|\{[^{}]+\}", word):
        text = found[0]
        name = "id" if text == replace else text[1:-1].decode("utf-8", "surrogateescape")
        if name in _BUILT_IN or any_field or _known(name, fields):
            likely = name in _BUILT_IN or _known(name, fields) or bool(_FIELD.fullmatch(name))
            parts += [word[end : found.start()], Hole(name, text, likely)]
            end = found.end()
    return tuple(part for part in [*parts, word[end:]] if part)


def _known(name: str, fields: Collection[str]) -> bool:
    name = name if name in fields else name.removeprefix("record.")
    return name in fields or (bool(_FIELD.fullmatch(name)) and re.split(r"[.\[]", name)[0] in fields)


def _holes(word: Word) -> list[Hole]:
    return [] if isinstance(word, bytes) else [part for part in word if isinstance(part, Hole)]


def _is_id(part: Part) -> bool:
    return isinstance(part, Hole) and part.name == "id"


def _source(part: Part) -> bytes:
    return part if isinstance(part, bytes) else part.text


def _filled(word: Sequence[Part], values: Values, shell: bool) -> bytes:
    pieces = []
    for part in word:
        if isinstance(part, Hole):
            value = part.value(values)
            part = part.text if value is None else quote_at(part.place, value) if shell else value
        pieces.append(part)
    return b"".join(pieces)


def _alone(word: Word, hole: Hole, shell: bool) -> bool:
    if not shell or hole.place in ("'", '"') or isinstance(word, bytes):
        return len(word) == 1
    before, _, after = b"".join([b"\0" if part is hole else _source(part) for part in word]).partition(b"\0")
    return not before[-1:].strip() and not after[:1].strip(b" \t\n;|&)")


def _bytes(value: object) -> bytes:
    """A field as a command reads it: text bare, null empty, everything else as JSON."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if value is None:
        return b""
    if isinstance(value, (bool, float, list, dict)):
        import orjson

        return orjson.dumps(value, default=str)
    return str(value).encode("utf-8", "surrogateescape")


@lru_cache(maxsize=16)
def _script(command: bytes, replace: bytes) -> tuple[Part, ...]:
    return _fitted(_cut(command, replace, (), True), False)


def _fitted(parts: tuple[Part, ...], append: bool) -> tuple[Part, ...]:
    """Each placeholder of a script learns where it stands. Raises ValueError where no quoting is safe."""
    pieces = _merged(parts)
    last = pieces[-1]
    if append and isinstance(last, bytes):
        pieces[-1] = last.rstrip()
    script = Script()
    fitted: list[Part] = []
    for piece, after in zip(pieces, [*pieces[1:], b""], strict=True):
        if isinstance(piece, Hole):
            place = script.place(piece.text.decode("utf-8", "replace"), _source(after))
            piece = Hole(piece.name, piece.text, True, place)
        else:
            script.read(piece)
        fitted.append(piece)
    if append and not script.ends_in_command():
        raise ValueError("an item can't be added at the end of this script; say with {} where it goes")
    return tuple(fitted)


def _merged(parts: tuple[Part, ...]) -> list[Part]:
    """In a script only what is surely a field is filled in: JSON and awk are read as the text that they are."""
    pieces: list[Part] = []
    for part in parts:
        if isinstance(part, Hole) and part.likely:
            pieces.append(part)
        elif pieces and not isinstance(pieces[-1], Hole):
            pieces.append(_source(pieces.pop()) + _source(part))
        else:
            pieces.append(_source(part))
    return pieces
