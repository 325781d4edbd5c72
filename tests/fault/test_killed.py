"""`kill -9` at any point of an apply: nothing is torn, no owed action is forgotten, and the next
run converges."""

import os
import random
import subprocess

import pytest

from world import ORDERS, World

AT_CALLS = 300  # points between system calls, and in the middle of writes
AT_LINES = 30  # external kills, while it prints its progress


@pytest.fixture
def world(eden_path, privileged, tmp_path):
    return World(eden_path, tmp_path, privileged)


def one_in(rng, count):
    return rng.randrange(count) == 0


def count_calls(world, library, order):
    counted = world.folder / "count"
    env = world.environment(LD_PRELOAD=str(library), EDEN_STORAGE_COUNT=str(counted))
    subprocess.run(world.command(order, "--progress", "none"), env=env, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    if not counted.exists():
        pytest.fail("this test preloads a library, which a static program does not take")
    return int(counted.read_text())


def test_killed_at_any_system_call_an_apply_leaves_nothing_torn_or_forgotten(world, storage_path):
    rng = random.Random(3)
    moments = {}
    for order in ORDERS:
        moments[order] = count_calls(world, storage_path, order)
        world.check_converged()
        world.next()
    assert min(moments.values()) > 50
    killed = 0
    while killed < AT_CALLS:
        order = rng.choice(ORDERS)
        at = rng.randrange(1, moments[order] + 1)
        env = world.environment(LD_PRELOAD=str(storage_path), EDEN_STORAGE_KILL=str(at))
        done = subprocess.run(world.command(order, "--progress", "none"), env=env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        assert done.returncode in (0, -9), (order, at)
        killed += done.returncode == -9
        try:
            world.check_interrupted(world.version - 1)
            if one_in(rng, 3):
                continue  # the next run is killed too, while it recovers from this one
            world.converge(rng.choice(ORDERS))
        except AssertionError as why:
            raise AssertionError(f"killed in {order} at call {at}: {why}") from why
        world.next()
    world.converge()
    world.next()
    world.converge()
    assert list(world.state.rglob("*.new")) == []


def test_killed_from_outside_while_reporting(world):
    rng = random.Random(4)
    world.converge()
    killed = 0
    for round in range(AT_LINES):
        world.next()
        running = subprocess.Popen(
            world.command(ORDERS[round % len(ORDERS)], "--progress", "plain", "-o", "json"),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=world.environment(),
        )  # fmt: skip
        # It continues while we count, so the exact moment is random, too.
        os.read(running.stderr.fileno(), rng.randrange(1, 500))
        running.kill()
        running.stderr.close()
        killed += running.wait() == -9
        world.check_interrupted(world.version - 1)
        world.converge(rng.choice(ORDERS))
    assert killed > AT_LINES / 3
