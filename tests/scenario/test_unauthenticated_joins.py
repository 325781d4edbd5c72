"""What an unauthenticated machine can use up by sending join requests: its share, and nothing that
members need."""

import json
import pathlib
import threading

import machines
import pytest
from events import wait_until
from join_client import JoinClient


@pytest.fixture
def running(cluster):
    cluster.start()
    return cluster


@pytest.fixture
def join_client(running):
    return JoinClient(running, running.folder / "client")


def metric(cluster, name):
    """The samples of one metric, by their labels as text."""
    found = {}
    for line in cluster.call("api", "GET", "/metrics").stdout.splitlines():
        if line.startswith(name) and line[len(name)] in " {":
            labels, value = line[len(name):].rsplit(" ", 1)
            found[labels] = float(value)
    return found


def nodes(cluster):
    return {node["metadata"]["name"]: node["status"] for node in json.loads(
        cluster.call("nodes", "list", "-o", "json").stdout)["items"]}


def repeat(join_client, body, times):
    """The same signed request many times; returns the statuses."""
    seen = set()
    connection = join_client.connect()
    for _ in range(times):
        status, _answer = join_client.send(connection, body)
        seen.add(status)
    connection.close()
    return seen


def test_unauthenticated_clients_cannot_use_up_leases(running, join_client):
    """The same request 3,000 times: formerly, each of them created a lease for a day."""
    leases = metric(running, "eden_store_leases")[""]
    revision = metric(running, "eden_store_revision")[""]
    body = join_client.request("web7")
    assert join_client.send(join_client.connect(), body)[0] == 202
    threads = [threading.Thread(target=repeat, args=(join_client, body, 500)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metric(running, "eden_store_leases")[""] <= leases + 1
    assert metric(running, "eden_store_revision")[""] <= revision + 10
    assert list(nodes(running)) == ["s1", "web7"]
    joins = metric(running, "eden_joins_total")
    assert joins['{result="limited"}'] > 0
    assert metric(running, "eden_nodes")['{state="waiting"}'] == 1
    # A machine with a token joins nevertheless, and keeps its session.
    web = machines.Machine(running, "web1")
    web.join_with_token()
    web.start()
    web.wait_live()


def test_invented_names_do_not_block_manual_joins(running, join_client):
    web = JoinClient(running, running.folder / "web1")
    assert web.call("web1")[0] == 202
    statuses = [join_client.call(f"n{number}")[0] for number in range(120)]
    assert set(statuses) <= {202, 429}
    shown = nodes(running)
    # All requests come from one address here: the newest ones are kept. The honest machine retries.
    assert len(shown) <= 1 + 50
    wait_until(lambda: web.call("web1")[0] == 202, "web1 waits")
    assert "web1" in nodes(running)
    running.call("nodes", "approve", "web1", "--key", web.pin)
    wait_until(lambda: web.call("web1")[0] == 200, "web1 is in")


def test_another_key_does_not_cancel_an_approval(running, join_client):
    web = JoinClient(running, running.folder / "web1")
    assert web.call("web1")[0] == 202
    running.call("nodes", "approve", "web1", "--key", web.pin)
    status, response = join_client.call("web1")
    assert (status, response["result"]) == (202, "pending")
    asks = nodes(running)["web1"]["requests"]
    assert sorted((row["key"], row["approved"]) for row in asks) == sorted(
        [(web.pin, True), (join_client.pin, False)])
    shown = running.call("nodes", "show", "web1").stdout
    assert web.pin in shown and join_client.pin in shown
    status, response = web.call("web1")
    assert (status, response["result"]) == (200, "admitted")


def test_approving_requires_the_key_if_there_are_two(running, join_client):
    web = JoinClient(running, running.folder / "web1")
    web.call("web1")
    join_client.call("web1")
    done = running.call("nodes", "approve", "web1", check=False)
    assert done.returncode != 0
    assert "2 machines are requesting to join as 'web1'" in done.stderr
    assert web.pin in done.stderr and join_client.pin in done.stderr
    done = running.call("nodes", "approve", "web1", "--key", web.pin[:7 + 8], check=False)
    assert "at least its first 16 digits" in done.stderr
    done = running.call("nodes", "approve", "web1", "--address", "192.0.2.7", check=False)
    assert "no machine is requesting to join as 'web1' from 192.0.2.7" in done.stderr
    running.call("nodes", "approve", "web1", "--key", web.pin[:7 + 16])
    assert web.call("web1")[0] == 200
    assert join_client.call("web1")[0] == 202


def test_a_full_key_can_be_approved_before_the_request(running, join_client):
    running.call("nodes", "approve", "web1", "--key", join_client.pin)
    status, response = join_client.call("web1")
    assert (status, response["result"]) == (200, "admitted")


def test_rejected_joins_do_not_fill_the_log(running, join_client):
    wrong = join_client.request("web7").replace(running.init_output["ca_pin"], "sha256:" + "ab" * 32)
    connection = join_client.connect()
    assert join_client.send(connection, wrong)[0] == 400  # the signature is for another text

    def logged():
        return [line for line in running.server.log if "join request rejected" in line]

    repeat(join_client, join_client.request("web7"), 600)
    assert 0 < len(logged()) <= 60

    def counted():
        return [line for line in logged() if "suppressed=0" not in line]

    wait_until(lambda: counted() or (repeat(join_client, join_client.request("web7"), 200), counted())[1],
               "a count of those left out")


def test_machines_that_join_and_leave_are_in_the_audit_log(running, join_client):
    web = machines.Machine(running, "web1")
    web.join_with_token()
    running.call("nodes", "approve", "web2", "--key", join_client.pin)
    assert join_client.call("web2")[0] == 200
    entries = [entry["status"] for entry in json.loads(
        running.call("audit", "tail", "-n", "100", "-o", "json").stdout)["items"]]
    joins = [(entry["name"], entry["by"], entry["outcome"]) for entry in entries
             if entry["verb"] == "join"]
    assert sorted(joins) == sorted([("web1", "join", "asked"), ("web1", "join", "done"),
                                    ("web2", "join", "asked"), ("web2", "join", "done")])
    who = {entry["name"]: entry["who"] for entry in entries if entry["verb"] == "join"}
    assert who["web1"].startswith("join:token ") and "key sha256:" in who["web1"]
    assert who["web2"] == f"join:approved key {join_client.pin}"
    web.start()
    web.wait_live()
    running.eden("leave", "--state-dir", web.state, "--run-dir", web.run)
    entries = [entry["status"] for entry in json.loads(
        running.call("audit", "tail", "-n", "100", "-o", "json").stdout)["items"]]
    assert [(entry["name"], entry["by"], entry["who"], entry["outcome"]) for entry in entries
            if entry["verb"] == "leave"] == [("web1", "node", "node:web1", "asked"),
                                             ("web1", "node", "node:web1", "done")]


def test_a_removed_node_leaves_nothing_to_the_next_node_with_its_name(running):
    web = machines.Machine(running, "web1")
    web.join_with_token()
    keys = ["/eden/status/configured/success/web1", "/eden/status/validated/failed/web1",
            "/eden/orders/web1/1"]
    for key in keys + ["/eden/status/validated/failed/web10"]:
        running.call("put", key, "{}", "--force")
    running.call("nodes", "remove", "web1", "--yes")

    def is_there(key):
        return running.call("get", key, check=False).returncode == 0

    wait_until(lambda: not is_there("/eden/removed/web1"), "what is left is deleted")
    assert [key for key in keys if is_there(key)] == []
    assert is_there("/eden/status/validated/failed/web10")


def test_a_token_does_not_stay_in_the_command_line(running):
    token = machines.make_token(running)["token"]
    # Nothing listens there: it waits.
    for words, env in ((["--token", token], {}), ([], {"EDEN_JOIN_TOKEN": token})):
        process = running.daemon("join", "--server", "127.0.0.1:1", "--ca-pin",
                                 running.init_output["ca_pin"], "--name", "web1", "--state-dir",
                                 running.folder / "waits", *words, env=env)
        process.wait_for_log("no server reached yet")
        folder = pathlib.Path(f"/proc/{process.process.pid}")
        assert b"join" in (folder / "cmdline").read_bytes()
        assert token.encode() not in (folder / "cmdline").read_bytes()
        assert token.encode() not in (folder / "environ").read_bytes()
        process.kill()


def test_a_token_file_readable_by_others_is_rejected(running):
    web = machines.Machine(running, "web1")
    file = running.folder / "token"
    file.write_text(machines.make_token(running)["token"])
    file.chmod(0o644)
    words = ("--ca-pin", running.init_output["ca_pin"], "--token-file", file)
    done = web.join(*words, check=False)
    assert done.returncode != 0
    assert f"chmod 600 {file}" in done.stderr
    file.chmod(0o600)
    web.join(*words)
