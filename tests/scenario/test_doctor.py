"""`eden doctor`: deliberate damage is found and named, and nothing else is."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest

from api_client import call, put
from events import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]


def look(cluster, state=None, run=None):
    done = cluster.eden("doctor", "-o", "json", "--state-dir", state or cluster.state, "--run-dir",
                        run or cluster.run, check=False)
    response = json.loads(done.stdout)
    assert response["format"] == "eden.doctor/1" and done.stderr == ""
    checks = {check["name"]: check for check in response["checks"]}
    assert response["failed"] == sum(check["state"] == "failed" for check in checks.values())
    assert done.returncode == (1 if response["failed"] else 0)
    for check in checks.values():
        assert check["text"]
        assert ("fix" in check) == (check["state"] in ("failed", "warning"))
    return checks


def states(checks, state):
    return {name for name, check in checks.items() if check["state"] == state}


@pytest.fixture
def cluster(cluster):
    cluster.start()
    return cluster


@pytest.fixture
def node(cluster):
    """A node that has joined, in separate folders."""
    token = json.loads(cluster.call("tokens", "create", "-o", "json").stdout)["status"]["secret"]
    state = cluster.folder / "web1/state"
    done = subprocess.run(
        [cluster.eden_path, "join", "--server", f"127.0.0.1:{cluster.api_port}", "--token", "-",
         "--ca-pin", cluster.init_output["ca_pin"], "--name", "web1", "--state-dir", state],
        input=token, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return state, cluster.folder / "web1/run"


def start_agent(cluster, state, run):
    daemon = cluster.daemon("agent", "--state-dir", state, "--run-dir", run, "--config-dir",
                            cluster.folder / "etc")
    daemon.wait_ready()
    return daemon


def test_a_machine_without_a_cluster_gets_only_that_finding(eden, tmp_path):
    done = eden("doctor", "--state-dir", tmp_path / "none", "--run-dir", tmp_path / "run")
    assert done.returncode == 0
    assert "this machine does not belong to a cluster" in done.stdout and "'eden join' makes it a node" in done.stdout


def test_the_server_of_a_run_directory_is_checked_from_elsewhere(cluster, eden, tmp_path):
    for words, env in ((("--run-dir", cluster.run), {}), ((), {"EDEN_RUN_DIR": str(cluster.run)})):
        done = eden("doctor", "-o", "json", "--state-dir", tmp_path / "none", *words, env=env)
        assert done.returncode == 0, done.stdout
        checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        assert {"server", "store", "server-version", "waiting", "certificates", "rotation", "tokens",
                "versions", "member", "audit", "revocations", "budgets", "joins",
                "leases", "objects", "run-logs"} == states(checks, "ok")
        assert "is not a member" in checks["member"]["text"]
        assert states(checks, "warning") == {"silent"}  # s1 has no agent
    cluster.server.kill()
    checks = look(cluster, tmp_path / "none")
    assert states(checks, "failed") == {"server"}


def test_a_healthy_machine_is_reported_as_such(cluster, node):
    start_agent(cluster, *node)
    wait_until(lambda: look(cluster, *node)["session"]["state"] == "ok", "a session")
    checks = look(cluster, *node)
    assert states(checks, "failed") == set()
    assert {"agent", "session", "spool", "names", "reach", "clock", "agent-key",
            "agent-certificate", "agent-trust"} <= states(checks, "ok")
    # The server's own machine has no agent here. Its used-up token is expected.
    checks = look(cluster)
    assert states(checks, "failed") == {"agent"}
    assert {"server", "ports", "store", "disk", "ca", "server-certificates", "clock",
            "certificates", "rotation", "versions", "waiting", "audit"} <= states(checks, "ok")
    assert states(checks, "warning") == {"silent"}
    assert "s1" in checks["silent"]["text"] and checks["tokens"]["state"] == "ok"


def test_a_stopped_server_is_detected_from_both_sides(cluster, node):
    start_agent(cluster, *node)
    wait_until(lambda: look(cluster, *node)["session"]["state"] == "ok", "a session")
    cluster.server.stop()
    checks = wait_until(lambda: (lambda seen: seen if seen["session"]["state"] == "failed" else None)(
        look(cluster, *node)), "no session")
    assert states(checks, "failed") == {"session", "reach"}
    assert "attempts: " in checks["session"]["text"]
    checks = look(cluster)
    assert states(checks, "failed") == {"agent", "server", "reach"}
    assert checks["store"]["state"] == "ok" and checks["ports"]["text"] == "all are free"
    assert checks["silent"]["state"] == "skipped"


def test_a_hanging_server_is_reported_as_such(cluster):
    os.kill(cluster.server.process.pid, signal.SIGSTOP)
    try:
        checks = look(cluster)
    finally:
        os.kill(cluster.server.process.pid, signal.SIGCONT)
    assert "it is running but not responding" in checks["server"]["text"]
    assert checks["ports"] == checks["ports"] | {"state": "skipped", "text": "the server is unreachable"}


def test_a_port_used_by_another_process_is_found(cluster):
    cluster.server.stop()
    with socket.create_server(("127.0.0.1", cluster.rpc_port)):
        checks = look(cluster)
    assert checks["ports"]["state"] == "failed"
    assert "is in use by another program" in checks["ports"]["text"]


def test_directories_readable_by_others_are_found(cluster, node):
    os.chmod(cluster.state / "server", 0o755)
    os.chmod(node[0] / "agent", 0o750)
    assert "server-files" in states(look(cluster), "failed")
    assert "agent-files" in states(look(cluster, *node), "failed")


def test_a_damaged_store_is_found(cluster):
    for i in range(200):
        put(cluster, f"/t/{i}", "x" * 500)
    cluster.server.stop()
    path = cluster.state / "server/store/store.db"
    data = bytearray(path.read_bytes())
    data[len(data) // 2:len(data) // 2 + 4096] = os.urandom(4096)
    path.write_bytes(data)
    checks = look(cluster)
    assert checks["store"]["state"] == "failed" and "damaged" in checks["store"]["text"]


def test_checking_changes_nothing(cluster):
    cluster.server.stop()

    def all_files():
        return {path: path.read_bytes() for path in cluster.state.rglob("*")
                if path.is_file() and path.suffix not in (".db-shm", ".db-wal")}

    before = all_files()
    look(cluster)
    assert all_files() == before
    cluster.start()
    assert put(cluster, "/t", "1") > 0


def test_a_key_of_another_certificate_is_found(cluster, node):
    other = cluster.folder / "other"
    cluster.eden("init", "--cluster", "green", "--name", "web1", "--user", "root", "--state-dir",
                 other)
    own = (node[0] / "agent/node.pem").read_text()
    foreign = (other / "agent/node.pem").read_text()
    key, certificate = own[:own.index("-----BEGIN CERT")], foreign[foreign.index("-----BEGIN CERT"):]
    (node[0] / "agent/node.pem").write_text(key + certificate)
    assert "agent-key" in states(look(cluster, *node), "failed")
    (node[0] / "agent/node.pem").write_text(foreign)
    checks = look(cluster, *node)
    assert "green" in checks["agent-key"]["text"]
    assert checks["agent-trust"]["state"] == "failed"


def test_a_foreign_ca_is_found(cluster, node):
    other = cluster.folder / "other"
    cluster.eden("init", "--cluster", "blue", "--user", "root", "--state-dir", other)
    shutil.copy(other / "agent/ca.pem", node[0] / "agent/ca.pem")
    checks = look(cluster, *node)
    assert {"agent-trust", "reach"} <= states(checks, "failed")
    (node[0] / "agent/ca.pem").write_text("hello")
    assert "agent-trust" in states(look(cluster, *node), "failed")


def test_an_unresolvable_server_name_is_found(cluster, node):
    path = node[0] / "agent/node.json"
    known = json.loads(path.read_text())
    known["servers"][0].update(rpc="nowhere.invalid:1337", api="nowhere.invalid:1338")
    path.write_text(json.dumps(known))
    assert {"names", "reach"} <= states(look(cluster, *node), "failed")


def test_unreadable_files_are_found(cluster, node):
    (node[0] / "agent/node.json").write_text("{")
    (cluster.state / "server/server.json").write_text("{}")
    assert {"member", "agent-files"} <= states(look(cluster, *node), "failed")
    assert "server-files" in states(look(cluster), "failed")


def test_pending_machines_are_reported(cluster):
    cluster.daemon("join", "--server", f"127.0.0.1:{cluster.api_port}", "--ca-pin",
                   cluster.init_output["ca_pin"], "--name", "db1", "--state-dir",
                   cluster.folder / "db1")
    wait_until(lambda: call(cluster, "GET", "/v1/nodes/db1")[0] == 200, "somebody who asks")
    checks = look(cluster)
    assert checks["waiting"]["state"] == "warning" and "db1" in checks["waiting"]["text"]


def test_rejected_joins_and_leases_are_counted(cluster):
    """With a token that this server has not created."""
    checks = look(cluster)
    assert checks["joins"]["text"].startswith("0 rejected, 0 over the limits")
    assert checks["leases"]["state"] == "ok" and "of 80000 in use" in checks["leases"]["text"]
    done = cluster.eden("join", "--server", f"127.0.0.1:{cluster.api_port}", "--ca-pin",
                        cluster.init_output["ca_pin"], "--name", "db1", "--state-dir",
                        cluster.folder / "db1", check=False,
                        env={"EDEN_JOIN_TOKEN": "aaaaaaaa." + "b" * 32})
    assert done.returncode == 4, done.stderr
    checks = look(cluster)
    assert checks["joins"]["state"] == "ok"
    assert checks["joins"]["text"].startswith("1 rejected, 0 over the limits")


def test_findings_include_a_remedy(cluster):
    cluster.server.stop()
    done = cluster.eden("doctor", "--state-dir", cluster.state, "--run-dir", cluster.run,
                        check=False)
    assert done.returncode == 1
    assert "fix:   'systemctl start eden' or 'eden serve'" in done.stdout
    assert "failed, " in done.stdout and "silent" not in done.stdout
    for line in done.stdout.splitlines():
        if "see:" in line:
            assert (ROOT / line.split()[-1]).exists()


# "the ports are free" above a port that is taken.
SUCCESS = re.compile(r"\b(is|(?<!that )are|works?|fits?|(?<!of )runs?|holds?|answers?|can|matches|valid|enough|reachable|whole|good"
                     r"|correct|trusted|up|free(?! space)|ok|well)\b")  # fmt: skip


def test_titles_of_checks_do_not_claim_success(cluster):
    cluster.server.stop()
    checks = look(cluster)
    assert len(checks) > 25 and states(checks, "failed")
    titles = {name: check["what"] for name, check in checks.items()}
    assert {name: title for name, title in titles.items() if SUCCESS.search(title)} == {}
    shown = cluster.eden("doctor", "--state-dir", cluster.state, "--run-dir", cluster.run, check=False)
    for name in states(checks, "failed"):
        assert f"\n{name}: {titles[name]}\n  fix:   " in shown.stdout


def test_a_key_readable_by_others_is_reported_as_such(cluster, node):
    os.chmod(node[0] / "agent/node.pem", 0o644)
    os.chmod(cluster.state / "server/node.pem", 0o640)
    check = look(cluster, *node)["agent-key"]
    assert check["state"] == "failed" and "readable by users other than its owner" in check["text"]
    assert "chmod 600" in check["fix"] and "leave" not in check["fix"]
    assert "chmod 600" in look(cluster)["server-certificates"]["fix"]


def test_a_lost_api_certificate_is_created_again(cluster):
    cluster.server.stop()
    (cluster.state / "server/serving.pem").unlink()
    check = look(cluster)["server-certificates"]
    assert check["state"] == "failed" and "the server creates a new one" in check["fix"]
    cluster.start()
    assert look(cluster)["server-certificates"]["state"] == "ok"


def test_an_address_of_another_machine_is_reported_as_such(cluster):
    cluster.server.stop()
    path = cluster.state / "server/server.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "rpc": "192.0.2.1:1337"}))
    check = look(cluster)["ports"]
    assert check["state"] == "failed"
    assert check["text"] == "192.0.2.1:1337 is not an address of this machine"
    assert "0.0.0.0:1337" in check["fix"]


def test_a_server_that_is_not_queried_is_reported_with_the_reason(cluster, node):
    (node[0] / "agent/ca.pem").unlink()
    text = look(cluster, *node)["reach"]["text"]
    assert "cannot be verified without ca.pem" in text and not text.endswith(":")


@pytest.mark.parametrize("field", ["rpc", "api"])
@pytest.mark.parametrize("port", ["1337x", "70000", "-1", ""])
def test_an_invalid_port_is_reported_with_its_location(cluster, field, port):
    """Both by the server and by doctor, whether or not an earlier server is running."""
    path = cluster.state / "server/server.json"
    settings = json.loads(path.read_text())
    settings[field] = f"0.0.0.0:{port}"
    text = json.dumps(settings, indent=2)
    path.write_text(text)
    line = 1 + text[:text.index(f'"{field}"')].count("\n")
    output = f"server.json: line {line}: '{field}': '{port}' is not a valid port"
    check = look(cluster)["ports"]
    assert check["state"] == "failed" and output in check["text"]
    assert "server.json" in check["fix"]
    cluster.server.stop()
    assert output in look(cluster)["ports"]["text"]
    done = cluster.eden("serve", "--state-dir", cluster.state, "--run-dir", cluster.run, check=False)
    assert done.returncode != 0 and output in done.stderr and str(path.parent) in done.stderr
    assert output in look(cluster)["server"]["text"]


def test_port_zero_is_reported(cluster):
    cluster.server.stop()
    path = cluster.state / "server/server.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "rpc": "127.0.0.1:0"}))
    check = look(cluster)["ports"]
    assert check["state"] == "failed" and "127.0.0.1:0 in server.json has no fixed port" in check["text"]
