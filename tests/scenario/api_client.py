"""Requests to a server over its Unix socket, and reading the output of processes."""

import http.client
import json
import os
import select
import socket
import subprocess
import urllib.parse

import daemons


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=daemons.LIMIT)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(daemons.LIMIT)
        self.sock.connect(self.path)


def call(cluster, method, target, body=None):
    """Status and JSON of the response."""
    connection = UnixConnection(cluster.run / "server/api.sock")
    headers = {} if body is None else {"Content-Type": "application/json"}
    text = None if body is None else json.dumps(body)
    try:
        connection.request(method, target, text, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def put(cluster, key, value):
    """Returns the revision."""
    status, response = call(cluster, "PUT", "/v1/store?key=" + urllib.parse.quote(key, safe=""),
                           {"value": value})
    assert status == 200, response
    return response["revision"]


def get(cluster, key):
    status, response = call(cluster, "GET", "/v1/store?key=" + urllib.parse.quote(key, safe=""))
    return response["value"] if status == 200 else None


def start(cluster, *args):
    """A command that connects to the server and keeps running."""
    return subprocess.Popen(
        [cluster.eden_path, *map(str, args), "--run-dir", cluster.run, "--state-dir",
         cluster.state], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=cluster.folder, env=daemons.environment())


def next_line(stream):
    """The next line that a process prints; no other reader may use its output."""
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([stream], [], [], daemons.LIMIT)[0], f"nothing came behind {line}"
        byte = os.read(stream.fileno(), 1)
        assert byte, f"it has ended behind {line}"
        line += byte
    return line.decode()
