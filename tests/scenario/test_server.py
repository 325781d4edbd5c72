"""The server as a process: it starts, answers, stops cleanly, and drops privileges it does not
need.
"""

import json
import os
import pathlib
import socket
import subprocess
import tempfile

import daemons
import pytest


def ask(cluster, target, method="GET", body=None):
    """Via the local API socket."""
    done = subprocess.run(
        ["curl", "-sS", "--unix-socket", cluster.run / "server/api.sock", "-X", method,
         *(["-d", body, "-H", "content-type: application/json"] if body else []),
         f"http://eden{target}"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_new_cluster_serves_until_stopped(cluster):
    server = cluster.start()
    assert [node["metadata"]["name"] for node in ask(cluster, "/v1/nodes")["items"]] == ["s1"]
    assert server.stop() == 0
    assert not (cluster.run / "server/api.sock").exists()


@pytest.mark.also_on_etcd
def test_acknowledged_writes_survive_a_kill(cluster):
    server = cluster.start()
    for number in range(20):
        ask(cluster, f"/v1/store?key=/test/{number}", "PUT", '{"value": "kept"}')
    server.kill()
    cluster.start()
    for number in range(20):
        assert ask(cluster, f"/v1/store?key=/test/{number}")["value"] == "kept"


@pytest.mark.also_on_etcd
def test_there_is_one_server_for_a_store(cluster):
    cluster.start()
    second = cluster.eden("serve", "--state-dir", cluster.state, "--run-dir", cluster.folder / "r2",
                          check=False)
    assert second.returncode == 5
    assert "E0821" in second.stderr


def test_without_a_cluster_it_explains_how_to_create_one(eden, tmp_path):
    done = eden("serve", "--state-dir", tmp_path / "none", "--run-dir", tmp_path / "run")
    assert done.returncode != 0
    assert "create one with 'eden init'" in done.stderr


def test_the_start_command_is_printed_in_full(eden, tmp_path):
    """The unit would look elsewhere."""
    done = eden("init", "--state-dir", tmp_path / "state", "--user", "root")
    assert f"Next: start it with 'eden agent --state-dir {tmp_path}/state'" in done.stdout, done
    assert f"'eden tokens create --state-dir {tmp_path}/state' then prints" in done.stdout, done
    assert "systemctl" not in done.stdout


def test_a_second_cluster_is_not_created_over_the_first(cluster):
    before = (cluster.state / "server/ca.pem").read_bytes()
    done = cluster.eden("init", "--state-dir", cluster.state, "--user", "root", check=False)
    assert done.returncode == 5
    assert "a cluster already exists" in done.stderr
    assert (cluster.state / "server/ca.pem").read_bytes() == before


def test_an_unknown_user_is_reported_with_a_remedy(eden, tmp_path):
    if os.geteuid() != 0:
        pytest.fail("only root can found a cluster for another user")
    done = eden("init", "--state-dir", tmp_path / "state", "--user", "nobody-at-all")
    assert done.returncode != 0
    assert "useradd --system nobody-at-all" in done.stderr
    assert not (tmp_path / "state").exists()


def test_one_port_for_both_is_rejected(eden, tmp_path):
    done = eden("init", "--state-dir", tmp_path / "state", "--user", "root",
                "--rpc", "127.0.0.1:4711", "--api", "127.0.0.1:4711")
    assert done.returncode == 1
    assert "--rpc and --api cannot both use port" in done.stderr


@pytest.fixture
def reachable():
    """A directory that every user may enter."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o711)
        yield pathlib.Path(path)


def test_started_by_root_it_runs_as_another_user_without_capabilities(eden_path, reachable):
    if os.geteuid() != 0:
        pytest.fail("only root can start it as another user")
    folder = reachable
    founded = subprocess.run(
        [eden_path, "init", "--state-dir", folder / "state", "--user", "nobody", "--rpc",
         "127.0.0.1:0", "--api", "127.0.0.1:0"], capture_output=True, text=True)
    assert founded.returncode == 0, founded.stderr
    server = daemons.Daemon(folder, eden_path, "serve", "--state-dir", folder / "state",
                            "--run-dir", folder / "run")
    try:
        server.wait_ready()
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
        owner = os.stat(folder / "state/server")
        assert owner.st_uid != 0
        assert set(fields["Uid"].split()) == {str(owner.st_uid)}
        assert fields["Groups"].split() == [str(owner.st_gid)]
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(fields[kind], 16) == 0, kind
        assert fields["NoNewPrivs"] == "1"
        assert (folder / "state/agent/node.pem").stat().st_uid == 0
        assert server.stop() == 0
    finally:
        server.end()


def test_it_stops_with_the_process_that_started_it(cluster):
    script = ('import os, subprocess, sys; '
              'p = subprocess.Popen(sys.argv[1:] + ["--parent-pid", str(os.getpid())]); '
              'sys.stdin.read()')
    starter = subprocess.Popen(
        ["/usr/bin/python3", "-c", script, cluster.eden_path, "serve", "--state-dir",
         cluster.state, "--run-dir", cluster.run], stdin=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=daemons.environment())
    for line in starter.stderr:
        if "listening" in line:
            break
    starter.kill()
    # The pipe ends when the last process that has it open is gone: the server.
    rest = starter.stderr.read()
    starter.wait()
    assert "stopping" in rest
    starter.stdin.close()
    starter.stderr.close()


def test_a_port_in_use_is_reported(cluster):
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        settings = json.loads((cluster.state / "server/server.json").read_text())
        settings["rpc"] = f"127.0.0.1:{occupied.getsockname()[1]}"
        (cluster.state / "server/server.json").write_text(json.dumps(settings))
        done = cluster.eden("serve", "--state-dir", cluster.state, "--run-dir", cluster.run,
                            check=False)
    assert done.returncode != 0
    assert "in use" in done.stderr


def test_changes_by_operators_are_logged_with_the_caller(cluster):
    cluster.start()
    cluster.call("tokens", "create")
    line = cluster.server.wait_for_log("request completed")
    assert "verb=create kind=Token" in line and f"(uid {os.getuid()})" in line


def test_an_unknown_field_is_named_with_its_location(cluster):
    path = cluster.state / "server/server.json"
    settings = json.loads(path.read_text())
    settings["conections_per_address"] = 5
    path.write_text(json.dumps(settings, indent=2))
    done = cluster.eden("serve", "--state-dir", cluster.state, "--run-dir", cluster.run, check=False)
    assert done.returncode != 0
    line = path.read_text().splitlines().index('  "conections_per_address": 5') + 1
    assert f"{cluster.state}/server: server.json: line {line}: 'conections_per_address': " \
           "unknown field; did you mean 'connections_per_address'?" in done.stderr
