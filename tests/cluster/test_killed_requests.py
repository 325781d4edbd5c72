"""A server that is killed while many clients send requests with an Idempotency-Key, each of them
twice: afterward everything acknowledged exists, everything happened at most once, and each request
has an audit entry."""

import collections
import http.client
import json
import os
import random
import threading

import pytest
from cluster_server import ClusterServer, UnixConnection

KILLS = int(os.environ.get("EDEN_KILLS", "15"))
SEED = int(os.environ.get("EDEN_SEED", "1"))
LIVES = 10  # of one server: it keeps 2,000 requests of one caller
CLIENTS = 12
RULES = [{"verbs": ["get"], "kinds": ["Node"]}]


class Clients:
    """All requests between two starts of a server. A role has the requested name; a token gets a name
    from the server, so only the key prevents a duplicate."""

    def __init__(self, server, seed):
        self.server = server
        self.seed = seed
        self.enough = random.Random(seed).randrange(1, 120)
        self.lock = threading.Lock()
        self.acknowledged = {}  # key: (path, response body)
        self.sent = set()
        self.failures = []
        self.killed = False

    def acknowledge(self, key, path, response):
        with self.lock:
            if key in self.acknowledged:
                assert self.acknowledged[key] == (path, response), "two answers to one request"
            self.acknowledged[key] = path, response
            if len(self.acknowledged) == self.enough and not self.killed:
                self.killed = True
                self.server.process.kill()

    def work(self, number):
        """Neighbors send the same requests at about the same time."""
        connection = UnixConnection(self.server.socket)
        try:
            for count in range(1000):
                key = f"{self.seed}-{number // 2}-{count}"
                self.sent.add(key)
                status, response = post(connection, key)
                if status == 201:
                    self.acknowledge(key, target(key), response)
                else:
                    assert status == 409, response  # running or completed for the neighbor
        except (OSError, http.client.HTTPException):
            connection.close()  # it was killed
        except Exception as failure:  # exceptions in a thread have no caller
            self.failures.append(failure)

    def run(self):
        threads = [threading.Thread(target=self.work, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.server.kill()
        assert self.failures == [] and self.killed


def target(key):
    return "/v1/tokens" if key.endswith(("0", "5")) else "/v1/roles"


def post(connection, key):
    path = target(key)
    body = ({"spec": {"description": f"k{key}"}} if path == "/v1/tokens"
            else {"metadata": {"name": f"k{key}"}, "spec": {"rules": RULES}})
    connection.request("POST", path, json.dumps(body),
                       {"Content-Type": "application/json", "Idempotency-Key": key})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def list_all(server, path):
    items, more = [], ""
    while more is not None:
        status, page = server.api("GET", f"{path}?limit=500" + (more and f"&continue={more}"))
        assert status == 200, page
        items += page["items"]
        more = page["metadata"]["continue"]
    return items


def check(server, acknowledged, sent):
    """What exists after a restart."""
    roles = {item["metadata"]["name"]: item for item in list_all(server, "/v1/roles")}
    tokens = {item["metadata"]["name"]: item for item in list_all(server, "/v1/tokens")}
    by_key = collections.Counter(item["spec"]["description"][1:] for item in tokens.values())
    assert {key: count for key, count in by_key.items() if count > 1} == {}, "done twice"
    assert set(by_key) <= sent
    done = collections.Counter()
    for item in list_all(server, "/v1/audit"):
        entry = item["status"]
        if entry["verb"] == "create" and entry["outcome"] == "done":
            done[entry["kind"], entry["name"]] += 1
    for key, (path, response) in acknowledged.items():
        name = response["metadata"]["name"]
        there = (roles if path == "/v1/roles" else tokens).get(name)
        assert there is not None, f"{key} was acknowledged and is lost"
        assert there["metadata"]["uuid"] == response["metadata"]["uuid"], key
        assert done["Role" if path == "/v1/roles" else "Token", name] == 1, f"the record of {key}"
    verified = server.call("audit", "verify", "--run-dir", server.runs)
    assert "intact" in verified, verified


def ask_again(server, acknowledged, sent):
    """A repeated request gets the same response, and nothing is created twice."""
    connection = UnixConnection(server.socket)
    for key in sorted(sent):
        status, response = post(connection, key)
        if key not in acknowledged:
            assert status in (201, 409), response  # or the outcome is unknown for a while
            if status == 201:
                acknowledged[key] = target(key), response
        elif target(key) == "/v1/roles":
            assert (status, response) == (201, acknowledged[key][1]), key
        else:
            assert status == 409, response  # its response contained a secret
    connection.close()


def live(build, folder, seeds):
    """Kills a server with each seed; returns how many requests were acknowledged and sent."""
    acknowledged, sent = {}, set()
    folder.mkdir()
    with ClusterServer(build, folder) as server:
        for seed in seeds:
            clients = Clients(server, seed)
            clients.run()
            acknowledged |= clients.acknowledged
            sent |= clients.sent
            server.start(ready=True)
            check(server, acknowledged, sent)
            ask_again(server, clients.acknowledged, clients.sent)
            acknowledged |= clients.acknowledged
            check(server, acknowledged, sent)
    return len(acknowledged), len(sent)


def test_acknowledged_requests_are_applied_once(build, tmp_path):
    seeds = range(SEED, SEED + KILLS)
    counts = [live(build, tmp_path / str(first), seeds[first:first + LIVES])
              for first in range(0, KILLS, LIVES)]
    acknowledged, sent = map(sum, zip(*counts))
    assert acknowledged > 20 * KILLS
    assert sent > acknowledged  # some were pending


@pytest.mark.parametrize("what", ["an acknowledged one is lost", "one is done twice"])
def test_the_checker_detects_lost_and_repeated_requests(build, tmp_path, what):
    """The checker can fail."""
    with ClusterServer(build, tmp_path) as server:
        acknowledged = {}
        connection = UnixConnection(server.socket)
        for count in range(12):
            key = f"0-0-{count}"
            acknowledged[key] = target(key), post(connection, key)[1]
        connection.close()
        check(server, acknowledged, set(acknowledged))
        if what == "one is done twice":
            assert server.api("POST", "/v1/tokens", {"spec": {"description": "k0-0-0"}})[0] == 201
            wanted = "done twice"
        else:
            assert server.api("DELETE", "/v1/roles/k0-0-1")[0] in (200, 204)
            wanted = "acknowledged and is lost"
        with pytest.raises(AssertionError, match=wanted):
            check(server, acknowledged, set(acknowledged))
