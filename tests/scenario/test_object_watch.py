"""Watches of objects over TLS, with curl and a token that may look at things only."""

import json
import subprocess

import pytest

from asking import ask, next_line


@pytest.fixture
def cluster(cluster):
    cluster.start()
    return cluster


@pytest.fixture
def viewer(cluster):
    made = json.loads(cluster.call("tokens", "create", "--role", "viewer", "-o", "json").stdout)
    return made["metadata"]["name"], made["status"]["secret"]


@pytest.fixture
def watch(cluster, viewer):
    processes = []

    def start(target, *headers, bearer=viewer[1], options=()):
        fields = [f"Authorization: Bearer {bearer}", *headers]
        processes.append(subprocess.Popen(
            ["curl", "-sSNk", *options, *(word for field in fields for word in ("-H", field)),
             f"https://127.0.0.1:{cluster.api_port}{target}"], stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def label(cluster, word):
    status, told = ask(cluster, "PATCH", "/v1/nodes/s1", {"metadata": {"labels": {"rack": word}}})[:2]
    assert status == 200, told


def block(process):
    """One event of text/event-stream, as its fields."""
    lines = []
    while (line := next_line(process.stdout)) != "\n":
        lines.append(line.rstrip("\n").split(": ", 1))
    return dict(lines)


def test_lines_tell_what_is_and_what_happens(cluster, watch):
    process = watch("/v1/nodes?watch=ndjson")
    first = json.loads(next_line(process.stdout))
    assert (first["type"], first["object"]["metadata"]["name"]) == ("added", "s1")
    assert json.loads(next_line(process.stdout))["type"] == "synced"
    label(cluster, "r7")
    told = {"type": None}
    while told["type"] != "changed" or told["object"]["metadata"]["labels"] != {"rack": "r7"}:
        told = json.loads(next_line(process.stdout))


def test_events_are_resumed_where_they_were_broken_off(cluster, watch):
    process = watch("/v1/nodes", "Accept: text/event-stream")
    first = block(process)
    assert first["event"] == "added" and "id" not in first
    synced = block(process)
    assert synced["event"] == "synced" and json.loads(synced["data"])["type"] == "synced"
    process.kill()
    label(cluster, "r8")
    process = watch("/v1/nodes?watch=sse", f"Last-Event-ID: {synced['id']}")
    told = block(process)
    assert told["event"] == "changed"
    assert json.loads(told["data"])["object"]["metadata"]["labels"] == {"rack": "r8"}


def test_a_watch_ends_with_the_token(cluster, watch, viewer):
    process = watch("/v1/nodes/s1?watch=ndjson")
    assert json.loads(next_line(process.stdout))["type"] == "added"
    cluster.call("tokens", "revoke", viewer[0])
    process.stdout.read()
    assert process.wait() != 0
    process = watch("/v1/nodes?watch=ndjson")
    assert json.loads(process.stdout.read())["status"] == 401


def put_object(cluster, plural, name, body):
    status, told = ask(cluster, "PUT", f"/v1/{plural}/{name}", body)
    assert status in (200, 201), told


def put_title(cluster, name, role, title):
    put_object(cluster, "config", name, {"metadata": {"labels": {"role": role}},
                                         "spec": {"title": title}})


def put_role(cluster, selector):
    put_object(cluster, "roles", "web-watch", {"spec": {"rules": [
        {"verbs": ["watch"], "kinds": ["Config"], "selector": selector}]}})


def told_of(process):
    event = json.loads(next_line(process.stdout))
    return event["type"], event.get("object", {}).get("metadata", {}).get("name")


def test_roles_limit_what_is_told(cluster, watch):
    put_role(cluster, "role=web")
    put_title(cluster, "a", "web", "1")
    put_title(cluster, "b", "db", "1")
    made = json.loads(cluster.call("tokens", "create", "--role", "web-watch", "-o",
                                   "json").stdout)["status"]["secret"]
    process = watch("/v1/config", bearer=made)
    assert json.loads(process.stdout.read())["status"] == 403  # no verb but watch
    process = watch("/v1/nodes?watch=ndjson", bearer=made)
    assert json.loads(process.stdout.read())["status"] == 403
    process = watch("/v1/config?watch=ndjson", bearer=made)
    assert told_of(process) == ("added", "a")
    assert told_of(process) == ("synced", None)
    put_title(cluster, "b", "db", "2")
    put_title(cluster, "c", "web", "3")
    assert told_of(process) == ("added", "c")
    put_title(cluster, "a", "db", "4")
    assert told_of(process) == ("deleted", "a")
    resumed = watch("/v1/config?watch=ndjson", "Last-Event-ID: 1", bearer=made)
    assert [told_of(resumed) for _ in range(3)] == [("resync", None), ("added", "c"),
                                                    ("synced", None)]
    put_role(cluster, "role=db")
    for one in (process, resumed):
        one.stdout.read()
        assert one.wait() != 0


def test_one_token_cannot_take_the_places_of_others(cluster, watch, viewer):
    """HTTP/2 has them all on a few connections."""
    limit, share = 1024, 64
    crowd = [watch(f"/v1/nodes?watch=ndjson&selector=s1%20or%20x[1-{share}]",
                   options=("--parallel", "--parallel-max", str(share)))
             for _ in range(limit // share)]
    for process in crowd:
        synced = 0
        while synced < share:
            synced += json.loads(next_line(process.stdout))["type"] == "synced"
    told = json.loads(next_line(watch("/v1/nodes?watch=ndjson").stdout))
    assert (told["status"], told["code"]) == (429, "limit"), told
    assert told["detail"].startswith(f"{limit} watches and the like are open"), told
    assert f"there may be {limit}" in told["detail"], told
    made = json.loads(cluster.call("tokens", "create", "--role", "viewer", "-o", "json").stdout)
    other = watch("/v1/nodes?watch=ndjson", bearer=made["status"]["secret"])
    assert json.loads(next_line(other.stdout))["type"] == "added"
    crowd[0].kill()
    crowd[0].wait()
    told = {"type": None}
    while told["type"] != "added":
        again = watch("/v1/nodes?watch=ndjson")
        told = {"type": None, **json.loads(next_line(again.stdout))}
