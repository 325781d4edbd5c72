"""Hostile clients on each listener of a real server: its memory use stays small, and others are
served meanwhile."""

import ctypes
import json
import os
import pathlib
import random
import re
import resource
import select
import socket
import ssl
import struct
import subprocess
import sys

import pytest
from cluster_server import ClusterServer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "net"))

import frames  # noqa: E402
import h2  # noqa: E402

MB = 1 << 20
IDLE = 10000  # connections that send nothing
IDLE_TLS = int(os.environ.get("EDEN_IDLE", "500"))  # that have completed the handshake
SANITIZED = os.environ.get("EDEN_SANITIZED") == "yes"


def status_request(stream, path="/eden.v1.Store/Status"):
    return frames.request(stream, "", **{":path": path, "eden-protocol": "1"})


def are_served(server):
    """Another client on each listener, at the same time."""
    with server.connect() as node:
        node.sendall(frames.HELLO + status_request(1) + frames.message(1, b""))
        reader = frames.Reader(node)
        while reader.next()[0] != frames.DATA:
            pass
    with server.connect_api() as anybody:
        anybody.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert anybody.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert server.api("GET", "/v1/nodes")[0] == 200


def grew(server, before):
    """Megabytes; not measurable under a sanitizer, which retains freed memory."""
    return 0 if SANITIZED else (server.memory() - before) / MB


def is_closed(connection):
    """Whether the server closes it before the timeout of the socket."""
    try:
        while connection.recv(1 << 16):
            pass
        return True
    except (ConnectionError, ssl.SSLError):
        return True


RAW = {
    "rpc": lambda server: server.connect_raw(server.rpc_port),
    "api": lambda server: server.connect_raw(server.api_port),
    "unix": lambda server: server.connect_unix(),
}
INSIDE = {
    "rpc": lambda server: server.connect(),
    "api": lambda server: server.connect_api(),
    "unix": lambda server: server.connect_unix(),
}


@pytest.mark.parametrize("listener", RAW)
def test_noise_before_the_handshake(server, listener):
    are_served(server)
    before = server.memory()
    rng = random.Random(1)
    for _ in range(200):
        with RAW[listener](server) as connection:
            connection.sendall(b"\0" + rng.randbytes(rng.randrange(1, 5000)))
            assert is_closed(connection)
    are_served(server)
    assert grew(server, before) < 10


@pytest.mark.parametrize("listener", INSIDE)
def test_garbage_after_the_handshake(server, listener):
    are_served(server)
    before = server.memory()
    rng = random.Random(2)
    start = {"rpc": frames.HELLO, "api": b"GET ", "unix": b"POST "}[listener]
    connections = []
    for _ in range(100):
        connection = INSIDE[listener](server)
        try:
            connection.sendall(start + rng.randbytes(rng.randrange(1, 20000)))
        except (ConnectionError, ssl.SSLError):
            pass
        connections.append(connection)
    are_served(server)
    assert grew(server, before) < 20
    for connection in connections:
        connection.close()


class KeyUpdates:
    """An unauthenticated API client that uses libssl, because Python's ssl module cannot send key
    updates.
    """

    def __init__(self, server):
        self.library = ctypes.CDLL("libssl.so.3")
        for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.socket = server.connect_raw(server.api_port)
        self.socket.setblocking(True)
        context = self.library.SSL_CTX_new(ctypes.c_void_p(self.library.TLS_client_method()))
        self.ssl = ctypes.c_void_p(self.library.SSL_new(ctypes.c_void_p(context)))
        assert self.library.SSL_set_fd(self.ssl, self.socket.fileno()) == 1
        assert self.library.SSL_connect(self.ssl) == 1

    def send(self, count):
        for _ in range(count):
            assert self.library.SSL_key_update(self.ssl, 0) == 1
            if self.library.SSL_do_handshake(self.ssl) != 1:
                break

    def is_answered(self):
        request = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        response = ctypes.create_string_buffer(1000)
        return (self.library.SSL_write(self.ssl, request, len(request)) == len(request)
                and self.library.SSL_read(self.ssl, response, 999) > 0
                and response.value.startswith(b"HTTP/1.1 200 "))  # fmt: skip


