"""The completion script for bash (3.2 and later)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from . import VERSION, Opt, Value, Word

HEAD = """\
# Completions of resumectl for bash.  Written by `make completions`; don't edit.
# Commands, options, choices and job names are known without starting resumectl; ids are asked of it.

"""
BODY = r"""
_resumectl_job_names() {
    local file
    for file in "${RESUMECTL_DIR:-.resumectl}"/*.jsonl; do
        [ -e "$file" ] || continue
        file=${file##*/}
        printf '%s\n' "${file%.jsonl}"
    done
}

# Offer the lines on standard input that begin with the word at the cursor; nothing of theirs is expanded.
_resumectl_offer() {
    local line start=${cur//\\/}
    start=${start#[\"\']}
    while IFS= read -r line; do
        case $line in "$start"*) COMPREPLY+=("$(printf %q "$line")") ;; esac
    done
}

_resumectl_complete() {
    case $1 in
        "words "*) local IFS=' '; COMPREPLY=($(compgen -W "${1#words }" -- "$cur")) ;;
        job) _resumectl_offer < <(_resumectl_job_names) ;;
        id) _resumectl_offer < <(resumectl status ${where[@]+"${where[@]}"} --failed 2>/dev/null | head -n 1000) ;;
        file) compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$cur")) ;;
        dir) compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")) ;;
    esac
}

# COMMAND and its arguments, from this word on, are completed as they would be without us.
_resumectl_command() {
    if [ "$COMP_CWORD" -eq "$1" ]; then
        local IFS=$'\n'
        COMPREPLY=($(compgen -c -- "$cur"))
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    else
        _resumectl_complete file
    fi
}

_resumectl() {
    local cur=${COMP_WORDS[COMP_CWORD]} verb='' option='' place=0 at word REPLY='' where=()
    COMPREPLY=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if [ "$word" = = ]; then continue; fi
        if [ -z "$verb" ]; then
            case $word in -*) ;; *) verb=$word ;; esac
        elif [ -n "$option" ]; then
            case $option in --job | --journal) where=("$option" "$word") ;; esac
            option=''
        elif [ "$verb $word" = 'run --' ]; then
            _resumectl_command $((at + 1))
            return
        else
            case $word in
                -*) _resumectl_value "$verb" "$word" && option=$word ;;
                *)
                    _resumectl_argument "$verb" "$place"
                    if [ "$REPLY" = command ]; then _resumectl_command "$at"; return; fi
                    if [ "$REPLY" = job ]; then where=(--job "$word"); fi
                    place=$((place + 1))
                    ;;
            esac
        fi
    done
    if [ "$cur" = = ]; then cur=''; fi
    if [ -z "$verb" ]; then
        _resumectl_complete "words $_resumectl_verbs"
    elif [ -n "$option" ]; then
        _resumectl_value "$verb" "$option"
        _resumectl_complete "$REPLY"
    elif [ "${cur#-}" != "$cur" ]; then
        _resumectl_options "$verb"
        _resumectl_complete "words $REPLY"
    else
        _resumectl_argument "$verb" "$place"
        if [ "$REPLY" = command ]; then _resumectl_command "$COMP_CWORD"; else _resumectl_complete "$REPLY"; fi
    fi
}

complete -F _resumectl resumectl
"""


def script(words: Sequence[Word]) -> str:
    """The whole script."""
    return HEAD + "\n".join(_tables(words)) + "\n" + BODY


def _tables(words: Sequence[Word]) -> Iterator[str]:
    verbs = " ".join([word.name for word in words] + list(VERSION.names) + ["-h", "--help"])
    yield f"_resumectl_verbs={shlex.quote(verbs)}\n"
    yield "_resumectl_options() {\n    case $1 in"
    for word in words:
        yield f"        {word.name}) REPLY={shlex.quote(' '.join(name for one in word.options for name in one.names))} ;;"
    yield "        *) REPLY='' ;;\n    esac\n}\n"
    yield '_resumectl_value() {\n    case "$1 $2" in'
    for word in words:
        yield from _cases(word.name, word.options)
    yield "        *) REPLY=''; return 1 ;;\n    esac\n}\n"
    yield '_resumectl_argument() {\n    case "$1 $2" in'
    for word in words:
        for at, value in enumerate(word.arguments):
            yield f"        '{word.name} {at}') REPLY={shlex.quote(_kind(value))} ;;"
    yield "        *) REPLY='' ;;\n    esac\n}"


def _cases(verb: str, options: Sequence[Opt]) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    for one in options:
        if one.value is not None:
            kinds.setdefault(_kind(one.value), []).extend(f"'{verb} {name}'" for name in one.names)
    for kind, names in kinds.items():
        yield f"        {' | '.join(names)}) REPLY={shlex.quote(kind)} ;;"


def _kind(value: Value) -> str:
    return " ".join([value.kind, *value.words])
