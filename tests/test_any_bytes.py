"""No id reaches a command changed, whatever bytes it has and whichever way it goes (SPEC 2.2, 2.3, 4)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warm import Warm

LONGEST = 65_536
# Pieces that shells, templates, terminals and decoders stumble over.
PIECES = [b"'", b'"', b"\\", b"$(touch pwned)", b"`touch pwned`", b";touch pwned;", b"\n", b"\r\n", b"{}", b"{id}", b" ", b"-", b"\xff", b"\xe2\x80\xa8", b"\x1b[31m", b"%s", b"*", b"~", b"!", b"#", b"[red]", b"\xef\xbb\xbf"]
SHORT = st.one_of(st.binary(min_size=1, max_size=40), st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map(b"".join))
LONG = st.tuples(SHORT, st.integers(1000, LONGEST)).map(lambda made: (made[0] * made[1])[: made[1]])
IDS = st.lists(st.one_of(SHORT, SHORT, LONG).map(lambda id: id.replace(b"\0", b"0")), min_size=1, max_size=8, unique=True)

FORMS = {
    "argv": (["sh", "-c", 'printf "%s\\0" "$1" >>got', "_", "{}"]),
    "inside": (["sh", "-c", 'printf "%s\\0" "${1#x}" >>got', "_", "x{}"]),
    "shell": (["--shell", "printf '%s\\0' {} >>got"]),
    "quoted": (["--shell", "printf '%s\\0' \"{}\" >>got; : '{}'"]),
    "stdin": (["--stdin", "item", "sh", "-c", 'cat >>got; printf "\\0" >>got']),
    "variable": (["sh", "-c", 'printf "%s\\0" "$RESUMECTL_ITEM" >>got', "_"]),
    "batch": (["-n", "5", "sh", "-c", 'printf "%s\\0" "$@" >>got', "_", "{}"]),
    "batch shell": (["-n", "5", "--shell", "printf '%s\\0' {} >>got"]),
}
ARGUMENT = 131_000  # bytes of one argument, which a script with its quotes may exceed


def fits(id: bytes, form: str) -> bool:
    return ("shell" not in form and form != "quoted") or 2 * len(id) + 10 * id.count(b"'") + 4 * sum(map(id.count, b'$`"\\!')) < ARGUMENT


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], database=None)
@given(ids=IDS)
def test_every_id_arrives_unchanged(ram: Path, warms: list[Warm], form: str, ids: list[bytes]) -> None:
    """What is too long for a script fails as spawn, alone; nothing that an id holds is executed."""
    shutil.rmtree(ram, ignore_errors=True)
    ram.mkdir()
    (ram / "i").write_bytes(b"".join(id + b"\0" for id in ids))
    warms[0].start(["run", "--sync", "none", "-0", "-a", "i", "--job", "j", *FORMS[form]], ram, {"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    ended = warms[0].wait()
    end = b"\n" if form == "stdin" else b""
    got = (ram / "got").read_bytes().split(b"\0")[:-1] if (ram / "got").exists() else []
    assert set(got) <= {id + end for id in ids} and len(got) == len(set(got))
    assert {id + end for id in ids if fits(id, form)} <= set(got), ended.err
    assert not (ram / "pwned").exists() and "Traceback" not in ended.err
