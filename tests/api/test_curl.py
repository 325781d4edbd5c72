"""Typical uses of the API with curl: on the Unix socket, and from outside."""

import socket
import ssl

from served import Answer


def test_a_token_from_creation_to_revocation(server):
    status, made = server.local("/v1/tokens", "--json",
                                '{"spec": {"description": "rack 7", "uses": 3}}')
    assert status == 201
    name = made["metadata"]["name"]
    assert made["status"]["secret"].startswith(name + ".")
    status, listed = server.local("/v1/tokens")
    assert status == 200
    assert [token["spec"]["description"] for token in listed["items"]] == ["rack 7"]
    assert "secret" not in listed["items"][0]["status"]
    assert server.local(f"/v1/tokens/{name}", "-X", "DELETE")[0] == 200
    assert server.local("/v1/tokens")[1]["items"] == []


def test_keys_can_be_read(server):
    assert server.local("/v1/store?key=/a", "-X", "PUT", "--json", '{"value": "b"}')[0] == 200
    status, shown = server.local("/v1/store?key=/a")
    assert (status, shown["value"], shown["version"]) == (200, "b", 1)
    status, error = server.local("/v1/store?key=/b")
    assert (status, error["code"]) == (404, "not-found")


def test_only_health_and_joining_are_public(server):
    status, health = server.outside("/v1/health")
    assert (status, health["healthy"]) == (200, True)
    for path in ("/v1/tokens", "/v1/nodes", "/v1/store?key=/a", "/v1/nodes/web1", "/v1/nope"):
        status, error = server.outside(path)
        assert (status, error["code"]) == (401, "unauthenticated"), path
    status, error = server.outside("/v1/join", "--json", "{}")
    assert (status, error["code"]) == (503, "unavailable")


def test_paths_have_one_spelling(server):
    for path in ("/v1/nodes/../health", "/v1//health", "/v1/health/", "/v1/nodes/%2e%2e"):
        status, error = server.outside(path)
        assert (status, error["type"]) == (400, "urn:eden:problem:invalid"), path


def raw(server, request):
    """Sends raw bytes on a new connection and returns the response until it ends."""
    got = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(server.socket)
        connection.sendall(request)
        while chunk := connection.recv(65536):
            got += chunk
    head, _, body = got.partition(b"\r\n\r\n")
    return Answer(head, body)


def test_http_violations_are_reported_like_other_errors(server):
    """The request is rejected before routing."""
    cases = (
        (b"hello\r\n\r\n", 400, "invalid"),
        (b"GET /v1/health HTTP/1.1\r\n\r\n", 400, "invalid"),
        (b"GET /v1/health HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400, "invalid"),
        (b"PUT /v1/store?key=a HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413,
         "too-large"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 1000 + b"\r\n", 431, "too-many-headers"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 100000, 431, "too-many-headers"),
        (b"NOSUCH / HTTP/1.1\r\nHost: a\r\n\r\n", 501, "not-implemented"),
        (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, "version"),
    )
    for request, status, code in cases:
        reply = raw(server, request)
        assert reply.field("content-type") == "application/problem+json", request[:60]
        response = reply.json()
        assert (reply.status, response["status"], response["code"]) == (status, status, code), request[:60]
        assert response["type"] == f"urn:eden:problem:{code}" and response["detail"] and response["title"]
        assert reply.field("cache-control") == "no-store"


def head_of(method, path, *fields):
    lines = (f"{method} {path} HTTP/1.1", "Host: a", *fields)
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def test_a_body_is_rejected_before_it_is_read(server):
    """Only the head is sent, and the response arrives."""
    json_type = "Content-Type: application/json"
    cases = (
        ("POST", "/v1/tokens", "65537", json_type, 413,
         "request body of 65537 bytes is too large; this endpoint accepts at most 65536"),
        ("PUT", "/v1/store?key=a", "4194305", json_type, 413, "4194305"),
        ("POST", "/v1/tokens", "2", "Content-Type: text/plain", 415, "application/json"),
        ("POST", "/v1/tokens", "2", "X-None: x", 415, "application/json"),
        ("PATCH", "/v1/config/a", "2", "Content-Type: text/plain", 415,
         "application/merge-patch+json, application/json"),
        ("GET", "/v1/nodes", "2", json_type, 400, "this endpoint does not accept a request body"),
        ("POST", "/v1/nope", "2", json_type, 404, "no such"),
    )
    for method, path, length, kind, status, content_type in cases:
        reply = raw(server, head_of(method, path, f"Content-Length: {length}", kind))
        response = reply.json()
        assert (reply.status, response["status"]) == (status, status), (method, path)
        assert content_type in response["detail"], response
        assert reply.field("content-type") == "application/problem+json"
        assert reply.field("accept") == (content_type if status == 415 else None)


def test_body_of_an_unauthenticated_request_is_not_read(server):
    """Neither a large body nor a small one is read."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for method, path, length in (("PUT", "/v1/store?key=a", 1000000), ("POST", "/v1/tokens", 2)):
        with socket.create_connection(("127.0.0.1", server.port), 30) as plain:
            with context.wrap_socket(plain) as connection:
                connection.sendall(head_of(method, path, f"Content-Length: {length}",
                                           "Content-Type: application/json")
                                   .replace(b"Host: a", b"Host: 127.0.0.1"))
                got = b""
                while chunk := connection.recv(65536):
                    got += chunk
        assert got.startswith(b"HTTP/1.1 401 ") and b"Connection: close" in got, path


def test_a_body_is_rejected_before_it_is_read_over_http2(server, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b'"' + b"x" * 200000 + b'"')
    for path, words, status, code in (
        ("/v1/join", ("--json", f"@{large}"), 413, "too-large"),
        ("/v1/join", ("-d", "{}"), 415, "media-type"),
        ("/v1/tokens", ("--json", f"@{large}"), 401, "unauthenticated"),
        # Without Content-Length: the response if it turns out to be too large.
        ("/v1/join", ("-X", "POST", "-T", "-", "-H", "Content-Type: application/json"), 413,
         "too-large"),
    ):
        with large.open("rb") as stream:
            reply = server.ask(path, "--http2", *words, stdin=stream)
        assert (reply.status, reply.json()["code"]) == (status, code), (path, words)


def test_the_same_holds_for_http_2(server, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"x" * (17 << 20))
    for words, status, code in (
        (("--data-binary", f"@{large}", "-H", "Content-Type: application/json"), 413, "too-large"),
        (("-H", "X-Large: " + "y" * 20000), 431, "too-many-headers"),
    ):
        reply = server.ask("/v1/health", "--http2", *words)
        assert (reply.status, reply.field("content-type")) == (status, "application/problem+json")
        assert (reply.json()["status"], reply.json()["code"]) == (status, code)
