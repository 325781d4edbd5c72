"""Joining over SSH with real programs: a server, a machine that joins, and its sshd."""

import getpass
import json
import os
import pathlib
import shlex
import subprocess
import tempfile

import daemons
import pytest
import sshd as ssh

SUDO = '#!/bin/sh\ntest "$1" = -n && shift\nexec "$@"\n'


@pytest.fixture
def machine(eden_path, tmp_path):
    """The machine that joins: an sshd where eden is found, and a folder for its state."""
    state = tmp_path / "web1"
    eden = f"#!/bin/sh\n{shlex.quote(eden_path)} \"$@\" --state-dir {state}\n"
    sshd = ssh.Sshd(tmp_path / "sshd", {"eden": eden, "sudo": SUDO})
    sshd.state = state
    yield sshd.start()
    sshd.end()


@pytest.fixture
def unprivileged(eden_path):
    """A cluster whose server runs as a user without a home directory, who may enter the folder."""
    if os.geteuid() != 0:
        pytest.fail("only root can start a server as another user")
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o711)
        cluster = daemons.Cluster(eden_path, pathlib.Path(path), user="nobody")
        yield cluster
        cluster.close()


def ask(cluster, target, body=None):
    """Status and response of the server, via the local API socket."""
    done = subprocess.run(
        ["curl", "-sS", "--unix-socket", cluster.run / "server/api.sock", "-w", "\n%{http_code}",
         *(["-d", json.dumps(body), "-H", "content-type: application/json"] if body else []),
         f"http://eden{target}"], capture_output=True, text=True, check=True)
    response, status = done.stdout.rsplit("\n", 1)
    return int(status), json.loads(response)


def approve(cluster, machine, **ssh_options):
    target = f"{getpass.getuser()}@127.0.0.1:{machine.port}"
    return ask(cluster, "/v1/nodes/web1/approve", {"ssh": {"target": target, **ssh_options}})


def trust_server(cluster, machine):
    """Puts the line that the server shows where the machine looks."""
    line = "line" if getpass.getuser() == "root" else "sudo_line"
    machine.authorized.write_text(ask(cluster, "/v1/ssh-key")[1][line] + "\n")


def start_join(cluster, machine, *options):
    """A machine that knows no CA sends a request, and waits."""
    joiner = cluster.daemon("join", "--server", f"127.0.0.1:{cluster.api_port}", "--name", "web1",
                            "--state-dir", machine.state, *options)
    joiner.wait_for_log("eden nodes approve web1")
    return joiner


def is_member(cluster):
    return ask(cluster, "/v1/nodes/web1")[1]["status"]["joined"] is not None


def test_a_machine_without_prior_knowledge_joins_over_ssh(cluster, machine):
    cluster.start()
    trust_server(cluster, machine)
    joiner = start_join(cluster, machine)
    status, done = approve(cluster, machine, host_keys=[machine.host_key])
    assert status == 200, done
    assert done["fingerprint"] == ssh.fingerprint(machine.host_key)
    assert joiner.process.wait(timeout=30) == 0
    node = json.loads((machine.state / "agent/node.json").read_text())
    assert (node["cluster"], node["node"]) == ("blue", "web1")
    assert is_member(cluster)
    # Only the necessary actions were done there, and the server keeps no trace of it.
    assert not list((cluster.state / "server").glob("known_hosts*"))
    key = cluster.state / "server/ssh_key"
    assert key.stat().st_mode & 0o777 == 0o600


def login(machine):
    return f"{getpass.getuser()}@127.0.0.1:{machine.port}"


def test_all_of_it_can_be_done_with_commands(cluster, machine):
    cluster.start()
    sudo = [] if getpass.getuser() == "root" else ["--sudo"]
    machine.authorized.write_text(cluster.call("nodes", "ssh-key", *sudo).stdout)
    joiner = start_join(cluster, machine)
    done = cluster.call("nodes", "approve", "web1", "--ssh", login(machine), "--host-key",
                        machine.host_key + " root@web1")
    assert "web1 is approved with key sha256:" in done.stdout
    assert joiner.process.wait(timeout=30) == 0
    assert "this machine is node 'web1' of cluster 'blue'" in joiner.process.stdout.read()


