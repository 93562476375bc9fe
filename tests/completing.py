"""What a shell offers behind a line, asked of the real shells with our scripts loaded."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, Scratch

SCRIPTS = Path(__file__).parent.parent / "completions"
BASH = r"""
source "$1"
line=$2
eval "COMP_WORDS=(${line/=/ = })"  # as COMP_WORDBREAKS has it
case $line in *' ') COMP_WORDS+=('') ;; esac
COMP_LINE=$line COMP_POINT=${#line} COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_resumectl
printf '%s\n' "${COMPREPLY[@]}"
"""
# A shell inside a shell: the inner one completes for real, and says what it would add.
ZSH = r"""
zmodload zsh/zpty
inner=$(mktemp)
cat >$inner <<'END'
PROMPT=
autoload -Uz compinit
compinit -u -D
unsetopt zle_bracketed_paste 2>/dev/null
bindkey '^M' undefined
bindkey '^J' undefined
bindkey '^I' complete-word
begun() { echo; echo BEGIN }
ended() { echo END; exit }
compprefuncs=( begun )
comppostfuncs=( ended )
zstyle ':completion:*' insert-tab false
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return $?
    fi
    local -a hits
    builtin compadd -A hits "$@"
    (( $#hits )) && printf '%s\n' $hits
    builtin compadd "$@"
}
echo READY
END
zpty inner env HOME=$PWD zsh -f -i
zpty -w inner "fpath=( ${1:h} \$fpath ); source $inner"
while zpty -r inner line && [[ $line != READY* ]]; do :; done
zpty -w -n inner "$2"$'\t'
while zpty -r inner line && [[ $line != BEGIN* ]]; do :; done
while zpty -r inner line && [[ $line != END* ]]; do printf '%s\n' "${line%%$'\r'*}"; done
rm -f $inner
"""
FISH = 'source $argv[1]; complete -C "$argv[2]" | string replace -r "\\t.*" ""'


def offered(scratch: Scratch, shell: str, line: str, **env: str) -> list[str]:
    """The words that the shell offers for the word at the end of a line."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = scratch.path.parent / "bin" / "resumectl"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\necho "$*" >>{scratch.path.parent}/started\nexec {sys.executable} -m resumectl "$@"\n')
    program.chmod(0o755)
    words = {
        "bash": ["bash", "--norc", "-c", BASH, "bash", str(SCRIPTS / "resumectl.bash"), line],
        "zsh": ["zsh", "-f", "-c", ZSH, "zsh", str(SCRIPTS / "_resumectl"), line],
        "fish": ["fish", "--no-config", "-c", FISH, str(SCRIPTS / "resumectl.fish"), line],
    }[shell]
    environ = {**scratch.env, "PATH": f"{program.parent}:{scratch.env['PATH']}", "TERM": "dumb", **env}
    ended = subprocess.run(words, cwd=scratch.path, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    return [word.strip() for word in ended.stdout.splitlines() if word.strip()]


def started(scratch: Scratch) -> list[str]:
    """How resumectl was called by the shells so far."""
    path = scratch.path.parent / "started"
    return path.read_text().splitlines() if path.exists() else []
