"""Every file of a state directory, lost while its daemons run or while they are stopped: it is
recreated, or whatever needs it names the file and what to do."""

import json

import machines
import pytest

from api_client import get, put
from events import wait_until

# Recreated when lost, or not needed.
AGENT = ["agent/ca.pem", "agent/node.pem", "agent/node.json", "agent/enrolment", "agent/facts-sent",
         "agent/lock", "agent/spool/spool", "agent/watched-node.json", "agent/watched-orders.json",
         "agent/watched-servers.json"]
SERVER = ["server/node.pem", "server/serving.pem", "server/server.json.kept",
          "server/store/store.lock", "server/store/store.mark", "server/store/store.reserve"]
UNNEEDED = ["agent/founding"]
# The messages about the others, and what to do.
REPORTED = {
    "server/server.json": ("server.json is missing", "Restore it from a copy, such as server.json.kept"),
    "server/ca.pem": ("ca.pem is missing", "Restore it from a copy"),
    "server/store/store.db": ("the store of this cluster is lost", "Put it back"),
}


def files_of(state):
    return {str(path.relative_to(state)) for path in state.rglob("*") if path.is_file()}


@pytest.fixture
def machine(cluster):
    """The machine on which the cluster was created: its agent has run with its server, and is
    stopped now.
    """
    cluster.start()
    put(cluster, "/t/kept", "yes")
    assert cluster.server.stop() == 0
    machine = machines.first(cluster)
    machine.start()
    machine.wait_live()
    for name in ("facts-sent", "watched-node.json", "watched-orders.json", "watched-servers.json"):
        wait_until(lambda: (machine.state / "agent" / name).is_file(), name)
    assert machine.agent.stop() == 0
    return machine


def start(machine):
    machine.agent = machine.cluster.daemon("agent", "--state-dir", machine.state, "--run-dir",
                                           machine.run, "--config-dir", machine.config)
    return machine.agent


def doctor(machine):
    done = machine.cluster.call("doctor", "-o", "json", check=False)
    return json.loads(done.stdout)["checks"]


def check_well(machine):
    """It is still the same node of the same cluster."""
    machine.wait_live()
    wait_until(lambda: not any(check["state"] == "failed" for check in doctor(machine)),
               "doctor finds nothing")
    assert get(machine.cluster, "/t/kept") == "yes"
    wait_until(lambda: machines.node(machine.cluster, "s1")["status"]["state"] == "alive", "it is alive")


def test_every_file_has_a_row(machine):
    assert files_of(machine.state) == {*AGENT, *SERVER, *UNNEEDED, *REPORTED}


@pytest.mark.parametrize("name", AGENT + SERVER + UNNEEDED)
def test_recoverable_files_are_recreated(machine, name):
    (machine.state / name).unlink()
    start(machine)
    check_well(machine)
    assert name in UNNEEDED or (machine.state / name).is_file()
    # And it stays that way.
    assert machine.agent.stop() == 0
    start(machine)
    check_well(machine)


def test_all_recoverable_files_are_recreated_at_once(machine):
    for name in AGENT + SERVER + UNNEEDED:
        if name != "agent/enrolment":  # by which the node stays the same
            (machine.state / name).unlink()
    start(machine)
    check_well(machine)


