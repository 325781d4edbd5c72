"""Orders of the cluster on a node: whatever is killed meanwhile, each run ends with one result, and
none runs twice at the same time."""

import contextlib
import json
import os
import signal
import subprocess
import time

import machines
import pytest
from cluster_world import put
from events import wait_until

FINAL = {"ok", "changed", "failed", "skipped", "canceled"}


def now_ms():
    return int(time.time() * 1000)


class Node:
    """A node that accepts orders; the server's part is played by writing to the store."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.machine = machines.Machine(cluster, "web1")
        self.machine.join_with_token()
        self.runs = self.machine.state / "agent/runs"
        self.count = 0

    def start(self):
        self.machine.start()
        self.machine.wait_live()
        return self

    @property
    def agent(self):
        return self.machine.agent

    def order(self, run, **fields):
        self.count += 1
        order = {"format": "eden.order/1", "run": run, "kind": "exec", "created_ms": now_ms() + self.count,
                 "by": "user:ann", **fields}  # fmt: skip
        put(self.cluster, f"/eden/orders/web1/{run}", order)
        return order

    def cancel(self, order):
        put(self.cluster, f"/eden/orders/web1/{order['run']}", {**order, "canceled": True})

    def withdraw(self, run):
        self.cluster.call("delete", f"/eden/orders/web1/{run}", "--force")

    def site(self, *steps):
        """A version of a site with these steps, and its fields in an order."""
        folder = self.cluster.folder / "site"
        (folder / "jobs").mkdir(parents=True)
        (folder / "config.yaml").write_text("name: shop\n")
        (folder / "jobs/base.yaml").write_text("jobs: {'*': [{name: web}]}\n")
        (folder / "jobs/web.yaml").write_text(json.dumps({"steps": list(steps)}))
        pushed = json.loads(self.cluster.call("push", folder, "--no-run", "-o", "json").stdout)
        return {"kind": "apply", "version": pushed["version"], "manifest": pushed["manifest"]}

    def result(self, run):
        done = self.cluster.call("get", f"/eden/runs/{run}/nodes/web1", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def wait_result(self, run, fits=lambda result: result["outcome"] in FINAL, what="result"):
        return wait_until(lambda: (lambda result: result if result and fits(result) else None)(
            self.result(run)), f"a {what} of {run}")

    def wait_outcome(self, run, outcome):
        return self.wait_result(run, lambda result: result["outcome"] == outcome, outcome)

    def events(self, run):
        path = self.runs / run / "events.ndjson"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]

    def wait_started(self, run, step):
        """Waits until this step runs."""
        wait_until(lambda: any(event["event"] == "start" and event["step"].endswith(step)
                               for event in self.events(run)), f"{step} of {run}")

    def runner(self, run):
        return int((self.runs / run / "events.ndjson.lock").read_text())

    def state(self, run):
        return json.loads((self.runs / run / "state.json").read_text())

    def check_events(self, run, attempts=1):
        events = self.events(run)
        assert [event["n"] for event in events] == list(range(1, len(events) + 1))
        assert [event["attempt"] for event in events if event["event"] == "begin"] == \
            list(range(1, attempts + 1))
        return events


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Gate:
    """A gate at which a step waits; `open` lets one through."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)

    @property
    def command(self):
        return ["sh", "-c", f"read x < {self.path}"]

    def step(self, name="held", **more):
        return {"name": name, "cmd.run": {"cmd": self.command}, **more}

    def open(self):
        self.path.write_text("go\n")


@pytest.fixture
def node(cluster):
    cluster.start()
    return Node(cluster)


@pytest.fixture
def gate(tmp_path):
    gate = Gate(tmp_path / "gate")
    yield gate
    # Commands of killed runners may still be waiting.
    with contextlib.suppress(OSError):
        descriptor = os.open(gate.path, os.O_WRONLY | os.O_NONBLOCK)
        os.write(descriptor, b"go\n" * 10)
        os.close(descriptor)