def test_an_unprivileged_server_connects_over_ssh(unprivileged, machine):
    unprivileged.start()
    trust_server(unprivileged, machine)
    joiner = start_join(unprivileged, machine)
    status, done = approve(unprivileged, machine, host_keys=[machine.host_key])
    assert status == 200, done
    assert joiner.process.wait(timeout=30) == 0
    key = unprivileged.state / "server/ssh_key"
    assert key.stat().st_uid == (unprivileged.state / "server").stat().st_uid != 0


def test_a_known_hosts_file_is_accepted(cluster, machine):
    cluster.start()
    trust_server(cluster, machine)
    start_join(cluster, machine)
    known = machine.folder / "known"
    known.write_text(f"[127.0.0.1]:{machine.port} {machine.host_key}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
    assert "127.0.0.1" not in known.read_text()
    cluster.call("nodes", "approve", "web1", "--ssh", login(machine), "--known-hosts", known)
    known.write_text(f"other {machine.host_key}\n")
    done = cluster.call("nodes", "approve", "web1", "--ssh", login(machine), "--known-hosts", known,
                        check=False)
    assert done.returncode == 64
    assert f"contains no key for [127.0.0.1]:{machine.port}" in done.stderr


def test_an_accepted_host_key_is_printed(cluster, machine):
    cluster.start()
    trust_server(cluster, machine)
    start_join(cluster, machine)
    done = cluster.call("nodes", "approve", "web1", "--ssh", login(machine),
                        "--accept-new-host-key")
    assert ssh.fingerprint(machine.host_key) in done.stderr


@pytest.mark.parametrize("options", [
    ["--ssh", "web1"],
    ["--host-key", "ssh-ed25519 AAAA"],
    ["--ssh", "web1", "--host-key", "ssh-ed25519 AAAA"],
    ["--ssh", "-oProxyCommand=id", "--accept-new-host-key"],
    ["--ssh=root@web1\nProxyCommand id", "--accept-new-host-key"],
    ["--ssh", "web1", "--accept-new-host-key", "--known-hosts", "x"],
    ["--ssh", "web1", "--accept-new-host-key", "--key", "00000000"],
])
def test_invalid_combinations_are_usage_errors(eden, tmp_path, options):
    done = eden("nodes", "approve", "web1", *options, "--run-dir", tmp_path, "--state-dir", tmp_path)
    assert done.returncode == 64
    assert "usage" in done.stderr or "eden help nodes" in done.stderr


def test_the_servers_key_permits_nothing_else_there(cluster, machine):
    cluster.start()
    trust_server(cluster, machine)
    known = machine.folder / "known"
    known.write_text(f"[127.0.0.1]:{machine.port} {machine.host_key}\n")
    done = subprocess.run(
        ["ssh", "-F", "none", "-i", cluster.state / "server/ssh_key", "-o", "BatchMode=yes", "-o",
         f"UserKnownHostsFile={known}", "-p", str(machine.port), "127.0.0.1", "touch", "/tmp/pwned"],
        input="{}", capture_output=True, text=True)
    assert done.returncode != 0
    assert "the server's query" in done.stderr


def test_a_wrong_host_key_is_rejected_and_both_are_shown(cluster, machine, tmp_path):
    cluster.start()
    trust_server(cluster, machine)
    start_join(cluster, machine)
    other = ssh.make_key(tmp_path / "other")
    status, done = approve(cluster, machine, host_keys=[other])
    assert status == 403
    assert ssh.fingerprint(other) in done["detail"]
    assert ssh.fingerprint(machine.host_key) in done["detail"]
    assert not is_member(cluster)
    assert not (machine.state / "agent/joining/trusted.pem").exists()


def test_a_host_key_of_another_type_is_rejected(cluster, machine):
    cluster.start()
    trust_server(cluster, machine)
    start_join(cluster, machine)
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", machine.folder / "ecdsa"],
                   check=True)
    other = (machine.folder / "ecdsa.pub").read_text().strip()
    status, done = approve(cluster, machine, host_keys=[other])
    assert status == 403, done
    assert "of another type" in done["detail"]


