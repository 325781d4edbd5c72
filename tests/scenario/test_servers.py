"""Several servers on one etcd: no server is special."""

import json
import pathlib
import re
import shlex

import daemons
import pytest
from cluster_world import get, is_alive, join, put
from events import wait_until

pytestmark = pytest.mark.only_on_etcd


class Second(daemons.Cluster):
    """Another server of a cluster that exists: its machine is a node first."""

    def __init__(self, first, name):
        self.eden_path, self.folder, self.first, self.name = first.eden_path, first.folder, first, name
        self.state, self.run = first.folder / name / "state", first.folder / name / "run"
        self.daemons, self.server, self.rpc_port, self.api_port = [], None, 0, 0

    def join_as_node(self):
        variable, eden, *line = shlex.split(self.first.call("tokens", "create").stdout)
        self.eden(*line, "--name", self.name, "--state-dir", self.state,
                  env=dict([variable.split("=", 1)]))

    def join_as_server(self, *options, wait="40s", check=True):
        return self.eden("join", "--as-server", "--state-dir", self.state, "--user", "root", "--address",
                         "127.0.0.1", "--rpc", "127.0.0.1:0", "--api", "127.0.0.1:0", "--max-wait", wait,
                         *options, check=check)

    def keep_ports(self):
        """Its agent knows the first server."""
        path = self.state / "server/server.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "rpc": f"127.0.0.1:{self.rpc_port}",
                                    "api": f"127.0.0.1:{self.api_port}"}))


@pytest.fixture
def second(cluster):
    cluster.start()
    second = Second(cluster, "s2")
    second.join_as_node()
    yield second
    second.close()


@pytest.fixture
def pair(cluster, second):
    cluster.call("servers", "add", "s2")
    second.join_as_server()
    second.start()
    return cluster, second


def servers(cluster):
    listed = json.loads(cluster.call("servers", "list", "-o", "json").stdout)
    return {item["metadata"]["name"]: item["status"] for item in listed["items"]}


def states(cluster):
    return {name: status["state"] for name, status in servers(cluster).items()}


def files(server):
    return {path.name: path.read_bytes() for path in (server.state / "server").iterdir() if path.is_file()}


def test_a_node_becomes_a_server_when_an_administrator_permits_it(cluster, second):
    refused = second.join_as_server(wait="1s", check=False)
    assert refused.returncode == 124 and "eden servers add s2" in refused.stderr
    assert not (second.state / "server/ca.pem").exists()
    waiting = second.daemon("join", "--as-server", "--state-dir", second.state, "--user", "root",
                            "--address", "127.0.0.1", "--rpc", "127.0.0.1:0", "--api", "127.0.0.1:0")
    waiting.wait_for_log("eden servers add s2")
    cluster.call("servers", "add", "s2")
    assert states(cluster) == {"s1": "alive", "s2": "added"}
    assert waiting.process.wait(timeout=60) == 0
    second.start()
    for server in (cluster, second):
        wait_until(lambda: states(server) == {"s1": "alive", "s2": "alive"}, "both are alive")
    entries = cluster.call("audit", "tail", "-o", "json").stdout
    assert "the keys of the CA were sent to it" in entries


def test_the_key_of_the_ca_is_not_in_the_store(pair):
    cluster, second = pair
    assert files(cluster)["ca.pem"] == files(second)["ca.pem"]
    assert files(cluster)["source_key"] == files(second)["source_key"]
    key = re.search(rb"-----BEGIN (?:EC )?PRIVATE KEY-----\n(.{20})", files(cluster)["ca.pem"])[1]
    assert (second.state / "server/ca.pem").stat().st_mode & 0o777 == 0o600
    data = [path.read_bytes() for path in pathlib.Path(cluster.store.members[0].folder).rglob("*") if path.is_file()]
    assert data and not any(key in one for one in data)


