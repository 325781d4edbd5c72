"""HTTP/2 clients that try to harm the server: they are dropped in time, use little memory, and
others are served meanwhile."""

import random

import h2
import pytest
from frames import CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, frame

MB = 1 << 20
BODY_MAX = MB


def flood(client, part, times=200):
    """Sends until the server closes; its output is read at the end."""
    for _ in range(times):
        if not client.try_to_send(part):
            break
    return client.until_closed()


FLOODS = {
    "pings": frame(PING, 0, 0, b"12345678"),
    "settings": h2.settings(window=70000),
    "priorities": frame(PRIORITY, 0, 1, b"\0\0\0\0\1"),
    "empty data": frame(DATA, 0, 1),
    "windows": h2.window(0, 1),
    "windows of a stream": h2.window(3, 1),
    "requests on streams that are over": h2.get(1, "/hold"),
}


@pytest.mark.parametrize("name", FLOODS)
def test_frame_floods_close_the_connection(start_http, name):
    server = start_http()
    healthy = server.client()
    client = server.client()
    client.send(h2.headers(1, h2.block(method="POST"), END_HEADERS), h2.get(3, "/stays"))
    if "over" in name:
        client.send(h2.reset(1))
    assert flood(client, FLOODS[name] * 100)[-1:] in ([h2.ENHANCE_YOUR_CALM], [])
    assert client.is_closed
    server.wait_for(standing=1)
    assert healthy.ask(1).status == 200


def requests_and_resets(first):
    return b"".join(h2.get(stream, "/hold") + h2.reset(stream)
                    for stream in range(first, first + 200, 2))


def requests_and_faults(first):
    """The server then resets the streams."""
    return b"".join(h2.get(stream, "/hold") + h2.window(stream, 0x7fffffff)
                    for stream in range(first, first + 200, 2))


def bad_requests(first):
    return b"".join(h2.headers(stream, h2.block(("X", "y"))) for stream in range(first, first + 200, 2))


@pytest.mark.parametrize("make", [requests_and_resets, requests_and_faults, bad_requests])
def test_rapid_resets_close_the_connection(start_http, make):
    server = start_http()
    healthy = server.client()
    client = server.client()
    for first in range(1, 20000, 200):
        if not client.try_to_send(make(first)):
            break
    client.until_closed()
    assert client.goaway[-1:] in ([h2.ENHANCE_YOUR_CALM], [])
    server.wait_for(standing=1, held=0)
    assert server.stats()["requests"] < 3000
    assert healthy.ask(1).status == 200


def test_an_endless_header_block_closes_the_connection(start_http):
    server = start_http()
    client = server.client()
    client.send(h2.headers(1, h2.block(), END_STREAM))
    assert flood(client, frame(CONTINUATION, 0, 1, h2.field("x", "y" * 100) * 10), 1000) != []
    empty = server.client()
    empty.send(h2.headers(1, h2.block(), END_STREAM))
    assert flood(empty, frame(CONTINUATION, 0, 1), 5000) != []
    assert server.is_served()


def test_a_header_bomb_is_not_expanded(start_http):
    """A table entry, and sixteen thousand single bytes that refer to it."""
    server = start_http()
    assert server.is_served()
    before = server.memory()
    for _ in range(20):
        client = server.client()
        block = h2.block() + h2.field("x", "y" * 900, b"\x40") + b"\xbe" * 15000
        client.send(h2.headers(1, block, table=h2.TABLE))
        assert client.until_closed() == [h2.ENHANCE_YOUR_CALM]
        client.connection.close()
    assert server.memory() - before < 5 * MB
    assert server.stats()["requests"] == 1
    assert server.is_served()


def test_a_client_that_reads_nothing_is_disconnected(start_http):
    """Neither a zero window nor an unread socket keeps a response forever."""
    server = start_http(idle_ms=400)
    client = server.client(window=0)
    client.send(h2.get(1, "/bytes?1000"), h2.get(3, "/pieces?1000"))
    assert client.finish(1).code == h2.CANCEL
    assert client.finish(3).code == h2.CANCEL
    server.wait_for(held=0, gone=1)
    assert set(client.until_closed()) == {h2.NO_ERROR}  # then idle
    deaf = server.client(window=0x7fffffff)
    deaf.send(h2.window(0, 0x7fff0000 - 65535), h2.get(1, "/pieces?60000000"))
    server.wait_for(held=0, gone=2, standing=0)
    assert server.is_served()


def test_a_slow_reader_is_not_disconnected(start_http):
    server = start_http(idle_ms=1500)
    client = server.client(window=1)
    client.send(h2.get(1, "/bytes?20"))
    for count in range(1, 20):
        client.until(lambda want=count: len(client.response_to(1).body) == want)
        client.send(h2.window(1, 1))
    assert len(client.finish(1).body) == 20


def test_a_request_has_a_timeout(start_http):
    server = start_http(request_ms=300)
    client = server.client()
    client.send(h2.headers(1, h2.block(method="POST"), END_HEADERS), frame(DATA, 0, 1, b"x"))
    assert client.finish(1).status == 408
    assert client.ask(3).status == 200
    client.send(h2.headers(5, h2.block(), END_STREAM))
    assert client.until_closed()[-1] == h2.ENHANCE_YOUR_CALM
    halting = server.client(ack=False)
    halting.send(h2.get(1)[:30])
    assert halting.until_closed()[-1] == h2.ENHANCE_YOUR_CALM
    silent = server.connect()
    assert silent.recv(1000) != b""
    while silent.recv(1000):
        pass
    assert server.is_served()


