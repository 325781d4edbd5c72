#!/usr/bin/python3
"""Runs across nodes while runners, agents and the server are killed, and a check of what is left.

    tests/fault/killed_runs.py [--kills 200] [--rounds 0] [--nodes 5] [--seed N] [--build build]

Each round starts an apply of several steps and a command on all nodes, and kills processes (-9) at
random moments, counted in changes of files: a runner, an agent, both, or the server. Agents and the
server are restarted. Then:

  - Both runs end, with one final result per node. It is what the last event of the node says, or a
    failure with a reason if its runner was killed before it wrote that event.
  - The log of the server has the same events as the file of the node, numbered without a gap.
  - A step acted as often as the log says that it started: once, unless the result has more attempts.
  - Results and logs of the round before are as they were.

On failure, the seed and the folder show how."""

import argparse
import collections
import json
import os
import pathlib
import random
import select
import shutil
import signal
import struct
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "scenario")]

import api_client  # noqa: E402
import daemons  # noqa: E402
import own_network  # noqa: E402
from events import Changes, wait_until  # noqa: E402
from fleets import Fleet  # noqa: E402

STEPS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
LINES = 200  # that each step prints
WORK = 4 << 20  # bytes that each step hashes, to take time
QUIET = 0.2  # seconds without a change: nothing is going on
VICTIMS = ("runner", "runner", "agent", "agent", "node", "server")


class Wrong(Exception):
    """What is left contradicts what happened."""


def require(holds, *what):
    if not holds:
        raise Wrong(" ".join(str(word) for word in what))


class Counter(Changes):
    """Lets a number of changes of files pass."""

    def __init__(self, folders):
        super().__init__()
        self.folders = folders

    def wait(self, count):
        """Returns how many there were, less than `count` if nothing changes any longer."""
        seen = 0
        while seen < count:
            for folder in self.folders:
                self.watch(folder)  # the directory of a run is new
            if not select.select([self.descriptor], [], [], QUIET)[0]:
                break
            data = os.read(self.descriptor, 4096)
            at = 0
            while at < len(data):
                at += 16 + struct.unpack_from("I", data, at + 12)[0]
                seen += 1
        return seen


