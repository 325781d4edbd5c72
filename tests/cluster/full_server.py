#!/usr/bin/python3
"""A server whose disk becomes full and gets free space again; see test_full_disk.py.

    full_server.py BUILD FOLDER     in its own mount namespace
"""

import os
import pathlib
import subprocess
import sys
import time

from cluster_server import ClusterServer

ROUNDS = 3
ROOMS = 24


def fill(path):
    """Uses up all space on the disk."""
    with open(path, "ab", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass


def put(server, key, value):
    return server.api("PUT", f"/v1/store?key={key}", {"value": value})


def get(server, key):
    status, response = server.api("GET", f"/v1/store?key={key}")
    return response["value"] if status == 200 else None


def check_full(server, kept):
    """Writes are rejected with the reason; everything else continues."""
    refused = 0
    while refused <= 10:
        key = f"/full/{len(kept)}"
        assert len(kept) < 400, "the disk is full, and takes more and more"
        status, response = put(server, key, "y" * 50000)
        if status == 200:
            kept[key] = "y" * 50000  # there was little space left
            continue
        assert status == 503, (status, response)
        assert "the disk is full" in str(response), response
        assert get(server, key) is None
        refused += 1
    for key, value in kept.items():
        assert get(server, key) == value, key
    assert server.api("GET", "/v1/nodes")[0] == 200
    status, health = server.api("GET", "/v1/health")
    assert status == 503 and not health["healthy"], health
    # Unauthenticated clients see that it is not writable, operators also see why.
    status, alive = server.ask("/healthz")
    assert status == 200 and alive["alive"] and not alive["writable"], alive
    assert "disk" not in str(alive)
    assert "disk is full" in server.api("GET", "/healthz")[1]["why"]
    status, ready = server.ask("/readyz")
    assert status == 503 and not ready["ready"], ready
    assert [problem["what"] for problem in ready["problems"]] == ["store"]
    assert ready["problems"][0]["condition"] in ("full", "unwritable"), ready
    assert "disk" not in ready["problems"][0]["why"]
    assert "disk is full" in str(server.api("GET", "/readyz")[1]["problems"])


def restart_while_full(server, ballast):
    """Starting needs space, which the server has reserved."""
    for end in (server.stop, server.kill):
        end()
        fill(ballast)  # including the space reserved for that
        server.start(ready=True)
        fill(ballast)


def back_up_while_full(server, path):
    """It needs no space there, only at the destination."""
    server.call("backup", "create", path, "--run-dir", server.runs)
    assert "keys" in server.call("backup", "verify", path)


def delete(server, key):
    return server.api("DELETE", f"/v1/store?key={key}")


def empty_while_full(server, large):
    """Space was reserved for deletes; what they free is reused although the disk stays full."""
    status, response = put(server, "/full/refused", "x")
    assert status == 503 and "only deletes are accepted" in str(response), response
    for key in large:
        status, response = delete(server, key)
        assert status == 200, (key, response)
    assert server.api("DELETE", "/v1/roles/none")[0] == 404  # requests are recorded, too
    end = time.monotonic() + 30
    while put(server, "/full/emptied", "y" * 10000)[0] != 200:
        assert time.monotonic() < end, "what was deleted is not used again"
    assert get(server, "/full/emptied") == "y" * 10000
    assert server.api("DELETE", "/v1/store?key=/full/emptied")[0] == 200


def create(server, name, key):
    """A request that is recorded before and after: a role, with an idempotency key."""
    return server.api("POST", "/v1/roles",
                      {"metadata": {"name": name}, "spec": {"rules": [{"verbs": ["get"],
                                                                       "kinds": ["Node"]}]}},
                      {"Idempotency-Key": key})


def create_while_full(server, ballast, created):
    """The last free space is used up during a request, at any of its writes. Returns the keys of
    rejected requests."""
    refused = {}
    for count in range(ROOMS):
        fill(ballast)
        os.truncate(ballast, ballast.stat().st_size - 4096 * (1 + count % 24))
        while len(refused) <= count:
            name = f"full-{len(created) + len(refused)}"
            status, response = create(server, name, name)
            if status == 201:
                created[name] = response
            else:
                assert status == 503 and "the disk is full" in response["detail"], response
                refused[name] = response
    there = names_of(server)
    assert not there & set(refused), "what was refused was done"
    assert there >= set(created)
    return refused


def names_of(server):
    listed = server.api("GET", "/v1/roles?limit=500")[1]
    return {item["metadata"]["name"] for item in listed["items"]}


def check_records(server, created):
    """The log is intact and contains everything that was done. Outcomes may be missing, because they
    are written later."""
    assert "intact" in server.call("audit", "verify", "--run-dir", server.runs)
    asked, done = set(), []
    for item in server.api("GET", "/v1/audit?limit=500")[1]["items"]:
        entry = item["status"]
        if entry["kind"] == "Role" and entry["verb"] == "create":
            asked |= {entry["name"]} if entry["outcome"] == "asked" else set()
            done += [entry["name"]] if entry["outcome"] == "done" else []
    assert asked >= set(created) and len(done) == len(set(done))
    assert set(done) <= set(created), "what was refused is recorded as done"


def create_in_the_end(server, name):
    """The pending outcome of the first one is written as soon as there is space."""
    end = time.monotonic() + 30
    while True:
        status, response = create(server, name, name)
        if status == 201:
            return response
        assert status == 409 and "is still in progress" in response["detail"], response
        assert time.monotonic() < end, f"{name} is taken for one under way"


def check_again(server, refused, created):
    """Rejected requests are repeated with the same key; the others get the same response again."""
    for name in refused:
        created[name] = create_in_the_end(server, name)
    for name, response in created.items():
        assert create_in_the_end(server, name) == response, name
    assert names_of(server) >= set(created)


def wait_until_ready(server):
    """It notices by itself that there is space again, without any write."""
    while server.ask("/readyz")[0] != 200:
        pass
    status, alive = server.ask("/healthz")
    assert status == 200 and alive["writable"], alive


def main(build, folder):
    disk = pathlib.Path(folder) / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    kept, created = {}, {}
    with ClusterServer(build, disk) as server:
        for number in range(ROUNDS):
            for _ in range(20):
                key = f"/full/{len(kept)}"
                assert put(server, key, "x")[0] == 200
                kept[key] = "x"
            large = [f"/large/{count}" for count in range(60)] if number == 0 else []
            for key in large:
                assert put(server, key, "z" * 50000)[0] == 200
            fill(disk / "ballast")
            check_full(server, kept)
            if number == 0:
                restart_while_full(server, disk / "ballast")
                check_full(server, kept)
                back_up_while_full(server, disk.parent / "full.backup")
                empty_while_full(server, large)
            # Last: the log of the store, which has grown, has its own space.
            if number == ROUNDS - 1:
                refused = create_while_full(server, disk / "ballast", created)
            os.unlink(disk / "ballast")
            if number == 0:
                wait_until_ready(server)
            # Without a restart.
            assert put(server, "/full/again", "z")[0] == 200
            kept["/full/again"] = "z"
            assert server.api("GET", "/v1/health")[0] == 200
        check_again(server, refused, created)
        check_records(server, created)
        assert server.stop() == 0
        server.start(ready=True)
        for key, value in kept.items():
            assert get(server, key) == value, key
        check_again(server, {}, created)
        check_records(server, created)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
