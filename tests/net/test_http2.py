"""HTTP/2 of the server, to the letter: what clients may do gets a response; violations are
rejected, either only the stream or the whole connection, and others are served meanwhile."""

import http.client
import socket
import ssl
import struct

import frames
import h2
import pytest
from frames import CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS, frame

BODY_MAX = 200000


@pytest.fixture(name="server")
def make_server(start_http):
    return start_http(body_max=BODY_MAX)


# --- Valid requests --------------------------------------------------------------------------------


def test_the_best_common_protocol_is_used(server):
    assert server.connect(["http/1.1", "h2"]).selected_alpn_protocol() == "h2"
    for protocols in (["http/1.1"], None):
        context = server.tls(protocols)
        connection = http.client.HTTPSConnection("localhost", server.port, context=context)
        connection.request("GET", "/echo?x")
        assert connection.getresponse().read().startswith(b"GET /echo?x\n")
        connection.close()
    with pytest.raises((ConnectionError, ssl.SSLError)):
        server.connect(["h3"]).recv(1)


def test_without_alpn_http2_is_not_used(server):
    for way in (lambda: server.connect(None), server.connect_raw):
        with way() as connection:
            connection.sendall(frames.HELLO + h2.get(1))
            try:
                came = b""
                while chunk := connection.recv(1000):
                    came += chunk
            except (ConnectionError, ssl.SSLError):
                pass
            assert b"200" not in came.split(b"\r\n")[0]


def test_requests_are_answered(server):
    client = server.client()
    client.send(h2.get(1, "/echo?q=1", ("cookie", "a=1"), ("x-y", "z"), ("cookie", "b=2")),
                h2.post(3, b"hello"), h2.get(5, "/nope"))
    first = client.finish(1)
    assert first.status == 200
    lines = first.body.decode().split("\n")
    assert lines[0] == "GET /echo?q=1"
    assert sorted(lines[1:-2]) == ["cookie=a=1; b=2", "host=localhost", "x-y=z"]
    assert client.finish(3).body.endswith(b"\n\nhello")
    assert client.finish(5).status == 404
    assert client.goaway == []


def test_a_head_response_has_no_body(server):
    client = server.client()
    client.send(h2.headers(1, h2.block(method="HEAD", path="/bytes?1000")),
                h2.headers(3, h2.block(method="HEAD", path="/pieces?30000")),
                h2.headers(5, h2.block(("content-length", "999999999"), method="HEAD"), END_HEADERS))
    for stream, status in ((1, 200), (3, 200), (5, 413)):
        response = client.finish(stream)
        assert (response.status, response.body) == (status, b"")


def test_a_response_arrives_in_chunks(server):
    client = server.client(window=1 << 20)
    client.send(h2.window(0, 1 << 20))
    assert len(client.ask(1, "/pieces?300000").body) == 300000
    client.send(h2.get(3, "/stays"))
    client.until(lambda: client.response_to(3).body == b"first")
    assert client.ask(5).status == 200  # meanwhile
    client.send(h2.reset(3))
    server.wait_for(gone=1)


def test_an_aborted_response_is_detected(server):
    client = server.client()
    response = client.ask(1, "/broken")
    assert (response.ended, response.code) == (False, h2.INTERNAL_ERROR)
    assert client.ask(3).status == 200


def test_expect_continue_is_supported(server):
    client = server.client()
    client.send(h2.headers(1, h2.block(("expect", "100-continue"), method="POST"), END_HEADERS))
    client.until(lambda: client.response_to(1).informed == [100])
    client.send(frame(DATA, END_STREAM, 1, b"now"))
    assert client.finish(1).body.endswith(b"\n\nnow")


def test_a_header_block_may_be_split(server):
    client = server.client()
    whole = h2.block(("x-y", "z" * 300))
    client.send(h2.headers(1, whole[:7], END_STREAM), frame(CONTINUATION, 0, 1, whole[7:50]),
                frame(CONTINUATION, 0, 1), frame(CONTINUATION, END_HEADERS, 1, whole[50:]))
    assert b"x-y=" + b"z" * 300 in client.finish(1).body


