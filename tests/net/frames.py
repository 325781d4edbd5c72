"""Hand-made HTTP/2, for clients that violate the protocol."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
ENHANCE_YOUR_CALM = 11


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    length = len(payload) if length is None else length
    return struct.pack(">I", length)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


HELLO = PREFACE + frame(SETTINGS)


def field(name, value):
    """A literal header field without indexing (names and values under 127 bytes)."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def request_block(method, **more):
    fields = {
        ":method": "POST",
        ":scheme": "https",
        ":path": f"/test.Echo/{method}",
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
        **more,
    }
    return b"".join(field(name, value) for name, value in fields.items())


def request(stream, method, **more):
    return frame(HEADERS, END_HEADERS, stream, request_block(method, **more))


def message(stream, content, flags=END_STREAM):
    return frame(DATA, flags, stream, b"\0" + struct.pack(">I", len(content)) + content)


class Reader:
    """The frames sent by the server."""

    def __init__(self, connection):
        self.connection = connection
        self.rest = b""

    def take(self, count):
        while len(self.rest) < count:
            chunk = self.connection.recv(1 << 16)
            if not chunk:
                raise EOFError
            self.rest += chunk
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def next(self):
        head = self.take(9)
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        return kind, flags, stream, self.take(struct.unpack(">I", b"\0" + head[:3])[0])

    def until_end(self):
        """All frames until the connection ends in any way."""
        frames = []
        try:
            while True:
                frames.append(self.next())
        except (EOFError, ConnectionError):
            return frames


def call(connection, method, content):
    """The response to one request on a new connection."""
    connection.sendall(HELLO + request(1, method) + message(1, content))
    reader = Reader(connection)
    while True:
        kind, flags, stream, payload = reader.next()
        if kind == DATA and stream == 1:
            return payload[5:]