def runners(machine):
    """Process descriptors of the runners of a node, with the runs that they execute."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            descriptor = os.pidfd_open(int(path.name))
        except OSError:
            continue
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            words = []
        if b"--run-id" in words and any(word.startswith(bytes(machine.state)) for word in words):
            found[descriptor] = words[words.index(b"--run-id") + 1].decode()
        else:
            os.close(descriptor)
    return found


def check_numbers(log, own):
    require([event["n"] for event in log] == list(range(1, len(log) + 1)), "the log has gaps")
    require(log == own, "the log has", len(log), "events, the node", len(own))


def node_names(count):
    return tuple(f"web{number + 1}" for number in range(count))


class World(Fleet):
    """A server, nodes and a site, with what was killed and what was seen."""

    def __init__(self, cluster, nodes, seed):
        super().__init__(cluster, nodes)
        self.nodes = nodes
        self.rng = random.Random(seed)
        self.acts = cluster.folder / "acts"
        self.acts.touch()
        self.steps = STEPS
        self.push({"work": [self.step(name) for name in self.steps]})
        folders = [cluster.state, *(machine.state for machine in self.machines.values()), cluster.folder]
        self.counter = Counter(folders)
        self.changes = 0  # that a round makes
        self.kills = collections.Counter()
        self.outcomes = collections.Counter()
        self.killed_runners = set()  # node and run
        self.restarted = set()  # nodes, in this round
        self.before = {}

    def act(self, name, round):
        return f"echo {round} $NODE {name} >> {self.acts}; seq {LINES}; head -c {WORK} /dev/zero | sha256sum"

    def step(self, name):
        script = self.act(name, "{{ vars.round }}").replace("$NODE", "{{ server.name }}")
        return {"name": name, "cmd.run": [{"cmd": script}]}

    def ask(self, path):
        status, response = api_client.call(self.cluster, "GET", path)
        require(status == 200, path, "gives", response)
        return response

    def log(self, run):
        """The events that the server has, by node."""
        connection = api_client.UnixConnection(self.cluster.run / "server/api.sock")
        connection.request("GET", f"/v1/runs/{run}/logs")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        log = {name: [] for name in self.nodes}
        for line in map(json.loads, lines):
            log[line.pop("node")].append(line)
        return log

    def results(self, run):
        page = self.ask(f"/v1/runs/{run}/nodes")
        return {each["node"]: each for each in page["nodes"]}

    # --- Killing ---------------------------------------------------------------------------------

    def find_runners(self, machine):
        """Those of now, or else the next ones."""
        while not (found := runners(machine)) and self.counter.wait(1) > 0:
            pass
        return found

    def kill_runners(self, machine, found):
        for descriptor, run in found.items():
            self.killed_runners.add((machine.name, run))
            self.kills["runner"] += 1
            try:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended
            os.close(descriptor)

    def kill(self):
        victim = self.rng.choice(VICTIMS)
        machine = self.machines[self.rng.choice(self.nodes)]
        if victim == "server":
            self.cluster.server.end()
            self.cluster.start()
            self.kills[victim] += 1
            return
        found = self.find_runners(machine) if victim in ("runner", "node") else {}
        if victim in ("agent", "node"):
            machine.agent.end()
            self.restarted.add(machine.name)
            self.kills["agent"] += 1
        self.kill_runners(machine, found)
        if victim in ("agent", "node"):
            machine.start()

    # --- A round ---------------------------------------------------------------------------------

    def begin(self, number):
        """The IDs of an apply and of a command for each node."""
        command = ["sh", "-c", self.act("command", number).replace("$NODE", "$0")]
        names = [self.call("run", "-l", "web*", "--detach", "-D", f"round={number}").stdout.strip()]
        for name in self.nodes:  # a command does not know its node
            names.append(self.call("exec", "-l", name, "--detach", "--", *command, name).stdout.strip())
        return names

    def wait_ended(self, run):
        def ended():
            return self.ask(f"/v1/runs/{run}")["status"]["state"] == "ended"

        wait_until(ended, f"the end of {run}")

    def round(self, number, kills):
        self.restarted.clear()
        runs = self.begin(number)
        if kills == 0:
            self.changes = self.counter.wait(1 << 30)
        for _ in range(kills):
            self.counter.take()
            self.counter.wait(self.rng.randrange(self.changes))
            self.kill()
        for run in runs:
            self.wait_ended(run)
        now = {run: (self.results(run), self.log(run)) for run in runs}
        for run, seen in self.before.items():
            found = (self.results(run), self.log(run))
            require(found == seen, "what was stored of", run, "has changed:", seen, found)
        for run, (results, log) in now.items():
            targets = set(self.nodes) if run == runs[0] else {self.nodes[runs.index(run) - 1]}
            require(set(results) == targets, run, "has results of", *results)
            steps = self.steps if run == runs[0] else ("command",)
            for name in targets:
                try:
                    self.check_node(number, run, name, results[name], log[name], steps)
                except Wrong as wrong:
                    raise Wrong(f"round {number}, run {run}, {name}: {wrong}; {results[name]}") from wrong
        self.before = now

    # --- Checks ----------------------------------------------------------------------------------

    def check_node(self, number, run, name, result, log, steps):
        path = self.machines[name].state / "agent/runs" / run / "events.ndjson"
        own = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        for event in own:
            event.pop("node", None)
        check_numbers(log, own)
        self.check_outcome(run, name, result, log)
        acts = collections.Counter(line.split()[2] for line in self.acts.read_text().splitlines()
                                   if line.split()[:2] == [str(number), name])
        for step in steps:
            events = [event for event in log if event.get("step", "").split("#")[-1] == step]
            self.check_step(step, result, acts[step], events, log[-1].get("lost", 0) if log else 0)

    def check_outcome(self, run, name, result, log):
        was_killed = (name, run) in self.killed_runners
        begun = sum(event["event"] == "begin" for event in log)
        end = log[-1] if log and log[-1]["event"] == "end" else None
        self.outcomes[result["outcome"]] += 1
        require(end is not None or was_killed, "its events have no end")
        require(begun <= result["attempts"], "it began", begun, "times")
        require(result["attempts"] == 1 or name in self.restarted, "it was started again")
        if end is not None:
            require(result["outcome"] == end["result"], "its last event says", end["result"])
            require(end["result"] == "changed" or was_killed, "it did not change")
        else:
            require(result["outcome"] == "failed" and (result["reason"] or result.get("error")),
                    "a killed runner has no reason")

    def check_step(self, step, result, acts, events, lost=0):
        """`lost`: number of events that a full disk has prevented."""
        starts = sum(event["event"] == "start" for event in events)
        done = sum(event["event"] == "step" and event["result"] == "changed" for event in events)
        require(done <= acts <= starts + lost, step, "acted", acts, "times,", starts, "started,", done, "done")
        require(acts <= 1 or result["attempts"] > 1, step, "acted", acts, "times")
        require(acts == 1 or result["outcome"] != "changed" or result["attempts"] > 1, step, "acted", acts, "times")


def run(eden, folder, kills, seed, nodes=2, rounds=0):
    """At least so many kills and rounds. Returns a summary."""
    cluster = daemons.Cluster(str(eden), folder)
    try:
        world = World(cluster, node_names(nodes), seed)
        world.round(0, 0)
        number = 0
        while world.kills.total() < kills or number < rounds:
            number += 1
            world.round(number, world.rng.choice((1, 1, 2)))
        world.round(number + 1, 0)
        require(world.outcomes["changed"] > world.outcomes["failed"], world.outcomes)
        return {"rounds": number, "changes": world.changes, **world.kills, **world.outcomes}
    finally:
        cluster.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--build", type=pathlib.Path, default=TESTS.parent / "build")
    options = parser.parse_args()
    own_network.enter()
    folder = options.build / "killed-runs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        seen = run(options.build / "eden", folder, options.kills, options.seed, options.nodes,
                   options.rounds)
    except (Wrong, AssertionError) as wrong:
        sys.exit(f"seed {options.seed}: {wrong}; see {folder}")
    print(f"seed {options.seed}, {options.nodes} nodes:",
          ", ".join(f"{count} {what}" for what, count in seen.items()))  # fmt: skip


if __name__ == "__main__":
    main()
