"""An HTTP/2 client that does exactly what the test asks, valid or not. Header blocks are literal;
in responses only the status is decoded, so the server is asked not to use a dynamic table."""

import struct

import frames
from frames import (ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING,
                    RST_STREAM, SETTINGS, WINDOW, frame)

(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED,
 FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR) = range(10)
ENHANCE_YOUR_CALM = 11
TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, INITIAL_WINDOW, MAX_FRAME = range(1, 6)
FIRST_WINDOW = 16 << 10  # of one of our streams
CHUNK = 16000

# Huffman-coded digits (RFC 7541, appendix B).
DIGITS = {"00000": "0", "00001": "1", "00010": "2", "011001": "3", "011010": "4", "011011": "5",
          "011100": "6", "011101": "7", "011110": "8", "011111": "9"}
STATUSES = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}


def settings(**named):
    pairs = {"table": TABLE_SIZE, "push": ENABLE_PUSH, "window": INITIAL_WINDOW, "frame": MAX_FRAME}
    return frame(SETTINGS, 0, 0, b"".join(
        struct.pack(">HI", pairs[name], value) for name, value in named.items()))


def integer(value, bits):
    most = (1 << bits) - 1
    if value < most:
        return bytes([value])
    out, value = [most], value - most
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + [value])


def text(value):
    value = value if isinstance(value, bytes) else value.encode("latin-1")
    return integer(len(value), 7) + value


def field(name, value, first=b"\0"):
    return first + text(name) + text(value)


def block(*fields, method="GET", path="/echo", scheme="https", authority="localhost"):
    """None leaves out one of the four pseudo-headers."""
    first = {":method": method, ":scheme": scheme, ":path": path, ":authority": authority}
    given = [(name, value) for name, value in first.items() if value is not None]
    return b"".join(field(name, value) for name, value in given + list(fields))


NO_TABLE = b"\x20"
TABLE = b"\x3f\xe1\x07"  # the maximum size


def headers(stream, payload, flags=END_STREAM | END_HEADERS, table=NO_TABLE):
    """The server's table is smaller than the initial one, which a header block has to announce."""
    return frame(HEADERS, flags, stream, table + payload)


def get(stream, path="/echo", *fields):
    return headers(stream, block(*fields, path=path))


def post(stream, body, *fields, path="/echo"):
    """A body that fits the initial window."""
    length = ("content-length", str(len(body)))
    return (headers(stream, block(length, *fields, method="POST", path=path), END_HEADERS)
            + frame(DATA, END_STREAM, stream, body))


def reset(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def window(stream, size):
    return frame(WINDOW, 0, stream, struct.pack(">I", size))


def unpack_digits(packed):
    bits, out = "".join(f"{byte:08b}" for byte in packed), ""
    while len(out) < 3:
        for size in (5, 6):
            if bits[:size] in DIGITS:
                out, bits = out + DIGITS[bits[:size]], bits[size:]
                break
        else:
            raise ValueError(packed)
    return out


def status_of(payload):
    while payload[0] & 0xe0 == 0x20:  # dynamic table size update
        payload = payload[1:]
    if payload[0] & 0x80:
        return STATUSES[payload[0] & 0x7f]
    assert payload[0] & 0x0f == 8, payload
    size = payload[1] & 0x7f
    value = payload[2:2 + size]
    return int(unpack_digits(value) if payload[1] & 0x80 else value)


class Response:
    def __init__(self):
        self.status, self.body, self.ended, self.code, self.informed = None, b"", False, None, []

    def is_over(self):
        return self.ended or self.code is not None


class Client:
    """One connection. Received frames are collected in `responses` by stream."""

    def __init__(self, connection, ack=True, **named):
        self.connection = connection
        self.reader = frames.Reader(connection)
        self.responses = {}
        self.windows = {0: 65535}
        self.goaway = []  # error codes
        self.ack = ack
        self.is_closed = False
        self.send(frames.PREFACE + settings(table=0, **named))

    def send(self, *parts):
        self.connection.sendall(b"".join(parts))

    def try_to_send(self, *parts):
        """The server may have closed already."""
        try:
            self.send(*parts)
            return True
        except OSError:
            return False

    def response_to(self, stream):
        return self.responses.setdefault(stream, Response())

    def take(self):
        """Reads one frame; False at the end of the connection."""
        try:
            kind, flags, stream, payload = self.reader.next()
        except (EOFError, ConnectionError):
            self.is_closed = True
            return False
        response = self.response_to(stream)
        if kind == SETTINGS and not flags & ACK and self.ack:
            self.try_to_send(frame(SETTINGS, ACK))
        elif kind == PING and not flags & ACK:
            self.try_to_send(frame(PING, ACK, 0, payload))
        elif kind == WINDOW:
            self.windows[stream] = self.windows.get(stream, FIRST_WINDOW) \
                + struct.unpack(">I", payload)[0]
        elif kind == GOAWAY:
            self.goaway.append(struct.unpack(">I", payload[4:8])[0])
        elif kind == RST_STREAM:
            response.code = struct.unpack(">I", payload)[0]
        elif kind == HEADERS:
            status = status_of(payload)
            if status < 200:
                response.informed.append(status)
            else:
                response.status = status
        elif kind == DATA:
            response.body += payload
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            response.ended = True
        return True

    def until(self, holds):
        while not holds():
            assert self.take(), f"closed, GOAWAY {self.goaway}"

    def finish(self, stream):
        self.until(lambda: self.response_to(stream).is_over())
        return self.response_to(stream)

    def until_closed(self):
        while self.take():
            pass
        return self.goaway

    def ask(self, stream, path="/echo", *fields):
        self.send(get(stream, path, *fields))
        return self.finish(stream)

    def upload(self, bodies, path="/echo"):
        """Several bodies at a time, as far as the windows allow."""
        left = dict(bodies)
        for stream, body in bodies.items():
            self.send(headers(stream, block(("content-length", str(len(body))), method="POST",
                                            path=path), END_HEADERS))
        while left:
            moved = False
            for stream, body in list(left.items()):
                room = min(self.windows.setdefault(stream, FIRST_WINDOW), self.windows[0], CHUNK)
                if room <= 0:
                    continue
                part, rest = body[:room], body[room:]
                self.send(frame(DATA, 0 if rest else END_STREAM, stream, part))
                self.windows[stream] -= len(part)
                self.windows[0] -= len(part)
                moved = True
                if rest:
                    left[stream] = rest
                else:
                    del left[stream]
            if left and not moved:
                assert self.take()
        return [self.finish(stream) for stream in bodies]
