"""Ambiguous requests sent to a real server over TLS: each is rejected, and the connection is
closed. The table is one of the fuzz corpora."""

import pathlib
import re
import sys

import pytest
from cluster_server import ClusterServer

FUZZ = pathlib.Path(__file__).resolve().parent.parent / "fuzz"
sys.path.insert(0, str(FUZZ))

import lines  # noqa: E402


@pytest.fixture(scope="module")
def server(build, tmp_path_factory):
    with ClusterServer(build, tmp_path_factory.mktemp("server")) as started:
        yield started


def table():
    """Status, reason and the requests of each group."""
    groups = []
    for line in (FUZZ / "corpus" / "http1_llhttp" / "smuggling.lines").read_text().split("\n"):
        head = re.fullmatch(r"# (\d{3}) (.*)", line)
        if head:
            groups.append((int(head[1]), head[2], []))
        elif line and not line.startswith("#"):
            groups[-1][2].append(lines.unescape(line))
    return groups


def everything(connection):
    message = b""
    while chunk := connection.recv(1 << 16):
        message += chunk
    return message


@pytest.mark.parametrize("status, reason, requests", table(), ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("listener", ["api", "unix"])
def test_smuggling_attempts_are_rejected(server, listener, status, reason, requests):
    assert requests
    for request in requests:
        with server.connect_api() if listener == "api" else server.connect_unix() as connection:
            # It is followed by a request that would get a response.
            connection.sendall(request + b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            message = everything(connection)
        assert message.startswith(b"HTTP/1.1 %d " % status), (request, message)
        assert len(re.findall(rb"HTTP/1\.1 \d{3} ", message)) == 1, (request, message)
        assert b"\r\nConnection: close\r\n" in message, (request, message)
        assert reason.encode() in message, (request, message)
