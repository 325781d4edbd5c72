"""Certificates of a cluster of real processes: renewal, revocation and CA rotation, with a
server that is killed in every state. Files are checked with openssl(1)."""

import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time

import cluster_world
import daemons
import pytest
from events import wait_until


def ask(cluster, target, method="GET", body=None):
    """Via the local API socket; None if unreachable."""
    done = subprocess.run(
        ["curl", "-sS", "--unix-socket", cluster.run / "server/api.sock", "-X", method,
         *(["-d", json.dumps(body), "-H", "content-type: application/json"] if body else []),
         f"http://eden{target}"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def pki(cluster):
    return ask(cluster, "/v1/pki")


def rotation(cluster):
    return pki(cluster)["rotation"]


def openssl(*args, text=None):
    done = subprocess.run(["openssl", *map(str, args)], capture_output=True, text=True, input=text)
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(text, kind="CERTIFICATE"):
    return re.findall(f"-----BEGIN {kind}-----.*?-----END {kind}-----\n", text, re.S)


def serial(path):
    return openssl("x509", "-noout", "-serial", text=blocks(path.read_text())[0]).split("=")[1]


def verify(cas, path):
    """Whether openssl accepts the certificate with these CAs."""
    (path.parent / "only.crt").write_text(blocks(path.read_text())[0])
    (path.parent / "cas.crt").write_text("".join(cas))
    assert openssl("verify", "-x509_strict", "-CAfile", path.parent / "cas.crt",
                   path.parent / "only.crt").endswith("OK\n")


def request_of(folder, name):
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", folder / f"{name}.key", "-subj", "/CN=somebody else", "-out",
            folder / f"{name}.csr")
    return folder / f"{name}.csr"


def set_life(cluster, **lives):
    path = cluster.state / "server/server.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **lives}))


def report(cluster, node, trusted, issuer):
    """What the agent of the node would report."""
    value = {"format": "eden.trust-report/1", "issuer": issuer, "serial": "", "not_after_ms": 0,
             "time_ms": 0, "trusted": trusted}
    ask(cluster, f"/v1/store?key=/eden/trust/{node}", "PUT", {"value": json.dumps(value)})


def wait_in(cluster, state, *nodes):
    """Waits until the rotation is in the state and waits for exactly these nodes."""
    def look():
        now = rotation(cluster)
        return now["state"] == state and {wait["node"] for wait in now["waits"]} == set(nodes)
    wait_until(look, f"{state}, which waits for {nodes}")


def restart(cluster):
    cluster.server.kill()
    cluster.start()


def test_a_rotation_continues_after_a_kill_in_every_state(cluster):
    cluster.start()
    before = rotation(cluster)["present"]
    cluster.call("pki", "issue", "web1", "--csr", request_of(cluster.folder, "web1"), "--out",
                 cluster.folder / "web1.pem")
    cluster.call("pki", "rotate")
    restart(cluster)
    wait_in(cluster, "distribute", "s1", "web1")
    after = rotation(cluster)["next"]
    restart(cluster)
    wait_in(cluster, "distribute", "s1", "web1")
    assert rotation(cluster)["next"] == after
    for node in ("s1", "web1"):
        report(cluster, node, [before, after], before)
    wait_in(cluster, "issue", "s1", "web1")
    restart(cluster)
    wait_in(cluster, "issue", "s1", "web1")
    for node in ("s1", "web1"):
        report(cluster, node, [before, after], after)
    wait_in(cluster, "retire", "s1", "web1")
    restart(cluster)
    wait_in(cluster, "retire", "s1", "web1")
    for node in ("s1", "web1"):
        report(cluster, node, [after], after)
    wait_in(cluster, "steady")
    assert rotation(cluster)["present"] == after
    restart(cluster)
    assert [ca["key"] for ca in pki(cluster)["cas"]] == [after]
    assert not (cluster.state / "server/ca-next.pem").exists()
    ca = blocks((cluster.state / "server/ca.pem").read_text())
    verify(ca, cluster.state / "server/serving.pem")
    verify(ca, cluster.state / "server/node.pem")


def test_killed_while_writing_rotation_files_it_ends_with_one_ca(cluster):
    """At a random point in each step."""
    cluster.start()
    report(cluster, "s1", [], "")
    ask(cluster, "/v1/store?key=/eden/trust/s1", "DELETE")  # as if there were no agent
    for moment in range(8):
        before = rotation(cluster)["present"]
        cluster.call("pki", "rotate")
        end = time.monotonic() + moment * 0.15
        while time.monotonic() < end and rotation(cluster)["state"] != "steady":
            pass
        restart(cluster)
        wait_in(cluster, "steady")
        now = pki(cluster)
        assert now["rotation"]["present"] != before
        assert len(now["cas"]) == 1
        ca = blocks((cluster.state / "server/ca.pem").read_text())
        assert len(ca) == 1
        verify(ca, cluster.state / "server/serving.pem")
        verify(ca, cluster.state / "server/node.pem")


def join(cluster, name, pin, check=True):
    made = ask(cluster, "/v1/tokens", "POST", {"spec": {"uses": 1}})
    return cluster.eden("join", "--server", f"127.0.0.1:{cluster.api_port}", "--token",
                        made["status"]["secret"], "--ca-pin", pin, "--name", name, "--max-wait", "20s",
                        "--state-dir", cluster.folder / name, check=check)


def test_machines_join_in_every_state_of_a_rotation(cluster):
    """With the pin of the CA at the time when the line was printed, also under the next CA."""
    cluster.start()
    before = rotation(cluster)["present"]
    join(cluster, "steady", before)
    cluster.call("pki", "rotate")
    wait_in(cluster, "distribute", "s1", "steady")
    after = rotation(cluster)["next"]
    join(cluster, "distribute", before)
    # What it received then is sufficient: nothing waits for it.
    for node in ("s1", "steady"):
        report(cluster, node, [before, after], before)
    wait_in(cluster, "issue", "s1", "steady", "distribute")
    join(cluster, "old-pin", before)
    join(cluster, "new-pin", after)
    both = blocks((cluster.folder / "old-pin/agent/ca.pem").read_text())
    assert len(both) == 2
    verify(both, cluster.folder / "old-pin/agent/node.pem")
    verify(both, cluster.folder / "distribute/agent/node.pem")
    for node in ("s1", "steady", "distribute"):
        report(cluster, node, [before, after], after)
    wait_in(cluster, "retire", "s1", "steady", "distribute", "old-pin", "new-pin")
    join(cluster, "retire", after)
    refused = join(cluster, "too-late", before, check=False)
    assert refused.returncode != 0
    assert not (cluster.folder / "too-late/agent/node.json").exists()


def test_a_rotation_can_be_aborted_or_continue_without_a_node(cluster):
    cluster.start()
    before = rotation(cluster)["present"]
    cluster.call("pki", "issue", "web1", "--csr", request_of(cluster.folder, "web1"))
    cluster.call("pki", "rotate")
    wait_in(cluster, "distribute", "s1", "web1")
    assert cluster.call("pki", "rotate", check=False).returncode == 5
    cluster.call("pki", "rotate", "--abort")
    assert rotation(cluster) == {**rotation(cluster), "state": "steady", "present": before}
    cluster.call("pki", "rotate")
    wait_in(cluster, "distribute", "s1", "web1")
    report(cluster, "s1", [before, rotation(cluster)["next"]], before)
    wait_in(cluster, "distribute", "web1")
    response = cluster.call("pki", "rotate", "--status").stdout
    assert "waiting for web1: it does not trust the next CA yet (silent" in response
    response = json.loads(cluster.call("pki", "rotate", "--status", "-o", "json").stdout)
    assert [wait["node"] for wait in response["rotation"]["waits"]] == ["web1"]
    cluster.call("pki", "rotate", "--without", "web1")
    wait_in(cluster, "issue", "s1")
    assert cluster.call("pki", "rotate", "--without", "s1", check=False).returncode == 5
    after = rotation(cluster)["next"]
    report(cluster, "web1", [before], before)
    report(cluster, "s1", [before, after], after)
    wait_in(cluster, "retire", "s1")
    report(cluster, "s1", [after], after)
    wait_in(cluster, "steady")
    listed = json.loads(cluster.call("pki", "list", "-o", "json").stdout)["nodes"]
    assert {node["name"]: node["state"] for node in listed} == {"s1": "good", "web1": "untrusted"}


def test_the_server_renews_its_own_certificates(cluster):
    """Two thirds of twelve seconds are soon over; existing connections stay open."""
    set_life(cluster, node_life_s=12, serving_life_s=12)
    server = cluster.start()
    cluster.call("pki", "renew", "--serving", "--server")
    first = {name: serial(cluster.state / f"server/{name}.pem") for name in ("node", "serving")}
    context = ssl.create_default_context(cadata=blocks(
        (cluster.state / "server/ca.pem").read_text())[0])
    context.set_alpn_protocols(["http/1.1"])
    with context.wrap_socket(socket.create_connection(("127.0.0.1", cluster.api_port)),
                             server_hostname="127.0.0.1") as standing:
        for name, before in first.items():
            wait_until(lambda: serial(cluster.state / f"server/{name}.pem") != before,
                       f"a new certificate in {name}.pem")
        standing.sendall(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b" 200 " in standing.recv(4096)
    ca = blocks((cluster.state / "server/ca.pem").read_text())
    for name in first:
        verify(ca, cluster.state / f"server/{name}.pem")
    # New connections get the new one.
    wait_until(lambda: serial(cluster.state / "server/serving.pem") == openssl(
        "x509", "-noout", "-serial", text=openssl(
            "s_client", "-connect", f"127.0.0.1:{cluster.api_port}", "-alpn", "http/1.1",
            text="")).split("=")[1], "the new certificate at the port")
    assert server.process.poll() is None


def test_a_certificate_is_issued_for_the_approved_name_only(cluster):
    cluster.start()
    out = cluster.folder / "web1.pem"
    cluster.call("pki", "issue", "web1", "--csr", request_of(cluster.folder, "web1"), "--out", out)
    text = openssl("x509", "-noout", "-text", text=blocks(out.read_text())[0])
    assert re.search(r"X509v3 Subject Alternative Name: ?(critical)?\s+URI:eden://blue/node/web1\n",
                     text)
    assert "somebody else" not in text
    verify(blocks(out.read_text())[1:], out)
    again = cluster.call("pki", "issue", "web1", "--csr", cluster.folder / "web1.csr", check=False)
    assert again.returncode == 5
    missing = cluster.call("pki", "issue", "web2", "--csr", cluster.folder / "none", check=False)
    assert "E0841" in missing.stderr
    assert [node["name"] for node in pki(cluster)["nodes"]] == ["s1", "web1"]


def connects(cluster, certificate, key):
    """Whether port 1337 accepts this certificate; with TLS 1.3 a client only learns that when it
    reads.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=blocks((cluster.state / "server/ca.pem").read_text())[0])
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    try:
        with context.wrap_socket(socket.create_connection(("127.0.0.1", cluster.rpc_port))) as peer:
            peer.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
            return peer.recv(9) != b""
    except (ssl.SSLError, ConnectionError):
        return False


@pytest.mark.parametrize("by", ["node", "serial", "remove"])
def test_a_revoked_node_is_disconnected(cluster, by):
    cluster.start()
    out = cluster.folder / "web1.pem"
    cluster.call("pki", "issue", "web1", "--csr", request_of(cluster.folder, "web1"), "--out", out)
    shown = cluster.folder / "shown.pem"
    shown.write_text(blocks(out.read_text())[0])
    assert connects(cluster, shown, cluster.folder / "web1.key")
    number = serial(out).strip().lower()
    if by == "remove":
        ask(cluster, "/v1/nodes/web1", "DELETE")
    else:
        cluster.call("pki", "revoke", "web1" if by == "node" else number)
        node = next(each for each in pki(cluster)["nodes"] if each["name"] == "web1")
        assert node["state"] == "revoked"
    wait_until(lambda: not connects(cluster, shown, cluster.folder / "web1.key"),
               "that it is refused")
    restart(cluster)
    assert not connects(cluster, shown, cluster.folder / "web1.key")


def test_the_list_is_a_table_or_json(cluster):
    cluster.start()
    table = cluster.call("pki", "list").stdout.splitlines()
    assert table[0].split() == ["KIND", "NAME", "STATE", "SERIAL", "ISSUER", "EXPIRES"]
    assert [line.split()[0] for line in table[1:]] == ["ca", "serving", "server", "node"]
    assert table[1].split()[2] == "signs"
    assert json.loads(cluster.call("pki", "list", "-o", "json").stdout)["format"] == "eden.pki/1"
    assert cluster.call("pki").stdout.splitlines() == table
    none = cluster.eden("pki", "list", "--run-dir", cluster.folder / "none", check=False)
    assert none.returncode == 3


# --- With agents ------------------------------------------------------------------------------------


class Agent:
    """The agent of a node, with a separate state directory; it starts no server."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.name = name
        self.state = cluster.folder / f"{name}-state"
        self.run = cluster.folder / f"{name}-run"
        self.daemon = None

    def start(self):
        self.daemon = self.cluster.daemon("agent", "--state-dir", self.state, "--run-dir",
                                          self.run, "--config-dir", self.state)
        self.daemon.wait_for_log("session established")
        return self

    def count(self, text):
        return sum(text in line for line in self.daemon.log)

    def verify(self):
        verify(blocks((self.state / "agent/ca.pem").read_text()), self.state / "agent/node.pem")

    def serial(self):
        return serial(self.state / "agent/node.pem")


def joined(cluster, name):
    agent = Agent(cluster, name)
    made = ask(cluster, "/v1/tokens", "POST", {"spec": {"uses": 1}})
    cluster.eden("join", "--server", f"127.0.0.1:{cluster.api_port}", "--token",
                 made["status"]["secret"], "--ca-pin", made["status"]["ca_pin"], "--name", name, "--max-wait", "20s", "--state-dir",
                 agent.state)
    return agent.start()


def own_agent(cluster):
    """The agent of the server's machine."""
    agent = Agent(cluster, "s1")
    shutil.copytree(cluster.state / "agent", agent.state / "agent")
    return agent.start()


def alive(cluster, *names):
    """Waits until exactly these nodes have a session."""
    wait_until(lambda: {node["name"] for node in pki(cluster)["nodes"] if node["alive"]}
               == set(names), f"sessions of {names}")


def test_the_ca_is_rotated_while_all_stay_connected(cluster):
    cluster.start()
    agents = [own_agent(cluster), joined(cluster, "web1"), joined(cluster, "web2")]
    before = rotation(cluster)["present"]
    serials = [agent.serial() for agent in agents]
    done = cluster.call("pki", "rotate", "--wait")
    assert "no rotation in progress" in done.stdout
    after = rotation(cluster)["present"]
    assert after != before
    for agent, first in zip(agents, serials):
        assert agent.count("session established") == 1
        assert agent.serial() != first
        assert len(blocks((agent.state / "agent/ca.pem").read_text())) == 1
        agent.verify()
    alive(cluster, "s1", "web1", "web2")
    assert {node["issuer"] for node in pki(cluster)["nodes"]} == {after}
    # And new connections are accepted with the new one.
    restart(cluster)
    for agent in agents:
        wait_until(lambda: agent.count("session established") == 2, "a second session")


def test_agents_survive_a_rotation_with_kills_in_every_state(cluster):
    cluster.start()
    agents = [own_agent(cluster), joined(cluster, "web1")]
    before = rotation(cluster)["present"]
    # It stays in every state of the rotation until we have seen enough of it.
    cluster.call("pki", "issue", "slow", "--csr", request_of(cluster.folder, "slow"))
    cluster.call("pki", "rotate")
    patient = cluster.daemon("pki", "rotate", "--status", "--wait", "--run-dir", cluster.run,
                             "--state-dir", cluster.state)
    restart(cluster)
    wait_in(cluster, "distribute", "slow")
    after = rotation(cluster)["next"]
    restart(cluster)
    report(cluster, "slow", [before, after], before)
    wait_in(cluster, "issue", "slow")
    for agent in agents:
        agent.verify()
    restart(cluster)
    wait_in(cluster, "issue", "slow")
    alive(cluster, "s1", "web1")
    agents.append(joined(cluster, "late"))
    report(cluster, "slow", [before, after], after)
    wait_in(cluster, "retire", "slow")
    restart(cluster)
    report(cluster, "slow", [after], after)
    wait_in(cluster, "steady")
    restart(cluster)
    alive(cluster, "s1", "web1", "late")
    for agent in agents:
        agent.verify()
        assert agent.daemon.process.poll() is None
    assert {node["issuer"] for node in pki(cluster)["nodes"]} == {after}
    # The agent that waited for it has seen the server come and go.
    assert patient.process.wait(timeout=daemons.LIMIT) == 0, patient.log
    assert after in patient.process.stdout.read()


def test_nodes_renew_themselves_and_their_sessions_stay_open(cluster):
    """Certificates of twelve seconds: the third outlives the first."""
    set_life(cluster, node_life_s=12)
    cluster.start()
    agent = joined(cluster, "web1")
    seen = {agent.serial()}

    def renewed():
        seen.add(agent.serial())
        return len(seen) == 3
    wait_until(renewed, "a third certificate")
    assert agent.count("session established") == 1
    alive(cluster, "web1")
    agent.verify()
    # One enrollment, and the record has the last certificate.
    assert len({each[:16] for each in seen}) == 1
    wait_until(lambda: next(node for node in pki(cluster)["nodes"] if node["name"] == "web1")
               ["serial"] == agent.serial().strip().lower(), "its number in the record")


def test_a_node_renews_immediately_on_request(cluster):
    cluster.start()
    agent = joined(cluster, "web1")
    before = agent.serial()
    done = cluster.eden("pki", "renew", "--run-dir", agent.run)
    assert "new certificate" in done.stdout
    assert agent.serial() != before
    assert agent.count("session established") == 1
    agent.daemon.stop()
    off = cluster.eden("pki", "renew", "--run-dir", agent.run, check=False)
    assert off.returncode == 3
    assert "E0840" in off.stderr


def test_revoking_ends_an_open_session(cluster):
    cluster.start()
    agents = [joined(cluster, "web1"), joined(cluster, "web2")]
    alive(cluster, "web1", "web2")
    cluster.call("pki", "revoke", "web1")
    agents[0].daemon.wait_for_log("no session")
    for text in ("node disconnected node=web1", "node rejected node=web1"):
        cluster.server.wait_for_log(text)
    assert [agent.count("session established") for agent in agents] == [1, 1]
    assert agents[1].count("no session") == 0


def test_a_node_stopped_past_its_certificates_life_is_locked_out(cluster):
    """Stopped for longer than the life of its certificate, it cannot renew any more; others can."""
    set_life(cluster, node_life_s=10)
    cluster.start()
    agent, other = joined(cluster, "web1"), joined(cluster, "web2")
    agent.daemon.process.send_signal(signal.SIGSTOP)
    try:
        text = blocks((agent.state / "agent/node.pem").read_text())[0]
        wait_until(lambda: subprocess.run(["openssl", "x509", "-noout", "-checkend", "0"],
                                          input=text, text=True, capture_output=True).returncode,
                   "the end of its certificate's life")
    finally:
        agent.daemon.process.send_signal(signal.SIGCONT)
    before = agent.serial()
    agent.daemon.wait_for_log("no session")
    assert next(node for node in pki(cluster)["nodes"] if node["name"] == "web1")["state"] \
        == "expired"
    assert not connects(cluster, *split(agent))
    assert agent.serial() == before
    assert other.count("session established") == 1


def split(agent):
    """Certificate and key of a node as separate files."""
    text = (agent.state / "agent/node.pem").read_text()
    shown, key = agent.state / "shown.crt", agent.state / "shown.key"
    shown.write_text(blocks(text)[0])
    key.write_text(blocks(text, "PRIVATE KEY")[0])
    return shown, key


def test_an_unreadable_record_is_one_row(cluster):
    if cluster.server is None:
        cluster.start()
    cluster_world.put(cluster, "/eden/nodes/broken", {"format": "eden.node/1", "name": 5})
    reply = json.loads(cluster.call("pki", "list", "-o", "json").stdout)
    rows = {row["name"]: row for row in reply["nodes"]}
    assert rows["broken"]["state"] == "unreadable" and "/eden/nodes/broken" in rows["broken"]["error"]
    assert rows["s1"]["state"] == "good"
    table = cluster.call("pki", "list").stdout
    assert any("broken" in line and "unreadable" in line for line in table.splitlines())
    assert "no rotation in progress" in cluster.call("pki", "rotate", "--status").stdout
    done = cluster.call("doctor", "-o", "json", check=False)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert "broken (unreadable)" in checks["certificates"]["text"]
    assert checks["rotation"]["state"] == "ok"
    # A rotation waits for it, since its state is unknown, until it is removed.
    cluster.call("pki", "rotate")
    wait_until(lambda: "broken" in cluster.call("pki", "rotate", "--status").stdout, "it is waited for")
    cluster.call("nodes", "remove", "broken", "--yes")
    wait_until(lambda: "broken" not in cluster.call("pki", "rotate", "--status").stdout, "it is not")