@pytest.mark.also_on_etcd
def test_a_command_is_executed_and_reported(node):
    node.start()
    node.order("r1", command=["sh", "-c", "echo out; echo error >&2"])
    result = node.wait_result("r1")
    assert (result["outcome"], result["attempts"]) == ("changed", 1)
    assert result["counts"] == {"changed": 1}
    events = node.check_events("r1")
    assert result["logged"] == len(events)
    step = next(event for event in events if event["event"] == "step")
    assert (step["stdout"], step["stderr"], step["exit_code"]) == ("out\n", "error\n", 0)


@pytest.mark.parametrize("word", ["{{ vars.x }}", "{% if %}", "{# x #}", "{", "# x", "'\"", "a\nb",
                                  "é", "", "5", "null", "{{ '{' }}"])
def test_a_command_gets_its_arguments_as_they_are(node, word):
    node.start()
    node.order("r1", command=["printf", "%s|", word, "-x"])
    assert node.wait_result("r1")["outcome"] == "changed"
    step = next(event for event in node.events("r1") if event["event"] == "step")
    assert step["stdout"] == f"{word}|-x|"


def test_a_failing_command_fails_with_its_error(node):
    node.start()
    node.order("r1", command=["sh", "-c", "exit 3"])
    result = node.wait_result("r1")
    assert (result["outcome"], result["code"], result["step"]) == ("failed", "E0601", "exec#command")
    assert "exited with 3" in result["error"]


def test_a_site_is_applied_and_planned(node, tmp_path):
    order = node.site({"name": "f", "file.managed": {"name": str(tmp_path / "f"), "content": "x"}})
    node.start()
    node.order("r1", **{**order, "kind": "plan"})
    planned = node.wait_result("r1")
    assert planned["outcome"] == "changed" and not (tmp_path / "f").exists()
    node.order("r2", **order)
    applied = node.wait_result("r2")
    assert applied["outcome"] == "changed" and (tmp_path / "f").read_text() == "x"
    node.order("r3", **{**order, "kind": "plan"})
    assert node.wait_result("r3")["outcome"] == "ok"
    begin = node.events("r2")[0]
    assert (begin["node"], begin["version"], begin["site"]) == ("web1", order["version"], "shop")
    node.order("r4", **{**order, "jobs": ["nope"]})
    result = node.wait_result("r4")
    assert result["outcome"] == "failed" and result["code"]


def test_orders_run_one_after_another(node, gate):
    order = node.site(gate.step())
    node.start()
    node.order("r1", **order)
    node.wait_started("r1", "held")
    node.order("r2", **order)
    waiting = node.wait_outcome("r2", "waiting")
    assert waiting["reason"] == "waiting for run r1"
    assert not node.events("r2")
    gate.open()
    assert node.wait_result("r1")["outcome"] == "changed"
    node.wait_started("r2", "held")
    gate.open()
    assert node.wait_result("r2")["outcome"] == "changed"


def test_a_command_does_not_wait_for_an_apply(node, gate):
    order = node.site(gate.step())
    node.start()
    node.order("r1", **order)
    node.wait_started("r1", "held")
    node.order("r2", command=["true"])
    assert node.wait_result("r2")["outcome"] == "changed"
    assert node.result("r1")["outcome"] == "running"
    gate.open()
    assert node.wait_result("r1")["outcome"] == "changed"


