"""A value is quoted for the place where it stands in a shell script.

`echo {}`, `echo "a {} b"` and `echo 'a {} b'` each need another quoting, and in some places none is safe: a
here-document, backticks, a comment. `Script` reads the text before each value, far enough to tell them apart; where it
can't tell, it refuses, for a wrong guess would run what an item holds.
"""

import re

_BARE = re.compile(rb"[\w@%+=:,./-]+")  # what shlex.quote leaves bare
_TOKEN = re.compile(
    rb"""\\[ \t;&|()]\#  | \\\n\# | [$<]\\\n | \\. | \\\Z  # escapes; a joined line can hide what any token is
      | \$\$ | \$?\(\( | \$\( | \$\{ | \$' | <<<  | << | ['"`()}\n]
      | (?<![^\s;&|()])\# | (?<![\w-])case(?![\w-])""",
    re.DOTALL | re.VERBOSE,
)
_JOINED = {b"\\\n#": "?", b"$\\\n": "?", b"<\\\n": "?", b"\\": "\\"}
_QUOTED = _JOINED | {b"`": "`", b"$(": "(", b"$((": "((", b"${": "{"}
_UNSURE = dict.fromkeys((b"'", b'"', b"`", b"$'", b"<<", b"#", b"case"), "?")
_OPENS = {  # what a token opens, by what is open
    "(": _QUOTED | {b"'": "'", b'"': '"', b"(": "(", b"#": "#", b"<<": "<<", b"$'": "?", b"((": "(("},
    '"': _QUOTED,
    "{": _QUOTED | {b"'": "?", b'"': "?", b"$'": "?"},
    "((": _QUOTED | _UNSURE | {b"(": "((", b"((": "(("},
}
_CLOSES = {"(": b")", "((": b")", '"': b'"', "`": b"`", "{": b"}"}
_REFUSED = {
    "`": "stands in backticks; write $(…) instead",
    "#": "stands in a comment; take it out",
    "<<": 'stands behind <<; use "$RESUMECTL_ITEM" there',
    "\\": "stands behind a backslash; take that out",
    "$": "stands behind a $; take that out",
    "((": "stands in arithmetic, where it could be code; check it and use a variable there",
    "{": 'stands inside ${…}; use "$RESUMECTL_ITEM" there',
    "?": 'stands behind a case or quotes too intricate to tell what is safe; use "$RESUMECTL_ITEM" there',
}


def quote(value: bytes) -> bytes:
    """`value` as one word, bare where that is safe: shlex.quote for bytes."""
    return value if _BARE.fullmatch(value) else quoted(value)


def quoted(value: bytes) -> bytes:
    """`value` as one word, always in quotes."""
    return b"'" + value.replace(b"'", b"'\"'\"'") + b"'"


def quote_at(place: str, value: bytes) -> bytes:
    """`value` for the place that `Script.place` told."""
    if place in ("'", '"'):  # leave the quotes that are open, and open them again
        return place.encode() + quoted(value) + place.encode()
    return quoted(value) if place == ">" else quote(value)


class Script:
    """What is open in a script, read piece by piece: text, a value, text, …"""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._before = b""

    def read(self, text: bytes) -> None:
        """Text as it stands between two values."""
        text, start = self._before + text, len(self._before)
        for token in _TOKEN.finditer(text, start):  # from there on, but with an eye for what is before a #
            self._step(token[0], self._open[-1] if self._open else "(")
        self._before = text[-1:]

    def place(self, name: str, after: bytes) -> str:
        """Where the value of the placeholder `name` stands, `after` being the text behind it. Raises ValueError."""
        place = self._open[-1] if self._open else "("
        if place == "(" and self._before == b"$":
            place = "$"
        if place in _REFUSED:
            raise ValueError(f"{name} {_REFUSED[place]}")
        self._before = b"x"  # a # behind a value begins no comment
        return ">" if place == "(" and after[:1] in (b"<", b">") else place  # echo 2>f: a bare 2 is a descriptor

    def ends_in_command(self) -> bool:
        """Whether one more word at the end would be an argument of the last command."""
        return not self._open and self._before not in (b";", b"&", b"|", b"<", b">", b"\n", b"")

    def _step(self, token: bytes, place: str) -> None:
        opened = _OPENS.get(place, {}).get(token)
        if (place == "'" and token.endswith(b"'")) or (place == "#" and b"\n" in token) or _CLOSES.get(place) == token:
            del self._open[-1:]  # in these quotes, and in comments, a backslash is a letter
        elif token == b"case" and place == "(" and self._open:  # its patterns hold a ) that closes nothing
            self._open.append("?")
        elif opened:
            self._open += [opened] * (2 if token.endswith(b"((") else 1)
