"""`resumectl run`: the command once for each item, from where the last run stopped."""

from __future__ import annotations

import os
import sys
from functools import partial
from queue import SimpleQueue
from typing import Any

import typer

from .. import admission as admit
from ..admission import Admission, CutOff, Duplicates, Failed
from ..catalogue import Catalogue
from ..child import Limits
from ..command import Command
from ..crew import Threads
from ..feed import Feed
from ..files import Claims
from ..items import Reader
from ..job import Crew, Signal
from ..loop import Loop, moment
from ..order import Order
from ..outputs import Outputs, Shelf
from ..pacing import Pacing
from ..policy import Policy
from ..program import find
from ..records import pack, pack_all
from ..run import Run
from ..stream import Stream
from ..tally import Tally
from ..template import has_placeholder_in_script, program
from ..throttle import Rhythm
from . import catch, interrupt
from . import checks as c
from . import machines as m
from . import options as o
from . import tables as t
from .again import Again
from .choices import BatchResults, EngineName, FormatName, OnLimit, OnOrphans, Progress, Sync, slots
from .dry import describe
from .ending import finish
from .judging import environment, judging
from .lists import chosen_format, listed, open_list
from .opening import archived, refuse_a_twin, refuse_another_command, settle_orphans
from .starting import before, make_room, named_job, printer_for, start_lines, take_all
from .where import place_for


