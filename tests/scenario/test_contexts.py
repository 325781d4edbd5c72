"""The clusters that a user has logged in to."""

import json

import pytest
from remote_server import TOKEN, output


@pytest.mark.parametrize("words", [
    ("context", "use", "prd"), ("context", "remove", "prd"), ("logout", "prd"), ("logout",),
    ("logout", "local"), ("context", "remove", "local"), ("context", "show", "prd")])
def test_a_wrong_name_leaves_no_traces(eden, tmp_path, words):
    (tmp_path / "home").mkdir()
    done = eden(*words, env={"HOME": str(tmp_path / "home")})
    assert done.returncode == 64
    assert list((tmp_path / "home").iterdir()) == []


def test_contexts_are_listed_shown_used_and_removed(logged_in, remote):
    listed = output(logged_in, "context")
    assert [(c["name"], c["current"], c["credential"]) for c in listed["contexts"]] == [
        ("prod", True, "token 4l2ygazs"), ("local", False, "none")]
    assert logged_in("contexts", "list", "-o", "name").stdout == "prod\nlocal\n"
    shown = output(logged_in, "context", "show")
    assert (shown["servers"], shown["ca_pin"]) == ([remote.url], logged_in.pin)
    assert TOKEN not in logged_in("context", "show", "prod").stdout
    assert logged_in("context", "use", "local").returncode == 0
    assert output(logged_in, "context", "show")["name"] == "local"
    assert logged_in("nodes", "list").returncode == 3  # no server on this machine
    assert logged_in("nodes", "list", "--context", "prod").returncode == 0
    assert logged_in("nodes", "list", env={"EDEN_CONTEXT": "prod"}).returncode == 0
    assert logged_in("context", "use", "prd").returncode == 64
    assert "did you mean 'prod'" in logged_in("context", "use", "prd").stderr
    assert "did you mean 'prod'" in logged_in("logout", "prd").stderr
    done = logged_in("context", "remove", "prod")
    assert done.returncode == 0 and "eden tokens revoke" in done.stderr
    assert output(logged_in, "context")["contexts"][0]["name"] == "local"
    assert logged_in("context", "remove", "local").returncode == 64


def test_a_missing_context_is_a_usage_error(logged_in):
    done = logged_in("nodes", "list", "--context", "prd")
    assert done.returncode == 64
    assert "did you mean 'prod'" in done.stderr
    done = logged_in("nodes", "list", env={"EDEN_CONTEXT": "other"})
    assert done.returncode == 64
    assert "EDEN_CONTEXT" in done.stderr


def test_an_unreadable_ca_does_not_count_as_a_pin(logged_in):
    kept = json.loads(logged_in.file.read_text())
    kept["contexts"]["prod"]["ca"] = "gone.pem"
    logged_in.file.write_text(json.dumps(kept))
    shown = output(logged_in, "context", "show")
    assert (shown["ca_pin"], shown["ca_expires"]) == (None, None)
    assert shown["problem"].endswith("/gone.pem: No such file or directory")
    assert "problem     /" in logged_in("context", "show").stdout


@pytest.mark.parametrize("status", [401, 403])
def test_a_rejection_by_a_proxy_is_not_attributed_to_the_server(logged_in, remote, status):
    remote.responses = {target: "Blocked by the proxy" for target in ("/v1/session", "/v1/nodes/s1")}
    remote.statuses = dict.fromkeys(remote.responses, status)
    done = logged_in("nodes", "show", "s1")
    assert done.returncode == 1 and "error[E0812]" in done.stderr
    assert f"not from an eden server but from a proxy or another program, with status {status}" in done.stderr
    assert "Blocked by the proxy" in done.stderr and "eden login" not in done.stderr
    kept = logged_in.file.read_text()
    done = logged_in("login", "--token-file", "-", input=TOKEN)
    assert done.returncode == 1 and "cannot verify the token" in done.stderr
    assert "is there a proxy in between" in done.stderr and "rejected the token" not in done.stderr
    assert logged_in.file.read_text() == kept
    assert logged_in("api", "GET", "/v1/nodes/s1").returncode == 1


@pytest.mark.parametrize("words, target", [
    (["nodes", "list", "--watch"], "/v1/nodes?watch=ndjson"),
    (["audit", "tail", "--follow"], "/v1/audit?limit=1"),  # its second request
    (["watch", "/a"], "/v1/watch?key=%2Fa"),
    (["backup", "create", "here"], "/v1/backup"),
    (["pki", "revoke", "0" * 32], "/v1/pki/revoke"),
    (["pki", "rotate", "--status"], "/v1/pki"),
])
def test_permission_errors_do_not_suggest_to_log_in_again(logged_in, remote, words, target):
    remote.responses[target] = {"code": "denied", "detail": "you may not"}
    remote.statuses[target] = 403
    done = logged_in(*words)
    assert done.returncode == 4
    assert "error[E0852]: you may not\n" in done.stderr
    assert "eden login" not in done.stderr


def test_two_server_addresses_are_a_usage_error(logged_in, remote):
    done = logged_in("nodes", "list", "--context", "prod", "--run-dir", remote.cluster.run)
    assert done.returncode == 64


def test_a_run_directory_selects_the_socket_in_it(logged_in, remote):
    remote.requests.clear()
    done = logged_in("nodes", "list", "--run-dir", remote.cluster.run)
    assert done.returncode == 0, done.stderr
    assert remote.requests == []


def test_contexts_readable_by_others_are_rejected(logged_in):
    logged_in.file.chmod(0o644)
    done = logged_in("nodes", "list")
    assert done.returncode == 4
    assert "chmod 600" in done.stderr
    assert logged_in("context", "list").returncode == 4


@pytest.mark.parametrize("text, says", [
    ("{", "line 1"),
    ('{"format":"eden.contexts/2","contexts":{}}', "eden.contexts/1"),
    ('{"format":"eden.contexts/1","contexts":{"a":{"server":"https://x","tokne":"y"}}}',
     "did you mean 'token'"),
    ('{"format":"eden.contexts/1","contexts":{"a":{"server":"http://x"}}}', "https"),
    ('{"format":"eden.contexts/1","contexts":{"a":{}}}', "server: is required"),
    ('{"format":"eden.contexts/1","current":"b","contexts":{}}', "current"),
])
def test_invalid_contexts_are_reported(home, text, says):
    home.file.parent.mkdir(parents=True)
    home.file.write_text(text)
    home.file.chmod(0o600)
    done = home("nodes", "list")
    assert done.returncode == 1
    assert "contexts.json" in done.stderr and says in done.stderr
    assert "E0815" in done.stderr
