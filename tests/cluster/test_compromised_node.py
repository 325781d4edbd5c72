"""Root on a node: what it can make the server hold and do with its own certificate."""

import json
import pathlib
import struct
import sys

import pytest
from cluster_server import ClusterServer, UnixConnection

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "net"))

import frames  # noqa: E402

KB = 1 << 10


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def text_field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


class Node:
    """A node that sends arbitrary messages; `files` are those of the same node with another connection."""

    def __init__(self, server, name, files=None):
        self.name = name
        self.files = files or server.join(name)
        self.connection = server.connect(*self.files)
        self.connection.sendall(frames.HELLO)
        self.reader = frames.Reader(self.connection)
        self.stream = -1
        self.start = b""

    def call(self, method, content):
        """The status of the call, as text."""
        self.stream += 2
        block = self.start + frames.request_block("", **{":path": f"/eden.v1.{method}", "eden-protocol": "1"})
        self.connection.sendall(frames.frame(frames.HEADERS, frames.END_HEADERS, self.stream, block))
        message = b"\0" + struct.pack(">I", len(content)) + content
        for at in range(0, len(message), 16 * KB):
            flags = frames.END_STREAM if at + 16 * KB >= len(message) else 0
            self.connection.sendall(frames.frame(frames.DATA, flags, self.stream, message[at : at + 16 * KB]))

    def ends(self):
        """Whether the last call succeeded: it has a response."""
        has_answer = False
        while True:
            kind, flags, stream, payload = self.reader.next()
            if kind == frames.SETTINGS and not flags & frames.ACK:
                self.connection.sendall(frames.frame(frames.SETTINGS, frames.ACK))
                self.start = b"\x20"  # the HPACK table has no space, as the server requested
            if kind == frames.DATA and stream == self.stream:
                has_answer = True
            if stream == self.stream and flags & frames.END_STREAM:
                return has_answer

    def append(self, run, number, lines):
        self.call("Runs/Append", text_field(1, self.name.encode()) + text_field(2, run.encode())
                  + varint(3 << 3) + varint(number) + text_field(4, lines.encode()))  # fmt: skip
        return self.ends()


@pytest.fixture
def server(build, tmp_path):
    settings = {"node_event_bytes_per_second": 1, "node_event_bytes_burst": 4 * KB * KB}
    with ClusterServer(build, tmp_path, settings) as server:
        yield server


def execute(server, node):
    status, run = server.api("POST", "/v1/exec", {"spec": {"command": ["true"], "selector": node}})
    assert status == 201, run
    return run["metadata"]["name"]


def event(number, text=""):
    return f'{{"n":{number},"at_ms":1,"event":"step","step":"a","text":"{text}"}}\n'


def test_events_have_a_budget(server):
    node, other = Node(server, "web1"), Node(server, "db1")
    runs = [execute(server, "web1"), execute(server, "db1")]
    number, large = 1, "x" * 100 * KB
    while node.append(runs[0], number, event(number, large)):
        number += 1
    assert 20 <= number <= 41
    assert other.append(runs[1], 1, event(1, large))


def test_reading_other_logs_again_and_again_has_a_budget(server):
    """Each log that is not in memory is read when something is appended."""
    node = Node(server, "web1")
    assert [node.append(execute(server, "web1"), 1, "") for _ in range(5)] == [True, True, True, False, False]


def push(server, folder):
    """A site with a file of 1 MiB; returns its manifest, and the blob of that file."""
    for name, content in {
        "config.yaml": "name: shop\n", "jobs/base.yaml": "jobs: {'*': [{name: web}]}\n",
        "jobs/web.yaml": "steps: [{name: hello, cmd.run: [{cmd: echo}]}]\n", "files/large": "x" * KB * KB,
    }.items():  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    pushed = json.loads(server.call("push", folder, "--no-run", "--run-dir", server.runs, "-o", "json"))
    _, listed = server.api("GET", f"/v1/versions/{pushed['version']}/manifest")
    blob = next(file["blobs"][0] for file in listed["files"] if file["path"] == "files/large")
    return bytes.fromhex(pushed["manifest"]), bytes.fromhex(blob)


def test_a_node_that_reads_nothing_takes_no_place_from_others(server, tmp_path):
    manifest, blob = push(server, tmp_path / "site")
    first, other = Node(server, "web1"), Node(server, "db1")
    slow = [first, *(Node(server, "web1", first.files) for _ in range(3))]
    for node in 60 * slow:
        node.call("Blobs/Get", text_field(1, manifest) + 64 * text_field(2, blob))
    other.connection.settimeout(15)
    other.call("Blobs/Get", text_field(1, manifest))
    assert other.ends()


def test_followers_of_a_long_log_hold_little_memory(server):
    if "libasan" in pathlib.Path(f"/proc/{server.process.pid}/maps").read_text():
        return  # the sanitizer retains freed memory: only the plain build is measured
    node, run, large = Node(server, "web1"), execute(server, "web1"), "x" * 100 * KB
    for number in range(1, 11):
        assert node.append(run, number, event(number, large))
    before, followers = server.memory(), []
    for _ in range(100):
        follower = UnixConnection(server.socket)
        follower.request("GET", f"/v1/runs/{run}/logs?follow=true")
        answer = follower.getresponse()
        for _ in range(10):
            assert answer.readline().endswith(b"}\n")
        followers.append(follower)
    assert server.memory() - before < 10 << 20
    for follower in followers:
        follower.close()