def test_each_server_sees_what_the_other_has_written(pair):
    cluster, second = pair
    put(cluster, "/test/one", "from s1")
    assert get(second, "/test/one") == "from s1"
    put(second, "/test/two", "from s2")
    assert get(cluster, "/test/two") == "from s2"
    token = json.loads(second.call("tokens", "create", "-o", "json").stdout)["metadata"]["name"]
    assert token in cluster.call("tokens", "list").stdout
    cluster.call("tokens", "revoke", token)
    assert token not in second.call("tokens", "list").stdout


def test_machines_join_at_any_server(pair):
    cluster, second = pair
    agent = join(second, "web1")
    wait_until(lambda: is_alive(cluster, "web1"), "web1 is alive for s1")
    assert known_servers(cluster, "web1")[0] == "s2"
    cluster.call("nodes", "remove", "web1")
    wait_until(lambda: not is_alive(second, "web1"), "web1 has no session")
    agent.wait_for_log("web1")


def known_servers(cluster, node):
    state = json.loads((cluster.folder / node / "state/agent/node.json").read_text())
    return [server["node"] for server in state["servers"]]


def test_nodes_learn_the_servers_and_fail_over(pair):
    cluster, second = pair
    agent = join(cluster, "web1")
    wait_until(lambda: known_servers(cluster, "web1") == ["s1", "s2"], "web1 knows both")
    cluster.server.kill()
    agent.wait_for_log("session established server=s2")
    wait_until(lambda: is_alive(second, "web1"), "web1 is alive for s2")
    cluster.start()
    second.server.stop()
    wait_until(lambda: agent.log[-1].endswith(f"at=127.0.0.1:{cluster.rpc_port}") or is_alive(cluster, "web1"),
               "web1 is alive for s1")
    cluster.call("servers", "remove", "s2")
    wait_until(lambda: known_servers(cluster, "web1") == ["s1"], "web1 has forgotten s2")


def test_a_node_that_was_off_finds_a_server_that_it_knows(pair):
    cluster, second = pair
    agent = join(cluster, "web1")
    wait_until(lambda: known_servers(cluster, "web1") == ["s1", "s2"], "web1 knows both")
    agent.stop()
    cluster.server.stop()
    folder = cluster.folder / "web1"
    cluster.daemon("agent", "--state-dir", folder / "state", "--run-dir", folder / "run", "--config-dir",
                   folder / "etc")
    wait_until(lambda: is_alive(second, "web1"), "web1 is alive for s2")


def test_a_site_reaches_nodes_of_every_server(pair, tmp_path):
    """Its files are only on the server that received them, until another one needs them."""
    cluster, second = pair
    site = tmp_path / "site"
    (site / "jobs").mkdir(parents=True)
    (site / "files").mkdir()
    (site / "files/motd").write_text("hello")
    (site / "jobs/base.yaml").write_text("jobs:\n  '*':\n    - name: motd\n")
    (site / "jobs/motd.yaml").write_text("steps:\n- name: motd\n  file.managed:\n  - name: /etc/motd\n"
                                         "  - source: motd\n")
    join(second, "web1")
    pushed = json.loads(cluster.call("push", site, "--no-run", "-o", "json").stdout)
    planned = json.loads(cluster.call("run", "--check", "-l", "web1", "-o", "json", check=False).stdout)
    assert pushed["version"] and planned["nodes"][0]["counts"]["changed"] == 1, planned
    blobs = [path for path in (second.state / "server").rglob("*") if path.is_file()]
    assert any(path.read_bytes() == b"hello" for path in blobs)


def test_a_node_is_pinged_through_any_server(pair):
    cluster, second = pair
    join(second, "web1")
    for server in (second, cluster):
        wait_until(lambda: is_alive(server, "web1"), "web1 is alive")
        assert "web1" in server.call("nodes", "ping", "web1").stdout
    second.server.kill()
    lost = cluster.call("nodes", "ping", "web1", check=False)
    assert lost.returncode in (0, 3), lost


