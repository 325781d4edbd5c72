"""A server whose disk hangs, is read-only or slow: it continues with what it knows and reports
that, rejects changes with the reason, and recovers when the disk does."""

import http.client
import json
import os
import pathlib
import threading

import pytest

from api_client import UnixConnection, call, get, put
from cluster_world import is_alive, join
from events import wait_until

MARK = "Eden-Stale-Since"
WARNING = "warning: the server's store is unavailable"


class Disk:
    """For the server: writes of its store fail as specified in a file."""

    def __init__(self, cluster):
        self.path = cluster.folder / "trouble"
        shim = pathlib.Path(os.environ["EDEN_BUILD"]) / "tests/fault/libstorage.so"
        # A sanitizer has to be loaded first.
        self.env = {"LD_PRELOAD": str(shim), "EDEN_STORAGE_TROUBLE": f"{self.path}:/store/",
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def becomes(self, what):
        draft = self.path.with_suffix(".draft")
        draft.write_text(what)
        draft.rename(self.path)

    def recovers(self):
        self.path.unlink()


@pytest.fixture
def disk(cluster):
    disk = Disk(cluster)
    cluster.start(env=disk.env)
    yield disk
    disk.path.unlink(missing_ok=True)


def look(cluster, target):
    """Status, JSON, and since when the response may be out of date."""
    connection = UnixConnection(cluster.run / "server/api.sock")
    try:
        connection.request("GET", target)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read()), reply.getheader(MARK)
    finally:
        connection.close()


def agent_of(cluster, name):
    folder = cluster.folder / name
    return ("agent", "--state-dir", folder / "state", "--run-dir", folder / "run", "--config-dir",
            folder / "etc")


def names(listed):
    return [item["metadata"]["name"] for item in listed["items"]]


def write_soon(cluster, key):
    """A write that waits for the disk as long as necessary; the list gets its status."""
    came = []

    def write():
        connection = UnixConnection(cluster.run / "server/api.sock")
        try:
            connection.connect()
            connection.sock.settimeout(None)
            connection.request("PUT", f"/v1/store?key={key}", json.dumps({"value": "x"}),
                               {"Content-Type": "application/json"})
            came.append(connection.getresponse().status)
        except (OSError, http.client.HTTPException) as failure:
            came.append(failure)
        finally:
            connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    return thread, came


def is_stale(cluster):
    status, reply, _ = look(cluster, "/readyz")
    assert (status == 200) == reply["ready"]
    return reply.get("stale_since")


def check_stale(cluster, known):
    """Reads continue, with the same responses as before, and report since when they are stale."""
    since = is_stale(cluster)
    assert since is not None
    status, listed, mark = look(cluster, "/v1/nodes")
    assert status == 200 and mark == since and listed["metadata"]["staleSince"] == since
    assert names(listed) == known
    status, node, mark = look(cluster, "/v1/nodes/web1")
    assert status == 200 and mark == since and node["status"]["state"] == "alive"
    status, health, _ = look(cluster, "/v1/health")
    assert status == 503 and not health["healthy"] and health["stale_since"] == since
    done = cluster.call("nodes")
    assert f"{WARNING}; data may be out of date since {since}" in done.stderr
    assert done.stderr.count(WARNING) == 1 and "web1" in done.stdout


def check_current(cluster, known):
    wait_until(lambda: is_stale(cluster) is None, "the store is back")
    status, listed, mark = look(cluster, "/v1/nodes")
    assert status == 200 and mark is None and "staleSince" not in listed["metadata"]
    assert names(listed) == known
    done = cluster.call("nodes")
    assert WARNING not in done.stderr
    wait_until(lambda: look(cluster, "/readyz")[0] == 200, "it is ready")


