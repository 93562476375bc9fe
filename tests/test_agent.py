"""A program as the caller: it knows `run`, exit codes and `status --json`, and nothing else."""

from __future__ import annotations

from conftest import Scratch

# The first attempt of every tenth item fails; all together last longer than a slice, two at a time.
WORK = ("sh", "-c", 'echo "$1" >>effects; case "$1$RESUMECTL_ATTEMPT" in *01) exit 1;; esac; sleep 0.06', "_", "{}")


def test_a_job_is_driven_to_its_end_by_max_time_exit_75_and_status_alone(scratch: Scratch) -> None:
    """Slice by slice; after each the counts add up, none is lost, and done never shrinks."""
    ids = [f"{number:03}" for number in range(50)]
    scratch.items(*ids)
    call, codes, done = ["run", "--items", "i", "--max-time", "1", "-j", "2", *WORK], [], [0]
    while not codes or codes[-1] in (1, 75):
        ended = scratch.run(*call)
        codes.append(ended.code)
        status = scratch.status()
        counts = status["counts"]
        assert counts["total"] == 50 == sum(counts.values()) - 50 and counts["running"] == counts["cut_off"] == 0
        assert (ended.code == 0) == (status["state"] == "complete")
        assert status["reason"] == {0: "complete", 1: "exhausted", 75: "max-time"}[ended.code]
        assert counts["done"] >= done[-1] and len(codes) < 50
        done.append(counts["done"])
    assert codes[-1] == 0 and 75 in codes and done[-1] == 50
    assert sorted(scratch.effects()) == sorted([*ids, *ids[::10]])