def test_a_flood_of_key_updates_ends_the_connection(server):
    """OpenSSL used to process everything that arrived, 40,000 per second, and no other client was
    served.
    """
    anonymous = KeyUpdates(server)
    anonymous.send(10)
    assert anonymous.is_answered()
    anonymous.send(200)
    assert not anonymous.is_answered()
    are_served(server)


HALF = {
    "rpc": frames.HELLO + status_request(1)[:30],
    "api": b"POST /v1/join HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
    "unix": b"GET /v1/nodes HTTP/1.1\r\nHo",
}


@pytest.mark.parametrize("listener", INSIDE)
def test_incomplete_requests_do_not_delay_others(server, listener):
    are_served(server)
    before = server.memory()
    halves = [INSIDE[listener](server) for _ in range(80)]
    for connection in halves:
        connection.sendall(HALF[listener])
    are_served(server)
    assert grew(server, before) < 20
    for connection in halves:
        connection.close()


def test_a_request_that_never_completes_times_out(server):
    """Occasional bytes do not keep a connection open longer than a request may take: neither in the
    head nor in the body, chunked or not."""
    starts = (
        b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST /v1/join HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
        b"Content-Type: application/json\r\n\r\n{",
        b"POST /v1/join HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n{",
    )
    slow = []
    for listener in ("api", "unix"):
        for start in starts:
            slow.append(INSIDE[listener](server))
            slow[-1].sendall(start)
            slow[-1].settimeout(1)
    for _ in range(100):
        for connection in list(slow):
            try:
                connection.sendall(b"x")
                printed = connection.recv(1000)
                assert printed == b"" or printed.startswith(b"HTTP/1.1 408 "), printed
                slow.remove(connection)
            except TimeoutError:
                pass
            except (ConnectionError, ssl.SSLError):
                slow.remove(connection)
        if not slow:
            break
        are_served(server)
    assert not slow


def test_oversized_messages_are_rejected(server):
    before = server.memory()
    # A transaction of a gigabyte is announced.
    with server.connect() as node:
        node.sendall(frames.HELLO + status_request(1, "/eden.v1.Store/Txn") + frames.frame(
            frames.DATA, 0, 1, b"\0" + struct.pack(">I", 1 << 30) + b"x" * 1000))  # fmt: skip
        reader = frames.Reader(node)
        while True:
            kind, _, stream, payload = reader.next()
            if kind in (frames.HEADERS, frames.RST_STREAM) and stream == 1:
                break
    for listener in ("api", "unix"):
        for request in (
            b"POST /v1/join HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n",
            b"GET /v1/health HTTP/1.1\r\nHost: x\r\n" + b"A: " + b"x" * (1 << 20) + b"\r\n\r\n",
            b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        ):
            with INSIDE[listener](server) as connection:
                try:
                    connection.sendall(request)
                    response = connection.recv(1000)
                    assert response == b"" or response.startswith(b"HTTP/1.1 4"), response
                except (ConnectionError, ssl.SSLError):
                    pass
    are_served(server)
    assert grew(server, before) < 20


def send_half_messages(node, streams):
    """Sends all but the last byte of a message on each stream of a session, as far as the server
    accepts it; returns the number of bytes."""
    size = 2 * MB
    node.sendall(frames.HELLO + b"".join(
        status_request(stream, "/eden.v1.Session/Session")
        + frames.frame(frames.DATA, 0, stream, b"\0" + struct.pack(">I", size)) for stream in streams))
    windows = dict.fromkeys([0, *streams], (1 << 16) - 1 - 5 * len(streams))
    missing = dict.fromkeys(streams, size - 1)
    reader = frames.Reader(node)
    while missing:
        for stream in missing:
            part = min(windows[0], windows[stream], missing[stream], 1 << 14)
            if part > 0:
                node.sendall(frames.frame(frames.DATA, 0, stream, bytes(part)))
                windows[0] -= part
                windows[stream] -= part
                missing[stream] -= part
        for stream in [stream for stream in missing if missing[stream] == 0]:
            del missing[stream]
        if missing and not any(min(windows[0], windows[stream]) > 0 for stream in missing):
            kind, flags, stream, payload = reader.next()
            if kind == frames.WINDOW:
                windows[stream] = windows.get(stream, 0) + struct.unpack(">I", payload)[0]
            elif kind == frames.RST_STREAM or flags & frames.END_STREAM and kind == frames.HEADERS:
                missing.pop(stream, None)


