"""The memory of a server under many concurrent requests: it uses what it needs and releases it."""

import pathlib
import socket
import ssl
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "net"))

import frames  # noqa: E402

CONNECTIONS = 20
STREAMS = 10  # of each, at once
ROUNDS = 20
PEAK = 24 << 20  # bytes of growth allowed; a request needs some 20 KiB, and 200 run at once
REST = 6 << 20
LIMIT_S = 60


def anonymous(server):
    text = pathlib.Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
    return 1024 * next(int(line.split()[1]) for line in text.splitlines()
                       if line.startswith("Anonymous:"))  # fmt: skip


def connect(server):
    context = ssl.create_default_context(cafile=server.ca)
    context.set_alpn_protocols(["h2"])
    plain = socket.create_connection(("127.0.0.1", server.api_port), timeout=60)
    connection = context.wrap_socket(plain, server_hostname="localhost")
    assert connection.selected_alpn_protocol() == "h2"
    # Windows large enough for all responses of a connection.
    connection.sendall(frames.HELLO + frames.frame(frames.WINDOW, 0, 0, (1 << 28).to_bytes(4, "big")))
    return connection, frames.Reader(connection)


def request(server, token, stream):
    fields = {":method": "GET", ":scheme": "https", ":path": "/v1/nodes",
              ":authority": f"localhost:{server.api_port}", "authorization": f"Bearer {token}"}
    return frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream,
                        b"".join(frames.field(*field) for field in fields.items()))  # fmt: skip


def read_answers(reader, count):
    """Reads until this number of streams has ended."""
    while count > 0:
        kind, flags, stream, _ = reader.next()
        assert kind not in (frames.GOAWAY, frames.RST_STREAM), (kind, stream)
        count -= kind in (frames.DATA, frames.HEADERS) and flags & frames.END_STREAM


def test_memory_of_a_burst_is_bounded_and_released(server):
    assert server.api("GET", "/v1/nodes")[0] == 200
    token = server.call("tokens", "create", "--role", "admin", "--run-dir", server.runs,
                        "--state-dir", server.state).split()[-1]
    before = anonymous(server)
    connections = [connect(server) for _ in range(CONNECTIONS)]
    peak = 0
    for number in range(ROUNDS):
        for connection, _ in connections:
            connection.sendall(b"".join(request(server, token, 2 * (number * STREAMS + i) + 1)
                                        for i in range(STREAMS)))  # fmt: skip
        for _, reader in connections:
            read_answers(reader, STREAMS)
        peak = max(peak, anonymous(server))
    if "libasan" in pathlib.Path(f"/proc/{server.process.pid}/maps").read_text():
        return  # the sanitizer retains freed memory: only the plain build is measured
    assert peak - before < PEAK, f"{(peak - before) >> 10} KiB more for {CONNECTIONS * STREAMS} requests"
    for connection, _ in connections:
        connection.close()
    # It checks every 10 seconds.
    end = time.monotonic() + LIMIT_S
    while anonymous(server) - before >= REST and time.monotonic() < end:
        assert server.ask("/healthz")[0] == 200
    assert anonymous(server) - before < REST, f"{(anonymous(server) - before) >> 10} KiB are kept"