def run(
    context: typer.Context,
    command: o.Command,
    items: o.Items = None,
    null: o.Null = False,
    delimiter: o.Delimiter = None,
    format: o.ListFormat = FormatName.LINES,
    key: o.Key = None,
    db: t.Db = None,
    table: t.TableName = None,
    where: t.Where = None,
    done_column: t.DoneColumn = None,
    duplicates: o.Repeats = Duplicates.SKIP,
    replace: o.Replace = None,
    shell: o.Shell = False,
    stdin: o.Stdin = None,
    batch: o.Batch = 1,
    batch_results: o.HowReported = BatchResults.EXIT,
    jobs: o.Jobs = None,
    timeout: o.Timeout = None,
    idle_timeout: o.IdleTimeout = None,
    grace: o.Grace = "10s",  # type: ignore[assignment]
    ok: o.Ok = None,
    fail: o.Fail = None,
    json_pick: o.JsonPick = None,
    verify: o.Verify = None,
    preset: o.Preset = None,
    rate: o.Rate = None,
    env: o.Env = None,
    unset: o.Unset = None,
    cut_off: o.WhenCutOff = None,
    failed: o.WhenFailed = Failed.RETRY,
    max_attempts: o.MaxAttempts = 0,
    retries: o.Retries = 0,
    retry: o.Retry = None,
    retry_delay: o.RetryDelay = "2s",  # type: ignore[assignment]
    retry_max_delay: o.RetryMaxDelay = "60s",  # type: ignore[assignment]
    fresh: o.Fresh = False,
    max_items: o.MaxItems = 0,
    max_time: o.MaxTime = None,
    max_failures: o.MaxFailures = 0,
    max_consecutive_failures: o.MaxConsecutive = 20,
    limit: o.Limit = None,
    halt: o.Halt = None,
    slow: o.Slow = None,
    on_limit: o.WhenLimited = OnLimit.STOP,
    cost: o.Cost = None,
    sum: o.Sum = None,
    max_cost: o.MaxCost = None,
    max_total_cost: o.MaxTotalCost = None,
    dry_run: o.DryRun = False,
    keep_order: o.KeepOrder = False,
    tag: o.Tag = False,
    ungroup: o.Ungroup = False,
    quiet_output: o.Quiet = False,
    no_keep: o.NoKeep = False,
    replay: o.Replay = False,
    out: o.Out = None,
    err: o.Err = None,
    progress: o.ShowProgress = Progress.AUTO,
    job: o.Job = None,
    journal: o.Journal = None,
    sync: o.SyncLevel = Sync.FULL,
    accept_command: o.AcceptCommand = False,
    accept_damage: o.AcceptDamage = False,
    lock_wait: o.LockWait = "0",  # type: ignore[assignment]
    orphans: o.Orphans = OnOrphans.WAIT,
    orphan_wait: o.OrphanWait = "60s",  # type: ignore[assignment]
    engine: m.Engine = EngineName.LOCAL,
    scheduler: m.Scheduler = None,
    tls_ca: m.TlsCa = None,
    tls_cert: m.TlsCert = None,
    tls_key: m.TlsKey = None,
    insecure_scheduler: m.Insecure = False,
    max_output: m.MaxOutput = "16MiB",  # type: ignore[assignment]
) -> int:
    """Run COMMAND once for each item, and go on where the last run stopped.

    {} in COMMAND is the item; without a {} it is appended.  No shell is involved.
    Run the same command again after a Ctrl-C, a crash or a reboot: what is done is
    skipped, what was cut off is announced and run again.

    Example: resumectl run --items ids.txt -j 4 -- ./fetch.sh {}
    """
    catch(interrupt)
    cwd = os.getcwdb()  # first of all, for it may be gone
    again = context.obj if isinstance(context.obj, Again) else Again(sys.argv[2:])
    words, listed_items = c.split_command(command, items)
    other = {"items": items, "words": listed_items, "format": format is not FormatName.LINES, "null": null}
    tabled = t.wanted(db, table, where, done_column, key, **other, delimiter=delimiter, replay=replay)
    records = tabled or format is not FormatName.LINES
    template, files = c.template_of(words, replace, shell, records, stdin is not None), c.files_of(out, err)
    own: dict[str, Any] = {
        "ok": ok or (),
        "fail": fail or (),
        "limit": limit or (),
        "halt": halt or (),
        "slow": slow or (),
    }
    own |= {"retry": retry or (), "sum": sum or (), "unset": unset or ()}
    own |= {"json-pick": json_pick, "cost": cost, "timeout": timeout}
    how = judging(words, shell, preset, own)
    environ = environment(os.environb, env, how.unset)
    policy = c.cut_off_policy(cut_off, verify)
    batched = batch > 1 or batch_results is not BatchResults.EXIT
    if batched:
        c.refuse_in_batches(template, replace, out=out, err=err)
    if ungroup:
        c.refuse_with_ungroup(
            how.rules, idle_timeout=idle_timeout, out=out, err=err, replay=replay, tag=tag, keep_order=keep_order
        )
    if tabled:
        row = {"db": db, "table": table, "key": key, "where": where, "done_column": done_column}
        source, written = t.open_source(row, write=not dry_run)
    else:
        written = chosen_format(null or listed_items is not None, delimiter, format.value, key)
        source = again.source() or (open_list(items) if listed_items is None else listed(listed_items))
    name = program(template)
    tls = (tls_ca, tls_cert, tls_key)
    others = m.machines(engine, scheduler, tls, insecure_scheduler, max_output, jobs, ungroup)
    executable = find(name, environ) if name is not None and others is None else None
    place = place_for(job, journal, words, shell)
    refuse_a_twin(place, words, shell)
    count = slots(jobs)
    repeats = Duplicates.FAIL if tabled else duplicates  # SQLite tells 7 from '7'; a journal can't
    admission_rules = admit.Rules(policy, failed, repeats, max_attempts)
    rhythm = Rhythm(rate or 0.0, retry_delay, retry_max_delay, on_limit is OnLimit.WAIT)
    budgets = c.budgets_of(how.rules, max_cost, max_total_cost)
    pacing_policy = Policy(
        max_failures, max_consecutive_failures, max_items, max_time, retries, *budgets, rhythm, batch
    )
    if dry_run:
        rules = admission_rules, pacing_policy
        return describe(place, source, written, template, *rules, (words, shell), accept_command, fresh, count)
    if others is not None:
        others.join(name, environ)
        count = others.count
    most, inbox = make_room(count), SimpleQueue[Any]()
    held = Run(place, sync=sync.value, jobs=count)
    outputs = None if ungroup or (no_keep and not keep_order) else Outputs(held.disk, place.out, sync=sync is Sync.FULL)
    try:
        held.acquire(lock_wait)
        catalogue = Catalogue() if replay else None
        held.load(*([] if catalogue is None else [catalogue]), accept_damage=accept_damage)
        if not (accept_command or fresh):
            refuse_another_command(held.ledger, words, shell)
        ignored = settle_orphans(held, orphans, orphan_wait, grace)
        if fresh:
            archived(held)
        sealed = held.seal_open(settle=partial(others.settle, held.ledger) if others is not None else None)
        width = others.slots if others is not None else count
        pacing: Pacing[Any] = Pacing(pacing_policy, width, moment(), before(held.ledger))
        pacing.spending.wanted = how.rules.cost is not None
        if batched:
            pacing.room, pacing.weigh = c.argv_room(template, environ, stdin is not None)
        tally = Tally(spending=pacing.spending)
        printer = printer_for(inbox, most, tally, Progress.NONE if ungroup else progress, tag, quiet_output)
        shelf = Shelf(place.out) if catalogue is not None else None
        order = Order(printer, keep=keep_order, replay=catalogue, shelf=shelf)
        marks = t.followed(source, order, place, inbox)
        witness = marks or (order if replay or keep_order else None)
        admission: Admission[Any] = Admission(admission_rules, held.ledger, pacing, tally, witness)
        counts, new = held.ledger.counts(), not held.journal.exists
        if files != (None, None):
            admission.claims = Claims(files)
        if source.whole:
            take_all(held, source, written, admission)
        late, unnamed = t.count_rows(source, held, tally)
        options = t.masked_words(again.options(command)) if tabled else again.options(command)
        held.heal()
        if outputs is not None:
            held.open_outputs(outputs, nameless=no_keep)
        held.begin(
            {
                "cwd": pack(cwd),
                "argv": pack_all(list(map(os.fsencode, [*options, "--", *command]))),
                "cmd": pack_all(words),
                "shell": shell,
                "total": tally.total,
                "new": tally.new if source.whole else unnamed,
                "piped": source.kept or not source.named,
                "jobs": count,
                "batch": batch,
                "sync": sync.value,
                **(others.fields() if others is not None else {}),
            },
            [*sealed, *admission.held],
            keep_fence=ignored,
        )
        admission.held.clear()
        caught_up = t.catch_up(source, late, held)
        work = Command(
            template=template,
            environ=named_job(environ, place),
            place=place,
            files=files,
            inherit=ungroup,
            stdin=stdin is not None,
            batch_results=batch_results.value,
            program=executable,
            rules=how.rules,
            limits=Limits(how.timeout, idle_timeout, grace),
            keep_open=(held.fence.fd,),
            cwd=cwd if others is not None else None,
            verify=os.fsencode(verify) if verify is not None else None,
            hold_timeouts=policy is not CutOff.RERUN,
        )
        given = os.fsencode(replace) if replace is not None else b"{}"
        risky = not shell and has_placeholder_in_script(words, replace=given, any_field=records)
        for line in start_lines(held, admission, counts, source, template, new, written, risky):
            printer.say(line)
        for line in [*caught_up, *how.lines(count)]:
            printer.say(line)
        printer.start()
        order.begin()
        feed = None
        if not source.whole:
            stream = t.rows(source, count * batch, inbox) or Stream(source.fd, Reader(written), inbox)
            feed = Feed(held, admission, stream, copied=not source.named)
        crew: Crew = Threads(work, count, inbox) if others is None else others.crew_for(work, inbox)
        loop = Loop(
            held,
            pacing,
            admission,
            crew,
            order if others is None else others.watch(order),
            inbox,
            feed=feed,
            outputs=outputs,
            follower=marks,
            batched=batched,
            named=others is not None,
            grace=grace,
        )
        catch(lambda number, _frame: inbox.put(Signal(number)))
        if marks is not None:
            marks.start()
        loop.go()
        return finish(loop, order, printer, inbox, options, command, source)
    finally:
        if others is not None:
            others.close()
        held.close()