def test_another_server_leads_when_the_leader_stops(pair):
    cluster, second = pair
    wait_until(lambda: servers(second)["s1"]["leader"], "s1 leads")
    cluster.server.stop()
    wait_until(lambda: servers(second)["s2"]["leader"], "s2 leads")
    wait_until(lambda: states(second) == {"s1": "silent", "s2": "alive"}, "s1 is silent")
    assert "state: silent" in second.call("servers", "show", "s1").stdout
    second.call("tokens", "create")
    cluster.start()
    wait_until(lambda: states(second) == {"s1": "alive", "s2": "alive"}, "s1 is alive")
    assert servers(cluster)["s2"]["leader"]


def test_the_ca_is_rotated_on_every_server(pair):
    cluster, second = pair
    before = files(second)["ca.pem"]
    for server in (cluster, second):
        server.daemon("agent", "--no-server", "--state-dir", server.state, "--run-dir", server.run,
                      "--config-dir", server.state.parent / "etc")
    wait_until(lambda: is_alive(cluster, "s1") and is_alive(cluster, "s2"), "both nodes are alive")
    second.call("pki", "rotate")
    cluster.server.wait_for_log("the key of a CA was received from another server")
    wait_until(lambda: "is not being rotated" in cluster.call("pki", "rotate", "--status").stdout
               or "no rotation" in cluster.call("pki", "rotate", "--status").stdout,
               "the rotation has ended")
    wait_until(lambda: files(cluster)["ca.pem"] == files(second)["ca.pem"] != before,
               "both have the next CA only")
    wait_until(lambda: "ca-next.pem" not in files(cluster) | files(second), "the old files are gone")
    join(second, "web1")
    assert is_alive(cluster, "web1")


def test_a_removed_server_stops_and_deletes_its_keys(pair):
    cluster, second = pair
    cluster.call("servers", "remove", "s2")
    second.server.wait_for_log("no longer a server of the cluster")
    assert second.server.process.wait(timeout=60) == 4
    assert not any(name.endswith(".pem") or "key" in name or "server.json" in name for name in files(second))
    assert list(states(cluster)) == ["s1"]
    assert not json.loads(cluster.call("nodes", "show", "s2", "-o", "json").stdout)["status"]["server"]
    last = cluster.call("servers", "remove", "s1", check=False)
    assert last.returncode == 5 and "the only server" in last.stderr
    cluster.call("nodes", "remove", "s2")


def test_a_server_that_was_removed_while_it_was_off_does_not_serve(pair):
    cluster, second = pair
    second.server.stop()
    cluster.call("servers", "remove", "s2")
    done = second.eden("serve", "--state-dir", second.state, "--run-dir", second.run, check=False)
    assert done.returncode == 4 and "no longer a server" in done.stderr
    assert not (second.state / "server/server.json").exists()


def test_a_server_is_removed_before_its_node(pair):
    cluster, _ = pair
    refused = cluster.call("nodes", "remove", "s2", check=False)
    assert refused.returncode == 5 and "eden servers remove" in refused.stderr


def test_a_node_without_permission_gets_no_keys(cluster, second):
    """Even if its record says that it is a server, which raw keys can do."""
    node = get(cluster, "/eden/nodes/s2")
    put(cluster, "/eden/nodes/s2", {**node, "server": True})
    refused = second.join_as_server(wait="1s", check=False)
    assert refused.returncode == 124 and "is not one of the servers" in refused.stderr
    guarded = cluster.call("put", "/eden/servers/s2", "{}", "--force", check=False)
    assert guarded.returncode == 4


def test_wrong_files_for_etcd_are_reported(cluster, second, tmp_path):
    cluster.call("servers", "add", "s2")
    done = second.join_as_server("--etcd-key", tmp_path / "missing", check=False)
    assert done.returncode != 0 and str(tmp_path / "missing") in done.stderr
    assert not (second.state / "server/server.json").exists()
    assert second.join_as_server().returncode == 0
    again = second.join_as_server(check=False)
    assert again.returncode == 5


def test_options_of_servers_need_as_server(eden):
    done = eden("join", "--server", "eden1", "--rpc", "0.0.0.0:1")
    assert done.returncode == 64 and "--rpc requires --as-server" in done.stderr
