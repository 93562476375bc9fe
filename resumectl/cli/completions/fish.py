"""The completion script for fish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import HELP, VERSION, Opt, Value, Word

HEAD = r"""# Completions of resumectl for fish.  Written by `make completions`; don't edit.
# Commands, options, choices and job names are known without starting resumectl; ids are asked of it.

function __resumectl_jobs
    set -l place .resumectl
    set -q RESUMECTL_DIR; and test -n "$RESUMECTL_DIR"; and set place $RESUMECTL_DIR
    for file in $place/*.jsonl
        string replace -r '.*/(.*)\.jsonl$' '$1' -- $file
    end
end

# The words before the cursor: sets verb, how many arguments it has, where COMMAND begins (0: not yet), the job.
function __resumectl_read --no-scope-shadowing
    set tokens (commandline -opc)
    set verb ''
    set places 0
    set begins 0
    set where
    set option ''
    for at in (seq 2 (count $tokens))
        set token $tokens[$at]
        if test -n "$option"
            contains -- $option --job --journal; and set where $option $token
            set option ''
        else if test -z "$verb"
            string match -q -- '-*' $token; or set verb $token
        else if test "$verb $token" = 'run --'
            set begins (math $at + 1)
            return
        else if string match -q -- '-*' $token
            contains -- "$verb $token" $__resumectl_valued; and set option $token
            string match -q -r -- '^--(?:job|journal)=' $token; and set where (string split -m 1 = -- $token)
        else
            if test $verb = run
                set begins $at
                return
            end
            set places (math $places + 1)
            test $places = 1; and contains -- $verb $__resumectl_of_job; and set where --job $token
        end
    end
end

# Whether VERB has been typed, and nothing of a COMMAND.
function __resumectl_in
    set -l tokens; set -l verb; set -l places; set -l begins; set -l where; set -l option; set -l token
    __resumectl_read
    test "$verb" = "$argv[1]" -a $begins = 0
    and test (count $argv) = 1 -o "$places" = "$argv[2]"
end

function __resumectl_ids
    set -l tokens; set -l verb; set -l places; set -l begins; set -l where; set -l option; set -l token
    __resumectl_read
    resumectl status $where --failed 2>/dev/null | head -n 1000
end

function __resumectl_at_command
    set -l tokens; set -l verb; set -l places; set -l begins; set -l where; set -l option; set -l token
    __resumectl_read
    test "$verb" = run -a \( $begins -gt 0 -o -z "$option" \)
    and not begin; test $begins = 0; and string match -q -- '-*' (commandline -ct); end
end

# COMMAND and its arguments are completed as they would be without us.
function __resumectl_command
    set -l tokens; set -l verb; set -l places; set -l begins; set -l where; set -l option; set -l token
    __resumectl_read
    test $begins = 0; and set begins (math (count $tokens) + 1)
    set -l rest
    test $begins -le (count $tokens); and set rest (string escape -- $tokens[$begins..-1])
    complete -C (string join ' ' -- $rest (commandline -ct))
end

"""


def script(words: Sequence[Word]) -> str:
    """The whole script."""
    return HEAD + "\n".join(_body(words)) + "\n"


def _body(words: Sequence[Word]) -> Iterator[str]:
    valued = (f"'{word.name} {name}'" for word in words for one in word.options if one.value for name in one.names)
    yield "set -g __resumectl_valued " + " ".join(valued)
    yield "set -g __resumectl_of_job " + " ".join(
        word.name for word in words if word.arguments and word.arguments[0].kind == "job"
    )
    yield "\ncomplete -c resumectl -f"
    for one in (VERSION, HELP):
        yield f"complete -c resumectl -n __fish_use_subcommand {_option(one)}"
    for word in words:
        yield f"complete -c resumectl -n __fish_use_subcommand -a {word.name} -d {_quote(word.summary)}"
    for word in words:
        yield ""
        for one in word.options:
            yield f"complete -c resumectl -n '__resumectl_in {word.name}' {_option(one)}"
        yield from _arguments(word)


def _arguments(word: Word) -> Iterator[str]:
    for at, value in enumerate(word.arguments):
        if value.kind == "command":
            yield "complete -c resumectl -n __resumectl_at_command -a '(__resumectl_command)'"
        elif value.kind != "nothing":
            yield f"complete -c resumectl -n '__resumectl_in {word.name} {at}' {_offer(value)}"


def _option(option: Opt) -> str:
    flags = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.value is not None:
        flags.append("-r" if option.value.kind == "file" else "-x")
        flags.append(_offer(option.value))
    return " ".join([*filter(None, flags), "-d", _quote(option.help.rstrip("."))])


def _offer(value: Value) -> str:
    if value.kind == "words":
        return f"-a {_quote(' '.join(value.words))}"
    given = {"file": "-F", "dir": "-a '(__fish_complete_directories)'", "job": "-a '(__resumectl_jobs)'"}
    return {**given, "id": "-a '(__resumectl_ids)'"}.get(value.kind, "")


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
