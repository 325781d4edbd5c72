"""Targets of runs whose agent dies: what the run shows of them, and how it ends."""

import json
import subprocess

import pytest

from events import wait_until
from fleets import Fleet


@pytest.fixture
def lost(cluster):
    """A run on web1, whose agent was killed in the step; returns the fleet, the run and what ends the
    step.
    """
    fleet = Fleet(cluster, ("web1",))
    fifo = cluster.folder / "go"
    subprocess.run(["mkfifo", fifo], check=True)
    fleet.push({"web": [{"name": "gate", "cmd.run": [{"cmd": f"cat {fifo}"}]}]})
    run = fleet.call("run", "-l", "web1", "--detach").stdout.strip()
    wait_until(lambda: '"event":"start"' in fleet.call("logs", run, "-o", "json").stdout, "the step")
    fleet.machines["web1"].agent.kill()
    wait_until(lambda: fleet.status(run)["counts"]["silent"], "the silence of the target")
    return fleet, run, fifo


def node_of(fleet, run):
    node, = fleet.api(f"/v1/runs/{run}/nodes")["nodes"]
    return node


def order(fleet, run):
    done = fleet.cluster.call("get", f"/eden/orders/web1/{run}", check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def test_a_target_that_is_lost_is_shown_as_silent_and_waited_for(lost):
    fleet, run, fifo = lost
    assert fleet.status(run)["counts"]["running"] == 0
    node = node_of(fleet, run)
    assert node["outcome"] == "silent" and node["session"] is False
    shown = fleet.call("runs", "show", run, code=3).stdout
    assert (f"silent  web1: its session ended while it executed the run; silent since "
            f"{node['silent_since']}; waiting for it until {node['waits_until']}\n"
            "        last event from web1: step 'web#gate' started, at ") in shown
    assert f"run {run} in progress: 1 silent of 1 node" in shown
    fleet.machines["web1"].start()
    wait_until(lambda: fleet.status(run)["counts"]["running"], "the return of the node")
    fifo.write_text("")
    assert fleet.wait_ended(run)["outcome"] == "changed"


def test_a_run_that_waits_for_a_lost_target_is_canceled_at_once(lost):
    fleet, run, fifo = lost
    fleet.call("runs", "cancel", run)
    ended = fleet.wait_ended(run)
    assert ended["outcome"] == "canceled" and ended["counts"]["canceled"] == 1
    assert order(fleet, run)["canceled"]
    node = node_of(fleet, run)
    shown = fleet.call("runs", "show", run, code=1).stdout
    assert ("canceled  web1: it was silent and may still be executing the run; it stops when it "
            f"reconnects; silent since {node['silent_since']}; the cancellation is valid until "
            f"{node['stops_until']}\n") in shown
    fleet.machines["web1"].start()
    wait_until(lambda: order(fleet, run) is None, "the result of the node")
    late = fleet.status(run)
    assert (late["state"], late["outcome"], late["ended"]) == ("ended", "canceled", ended["ended"])
    assert node_of(fleet, run)["outcome"] == "canceled"
    subprocess.run(["sh", "-c", f": <> {fifo}"], check=True)


def test_how_long_a_lost_target_is_waited_for_is_a_setting(lost):
    fleet, run, fifo = lost
    done = fleet.call("config", "set", "lost_node_timeout=19s", code=1)
    assert "must be from 20s to 1d" in done.stderr
    fleet.call("config", "set", "lost_node_timeout=20s")
    ended = fleet.wait_ended(run)
    assert (ended["outcome"], ended["counts"]["silent"]) == ("silent", 1)
    assert node_of(fleet, run)["outcome"] == "silent"
    fleet.machines["web1"].start()
    fifo.write_text("")
    wait_until(lambda: fleet.status(run)["outcome"] == "changed", "the late result")


def test_a_late_success_does_not_contradict_a_canceled_run(lost):
    fleet, run, fifo = lost
    fleet.call("runs", "cancel", run)
    fleet.wait_ended(run)
    fifo.write_text("")
    fleet.machines["web1"].start()
    wait_until(lambda: order(fleet, run) is None, "the result of the node")
    assert fleet.status(run)["outcome"] == "canceled"
    assert node_of(fleet, run)["outcome"] == "changed"