@pytest.mark.parametrize("name", REPORTED)
def test_unrecoverable_files_are_reported(machine, name):
    cluster = machine.cluster
    path = machine.state / name
    kept = path.read_bytes()
    path.unlink()
    what, remedy = REPORTED[name]
    # By the server itself,
    done = cluster.eden("serve", "--state-dir", machine.state, "--run-dir", machine.run, check=False)
    assert done.returncode != 0 and what in done.stderr and remedy in done.stderr
    assert "eden backup restore FILE" in done.stderr and str(path) in done.stderr
    # by its agent, in the log and in its status,
    line = start(machine).wait_for_log(what)
    assert remedy in line
    machine.wait_status(lambda status: what in status["server"].get("why", ""), "the agent says why")
    # by doctor, without advice that would fail,
    checks = {check["name"]: check for check in doctor(machine)}
    assert any(what in check["text"] for check in checks.values())
    assert checks["server"]["fix"].startswith("fix the reported error")
    assert "from a copy" in checks["server-files"].get("fix", "from a copy")
    # and no command points elsewhere.
    done = cluster.call("nodes", "list", check=False)
    assert done.returncode == 3 and "this machine is a server" in done.stderr
    # No new cluster is started in its place.
    before = {name: (machine.state / name).read_bytes() for name in files_of(machine.state)
              if name.endswith(".pem")}
    done = cluster.eden("init", "--cluster", "red", "--user", "root", "--state-dir", machine.state,
                        check=False)
    assert done.returncode != 0
    assert {name: (machine.state / name).read_bytes() for name in before} == before
    # The advice works.
    path.write_bytes(kept)
    path.chmod(0o600)
    check_well(machine)


def test_the_settings_backup_is_an_exact_copy(machine):
    (machine.state / "server/server.json").unlink()
    (machine.state / "server/server.json.kept").rename(machine.state / "server/server.json")
    start(machine)
    check_well(machine)


def test_a_server_that_has_lost_its_settings_cannot_leave(machine):
    (machine.state / "server/server.json").unlink()
    before = files_of(machine.state)
    done = machine.cluster.eden("leave", "--force", "--state-dir", machine.state, "--run-dir",
                                machine.run, check=False)
    assert done.returncode != 0
    assert "is a server of cluster" in done.stderr
    assert files_of(machine.state) == before


def test_a_running_server_rewrites_its_files(machine):
    names = ["server/ca.pem", "server/node.pem", "server/serving.pem", "server/server.json"]
    start(machine)
    check_well(machine)
    before = {name: (machine.state / name).read_bytes() for name in names}
    settings = json.loads(before.pop("server/server.json"))
    for name in names:
        (machine.state / name).unlink()
    wait_until(lambda: files_of(machine.state) >= set(names), "the files are there again")
    assert {name: (machine.state / name).read_bytes() for name in before} == before
    assert json.loads((machine.state / "server/server.json").read_text()) == settings
    assert machine.agent.stop() == 0
    start(machine)
    check_well(machine)


def test_an_agent_that_loses_its_files_continues(machine):
    """The loss of its node's state is noticed at once; of the others at the next start."""
    start(machine)
    machine.wait_live()
    (machine.state / "agent/node.json").unlink()
    wait_until(lambda: (machine.state / "agent/node.json").is_file(), "node.json is there again")
    check_well(machine)
    for name in AGENT:
        if name not in ("agent/enrolment", "agent/node.json"):
            (machine.state / name).unlink(missing_ok=True)
    assert machine.agent.stop() == 0
    start(machine)
    check_well(machine)


@pytest.mark.parametrize("name", ["ca.pem", "node.pem", "node.json"])
def test_a_node_without_the_server_role_shows_a_remedy(cluster, name):
    cluster.start()
    node = machines.Machine(cluster, "web1")
    node.join_with_token()
    node.start()
    node.wait_live()
    assert node.agent.stop() == 0
    path = node.state / "agent" / name
    kept = path.read_bytes()
    path.unlink()
    line = start(node).wait_for_log(f"agent/{name}")
    assert "from a copy" in line and "'eden join'" in line
    assert f"agent/{name}" in node.wait_status(lambda status: status["node"] is None, "why")["why"]
    assert node.agent.stop() == 0
    path.write_bytes(kept)
    path.chmod(0o600)
    node.start()
    node.wait_live()


@pytest.mark.parametrize("name", ["server/node.pem", "server/serving.pem"])
def test_a_damaged_key_is_reported(machine, name):
    path = machine.state / name
    text = path.read_text()
    path.write_text(text[text.index("-----BEGIN CERTIFICATE"):])
    done = machine.cluster.eden("serve", "--state-dir", machine.state, "--run-dir", machine.run,
                                check=False)
    assert done.returncode != 0 and str(path) in done.stderr
    assert "remove it" in done.stderr
    path.unlink()
    start(machine)
    check_well(machine)
