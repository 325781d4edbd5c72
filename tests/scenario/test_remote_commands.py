"""A cluster used from another machine: every command over HTTPS."""

import json
import queue
import re
import subprocess

import daemons
import pytest
from cluster_world import fill
from remote_server import TOKEN, RemoteServer, event, output
from test_cli_examples import examples, is_remote


# --- the examples ---------------------------------------------------------------------------------

@pytest.mark.parametrize("command", filter(
    lambda each: is_remote(each.values[0]) and "--certificate" not in each.values[0], examples()))
def test_the_example_works_from_another_machine(logged_in, remote, eden_path, tmp_path, command):
    fill(remote.cluster)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/eden").symlink_to(eden_path)
    (tmp_path / "bin/pass").write_text(f"#!/bin/sh\necho {TOKEN}\n")
    (tmp_path / "bin/pass").chmod(0o755)
    logged_in("complete", "node", "--refresh")
    line = (command.replace("https://eden1:1338", remote.url).replace("eden1", remote.url)
            .replace("sha256:9c1e...", logged_in.pin))
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=tmp_path, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=daemons.LIMIT,
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(logged_in.file.parents[2]),
             "LC_ALL": "C.UTF-8", "EDEN_TOKEN": TOKEN})
    assert done.returncode == 0, done.stderr
    assert done.stdout != ""


# --- api ------------------------------------------------------------------------------------------

def test_arbitrary_requests_can_be_made(logged_in, remote):
    done = logged_in("api", "put", "/v1/store?key=%2Ftest%2Fa", "-d", '{"value":"b"}',
                     "-H", "Eden-Reason: because")
    assert done.returncode == 0, done.stderr
    assert remote.requests[-1][2]["eden-reason"] == "because"
    assert output(logged_in, "api", "GET", "/v1/store?key=%2Ftest%2Fa")["value"] == "b"
    done = logged_in("api", "PUT", "/v1/store?key=%2Ftest%2Fa", "-f", "-", input='{"value":"c"}')
    assert done.returncode == 0
    assert "value: c" in logged_in("api", "GET", "/v1/store?key=%2Ftest%2Fa", "-o", "yaml").stdout
    done = logged_in("api", "GET", "/v1/health", "-i")
    assert done.stdout.startswith("HTTP/1.1 200 OK\n")
    assert "\n\n{" in done.stdout


def test_rejections_are_printed_and_set_the_exit_code(logged_in):
    done = logged_in("api", "GET", "/v1/nodes/nobody")
    assert done.returncode != 0
    assert json.loads(done.stdout)["status"] == 404
    assert logged_in("api", "PUT", "/v1/store?key=%2Fx", "-d", "{").returncode == 1


