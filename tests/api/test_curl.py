"""What people do with the API, by curl: on the Unix socket, and from outside."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("EDEN_BUILD", ROOT / "build"))


class Server:
    def __init__(self, folder):
        self.socket = str(folder / "api.sock")
        certificate, key = str(folder / "cert.pem"), str(folder / "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        self.process = subprocess.Popen(
            [str(BUILD / "tests" / "api" / "api_server"), self.socket, certificate, key],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("port "), line
        self.port = int(line.split()[1])

    def curl(self, *args):
        """(status, JSON of the answer)"""
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--path-as-is", "--max-time", "30",
             "--write-out", "%{http_code}", *args], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return int(done.stdout[-3:]), json.loads(done.stdout[:-3])

    def local(self, path, *args):
        return self.curl("--unix-socket", self.socket, *args, "http://localhost" + path)

    def outside(self, path, *args):
        return self.curl("--insecure", *args, f"https://127.0.0.1:{self.port}{path}")

    def stop(self):
        """Ends in order, or the test fails."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=30) == 0


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    server.stop()


def test_a_token_lives_its_life(server):
    status, made = server.local("/v1/tokens", "--json", '{"label": "rack 7", "uses": 3}')
    assert status == 201
    assert made["token"].startswith(made["id"] + ".")
    status, listed = server.local("/v1/tokens")
    assert status == 200
    assert [token["label"] for token in listed["tokens"]] == ["rack 7"]
    assert "token" not in listed["tokens"][0]
    assert server.local(f"/v1/tokens/{made['id']}", "-X", "DELETE")[0] == 200
    assert server.local("/v1/tokens")[1] == {"format": "eden.tokens/1", "tokens": []}


def test_keys_can_be_looked_at(server):
    assert server.local("/v1/store?key=/a", "-X", "PUT", "--json", '{"value": "b"}')[0] == 200
    status, shown = server.local("/v1/store?key=/a")
    assert (status, shown["value"], shown["version"]) == (200, "b", 1)
    status, error = server.local("/v1/store?key=/b")
    assert (status, error["code"]) == (404, "not-found")


def test_outside_there_is_health_and_joining_only(server):
    status, health = server.outside("/v1/health")
    assert (status, health["healthy"]) == (200, True)
    for path in ("/v1/tokens", "/v1/nodes", "/v1/store?key=/a", "/v1/nodes/web1", "/v1/nope"):
        status, error = server.outside(path)
        assert (status, error["code"]) == (401, "unauthenticated"), path
    status, error = server.outside("/v1/join", "--json", "{}")
    assert (status, error["code"]) == (503, "unavailable")


def test_addresses_have_one_spelling(server):
    for path in ("/v1/nodes/../health", "/v1//health", "/v1/health/", "/v1/nodes/%2e%2e"):
        status, error = server.outside(path)
        assert (status, error["format"]) == (400, "eden.error/1"), path
