"""Watches of objects over TLS, with curl and a read-only token."""

import json
import subprocess

import machines
import pytest

from api_client import call, next_line, start


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
    status, response = call(cluster, "PATCH", "/v1/nodes/s1", {"metadata": {"labels": {"rack": word}}})[:2]
    assert status == 200, response


def block(process):
    """One event of text/event-stream, as its fields."""
    lines = []
    while (line := next_line(process.stdout)) != "\n":
        lines.append(line.rstrip("\n").split(": ", 1))
    return dict(lines)


@pytest.mark.also_on_etcd
def test_a_watch_prints_the_list_then_changes(cluster, watch):
    process = watch("/v1/nodes?watch=ndjson")
    first = json.loads(next_line(process.stdout))
    assert (first["type"], first["object"]["metadata"]["name"]) == ("added", "s1")
    assert json.loads(next_line(process.stdout))["type"] == "synced"
    label(cluster, "r7")
    response = {"type": None}
    while response["type"] != "changed" or response["object"]["metadata"]["labels"] != {"rack": "r7"}:
        response = json.loads(next_line(process.stdout))


@pytest.mark.parametrize("kind", ["nodes", "roles", "config", "certificates", "facts"])
@pytest.mark.parametrize("name", ["nobody", "No.Body", "n" * 300])
def test_an_unknown_name_gets_no_events(watch, kind, name):
    process = watch(f"/v1/{kind}/{name}?watch=ndjson")
    assert json.loads(next_line(process.stdout))["type"] == "synced"


@pytest.mark.also_on_etcd
def test_events_resume_where_they_were_interrupted(cluster, watch):
    process = watch("/v1/nodes", "Accept: text/event-stream")
    first = block(process)
    assert first["event"] == "added" and "id" not in first
    synced = block(process)
    assert synced["event"] == "synced" and json.loads(synced["data"])["type"] == "synced"
    process.kill()
    label(cluster, "r8")
    process = watch("/v1/nodes?watch=sse", f"Last-Event-ID: {synced['id']}")
    response = block(process)
    assert response["event"] == "changed"
    assert json.loads(response["data"])["object"]["metadata"]["labels"] == {"rack": "r8"}


def test_a_watch_ends_with_the_token(cluster, watch, viewer):
    process = watch("/v1/nodes/s1?watch=ndjson")
    assert json.loads(next_line(process.stdout))["type"] == "added"
    cluster.call("tokens", "revoke", viewer[0])
    process.stdout.read()
    assert process.wait() != 0
    process = watch("/v1/nodes?watch=ndjson")
    assert json.loads(process.stdout.read())["status"] == 401


def put_object(cluster, plural, name, body):
    status, response = call(cluster, "PUT", f"/v1/{plural}/{name}", body)
    assert status in (200, 201), response


def put_title(cluster, name, role, title):
    put_object(cluster, "config", name, {"metadata": {"labels": {"role": role}},
                                         "spec": {"title": title}})


def put_role(cluster, selector):
    put_object(cluster, "roles", "web-watch", {"spec": {"rules": [
        {"verbs": ["watch"], "kinds": ["Config"], "selector": selector}]}})


def reported_by(process):
    event = json.loads(next_line(process.stdout))
    return event["type"], event.get("object", {}).get("metadata", {}).get("name")


def test_roles_limit_the_events(cluster, watch):
    put_role(cluster, "role=web")
    put_title(cluster, "a", "web", "1")
    put_title(cluster, "b", "db", "1")
    made = json.loads(cluster.call("tokens", "create", "--role", "web-watch", "-o",
                                   "json").stdout)["status"]["secret"]
    process = watch("/v1/config", bearer=made)
    assert json.loads(process.stdout.read())["status"] == 403  # only the verb watch
    process = watch("/v1/nodes?watch=ndjson", bearer=made)
    assert json.loads(process.stdout.read())["status"] == 403
    process = watch("/v1/config?watch=ndjson", bearer=made)
    assert reported_by(process) == ("added", "a")
    assert reported_by(process) == ("synced", None)
    put_title(cluster, "b", "db", "2")
    put_title(cluster, "c", "web", "3")
    assert reported_by(process) == ("added", "c")
    put_title(cluster, "a", "db", "4")
    assert reported_by(process) == ("deleted", "a")
    resumed = watch("/v1/config?watch=ndjson", "Last-Event-ID: 1", bearer=made)
    assert [reported_by(resumed) for _ in range(3)] == [("resync", None), ("added", "c"),
                                                        ("synced", None)]
    put_role(cluster, "role=db")
    for one in (process, resumed):
        one.stdout.read()
        assert one.wait() != 0