def test_a_response_is_printed_as_it_arrives(logged_in, remote, eden_path):
    remote.events = queue.Queue()
    process = subprocess.Popen(
        [eden_path, "api", "GET", "/v1/nodes?watch=ndjson"], stdout=subprocess.PIPE, text=True,
        env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
    try:
        remote.events.put(event("added", "web1"))
        assert json.loads(process.stdout.readline()) == event("added", "web1")
        remote.events.put(None)
        assert process.wait(daemons.LIMIT) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_response_too_long_for_another_format_is_reported(logged_in, remote):
    remote.responses["/v1/nodes"] = {"items": ["x" * (16 << 20)]}
    done = logged_in("api", "GET", "/v1/nodes", "-o", "yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "-o raw" in done.stderr
    done = logged_in("api", "GET", "/v1/nodes")
    assert (done.returncode, json.loads(done.stdout)) == (0, remote.responses["/v1/nodes"])
    remote.responses["/v1/pki"] = remote.responses["/v1/nodes"]
    done = logged_in("pki", "list")
    assert done.returncode == 1
    assert "is too large" in done.stderr


@pytest.mark.parametrize("words", [
    ["FETCH", "/v1/nodes"], ["GET", "v1/nodes"], ["GET", "/v1/no des"],
    ["GET", "/v1/nodes", "-H", "none"], ["GET", "/v1/nodes", "-H", "a b: c"],
    ["GET", "/v1/nodes", "-H", "Authorization: Bearer x"], ["GET", "/v1/nodes", "-H", "a: b\nc: d"],
    ["POST", "/v1/nodes", "-d", "{}", "-f", "x"],
])
def test_an_impossible_request_is_a_usage_error(logged_in, remote, words):
    remote.requests.clear()
    assert logged_in("api", *words).returncode == 64
    assert remote.requests == []


# --- every command --------------------------------------------------------------------------------

def test_commands_use_a_remote_server(logged_in, remote):
    fill(remote.cluster)
    assert "web2" in logged_in("nodes", "list", "-o", "name").stdout
    assert logged_in("nodes", "label", "web1", "role=web", "--reason", "new rack").returncode == 0
    method, _, fields = remote.requests[-1]
    assert (method, fields["eden-reason"]) == ("PATCH", "new rack")
    assert fields["host"] == f"127.0.0.1:{remote.port}"
    assert logged_in("facts", "--node", "web1", "os").returncode == 0
    assert logged_in("put", "/test/a", "b").returncode == 0
    assert logged_in("get", "/test/a").stdout == "b\n"
    assert logged_in("pki", "list").returncode == 0
    assert logged_in("tokens", "list").returncode == 0


def test_a_reason_is_one_line(logged_in):
    done = logged_in("put", "/test/a", "b", "--reason", "two\nlines")
    assert done.returncode == 64
    assert "--reason" in done.stderr


def test_a_watch_works_over_https(logged_in, remote, eden_path):
    watching = subprocess.Popen(
        [eden_path, "watch", "/test/", "--prefix", "--from", "1", "-o", "json"],
        stdout=subprocess.PIPE, text=True,
        env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
    try:
        remote.cluster.call("put", "/test/a", "one")
        assert json.loads(watching.stdout.readline())["value"] == "one"
        remote.cluster.call("put", "/test/a", "two")
        assert json.loads(watching.stdout.readline())["value"] == "two"
    finally:
        watching.terminate()
        watching.communicate()


def test_a_backup_works_over_https(logged_in, tmp_path):
    done = logged_in("backup", "create", tmp_path / "blue.eden")
    assert done.returncode == 0, done.stderr
    assert logged_in("backup", "verify", tmp_path / "blue.eden", "--scratch", tmp_path).returncode == 0


def test_a_server_with_another_ca_is_not_trusted(logged_in, remote, tmp_path):
    other = daemons.Cluster(remote.cluster.eden_path, tmp_path, name="s9", cluster="red")
    port = remote.port
    context = json.loads(logged_in.file.read_text())
    fake = RemoteServer(remote.cluster, shows=other)
    try:
        context["contexts"]["prod"]["server"] = fake.url
        logged_in.file.write_text(json.dumps(context))
        done = logged_in("nodes", "list")
        assert done.returncode == 4
        assert "E0814" in done.stderr and "prod" in done.stderr and fake.url in done.stderr
        assert "eden login" in done.stderr
        assert fake.requests == []
        assert port != fake.port
    finally:
        fake.close()


def test_the_next_server_is_used_if_one_is_down(logged_in, remote):
    context = json.loads(logged_in.file.read_text())
    context["contexts"]["prod"].update(server="https://127.0.0.1:1", servers=[remote.url])
    logged_in.file.write_text(json.dumps(context))
    assert logged_in("put", "/test/a", "b").returncode == 0
    context["contexts"]["prod"]["servers"] = []
    logged_in.file.write_text(json.dumps(context))
    done = logged_in("put", "/test/a", "b")
    assert done.returncode == 3
    assert "https://127.0.0.1:1 (context 'prod')" in done.stderr


def test_a_token_can_be_in_a_file(logged_in, remote, tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    context = json.loads(logged_in.file.read_text())
    del context["contexts"]["prod"]["token"]
    context["contexts"]["prod"]["token_file"] = str(tmp_path / "token")
    logged_in.file.write_text(json.dumps(context))
    assert logged_in("nodes", "list").returncode == 0
    (tmp_path / "token").unlink()
    done = logged_in("nodes", "list")
    assert done.returncode == 1
    assert re.search(r"context 'prod'.*token", done.stderr)
