"""What a server gives to which clients, and what is visible from outside. Tests are named after
what they show: docs/security.md refers to them."""

import http.client
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import tempfile
import threading

import machines
import daemons
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OTHER_USER = 65534
# Open to anyone who has the secret of the source, whatever other credentials they have.
SIGNED = "/v1/sources/x1/webhook"


def routes(eden_path):
    """(method, path, whether it is public) of every endpoint."""
    response = subprocess.run([eden_path, "schema", "openapi"], check=True, capture_output=True)
    found = []
    for path, methods in json.loads(response.stdout)["paths"].items():
        for method, row in methods.items():
            query = [one["name"] for one in row["parameters"]
                     if one["in"] == "query" and one["required"]]
            found.append((method.upper(), re.sub(r"{\w+}", "x1", path) +
                          (f"?{query[0]}=%2Fx" if query else ""), row.get("security") == []))
    assert len(found) > 30
    return found


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket, opened as some user: the kernel tells the server who connects."""

    def __init__(self, path, user=None):
        super().__init__("eden", timeout=daemons.LIMIT)
        self.path = str(path)
        self.user = user

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(daemons.LIMIT)
        if self.user is None:
            self.sock.connect(self.path)
            return
        groups = os.getgroups()
        os.setgroups([])
        os.setegid(self.user)
        os.seteuid(self.user)
        try:
            self.sock.connect(self.path)
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)


def status_of(connection, method, address):
    """Waits only for the head of the response: some responses do not end for a long time."""
    body = "{}" if method in ("POST", "PUT", "PATCH") else None
    connection.request(method, address, body,
                       {"content-type": "application/json"} if body else {})
    status = connection.getresponse().status
    connection.close()
    return status


def tls_connection(cluster):
    # An unauthenticated client does not check the server's certificate.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return http.client.HTTPSConnection("127.0.0.1", cluster.api_port, context=context,
                                       timeout=daemons.LIMIT)


def test_every_route_requires_authentication_over_tls(cluster, eden_path):
    cluster.start()
    for method, address, is_public in routes(eden_path):
        status = status_of(tls_connection(cluster), method, address)
        is_open = is_public and address != "/v1/session"
        assert status == 403 or address != SIGNED
        assert (status != 401) if is_open else (status in (400, 401)), (method, address, status)


@pytest.fixture
def reachable(eden_path):
    """A cluster that other users can reach as far as file modes permit."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o711)
        cluster = daemons.Cluster(eden_path, pathlib.Path(path))
        yield cluster
        cluster.close()


def test_every_route_is_closed_to_other_users_of_the_machine(reachable, eden_path):
    if os.geteuid() != 0:
        pytest.fail("only root can connect as another user")
    reachable.start()
    path = reachable.run / "server/api.sock"
    with pytest.raises(PermissionError):
        UnixConnection(path, OTHER_USER).connect()
    # And if file modes do not keep them out:
    for folder in (path, path.parent, path.parent.parent, reachable.folder / "s1"):
        folder.chmod(0o777)
    for method, address, is_public in routes(eden_path):
        status = status_of(UnixConnection(path, OTHER_USER), method, address)
        is_open = is_public and address != SIGNED
        assert (status != 403) if is_open else (status == 403), (method, address, status)


def test_every_route_is_open_to_operators(cluster, eden_path):
    cluster.start()
    for method, address, _ in routes(eden_path):
        status = status_of(UnixConnection(cluster.run / "server/api.sock"), method, address)
        assert (status == 403) == (address == SIGNED), (method, address, status)


def agent_addresses():
    text = (ROOT / "src/agent/local_api.c").read_text(encoding="ascii")
    rows = re.findall(r'^    \{ "(\w+)", "(/v1/[^"]+)", \w+ \},', text, re.M)
    assert len(rows) >= 3
    return rows


def test_every_path_of_the_agent_is_closed_to_other_users_of_the_machine(reachable):
    if os.geteuid() != 0:
        pytest.fail("only root can connect as another user")
    run = reachable.folder / "agent-run"
    agent = reachable.daemon("agent", "--state-dir", reachable.folder / "agent", "--run-dir", run)
    agent.wait_ready()
    path = run / "agent.sock"
    with pytest.raises(PermissionError):
        UnixConnection(path, OTHER_USER).connect()
    for folder in (path, run):
        folder.chmod(0o777)
    for method, address in agent_addresses():
        assert status_of(UnixConnection(path, OTHER_USER), method, address) == 403, address
    assert status_of(UnixConnection(path), "GET", "/v1/agent") == 200


# --- Network traffic ------------------------------------------------------------------------------