def test_incomplete_messages_of_a_node_are_bounded_over_all_its_connections(server):
    """Each of the 32 connections of a node used to hold 8 MiB."""
    files = server.join("web1")
    before = server.memory()
    connections = [server.connect(*files) for _ in range(32)]
    for node in connections:
        send_half_messages(node, [1, 3, 5, 7])
    are_served(server)
    assert grew(server, before) < 40
    for node in connections:
        node.close()


def length_field(number, text):
    """A protobuf field; the text is shorter than 16384 bytes."""
    return bytes([number << 3 | 2, len(text) & 127 | 128, len(text) >> 7]) + text


def csr_of(key):
    return subprocess.run(["openssl", "req", "-new", "-key", key, "-subj", "/CN=x"], check=True,
                          capture_output=True).stdout  # fmt: skip


def renew(node, reader, stream, request):
    """Whether a certificate was returned."""
    node.sendall(status_request(stream, "/eden.v1.Pki/Renew") + frames.message(stream, request))
    given = False
    while True:
        kind, flags, of, payload = reader.next()
        if kind == frames.DATA and of == stream:
            given = b"BEGIN CERTIFICATE" in payload
            node.sendall(frames.frame(frames.WINDOW, 0, 0, struct.pack(">I", len(payload))))
        elif kind == frames.HEADERS and of == stream and flags & frames.END_STREAM:
            return given


def test_a_node_that_renews_repeatedly_has_to_wait(server):
    """Each renewal costs a signature and a write to the store."""
    certificate, key = server.join("web1")
    request = length_field(1, b"web1") + length_field(2, csr_of(key))
    with server.connect(certificate, key) as node:
        node.sendall(frames.HELLO)
        reader = frames.Reader(node)
        given = [renew(node, reader, 2 * i + 1, request) for i in range(200)]
    assert given[:30] == [True] * 30
    assert given.count(True) < 100, "a certificate in six seconds, behind the first thirty"
    are_served(server)
    # Other nodes are not delayed.
    certificate, key = server.join("web2")
    request = length_field(1, b"web2") + length_field(2, csr_of(key))
    with server.connect(certificate, key) as node:
        node.sendall(frames.HELLO)
        assert renew(node, frames.Reader(node), 1, request)


def open_session(server, name):
    """The session of a node that never answers."""
    node = server.connect(*server.join(name))
    hello = (b"\x08\x01" + length_field(2, name.encode()) + b"\x31" + struct.pack("<Q", 7))
    node.sendall(frames.HELLO + status_request(1, "/eden.v1.Session/Session")
                 + frames.message(1, length_field(1, hello), 0))
    reader = frames.Reader(node)
    while reader.next()[0] != frames.DATA:
        pass
    return node


def token_for(server, *roles):
    status, made = server.api("POST", "/v1/tokens", {"spec": {"purpose": "access", "roles": roles}})
    assert status == 201, made
    return made["status"]["secret"]


def test_one_caller_leaves_capacity_for_others(server):
    """Pings of an unresponsive node take ten seconds."""
    rules = [{"verbs": ["ping"], "kinds": ["Node"]}]
    assert server.api("POST", "/v1/roles", {"metadata": {"name": "pinger"},
                                            "spec": {"rules": rules}})[0] == 201
    bearer = ("authorization", "Bearer " + token_for(server, "pinger"))
    ping = h2.block(bearer, method="POST", path="/v1/nodes/mute/ping")
    context = ssl.create_default_context(cafile=server.ca)
    context.set_alpn_protocols(["h2"])
    with open_session(server, "mute"):
        connections = [context.wrap_socket(server.connect_raw(server.api_port),
                                           server_hostname="localhost") for _ in range(70)]
        for connection in connections:
            connection.sendall(frames.HELLO + b"".join(h2.headers(2 * i + 1, ping) for i in range(16)))
        # One of them is rejected, so all earlier ones were processed.
        reader = frames.Reader(connections[-1])
        while reader.next()[0] != frames.HEADERS:
            pass
        are_served(server)
        for connection in connections:
            connection.close()


