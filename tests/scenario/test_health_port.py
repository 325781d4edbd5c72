"""The port for health checks: without TLS, disabled by default, and nothing but /healthz and
/readyz.
"""

import json
import socket
import subprocess

import pytest
from ports import free_port
from test_access import listening_ports, routes


def settings_of(cluster):
    return cluster.state / "server/server.json"


def set_health(cluster, address):
    path = settings_of(cluster)
    path.write_text(json.dumps({**json.loads(path.read_text()), "health": address}))


def curl(port, path, *words, host="127.0.0.1"):
    """(status, body) for curl, which knows nothing about eden."""
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--path-as-is", "--max-time", "30", "--write-out",
         "\n%{http_code}", *words, f"http://{host}:{port}{path}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


@pytest.fixture
def healthy(cluster):
    """A cluster whose server answers health checks, and the address."""
    port = free_port()
    set_health(cluster, f"127.0.0.1:{port}")
    cluster.start()
    return cluster, port


def test_it_is_disabled_by_default(cluster):
    server = cluster.start()
    assert "health" not in json.loads(settings_of(cluster).read_text())
    assert listening_ports(server.process) == {cluster.rpc_port, cluster.api_port}


def test_health_is_served_without_tls(healthy):
    cluster, port = healthy
    assert listening_ports(cluster.server.process) == {cluster.rpc_port, cluster.api_port, port}
    status, body = curl(port, "/healthz")
    assert (status, json.loads(body)) == (
        200, {"format": "eden.alive/1", "alive": True, "writable": True})
    status, body = curl(port, "/readyz")
    assert (status, json.loads(body)) == (
        200, {"format": "eden.ready/1", "ready": True, "problems": []})
    assert curl(port, "/healthz", host="localhost")[0] == 200
    assert curl(port, "/healthz", "--http1.0", "-H", "Host:")[0] == 200
    assert curl(port, "/readyz", "--head")[0] == 200
    response = cluster.call("api", "GET", "/metrics").stdout
    assert 'eden_connections_accepted_total{listener="health"}' in response


def test_api_endpoints_are_not_served(healthy, eden_path):
    _, port = healthy
    for method, address, _ in routes(eden_path):
        words = ["--head"] if method == "HEAD" else ["-X", method]
        status, body = curl(port, address, *words)
        is_health = address in ("/healthz", "/readyz")
        assert status == (200 if is_health else 404), (method, address, body)
    for path in ("/", "/docs/", "/v1/../healthz", "//healthz", "/healthz/", "/%2e/healthz"):
        assert curl(port, path)[0] == 404, path


def test_credentials_and_other_names_are_rejected(healthy):
    """Also valid ones: credentials must never be sent in the clear."""
    cluster, port = healthy
    token = cluster.call("tokens", "create", "--role", "admin", "-o", "json").stdout
    secret = json.loads(token)["status"]["secret"]
    for field in (f"Authorization: Bearer {secret}", "Cookie: __Host-eden=x"):
        for path in ("/healthz", "/v1/nodes"):
            status, body = curl(port, path, "-H", field)
            assert status == 400 and "credentials are not accepted" in body and secret not in body
    for name in ("evil.example.org", "10.1.2.3", "[::1]"):
        assert curl(port, "/healthz", "-H", f"Host: {name}")[0] == 421
    for method in ("POST", "PUT", "DELETE"):
        assert curl(port, "/healthz", "-X", method)[0] == 405
    assert curl(port, "/healthz", "-d", "x")[0] == 413


def test_a_draining_server_reports_it_there(cluster):
    port = free_port()
    set_health(cluster, f"127.0.0.1:{port}")
    server = cluster.start("--drain", "1m")
    server.process.terminate()
    server.wait_for_log("shutting down")
    status, body = curl(port, "/readyz")
    assert (status, json.loads(body)["problems"]) == (503, [{"what": "server", "why": "stopping"}])
    assert curl(port, "/healthz")[0] == 200
    server.process.terminate()
    assert server.process.wait(60) == 0


@pytest.mark.parametrize("address", ["8080", ":8080", "*:8080", "127.0.0.1", "0.0.0.0",
                                     "localhost:8080", "/run/eden/health.sock"])
def test_an_address_must_be_complete(cluster, address, eden_path, tmp_path):
    """An omitted part never means all addresses of the machine."""
    why = f"'{address}' is not an IP address with a port (example: 127.0.0.1:8080)"
    set_health(cluster, address)
    done = cluster.eden("serve", "--state-dir", cluster.state, "--run-dir", cluster.run,
                        check=False)
    assert done.returncode != 0 and "'health'" in done.stderr and why in done.stderr
    done = subprocess.run([eden_path, "init", "--user", "root", "--health", address, "--state-dir",
                           tmp_path / "new"], capture_output=True, text=True)
    assert done.returncode != 0 and "--health" in done.stderr and why in done.stderr


def test_init_configures_it_and_doctor_checks_it(eden_path, tmp_path, cluster):
    port = free_port()
    done = subprocess.run(
        [eden_path, "init", "--user", "root", "--health", f"127.0.0.1:{port}", "-o", "json",
         "--state-dir", tmp_path / "new"], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["health"] == f"127.0.0.1:{port}"
    assert json.loads((tmp_path / "new/server/server.json").read_text())["health"] == \
        f"127.0.0.1:{port}"
    # The operator should know about a port that every machine can reach.
    set_health(cluster, f"0.0.0.0:{port}")
    cluster.start()
    response = cluster.eden("doctor", "-o", "json", "--state-dir", cluster.state, "--run-dir",
                            cluster.run, check=False).stdout
    ports = next(one for one in json.loads(response)["checks"] if one["name"] == "ports")
    assert ports["state"] == "warning" and "without TLS on all addresses" in ports["text"]
    assert curl(port, "/healthz")[0] == 200


def test_a_port_in_use_is_named(cluster):
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        address = f"127.0.0.1:{occupied.getsockname()[1]}"
        set_health(cluster, address)
        done = cluster.eden("serve", "--state-dir", cluster.state, "--run-dir", cluster.run,
                            check=False)
    assert done.returncode != 0
    assert "'health' of server.json" in done.stderr and address in done.stderr
