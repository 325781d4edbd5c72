"""Clients that try to harm the server: they are dropped, and others are served meanwhile."""

import json
import random
import ssl
import struct
import time

import frames
import pytest

KB, MB = 1 << 10, 1 << 20


def is_served(server):
    """Another client, at the same time."""
    with server.connect() as connection:
        return frames.call(connection, "Unary", b"still there") == b"still there"


def stats(server):
    with server.connect_unix() as connection:
        return json.loads(frames.call(connection, "Stats", b""))


def are_gone(server):
    """Whether only this connection is left; a connection is gone when both ends have closed it."""
    limit = time.monotonic() + 30
    while stats(server)["connections"] > 1 and time.monotonic() < limit:
        pass
    return stats(server)["connections"] == 1


def is_closed(connection):
    """Whether the server closes it before the timeout of the socket."""
    try:
        while connection.recv(1 << 16):
            pass
        return True
    except ConnectionError:
        return True
    except ssl.SSLError:
        return True


def hello(server):
    connection = server.connect()
    connection.sendall(frames.HELLO)
    return connection


def test_noise_before_the_handshake(start_server):
    server = start_server()
    rng = random.Random(1)
    for _ in range(100):
        with server.connect_raw() as connection:
            connection.sendall(rng.randbytes(rng.randrange(1, 5000)))
            assert is_closed(connection)
    assert is_served(server)
    assert stats(server)["failed"] == 100


@pytest.mark.parametrize("start", [b"", frames.PREFACE, frames.HELLO],
                         ids=["at once", "after the preface", "after the settings"])
def test_noise_after_the_handshake(start_server, start):
    server = start_server(ping_ms=2000)
    rng = random.Random(2)
    connections = []
    for _ in range(30):
        connection = server.connect()
        connection.sendall(start + rng.randbytes(rng.randrange(1, 3000)))
        connections.append(connection)
    assert is_served(server)
    for connection in connections:
        # Some noise is an incomplete frame: the server waits for the rest, but not forever.
        assert is_closed(connection)
        connection.close()
    assert are_gone(server)


@pytest.mark.parametrize("last", [
    frames.frame(frames.DATA, 0, 1, b"x", length=1 << 23),
    frames.frame(frames.SETTINGS, 0, 0, b"xxx"),
    frames.frame(frames.PING, 0, 0, b"short"),
    frames.frame(frames.WINDOW, 0, 0, b"\0\0\0\0"),
    frames.frame(frames.CONTINUATION, 0, 1, b""),
    frames.frame(frames.HEADERS, frames.END_HEADERS, 2, frames.request_block("Unary")),
    frames.frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"),
    frames.frame(frames.WINDOW, 0, 0, b"\x7f\xff\xff\xff") * 2,
], ids=["oversized", "settings", "ping", "window", "continuation", "even stream", "hpack",
        "window overflow"])
def test_invalid_frames_close_the_connection(start_server, last):
    server = start_server()
    with hello(server) as connection:
        connection.sendall(last)
        kinds = [one[0] for one in frames.Reader(connection).until_end()]
        assert kinds[-1] == frames.GOAWAY
    assert is_served(server)


FLOODS = {
    "pings": frames.frame(frames.PING, 0, 0, b"12345678"),
    "settings": frames.frame(frames.SETTINGS, 0, 0, b"\0\3\0\0\0\1"),
    "priorities": frames.frame(frames.PRIORITY, 0, 1, b"\0\0\0\0\1"),
    "empty data": frames.frame(frames.DATA, 0, 1),
}


@pytest.mark.parametrize("name", FLOODS)
def test_frame_floods_close_the_connection(start_server, name):
    server = start_server()
    with hello(server) as connection:
        connection.sendall(frames.request(1, "Chat"))
        try:
            for _ in range(50):
                connection.sendall(FLOODS[name] * 100)
        except (ConnectionError, ssl.SSLError):
            pass
        assert is_closed(connection)
    assert is_served(server)
    assert are_gone(server)


def test_unknown_frame_types_are_ignored(start_server):
    """As the standard requires; they cost no more than their bytes."""
    server = start_server()
    with server.connect() as connection:
        connection.sendall(frames.HELLO + frames.frame(0x77, 0xff, 5, b"x" * 100) * 2000)
        connection.sendall(frames.request(1, "Unary") + frames.message(1, b"fine"))
        reader = frames.Reader(connection)
        while (got := reader.next())[0] != frames.DATA:
            assert got[0] != frames.GOAWAY
        assert got[3][5:] == b"fine"


def test_rapid_resets_close_the_connection(start_server):
    server = start_server()
    with hello(server) as connection:
        reset = struct.pack(">I", 8)
        try:
            for first in range(1, 20000, 200):
                connection.sendall(b"".join(
                    frames.request(stream, "Wait") + frames.frame(frames.RST_STREAM, 0, stream, reset)
                    for stream in range(first, first + 200, 2)))
        except (ConnectionError, ssl.SSLError):
            pass
        assert is_closed(connection)
    assert is_served(server)
    known = stats(server)
    assert known["calls"] < 5000
    assert known["waiting"] == 0


