"""What success, limits and halts look like for the tools that many people loop over: data, one TOML file a tool.

A file's keys are the options of `run`, so a preset can be typed: `flags` prints it. `json-when` lists word sequences
of which the command must have one for the `json:` tests and the paths to count; without it they always count.
`[[advice]]` is said when it applies: `parallel` = only with more than one job, `unless` = a pattern that no word matches.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

WHENS = ("ok", "fail", "limit", "halt", "slow", "retry")
_OF_JSON = ("json-pick", "cost", "sum")
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Preset:
    """A tool's options: texts, and lists of texts for those that repeat."""

    name: str
    options: Mapping[str, Any]
    json_when: tuple[tuple[str, ...], ...] = ()
    advices: tuple[Mapping[str, Any], ...] = ()

    def flags(self) -> list[str]:
        """Each option as one would type it in a shell, such as `--ok '!empty'`."""
        pairs = ((name, text) for name, value in self.options.items() for text in _listed(value))
        return [f"--{name} {shlex.quote(text)}" for name, text in pairs]

    def applies_json(self, words: Sequence[bytes]) -> bool:
        """Whether the command's words ask for the JSON that this preset reads; `--flag=value` counts as two words."""
        return not self.json_when or any(_has(words, wanted) for wanted in self.json_when)

    def settings(self, words: Sequence[bytes], own: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The options in force for a command: the preset's and one's `own`, which win; own WHENs add to the preset's.

        What reads JSON is left out of the preset's part if the command does not ask for JSON.
        """
        merged = dict(self.options) if self.applies_json(words) else _without_json(self.options)
        for name, value in (own or {}).items():
            if name in WHENS or name == "unset":
                merged[name] = [*merged.get(name, ()), *value]
            elif name == "sum":
                merged[name] = _sums(merged.get(name, ()), value)
            elif value is not None:
                merged[name] = value
        return merged

    def advice(self, words: Sequence[bytes], jobs: int = 1) -> list[str]:
        """Sentences for a person about this command, for the start lines."""
        return [str(one["text"]) for one in self.advices if _applies(one, words, jobs)]


def names() -> list[str]:
    """The presets there are, sorted."""
    return sorted(name.removesuffix(".toml") for name in os.listdir(_HERE) if name.endswith(".toml"))


@lru_cache
def load(name: str) -> Preset:
    """The preset of that name. Raises ValueError, naming those there are, if there is none."""
    import tomllib  # start-up is felt, and most commands need no preset

    if name not in names():
        raise ValueError(f"no preset {name!r}; there are {' '.join(names())}")
    options = tomllib.loads((_HERE / f"{name}.toml").read_text(encoding="utf-8"))
    json_when = tuple(map(tuple, options.pop("json-when", ())))
    return Preset(name, json_when=json_when, advices=tuple(options.pop("advice", ())), options=options)


def for_program(argv0: bytes) -> Preset | None:
    """The preset for a program, by the last part of its path."""
    name = os.path.basename(argv0).decode("ascii", "replace")
    return load(name) if name in names() else None


def _listed(value: Any) -> list[str]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _without_json(options: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in options.items() if name not in _OF_JSON}
    for name in WHENS:
        if name in kept:
            kept[name] = [text for text in kept[name] if not text.removeprefix("!").startswith("json:")]
    return kept


def _sums(ours: Sequence[str], own: Sequence[str]) -> list[str]:
    """Own sums add; one of the same name replaces."""
    return list({text.partition("=")[0]: text for text in (*ours, *own)}.values())


def _has(words: Sequence[bytes], wanted: Sequence[str]) -> bool:
    sequence = [word.encode() for word in wanted]
    count = len(sequence)
    apart = any(list(words[at : at + count]) == sequence for at in range(len(words)))
    return apart or (count == 2 and b"=".join(sequence) in words)


def _applies(advice: Mapping[str, Any], words: Sequence[bytes], jobs: int) -> bool:
    if advice.get("parallel") and jobs == 1:
        return False
    unless = advice.get("unless")
    return unless is None or not any(re.fullmatch(unless.encode(), word) for word in words)