def answer_there(connection):
    return bool(select.select([connection], [], [], 0)[0])


@pytest.mark.parametrize("listener", ["api", "unix"])
def test_a_gigabyte_in_chunks_is_rejected(server, listener):
    """As soon as it exceeds the limit of the listener; the rest is discarded."""
    are_served(server)
    before = server.memory()
    peers = [INSIDE[listener](server) for _ in range(8)]
    for peer in peers:
        peer.sendall(b"POST /v1/join HTTP/1.1\r\nHost: localhost\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
    chunk = b"100000\r\n" + b"x" * MB + b"\r\n"
    waiting = list(peers)
    for _ in range(1024):
        for peer in list(waiting):
            try:
                peer.sendall(chunk)
                if not answer_there(peer):
                    continue
                assert peer.recv(1000).startswith(b"HTTP/1.1 413 ")
            except (ConnectionError, ssl.SSLError):
                pass
            waiting.remove(peer)
        if not waiting:
            break
    assert not waiting
    are_served(server)
    assert grew(server, before) < 64
    for peer in peers:
        peer.close()


@pytest.mark.parametrize("listener", ["api", "unix"])
def test_a_hundred_thousand_headers_are_rejected(server, listener):
    are_served(server)
    before = server.memory()
    head = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n"
    head += b"".join(b"x%d: y\r\n" % number for number in range(100000)) + b"\r\n"
    for _ in range(20):
        with INSIDE[listener](server) as peer:
            try:
                peer.sendall(head)
                assert peer.recv(1000).startswith(b"HTTP/1.1 431 ")
            except (ConnectionError, ssl.SSLError):
                pass
    are_served(server)
    assert grew(server, before) < 20


@pytest.mark.parametrize("listener", ["api", "unix"])
def test_a_client_that_sends_but_never_reads_is_throttled(server, listener):
    are_served(server)
    before = server.memory()
    many = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000
    peers = []
    for _ in range(10):
        peer = INSIDE[listener](server)
        peer.settimeout(0.5)
        with pytest.raises((TimeoutError, ssl.SSLError)):
            for _ in range(2000):
                peer.sendall(many)
        peers.append(peer)
        are_served(server)
    assert grew(server, before) < 20
    for peer in peers:
        peer.close()
    are_served(server)


def test_unread_responses_are_bounded(server):
    """Large responses that only operators can get; the server buffers 64 MB of them."""
    for number in range(16):
        done, _ = server.api("PUT", f"/v1/store?key=/big/{number}", {"value": "x" * (MB // 2)})
        assert done == 200
    are_served(server)
    before = server.memory()
    peers = []
    for _ in range(40):
        peer = server.connect_unix()
        peer.sendall(b"GET /v1/keys?prefix=/big HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert peer.recv(12) == b"HTTP/1.1 200"
        peers.append(peer)
    are_served(server)
    assert grew(server, before) < 160
    for peer in peers:
        peer.close()
    are_served(server)


def peak(server):
    """Bytes that were resident at most."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10


def test_concurrent_lists_of_one_caller_do_not_fill_the_memory(server):
    """Each request needs memory for the facts and for the result; formerly all used it at the same
    time.
    """
    for number in range(30):
        value = json.dumps({"text": ["x" * 1000] * 900})
        assert server.api("PUT", f"/v1/store?key=/eden/facts/n{number}", {"value": value})[0] == 200
    token = token_for(server, "viewer")
    request = ("GET /v1/facts?limit=500 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               f"Authorization: Bearer {token}\r\n\r\n")
    are_served(server)
    before = peak(server)
    peers = [server.connect_api() for _ in range(80)]
    for peer in peers:
        peer.sendall(request.encode())
    are_served(server)
    for peer in peers:  # a response, or a disconnect: the server buffers 64 MB of them
        assert select.select([peer], [], [], 60)[0]
        peer.close()
    assert SANITIZED or (peak(server) - before) / MB < 400


def test_excess_watches_are_rejected_with_retry_after(server):
    raise_limit()
    watch = b"GET /v1/watch?prefix=/x HTTP/1.1\r\nHost: localhost\r\n\r\n"
    watching = []
    for _ in range(4096):
        watching.append(server.connect_unix())
        watching[-1].sendall(watch)
        assert watching[-1].recv(12) == b"HTTP/1.1 200"
    with server.connect_unix() as late:
        late.sendall(watch)
        printed = late.recv(4096)
        assert printed.startswith(b"HTTP/1.1 429 ") and b"\r\nRetry-After: " in printed
    are_served(server)
    watching.pop().close()
    for _ in range(1000):
        with server.connect_unix() as again:
            again.sendall(watch)
            if again.recv(12) == b"HTTP/1.1 200":
                break
    else:
        pytest.fail("the place of one that has left is not given to another")
    for one in watching:
        one.close()


def raise_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < IDLE * 2 - 1:
        pytest.fail(f"this test needs {IDLE * 2} descriptors, and may have {hard} (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def idle_connections(server, listener, count):
    """From many addresses, because one address may open only a few; not all of them need to succeed."""
    idle = []
    for number in range(count):
        if listener == "unix":
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            place = str(server.socket)
        else:
            connection = socket.socket()
            connection.bind((f"127.0.1.{1 + number % 100}", 0))
            place = ("127.0.0.1", server.rpc_port if listener == "rpc" else server.api_port)
        if listener == "unix":
            connection.connect(place)  # blocks as long as it takes
        else:
            connection.setblocking(False)
            connection.connect_ex(place)
        idle.append(connection)
    return idle


@pytest.mark.parametrize("listener", RAW)
def test_ten_thousand_idle_connections_are_harmless(server, listener):
    raise_limit()
    are_served(server)
    before = server.memory()
    idle = idle_connections(server, listener, IDLE)
    are_served(server)
    are_served(server)
    assert grew(server, before) < 128
    for connection in idle:
        connection.close()
    are_served(server)


@pytest.mark.parametrize("listener", ["rpc", "api"])
def test_many_idle_connections_with_tls_cost_little(build, tmp_path, listener):
    raise_limit()
    settings = {"connections_per_address": IDLE_TLS + 10}
    with ClusterServer(build, tmp_path, settings=settings) as server:
        are_served(server)
        before = server.memory()
        idle = [INSIDE[listener](server) for _ in range(IDLE_TLS)]
        are_served(server)
        each = grew(server, before) * 1024 / IDLE_TLS
        print(f"{listener}: {each:.1f} KB for each of {IDLE_TLS}")
        assert each < 48
        for connection in idle:
            connection.close()
        are_served(server)


def test_all_allowed_file_descriptors_are_used(build, tmp_path):
    few = ["prlimit", "--nofile=100:1000"]
    with ClusterServer(build, tmp_path, before=few) as server:
        idle = [server.connect_unix() for _ in range(500)]
        are_served(server)
        for connection in idle:
            connection.close()


def test_connections_of_one_address_are_limited(server):
    mine = [server.connect_api() for _ in range(256)]
    with pytest.raises((ConnectionError, ssl.SSLError)):
        server.connect_api()
    # Other addresses are not affected.
    context = ssl.create_default_context(cafile=server.ca)
    context.set_alpn_protocols(["http/1.1"])
    raw = socket.create_connection(("127.0.0.1", server.api_port), 60, ("127.0.2.1", 0))
    with context.wrap_socket(raw, server_hostname="localhost") as other:
        other.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert other.recv(1000).startswith(b"HTTP/1.1 200 ")
    for connection in mine:
        connection.close()
    are_served(server)


def test_bodies_of_unauthenticated_clients_leave_room_for_others(server):
    """Webhooks are public, and have bodies of up to 1 MiB."""
    head = (b"POST /v1/sources/site/webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1048576\r\n\r\n")  # fmt: skip
    before, clients = server.memory(), []
    for _ in range(80):
        client = server.connect_api()
        try:
            client.sendall(head + b"x" * (MB - 1))
        except (ConnectionError, ssl.SSLError):
            pass
        clients.append(client)
    are_served(server)
    assert grew(server, before) < 30
    for client in clients:
        client.close()