def test_a_disk_that_hangs(cluster, disk):
    web1, web2 = join(cluster, "web1"), join(cluster, "web2")
    cluster.call("pki", "revoke", "web2")
    web2.wait_for_log("revoked")
    cluster.server.wait_for_log("this server is now the leader")
    put(cluster, "/t/before", "yes")
    known = ["s1", "web1", "web2"]
    disk.becomes("hang")
    thread, came = write_soon(cluster, "/t/hanging")
    cluster.server.wait_for_log("store unavailable; serving the last known state")
    check_stale(cluster, known)
    assert not came  # neither rejected nor acknowledged
    cluster.server.wait_for_log("no longer the leader")
    # Changes are rejected at once, with the reason.
    for method, target, body in (("PUT", "/v1/store?key=/t/refused", {"value": "x"}),
                                 ("DELETE", "/v1/nodes/web1", None),
                                 ("POST", "/v1/tokens", {"spec": {}})):  # fmt: skip
        status, reply = call(cluster, method, target, body)
        assert status == 503 and "the store has been unavailable since" in reply["detail"], reply
        assert "not responding" in reply["detail"]
    done = cluster.call("nodes", "label", "web1", "role=web", check=False)
    assert done.returncode == 3 and "the store has been unavailable since" in done.stderr
    # The session persists: requests reach the node through it, and it has not reconnected.
    assert "responded" in cluster.call("nodes", "ping", "web1").stdout
    assert not any("session ended" in line or "lost" in line for line in web1.log), web1.log
    # Revoked certificates stay locked out.
    web2.stop()
    again = cluster.daemon(*agent_of(cluster, "web2"))
    again.wait_for_log("revoked")
    disk.recovers()
    thread.join()
    assert came == [200]
    check_current(cluster, known)
    assert get(cluster, "/t/hanging") == "x" and get(cluster, "/t/refused") is None
    put(cluster, "/t/after", "yes")
    assert is_alive(cluster, "web1")
    wait_until(lambda: sum("this server is now the leader" in line for line in cluster.server.log) >= 2,
               "it leads again")


def test_facts_audit_and_keys_are_read_while_the_disk_hangs(cluster, disk):
    """None of these is in memory; requests must not wait for the write that hangs."""
    join(cluster, "web1")
    wait_until(lambda: look(cluster, "/v1/facts/web1")[0] == 200, "it has sent facts")
    put(cluster, "/t/before", "yes")
    facts = look(cluster, "/v1/facts/web1")[1]["status"]["os"]
    disk.becomes("hang")
    thread, came = write_soon(cluster, "/t/hanging")
    cluster.server.wait_for_log("store unavailable; serving the last known state")
    since = is_stale(cluster)
    for target, found in (("/v1/facts/web1", lambda one: one["status"]["os"] == facts),
                          ("/v1/facts", lambda some: "web1" in names(some)),
                          ("/v1/audit?limit=5", lambda some: some["items"]),
                          ("/v1/audit-verification", lambda one: one["whole"]),
                          ("/v1/store?key=/t/before", lambda one: one["value"] == "yes"),
                          ("/v1/keys?prefix=/t/", lambda some: len(some["values"]) == 1)):  # fmt: skip
        status, reply, mark = look(cluster, target)
        assert status == 200 and mark == since, (target, reply)
        assert found(reply), (target, reply)
    assert not came
    disk.recovers()
    thread.join()
    assert came == [200]


def test_a_disk_that_is_read_only(cluster, disk):
    join(cluster, "web1")
    cluster.server.wait_for_log("this server is now the leader")
    put(cluster, "/t/before", "yes")
    known = ["s1", "web1"]
    disk.becomes("EROFS")
    status, reply = call(cluster, "PUT", "/v1/store?key=/t/refused", {"value": "x"})
    assert status == 503, reply
    check_stale(cluster, known)
    assert get(cluster, "/t/before") == "yes"
    status, ready, _ = look(cluster, "/readyz")
    assert ready["problems"][0]["condition"] == "unwritable", ready
    cluster.server.wait_for_log("no longer the leader")
    disk.recovers()  # which is noticed even without writes
    check_current(cluster, known)
    assert get(cluster, "/t/refused") is None
    put(cluster, "/t/after", "yes")


def test_a_disk_that_is_slow(cluster, disk):
    """Acknowledged writes are there, rejected ones are not, and reads do not wait."""
    put(cluster, "/t/before", "yes")
    disk.becomes("slow 100")
    response = {}
    for number in range(4):
        response[number] = call(cluster, "PUT", f"/v1/store?key=/t/{number}", {"value": "yes"})[0]
        status, listed, mark = look(cluster, "/v1/nodes")
        assert status == 200 and names(listed) == ["s1"]
        assert mark == listed["metadata"].get("staleSince")
    disk.recovers()
    check_current(cluster, ["s1"])
    assert response[0] == 200 and set(response.values()) <= {200, 503}, response
    assert {number: 200 if get(cluster, f"/t/{number}") else 503 for number in response} == response
