"""Runs across nodes, as a server manages them: targets, orders, outcomes, cancellation."""

import json
import pathlib

import machines
import pytest

from events import wait_until


@pytest.fixture
def nodes(cluster):
    """A server and two connected nodes."""
    cluster.start()
    joined = {}
    for name in ("web1", "db1"):
        machine = joined[name] = machines.Machine(cluster, name)
        machine.join_with_token()
        machine.start()
        machine.wait_live()
    return joined


def api(cluster, method, path, body=None, check=True):
    data = ["-d", json.dumps(body)] if body is not None else []
    return json.loads(cluster.call("api", method, path, *data, check=check).stdout)


def execute(cluster, **spec):
    run = api(cluster, "POST", "/v1/exec", {"spec": {"command": ["true"], **spec}})
    return run["metadata"]["name"]


def order(cluster, node, run):
    done = cluster.call("get", f"/eden/orders/{node}/{run}", check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def status(cluster, run):
    return api(cluster, "GET", f"/v1/runs/{run}")["status"]


def outcomes(cluster, run):
    page = api(cluster, "GET", f"/v1/runs/{run}/nodes")
    assert page["next"] is None
    return {node["node"]: node["outcome"] for node in page["nodes"]}


def is_slow(eden_path):
    """An instrumented program: joining takes it so long that nodes without an agent count as silent."""
    return b"__asan_init" in pathlib.Path(eden_path).read_bytes()


@pytest.mark.also_on_etcd
def test_a_run_gives_each_target_an_order(cluster, nodes, eden_path):
    if is_slow(eden_path):
        return
    run = execute(cluster, selector="web1 or db1", reason="check the disks")
    wait_until(lambda: status(cluster, run)["state"] == "running", "the run")
    assert order(cluster, "web1", run)["command"] == ["true"]
    assert order(cluster, "db1", run)["reason"] == "check the disks"
    assert order(cluster, "s1", run) is None
    assert set(outcomes(cluster, run)) == {"web1", "db1"}


def test_a_run_ends_when_its_only_target_has_left(cluster, nodes):
    run = execute(cluster, selector="web1")
    cluster.call("nodes", "remove", "web1", "--yes", "--reason", "test")
    wait_until(lambda: status(cluster, run)["state"] == "ended", "the end of the run")
    assert status(cluster, run)["outcome"] == "silent"
    assert order(cluster, "web1", run) is None


def test_a_canceled_run_says_so_in_its_orders(cluster, nodes, eden_path):
    if is_slow(eden_path):
        return
    run = execute(cluster, selector="web1")
    wait_until(lambda: order(cluster, "web1", run) is not None, "the order")
    assert api(cluster, "POST", f"/v1/runs/{run}/cancel")["status"]["canceled"]
    wait_until(lambda: order(cluster, "web1", run).get("canceled"), "the canceled order")


def test_a_selector_that_matches_nothing_is_an_error(cluster, nodes):
    problem = api(cluster, "POST", "/v1/exec",
                  {"spec": {"command": ["true"], "selector": "mail*"}}, check=False)
    assert problem["status"] == 404 and problem["detail"] == "no node matches 'mail*'"


def test_a_command_needs_the_permission_to_execute(cluster, nodes):
    problem = api(cluster, "POST", "/v1/runs", {"spec": {"command": ["true"]}}, check=False)
    assert "POST /v1/exec" in json.dumps(problem)


def test_values_of_variables_are_not_shown(cluster, nodes, tmp_path):
    """Viewers of runs would read passwords; only the nodes know which variables are secret."""
    site = tmp_path / "site"
    (site / "jobs").mkdir(parents=True)
    (site / "config.yaml").write_text("name: shop\n")
    (site / "jobs/base.yaml").write_text("jobs: {'*': [{name: web}]}\n")
    (site / "jobs/web.yaml").write_text("steps: [{name: hello, cmd.run: [{cmd: 'true'}]}]\n")
    cluster.call("push", site, "--no-run")
    spec = {"selector": "web1", "defines": ["pw=hunter2-hunter2", "list:=[\"hunter2-hunter2\"]"]}
    made = api(cluster, "POST", "/v1/runs", {"spec": spec})
    assert made["spec"]["defines"] == ["pw=(hidden)", "list:=(hidden)"]
    assert "hunter2" not in json.dumps(api(cluster, "GET", "/v1/runs"))
