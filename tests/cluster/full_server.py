#!/usr/bin/python3
"""A server whose disk becomes full and gets room again; see test_full_disk.py.

    full_server.py BUILD FOLDER     in a mount namespace of its own
"""

import os
import pathlib
import subprocess
import sys

from cluster_server import ClusterServer

ROUNDS = 3


def fill(path):
    """Takes all room on the disk."""
    with open(path, "ab", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass


def put(server, key, value):
    return server.api("PUT", f"/v1/store?key={key}", {"value": value})


def get(server, key):
    status, answer = server.api("GET", f"/v1/store?key={key}")
    return answer["value"] if status == 200 else None


def check_full(server, kept):
    """Writes are refused with the reason; everything else goes on."""
    refused = 0
    for number in range(20):
        key = f"/full/{len(kept)}"
        status, answer = put(server, key, "y" * 50000)
        if status == 200:
            kept[key] = "y" * 50000  # there was a little room left
            continue
        assert status == 503, (status, answer)
        assert "the disk is full" in str(answer), answer
        assert get(server, key) is None
        refused += 1
    assert refused > 10
    for key, value in kept.items():
        assert get(server, key) == value, key
    assert server.api("GET", "/v1/nodes")[0] == 200
    status, health = server.api("GET", "/v1/health")
    assert status == 503 and not health["healthy"], health
    # Others learn that it cannot be written, operators also why.
    status, alive = server.ask("/healthz")
    assert status == 200 and alive["alive"] and not alive["writable"], alive
    assert "disk" not in str(alive)
    assert "disk is full" in server.api("GET", "/healthz")[1]["why"]
    status, ready = server.ask("/readyz")
    assert status == 503 and not ready["ready"], ready
    assert ready["problems"] == [{"what": "store", "why": "it cannot be written"}]
    assert "disk is full" in str(server.api("GET", "/readyz")[1]["problems"])


def wait_until_ready(server):
    """It finds out by itself that there is room again, although nobody writes."""
    while server.ask("/readyz")[0] != 200:
        pass
    status, alive = server.ask("/healthz")
    assert status == 200 and alive["writable"], alive


def main(build, folder):
    disk = pathlib.Path(folder) / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    kept = {}
    with ClusterServer(build, disk) as server:
        for number in range(ROUNDS):
            for _ in range(20):
                key = f"/full/{len(kept)}"
                assert put(server, key, "x")[0] == 200
                kept[key] = "x"
            fill(disk / "ballast")
            check_full(server, kept)
            os.unlink(disk / "ballast")
            if number == 0:
                wait_until_ready(server)
            # Without a restart.
            assert put(server, "/full/again", "z")[0] == 200
            kept["/full/again"] = "z"
            assert server.api("GET", "/v1/health")[0] == 200
        assert server.stop() == 0
        server.start(ready=True)
        for key, value in kept.items():
            assert get(server, key) == value, key


main(pathlib.Path(sys.argv[1]), sys.argv[2])
