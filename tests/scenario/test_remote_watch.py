"""Lists followed by their changes, from another machine."""

import json
import queue
import re
import subprocess

import api_client
import daemons
import pytest
from remote_server import RemoteServer, event


@pytest.fixture
def watch(logged_in, remote, eden_path):
    """`eden nodes list --watch`, and the queue of its events."""
    remote.events = queue.Queue()
    started = []

    def start(*words):
        process = subprocess.Popen(
            [eden_path, "nodes", "list", "--watch", *words], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
        started.append(process)
        return process, remote.events

    yield start
    for process in started:
        process.kill()
        process.communicate()
    remote.events.put(None)


def test_a_list_is_followed_by_its_changes(watch, remote):
    process, events = watch("-l", "role=web")
    for each in (event("added", "web1"), event("added", "web2", "silent"), {}, event("synced")):
        events.put(each)
    assert process.stdout.readline().startswith("NAME")
    assert process.stdout.readline().split()[:2] == ["web1", "alive"]
    assert process.stdout.readline().split()[:2] == ["web2", "silent"]
    events.put(event("changed", "web2"))
    assert process.stdout.readline().split()[:3] == ["changed", "web2", "alive"]
    events.put(event("deleted", "web1"))
    assert process.stdout.readline().split() == ["deleted", "web1"]
    assert remote.requests[-1][1] == "/v1/nodes?watch=ndjson&selector=role%3Dweb"
    # When it ends, it is requested again, and everything is shown again.
    events.put(None)
    assert "retrying" in process.stderr.readline()
    for each in (event("added", "web2"), event("synced")):
        events.put(each)
    assert process.stdout.readline().startswith("NAME")
    assert process.stdout.readline().split()[:2] == ["web2", "alive"]


def started_watch(watch, *words):
    process, events = watch(*words)
    for each in (event("added", "web1"), event("synced")):
        events.put(each)
    assert process.stdout.readline().startswith("NAME")
    assert process.stdout.readline().split()[0] == "web1"
    return process, events


def test_a_watch_reports_once_that_the_server_is_down_and_back(watch, remote):
    process, events = started_watch(watch)
    remote.close()
    events.put(None)
    assert process.stderr.readline() == "the server closed the watch; retrying\n"
    line = process.stderr.readline()
    assert line.startswith(f"the watch was interrupted: {remote.url} (context 'prod'): "), line
    assert "refused" in line and line.endswith("; retrying\n"), line
    again = RemoteServer(remote.cluster, port=remote.port)
    try:
        again.events = events
        for each in (event("added", "web2"), event("synced")):
            events.put(each)
        assert re.fullmatch(r"the watch resumed after \d+ seconds?\n", process.stderr.readline())
        assert process.stdout.readline().startswith("NAME")
        assert process.stdout.readline().split()[0] == "web2"
    finally:
        again.close()


def test_a_watch_ends_when_the_token_is_revoked(watch, remote):
    process, events = started_watch(watch)
    remote.token = "eden_4l2ygazs_" + "z" * 32
    events.put(None)
    _, err = process.communicate(timeout=daemons.LIMIT)
    assert process.returncode == 4
    assert "the token has expired" in err and "'eden login'" in err


def test_a_watch_ends_at_a_server_with_another_ca(watch, remote, other_cluster):
    process, events = started_watch(watch)
    remote.close()
    fake = RemoteServer(remote.cluster, shows=other_cluster, port=remote.port)
    events.put(None)
    _, err = process.communicate(timeout=daemons.LIMIT)
    fake.close()
    assert process.returncode == 4
    assert "E0814" in err and "--ca-pin" in err
    assert fake.requests == []


def test_a_watch_stays_with_its_server_if_the_context_changes(watch, logged_in, remote):
    process, events = started_watch(watch)
    assert logged_in("context", "use", "local").returncode == 0
    events.put(None)
    assert "retrying" in process.stderr.readline()
    for each in (event("added", "web2"), event("synced")):
        events.put(each)
    assert process.stdout.readline().startswith("NAME")
    assert process.stdout.readline().split()[0] == "web2"


def test_a_watch_of_keys_stays_with_its_server_too(logged_in, remote, eden_path):
    process = subprocess.Popen(
        [eden_path, "watch", "/test/a", "--from", "1"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
    try:
        remote.cluster.call("put", "/test/a", "one")
        assert "one" in api_client.next_line(process.stdout)
        assert logged_in("context", "use", "local").returncode == 0
        remote.cluster.server.stop()
        remote.cluster.start()
        remote.cluster.call("put", "/test/a", "two")
        assert "two" in api_client.next_line(process.stdout)
    finally:
        process.kill()
        process.communicate()


def test_a_watch_on_a_socket_ends_at_another_cluster(remote, eden_path, other_cluster):
    process = subprocess.Popen(
        [eden_path, "nodes", "list", "--watch", "--run-dir", remote.cluster.run],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=daemons.environment())
    try:
        assert process.stdout.readline().startswith("NAME")
        remote.cluster.server.stop()
        other_cluster.run = remote.cluster.run
        other_cluster.start()
        _, err = process.communicate(timeout=daemons.LIMIT)
        assert process.returncode == 5, err
        assert "belongs to cluster 'red'; it previously belonged to 'blue'" in err
    finally:
        process.kill()
        process.communicate()


def test_a_watch_gives_programs_everything(watch):
    process, events = watch("-o", "json")
    reported_now = [event("added", "web1"), event("synced"), event("changed", "web1", "silent")]
    for each in reported_now:
        events.put(each)
        assert json.loads(process.stdout.readline()) == each


@pytest.mark.parametrize("form", ["yaml", "jsonpath={.metadata.name}"])
def test_a_watch_in_an_unsupported_format_is_a_usage_error(logged_in, remote, form):
    done = logged_in("nodes", "list", "--watch", "-o", form)
    assert (done.returncode, done.stdout) == (64, "")
    assert "--watch supports only -o table, name and json" in done.stderr
    assert [target for _, target, _ in remote.requests] == ["/v1/health", "/v1/session"]  # the login


@pytest.mark.parametrize("words", [["nodes", "list", "--watch"], ["audit", "tail", "--follow"]])
def test_unprintable_data_is_reported_once_and_not_as_the_servers_words(
        logged_in, remote, eden_path, words):
    remote.cluster.call("nodes", "label", "s1", "rack=7")  # something that is audited
    with open("/dev/full", "w") as full:
        done = subprocess.run([eden_path, *words], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=daemons.LIMIT,
                              env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
    assert done.returncode == 1
    assert done.stderr == "eden: standard output: cannot write: No space left on device\n"


def test_a_response_that_is_not_a_watch_ends_it(watch):
    process, events = watch()
    events.put({"metadata": {"kind": "NodeList"}, "items": []})
    out, err = process.communicate(timeout=daemons.LIMIT)
    assert process.returncode == 1
    assert "is not a watch" in err


def test_a_real_server_reports_its_nodes(logged_in, remote, eden_path):
    process = subprocess.Popen(
        [eden_path, "nodes", "list", "--watch", "--run-dir", remote.cluster.run],
        stdout=subprocess.PIPE, text=True, env=daemons.environment())
    try:
        assert process.stdout.readline().startswith("NAME")
        assert process.stdout.readline().split()[0] == "s1"
        remote.cluster.call("nodes", "label", "s1", "rack=7")
        assert "rack=7" in process.stdout.readline()
    finally:
        process.kill()
        process.communicate()
