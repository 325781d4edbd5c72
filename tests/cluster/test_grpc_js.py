"""@grpc/grpc-js with the project's eden.proto against the services of a real server."""

import base64
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import npm  # noqa: E402

OK, CANCELLED, DEADLINE, DENIED, PRECONDITION = 0, 1, 4, 7, 9
EPOCH = 12345


def b64(text):
    return base64.b64encode(text.encode()).decode()


def text(value):
    return base64.b64decode(value).decode()


@pytest.fixture
def client(build, server):
    """Runs a list of calls as a node; by default as the server's own node."""

    def run(steps, node=None, **more):
        certificate, key = node or (server.certificate, server.key)
        task = {
            "target": f"localhost:{server.rpc_port}",
            "proto": str(HERE.parents[1] / "src" / "rpc" / "eden.proto"),
            "ca": str(server.ca),
            "certificate": str(certificate),
            "key": str(key),
            "steps": steps,
            **more,
        }
        done = subprocess.run(
            ["node", HERE / "client.js", json.dumps(task)],
            env={**os.environ, "NODE_PATH": npm.node_modules(build, HERE.parent / "net")},
            capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def put(key, value):
    return {"kind": "unary", "method": "Txn",
            "request": {"success": [{"put": {"key": b64(key), "value": b64(value)}}]}}  # fmt: skip


def get(key):
    return {"kind": "unary", "method": "Txn",
            "request": {"success": [{"range": {"key": b64(key)}}]}}  # fmt: skip


def hello(name, **more):
    watching = {"name": "version", "store": "", "revision": 0}
    return {"hello": {"protocol": 1, "node": name, "boot_id": "boot", "version": "js",
                      "wall_ms": 0, "epoch": EPOCH, "watches": [watching], **more}}  # fmt: skip


def test_unary_calls_read_and_write_the_store(client):
    swap = {"kind": "unary", "method": "Txn", "request": {
        "compares": [{"target": "VALUE", "relation": "EQUAL", "key": b64("/js/a"),
                      "value": b64("one")}],
        "success": [{"put": {"key": b64("/js/a"), "value": b64("two"), "previous": True}}],
        "failure": [{"range": {"key": b64("/js/a")}}],
    }}  # fmt: skip
    first, swapped, refused, found, missing = client(
        [put("/js/a", "one"), swap, swap, get("/js/a"), get("/js/b")]
    )
    assert first["code"] == OK and first["answer"]["succeeded"]
    assert swapped["answer"]["succeeded"]
    assert text(swapped["answer"]["replies"][0]["kvs"][0]["value"]) == "one"
    assert swapped["answer"]["revision"] == first["answer"]["revision"] + 1
    assert not refused["answer"]["succeeded"]
    (kv,) = found["answer"]["replies"][0]["kvs"]
    assert (text(kv["key"]), text(kv["value"]), kv["version"]) == ("/js/a", "two", 2)
    assert missing["answer"]["replies"][0]["kvs"] == []


STATUS = {"kind": "unary", "method": "Status"}
GONE = {"kind": "until", "as": 0}  # as many watches as the first step reported


def test_a_server_stream_delivers_every_change_until_canceled(client):
    first, *_ = client([put("/js/a", "1"), put("/js/a", "2"), put("/js/b", "3")])
    watch = {"kind": "watch", "cancel": 1, "request": {
        "key": b64("/js/"), "end": b64("/js0"), "from": first["answer"]["revision"],
        "previous": True}}  # fmt: skip
    before, watched, after = client([STATUS, watch, GONE])
    assert watched["code"] == CANCELLED
    events = watched["messages"][0]["events"]
    assert [(text(e["kv"]["key"]), text(e["kv"]["value"])) for e in events] == [
        ("/js/a", "1"), ("/js/a", "2"), ("/js/b", "3")]  # fmt: skip
    assert text(events[1]["previous"]["value"]) == "1"
    assert after["answer"]["watches"] == before["answer"]["watches"]


def test_a_deadline_cancels_a_stream_on_both_sides(client):
    watch = {"kind": "watch", "timeout": 200, "request": {"key": b64("/js/quiet")}}
    before, watched, after = client([STATUS, watch, GONE])
    assert watched["code"] == DEADLINE
    assert after["answer"]["watches"] == before["answer"]["watches"]


def test_a_session_carries_records_up_and_watches_down(client, server):
    node = server.join("web1")
    facts = {"sequence": 1, "kind": "FACTS", "key": "", "body": b64('{"os":"js"}'), "lost": 0}
    client([put("/eden/current_version", '"7"')])
    steps = [{"kind": "session", "end": 3, "say": [
        hello("web1"), {"records": {"records": [facts]}}]}]  # fmt: skip
    (response,) = client(steps, node)
    assert response["code"] == OK, response
    kinds = [message["of"] for message in response["messages"]]
    assert kinds[0] == "hello" and sorted(kinds) == ["ack", "changes", "hello"]
    printed = {message["of"]: message[message["of"]] for message in response["messages"]}
    assert (printed["hello"]["server"], printed["hello"]["sequence"]) == ("s1", 0)
    assert printed["ack"]["sequence"] == 1
    assert printed["changes"]["reset"] and printed["changes"]["complete"]
    assert [text(change["value"]) for change in printed["changes"]["changes"]] == ['"7"']
    (found,) = client([get("/eden/facts/web1")])
    assert "js" in text(found["answer"]["replies"][0]["kvs"][0]["value"])
    # After reconnecting it learns its position, and duplicates are applied once.
    again, _ = client([{"kind": "session", "cancel": 1, "say": [hello("web1")]}, *steps], node)
    assert again["code"] == CANCELLED
    assert again["messages"][0]["hello"]["sequence"] == 1


def test_a_session_can_have_a_deadline(client, server):
    node = server.join("web1")
    # The first call connects, so the deadline applies to the session only.
    _, response = client([
        get("/js/a"), {"kind": "session", "timeout": 2000, "say": [hello("web1")]}], node)  # fmt: skip
    assert response["code"] == DEADLINE
    assert response["messages"][0]["of"] == "hello"


def test_permission_errors_are_returned(client, server):
    node = server.join("web1")
    denied, session = client([
        get("/eden/facts/web1"), {"kind": "session", "say": [hello("web2")]}], node)  # fmt: skip
    assert denied["code"] == DENIED
    assert session["code"] != OK and session["messages"] == []
    (newer,) = client([get("/js/a")], protocol=2)
    assert newer["code"] == PRECONDITION