def test_padding_and_priorities_change_nothing(server):
    client = server.client()
    block = h2.block(method="POST")
    padded = b"\4" + b"\0\0\0\0\7" + h2.NO_TABLE + block + b"\0" * 4
    client.send(frame(HEADERS, END_HEADERS | 0x28, 1, padded),
                frame(DATA, END_STREAM | 8, 1, b"\3body" + b"\0" * 3))
    assert client.finish(1).body.endswith(b"\n\nbody")


def test_unknown_frame_types_are_ignored(server):
    client = server.client()
    client.send(frame(0x77, 0xff, 5, b"x" * 100) * 2000, h2.get(1))
    assert client.finish(1).status == 200


def test_large_bodies_are_processed_one_at_a_time(server):
    """More at once than there is memory for: all succeed."""
    client = server.client(window=BODY_MAX * 2)
    client.send(h2.window(0, BODY_MAX * 20))
    bodies = {stream: bytes([97 + stream % 26]) * (BODY_MAX - stream) for stream in range(1, 20, 2)}
    for (stream, body), response in zip(bodies.items(), client.upload(bodies)):
        assert response.status == 200, stream
        assert response.body.endswith(b"\n\n" + body)


def test_a_small_body_does_not_wait_for_a_large_one(server):
    """The large one has its buffer, and never completes."""
    client = server.client(window=BODY_MAX)
    client.send(h2.headers(1, h2.block(("content-length", str(BODY_MAX)), method="POST"),
                           END_HEADERS), frame(DATA, 0, 1, b"x" * h2.CHUNK))
    client.until(lambda: client.windows.get(1, 0) > h2.FIRST_WINDOW)
    client.windows[0] -= h2.CHUNK
    response, = client.upload({3: b"y" * 30000}, path="/small")
    assert response.status == 200 and response.body.endswith(b"\n\n" + b"y" * 30000)
    assert not client.response_to(1).is_over()


def test_any_small_window_works(server):
    client = server.client(window=1)
    client.send(h2.get(1, "/bytes?300"))
    while not client.response_to(1).is_over():
        before = len(client.response_to(1).body)
        client.until(lambda: len(client.response_to(1).body) > before or client.response_to(1).is_over())
        client.send(h2.window(1, 1))
    assert len(client.response_to(1).body) == 300


def test_a_window_may_become_negative(server):
    client = server.client(window=100)
    client.send(h2.get(1, "/bytes?1000"))
    client.until(lambda: len(client.response_to(1).body) == 100)
    client.send(h2.settings(window=10), h2.window(1, 90), h2.get(3))
    client.until(lambda: len(client.response_to(3).body) == 10)
    assert len(client.response_to(1).body) == 100
    client.send(h2.settings(window=100000))
    assert len(client.finish(1).body) == 1000
    assert client.finish(3).ended


# --- Invalid requests: the stream ends, the connection stays ----------------------------------------

