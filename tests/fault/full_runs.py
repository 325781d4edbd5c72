#!/usr/bin/python3
"""Runs across nodes while the disk of a node or of the server is full; see test_full_disk.py.

    full_runs.py EDEN STORAGE FOLDER     in its own mount namespace

Nodes and server have disks of their own. Every run ends when there is space again, what was on a
disk is kept, and steps act once."""

import json
import os
import pathlib
import subprocess
import sys

import killed_runs
from killed_runs import require
from events import wait_until

import daemons

SIZES = {"s1": "24m", "web1": "16m"}
NODES = killed_runs.node_names(2)
STEPS = ("before", "gate", "after")


class Disk:
    def __init__(self, path, size):
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], check=True)
        self.ballast = path / "ballast"

    def fill(self):
        """Also what was freed since it was filled."""
        with open(self.ballast, "ab") as file:
            size = 1 << 20
            while size >= 1024:
                try:
                    os.write(file.fileno(), bytes(size))
                except OSError:
                    size //= 2

    def empty(self):
        self.ballast.unlink()


class World(killed_runs.World):
    def __init__(self, cluster, disks):
        super().__init__(cluster, NODES, 1)
        self.disks = disks
        self.steps = STEPS
        self.number = 0
        self.gates = {name: cluster.folder / f"gate-{name}" for name in NODES}
        for gate in self.gates.values():
            os.mkfifo(gate)
        steps = [self.step(name) for name in STEPS]
        steps[1]["cmd.run"][0]["cmd"] += f"; cat {self.gates['web1'].with_name('gate')}-{{{{ server.name }}}}"
        for before, step in zip(STEPS, steps[1:]):
            step["require"] = [{"step": before}]
        self.push({"work": steps})

    def begin(self):
        """An apply whose second step waits on both nodes."""
        self.number += 1
        run = self.call("run", "-l", "web*", "--detach", "-D", f"round={self.number}").stdout.strip()
        for name in NODES:
            wait_until(lambda: f"{self.number} {name} gate" in self.acts.read_text(), f"the gate of {name}")
        return run

    def events(self, run, name):
        path = self.machines[name].state / "agent/runs" / run / "events.ndjson"
        return [json.loads(line)["event"] for line in path.read_text().splitlines(True) if line.endswith("\n")]

    def open_gate(self, *names):
        for name in names:
            self.gates[name].write_text("go\n")

    def wait_acted(self, name, step):
        wait_until(lambda: f"{self.number} {name} {step}" in self.acts.read_text(), f"{step} of {name}")

    def check(self, run, outcomes=("changed",)):
        self.wait_ended(run)
        results, log = self.results(run), self.log(run)
        for name, result in results.items():
            self.check_node(self.number, run, name, result, log[name], self.steps)
            require(result["outcome"] in outcomes, run, name, result)
            print(self.number, name, result["outcome"], result["attempts"], len(log[name]), "events")
        return results


def order_on_a_full_node(world):
    """An order that cannot be stored waits for space."""
    machine = world.machines["web1"]
    world.disks["web1"].fill()
    run = world.call("exec", "-l", "web1", "--detach", "--", "true").stdout.strip()
    machine.agent.wait_for_log("No space left on device")
    require(world.ask(f"/v1/runs/{run}")["status"]["state"] != "ended", "it ended without the node")
    world.disks["web1"].empty()
    world.wait_ended(run)
    result = world.results(run)["web1"]
    require(result["outcome"] == "changed" and result["attempts"] == 1, result)


def node_fills_up(world, restarts):
    """In the middle of a run, which another node finishes meanwhile."""
    machine = world.machines["web1"]
    run = world.begin()
    world.disks["web1"].fill()
    world.open_gate("web1", "web2")
    world.wait_acted("web2", "after")
    wait_until(lambda: world.results(run)["web2"]["outcome"] == "changed", "the result of web2")
    wait_until(lambda: not killed_runs.runners(machine), "the end of the runner")
    if restarts:
        machine.agent.kill()
        machine.start()
        world.restarted.add("web1")
    world.disks["web1"].empty()
    results = world.check(run, ("changed", "failed"))
    require(results["web1"]["outcome"] == "changed" or results["web1"]["code"] or results["web1"]["reason"],
            "no reason:", results["web1"])


def server_fills_up(world, restarts):
    """While the nodes upload events: they keep them."""
    run = world.begin()
    wait_until(lambda: len(world.log(run)["web1"]) > 2, "the first events")
    world.disks["s1"].fill()
    world.open_gate("web1", "web2")
    for name in NODES:
        wait_until(lambda: world.events(run, name)[-1] == "end", f"the last event of {name}")
    before = world.log(run)
    if restarts:
        world.cluster.server.kill()
        world.disks["s1"].fill()
        world.cluster.start()
        for name in NODES:
            require(world.log(run)[name][: len(before[name])] == before[name], "the server has lost events")
    require(world.ask(f"/v1/runs/{run}")["status"]["state"] != "ended", "it ended on a full disk")
    world.disks["s1"].empty()
    world.check(run)


def log_cannot_be_written(world, storage, restarts):
    """But all else on the server can: the results wait for the events, too."""
    trouble = world.cluster.folder / "trouble"
    # An instrumented program has its runtime behind this library.
    options = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0")))
    env = {"LD_PRELOAD": str(storage), "ASAN_OPTIONS": options,
           "EDEN_STORAGE_TROUBLE": f"{trouble}:.ndjson$"}  # fmt: skip
    world.cluster.server.stop()
    world.cluster.start(env=env)
    run = world.begin()
    wait_until(lambda: len(world.log(run)["web1"]) > 2, "the first events")
    before = world.log(run)
    trouble.write_text("ENOSPC")
    world.open_gate("web1", "web2")
    for name in NODES:
        wait_until(lambda: world.events(run, name)[-1] == "end", f"the last event of {name}")
    world.cluster.server.wait_for_log("cannot write the log of a run")
    if restarts:
        world.cluster.server.kill()
        world.cluster.start(env=env)
    for name in NODES:
        require(world.log(run)[name][: len(before[name])] == before[name], "the server has lost events")
        require(world.results(run)[name]["outcome"] == "running", "a result without its events")
    trouble.unlink()
    world.check(run)


def main(eden, storage, folder):
    folder = pathlib.Path(folder) / "world"
    folder.mkdir()
    disks = {name: Disk(folder / name, size) for name, size in SIZES.items()}
    cluster = daemons.Cluster(eden, folder)
    try:
        world = World(cluster, disks)
        order_on_a_full_node(world)
        for restarts in (False, True):
            server_fills_up(world, restarts)
            node_fills_up(world, restarts)
            log_cannot_be_written(world, storage, restarts)
        run = world.begin()
        world.open_gate("web1", "web2")
        world.check(run)
    except BaseException:
        for daemon in cluster.daemons:
            print("\n".join(daemon.log[-15:]), "\n", file=sys.stderr)
        raise
    finally:
        cluster.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
