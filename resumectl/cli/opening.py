"""Before anything runs: the lock, the damage, the command, who still lives of a killed run."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Sequence

from ..ledger import Ledger
from ..lines import JournalError, read
from ..place import Place, above
from ..records import of_types, unpack
from ..run import Run
from ..words import duration, shown
from . import Refusal, tell
from .choices import OnOrphans

LOOK = 0.1  # seconds between two looks at orphans


def refuse_a_twin(place: Place, words: Sequence[bytes], shell: bool) -> None:
    """Refuse to make a journal where a parent directory has the same job with the same command."""
    if not place.own or os.environ.get("RESUMECTL_DIR") or place.journal.exists():
        return
    for path in above(place):
        ledger = Ledger()
        try:
            for record in read(path, only=of_types("run")):
                ledger.enter(record)
        except (JournalError, OSError):
            continue
        if recorded_command(ledger) == (list(words), shell):
            where = path.parent.parent
            raise Refusal(
                f"the same job stands in a parent directory ({path}), and here it would begin anew; "
                f"cd {where}, or choose with --journal PATH or --job NAME"
            )


def recorded_command(ledger: Ledger) -> tuple[list[bytes], bool] | None:
    """The command of the journal's last run, and whether it was given with --shell."""
    words = ledger.run.get("cmd")
    return ([unpack(word) for word in words], bool(ledger.run.get("shell"))) if words else None


def refuse_another_command(ledger: Ledger, words: Sequence[bytes], shell: bool) -> None:
    """Done means *this command for this id*: another command is another job."""
    recorded = recorded_command(ledger)
    if recorded is None or recorded == (list(words), shell):
        return
    raise Refusal(
        "the command is not the one that this journal was made with; nothing was run\n"
        f"  journal: {command_shown(recorded[0], recorded[1])}\n"
        f"  now:     {command_shown(words, shell)}\n"
        "  --job NAME         run it as a job of its own\n"
        "  --accept-command   it is the same work: keep what is done\n"
        "  --fresh            archive the journal and start over"
    )


def command_shown(words: Sequence[bytes], shell: bool) -> str:
    text = " ".join(shlex.quote(word.decode(errors="backslashreplace")) for word in words)
    return shown(("--shell " if shell else "").encode() + text.encode(), limit=2000)


def settle_orphans(run: Run, how: OnOrphans, wait: float, grace: float) -> bool:
    """Have nothing of a killed run beside its rerun.  True if orphans live on by the user's wish.

    Raises JournalError 4 when they outlast the wait (seconds).
    """
    found = run.orphans()
    if not found.busy:
        return False
    whose = f"pid {', '.join(map(str, found.pids))}" if found.pids else "pids unknown"
    if how is OnOrphans.IGNORE:
        tell(f"commands of a killed run still live ({whose}); ignored, as told")
        return True
    if how is OnOrphans.KILL:
        _kill(run, grace)
    else:
        tell(f"commands of a killed run still live ({whose}); waiting up to {duration(wait)} for their end")
        _outwait(run, wait)
    if run.orphans().busy:
        choices = "kill or ignore" if found.pids else "ignore"  # whom we don't know we can't kill
        raise JournalError(
            f"commands of a killed run still live ({whose}); run again later, or choose --orphans {choices}", 4
        )
    return False


def _outwait(run: Run, wait: float) -> None:
    end = time.monotonic() + wait
    while time.monotonic() < end and run.orphans().busy:
        time.sleep(LOOK)


def _kill(run: Run, grace: float) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in run.orphans().pids:
            tell(f"sending {signal.Signals(number).name} to {pid}, which a killed run had started")
            try:
                os.killpg(os.getpgid(pid), number)
            except ProcessLookupError:
                continue
            except PermissionError as error:
                raise JournalError(f"can't kill {pid}: {error.strerror}", 4) from None
        _outwait(run, grace if number == signal.SIGTERM else 1.0)


def archived(run: Run) -> None:
    """Put the old journal aside and say where it is."""
    for kept in run.archive():
        tell(f"archived {kept}")
