# Completions of resumectl for fish.  Written by `make completions`; don't edit.
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

set -g __resumectl_valued 'run --items' 'run -a' 'run --arg-file' 'run --delimiter' 'run -d' 'run --format' 'run --key' 'run --db' 'run --table' 'run --where' 'run --done-column' 'run --duplicates' 'run -I' 'run --stdin' 'run --batch' 'run -n' 'run --max-args' 'run --batch-results' 'run --jobs' 'run -j' 'run -P' 'run --timeout' 'run --idle-timeout' 'run --grace' 'run --ok' 'run --fail' 'run --json-pick' 'run --verify' 'run --preset' 'run --rate' 'run --env' 'run --unset' 'run --cut-off' 'run --failed' 'run --max-attempts' 'run --retries' 'run --retry' 'run --retry-delay' 'run --retry-max-delay' 'run --max-items' 'run --max-time' 'run --max-failures' 'run --max-consecutive-failures' 'run --limit' 'run --halt' 'run --slow' 'run --on-limit' 'run --cost' 'run --sum' 'run --max-cost' 'run --max-total-cost' 'run --out' 'run --err' 'run --progress' 'run --job' 'run --journal' 'run --sync' 'run --lock-wait' 'run --orphans' 'run --orphan-wait' 'run --engine' 'run --scheduler' 'run --tls-ca' 'run --tls-cert' 'run --tls-key' 'run --max-output' 'resume --job' 'resume --journal' 'status --job' 'status --journal' 'status --items' 'status -a' 'results --job' 'results --journal' 'results --format' 'results --to' 'results --id' 'results --stream' 'reset --job' 'reset --journal' 'reset --id' 'reset --items' 'reset -a' 'mark --id' 'mark --items' 'mark -a' 'mark --job' 'mark --journal' 'log --id' 'log --job' 'log --journal' 'explain --job' 'explain --journal' 'check --job' 'check --journal' 'compact --job' 'compact --journal' 'import --from' 'import --items' 'import -a' 'import --template' 'import --db' 'import --table' 'import --key' 'import --where' 'import --done-column' 'import --job' 'import --journal' 'export --job' 'export --journal' 'export --format' 'path --job' 'path --journal'
set -g __resumectl_of_job resume status results reset log check compact export path

complete -c resumectl -f
complete -c resumectl -n __fish_use_subcommand -l version -d 'Print the version'
complete -c resumectl -n __fish_use_subcommand -s h -l help -d 'Short help, and long'
complete -c resumectl -n __fish_use_subcommand -a run -d 'Run COMMAND once for each item, and go on where the last run stopped'
complete -c resumectl -n __fish_use_subcommand -a resume -d 'Run the last run again: same directory, command, list and options'
complete -c resumectl -n __fish_use_subcommand -a status -d 'Show what is done and what is left'
complete -c resumectl -n __fish_use_subcommand -a results -d 'Print what every done item printed, in the order in which the items were first seen'
complete -c resumectl -n __fish_use_subcommand -a reset -d 'Forget what was done: of all items (the journal is archived), or of those chosen'
complete -c resumectl -n __fish_use_subcommand -a mark -d 'Record that items are done, failed or new; what the journal says of them before stays readable'
complete -c resumectl -n __fish_use_subcommand -a log -d 'Show the events in their order, one a line. Takes no lock, also during a run'
complete -c resumectl -n __fish_use_subcommand -a explain -d 'Tell an item\'s story: each attempt, its last failure\'s output, and what the next run would do with it'
complete -c resumectl -n __fish_use_subcommand -a check -d 'Read every line of the journal and every kept byte; name all that is wrong, and exit 65 if anything is'
complete -c resumectl -n __fish_use_subcommand -a compact -d 'Rewrite the journal in one line an item; the old one is kept, and its path printed'
complete -c resumectl -n __fish_use_subcommand -a import -d 'Record as done (or failed) what another tool\'s file says, so that a run goes on from there'
complete -c resumectl -n __fish_use_subcommand -a export -d 'Print a row for each item that the journal names: its state, attempts, last end and cost'
complete -c resumectl -n __fish_use_subcommand -a path -d 'Print the journal\'s absolute path'
complete -c resumectl -n __fish_use_subcommand -a presets -d 'List the presets, or print the flags that one of them stands for'

