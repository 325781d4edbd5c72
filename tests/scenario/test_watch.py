"""`eden watch`: every change once and in order, however the server is interrupted."""

import json
import signal
import threading

import pytest

from api_client import call, next_line, put, start
from events import wait_until


@pytest.fixture
def cluster(cluster):
    cluster.start()
    return cluster


def watch(cluster, *args):
    return start(cluster, "watch", *args, "-o", "json")


def end(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    return out, err


def test_changes_are_printed_as_they_happen(cluster):
    first = put(cluster, "/t/before", "x")
    process = watch(cluster, "/t/", "--prefix", "--from", first, "--previous")
    assert json.loads(next_line(process.stdout))["value"] == "x"
    put(cluster, "/t/a", "1")
    put(cluster, "/other", "not this")
    last = put(cluster, "/t/a", "2")
    events = [json.loads(next_line(process.stdout)) for _ in range(2)]
    assert [event["value"] for event in events] == ["1", "2"]
    assert events[0]["previous"] is None and events[1]["previous"]["value"] == "1"
    assert events[1]["revision"] == last
    end(process)


def test_invisible_characters_are_shown(cluster):
    revision = put(cluster, "/t/a", "one\nline\x1b[31m")
    process = start(cluster, "watch", "/t/a", "--from", revision)
    assert next_line(process.stdout) == f"{revision} put /t/a one\\nline\\x1b[31m\n"
    status, response = call(cluster, "DELETE", "/v1/store?key=/t/a")
    assert status == 200
    assert next_line(process.stdout) == f"{response['revision']} delete /t/a\n"
    end(process)


@pytest.mark.also_on_etcd
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_restart_leaves_no_gap_and_no_duplicates(cluster, number):
    process = watch(cluster, "/t/", "--prefix", "--from", 1)
    output, lines = [], []

    def read():
        for line in process.stdout:
            lines.append(json.loads(line))

    reader = threading.Thread(target=read)
    reader.start()
    output.append(put(cluster, "/t/first", "it stands"))
    wait_until(lambda: lines, "the first change")
    for restart in range(4):
        for i in range(25):
            output.append(put(cluster, f"/t/{i}", str(restart)))
        cluster.server.process.send_signal(number)
        cluster.server.process.wait(60)
        cluster.start()
    wait_until(lambda: len(lines) >= len(output), "all changes")
    process.send_signal(signal.SIGINT)
    reader.join(60)
    err = process.stderr.read()
    assert process.wait(60) == 130
    assert [line["revision"] for line in lines] == output
    assert "the watch was interrupted: " in err or "the server closed the watch" in err
    assert "; retrying\n" in err and "the watch resumed after " in err


def test_changes_made_during_an_outage_are_printed(cluster):
    """The restarted server has new changes before the watcher is back."""
    process = watch(cluster, "/t/", "--prefix", "--from", 1)
    put(cluster, "/t/a", "1")
    next_line(process.stdout)
    process.send_signal(signal.SIGSTOP)
    cluster.server.stop()
    cluster.start()
    put(cluster, "/t/a", "2")
    process.send_signal(signal.SIGCONT)
    assert json.loads(next_line(process.stdout))["value"] == "2"
    end(process)


def test_an_unreachable_server_is_reported(cluster):
    cluster.server.stop()
    done = cluster.call("watch", "/t/a", check=False)
    assert done.returncode == 3 and "E0810" in done.stderr


@pytest.mark.also_on_etcd
def test_compacted_changes_are_reported_as_such(cluster):
    done = cluster.call("watch", "/t/a", "--from", "1000000", "-o", "json", check=False)
    assert done.returncode == 1
    line = json.loads(done.stdout.splitlines()[0])
    assert line["event"] == "resync"
    assert "E0870" in done.stdout


def test_a_future_revision_is_not_reported_as_old(cluster):
    done = cluster.call("watch", "/t/", "--from", "1000000", check=False)
    assert done.returncode == 1
    assert "revision 1000000 does not exist yet" in done.stderr


def test_a_closed_reader_ends_it(cluster):
    process = watch(cluster, "/t/", "--prefix", "--from", 1)
    process.stdout.close()
    put(cluster, "/t/a", "1")
    assert process.wait(60) == 1


@pytest.mark.parametrize("words", [["watch"], ["watch", ""], ["watch", "a", "--from", "0"],
                                   ["watch", "a", "--from", "x"], ["watch", "a", "b"]])
def test_wrong_arguments_are_a_usage_error(eden, words):
    assert eden(*words).returncode == 64