LONG = ("content-length", "5")
BAD_BLOCKS = {
    "no method": h2.block(method=None),
    "no scheme": h2.block(scheme=None),
    "no path": h2.block(path=None),
    "no authority": h2.block(authority=None),
    "host alone": h2.block(("host", "localhost"), authority=None),
    "another host": h2.block(("host", "elsewhere")),
    "two hosts": h2.block(("host", "localhost"), ("host", "elsewhere")),
    "authority with a user": h2.block(authority="me@localhost"),
    "empty authority": h2.block(authority=""),
    "http": h2.block(scheme="http"),
    "CONNECT": h2.block(method="CONNECT", scheme=None, path=None),
    "CONNECT with a path": h2.block(method="CONNECT"),
    "CONNECT with a protocol": h2.block((":protocol", "websocket"), method="CONNECT"),
    "empty method": h2.block(method=""),
    "no word of a method": h2.block(method="G T"),
    "a method in two lines": h2.block(method="GET / HTTP/1.1\r\nx: y\r\n\r\nGET"),
    "empty path": h2.block(path=""),
    "no path but a name": h2.block(path="echo"),
    "an address": h2.block(path="https://elsewhere/echo"),
    "a path with a blank": h2.block(path="/echo x"),
    "a path with a mark": h2.block(path="/echo#x"),
    "a path in two lines": h2.block(path="/echo HTTP/1.1\r\nx: y"),
    "a path not encoded": h2.block(path="/ech\xf6"),
    "all, but not of OPTIONS": h2.block(path="*"),
    "two methods": h2.field(":method", "GET") + h2.block(),
    "two paths": h2.field(":path", "/") + h2.block(),
    "two authorities": h2.field(":authority", "localhost") + h2.block(),
    "unknown with a colon": h2.field(":version", "2") + h2.block(),
    "a status": h2.field(":status", "200") + h2.block(),
    "a colon behind": h2.field("x", "y") + h2.block(),
    "uppercase": h2.block(("X-Y", "z")),
    "empty name": h2.block(("", "z")),
    "a name with a blank": h2.block(("x y", "z")),
    "a name with a colon": h2.block(("x:y", "z")),
    "a value in two lines": h2.block(("x", "y\r\nz: a")),
    "a value with a line feed": h2.block(("x", "y\nz")),
    "a value with nothing": h2.block(("x", "y\0z")),
    "a value with blanks": h2.block(("x", " y ")),
    "connection": h2.block(("connection", "close")),
    "keep-alive": h2.block(("keep-alive", "5")),
    "proxy-connection": h2.block(("proxy-connection", "close")),
    "transfer-encoding": h2.block(("transfer-encoding", "chunked")),
    "upgrade": h2.block(("upgrade", "h2c")),
    "te": h2.block(("te", "gzip")),
    "http2-settings": h2.block(("http2-settings", "AAAA")),
    "a length without a body": h2.block(LONG),
    "two lengths": h2.block(("content-length", "0"), ("content-length", "0")),
    "a length that is none": h2.block(("content-length", "zero")),
    "a length with a sign": h2.block(("content-length", "+0")),
    "a length in a list": h2.block(("content-length", "0, 0")),
}


def is_refused(response, code=h2.PROTOCOL_ERROR):
    return response.status in (400, 501) or (response.status is None and response.code == code)


@pytest.mark.parametrize("name", BAD_BLOCKS)
def test_an_invalid_head_is_rejected(server, name):
    client = server.client()
    client.send(h2.headers(1, BAD_BLOCKS[name]))
    assert is_refused(client.finish(1)), vars(client.response_to(1))
    assert client.ask(3).status == 200
    assert server.stats()["requests"] == 1