def test_an_endless_header_block_closes_the_connection(start_server):
    server = start_server()
    with hello(server) as connection:
        part = frames.field("x-a", "y" * 100) * 100
        try:
            connection.sendall(frames.frame(frames.HEADERS, 0, 1, frames.request_block("Unary")))
            for _ in range(1000):
                connection.sendall(frames.frame(frames.CONTINUATION, 0, 1, part))
        except (ConnectionError, ssl.SSLError):
            pass
        assert is_closed(connection)
    assert is_served(server)


def test_connections_stuck_in_the_handshake_are_dropped(start_server):
    """Many clients connect and send nothing; only a few are accepted at a time."""
    server = start_server(opening_max=10, grace_ms=50, opening_ms=60000)
    idle = [server.connect_raw() for _ in range(50)]
    for _ in range(3):
        assert is_served(server)
    assert stats(server)["evicted"] > 0
    for connection in idle:
        connection.close()


def test_a_handshake_has_a_timeout(start_server):
    server = start_server(opening_ms=300)
    with server.connect_raw() as silent, server.connect_raw() as halting:
        halting.sendall(b"\x16\x03\x01\x02\x00\x01")  # the start of a connection preface
        assert is_closed(silent)
        assert is_closed(halting)
    assert stats(server)["failed"] == 2


def test_a_silent_peer_is_disconnected(start_server):
    server = start_server(ping_ms=300)
    with server.connect() as silent, hello(server) as halting, hello(server) as deaf:
        # Half a frame, and a client that does not answer pings.
        halting.sendall(frames.request(1, "Unary")[:20])
        assert is_closed(silent)
        assert is_closed(halting)
        assert is_closed(deaf)
    assert is_served(server)
    assert are_gone(server)


def test_connections_of_one_origin_are_limited(start_server):
    server = start_server(per_origin_max=5)
    mine = [hello(server) for _ in range(5)]
    with pytest.raises((ConnectionError, ssl.SSLError)):
        server.connect()
    assert stats(server)["refused_origin"] == 1
    mine.pop().close()
    while stats(server)["connections"] > 5:  # these four and this client
        pass
    assert is_served(server)
    for connection in mine:
        connection.close()


def test_a_peer_that_does_not_read_uses_little_memory(start_server):
    """Four request ten gigabytes each and read nothing."""
    server = start_server()
    assert is_served(server)
    before = server.memory()
    greedy = []
    for _ in range(4):
        connection = hello(server)
        connection.sendall(frames.frame(frames.WINDOW, 0, 0, struct.pack(">I", (1 << 31) - 70000)))
        for stream in range(1, 200, 2):
            connection.sendall(frames.request(stream, "Download")
                               + frames.message(stream, b"100000 100000"))
        greedy.append(connection)
    assert is_served(server)
    while stats(server)["calls"] < 400:
        pass
    assert server.memory() - before < 4 * 16 * MB
    for connection in greedy:
        connection.close()


def test_announced_messages_cost_only_what_has_arrived(start_server):
    """A thousand streams announce a megabyte each."""
    server = start_server()
    assert is_served(server)
    before = server.memory()
    with_promises = []
    for _ in range(10):
        connection = hello(server)
        for stream in range(1, 200, 2):
            connection.sendall(frames.request(stream, "Upload") + frames.frame(
                frames.DATA, 0, stream, b"\0" + struct.pack(">I", MB) + b"x" * 100))
        with_promises.append(connection)
    assert is_served(server)
    while stats(server)["calls"] < 1000:
        pass
    assert server.memory() - before < 10 * MB
    for connection in with_promises:
        connection.close()


def test_other_protocols_are_rejected(start_server):
    server = start_server()
    old = server.tls()
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ConnectionError, ssl.SSLError)):
        old.wrap_socket(server.connect_raw(), server_hostname="localhost")
    other = ssl.create_default_context(cafile=server.certificates.path("ca.pem"))
    other.load_cert_chain(server.certificates.path("node.pem"), server.certificates.path("node.key"))
    for protocols in (["http/1.1"], None):
        if protocols:
            other.set_alpn_protocols(protocols)
        try:
            with other.wrap_socket(server.connect_raw(), server_hostname="localhost") as connection:
                assert is_closed(connection)
        except (ConnectionError, ssl.SSLError):
            pass
    with server.connect_raw() as plain:
        plain.sendall(frames.HELLO + frames.request(1, "Unary") + frames.message(1, b"x"))
        assert is_closed(plain)
    assert stats(server)["calls"] == 1


def test_two_thousand_idle_connections_cost_little(start_server):
    count = 2000
    server = start_server(per_origin_max=count + 10)
    assert is_served(server)
    before = server.memory()
    context = server.tls()
    idle = []
    for _ in range(count):
        connection = context.wrap_socket(server.connect_raw(), server_hostname="localhost")
        connection.sendall(frames.HELLO)
        idle.append(connection)
    assert stats(server)["connections"] == count + 1
    each = (server.memory() - before) / count
    assert each < 48 * KB, f"{each / KB:.1f} KB for each"
    assert is_served(server)
    for connection in idle:
        connection.close()