class Recorder:
    """A proxy between a client and a port that records both directions."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sent, self.received = [], []  # a connection each: from the client, from the server
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            up, down = bytearray(), bytearray()
            self.sent.append(up)
            self.received.append(down)
            threading.Thread(target=self._pass, args=(client, server, up), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, down), daemon=True).start()

    @staticmethod
    def _pass(source, to, kept):
        try:
            while chunk := source.recv(65536):
                kept += chunk
                to.sendall(chunk)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


def make_token(cluster):
    connection = UnixConnection(cluster.run / "server/api.sock")
    connection.request("POST", "/v1/tokens", "{}", {"content-type": "application/json"})
    return json.loads(connection.getresponse().read())["status"]["secret"]


@pytest.fixture
def recorded_join(cluster):
    """A join with a token through an eavesdropping proxy."""
    cluster.start()
    recorder = Recorder(cluster.api_port)
    token = make_token(cluster)
    cluster.eden("join", "--server", f"127.0.0.1:{recorder.port}", "--token", token, "--ca-pin",
                 cluster.init_output["ca_pin"], "--name", "canary-node", "--state-dir",
                 cluster.folder / "joiner")
    yield recorder, token
    recorder.close()


def test_a_join_sends_nothing_in_plain_text(cluster, recorded_join):
    recorder, token = recorded_join
    seen = b"".join(bytes(part) for part in recorder.sent + recorder.received)
    assert len(seen) > 2000
    secrets = [token, token.split(".")[0], token.split(".")[1], "canary-node", "eden.join", "POST",
               "CERTIFICATE", "HTTP/1.1", cluster.init_output["ca_pin"][7:]]
    for secret in secrets:
        assert secret.encode() not in seen, secret


def test_a_replayed_join_has_no_effect(cluster, recorded_join):
    recorder, _ = recorded_join
    socket_path = cluster.run / "server/api.sock"
    removed = UnixConnection(socket_path)
    removed.request("DELETE", "/v1/nodes/canary-node")
    assert removed.getresponse().status == 200
    for part in recorder.sent:
        with socket.create_connection(("127.0.0.1", cluster.api_port)) as again:
            again.settimeout(daemons.LIMIT)
            again.sendall(bytes(part))
            again.shutdown(socket.SHUT_WR)
            while again.recv(65536):  # a hello, and a failed handshake
                pass
    assert status_of(UnixConnection(socket_path), "GET", "/v1/nodes/canary-node") == 404


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
PING = bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + b"are you?"
PONG = bytes([0, 0, 8, 6, 1, 0, 0, 0, 0]) + b"are you?"


def connect_as(cluster, certificate):
    """A connection to the node port that the server has answered."""
    context = ssl.create_default_context(cafile=cluster.state / "server/ca.pem")
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(certificate)
    plain = socket.create_connection(("127.0.0.1", cluster.rpc_port), timeout=daemons.LIMIT)
    connection = context.wrap_socket(plain)
    connection.sendall(PREFACE)
    assert is_answered(connection)
    return connection


def is_answered(connection):
    """Whether the server answers on it; if not, the server has closed it."""
    seen = b""
    try:
        connection.sendall(PING)
        while PONG not in seen:
            chunk = connection.recv(4096)
            if chunk == b"":
                return False
            seen += chunk
    except (ConnectionError, ssl.SSLError):
        return False
    return True


def test_a_node_cannot_use_up_all_connections(cluster):
    cluster.start()
    web1, web2 = machines.Machine(cluster, "web1"), machines.Machine(cluster, "web2")
    for machine in (web1, web2):
        machine.join_with_token()
    web2.start()
    web2.wait_live()
    mine = [connect_as(cluster, web1.state / "agent/node.pem") for _ in range(40)]
    assert [is_answered(each) for each in mine] == [False] * 8 + [True] * 32
    web1.start()  # its agent succeeds nevertheless
    web1.wait_live()
    web2.wait_live()
    for each in mine:
        each.close()


def listening_ports(process):
    """Every TCP port that the process listens on, according to the kernel."""
    inodes = set()
    for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        target = os.readlink(entry)
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{process.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                ports.add(int(fields[1].rsplit(":", 1)[1], 16))
    return ports


def test_no_port_answers_in_plain_text(cluster):
    server = cluster.start()
    ports = listening_ports(server.process)
    assert ports == {cluster.rpc_port, cluster.api_port}
    for port in ports:
        for first in (b"GET /v1/health HTTP/1.1\r\nHost: eden\r\n\r\n",
                      b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", b"\n\n\n\n"):
            with socket.create_connection(("127.0.0.1", port)) as plain:
                plain.settimeout(daemons.LIMIT)
                plain.sendall(first)
                plain.shutdown(socket.SHUT_WR)
                reply = b""
                try:
                    while chunk := plain.recv(65536):
                        reply += chunk
                except ConnectionResetError:
                    pass
            # At most a TLS alert: its type, its version, two bytes.
            assert len(reply) <= 7 and reply[:1] in (b"", b"\x15"), reply


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1", "-tls1_2"])
def test_older_versions_of_tls_are_rejected(cluster, version):
    cluster.start()
    for port in (cluster.rpc_port, cluster.api_port):
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", version, "-cipher",
             "DEFAULT:@SECLEVEL=0"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=daemons.LIMIT)
        assert done.returncode != 0
        assert "alert protocol version" in done.stderr or "no protocols" in done.stderr, done.stderr
