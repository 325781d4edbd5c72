"""The agent of a machine, as a real process: what it keeps, reports and survives."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess

import machines
from events import wait_until
import api_client
import daemons
import pytest


@pytest.fixture
def first(cluster):
    """The machine of the server; the ports are fixed, and the agent is not started yet."""
    cluster.start()
    cluster.server.stop()
    return machines.first(cluster)


@pytest.fixture
def web(cluster):
    cluster.start()
    machine = machines.Machine(cluster, "web1")
    machine.join_with_token()
    return machine


def servers_of(state):
    """Processes that run as servers on this state directory."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if b"serve" in words and str(state).encode() in words:
            found.append(int(name))
    return found


def shown(cluster, name, fits=lambda node: True):
    """The node as the server shows it, once the condition holds."""
    return wait_until(lambda: (lambda node: node if node and fits(node) else None)(
        machines.node(cluster, name)), f"the node {name}")


def test_the_agent_on_the_first_machine_runs_its_server(cluster, first):
    agent = first.start()
    first.wait_live()
    # The two are written one after the other.
    shown(cluster, "s1", lambda node: node["status"]["facts"] and node["status"]["state"] == "alive")
    assert f" {os.uname().release}\n" in cluster.call("facts", "--node", "s1", "kernel").stdout
    status = first.status()
    assert status["server"]["state"] == "running"
    assert servers_of(cluster.state) == [status["server"]["pid"]]
    assert agent.stop() == 0
    assert servers_of(cluster.state) == []
    assert not (cluster.run / "agent.sock").exists()


def test_a_killed_server_is_restarted_and_the_session_resumes(cluster, first):
    first.start()
    first.wait_live()
    killed = first.status()["server"]["pid"]
    os.kill(killed, signal.SIGKILL)
    status = first.wait_status(
        lambda status: status["server"].get("pid") not in (None, killed)
        and status["session"]["state"] == "live", "another server")
    assert status["server"]["why"] == "killed by SIGKILL"
    assert status["server"]["ends"] == 1
    assert len(servers_of(cluster.state)) == 1


def test_a_killed_agent_leaves_no_second_server(cluster, first):
    for _ in range(3):
        agent = first.start()
        first.wait_live()
        agent.kill()
    first.start()
    first.wait_live()
    assert servers_of(cluster.state) == [first.status()["server"]["pid"]]


def test_there_is_one_agent_on_a_machine(cluster, web):
    web.start()
    second = cluster.eden("agent", "--state-dir", web.state, "--run-dir", cluster.folder / "r2",
                          "--config-dir", web.config, check=False)
    assert second.returncode == 5
    assert "E0831" in second.stderr and "an agent is already running" in second.stderr


def test_pending_records_survive_a_killed_agent(cluster, web):
    """Facts that were gathered without a server, and are not gathered again."""
    cluster.server.stop()
    agent = web.start()
    agent.wait_for_log("facts sent")
    wait_until((web.state / "agent/facts-sent").exists, "facts on the disk")
    agent.kill()
    cluster.start()
    agent = web.start()
    shown(cluster, "web1", lambda node: node["status"]["facts"])
    assert f" {os.uname().machine}\n" in cluster.call("facts", "--node", "web1", "arch").stdout
    web.wait_live()
    web.wait_status(lambda status: status["facts"]["collected"], "collected facts")
    assert web.status()["facts"]["sent"] is None
    web.wait_status(lambda status: status["spool"]["records"] == 0, "an empty spool")


def test_a_killed_and_restarted_server_regains_its_sessions(cluster, web):
    web.start()
    web.wait_live()
    cluster.server.kill()
    web.wait_status(lambda status: status["session"]["state"] == "waiting", "that it waits")
    assert "no session" in web.agent.wait_for_note("no session")
    cluster.start()
    web.wait_status(lambda status: status["session"]["state"] == "live", "a session")
    assert shown(cluster, "web1", lambda node: node["status"]["state"] == "alive")


def test_labels_reach_the_node_and_remain_without_a_server(cluster, web):
    web.start()
    web.wait_live()
    cluster.call("nodes", "label", "web1", "role=web")
    web.wait_status(lambda status: status["labels"] == {"role": "web"}, "the label")
    revision = web.status()["revision"]
    cluster.server.stop()
    web.agent.kill()
    web.start()
    assert web.status()["labels"] == {"role": "web"}
    assert web.status()["revision"] == revision


