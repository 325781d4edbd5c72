"""Nodes that leave their cluster."""

import json

import machines
import pytest


@pytest.fixture
def web(cluster):
    cluster.start()
    machine = machines.Machine(cluster, "web1")
    machine.join_with_token()
    return machine


def leave(machine, *words, check=True):
    return machine.cluster.eden("leave", "--state-dir", machine.state, "--run-dir", machine.run,
                                *words, check=check)


def files(machine):
    return sorted(path.name for path in (machine.state / "agent").iterdir())


def test_a_node_that_leaves_is_removed_by_the_server(cluster, web):
    web.start()
    web.wait_live()
    done = leave(web)
    assert done.stdout == "this machine is no longer node 'web1' of cluster 'blue'\n"
    assert done.stderr == ""
    assert machines.node(cluster, "web1") is None
    cluster.server.wait_for_log("node left")
    assert files(web) == ["joining", "lock", "spool"]
    web.wait_status(lambda status: status["node"] is None, "that it is not a node")
    web.join_with_token()
    web.wait_status(lambda status: status["node"] == "web1"
                    and status["session"]["state"] == "live", "that it is one again")


def test_without_a_server_leaving_requires_force(cluster, web):
    web.start()
    web.wait_live()
    cluster.server.stop()
    web.wait_status(lambda status: status["session"]["state"] == "waiting", "that it waits")
    refused = leave(web, check=False)
    assert refused.returncode == 3
    assert "E0832" in refused.stderr and "no session" in refused.stderr
    assert "'eden leave --force' deletes its data" in refused.stderr
    done = json.loads(leave(web, "--force", "-o", "json").stdout)
    assert done == {"format": "eden.left/1", "cluster": "blue", "node": "web1", "notified": False}
    assert "node.json" not in files(web)


def test_without_an_agent_leaving_requires_force(cluster, web):
    refused = leave(web, check=False)
    assert refused.returncode == 3
    assert "E0840" in refused.stderr and "'eden leave --force'" in refused.stderr
    done = leave(web, "--force")
    assert "eden nodes remove web1" in done.stderr
    assert files(web) == ["joining", "lock"]
    cluster.call(*done.stderr.split("eden ")[-1].split())
    assert machines.node(cluster, "web1") is None


def test_a_server_cannot_leave(cluster):
    cluster.start()
    done = leave(machines.first(cluster), "--force", check=False)
    assert done.returncode == 5
    assert "is a server of cluster 'blue'" in done.stderr


def test_a_machine_that_is_not_a_node_cannot_leave(cluster):
    machine = machines.Machine(cluster, "web1")
    machine.start()
    done = leave(machine, check=False)
    assert done.returncode == 3
    assert "is not a node" in done.stderr
