"""Machines that join a cluster, with real processes on loopback."""

import json
import shlex
import subprocess

import machines
import cluster_world
import daemons
import pytest


@pytest.fixture
def running(cluster):
    cluster.start()
    return cluster


@pytest.fixture
def web(running):
    return machines.Machine(running, "web1")


def names(cluster):
    return [node["metadata"]["name"] for node in json.loads(
        cluster.call("nodes", "list", "-o", "json").stdout)["items"]
        if node["status"]["state"] in ("alive", "silent")]


def start_join(machine, *words):
    """One that keeps running, with its messages to be read."""
    return subprocess.Popen(
        [machine.cluster.eden_path, "join", "--server", f"127.0.0.1:{machine.cluster.api_port}",
         "--name", machine.name, "--state-dir", machine.state, *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=daemons.environment())


def end(process):
    out, messages = process.communicate(timeout=daemons.LIMIT)
    return process.returncode, out, messages


@pytest.mark.also_on_etcd
def test_the_line_printed_by_tokens_create_joins_a_node(running, web):
    """As a shell runs it. The token is not among the arguments, which other users can read."""
    line = running.call("tokens", "create").stdout.strip()
    before, _, command = line.partition(" eden join ")
    assert before.startswith("EDEN_JOIN_TOKEN=") and before.split("=")[1] not in command
    done = subprocess.run(
        ["/bin/sh", "-c", f'eden() {{ {shlex.quote(running.eden_path)} "$@"; }}\n'
         f"{line} --state-dir {shlex.quote(str(web.state))} --name web1"],
        capture_output=True, text=True, check=True, env=daemons.environment())
    assert done.stdout == "this machine is node 'web1' of cluster 'blue'\n"
    assert names(running) == ["s1", "web1"]
    assert sorted(path.name for path in (web.state / "agent").iterdir()) == [
        "ca.pem", "joining", "node.json", "node.pem"]
    assert (web.state / "agent").stat().st_mode & 0o777 == 0o700
    assert (web.state / "agent/node.pem").stat().st_mode & 0o777 == 0o600


def test_a_server_with_another_ca_gets_no_token(running, web):
    token = machines.make_token(running)["token"]
    done = web.join("--token", token, "--ca-pin", "sha256:" + "ab" * 32, check=False)
    assert done.returncode == 4
    assert "E0830" in done.stderr and "certificate" in done.stderr
    assert not (web.state / "agent/node.json").exists()
    listed = json.loads(running.call("tokens", "list", "-o", "json").stdout)["items"]
    assert [token["status"]["uses"] for token in listed] == [0]


@pytest.mark.also_on_etcd
def test_a_token_works_for_its_number_of_machines(running, web):
    token = machines.make_token(running)["token"]
    words = ("--token", token, "--ca-pin", running.init_output["ca_pin"])
    web.join(*words)
    second = machines.Machine(running, "web2").join(*words, check=False)
    assert second.returncode == 4
    assert "used" in second.stderr
    assert names(running) == ["s1", "web1"]


def test_an_expired_token_is_rejected(running, web):
    made = machines.make_token(running)
    key = "/eden/internal/token/" + made["id"]
    record = json.loads(running.call("get", key).stdout)
    record["expires_ms"] = record["created_ms"] + 1
    cluster_world.rewrite(running, key, record)
    done = web.join("--token", made["token"], "--ca-pin", running.init_output["ca_pin"], check=False)
    assert done.returncode == 4
    assert "expired" in done.stderr


@pytest.mark.also_on_etcd
def test_a_revoked_token_is_rejected(running, web):
    made = machines.make_token(running)
    running.call("tokens", "revoke", made["id"])
    done = web.join("--token", made["token"], "--ca-pin", running.init_output["ca_pin"], check=False)
    assert done.returncode == 4
    assert "rejected this machine" in done.stderr


@pytest.mark.also_on_etcd
def test_without_a_token_it_waits_until_its_key_is_approved(running, web):
    process = start_join(web, "--ca-pin", running.init_output["ca_pin"])
    assert "as 'web1'" in process.stderr.readline()
    line = process.stderr.readline()
    assert names(running) == ["s1"]
    running.call(*shlex.split(line)[1:])  # the command that it prints is to be run
    code, out, _ = end(process)
    assert code == 0
    assert "node 'web1'" in out
    assert names(running) == ["s1", "web1"]


def test_an_unapproved_key_is_not_admitted(running, web):
    """The key of the first requester is approved, not that of any later one with the same name."""
    process = start_join(web, "--ca-pin", running.init_output["ca_pin"])
    process.stderr.readline()
    line = process.stderr.readline()
    process.kill()
    end(process)
    other = machines.Machine(running, "other")
    other.name = "web1"
    process = start_join(other, "--ca-pin", running.init_output["ca_pin"], "--max-wait", "3s")
    process.stderr.readline()
    running.call(*shlex.split(line)[1:], check=False)
    code, _, _ = end(process)
    assert code == 124
    assert names(running) == ["s1"]


def test_an_approval_that_does_not_arrive_in_time(running, web):
    done = web.join("--ca-pin", running.init_output["ca_pin"], "--max-wait", "1s", "-o", "json",
                    check=False)
    assert done.returncode == 124
    problem, = json.loads(done.stdout)["problems"]
    assert "this machine was not approved" in problem["message"]


def test_a_killed_join_continues_with_its_key(running, web):
    approve = []
    for _ in range(2):
        process = start_join(web, "--ca-pin", running.init_output["ca_pin"])
        process.stderr.readline()
        approve.append(process.stderr.readline())
        process.kill()
        end(process)
    assert approve[0] == approve[1]
    running.call(*shlex.split(approve[0])[1:])
    assert web.join("--ca-pin", running.init_output["ca_pin"]).returncode == 0


@pytest.mark.parametrize("file", ["joining/key.pem", "joining/joining.json", "node.pem", "ca.pem",
                                  "node.json"])
def test_a_join_killed_at_any_file_is_completed_by_the_next(running, web, file):
    token = machines.make_token(running)["token"]
    words = ("--ca-pin", running.init_output["ca_pin"], "--token", token)
    process = start_join(web, *words)
    while process.poll() is None and not (web.state / "agent" / file).exists():
        pass
    process.kill()
    end(process)
    done = web.join(*words, check=False)
    was_done = done.returncode == 5 and "already node 'web1' of cluster 'blue'" in done.stderr
    assert done.returncode == 0 or was_done
    web.start()
    web.wait_live()
    assert names(running) == ["s1", "web1"]


def test_a_server_that_has_not_started_is_waited_for(cluster):
    web = machines.Machine(cluster, "web1")
    cluster.start()
    token = machines.make_token(cluster)["token"]
    cluster.server.stop()
    process = start_join(web, "--ca-pin", cluster.init_output["ca_pin"], "--token", token)
    assert "no server reached yet" in process.stderr.readline()
    cluster.start()
    code, _, _ = end(process)
    assert code == 0


def test_a_node_does_not_join_twice(running, web):
    web.join_with_token()
    done = web.join("--ca-pin", running.init_output["ca_pin"], check=False)
    assert done.returncode == 5
    assert "'eden leave' removes it" in done.stderr


def test_a_name_in_use_is_rejected(running, web):
    done = machines.Machine(running, "s1", web.state, web.run).join(
        "--ca-pin", running.init_output["ca_pin"], "--token", machines.make_token(running)["token"],
        check=False)
    assert done.returncode == 4
    assert "node 's1' already exists" in done.stderr


SHIFT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += atol(getenv("SHIFT"));
    return result;
}
"""


@pytest.fixture
def shifted(running, tmp_path):
    """An environment in which the clock is off by some seconds."""
    source = tmp_path / "shift.c"
    source.write_text(SHIFT)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "shift.so", source, "-ldl"],
                   check=True)

    def make(seconds):
        env = daemons.environment()
        return {**env, "LD_PRELOAD": str(tmp_path / "shift.so"), "SHIFT": str(seconds),
                "ASAN_OPTIONS": env.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    return make


@pytest.mark.parametrize("seconds", [-7230, 7230])
def test_different_clocks_are_shown_on_both_sides(running, web, shifted, seconds):
    done = subprocess.run(
        [running.eden_path, "join", "--server", f"127.0.0.1:{running.api_port}", "--name", "web1",
         "--state-dir", web.state, "--ca-pin", running.init_output["ca_pin"], "--token",
         machines.make_token(running)["token"]], capture_output=True, text=True,
        timeout=daemons.LIMIT, env=shifted(seconds))
    assert done.returncode == 4
    assert "the clocks differ" in done.stderr
    for text in (done.stderr, running.server.wait_for_log("the clocks differ by 2 h")):
        assert "the clocks differ by 2 h 0 min" in text
        assert "the server's clock reads 20" in text and "the joining machine's 20" in text