def test_an_agent_waits_until_its_machine_has_joined(cluster):
    cluster.start()
    machine = machines.Machine(cluster, "web1")
    agent = machine.start()
    agent.wait_for_note("'eden join' adds it")
    assert machine.status()["node"] is None
    machine.join_with_token()
    machine.wait_live()
    assert machine.status()["node"] == "web1"


def test_a_cluster_created_next_to_a_running_agent_is_served(eden_path, tmp_path):
    """The state directory exists and is empty."""
    machine = machines.Machine(daemons.Cluster(eden_path, tmp_path, name="other"), "s1")
    machine.start()
    machine.cluster.eden("init", "--cluster", "green", "--name", "s1", "--user", "root", "--rpc",
                         "127.0.0.1:0", "--api", "127.0.0.1:0", "--address", "127.0.0.1",
                         "--state-dir", machine.state)
    try:
        machine.wait_status(lambda status: status["server"]["state"] == "running", "the server")
        assert machine.status()["cluster"] == "green"
        machine.agent.stop()
    finally:
        machine.cluster.close()


def test_a_removed_node_gets_no_session(cluster, web):
    web.start()
    web.wait_live()
    cluster.call("nodes", "remove", "web1")
    web.wait_status(lambda status: status["session"]["state"] == "waiting"
                    and status["session"]["failures"] > 1, "that it is refused")
    assert machines.node(cluster, "web1") is None


def test_a_machine_that_rejoins_inherits_nothing(cluster, web):
    """Also with the same name and while the agent runs."""
    web.start()
    web.wait_live()
    shown(cluster, "web1", lambda node: node["status"]["facts"])
    cluster.call("nodes", "label", "web1", "role=web")
    web.wait_status(lambda status: status["labels"] == {"role": "web"}, "the label")
    before = (web.state / "agent/enrolment").read_text()
    cluster.call("nodes", "remove", "web1")
    (web.state / "agent/node.json").unlink()
    web.wait_status(lambda status: status["node"] is None, "that it is no node")
    web.join_with_token()
    web.wait_status(lambda status: status["node"] == "web1"
                    and status["session"]["state"] == "live", "that it is a node again")
    assert (web.state / "agent/enrolment").read_text() != before
    web.wait_status(lambda status: status["labels"] == {}, "no label")
    assert shown(cluster, "web1", lambda node: node["status"]["facts"])["metadata"]["labels"] == {}


def test_sighup_reloads(cluster, web):
    agent = web.start()
    web.wait_live()
    state = json.loads((web.state / "agent/node.json").read_text())
    state["servers"].append({"node": "s2", "rpc": "127.0.0.1:1", "api": "127.0.0.1:1"})
    (web.state / "agent/node.json").write_text(json.dumps(state))
    assert "servers=2" in agent.wait_for_log("list of servers changed")
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_for_note("RELOADING=1")
    agent.wait_for_log("reloading")
    assert web.status()["session"]["state"] == "live"


def test_a_node_without_the_server_role_starts_no_server(cluster, web):
    """Its certificate is from the same CA."""
    state = json.loads((web.state / "agent/node.json").read_text())
    state["servers"][0]["node"] = "s2"
    (web.state / "agent/node.json").write_text(json.dumps(state))
    agent = web.start()
    assert "is a node of this cluster, but not a server" in agent.wait_for_note("no session")


def test_only_root_can_query_the_agent(cluster, web):
    web.start()
    os.chmod(cluster.folder, 0o711)
    script = ("import socket, sys\ns = socket.socket(socket.AF_UNIX)\n"
              "try:\n    s.connect(sys.argv[1])\nexcept PermissionError:\n    sys.exit(13)\n")
    done = subprocess.run(["/usr/bin/python3", "-c", script, web.run / "agent.sock"], user=65534,
                          env={}, timeout=daemons.LIMIT)
    assert done.returncode != 0


