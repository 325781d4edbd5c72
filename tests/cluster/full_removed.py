#!/usr/bin/python3
"""A server that starts on a full disk: it becomes the leader, deletes the data of removed nodes,
and its reserved space is not used up by others; see test_full_disk.py.

    full_removed.py BUILD FOLDER     in its own mount namespace
"""

import http.client
import os
import pathlib
import ssl
import subprocess
import sys
import time

from cluster_server import ClusterServer
from full_server import fill, get, put

LEFT = "/eden/status/configured/{}/web1"
LIMIT_S = 30


def wait_for(what, is_so):
    end = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def becomes_leader(server):
    return server.api("GET", "/readyz")[1].get("leader") == "s1"


def is_full(server):
    return "full" in [problem.get("condition") for problem in server.api("GET", "/readyz")[1]["problems"]]


def remove_node(server):
    assert server.api("DELETE", "/v1/nodes/web1")[0] == 200
    wait_for("what the node has left is deleted", lambda: get(server, "/eden/removed/web1") is None)
    assert get(server, LEFT.format(3)) is None


def keep_requesting(server, token):
    """Changes by a caller with few permissions, each of which is recorded; returns the statuses."""
    context = ssl.create_default_context(cafile=server.ca)
    connection = http.client.HTTPSConnection("localhost", server.api_port, context=context, timeout=60)
    statuses = []
    for number in range(3000):
        connection.request("DELETE", f"/v1/config/none-{number}",
                           headers={"Authorization": "Bearer " + token, "Eden-Reason": "x" * 400})
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()
    return statuses


def main(build, folder):
    disk = pathlib.Path(folder) / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    ballast = disk / "ballast"
    with ClusterServer(build, disk) as server:
        server.join("web1")
        rules = [{"verbs": ["delete"], "kinds": ["Config"]}]
        status, _ = server.api("POST", "/v1/roles", {"metadata": {"name": "small"},
                                                     "spec": {"rules": rules}})
        assert status == 201
        status, made = server.api("POST", "/v1/tokens",
                                  {"spec": {"purpose": "access", "roles": ["small"]}})
        assert status == 201
        for number in range(10):
            assert put(server, LEFT.format(number), "x" * 50000)[0] == 200
        fill(ballast)
        os.truncate(ballast, ballast.stat().st_size - (120 << 10))
        server.kill()
        server.start(ready=True)
        assert is_full(server)
        wait_for("it leads", lambda: becomes_leader(server))
        remove_node(server)
        fill(ballast)
        statuses = keep_requesting(server, made["status"]["secret"])
        assert set(statuses) == {404, 429} and statuses.count(404) <= 60, statuses
        # An authorized caller can still revoke.
        token = made["metadata"]["name"]
        assert server.api("DELETE", f"/v1/tokens/{token}")[0] == 200
        assert server.stop() == 0


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
