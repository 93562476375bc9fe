# Completions of resumectl for bash.  Written by `make completions`; don't edit.
# Commands, options, choices and job names are known without starting resumectl; ids are asked of it.

_resumectl_verbs='run resume status results reset mark log explain check compact import export path presets --version -h --help'

_resumectl_options() {
    case $1 in
        run) REPLY='--items -a --arg-file --null -0 --delimiter -d --format --key --db --table --where --done-column --duplicates -I --shell --stdin --batch -n --max-args --batch-results --jobs -j -P --timeout --idle-timeout --grace --ok --fail --json-pick --verify --preset --rate --env --unset --cut-off --failed --max-attempts --retries --retry --retry-delay --retry-max-delay --fresh --max-items --max-time --max-failures --max-consecutive-failures --limit --halt --slow --on-limit --cost --sum --max-cost --max-total-cost --dry-run --keep-order -k --tag --ungroup -u --quiet-output --no-keep --replay --out --err --progress --job --journal --sync --accept-command --accept-damage --lock-wait --orphans --orphan-wait --engine --scheduler --tls-ca --tls-cert --tls-key --insecure-scheduler --max-output -h --help' ;;
        resume) REPLY='--job --journal --print -h --help' ;;
        status) REPLY='--job --journal --items -a --json --watch --check --done --failed --cut-off --parked --new --pending --null -0 -h --help' ;;
        results) REPLY='--job --journal --format --to --id --failed --stream -h --help' ;;
        reset) REPLY='--job --journal --failed --cut-off --parked --id --items -a --new-keys --purge --yes -y -h --help' ;;
        mark) REPLY='--id --items -a --null -0 --job --journal -h --help' ;;
        log) REPLY='--follow -f --id --json --job --journal -h --help' ;;
        explain) REPLY='--job --journal -h --help' ;;
        check) REPLY='--job --journal -h --help' ;;
        compact) REPLY='--job --journal -h --help' ;;
        import) REPLY='--from --items -a --null -0 --template --db --table --key --where --done-column --job --journal -h --help' ;;
        export) REPLY='--job --journal --format -h --help' ;;
        path) REPLY='--job --journal -h --help' ;;
        presets) REPLY='-h --help' ;;
        *) REPLY='' ;;
    esac
}

_resumectl_value() {
    case "$1 $2" in
        'run --items' | 'run -a' | 'run --arg-file' | 'run --out' | 'run --err' | 'run --journal' | 'run --tls-ca' | 'run --tls-cert' | 'run --tls-key') REPLY=file ;;
        'run --delimiter' | 'run -d' | 'run --key' | 'run --db' | 'run --table' | 'run --where' | 'run --done-column' | 'run -I' | 'run --batch' | 'run -n' | 'run --max-args' | 'run --jobs' | 'run -j' | 'run -P' | 'run --timeout' | 'run --idle-timeout' | 'run --grace' | 'run --ok' | 'run --fail' | 'run --json-pick' | 'run --verify' | 'run --rate' | 'run --env' | 'run --unset' | 'run --max-attempts' | 'run --retries' | 'run --retry' | 'run --retry-delay' | 'run --retry-max-delay' | 'run --max-items' | 'run --max-time' | 'run --max-failures' | 'run --max-consecutive-failures' | 'run --limit' | 'run --halt' | 'run --slow' | 'run --cost' | 'run --sum' | 'run --max-cost' | 'run --max-total-cost' | 'run --lock-wait' | 'run --orphan-wait' | 'run --scheduler' | 'run --max-output') REPLY=nothing ;;
        'run --format') REPLY='words lines jsonl csv tsv' ;;
        'run --duplicates') REPLY='words skip fail' ;;
        'run --stdin') REPLY='words item items' ;;
        'run --batch-results') REPLY='words exit report stdout' ;;
        'run --preset') REPLY='words claude codex curl gemini llm opencode' ;;
        'run --cut-off') REPLY='words rerun verify hold' ;;
        'run --failed') REPLY='words retry skip only' ;;
        'run --on-limit') REPLY='words stop wait' ;;
        'run --progress') REPLY='words auto bar plain none' ;;
        'run --job') REPLY=job ;;
        'run --sync') REPLY='words full none' ;;
        'run --orphans') REPLY='words wait kill ignore' ;;
        'run --engine') REPLY='words local dask' ;;
        'resume --job') REPLY=job ;;
        'resume --journal') REPLY=file ;;
        'status --job') REPLY=job ;;
        'status --journal' | 'status --items' | 'status -a') REPLY=file ;;
        'results --job') REPLY=job ;;
        'results --journal') REPLY=file ;;
        'results --format') REPLY='words text jsonl dir' ;;
        'results --to') REPLY=dir ;;
        'results --id') REPLY=id ;;
        'results --stream') REPLY='words stdout stderr' ;;
        'reset --job') REPLY=job ;;
        'reset --journal' | 'reset --items' | 'reset -a') REPLY=file ;;
        'reset --id') REPLY=id ;;
        'mark --id') REPLY=id ;;
        'mark --items' | 'mark -a' | 'mark --journal') REPLY=file ;;
        'mark --job') REPLY=job ;;
        'log --id') REPLY=id ;;
        'log --job') REPLY=job ;;
        'log --journal') REPLY=file ;;
        'explain --job') REPLY=job ;;
        'explain --journal') REPLY=file ;;
        'check --job') REPLY=job ;;
        'check --journal') REPLY=file ;;
        'compact --job') REPLY=job ;;
        'compact --journal') REPLY=file ;;
        'import --from') REPLY='words parallel rush resumable ids db' ;;
        'import --items' | 'import -a' | 'import --journal') REPLY=file ;;
        'import --template' | 'import --db' | 'import --table' | 'import --key' | 'import --where' | 'import --done-column') REPLY=nothing ;;
        'import --job') REPLY=job ;;
        'export --job') REPLY=job ;;
        'export --journal') REPLY=file ;;
        'export --format') REPLY='words csv jsonl' ;;
        'path --job') REPLY=job ;;
        'path --journal') REPLY=file ;;
        *) REPLY=''; return 1 ;;
    esac
}

_resumectl_argument() {
    case "$1 $2" in
        'run 0') REPLY=command ;;
        'resume 0') REPLY=job ;;
        'status 0') REPLY=job ;;
        'results 0') REPLY=job ;;
        'reset 0') REPLY=job ;;
        'mark 0') REPLY='words done failed new' ;;
        'log 0') REPLY=job ;;
        'explain 0') REPLY=id ;;
        'check 0') REPLY=job ;;
        'compact 0') REPLY=job ;;
        'import 0') REPLY=nothing ;;
        'export 0') REPLY=job ;;
        'path 0') REPLY=job ;;
        'presets 0') REPLY='words claude codex curl gemini llm opencode' ;;
        *) REPLY='' ;;
    esac
}

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