BAD_BODIES = {
    "short": h2.headers(1, h2.block(LONG, method="POST"), END_HEADERS)
    + frame(DATA, END_STREAM, 1, b"four"),
    "long": h2.headers(1, h2.block(LONG, method="POST"), END_HEADERS)
    + frame(DATA, END_STREAM, 1, b"six...")[:15],
    "longer by and by": h2.headers(1, h2.block(LONG, method="POST"), END_HEADERS)
    + frame(DATA, 0, 1, b"four") + frame(DATA, END_STREAM, 1, b"four"),
    "trailers": h2.headers(1, h2.block(method="POST"), END_HEADERS) + frame(DATA, 0, 1, b"body")
    + h2.headers(1, h2.field("x", "y")),
    "trailers with a colon": h2.headers(1, h2.block(method="POST"), END_HEADERS)
    + h2.headers(1, h2.field(":path", "/other")),
    "trailers that do not end it": h2.headers(1, h2.block(method="POST"), END_HEADERS)
    + h2.headers(1, h2.field("x", "y"), END_HEADERS),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_an_invalid_body_is_rejected(server, name):
    client = server.client()
    client.send(BAD_BODIES[name])
    assert is_refused(client.finish(1)), vars(client.response_to(1))
    assert client.ask(3).status == 200
    assert server.stats()["requests"] == 1


@pytest.mark.parametrize("fields", [
    [(f"x-{i}", "y") for i in range(64)],
    [("x", "y" * 17000)],
    [(f"x-{i}", "y" * 1000) for i in range(17)],
], ids=["many", "long", "both"])
def test_too_many_headers_are_rejected(server, fields):
    client = server.client()
    block = h2.block(*fields)
    client.send(h2.headers(1, block[:16000], END_STREAM),
                frame(CONTINUATION, END_HEADERS, 1, block[16000:]))
    assert client.finish(1).status == 431
    assert client.ask(3).status == 200


def test_the_maximum_number_of_headers_is_accepted(server):
    client = server.client()
    assert client.ask(1, "/echo", *[(f"x-{i}", "y") for i in range(63)]).status == 200


def test_a_body_has_a_limit(server):
    client = server.client()
    client.send(h2.headers(1, h2.block(("content-length", str(BODY_MAX + 1)), method="POST"),
                           END_HEADERS))
    assert client.finish(1).status == 413
    stream = 3
    client.send(h2.headers(stream, h2.block(method="POST"), END_HEADERS))
    sent = 0
    while not client.response_to(stream).is_over():
        room = min(client.windows.setdefault(stream, h2.FIRST_WINDOW), client.windows[0], h2.CHUNK)
        if room > 0:
            client.send(frame(DATA, 0, stream, b"x" * room))
            client.windows[stream] -= room
            client.windows[0] -= room
            sent += room
        else:
            client.take()
    assert client.response_to(stream).status == 413
    assert BODY_MAX < sent < BODY_MAX + 600000
    assert client.ask(5).status == 200


STREAM_ERRORS = {
    "a window that overflows": (h2.window(1, 0x7fffffff) * 2, h2.FLOW_CONTROL_ERROR),
    "a window of nothing": (h2.window(1, 0), h2.PROTOCOL_ERROR),
}


@pytest.mark.parametrize("name", STREAM_ERRORS)
def test_some_errors_reset_only_the_stream(server, name):
    last, code = STREAM_ERRORS[name]
    client = server.client()
    client.send(h2.get(1, "/stays"), last)
    try:
        assert client.finish(1).code == code
        assert client.ask(3).status == 200
    except AssertionError:
        assert client.goaway == [code]  # also allowed
    server.wait_for(gone=1)


# --- Errors that close the connection ----------------------------------------------------------------

OPEN = h2.headers(1, h2.block(method="POST"), END_HEADERS)
FAULTS = {
    "an oversized frame": frame(DATA, 0, 1, b"x", length=1 << 23),
    "settings of no size": frame(SETTINGS, 0, 0, b"xxx"),
    "settings of a stream": frame(SETTINGS, 0, 1),
    "settings both asked and granted": frame(SETTINGS, 1, 0, b"\0\3\0\0\0\1"),
    "a push of two": h2.settings(push=2),
    "a window beyond all": h2.settings(window=1 << 31),
    "frames too small": h2.settings(frame=100),
    "a short ping": frame(frames.PING, 0, 0, b"short"),
    "a ping of a stream": frame(frames.PING, 0, 1, b"12345678"),
    "a short reset": OPEN + frame(frames.RST_STREAM, 0, 1, b"xx"),
    "a reset of nothing": h2.reset(0),
    "a reset before the begin": h2.reset(1),
    "a short window": frame(frames.WINDOW, 0, 0, b"xx"),
    "a window of nothing": h2.window(0, 0),
    "a window that overflows": h2.window(0, 0x7fffffff) * 2,
    "a window before the begin": h2.window(5, 10),
    "a short priority": frame(frames.PRIORITY, 0, 1, b"xx"),
    "a goaway of a stream": frame(frames.GOAWAY, 0, 1, b"\0" * 8),
    "a promise": frame(frames.PUSH, END_HEADERS, 1, b"\0\0\0\2" + h2.block()),
    "data of nothing": frame(DATA, 0, 0, b"x"),
    "data before the begin": frame(DATA, 0, 5, b"x"),
    "padding beyond the end": OPEN + frame(DATA, 8, 1, b"\xffx"),
    "headers of nothing": h2.headers(0, h2.block()),
    "an even stream": h2.headers(2, h2.block()),
    "headers cut short": frame(HEADERS, END_HEADERS | 0x20, 1, b"\0\0"),
    "no table": h2.headers(1, b"\xff\xff\xff\xff\xff\xff"),
    "an entry that is not there": h2.headers(1, b"\xbe"),
    "the entry 0": h2.headers(1, b"\x80"),
    "a table beyond the limit": h2.headers(1, h2.block(), table=b"\x3f\xe1\xff\x03"),
    "text packed wrongly": h2.headers(1, b"\0\x81\xff\x81\xff"),
    "more of a block that has ended": h2.get(1) + frame(CONTINUATION, END_HEADERS, 1, b""),
    "another frame within a block": h2.headers(1, h2.block(), 0) + frame(DATA, 0, 1, b"x"),
    "another stream within a block": h2.headers(1, h2.block(), 0)
    + frame(CONTINUATION, END_HEADERS, 3, b""),
    "an unknown frame within a block": h2.headers(1, h2.block(), 0) + frame(0x77, 0, 1, b"x"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_invalid_frames_close_the_connection(server, name):
    client = server.client()
    client.send(FAULTS[name])
    goaway = client.until_closed()
    assert goaway and goaway[-1] != h2.NO_ERROR
    assert server.is_served()


@pytest.mark.parametrize("stream", [5, 3, 1], ids=["the same", "left out", "left out too"])
def test_a_stream_is_used_once(server, stream):
    """Frames on closed or ignored streams are not examined."""
    client = server.client()
    assert client.ask(5).status == 200
    client.send(h2.get(stream), h2.get(7))
    assert client.finish(7).status == 200
    assert server.stats()["requests"] == 2


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                   frames.PREFACE[:-2] + b"xx", frames.PREFACE + h2.get(1),
                                   b"\0" * 100],
                         ids=["HTTP/1.1", "nearly", "without settings", "nothing"])
def test_a_bad_preface_closes_the_connection(server, first):
    with server.connect() as connection:
        connection.sendall(first)
        kinds = [one[0] for one in frames.Reader(connection).until_end()]
        assert HEADERS not in kinds
    assert server.is_served()
    assert server.stats()["requests"] == 1


def test_at_most_a_hundred_streams_are_open(server):
    client = server.client(ack=False)
    client.send(*[h2.get(stream, "/stays") for stream in range(1, 400, 2)])
    refused = [stream for stream in range(1, 400, 2)
               if not client.until(lambda s=stream: client.response_to(s).status or
                                   client.response_to(s).code is not None)
               and client.response_to(stream).code == h2.REFUSED_STREAM]
    assert refused == list(range(201, 400, 2))
    server.wait_for(held=100)
    assert server.is_served()
    # A client that has seen the limit and exceeds it does so deliberately.
    client.send(frame(SETTINGS, 1), *[h2.get(stream) for stream in range(401, 410, 2)])
    assert client.until_closed()[-1] == h2.PROTOCOL_ERROR
    server.wait_for(held=0)


# --- Shutdown ----------------------------------------------------------------------------------------


def test_a_stopping_server_sends_goaway(start_http):
    server = start_http(body_max=BODY_MAX)
    client, idle = server.client(), server.client()
    assert idle.ask(1).status == 200
    client.send(h2.get(1, "/hold"), h2.get(3, "/stays"),
                h2.headers(5, h2.block(method="POST"), END_HEADERS))
    client.until(lambda: client.response_to(3).body == b"first")
    server.wait_for(held=2)
    server.stop()
    client.until_closed()
    assert client.goaway and set(client.goaway) == {h2.NO_ERROR}
    assert (client.response_to(1).status, client.response_to(1).body) == (200, b"late")
    assert client.response_to(3).code == h2.CANCEL
    assert client.response_to(5).code == h2.REFUSED_STREAM
    assert set(idle.until_closed()) == {h2.NO_ERROR}


def test_a_disconnected_client_gets_no_response(server):
    client = server.client()
    client.send(h2.get(1, "/hold"), h2.get(3, "/stays"), h2.get(5, "/hold"))
    server.wait_for(held=3)
    client.send(h2.reset(1))
    server.wait_for(held=2, gone=1)
    client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.connection.close()
    server.wait_for(held=0, gone=3, standing=0)
