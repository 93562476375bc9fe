"""The completion script for zsh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import HELP, VERSION, Opt, Value, Word

HEAD = """\
#compdef resumectl
# Completions of resumectl for zsh.  Written by `make completions`; don't edit.
# Commands, options, choices and job names are known without starting resumectl; ids are asked of it.

_resumectl_jobs() {
    local -a names
    names=( ${RESUMECTL_DIR:-.resumectl}/*.jsonl(N:t:r) )
    compadd -a names
}

_resumectl_ids() {
    local -a ids where
    if [[ -n ${opt_args[--journal]} ]]; then
        where=( --journal ${(Q)opt_args[--journal]} )
    elif [[ -n ${opt_args[--job]} ]]; then
        where=( --job ${(Q)opt_args[--job]} )
    elif [[ -n $1 ]]; then
        where=( --job ${(Q)1} )
    fi
    ids=( ${(f)"$(_call_program ids resumectl status ${(q)where} --failed 2>/dev/null | head -n 1000)"} )
    compadd -a ids
}

_resumectl() {
    local curcontext=$curcontext state
    local -a line verbs
    typeset -A opt_args
"""
TAIL = """\
    esac
}

_resumectl "$@"
"""


def script(words: Sequence[Word]) -> str:
    """The whole script."""
    return HEAD + "\n".join(_body(words)) + "\n" + TAIL


def _body(words: Sequence[Word]) -> Iterator[str]:
    first = " ".join(_option(one) for one in (VERSION, HELP))
    yield f"    _arguments -C {first} '1: :->verb' '*:: :->rest' && return"
    yield "    if [[ $state == verb ]]; then\n        verbs=("
    yield from (f"            {_quote(word.name + ':' + word.summary)}" for word in words)
    yield "        )\n        _describe -t commands command verbs\n        return\n    fi"
    yield "    case $line[1] in"
    for word in words:
        yield f"        {word.name})\n            _arguments -S \\"
        of_job = bool(word.arguments) and word.arguments[0].kind == "job"
        yield from (f"                {_option(one, of_job)} \\" for one in word.options)
        yield f"                {' '.join(_arguments(word)) or '&& return'}\n            ;;"


def _arguments(word: Word) -> Iterator[str]:
    for at, value in enumerate(word.arguments, 1):
        if value.kind == "command":
            yield "'(-)1: :_command_names -e' '*:: :_normal'"
        else:
            yield _quote(f"{at}:{_escape(value.name.lower())}:{_action(value)}")


def _option(option: Opt, of_job: bool = False) -> str:
    """One specification: the names exclude each other unless the option repeats."""
    value = option.value
    tail = "[" + _escape(option.help.rstrip(".")) + "]"
    if value is not None:
        tail += f":{_escape(value.name)}:{_action(value, of_job)}"
    names = [name + ("" if value is None else "=" if name.startswith("--") else "+") for name in option.names]
    head = "\\*" if option.repeats else f"'({' '.join(option.names)})'"
    forms = names[0] if len(names) == 1 else "{" + ",".join(names) + "}"
    return head + forms + _quote(tail)


def _action(value: Value, of_job: bool = False) -> str:
    """How the value is completed; `of_job`: the command's first argument is the job that an id belongs to."""
    if value.kind == "words":
        return f"({' '.join(value.words)})"
    given = {"file": "_files", "dir": "_files -/", "job": "_resumectl_jobs", "id": " _resumectl_ids"}
    return given.get(value.kind, " ") + (" $line[1]" if value.kind == "id" and of_job else "")


def _escape(text: str) -> str:
    for char in "\\[]:":
        text = text.replace(char, "\\" + char)
    return text


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
