"""One start of the command: a Job becomes argv and environment, the child's end becomes an Outcome."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from . import child
from .child import Leash, Limits, Start
from .disk import Disk
from .files import FileTemplate, PartFile
from .items import record
from .job import Job, Outcome
from .outputs import Spool, caught
from .papers import Papers, results, shared_out, strangers
from .place import Place
from .program import Unusable, find
from .template import Template, Values, quote_command
from .verdict import TEMPFAIL, Ended, Kind, Rules, Verdict, judge

LONGEST = 131_071  # bytes of one `NAME=value` that Linux takes (MAX_ARG_STRLEN, its NUL left out)
BUSY = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
Run = tuple[Verdict, Ended | None]
SINGLE = {b"RESUMECTL_" + name for name in (b"ITEM", b"KEY", b"ATTEMPT", b"INDEX", b"RECORD", b"OMITTED")}
GONE = {errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.EPERM, errno.ELOOP}


@dataclass(frozen=True)
class Command:
    """What is the same for every start.  Calling it with a Job runs one child, in the calling thread."""

    template: Template
    environ: Mapping[bytes, bytes]
    place: Place  # the job's files; the child's streams lie in their directory
    files: tuple[FileTemplate | None, FileTemplate | None] = (None, None)  # --out, --err
    stdin: bool = False  # the child reads its items, and nothing else, on standard input
    batch_results: str = "exit"  # how a batch's items are judged: exit, report, stdout
    inherit: bool = False  # the child writes to our own streams; nothing is caught
    program: bytes | None = None  # the file to execute; None: looked up for each item
    rules: Rules = Rules()
    limits: Limits = Limits()
    keep_open: tuple[int, ...] = ()
    cwd: bytes | None = None  # where the child runs; None: in our own directory
    verify: bytes | None = None  # a script for /bin/sh -c, with placeholders
    hold_timeouts: bool = False

    def __call__(self, job: Job[Any], leash: Leash) -> Outcome[Any]:
        """Run the job to its end.  Failing to start is an outcome, not an exception."""
        began = time.monotonic()
        papers = Papers(self.place, job.uuid) if job.batch and not job.check else None
        try:
            streams = self._streams(job, papers)
        except OSError as error:
            return Outcome(job, Verdict(Kind.UNCHARGED, "stop"), 0.0, error=_uncaught(error, self.place.journal))
        try:
            return self._outcome(job, leash, began, streams, papers)
        except OSError as error:  # what was printed is lost, so nobody knows what it said
            trouble = _uncaught(error, self.place.journal)
            verdict = Verdict(Kind.CUT_OFF, "journal", trouble)
            return Outcome(job, verdict, time.monotonic() - began, None, *streams, error=trouble)

    def _outcome(
        self, job: Job[Any], leash: Leash, began: float, streams: tuple[Spool, Spool], papers: Papers | None
    ) -> Outcome[Any]:
        ended, note = None, ""
        found: dict[bytes, Verdict] = {}
        if job.check:
            verdict = self._check(job, leash, began, streams[1])
        else:
            verdict, ended = self._run(job, leash, began, streams, papers)
        if papers is not None:
            found, note = self._results(job, papers, verdict, leash, began, streams[1])
        put_in_place(streams, done=verdict.kind is Kind.DONE)
        out, err = [stream if stream.fd < 0 else caught(stream) for stream in streams]
        return Outcome(job, verdict, time.monotonic() - began, ended, out, err, found, note=note)

    def _results(
        self, job: Job[Any], papers: Papers, whole: Verdict, leash: Leash, began: float, err: Spool
    ) -> tuple[dict[bytes, Verdict], str]:
        """The verdicts on a batch's items, and a note on what was reported beside them."""
        told = papers.told() if self.batch_results != "exit" else {}
        whole = shared_out(whole, len(job.items))
        found = results(whole, told, job.ids) if self.batch_results != "exit" else dict.fromkeys(job.ids, whole)
        for one in job.singles() if self.verify is not None else ():
            if (verdict := found[one.ids[0]]).kind is Kind.DONE:
                found[one.ids[0]] = replace(verdict, **self._verified(one, leash, began, err))
        return found, strangers(told, job.ids)

    def _streams(self, job: Job[Any], papers: Papers | None) -> tuple[Spool, Spool]:
        """The files that the child writes to; raises OSError."""
        if papers is not None:
            papers.write(job)
            if self.batch_results == "stdout":
                return Spool(papers.open_report()), Spool.nameless(self.spools)
            if self.batch_results == "report":
                os.close(papers.open_report())
        if job.check or self.files == (None, None):
            return Spool.nameless(self.spools), Spool.nameless(self.spools)
        values = self._values(job)
        out, err = (PartFile(file.path(values), Disk()) if file else Spool.nameless(self.spools) for file in self.files)
        return out, err

    @cached_property
    def spools(self) -> str:
        """The directory of the children's streams."""
        return os.fspath(self.place.journal.parent)

    def _run(
        self, job: Job[Any], leash: Leash, began: float, streams: tuple[Spool, Spool], papers: Papers | None
    ) -> Run:
        environ = self._environ(job) if papers is None else self._batch_environ(job, papers)
        try:
            argv = self._argv(job)
            executable = self.program or find(argv[0], environ, self.cwd)
        except Unusable as error:
            return Verdict(Kind.FAILED, "spawn", str(error)), None
        out, err = (1, 2) if self.inherit else (streams[0].fd, streams[1].fd)
        if self.stdin:
            with closing(self._input(job)) as spool:
                ended = self._child(argv, executable, environ, leash, began, (spool.fd, out, err))
        else:
            ended = self._child(argv, executable, environ, leash, began, (nothing(), out, err))
        if isinstance(ended, Verdict):
            return ended, None
        look = self.rules.look_at_output or ended.code == TEMPFAIL
        said, complained = [stream.view() if look else b"" for stream in streams]
        verdict = judge(ended, said, complained, self.rules, now=time.time(), hold_timeouts=self.hold_timeouts)
        if verdict.kind is Kind.DONE and self.verify is not None and papers is None:
            return replace(verdict, **self._verified(job, leash, began, streams[1])), ended
        return verdict, ended

    def _child(
        self,
        argv: Sequence[bytes],
        executable: bytes,
        environ: Mapping[bytes, bytes],
        leash: Leash,
        began: float,
        streams: tuple[int, int, int],
    ) -> Ended | Verdict:
        start = Start(argv, executable, environ, streams, self.keep_open, self.cwd)
        try:
            ended = child.run(start, leash, self.limits, began=began)
        except ValueError:
            return Verdict(Kind.FAILED, "spawn", "the id holds a NUL byte, which no argument can")
        except OSError as error:
            return self._unstarted(error, executable)
        return ended if ended is not None else Verdict(Kind.UNCHARGED, "stop")

    def _input(self, job: Job[Any]) -> Spool:
        """What the child reads: its items, each with a newline, from a file that ends there."""
        spool = Spool.nameless(self.spools)
        for item in job.items:
            os.write(spool.fd, (item.id if item.value is None else record(item)) + b"\n")
        os.lseek(spool.fd, 0, os.SEEK_SET)
        return spool

    def _unstarted(self, error: OSError, executable: bytes) -> Verdict:
        """A program that is not there is nobody's fault; an argument too long is its item's."""
        name = os.fsdecode(executable)
        if error.errno in BUSY:
            return Verdict(Kind.UNCHARGED, "slow", f"{name} could not be started: {error.strerror}")
        if error.errno in GONE and self.program is not None:
            return Verdict(Kind.UNCHARGED, "spawn", f"{name} can't be started any more: {error.strerror}")
        too_long = " (one argument may have 128 KiB)" if error.errno == errno.E2BIG else ""
        return Verdict(Kind.FAILED, "spawn", f"{error.strerror}{too_long}")

    def _check(self, job: Job[Any], leash: Leash, began: float, err: Spool) -> Verdict:
        """Ask whether the effect of a cut-off item is in place; FAILED says that it is not."""
        changes = self._verified(job, leash, began, err)
        if changes.get("kind") is Kind.CUT_OFF:
            return Verdict(Kind.UNCHARGED, "stop")
        return replace(Verdict(Kind.DONE), **changes)

    def _verified(self, job: Job[Any], leash: Leash, began: float, err: Spool) -> dict[str, Any]:
        """Run `--verify`; what its end changes in the verdict.  Its output is shown unless it says yes or no."""
        assert self.verify is not None
        script = [b"/bin/sh", b"-c", quote_command(self.verify, self._values(job))]
        with closing(Spool.nameless(self.spools)) as words:
            ended = self._child(
                script, b"/bin/sh", self._environ(job), leash, began, (nothing(), words.fd, words.fd)
            )
            if isinstance(ended, Verdict):
                return {"kind": Kind.CUT_OFF, "why": "killed"} if ended.why == "stop" else _held(ended.text)
            verdict = judge(ended, b"", b"", Rules(), now=0, hold_timeouts=self.hold_timeouts)
            if verdict.kind is Kind.DONE:
                return {}
            if verdict.kind is Kind.CUT_OFF or (ended.timed_out and not job.check):
                return {"kind": verdict.kind, "why": verdict.why, "text": verdict.text}
            if ended.code == 1 and not ended.timed_out:
                return {"kind": Kind.FAILED, "why": "verify", "text": "--verify says that the effect is not in place"}
            for piece in words.pieces():
                os.write(err.fd, piece)
        return _held(f"--verify: {verdict.text}, so whether the effect is in place is unknown")

    def _argv(self, job: Job[Any]) -> list[bytes]:
        if job.batch:
            return self.template.batch_argv(job.ids, job.slot, append=not self.stdin)
        return self.template.argv(self._values(job))

    def _batch_environ(self, job: Job[Any], papers: Papers) -> dict[bytes, bytes]:
        """A batch's environment: where its items and its report are; what is one item's own is not there."""
        environ = {name: value for name, value in self.environ.items() if name not in SINGLE}
        environ[b"RESUMECTL_ITEMS_FILE"] = os.fsencode(papers.items)
        environ[b"RESUMECTL_ATTEMPT_UUID"] = job.uuid.encode()
        environ[b"RESUMECTL_SLOT"] = b"%d" % job.slot
        if self.batch_results == "report":
            environ[b"RESUMECTL_REPORT"] = os.fsencode(papers.report)
        return environ

    def _values(self, job: Job[Any]) -> Values:
        item = job.items[0]
        return Values(item.id, item.index, job.slot, job.keys[0], job.attempts[0], item.value)

    def _environ(self, job: Job[Any]) -> dict[bytes, bytes]:
        """The child's environment; a variable that can't be handed over is named in RESUMECTL_OMITTED."""
        item = job.items[0]
        environ, omitted = dict(self.environ), []
        environ[b"RESUMECTL_KEY"] = job.keys[0].encode()
        environ[b"RESUMECTL_ATTEMPT"] = b"%d" % job.attempts[0]
        environ[b"RESUMECTL_ATTEMPT_UUID"] = job.uuid.encode()
        environ[b"RESUMECTL_INDEX"] = b"%d" % item.index
        environ[b"RESUMECTL_SLOT"] = b"%d" % job.slot
        theirs = {b"RESUMECTL_ITEM": item.id}
        if item.value is not None:
            theirs[b"RESUMECTL_RECORD"] = record(item)
        for name, value in theirs.items():
            if b"\0" in value or len(name) + 1 + len(value) > LONGEST:
                environ.pop(name, None)
                omitted.append(name)
            else:
                environ[name] = value
        if omitted:
            environ[b"RESUMECTL_OMITTED"] = b" ".join(omitted)
        return environ


@cache
def nothing() -> int:
    """What every child reads that is given nothing: a descriptor that stays open."""
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def put_in_place(streams: Sequence[Spool], *, done: bool) -> None:
    """A file of its own gets its name only when its item is done; else it is output like any other."""
    for stream in streams:
        if isinstance(stream, PartFile):
            stream.put_in_place() if done else stream.drop()


def _uncaught(error: OSError, where: Path) -> str:
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else where
    return f"{path}: {error.strerror}; what the command prints can't be kept"


def _held(text: str) -> dict[str, Any]:
    return {"kind": Kind.HELD, "why": "verify", "text": text}
