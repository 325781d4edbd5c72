"""The pages of a server as browsers get them."""

import gzip
import hashlib
import re
import socket
import ssl

from test_browsers import check_fields

ASSET = re.compile(r'(?:href|src)="(/assets/[^"]+)"')
LASTING = "public, max-age=31536000, immutable"


def assets(page):
    return ASSET.findall(page.decode())


def all_pages(server):
    """All linked paths, starting from the two pages."""
    found = ["/", "/docs/"]
    for page in ("/", "/docs/"):
        found += assets(server.ask(page).body)
    return sorted(set(found))


def has_swagger(server):
    """Otherwise our compact API page."""
    return b"swagger-ui" in server.ask("/docs/").body


def largest(server):
    return max(all_pages(server), key=lambda path: len(server.ask(path).body))


def test_a_page_needs_nothing_from_elsewhere(server):
    response = server.ask("/")
    assert response.status == 200
    assert response.field("content-type") == "text/html; charset=utf-8"
    check_fields(response)
    text = response.body.decode()
    assert "//" not in re.sub(r"<!.*?>", "", text), "a page asks nobody else"
    assert not re.search(r"<script>|<style>| on[a-z]+=| style=", text), "nothing stands in it itself"
    assert len(all_pages(server)) == (9 if has_swagger(server) else 7)
    for path in all_pages(server):
        assert server.ask(path).status == 200, path


def test_files_are_compressed_if_accepted(server):
    for path in all_pages(server):
        plain = server.ask(path)
        assert "content-encoding" not in plain.fields
        packed = server.ask(path, "-H", "Accept-Encoding: deflate, gzip")
        assert packed.field("content-encoding") == "gzip"
        for response in (plain, packed):
            check_fields(response)
            assert response.status == 200
            assert response.field("vary") == "Accept-Encoding"
        assert gzip.decompress(packed.body) == plain.body, path
        digest = hashlib.sha256(plain.body).hexdigest()
        assert plain.field("etag") == packed.field("etag") == f'W/"{digest}"'
        unwanted = server.ask(path, "-H", "Accept-Encoding: gzip;q=0")
        assert "content-encoding" not in unwanted.fields


def test_browsers_cache_immutable_files(server):
    for path in all_pages(server):
        response = server.ask(path)
        lasting = path.startswith("/assets/")
        assert response.field("cache-control") == (LASTING if lasting else "no-cache")
        if lasting:
            digest = hashlib.sha256(response.body).hexdigest()
            assert f".{digest[:16]}." in path


def test_unchanged_files_are_not_sent_again(server):
    for path in all_pages(server):
        tag = server.ask(path).field("etag")
        for known in (tag, tag[2:], f'"other", {tag}', "*"):
            response = server.ask(path, "-H", f"If-None-Match: {known}")
            assert (response.status, response.body) == (304, b"")
            assert response.field("etag") == tag
            assert "content-length" not in response.fields
            check_fields(response)
        assert server.ask(path, "-H", 'If-None-Match: "other"').status == 200


def test_pages_accept_only_get_and_head(server):
    head = server.ask("/", "--head")
    assert (head.status, head.body) == (200, b"")
    assert int(head.field("content-length")) == len(server.ask("/").body)
    assert server.ask(largest(server), "--head").body == b""
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        response = server.ask("/docs/", "-X", method)
        assert (response.status, response.field("allow")) == (405, "GET, HEAD")
    assert server.ask("/", "-X", "GET", "--json", "{}").status == 400
    moved = server.ask("/docs")
    assert (moved.status, moved.field("location")) == (301, "/docs/")


def test_paths_lead_nowhere_else(server):
    name = next(path for path in all_pages(server) if path.endswith(".css"))
    for path in ("/assets/../", "/assets/%2e%2e/", "/docs/../../etc/passwd", "/assets/", "/index.html",
                 "//", name + "/", name.upper(), name.replace("/assets", "/assets/."),
                 "/docs/..%2f..%2fetc%2fpasswd", "/assets%2f" + name[8:]):  # fmt: skip
        response = server.ask(path)
        assert response.status in (400, 401, 404), path
        assert "json" in response.field("content-type")


def test_each_page_has_the_policy_it_needs(server):
    policy = server.ask("/").field("content-security-policy")
    assert "unsafe" not in policy and "data:" not in policy and "script-src 'self'" in policy
    policy = server.ask("/docs/").field("content-security-policy")
    assert "script-src 'self';" in policy
    if has_swagger(server):
        assert "style-src 'self' 'unsafe-inline';" in policy and "img-src 'self' data:;" in policy


def test_a_client_that_does_not_read_blocks_no_others(server):
    """A large file is sent in chunks: a client that does not read it uses the memory of one chunk.
    """
    large = largest(server)
    context = ssl._create_unverified_context()
    lazy = []
    for _ in range(20):
        plain = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        lazy.append(context.wrap_socket(plain))
        lazy[-1].send(f"GET {large} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert server.ask("/v1/health").status == 200
    assert server.ask(large).status == 200
    for one in lazy:
        one.close()


def test_pages_are_the_same_over_http2(server):
    for path in all_pages(server):
        first, second = server.ask(path), server.ask(path, "--http2")
        assert (first.body, first.field("etag")) == (second.body, second.field("etag"))
        assert second.field("cache-control") == first.field("cache-control")
        check_fields(second)
    tag = server.ask("/").field("etag")
    assert server.ask("/", "--http2", "-H", f"If-None-Match: {tag}").status == 304
