"""Third-party HTTP/2 clients: curl, and Node.js."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(name="curl")
def make_curl(start_http):
    server = start_http(body_max=1 << 20)
    assert shutil.which("curl"), "curl is not installed; see tools/install-packages"

    def run(path, *args):
        """(version and status, body)"""
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--max-time", "30", "--cacert",
             server.certificates.path("ca.pem"), "--write-out", "%{stderr}%{http_version} %{http_code}",
             *args, f"https://localhost:{server.port}{path}"], capture_output=True)
        return done.returncode, done.stderr.decode().strip(), done.stdout

    return run


def test_curl_gets_and_posts(curl):
    assert curl("/echo?x", "--http2")[2].startswith(b"GET /echo?x\n")
    code, about, _ = curl("/echo", "--http2")
    assert (code, about) == (0, "2 200")
    assert curl("/echo")[1] == "2 200"  # as negotiated
    assert curl("/echo", "--http1.1")[1] == "1.1 200"
    assert curl("/echo", "--no-alpn")[1] == "1.1 200"
    assert curl("/nope", "--http2")[1] == "2 404"
    assert curl("/echo", "--http2", "--head")[1] == "2 200"


def test_curl_sends_large_bodies(curl, tmp_path):
    body = os.urandom(1 << 20)
    (tmp_path / "body").write_bytes(body)
    send = ("--http2", "--data-binary", f"@{tmp_path}/body")
    code, about, came = curl("/echo", *send)
    assert (code, about) == (0, "2 200")
    assert came.endswith(b"\n\n" + body)
    assert curl("/echo", *send, "-H", "Expect: 100-continue")[1] == "2 200"
    (tmp_path / "body").write_bytes(body + b"x")
    assert curl("/echo", *send)[1] == "2 413"


def test_curl_receives_streamed_responses(curl):
    code, about, came = curl("/pieces?5000000", "--http2")
    assert (code, about, len(came)) == (0, "2 200", 5000000)
    assert curl("/broken", "--http2")[0] == 92  # an error on the stream


def test_node_has_many_requests_on_one_connection(start_http):
    server = start_http(body_max=1 << 20)
    assert shutil.which("node"), "node is not installed; see tools/install-packages"
    task = {"target": f"https://localhost:{server.port}",
            "ca": server.certificates.path("ca.pem")}
    done = subprocess.run(["node", str(HERE / "http2_client.js"), json.dumps(task)],
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    response = json.loads(done.stdout)
    assert response["gets"] == [200] * 80
    assert response["posts"] == [[200, 300000]] * 10
    assert response["pieces"] == [200, 2000000]
    assert response["head"] == [200, 0]
    assert response["canceled"] is True
    assert response["broken"] == "NGHTTP2_INTERNAL_ERROR"
    assert response["goaway"] is False
    server.wait_for(gone=1, standing=0)
