#!/usr/bin/python3
"""An audit log that uses up its share of the disk: callers are slowed down before the disk is full,
and on a full disk the log can still be archived; see test_full_disk.py.

    full_audit.py BUILD FOLDER     in its own mount namespace
"""

import http.client
import json
import pathlib
import ssl
import subprocess
import sys

import prometheus_text
from cluster_server import ClusterServer
from full_removed import is_full
from full_server import fill

DISK = 48 << 20
ENTRIES = 32000  # of about 420 bytes: more than a quarter of the disk
DAYS = 8  # older than what is always kept


def change(server, token):
    context = ssl.create_default_context(cafile=server.ca)
    connection = http.client.HTTPSConnection("localhost", server.api_port, context=context, timeout=60)
    connection.request("DELETE", "/v1/config/none", headers={"Authorization": "Bearer " + token})
    reply = connection.getresponse()
    text = reply.read()
    connection.close()
    return reply.status, json.loads(text)


def token_of(server):
    """The token of a caller with few permissions."""
    rules = [{"verbs": ["delete"], "kinds": ["Config"]}]
    role = {"metadata": {"name": "small"}, "spec": {"rules": rules}}
    assert server.api("POST", "/v1/roles", role)[0] == 201
    status, made = server.api("POST", "/v1/tokens", {"spec": {"purpose": "access", "roles": ["small"]}})
    assert status == 201
    return made["status"]["secret"]


def metrics(server):
    metrics = prometheus_text.read(subprocess.run(
        [server.eden, "api", "GET", "/metrics", "--run-dir", server.runs, "--state-dir", server.state],
        check=True, capture_output=True, text=True).stdout)  # fmt: skip
    return {name: metrics[name].value() for name in
            ("eden_audit_entries", "eden_audit_bytes", "eden_store_disk_bytes")}  # fmt: skip


def call(server, *args):
    return server.call(*args, "--run-dir", server.runs, "--state-dir", server.state)


def audit_check(server):
    done = subprocess.run([server.eden, "doctor", "-o", "json", "--run-dir", server.runs,
                           "--state-dir", server.state], capture_output=True, text=True)  # fmt: skip
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}["audit"]


def main(build, folder):
    disk = pathlib.Path(folder) / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", disk], check=True)
    server = ClusterServer(build, disk)
    subprocess.run([build / "tests/scenario/audit_filler", server.state / "server/store", str(ENTRIES),
                    str(DAYS)], check=True)  # fmt: skip
    with server:
        token = token_of(server)
        assert change(server, token)[0] == 404
        before = metrics(server)
        assert before["eden_store_disk_bytes"] == DISK
        assert before["eden_audit_bytes"] > DISK / 4, before
        statuses = [change(server, token) for _ in range(40)]
        assert 0 < [status for status, _ in statuses].count(404) <= 21
        status, response = statuses[-1]
        assert status == 429 and "the audit log is full" in response["detail"], response
        found = audit_check(server)
        assert found["state"] == "warning" and "% of the disk" in found["text"], found
        # On a full disk it can be archived, and everything else backed up and deleted.
        fill(disk / "ballast")
        assert is_full(server)
        call(server, "backup", "create", pathlib.Path(folder) / "backup")
        call(server, "audit", "archive", "--to", pathlib.Path(folder) / "archive")
        assert server.api("DELETE", "/v1/roles/small")[0] == 409
        after = metrics(server)
        assert after["eden_audit_entries"] < 2000
        assert after["eden_audit_bytes"] < DISK / 40
        assert audit_check(server)["state"] == "ok"
        call(server, "audit", "verify", pathlib.Path(folder) / "archive")
        assert server.stop() == 0


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