def test_one_token_cannot_use_up_all_streams(cluster, watch, viewer):
    """HTTP/2 carries them all on a few connections."""
    limit, share = 1024, 64
    crowd = [watch(f"/v1/nodes?watch=ndjson&selector=s1%20or%20x[1-{share}]",
                   options=("--parallel", "--parallel-max", str(share)))
             for _ in range(limit // share)]
    for process in crowd:
        synced = 0
        while synced < share:
            synced += json.loads(next_line(process.stdout))["type"] == "synced"
    response = json.loads(next_line(watch("/v1/nodes?watch=ndjson").stdout))
    assert (response["status"], response["code"]) == (429, "limit"), response
    assert f"have {limit} watches or other streams open" in response["detail"], response
    assert f"at most {limit} are allowed" in response["detail"], response
    made = json.loads(cluster.call("tokens", "create", "--role", "viewer", "-o", "json").stdout)
    other = watch("/v1/nodes?watch=ndjson", bearer=made["status"]["secret"])
    assert json.loads(next_line(other.stdout))["type"] == "added"
    crowd[0].kill()
    crowd[0].wait()
    response = {"type": None}
    while response["type"] != "added":
        again = watch("/v1/nodes?watch=ndjson")
        response = {"type": None, **json.loads(next_line(again.stdout))}


def certificate_of(event):
    """The fields of an event about one: type, serial, and its purpose."""
    found = event.get("object", {})
    return (event["type"], found.get("metadata", {}).get("name"),
            found.get("status", {}).get("usage"))


def next_certificate(process):
    event = {"type": "heartbeat"}
    while event["type"] == "heartbeat":
        event = json.loads(next_line(process.stdout))
    return certificate_of(event)


def next_block(process):
    response = {}
    while "data" not in response:
        response = block(process)
    return response


def test_certificates_are_reported_for_all_holders(cluster, watch):
    """Those of the server are under no key of the store, those of nodes in their records."""
    process = watch("/v1/certificates?watch=ndjson")
    there = {}
    while (response := next_certificate(process))[0] == "added":
        there[response[2]] = response[1]
    assert response[0] == "synced" and set(there) == {"ca", "serving", "server", "node"}
    for which in ("serving", "server"):
        status, printed = call(cluster, "POST", "/v1/pki/renew", {"certificate": which})
        assert status == 200, printed
        assert next_certificate(process) == ("deleted", there[which], None)
        response = next_certificate(process)
        assert (response[0], response[2]) == ("added", which) and response[1] != there[which]
        assert call(cluster, "GET", f"/v1/certificates/{response[1]}")[0] == 200
        assert call(cluster, "GET", f"/v1/certificates/{there[which]}")[0] == 404
    machine = machines.Machine(cluster, "web1")
    machine.join_with_token()
    joined = next_certificate(process)
    assert (joined[0], joined[2]) == ("added", "node")
    cluster.server.process.kill()
    cluster.server.process.wait()
    cluster.start()
    assert call(cluster, "GET", f"/v1/certificates/{joined[1]}")[1]["status"]["owner"] == "web1"
    assert call(cluster, "GET", f"/v1/certificates/{32 * 'a'}")[0] == 404
    process = watch("/v1/certificates?watch=sse")
    while (response := next_block(process))["event"] != "synced":
        assert response["event"] == "added"
    cluster.call("nodes", "remove", "web1", "--yes")
    gone = next_block(process)
    assert certificate_of(json.loads(gone["data"])) == ("deleted", joined[1], None)
    # Certificates issued before the server started are in no log.
    process = watch("/v1/certificates?watch=sse", "Last-Event-ID: 1")
    assert next_block(process)["event"] == "resync"


def test_the_audit_log_is_streamed_entry_by_entry(cluster, watch):
    operator = json.loads(cluster.call("tokens", "create", "--role", "operator", "-o",
                                       "json").stdout)["status"]["secret"]
    process = watch("/v1/audit?watch=sse", bearer=operator)
    response = next_block(process)
    numbers = []
    while response["event"] == "added":
        numbers.append(int(json.loads(response["data"])["object"]["metadata"]["name"]))
        response = next_block(process)
    assert response["event"] == "synced" and numbers == list(range(numbers[0], numbers[-1] + 1))
    label(cluster, "r9")
    for outcome in ("asked", "done"):
        entry = json.loads(next_block(process)["data"])["object"]
        assert (entry["status"]["verb"], entry["status"]["outcome"]) == ("update", outcome)
        numbers.append(int(entry["metadata"]["name"]))
    process.kill()
    label(cluster, "r10")
    process = watch("/v1/audit?watch=sse", f"Last-Event-ID: {response['id']}", bearer=operator)
    for number in (*numbers[-2:], numbers[-1] + 1, numbers[-1] + 2):
        entry = next_block(process)
        assert entry["event"] == "added"
        assert json.loads(entry["data"])["object"]["metadata"]["name"] == str(number)
    assert next_block(process)["event"] == "synced"


def test_certificates_are_watched_by_the_command(cluster):
    process = start(cluster, "pki", "list", "--watch")
    try:
        heading = next_line(process.stdout).split()
        assert heading[:3] == ["NAME", "USAGE", "OWNER"]
        rows = [next_line(process.stdout).split() for _ in range(4)]
        assert {row[1] for row in rows} == {"ca", "serving", "server", "node"}
        machines.Machine(cluster, "web1").join_with_token()
        assert next_line(process.stdout).split()[0::2][:2] == ["added", "node"]
    finally:
        process.kill()
        process.communicate()
