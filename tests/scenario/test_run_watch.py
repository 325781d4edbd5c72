"""Watching a run while its server restarts: nothing is lost, nothing is shown twice."""

import json
import os
import signal
import subprocess
import time

import pytest
from api_client import next_line
from fleets import Fleet

from events import LIMIT, wait_until


@pytest.fixture
def fleet(cluster):
    return Fleet(cluster)


class Gate:
    """What a step of a node waits for."""

    def __init__(self, fleet, name):
        self.path = fleet.cluster.folder / f"gate-{name}"
        os.mkfifo(self.path)

    def open(self):
        with open(self.path, "w") as fifo:
            fifo.write("go\n")


def gated(fleet, nodes="web1 or web2"):
    """A run whose second step waits for the gates of its nodes."""
    gates = {name: Gate(fleet, name) for name in ("web1", "web2", "db1")}
    path = fleet.cluster.folder
    fleet.push({"web": [
        {"name": "first", "cmd.run": [{"cmd": "echo 1"}]},
        {"name": "second", "cmd.run": [{"cmd": f"read line < {path}/gate-{{{{ server.name }}}}"}],
         "require": [{"step": "first"}]},
        {"name": "third", "cmd.run": [{"cmd": "test {{ server.name }} != web2"}],
         "require": [{"step": "second"}]}]})
    run = fleet.call("run", "-l", nodes, "--detach").stdout.strip()
    return run, gates


def read_until(stream, *wanted):
    """The lines up to the one with the last of the texts that was missing."""
    lines, missing, end = [], set(wanted), time.monotonic() + LIMIT
    while missing:
        assert time.monotonic() < end, (missing, lines)
        lines.append(next_line(stream))
        missing -= {text for text in missing if text in lines[-1]}
    return lines


def restart(cluster):
    cluster.server.kill()
    cluster.start()


def events_of(lines):
    """Those of nodes, in the order of each node."""
    records = [json.loads(line) for line in lines if line.startswith('{"node"')]
    nodes = sorted({record["node"] for record in records})
    return {node: [record for record in records if record["node"] == node] for node in nodes}


def test_a_watch_continues_after_the_server_was_killed(fleet):
    run, gates = gated(fleet)
    watch = fleet.start("runs", "watch", run, "--progress", "json")
    lines = read_until(watch.stderr, '"start","step":"web#second"', '"web2","n":2')
    assert json.loads(lines[0]) == {"format": "eden.run-progress/1", "run": run, "targets": 2,
                                    "version": fleet.api(f"/v1/runs/{run}")["spec"]["version"]}
    restart(fleet.cluster)
    lines += read_until(watch.stderr, '{"event":"resumed"}')
    gates["web1"].open()
    lines += read_until(watch.stderr, '"web1","n":8')
    restart(fleet.cluster)
    gates["web2"].open()
    out, rest = watch.communicate(timeout=60)
    lines += rest.splitlines()
    assert watch.returncode == 1 and f"run {run}: 1 failed, 1 changed of 2 nodes" in out
    assert [json.loads(line)["event"] for line in lines if '"event":"interrupted"' in line or
            '"event":"resumed"' in line] == 2 * ["interrupted", "resumed"]
    assert events_of(lines) == events_of(fleet.call("logs", run, "-o", "json").stdout.splitlines())


def test_logs_continue_after_the_server_was_killed(fleet):
    run, gates = gated(fleet)
    logs = fleet.start("logs", run, "-f", "-o", "json")
    filtered = fleet.start("logs", run, "web1", "web#third", "-f", "-o", "json")
    lines = read_until(logs.stdout, '"start","step":"web#second"', '"web2","n":2')
    restart(fleet.cluster)
    assert "the log was interrupted" in next_line(logs.stderr)
    gates["web2"].open()
    gates["web1"].open()
    out, told = logs.communicate(timeout=60)
    assert logs.returncode == 0 and "the log resumed after" in told
    whole = fleet.call("logs", run, "-o", "json").stdout.splitlines()
    assert events_of(lines + out.splitlines()) == events_of(whole)
    assert all("node" in json.loads(line) for line in out.splitlines())
    third, _ = filtered.communicate(timeout=60)
    assert [line for line in whole if '"web1"' in line and '"step":"web#third"' in line] == third.splitlines()


