"""What a cluster has in it for tests and examples: nodes, machines that ask, tokens, as records of
its store."""

import json
import subprocess

NODE_KEY = "sha256:" + "9a" * 32
WAITING_KEY = "sha256:3f2a77c0" + "55" * 28


def put(cluster, key, value):
    subprocess.run([cluster.eden_path, "put", key, "-", "--run-dir", cluster.run],
                   input=json.dumps(value, separators=(",", ":")), text=True, check=True,
                   capture_output=True)


def get(cluster, key):
    return json.loads(cluster.call("get", key).stdout)


def fill(cluster):
    """Two nodes, of which web2 is silent and bare, two machines that ask, one token, one
    key of nobody. It runs."""
    own = get(cluster, "/eden/nodes/s1")
    for number, name in enumerate(("web1", "web2")):
        put(cluster, f"/eden/nodes/{name}",
            {**own, "name": name, "key": NODE_KEY, "enrolment": f"{number + 1:016x}",
             "server": False})
    put(cluster, "/eden/nodes/web2/silent",
        {"format": "eden.silent/1", "since_ms": 1800000000000})
    put(cluster, "/eden/facts/web1", {"os": "Debian", "kernel": "6.1.0", "memory": {"total": 1024}})
    for name, key in (("db1", WAITING_KEY), ("db2", "sha256:" + "77" * 32)):
        put(cluster, f"/eden/objects/joining/{name}",
            {"format": "eden.joining/1", "name": name, "key": key, "approved": False,
             "address": "10.0.0.2:4242", "asked_ms": 1800000000000})
    token = json.loads(cluster.call("tokens", "create", "-o", "json").stdout)["id"]
    put(cluster, "/eden/objects/token/4l2ygazs",
        {**get(cluster, f"/eden/objects/token/{token}"), "id": "4l2ygazs"})
    cluster.call("tokens", "revoke", token)
    put(cluster, "/test/greeting", "hello")
