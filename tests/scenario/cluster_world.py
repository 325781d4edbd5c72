"""The contents of a cluster for tests and examples: nodes, pending machines, tokens, as records of
its store."""

import http.client
import json
import shlex
import socket
import sqlite3
import subprocess
import threading

from events import wait_until

NODE_KEY = "sha256:" + "9a" * 32
WAITING_KEY = "sha256:3f2a77c09e5b1d24" + "55" * 24


def put(cluster, key, value):
    subprocess.run([cluster.eden_path, "put", key, "-", "--force", "--run-dir", cluster.run],
                   input=json.dumps(value, separators=(",", ":")), text=True, check=True,
                   capture_output=True)


def get(cluster, key):
    return json.loads(cluster.call("get", key).stdout)


def rewrite(cluster, key, value, new_key=None):
    """Changes the value of a record, and optionally its key, in the store's database file: for
    records that the API guards. This creates no revision and notifies no watch, and the server
    restarts."""
    cluster.server.stop()
    database = sqlite3.connect(cluster.state / "server/store/store.db", timeout=30)
    with database:
        row = (key.encode(),)
        new = ((new_key or key).encode(),)
        text = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
        database.execute("UPDATE changes SET value = ? WHERE id = (SELECT id FROM keys WHERE key = ?)",
                         (text, *row))
        database.execute("UPDATE changes SET key = ? WHERE key = ?", new + row)
        database.execute("UPDATE keys SET key = ? WHERE key = ?", new + row)
    database.close()
    cluster.start()


def plant(cluster, key, value):
    """A record at a key that the API guards."""
    put(cluster, "/test/planted", value)
    rewrite(cluster, "/test/planted", value, new_key=key)


def fill(cluster):
    """Two nodes, of which web2 is silent and without facts, two pending machines, one token, one
    unknown key. It runs."""
    own = get(cluster, "/eden/nodes/s1")
    for number, name in enumerate(("web1", "web2")):
        put(cluster, f"/eden/nodes/{name}",
            {**own, "name": name, "key": NODE_KEY, "enrolment": f"{number + 1:016x}",
             "serial": f"{number + 1:016x}{0:016x}", "server": False,
             "labels": {"role": "web"} if name == "web2" else {}})
    put(cluster, "/eden/nodes/web2/silent",
        {"format": "eden.silent/1", "since_ms": 1800000000000})
    put(cluster, "/eden/facts/web1", {"os": "Debian", "kernel": "6.1.0", "memory": {"total": 1024}})
    for name, key in (("db1", WAITING_KEY), ("db2", "sha256:" + "77" * 32)):
        plant(cluster, f"/eden/internal/joining/{name}",
              {"format": "eden.joining/2", "name": name,
               "machines": [{"key": key, "approved": False, "address": "10.0.0.2:4242",
                             "asked_ms": 1800000000000, "until_ms": 9000000000000}]})
    made = json.loads(cluster.call("tokens", "create", "-o", "json").stdout)
    token = made["metadata"]["name"]
    rewrite(cluster, f"/eden/internal/token/{token}",
            {**get(cluster, f"/eden/internal/token/{token}"), "id": "4l2ygazs"},
            new_key="/eden/internal/token/4l2ygazs")
    put(cluster, "/test/greeting", "hello")


def is_alive(cluster, name):
    return cluster.call("get", f"/eden/nodes/{name}/alive", check=False).returncode == 0


def join(cluster, name):
    """A node with an agent, which has joined with the command that a server prints; returns the
    agent.
    """
    variable, eden, *line = shlex.split(cluster.call("tokens", "create").stdout)
    state = cluster.folder / name / "state"
    assert eden == "eden"
    cluster.eden(*line, "--name", name, "--state-dir", state,
                 env=dict([variable.split("=", 1)]))
    agent = cluster.daemon("agent", "--state-dir", state, "--run-dir", cluster.folder / name / "run",
                           "--config-dir", cluster.folder / name / "etc")
    wait_until(lambda: is_alive(cluster, name), f"{name} is alive")
    return agent


class LocalConnection(http.client.HTTPConnection):
    """A connection to the server's socket, for tests with more requests than one process each would
    allow.
    """

    def __init__(self, cluster):
        super().__init__("eden")
        self.path = str(cluster.run / "server/api.sock")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def put(self, key, value):
        self.request("PUT", f"/v1/store?key={key}", json.dumps({"value": json.dumps(value)}),
                     {"Content-Type": "application/json"})
        response = self.getresponse()
        text = response.read()
        assert response.status == 200, text


def add_nodes(cluster, count, at_once=32):
    """node-00000 and so on."""
    own = get(cluster, "/eden/nodes/s1")
    failures = []

    def work(first):
        try:
            connection = LocalConnection(cluster)
            for number in range(first, count, at_once):
                name = f"node-{number:05}"
                connection.put(f"/eden/nodes/{name}",
                               {**own, "name": name, "enrolment": f"{number + 1:016x}",
                                "serial": f"{number + 1:016x}{0:016x}",
                                "server": False, "labels": {"rack": str(number % 40)}})
            connection.close()
        except Exception as failure:  # exceptions in a thread have no caller
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
