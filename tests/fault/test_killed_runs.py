"""Runs across nodes while runners, agents and the server are killed; and that the checks can fail."""

import collections
import os

import killed_runs
import pytest

KILLS = int(os.environ.get("EDEN_KILLS", "15"))
SEED = int(os.environ.get("EDEN_SEED", "1"))


def test_killed_processes_lose_nothing_and_every_run_ends(eden_path, tmp_path):
    seen = killed_runs.run(eden_path, tmp_path, KILLS, SEED)
    assert seen["changed"] > KILLS


def event(n, kind, **more):
    return {"n": n, "event": kind, **more}


GOOD = [
    event(1, "begin", steps=["work#alpha"]), event(2, "start", step="work#alpha"),
    event(3, "step", step="work#alpha", result="changed"), event(4, "end", result="changed"),
]
RESULT = {"outcome": "changed", "reason": "", "attempts": 1}


def check(log, acts, result=RESULT, killed=(), restarted=()):
    world = killed_runs.World.__new__(killed_runs.World)
    world.outcomes = collections.Counter()
    world.killed_runners, world.restarted = set(killed), set(restarted)
    killed_runs.check_numbers(log, log)
    world.check_outcome("r1", "web1", result, log)
    world.check_step("alpha", result, acts, log)


def test_the_checks_accept_what_is_right():
    check(GOOD, 1)
    again = [*GOOD[:2], event(3, "begin"), event(4, "start", step="work#alpha"),
             event(5, "step", step="work#alpha", result="changed"), event(6, "end", result="changed")]
    check(again, 2, {**RESULT, "attempts": 2}, [("web1", "r1")], ["web1"])
    check(GOOD[:2], 1, {**RESULT, "outcome": "failed", "reason": "killed"}, [("web1", "r1")])


@pytest.mark.parametrize("log, acts, result", [
    (GOOD, 0, RESULT),
    (GOOD, 2, RESULT),
    (GOOD[:2], 1, RESULT),
    ([GOOD[0], *GOOD[2:]], 1, RESULT),
    (GOOD, 1, {**RESULT, "attempts": 2}),
    (GOOD, 1, {**RESULT, "outcome": "ok"}),
    (GOOD[:2], 1, {**RESULT, "outcome": "failed"}),
    ([*GOOD[:3], event(4, "end", result="failed")], 1, {**RESULT, "outcome": "failed"}),
])  # fmt: skip
def test_the_checks_reject_what_is_wrong(log, acts, result):
    with pytest.raises(killed_runs.Wrong):
        check(log, acts, result)