def test_an_idle_client_is_disconnected(start_http):
    server = start_http(idle_ms=300)
    client = server.client()
    assert client.ask(1).status == 200
    assert set(client.until_closed()) == {h2.NO_ERROR}
    server.wait_for(standing=0)


def test_unread_responses_use_little_memory(start_http):
    """Twenty request a hundred megabytes each and read nothing."""
    server = start_http()
    assert server.is_served()
    before = server.memory()
    greedy = [server.client(window=0) for _ in range(20)]
    for client in greedy:
        client.send(*[h2.get(stream, f"/bytes?{MB}") for stream in range(1, 200, 2)])
    for client in greedy:
        client.until(lambda one=client: one.response_to(1).status == 200)
    assert server.is_served()
    assert server.memory() - before < 20 * 2 * MB
    assert server.stats()["requests"] < 20 * 4
    # The others get their turn once the first is read.
    client = greedy[0]
    client.send(h2.settings(window=0x7fffffff), h2.window(0, 0x7fff0000 - 65535))
    for stream in range(1, 200, 2):
        assert len(client.finish(stream).body) == MB


def test_responses_have_a_total_limit(start_http):
    server = start_http(memory_max=4 * MB)
    greedy = [server.client(window=0) for _ in range(10)]
    for client in greedy:
        client.send(h2.get(1, f"/bytes?{MB}"))
    while server.stats()["requests"] < 10 or server.stats()["standing"] > 4:
        pass
    assert server.is_served()
    standing = [client for client in greedy if client.try_to_send(h2.settings(window=2 * MB))]
    for client in standing:
        client.try_to_send(h2.window(0, 2 * MB))
        while client.take() and not client.response_to(1).is_over():
            pass
    # The small response in between may have exceeded the limit, too.
    assert 3 <= sum(len(client.response_to(1).body) == MB for client in standing) <= 4


def test_requests_are_served_fairly(start_http):
    """One connection processes only a few requests at a time."""
    server = start_http()
    client = server.client()
    client.send(*[h2.get(stream, "/hold") for stream in range(1, 200, 2)])
    server.wait_for(held=16)
    client.send(*[h2.reset(stream) for stream in range(1, 33, 2)])
    server.wait_for(held=16, gone=16)
    assert server.is_served()


@pytest.mark.parametrize("ack", [True, False], ids=["with windows", "without"])
def test_endless_bodies_use_little_memory(start_http, ack):
    """Ten send a hundred bodies each, as far as windows allow, or beyond them."""
    server = start_http(body_max=BODY_MAX)
    assert server.is_served()
    before = server.memory()
    greedy = []
    for _ in range(10):
        client = server.client(ack=ack)
        for stream in range(1, 200, 2):
            client.send(h2.headers(stream, h2.block(method="POST"), END_HEADERS))
        if ack:
            client.send(frame(PING, 0, 0, b"12345678"))
            client.until(lambda one=client: len(one.windows) > 0)
        for _ in range(8):
            if not client.try_to_send(*[frame(DATA, 0, stream, b"x" * 8000)
                                        for stream in range(1, 200, 2)]):
                break
        greedy.append(client)
    assert server.is_served()
    assert server.memory() - before < 10 * 8 * MB
    for client in greedy:
        client.connection.close()
    server.wait_for(standing=0)


def test_connections_have_a_total_memory_limit(start_http):
    """The memory of all connections is limited together; each still may use a little."""
    server = start_http(memory_max=2 * MB)
    keeping = []
    for _ in range(40):
        client = server.client()
        for stream in range(1, 24, 2):
            client.send(h2.headers(stream, h2.block(method="POST"), END_HEADERS),
                        frame(DATA, 0, stream, b"x" * 8000))
        client.send(frame(PING, 0, 0, b"12345678"))
        keeping.append(client)
    assert server.is_served()
    client = keeping[-1]
    client.until(lambda: 23 in client.responses)
    assert client.finish(23).code == h2.REFUSED_STREAM
    client.send(frame(DATA, END_STREAM, 1, b"end"))
    assert client.finish(1).status == 200


@pytest.mark.parametrize("seed", range(5))
def test_random_frames_do_not_break_the_server(start_http, seed):
    """Frames of every type with random content."""
    server = start_http(idle_ms=1000, request_ms=1000)
    rng = random.Random(seed)
    for _ in range(20):
        client = server.client()
        noise = b""
        for _ in range(rng.randrange(1, 60)):
            kind = rng.randrange(11)
            payload = rng.randbytes(rng.choice((0, 4, 5, 6, 8, 20, 200)))
            if kind == HEADERS and rng.random() < 0.8:
                payload = h2.block(("x", "y"), method=rng.choice(("GET", "POST")),
                                   path=rng.choice(("/echo", "/stays", "/pieces?99999", "/hold")))
            noise += frame(kind, rng.choice((0, 1, 4, 5, 5, 8, 0x20)),
                           rng.choice((0, 1, 1, 3, 3, 5, 7)), payload)
        client.try_to_send(noise)
        client.connection.close()
    assert server.is_served()
    server.wait_for(standing=0, held=0)