complete -c resumectl -n '__resumectl_in run' -l items -s a -l arg-file -r -F -d 'One item a line; - or nothing is standard input'
complete -c resumectl -n '__resumectl_in run' -l null -s 0 -d 'Items end with NUL'
complete -c resumectl -n '__resumectl_in run' -l delimiter -s d -x -d 'Items end with this byte'
complete -c resumectl -n '__resumectl_in run' -l format -x -a 'lines jsonl csv tsv' -d 'How the list is written'
complete -c resumectl -n '__resumectl_in run' -l key -x -d 'The field, or the column, that holds the id'
complete -c resumectl -n '__resumectl_in run' -l db -x -d 'A database, such as sqlite:///jobs.db. [default: RESUMECTL_DB]'
complete -c resumectl -n '__resumectl_in run' -l table -x -d 'Items are rows of this table'
complete -c resumectl -n '__resumectl_in run' -l where -x -d 'Only rows for which this SQL holds'
complete -c resumectl -n '__resumectl_in run' -l done-column -x -d 'NULL until the row is done, then the time (UTC)'
complete -c resumectl -n '__resumectl_in run' -l duplicates -x -a 'skip fail' -d 'An id that stands in the list twice'
complete -c resumectl -n '__resumectl_in run' -s I -x -d 'Use REPL instead of {}'
complete -c resumectl -n '__resumectl_in run' -l shell -d 'COMMAND is one string for /bin/sh; items are quoted'
complete -c resumectl -n '__resumectl_in run' -l stdin -x -a 'item items' -d 'Give the command its item on standard input'
complete -c resumectl -n '__resumectl_in run' -l batch -s n -l max-args -x -d 'Up to N items a process'
complete -c resumectl -n '__resumectl_in run' -l batch-results -x -a 'exit report stdout' -d 'How a batch\'s items are judged: by its exit, or as it reports'
complete -c resumectl -n '__resumectl_in run' -l jobs -s j -s P -x -d 'How many run at once; 0: one a core. [default: 1; all slots of a cluster]'
complete -c resumectl -n '__resumectl_in run' -l timeout -x -d 'Stop an attempt after this time'
complete -c resumectl -n '__resumectl_in run' -l idle-timeout -x -d 'Stop an attempt that prints nothing for this time'
complete -c resumectl -n '__resumectl_in run' -l grace -x -d 'From TERM to KILL'
complete -c resumectl -n '__resumectl_in run' -l ok -x -d 'What must hold for done, such as code:0,1'
complete -c resumectl -n '__resumectl_in run' -l fail -x -d 'What must not hold for done'
complete -c resumectl -n '__resumectl_in run' -l json-pick -x -d 'Which JSON object of several is meant'
complete -c resumectl -n '__resumectl_in run' -l verify -x -d 'A shell command: exit 0 if the item\'s effect is in place, 1 if not'
complete -c resumectl -n '__resumectl_in run' -l preset -x -a 'claude codex curl gemini llm opencode' -d 'A tool\'s tests. [default: by the program\'s name]'
complete -c resumectl -n '__resumectl_in run' -l rate -x -d 'Space the starts: 30/m'
complete -c resumectl -n '__resumectl_in run' -l env -x -d 'Set a variable of the command\'s, or hand ours on'
complete -c resumectl -n '__resumectl_in run' -l unset -x -d 'Take a variable away'
complete -c resumectl -n '__resumectl_in run' -l cut-off -x -a 'rerun verify hold' -d 'An item that was cut off. [default: rerun, or verify with --verify]'
complete -c resumectl -n '__resumectl_in run' -l failed -x -a 'retry skip only' -d 'An item that failed in an earlier run'
complete -c resumectl -n '__resumectl_in run' -l max-attempts -x -d 'Hold an item after so many failed or cut-off attempts; 0: never'
complete -c resumectl -n '__resumectl_in run' -l retries -x -d 'More tries of a failed item in this run'
complete -c resumectl -n '__resumectl_in run' -l retry -x -d 'Which failures --retries tries again'
complete -c resumectl -n '__resumectl_in run' -l retry-delay -x -d 'Before the first retry; then doubling'
complete -c resumectl -n '__resumectl_in run' -l retry-max-delay -x -d 'The longest delay'
complete -c resumectl -n '__resumectl_in run' -l fresh -d 'Archive the journal and start over'
complete -c resumectl -n '__resumectl_in run' -l max-items -x -d 'Start at most so many items'
complete -c resumectl -n '__resumectl_in run' -l max-time -x -d 'Start nothing that would end later'
complete -c resumectl -n '__resumectl_in run' -l max-failures -x -d 'Stop after so many failures; 0: never'
complete -c resumectl -n '__resumectl_in run' -l max-consecutive-failures -x -d 'Stop after so many in a row; 0: never'
complete -c resumectl -n '__resumectl_in run' -l limit -x -d 'What shows that the service is at its limit'
complete -c resumectl -n '__resumectl_in run' -l halt -x -d 'What needs a person, such as a login'
complete -c resumectl -n '__resumectl_in run' -l slow -x -d 'What shows that the service is overloaded'
complete -c resumectl -n '__resumectl_in run' -l on-limit -x -a 'stop wait' -d 'Stop with 75, or sit the limit out'
complete -c resumectl -n '__resumectl_in run' -l cost -x -d 'Where the JSON says what an attempt cost'
complete -c resumectl -n '__resumectl_in run' -l sum -x -d 'A figure to add up over all attempts'
complete -c resumectl -n '__resumectl_in run' -l max-cost -x -d 'Stop when this run has cost so much'
complete -c resumectl -n '__resumectl_in run' -l max-total-cost -x -d 'Stop when all runs have cost so much'
complete -c resumectl -n '__resumectl_in run' -l dry-run -d 'Say what would run; run and write nothing'
complete -c resumectl -n '__resumectl_in run' -l keep-order -s k -d 'Print the output in list order'
complete -c resumectl -n '__resumectl_in run' -l tag -d 'Put the item and a tab before each line'
complete -c resumectl -n '__resumectl_in run' -l ungroup -s u -d 'Let the commands write directly; nothing is kept'
complete -c resumectl -n '__resumectl_in run' -l quiet-output -d 'Print no output (it is still kept)'
complete -c resumectl -n '__resumectl_in run' -l no-keep -d 'Keep no output beside the journal'
complete -c resumectl -n '__resumectl_in run' -l replay -d 'Print again what items that are done have printed'
complete -c resumectl -n '__resumectl_in run' -l out -r -F -d 'A file for each item\'s output, such as \'out/{}.json\''
complete -c resumectl -n '__resumectl_in run' -l err -r -F -d 'The same for standard error'
complete -c resumectl -n '__resumectl_in run' -l progress -x -a 'auto bar plain none' -d 'How progress is shown'
complete -c resumectl -n '__resumectl_in run' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name. [default: the program\'s]'
complete -c resumectl -n '__resumectl_in run' -l journal -r -F -d 'The journal, anywhere'
complete -c resumectl -n '__resumectl_in run' -l sync -x -a 'full none' -d 'full: what is recorded outlives a power cut'
complete -c resumectl -n '__resumectl_in run' -l accept-command -d 'The command has changed, the work has not'
complete -c resumectl -n '__resumectl_in run' -l accept-damage -d 'Go on with what a damaged journal still says'
complete -c resumectl -n '__resumectl_in run' -l lock-wait -x -d 'Wait for another run to end'
complete -c resumectl -n '__resumectl_in run' -l orphans -x -a 'wait kill ignore' -d 'Commands of a killed run that still live'
complete -c resumectl -n '__resumectl_in run' -l orphan-wait -x -d 'How long to wait for them'
complete -c resumectl -n '__resumectl_in run' -l engine -x -a 'local dask' -d 'Where the commands run'
complete -c resumectl -n '__resumectl_in run' -l scheduler -x -d 'The Dask scheduler'
complete -c resumectl -n '__resumectl_in run' -l tls-ca -r -F -d 'Who signs the certificates of a tls:// scheduler'
complete -c resumectl -n '__resumectl_in run' -l tls-cert -r -F -d 'Our certificate'
complete -c resumectl -n '__resumectl_in run' -l tls-key -r -F -d 'Our key'
complete -c resumectl -n '__resumectl_in run' -l insecure-scheduler -d 'Use a tcp:// scheduler on another machine: who reaches its port runs code there'
complete -c resumectl -n '__resumectl_in run' -l max-output -x -d 'How much of an item\'s output travels back; an item that prints more is held'
complete -c resumectl -n '__resumectl_in run' -s h -l help -d 'Short help, and long'
complete -c resumectl -n __resumectl_at_command -a '(__resumectl_command)'

complete -c resumectl -n '__resumectl_in resume' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in resume' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in resume' -l print -d 'Print the command line instead of running it'
complete -c resumectl -n '__resumectl_in resume' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in resume 0' -a '(__resumectl_jobs)'

complete -c resumectl -n '__resumectl_in status' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in status' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in status' -l items -s a -r -F -d 'Count over this list, not the journal'
complete -c resumectl -n '__resumectl_in status' -l json -d 'One JSON object a line for each job'
complete -c resumectl -n '__resumectl_in status' -l watch -d 'Follow a run until it ends; on a pipe, a line at each change'
complete -c resumectl -n '__resumectl_in status' -l check -d 'Exit 0 only if everything is done, else 1'
complete -c resumectl -n '__resumectl_in status' -l done -d 'The ids that are done'
complete -c resumectl -n '__resumectl_in status' -l failed -d 'The ids that failed'
complete -c resumectl -n '__resumectl_in status' -l cut-off -d 'The ids that were cut off'
complete -c resumectl -n '__resumectl_in status' -l parked -d 'The ids that are held for a person'
complete -c resumectl -n '__resumectl_in status' -l new -d 'The ids of the last run\'s list that never started'
complete -c resumectl -n '__resumectl_in status' -l pending -d 'All that a run would start'
complete -c resumectl -n '__resumectl_in status' -l null -s 0 -d 'Ids end with NUL'
complete -c resumectl -n '__resumectl_in status' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in status 0' -a '(__resumectl_jobs)'

complete -c resumectl -n '__resumectl_in results' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in results' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in results' -l format -x -a 'text jsonl dir' -d 'As text, as JSON lines, or as files'
complete -c resumectl -n '__resumectl_in results' -l to -x -a '(__fish_complete_directories)' -d 'Where --format dir puts one file an item'
complete -c resumectl -n '__resumectl_in results' -l id -x -a '(__resumectl_ids)' -d 'An item; can be repeated'
complete -c resumectl -n '__resumectl_in results' -l failed -d 'Of the items that failed'
complete -c resumectl -n '__resumectl_in results' -l stream -x -a 'stdout stderr' -d 'Which stream'
complete -c resumectl -n '__resumectl_in results' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in results 0' -a '(__resumectl_jobs)'

complete -c resumectl -n '__resumectl_in reset' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in reset' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in reset' -l failed -d 'Only the items that failed'
complete -c resumectl -n '__resumectl_in reset' -l cut-off -d 'Only the items that were cut off'
complete -c resumectl -n '__resumectl_in reset' -l parked -d 'Only the items that are held'
complete -c resumectl -n '__resumectl_in reset' -l id -x -a '(__resumectl_ids)' -d 'An item; can be repeated'
complete -c resumectl -n '__resumectl_in reset' -l items -s a -r -F -d 'Items, one a line'
complete -c resumectl -n '__resumectl_in reset' -l new-keys -d 'New idempotency keys (whole reset only)'
complete -c resumectl -n '__resumectl_in reset' -l purge -d 'Delete the old journal instead of keeping it (whole reset only)'
complete -c resumectl -n '__resumectl_in reset' -l yes -s y -d 'Don\'t ask'
complete -c resumectl -n '__resumectl_in reset' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in reset 0' -a '(__resumectl_jobs)'

complete -c resumectl -n '__resumectl_in mark' -l id -x -a '(__resumectl_ids)' -d 'An item; can be repeated'
complete -c resumectl -n '__resumectl_in mark' -l items -s a -r -F -d 'Items, one a line'
complete -c resumectl -n '__resumectl_in mark' -l null -s 0 -d 'Items of FILE end with NUL'
complete -c resumectl -n '__resumectl_in mark' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in mark' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in mark' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in mark 0' -a 'done failed new'

complete -c resumectl -n '__resumectl_in log' -l follow -s f -d 'Go on as more is written, until Ctrl-C'
complete -c resumectl -n '__resumectl_in log' -l id -x -a '(__resumectl_ids)' -d 'An item; can be repeated'
complete -c resumectl -n '__resumectl_in log' -l json -d 'The journal\'s records, one JSON object a line'
complete -c resumectl -n '__resumectl_in log' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in log' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in log' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in log 0' -a '(__resumectl_jobs)'

complete -c resumectl -n '__resumectl_in explain' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in explain' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in explain' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in explain 0' -a '(__resumectl_ids)'

complete -c resumectl -n '__resumectl_in check' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in check' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in check' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in check 0' -a '(__resumectl_jobs)'

complete -c resumectl -n '__resumectl_in compact' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in compact' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in compact' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in compact 0' -a '(__resumectl_jobs)'

complete -c resumectl -n '__resumectl_in import' -l from -x -a 'parallel rush resumable ids db' -d 'Who wrote it; ids: a plain list of what is done; db: a table\'s marked rows'
complete -c resumectl -n '__resumectl_in import' -l items -s a -r -F -d 'With parallel: the list that it had'
complete -c resumectl -n '__resumectl_in import' -l null -s 0 -d 'Entries of LIST (or ids) end with NUL'
complete -c resumectl -n '__resumectl_in import' -l template -x -d 'With rush: its command, to find the items at {}'
complete -c resumectl -n '__resumectl_in import' -l db -x -d 'A database, such as sqlite:///jobs.db. [default: RESUMECTL_DB]'
complete -c resumectl -n '__resumectl_in import' -l table -x -d 'Items are rows of this table'
complete -c resumectl -n '__resumectl_in import' -l key -x -d 'The field, or the column, that holds the id'
complete -c resumectl -n '__resumectl_in import' -l where -x -d 'Only rows for which this SQL holds'
complete -c resumectl -n '__resumectl_in import' -l done-column -x -d 'NULL until the row is done, then the time (UTC)'
complete -c resumectl -n '__resumectl_in import' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in import' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in import' -s h -l help -d 'Short help, and long'

complete -c resumectl -n '__resumectl_in export' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in export' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in export' -l format -x -a 'csv jsonl' -d 'With a header row, or as JSON lines'
complete -c resumectl -n '__resumectl_in export' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in export 0' -a '(__resumectl_jobs)'

complete -c resumectl -n '__resumectl_in path' -l job -x -a '(__resumectl_jobs)' -d 'The job\'s name'
complete -c resumectl -n '__resumectl_in path' -l journal -r -F -d 'The journal, wherever it is'
complete -c resumectl -n '__resumectl_in path' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in path 0' -a '(__resumectl_jobs)'

complete -c resumectl -n '__resumectl_in presets' -s h -l help -d 'Short help, and long'
complete -c resumectl -n '__resumectl_in presets 0' -a 'claude codex curl gemini llm opencode'
