#!/usr/bin/python3
"""Applies a site repeatedly to a disk with little or no free space; see test_full_disk.py.

    full_disk.py EDEN FOLDER     in its own mount namespace
"""

import os
import pathlib
import random
import subprocess
import sys

from world import ORDERS, World

ROUNDS = 40
NEEDED_KB = 1200  # approximate size of a version of the site


def fill(path, leave_kb):
    """Uses up all disk space except this much."""
    room = os.statvfs(path.parent)
    size = room.f_bavail * room.f_frsize - leave_kb * 1024
    with open(path, "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
        except OSError:
            pass


def check_report(code, report):
    """Failed steps have a reason, their dependents are blocked, and all others ran."""
    results = {step["name"]: step["result"] for step in report["steps"]}
    failed = [step for step in report["steps"] if step["result"] == "failed"]
    for step in failed:
        assert "No space left" in step["error"]["message"] or step["action"] == "cmd.run", step
    assert code == (1 if failed else 0), (code, results)
    assert (report["result"] == "failed") == bool(failed)
    if results["alpha"] == "failed":
        assert results["watch-alpha"] == "blocked", results
    if results["beta"] == "failed":
        assert results["onchanges-beta"] == "skipped", results
    assert set(results.values()) <= {"ok", "changed", "failed", "blocked", "skipped"}, results
    return len(failed)


def main(eden, folder):
    disk = pathlib.Path(folder) / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", disk], check=True)
    rng = random.Random(5)
    world = World(eden, folder, disk=disk, lines=8000)
    world.converge()
    failures = partial = refused = 0
    for _ in range(ROUNDS):
        world.next()
        fill(disk / "filler", rng.choice([0, 0, rng.randrange(NEEDED_KB)]))
        ended = world.try_apply(rng.choice(ORDERS))
        if ended is None:
            refused += 1
        else:
            failed = check_report(*ended)
            failures += failed > 0
            partial += failed > 0 and ended[1]["counts"]["changed"] > 0
        world.check_interrupted(world.version - 1)
        (disk / "filler").unlink()
        world.converge(rng.choice(ORDERS))
    print(f"{ROUNDS} rounds, {failures} failed, {partial} in part, {refused} could not start")
    assert failures > ROUNDS / 4 and partial > 3


main(sys.argv[1], sys.argv[2])
