"""Headers for browsers, and what pages of other origins cannot do."""

import json

import pytest

# In every response.
FIELDS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def check_fields(response):
    for name, value in FIELDS.items():
        assert response.field(name) == value, name
    policy = response.field("content-security-policy")
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert not [name for name in response.fields if name.startswith("access-control-")]


PATHS = ["/v1/health", "/v1/tokens", "/v1/nope", "/v1//x", "/v1/health?x=1"]


@pytest.mark.parametrize("path", PATHS)
def test_every_response_forbids_caching_and_framing(server, path):
    for response in (server.ask(path), server.ask(path, "--head"), server.ask(path, "-X", "PUT")):
        check_fields(response)
        assert response.field("cache-control") == "no-store"


def test_responses_to_invalid_http_have_the_headers_too(server):
    response = server.ask("/v1/health", "-H", "Content-Length: nonsense")
    assert response.status == 400
    check_fields(response)


def test_a_host_that_is_not_this_server_is_rejected(server):
    others = ("evil.example", f"evil.example:{server.port}", "[::1]", "127.0.0.2", "localhost.evil")
    for host in others:
        for path in ("/v1/health", "/", "/v1/nodes"):
            response = server.ask(path, "-H", f"Host: {host}")
            assert (response.status, response.json()["code"]) == (421, "misdirected"), host
            check_fields(response)
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1", f"127.0.0.1:{server.port}"):
        assert server.ask("/v1/health", "-H", f"Host: {host}").status == 200, host
    # Browsers do not use the socket.
    assert server.ask("/v1/health", "-H", "Host: anything", local=True).status == 200


def test_other_origins_cannot_read_anything(server):
    preflight = ("-H", "Origin: https://evil.example", "-H", "Access-Control-Request-Method: PUT")
    for args in ((), preflight):
        for path in ("/v1/health", "/v1/nodes", "/v1/nope", "/"):
            response = server.ask(path, "-X", "OPTIONS", *args)
            assert (response.status, response.json()["code"]) == (405, "method")
            check_fields(response)
    response = server.ask("/v1/health", "-H", "Origin: https://evil.example")
    assert response.status == 200
    check_fields(response)


def test_other_origins_cannot_change_anything(server):
    own = f"https://127.0.0.1:{server.port}"
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{server.port}", own + "1"):
        response = server.ask("/v1/join", "-H", f"Origin: {origin}", "--json", "{}")
        assert (response.status, response.json()["code"]) == (403, "denied"), origin
    # This request passes the check; joining is disabled here.
    assert server.ask("/v1/join", "-H", f"Origin: {own}", "--json", "{}").status == 503


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_duplicate_security_headers_are_rejected(server, version):
    """Proxies and servers may disagree on which of the two headers counts."""
    own = f"https://127.0.0.1:{server.port}"
    for first, second in ((own, "https://evil.example"), ("https://evil.example", own), (own, own)):
        response = server.ask("/v1/join", version, "-H", f"Origin: {first}", "-H", f"Origin: {second}",
                              "--json", "{}")
        assert response.status == 400, (first, second)
        assert response.json()["detail"] == "more than one 'Origin' header"
    for name in ("Authorization", "Eden-CSRF", "If-Match", "If-None-Match", "Idempotency-Key",
                 "Content-Type", "Eden-Reason"):
        for local in (False, True):
            if local and version == "--http2":
                continue  # not on the Unix socket
            response = server.ask("/v1/session", version, "-H", f"{name}: a", "-H", f"{name.lower()}: b",
                                  local=local)
            assert response.status == 400, name
            assert response.json()["detail"] == f"more than one '{name}' header"


def test_stored_content_is_never_served_as_a_page(server):
    """A value is JSON inside JSON, whatever it contains and whichever type is requested."""
    page = "<!doctype html><script>alert(1)</script>"
    body = json.dumps({"value": page})
    assert server.local("/v1/store?key=/page.html", "-X", "PUT", "--json", body)[0] == 200
    for path in ("/v1/store?key=/page.html", "/v1/keys?prefix=/page"):
        response = server.ask(path, "-H", "Accept: text/html", local=True)
        assert response.status == 200
        assert response.field("content-type") == "application/json"
        assert page in json.dumps(response.json())
        check_fields(response)
    # Text that is echoed in an error.
    response = server.ask("/v1/store?key=%3Cscript%3E", "-H", "Accept: text/html", local=True)
    assert response.status == 404
    assert response.field("content-type") in ("application/json", "application/problem+json")
    check_fields(response)


def test_http2_gives_no_bypass(server):
    response = server.ask("/v1/health", "--http2")
    assert response.status == 200
    check_fields(response)
    response = server.ask("/v1/health", "--http2", "-H", "Host: evil.example")
    assert (response.status, response.json()["code"]) == (421, "misdirected")
    check_fields(response)
    response = server.ask("/v1/join", "--http2", "-H", "Origin: https://evil.example", "--json", "{}")
    assert response.status == 403
    assert server.ask("/v1/health", "--http2", "-X", "OPTIONS").status == 405
