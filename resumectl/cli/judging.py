"""How the ends of a command are judged: the preset for its program, and the options of one's own."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import presets
from ..presets import Preset
from ..verdict import Rules
from . import Refusal
from .choices import seconds


@dataclass(frozen=True)
class Judging:
    """The rules in force, the timeout in seconds, the variables to take away, and the preset they come from."""

    rules: Rules
    timeout: float | None
    unset: tuple[str, ...]
    preset: Preset | None
    words: tuple[bytes, ...]

    def lines(self, jobs: int) -> Iterator[str]:
        """What the start lines say of the preset."""
        if self.preset is None:
            return
        name = self.preset.name
        only = (
            ""
            if self.preset.applies_json(self.words)
            else ", of which only the texts count, for the command asks for no JSON"
        )
        yield f"preset {name}{only} (resumectl presets {name}; --preset none drops it)"
        yield from self.preset.advice(self.words, jobs)


def judging(words: Sequence[bytes], shell: bool, name: str | None, own: Mapping[str, Any]) -> Judging:
    """The preset that is named, or that the program's name chooses, with one's own options; raises Refusal."""
    plain = _split(words[0]) if shell else list(words)
    try:
        preset = _preset(plain, name)
        settings = preset.settings(plain, own) if preset is not None else dict(own)
        rules = Rules.parse(settings)
    except ValueError as error:
        raise Refusal(str(error)) from None
    timeout = settings.get("timeout")
    return Judging(
        rules,
        seconds(timeout) if isinstance(timeout, str) else timeout,
        tuple(settings.get("unset") or ()),
        preset,
        tuple(plain),
    )


def _preset(words: Sequence[bytes], name: str | None) -> Preset | None:
    if name == "none" or not words:
        return None
    return presets.load(name) if name is not None else presets.for_program(words[0])


def _split(script: bytes) -> list[bytes]:
    """A script's words, as far as they can be told without a shell."""
    try:
        return [os.fsencode(word) for word in shlex.split(os.fsdecode(script))]
    except ValueError:
        return []


def environment(base: Mapping[bytes, bytes], env: Sequence[str] | None, unset: Sequence[str]) -> dict[bytes, bytes]:
    """The commands' environment: ours, less what is unset, plus `K=V`; a bare `K` stays though it be unset."""
    given = [os.fsencode(one) for one in env or ()]
    kept = {one for one in given if b"=" not in one}
    gone = {os.fsencode(name) for name in unset} - kept
    environ = {name: value for name, value in base.items() if name not in gone}
    for one in given:
        name, equals, value = one.partition(b"=")
        if not name:
            raise Refusal(f"--env {os.fsdecode(one)!r} names no variable; write K=V, or K")
        if equals:
            environ[name] = value
    return environ
