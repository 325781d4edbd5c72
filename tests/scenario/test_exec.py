"""`eden exec`: what a command printed on which nodes, equal results once."""

import json

import pytest
from fleets import Fleet


@pytest.fixture
def fleet(cluster):
    return Fleet(cluster)


def on(name, script):
    """A command of the shell, for one node: that of the runner that executes it."""
    return f"if grep -qaz {name} /proc/$PPID/cmdline; then {script}; fi"


@pytest.mark.also_on_etcd
def test_equal_outputs_are_shown_once(fleet):
    done = fleet.call("exec", "-l", "web* or db1", "--progress", "none", "--", "sh", "-c",
                      "echo one; echo two")
    assert done.stdout.startswith("3 nodes: exited with 0\n  db1, web1, web2\n    one\n    two\nrun ")
    assert done.stdout.endswith(": 3 changed of 3 nodes\n")


def test_different_outputs_are_shown_with_their_nodes(fleet):
    script = on("web2", "echo bad; echo worse >&2; exit 3") + "; echo fine"
    done = fleet.call("exec", "-l", "web* or db1", "--progress", "none", "--", "sh", "-c", script,
                      code=1)
    head, last = done.stdout.split("run ")
    assert head == ("2 nodes: exited with 0\n  db1, web1\n    fine\n"
                    "1 node: exited with 3\n  web2\n    bad\n    stderr: worse\n")
    assert last.endswith(": 1 failed, 2 changed of 3 nodes\n")
    run = last.split(":")[0]
    assert head in fleet.call("runs", "show", run[:-1], code=1).stdout


def test_outputs_as_json(fleet):
    script = on("web2", "printf '\\033[31m\\n'; exit 9") + "; echo fine"
    report = fleet.json("exec", "-l", "web*", "--progress", "none", "--", "sh", "-c", script, code=1)
    assert report["format"] == "eden.run-report/1"
    assert report["outputs"] == [
        {"exit_code": 0, "error": None, "stdout": "fine\n", "stderr": "", "cut": False, "nodes": ["web1"]},
        {"exit_code": 9, "error": None, "stdout": "\x1b[31m\n", "stderr": "", "cut": False,
         "nodes": ["web2"]}]


def test_a_command_that_does_not_exist(fleet):
    done = fleet.call("exec", "-l", "web*", "--progress", "none", "--", "/nonexistent", code=1)
    assert done.stdout.startswith("2 nodes: cannot run: /nonexistent: No such file or directory\n"
                                  "  web1, web2\nrun ")


def test_a_silent_node_has_no_output_but_is_named(fleet):
    fleet.silence("db1")
    done = fleet.call("exec", "-l", "web1 or db1", "--progress", "none", "--", "echo", "here", code=3)
    assert done.stdout.startswith("1 node: exited with 0\n  web1\n    here\nsilent  db1: it had no session")
    assert "1 silent, 1 changed of 2 nodes" in done.stdout


def test_a_command_is_killed_after_its_time(fleet):
    done = fleet.call("exec", "-l", "web1", "--progress", "none", "--timeout", "1s", "--reason",
                      "disk alert", "--", "sh", "-c", "echo begun; exec sleep 60", code=1)
    assert done.stdout.startswith("1 node: timed out after 1 s and was killed\n  web1\n    begun\n")
    run = done.stdout.split("run ")[-1].split(":")[0]
    assert fleet.api(f"/v1/runs/{run}")["spec"]["timeout"] == "1s"
    entries = json.loads(fleet.call("audit", "tail", "-o", "json").stdout)["items"]
    last = [entry["status"] for entry in entries if run in json.dumps(entry)][-1]
    assert last["verb"] == "exec" and last["reason"] == "disk alert"
    assert "reason   disk alert" in fleet.call("runs", "show", run, code=1).stdout


@pytest.mark.parametrize("words, told", [
    (["--timeout", "soon"], "--timeout must be a duration"),
    (["--time-limit", "5s"], "did you mean '--timeout'?"),
    (["--response-timeout", "soon"], "--response-timeout must be a duration"),
])
def test_times_that_are_none(fleet, words, told):
    assert told in fleet.call("exec", "-l", "web1", *words, "--", "true", code=64).stderr


def test_no_command_without_a_selector(fleet):
    assert "use -l '*' for all nodes" in fleet.call("exec", "--", "true", code=64).stderr


# --- Versions of a run ------------------------------------------------------------------------


def test_a_run_of_another_version(fleet):
    """By its name, the start of that, and the words of `eden versions`."""
    first, second = (fleet.push({"web": [{"name": name, "cmd.run": [{"cmd": "true"}]}]})
                     for name in ("old", "new"))
    for ref, version in {first[:6]: first, "previous": first, "current": second}.items():
        report = fleet.json("run", "-l", "web1", "--version", ref, "--check", "--progress", "none")
        assert report["run"]["spec"]["version"] == version
    done = fleet.call("run", "-l", "web1", "--version", "next", code=3)
    assert "'next' is not a version; 'eden versions' lists all of them" in done.stderr