def test_a_manual_apply_makes_an_order_wait(node, gate, eden_path, tmp_path):
    order = node.site({"name": "x", "test.ok": []})
    node.start()
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [gate.step()]}))
    manual = subprocess.Popen([eden_path, "apply", "steps.yaml", "--state-dir", node.machine.state,
                               "--progress", "json"], cwd=tmp_path, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    assert '"start"' in manual.stderr.readline()
    node.order("r1", **order)
    reason = f"waiting for 'eden apply steps.yaml' (pid {manual.pid})"
    waiting = node.wait_result("r1", lambda result: result.get("reason") == reason, "reason")
    assert waiting["outcome"] == "waiting"
    gate.open()
    manual.communicate()
    result = node.wait_result("r1")
    assert (result["outcome"], result["attempts"]) == ("ok", 1)


def test_a_killed_runner_fails_and_says_which_step_ran(node, gate):
    order = node.site({"name": "before", "test.ok": []}, gate.step())
    node.start()
    node.order("r1", **order)
    node.wait_started("r1", "held")
    os.kill(node.runner("r1"), signal.SIGKILL)
    result = node.wait_result("r1")
    assert (result["outcome"], result["attempts"]) == ("failed", 1)
    assert result["reason"] == "the runner was killed by SIGKILL while step 'web#held' was running"


def test_a_run_survives_the_agent_and_the_next_one_finds_it(node, gate):
    order = node.site(gate.step(), {"name": "after", "test.ok": []})
    node.start()
    node.order("r1", **order)
    node.wait_started("r1", "held")
    runner = node.runner("r1")
    node.agent.kill()
    assert is_running(runner)
    node.start()
    assert f"pid={runner}" in node.agent.wait_for_log("found a run in progress")
    gate.open()
    result = node.wait_result("r1")
    assert (result["outcome"], result["attempts"]) == ("changed", 1)
    node.check_events("r1")


def test_a_run_that_ends_while_there_is_no_agent_is_reported_later(node, gate):
    order = node.site(gate.step())
    node.start()
    node.order("r1", **order)
    node.wait_started("r1", "held")
    assert node.agent.stop() == 0
    gate.open()
    wait_until(lambda: node.events("r1")[-1]["event"] == "end", "the end")
    assert node.result("r1")["outcome"] == "running"
    node.start()
    assert node.wait_result("r1")["outcome"] == "changed"


def test_a_run_that_was_lost_with_the_agent_is_started_again_at_most_twice(node, gate):
    order = node.site(gate.step())
    node.start()
    node.order("r1", **order)
    for attempt in (1, 2, 3):
        wait_until(lambda: len([event for event in node.events("r1") if event["event"] == "start"])
                   == attempt, f"attempt {attempt}")
        runner = node.runner("r1")
        node.agent.kill()
        os.kill(runner, signal.SIGKILL)
        wait_until(lambda: not is_running(runner), "its end")
        node.start()
    result = node.wait_result("r1")
    assert (result["outcome"], result["attempts"]) == ("failed", 3)
    assert result["reason"] == "it was interrupted too often"
    assert [event["resumed"] for event in node.check_events("r1", 3) if event["event"] == "begin"] == \
        [False, True, True]


def test_a_lost_command_is_not_repeated(node, gate):
    node.start()
    node.order("r1", command=gate.command)
    node.wait_started("r1", "command")
    runner = node.runner("r1")
    node.agent.kill()
    os.kill(runner, signal.SIGKILL)
    wait_until(lambda: not is_running(runner), "its end")
    node.start()
    result = node.wait_result("r1")
    assert (result["outcome"], result["attempts"]) == ("failed", 1)
    assert "not repeated" in result["reason"]


def test_the_agent_killed_at_any_moment_loses_no_run(node):
    """Many short runs, and an agent that is killed repeatedly."""
    order = node.site({"name": "x", "cmd.run": {"cmd": "true"}})
    node.start()
    runs = [f"r{i}" for i in range(12)]
    for i, run in enumerate(runs):
        node.order(run, **(order if i % 2 else {"command": ["true"]}))
        if i % 3 == 2:
            node.agent.kill()
            node.machine.start()
    results = [node.wait_result(run) for run in runs]
    # A command whose runner began and was lost unnoticed cannot occur: only agents are killed.
    assert {result["outcome"] for result in results} == {"changed"}
    for run in runs:
        assert len([e for e in node.events(run) if e["event"] == "end"]) == 1


def test_a_canceled_run_ends_at_once_or_never_starts(node, gate):
    order = node.site(gate.step(), {"name": "after", "test.ok": []})
    node.start()
    first, second = node.order("r1", **order), node.order("r2", **order)
    node.wait_started("r1", "held")
    node.wait_outcome("r2", "waiting")
    node.cancel(second)
    assert "before it started" in node.wait_outcome("r2", "canceled")["reason"]
    node.cancel(first)
    node.agent.wait_for_log("interrupting a run")
    gate.open()  # the running step completes, and no other one is started
    result = node.wait_result("r1")
    assert result["outcome"] == "canceled"
    assert node.events("r1")[-1]["interrupted"]


def test_a_run_over_its_time_is_stopped(node, gate):
    order = node.site(gate.step())
    node.start()
    node.order("r1", **order, timeout_ms=200)
    node.agent.wait_for_log("stopping the steps of a run")
    result = node.wait_result("r1")
    assert (result["outcome"], result["reason"]) == ("failed", "it exceeded its time limit")


def test_a_command_over_its_time_is_killed(node, gate):
    node.start()
    node.order("r1", command=gate.command, timeout_ms=200)
    result = node.wait_result("r1")
    assert (result["outcome"], result["error"]) == ("failed", "timed out after 0.2 s and was killed")
    assert not any("stopping the steps" in line for line in node.agent.log)


def test_an_expired_order_is_skipped(node):
    node.order("r1", command=["true"], expires_ms=now_ms() - 1)
    node.start()
    result = node.wait_result("r1")
    assert result["outcome"] == "skipped" and "expired" in result["reason"]
    assert not node.events("r1")


def test_an_order_withdrawn_while_waiting_is_forgotten(node, gate):
    order = node.site(gate.step())
    node.start()
    node.order("r1", **order)
    node.wait_started("r1", "held")
    node.order("r2", **order)
    node.wait_outcome("r2", "waiting")
    node.withdraw("r2")
    node.agent.wait_for_log("run withdrawn before it started")
    assert not (node.runs / "r2").exists()
    node.withdraw("r1")  # what has started continues
    gate.open()
    assert node.wait_result("r1")["outcome"] == "changed"


def test_an_order_that_cannot_be_read_fails(node):
    node.start()
    put(node.cluster, "/eden/orders/web1/r1", {"format": "eden.order/1", "run": "r1", "kind": "dance"})
    result = node.wait_result("r1")
    assert result["outcome"] == "failed" and "cannot read the order" in result["reason"]


def test_a_version_that_is_not_there_is_waited_for(node):
    node.start()
    node.order("r1", kind="apply", version="4e5a", manifest="0" * 64)
    waiting = node.wait_result("r1", lambda result: "not found" in result.get("reason", ""), "reason")
    assert waiting["outcome"] == "waiting"
    assert waiting["reason"].startswith("cannot fetch version 4e5a: ")


def test_after_a_restart_of_the_machine_a_run_is_started_again(node, gate):
    """Another boot ID, and no earlier processes."""
    order = node.site(gate.step())
    node.start()
    node.order("r1", **order)
    node.wait_started("r1", "held")
    runner = node.runner("r1")
    node.agent.kill()
    os.kill(runner, signal.SIGKILL)
    wait_until(lambda: not is_running(runner), "its end")
    gate.open()  # its command, which a real reboot would have killed too
    state = node.state("r1")
    (node.runs / "r1/state.json").write_text(json.dumps({**state, "boot": "another"}))
    node.start()
    wait_until(lambda: len([event for event in node.events("r1") if event["event"] == "start"]) == 2,
               "the second attempt")
    gate.open()
    result = node.wait_result("r1")
    assert (result["outcome"], result["attempts"]) == ("changed", 2)


def test_a_run_that_restarts_the_machine_goes_on_afterwards(node, gate):
    """The state when the machine is up again: the last event is the shutdown."""
    order = node.site({"name": "x", "test.ok": []})
    node.start()
    node.order("r1", **order)
    node.wait_result("r1")
    assert node.agent.stop() == 0
    state, events = node.state("r1"), node.runs / "r1/events.ndjson"
    lines = events.read_text().splitlines()
    leave = json.dumps({"n": len(lines), "at_ms": now_ms(), "event": "leave", "leaving": "reboot"},
                       separators=(",", ":"))  # fmt: skip
    events.write_text("\n".join([*lines[:-1], leave, ""]))
    (node.runs / "r1/result.json").unlink()
    saved = {**state, "interruptions": 2, "boot": "another"}
    saved.pop("reported", None)
    (node.runs / "r1/state.json").write_text(json.dumps(saved))
    node.start()
    result = node.wait_result("r1", lambda result: result.get("attempts") == 2
                              and result["outcome"] == "ok", "second attempt")
    assert result["outcome"] == "ok"
    node.check_events("r1", 2)