def test_the_agent_rejects_unknown_paths(cluster, web):
    web.start()
    for method, target, status, code in (("GET", "/v1/agent", 200, None),
                                         ("POST", "/v1/agent", 405, "method"),
                                         ("GET", "/v1/nodes", 404, "not-found"),
                                         ("POST", "/v1/agent/reload", 200, None)):
        connection = api_client.UnixConnection(web.run / "agent.sock")
        connection.request(method, target)
        response = connection.getresponse()
        assert (response.status, json.loads(response.read()).get("code")) == (status, code)
        connection.close()


@pytest.mark.parametrize("request_text, status, code", [
    (b"GET /v1/agent HTTP/1.1\r\n\r\n", 400, "invalid"),
    (b"BREW /v1/agent HTTP/1.1\r\nHost: a\r\n\r\n", 501, "not-implemented"),
    (b"POST /v1/agent/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n", 413,
     "too-large"),
    (b"GET /v1/agent HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 100 + b"\r\n", 431,
     "too-many-headers")], ids=["no host", "no method", "body", "headers"])
def test_the_agent_reports_invalid_requests_as_json(cluster, web, request_text, status, code):
    """A client without a matching address gets the same message."""
    web.start()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(daemons.LIMIT)
        connection.connect(str(web.run / "agent.sock"))
        connection.sendall(request_text)
        response = http.client.HTTPResponse(connection)
        response.begin()
        problem = json.loads(response.read())
    assert response.getheader("Content-Type") == "application/problem+json"
    assert (response.status, problem["status"], problem["code"]) == (status, status, code)


def test_a_pending_renewal_is_notified_when_the_agent_stops(cluster, web):
    agent = web.start()
    web.wait_live()
    cluster.server.process.send_signal(signal.SIGSTOP)
    try:
        connection = api_client.UnixConnection(web.run / "agent.sock")
        connection.request("POST", "/v1/agent/renew")
        web.wait_status(lambda status: status["certificate"]["renewing"], "that it renews")
        assert agent.stop() == 0
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["code"]) == (503, "unavailable")
        connection.close()
    finally:
        cluster.server.process.send_signal(signal.SIGCONT)


def watched_inodes(pid):
    """All files that the process watches, according to the kernel."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(FileNotFoundError):  # one that was closed meanwhile
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
                for line in file:
                    if line.startswith("inotify "):
                        found.add(int(line.split("ino:")[1].split()[0], 16))
    return found


def test_a_recreated_server_directory_is_watched_again(cluster):
    """Otherwise a cluster created there goes unnoticed."""
    cluster.start()
    machine = machines.Machine(cluster, "web1")
    agent = machine.start()
    place = machine.state / "server"
    for name in ("server", "kept"):
        place.mkdir()
        wait_until(lambda: place.stat().st_ino in watched_inodes(agent.process.pid),
                        "that it is watched")
        place.rename(machine.state / f"was-{name}")


def test_unreadable_files_are_reported_and_waited_for(cluster, web):
    good = (web.state / "agent/node.json").read_text()
    (web.state / "agent/node.json").write_text("{")
    agent = web.start()
    agent.wait_for_note("cannot act as a node")
    (web.state / "agent/node.json").write_text(good)
    web.wait_live()


def test_a_file_damaged_while_running_does_not_end_the_session(cluster, web):
    agent = web.start()
    web.wait_live()
    good = (web.state / "agent/node.json").read_text()
    (web.state / "agent/node.json").write_text("{")
    agent.wait_for_log("cannot read the files of this node")
    assert web.status()["session"]["state"] == "live"
    (web.state / "agent/node.json").write_text(good)


@pytest.mark.parametrize("name, how", [
    ("node.pem", "missing"), ("node.pem", "damaged"), ("ca.pem", "damaged")
])
def test_a_node_with_a_lost_file_reports_which(cluster, name, how):
    """A node that was never started has no enrollment with which its key could be recreated."""
    path = cluster.state / "agent" / name
    whole = path.read_bytes()
    path.unlink()
    if how == "damaged":
        path.write_text("hello")
        path.chmod(0o600)
    agent = cluster.daemon("agent", "--state-dir", cluster.state, "--run-dir", cluster.run,
                           "--config-dir", cluster.folder / "etc")
    line = agent.wait_for_log("this machine cannot act as a node")
    assert name in line and "restore the file from a copy, or create a backup" in line
    assert not any("not a node yet" in line for line in agent.log)
    path.write_bytes(whole)
    path.chmod(0o600)
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_for_log("node membership started")