def test_a_new_host_key_is_accepted_on_request_and_printed(cluster, machine):
    cluster.start()
    trust_server(cluster, machine)
    joiner = start_join(cluster, machine)
    status, done = approve(cluster, machine, accept_new_host_key=True)
    assert status == 200, done
    assert done["host_key"] == machine.host_key
    assert done["fingerprint"] == ssh.fingerprint(machine.host_key)
    assert joiner.process.wait(timeout=30) == 0


def test_a_machine_that_denies_the_server_is_reported(cluster, machine):
    cluster.start()
    start_join(cluster, machine)
    status, done = approve(cluster, machine, host_keys=[machine.host_key])
    assert status == 403
    assert "authorized_keys" in done["detail"]


def test_a_machine_without_eden_is_reported(cluster, machine):
    cluster.start()
    trust_server(cluster, machine)
    start_join(cluster, machine)
    (machine.folder / "bin/eden").unlink()
    status, done = approve(cluster, machine, host_keys=[machine.host_key])
    assert status == 503
    assert "eden not found on 127.0.0.1" in done["detail"]


def test_another_machine_that_requests_the_name_is_not_admitted(cluster, machine, tmp_path):
    cluster.start()
    trust_server(cluster, machine)
    # Another machine requests the same name, with another key.
    intruder = cluster.daemon("join", "--server", f"127.0.0.1:{cluster.api_port}", "--name", "web1",
                              "--state-dir", tmp_path / "intruder")
    intruder.wait_for_log("eden nodes approve web1")
    status, done = approve(cluster, machine, host_keys=[machine.host_key])
    assert status == 409
    assert not is_member(cluster)
    # The machine itself is admitted, although the other one keeps trying.
    joiner = start_join(cluster, machine)
    status, done = approve(cluster, machine, host_keys=[machine.host_key])
    assert status == 200, done
    assert joiner.process.wait(timeout=30) == 0
    assert is_member(cluster)
    assert intruder.process.poll() is None
    assert not (tmp_path / "intruder/agent/node.json").exists()


def test_a_machine_with_another_ca_pin_refuses(cluster, machine):
    cluster.start()
    trust_server(cluster, machine)
    start_join(cluster, machine)
    # As if a man in the middle had presented another one.
    request = machine.state / "agent/joining/joining.json"
    kept = json.loads(request.read_text())
    kept["ca"] = "sha256:" + "0" * 64
    request.write_text(json.dumps(kept))
    status, done = approve(cluster, machine, host_keys=[machine.host_key])
    assert status == 409
    assert "a different CA" in done["detail"]
    assert not (machine.state / "agent/joining/trusted.pem").exists()


def test_an_unreachable_machine_is_reported(cluster, machine):
    cluster.start()
    start_join(cluster, machine)
    machine.end()
    status, done = approve(cluster, machine, host_keys=[machine.host_key])
    assert status == 503
    assert "refused" in done["detail"]


def test_a_claim_alone_does_not_admit_a_machine(cluster, machine):
    cluster.start()
    joiner = start_join(cluster, machine)
    key = ask(cluster, "/v1/nodes/web1")[1]["status"]["requests"][0]["key"]
    assert ask(cluster, "/v1/nodes/web1/approve", {"key": key})[0] == 200
    joiner.end()
    again = cluster.eden("join", "--server", f"127.0.0.1:{cluster.api_port}", "--name", "web1",
                         "--state-dir", machine.state, check=False)
    assert again.returncode == 4
    assert "its CA is not trusted here" in again.stderr
    assert not (machine.state / "agent/node.json").exists()
