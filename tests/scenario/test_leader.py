"""Leader election among the servers of a cluster, so far only one: it becomes leader as soon as it
serves, and again after any interruption."""

import json
import subprocess

import events
import pytest

KEY = "/eden/leader/controllers"


def ask(cluster, target, *options):
    """Via the local API socket."""
    done = subprocess.run(
        ["curl", "-sS", "--unix-socket", cluster.run / "server/api.sock", *options,
         f"http://eden{target}"], capture_output=True, text=True, check=True)
    return done.stdout


def term(cluster):
    """Of the leader's key: its create revision."""
    key = json.loads(ask(cluster, f"/v1/store?key={KEY}"))
    record = json.loads(key["value"])
    assert record["format"] == "eden.leader/1" and record["server"] == "s1"
    assert key["lease"] != 0
    return key["create_revision"]


def is_there(cluster, key):
    return "value" in json.loads(ask(cluster, f"/v1/store?key={key}"))


def becomes_leader(server):
    server.wait_for_log("this server is now the leader")


@pytest.mark.also_on_etcd
def test_a_server_becomes_leader_again_after_a_stop_and_a_kill(cluster):
    server = cluster.start()
    becomes_leader(server)
    first = term(cluster)
    assert "\neden_leader 1\n" in ask(cluster, "/metrics")
    events.wait_until(lambda: json.loads(ask(cluster, "/readyz")).get("leader") == "s1", "s1 leads")
    assert server.stop() == 0
    server = cluster.start()
    becomes_leader(server)
    second = term(cluster)
    assert second > first
    server.kill()
    server = cluster.start()
    becomes_leader(server)
    assert term(cluster) > second


def test_a_stopped_server_leaves_no_leader_behind(cluster):
    server = cluster.start()
    becomes_leader(server)
    assert server.stop() == 0
    server.wait_for_log("no longer the leader")


def test_the_key_of_the_leader_cannot_be_put_or_deleted(cluster):
    becomes_leader(cluster.start())
    before = term(cluster)
    put = cluster.call("put", KEY, "mine", "--force", check=False)
    assert put.returncode == 4 and "cannot be changed directly" in put.stderr, put
    deleted = json.loads(ask(cluster, f"/v1/store?key={KEY}", "-X", "DELETE"))
    assert deleted["status"] == 403, deleted
    assert term(cluster) == before


def test_a_name_is_free_again_although_the_server_was_killed(cluster):
    """Data of a removed node is deleted by the current leader, or by the next one."""
    server = cluster.start()
    becomes_leader(server)
    left = [f"/eden/waits/gone/{number}" for number in range(300)]
    for key in [*left, "/eden/removed/gone"]:
        ask(cluster, f"/v1/store?key={key}", "-X", "PUT", "-d", '{"value": "{}"}', "-H",
            "content-type: application/json")
    server.kill()
    becomes_leader(cluster.start())
    events.wait_until(lambda: not is_there(cluster, "/eden/removed/gone"), "the name is free")
    assert not any(is_there(cluster, key) for key in left)
