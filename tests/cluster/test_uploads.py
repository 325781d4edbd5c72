"""Callers of the API who send files of sites: what one of them sends delays no others, and does not
fill the disk."""

import hashlib
import http.client
import ssl
import struct
import threading

from cluster_server import ClusterServer

KB = 1 << 10


def token_of(server, role):
    rules = [{"verbs": ["create"], "kinds": ["Blob"]}]
    assert server.api("PUT", f"/v1/roles/{role}", {"spec": {"rules": rules}})[0] == 201
    status, made = server.api("POST", "/v1/tokens", {"spec": {"purpose": "access", "roles": [role]}})
    assert status == 201, made
    return made["status"]["secret"]


def send(server, token, method, path, body):
    """Starts a request; returns the connection."""
    context = ssl.create_default_context(cafile=server.ca)
    connection = http.client.HTTPSConnection("localhost", server.api_port, timeout=60, context=context)
    connection.request(method, path, body, {"Authorization": f"Bearer {token}",
                                            "Content-Type": "application/octet-stream"})  # fmt: skip
    return connection


def put(server, token, content):
    path = "/v1/blobs/" + hashlib.sha256(content).hexdigest()
    return send(server, token, "PUT", path, content).getresponse().status


def pack(blobs):
    return b"".join(struct.pack(">I", len(blob)) + blob for blob in blobs)


def test_an_upload_of_many_files_delays_no_others(build, tmp_path):
    with ClusterServer(build, tmp_path) as server:
        token = token_of(server, "ci")
        many = pack(struct.pack(">I", number) for number in range(200_000))
        upload = send(server, token, "POST", "/v1/blobs", many)
        first = hashlib.sha256(struct.pack(">I", 0)).hexdigest()
        while server.api("POST", "/v1/blobs/missing", {"blobs": [first]})[1]["missing"]:
            pass  # it has not started yet
        assert put(server, token_of(server, "other"), b"of another caller") == 200
        ends = threading.Event()

        def wait():
            try:
                upload.getresponse()
            except (OSError, http.client.HTTPException):
                pass
            ends.set()

        threading.Thread(target=wait, daemon=True).start()
        assert not ends.is_set()
        assert server.stop() == 0
        ends.wait(60)


def test_a_caller_who_sends_too_much_is_rejected(build, tmp_path):
    settings = {"upload_bytes_per_second": 1, "upload_bytes_burst": 1024 * KB}
    with ClusterServer(build, tmp_path, settings) as server:
        first, second = token_of(server, "ci"), token_of(server, "other")
        statuses = [put(server, first, bytes([number]) * 100 * KB) for number in range(12)]
        assert statuses == 9 * [200] + 3 * [429]
        # Small files take space, too.
        assert send(server, first, "POST", "/v1/blobs", pack([b"a"])).getresponse().status == 200
        many = pack(struct.pack(">I", number) for number in range(25))
        assert send(server, first, "POST", "/v1/blobs", many).getresponse().status == 429
        assert put(server, second, b"of another caller") == 200


def test_unfinished_uploads_of_one_caller_leave_memory_for_others(build, tmp_path):
    with ClusterServer(build, tmp_path) as server:
        token, uploads = token_of(server, "ci"), []
        head = (f"POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Type: application/octet-stream\r\nContent-Length: {16384 * KB}\r\n\r\n")
        for _ in range(4):
            upload = server.connect_api()
            try:
                upload.sendall(head.encode() + bytes(16384 * KB - 1))
            except (ConnectionError, ssl.SSLError):
                pass  # it was rejected
            uploads.append(upload)
        large = send(server, token_of(server, "other"), "POST", "/v1/blobs",
                     16 * pack([bytes(1020 * KB)])).getresponse()
        assert large.status == 200
        for upload in uploads:
            upload.close()