def test_a_server_that_stops_does_not_end_a_watch(fleet):
    """Unlike one that is killed, it ends its streams."""
    run, gates = gated(fleet, "web1")
    watch = fleet.start("runs", "watch", run, "--progress", "plain")
    read_until(watch.stderr, "web#first  1/1")
    fleet.cluster.server.stop()
    fleet.cluster.start()
    gates["web1"].open()
    out, told = watch.communicate(timeout=60)
    assert watch.returncode == 0 and f"run {run}: 1 changed of 1 node" in out
    assert "  ok  web#second  1/1  1 changed\n" in told and "web#first" not in told


def test_a_watch_explains_who_does_not_report(fleet):
    fleet.silence("db1")
    busy, gates = gated(fleet, "web1")
    wait_until(lambda: fleet.status(busy)["counts"]["running"], "the run of web1")
    run = fleet.call("run", "--check", "-l", "web1 or web2 or db1", "--detach").stdout.strip()
    watch = fleet.start("runs", "watch", run, "--progress", "plain")
    read_until(watch.stderr, f"waiting  web1: waiting for run {busy}", "silent  db1: it has no session",
               "  ok  web#third  1/1")
    gates["web1"].open()
    out, _ = watch.communicate(timeout=60)
    assert watch.returncode == 3 and "silent  db1: it had no session" in out


def test_an_interrupted_watch_leaves_the_run_alone(fleet):
    run, gates = gated(fleet, "web1")
    watch = fleet.start("runs", "watch", run[:-1], "--progress", "plain")
    read_until(watch.stderr, "web#first  1/1")
    watch.send_signal(signal.SIGINT)
    watch.communicate(timeout=60)
    assert watch.returncode == 130
    gates["web1"].open()
    assert fleet.wait_ended(run)["counts"]["changed"] == 1


def test_a_watch_of_what_has_ended_shows_the_outcome(fleet):
    run = fleet.execute("true", selector="web1")
    done = fleet.call("runs", "watch", run, "--progress", "plain")
    assert "  ok  exec#command  1/1  1 changed\n" in done.stderr
    assert done.stdout.startswith("1 node: exited with 0\n")


def test_a_node_that_is_lost_in_the_middle_is_silent(fleet):
    run, gates = gated(fleet, "web1 or web2")
    watch = fleet.start("runs", "watch", run, "--progress", "plain")
    read_until(watch.stderr, "web#first  2/2")
    fleet.machines["web2"].agent.kill()
    read_until(watch.stderr, "silent  web2: its session ended while it executed the run; its last "
               "event is from step 'web#second'; waiting for it until 2")
    fleet.call("nodes", "remove", "web2", "--yes", "--reason", "test")
    gates["web1"].open()
    out, _ = watch.communicate(timeout=60)
    assert "silent  web2: it is no longer a node of the cluster" in out
    assert watch.returncode == 3 and "1 silent, 1 changed of 2 nodes" in out
    subprocess.run(["sh", "-c", f"echo > {gates['web2'].path}"], timeout=60, check=True)


def test_a_log_is_read_from_a_position(fleet):
    run = fleet.execute("true", selector="web1")

    def lines(start, code=0):
        done = fleet.call("api", "GET", f"/v1/runs/{run[:-1]}/logs?from={start}", code=code)
        return done.stdout.splitlines() if code == 0 else done.stdout + done.stderr

    *events, position = lines(0)
    assert [json.loads(line)["event"] for line in events] == ["begin", "start", "step", "end"]
    end = json.loads(position)["from"]
    assert json.loads(position)["event"] == "position" and end == sum(len(line) + 1 for line in events)
    assert lines(len(events[0]) + 1) == [*events[1:], position]
    assert lines(end) == []
    assert lines(end + 7) == lines(3) == [*events, position]
    assert "'from' must be the number of a position" in lines("abc", code=1)
    assert "not found" in fleet.call("api", "GET", "/v1/runs/20200101T0000/logs?from=0", code=1).stdout
