"""`eden replay`: recorded runs give the same decisions, and modified records are reported."""

import json
import random
import signal
import socket
import subprocess

import pytest

STEPS = [
    {"name": "conf", "file.managed": [{"name": "/conf"}, {"content": "a"}]},
    {"name": "broken", "test.failed": []},
    {"name": "needs", "test.ok": [], "require": [{"step": "broken"}]},
    {"name": "watches", "test.ok": [], "watch": [{"step": "conf"}]},
    {"name": "listens", "test.ok": [], "listen": [{"step": "conf"}]},
    {"name": "never", "test.ok": [], "conditions": {"when": {"condition": "1 == 2"}}},
    {"name": "mends", "test.ok": [], "onfail": [{"step": "broken"}]},
    {"name": "before", "test.ok": [], "prereq": [{"step": "target"}]},
    {"name": "target", "test.changed": [], "conditions": {"success": {"condition": "true"}}},
]


@pytest.fixture
def node(eden, tmp_path):
    """A node below a folder: apply() returns the finished process, record() its record."""

    class Node:
        state = tmp_path / "state"
        where = ("--root", tmp_path / "root", "--state-dir", state)

        def arguments(self, steps, *options):
            (tmp_path / "root").mkdir(exist_ok=True)
            site = tmp_path / "steps.yaml"
            site.write_text(json.dumps({"steps": steps}))
            return ("apply", site, *self.where, "--config-dir", tmp_path / "etc", *options)

        def apply(self, steps, *options):
            return eden(*self.arguments(steps, "--progress", "none", *options))

        def record(self):
            path = sorted((self.state / "runs").iterdir())[-1]
            return json.loads(path.read_text())

        def replay(self, record=None):
            if record is None:
                return eden("replay", *self.where)
            path = tmp_path / "record.json"
            path.write_text(json.dumps(record))
            return eden("replay", path)

    return Node()


def turn_of(record, name, **wanted):
    number = 1 + next(i for i, step in enumerate(record["steps"]) if step["name"] == name)
    return next(turn for turn in record["turns"] if turn["step"] == number
                and all(turn.get(key) == value for key, value in wanted.items()))


def step_of(record, name):
    return next(step for step in record["steps"] if step["name"] == name)


@pytest.mark.parametrize("order", ["ansible", "justdoit", "genius"])
def test_replaying_a_run_gives_the_same_decisions(node, order):
    assert node.apply(STEPS, "--order", order).returncode == 1
    done = node.replay()
    assert done.returncode == 0, done.stdout
    # Each step once, the check of the prereq's target, and the reaction of the listener.
    assert "compared 11 decisions about 9 steps, no differences" in done.stdout


def test_steps_of_one_transaction_are_replayed_together(node):
    content = {"content": "[Service]\nExecStart=/bin/true\n"}
    steps = [{"name": name, "service.unit": [{"name": f"{name}.service"}, content]}
             for name in ("one", "two")]
    assert node.apply(steps, "--order", "genius").returncode == 0
    assert turn_of(node.record(), "two", do="join")
    done = node.replay()
    assert done.returncode == 0, done.stdout
    for step in (record := node.record())["steps"]:
        assert step.pop("merges") is True
    assert "differs at decision 1" in node.replay(record).stdout


def test_the_record_contains_the_events(node):
    node.apply(STEPS, "-D", "site=fra")
    record = node.record()
    assert record["format"] == "eden.record/1"
    assert record["site"]["path"].endswith("steps.yaml")
    assert len(record["site"]["digest"]) == 64
    assert record["variables"] == {"site": "fra"}
    assert "kernel" in record["facts"]
    assert record["order"] == "ansible" and record["planning"] is False
    assert step_of(record, "needs")["edges"] == [
        {"kind": "require", "to": 2, "detail": "broken", "line": 1}]
    assert turn_of(record, "needs")["decision"] == "block"
    assert turn_of(record, "needs")["reason"] == "requires 'broken', which failed"
    assert turn_of(record, "broken")["saw"] == ["failed"]
    assert turn_of(record, "never")["asked"] == [
        {"condition": "when", "answer": "no", "text": "1 == 2"}]


def test_secrets_are_not_recorded(node, tmp_path):
    vars_file = tmp_path / "vars.yaml"
    vars_file.write_text("password: !secret hunter2hunter2\n")
    steps = [{"name": "conf", "file.managed": [
        {"name": "/conf"}, {"content": "pw {{ vars.password }}"}]}]
    assert node.apply(steps, "-v", vars_file).returncode == 0
    text = json.dumps(node.record())
    assert "hunter2" not in text
    assert node.record()["variables"] == {"password": "(secret)"}


CHANGES = {
    "a result": (lambda r: turn_of(r, "broken").update(result="ok"), "broken"),
    "what an action saw": (lambda r: turn_of(r, "broken").update(saw=[]), "broken"),
    "an answer": (lambda r: turn_of(r, "never")["asked"][0].update(answer="yes"), "never"),
    "a decision": (lambda r: turn_of(r, "needs").update(decision="run"), "needs"),
    "a reason": (lambda r: turn_of(r, "needs").update(reason="so"), "needs"),
    "a cause": (lambda r: turn_of(r, "needs").update(because=2), "needs"),
    "an edge": (lambda r: step_of(r, "needs")["edges"][0].update(kind="onfail"), "needs"),
    "where it ended": (lambda r: step_of(r, "needs").update(result="ok"), "needs"),
    "what is owed": (lambda r: step_of(r, "never").update(owed=["watch"]), "never"),
    "the order of turns": (lambda r: r["turns"].insert(0, r["turns"].pop(1)), "broken"),
    "a missing turn": (lambda r: r["turns"].pop(), "listens"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_tampered_records_are_detected(node, what):
    node.apply(STEPS)
    record = node.record()
    change, step = CHANGES[what]
    change(record)
    done = node.replay(record)
    assert done.returncode == 1
    assert f"steps#{step}" in done.stdout, done.stdout
    assert "recorded" in done.stdout


def test_both_sides_of_a_difference_are_shown(node):
    node.apply(STEPS)
    record = node.record()
    turn_of(record, "broken").update(result="ok", saw=[])
    step_of(record, "broken").update(result="ok")
    done = node.replay(record)
    assert done.returncode == 1
    assert ("recorded: block, requires 'broken', which failed (edge 1, require 'steps#broken'); "
            "decided now: run") in done.stdout


def test_damaged_records_only_cause_a_message(node):
    node.apply(STEPS)
    text = json.dumps(node.record())
    start = text.index('"graph"')
    rng = random.Random(7)
    for _ in range(150):
        at = rng.randrange(start, len(text))
        chunk = rng.choice(["", "0", "9", "-1", "null", "[]", "{}", '"', ",", "true", "run"])
        path = node.state / "damaged.json"
        path.write_text(text[:at] + chunk + text[at + rng.randrange(1, 4):])
        done = subprocess.run([*replay_command(node), path], capture_output=True, text=True)
        assert done.returncode in (0, 1), (done.returncode, at, chunk)
        assert done.stdout or "error[E0721]" in done.stderr


def replay_command(node):
    return [node.eden_path, "replay"]


@pytest.fixture(autouse=True)
def use_binary(node, eden_path):
    node.eden_path = eden_path


WAITS = {
    "a condition that never comes": (
        {"test.ok": [], "conditions": {"when": {
            "condition": "false", "retry": {"interval": "1ms", "limit": 2}}}}, (), 1),
    "a condition that is given up on": (
        {"test.ok": [], "conditions": {"when": {
            "condition": "false", "retry": {"interval": "1h"}}}}, ("--max-wait", "1ms"), 124),
    "success that never comes": (
        {"test.ok": [], "conditions": {"success": {
            "condition": "false", "retry": {"interval": "1ms", "limit": 3}}}}, (), 1),
    "continue that never comes": (
        {"test.ok": [], "conditions": {"continue": {
            "condition": "false", "retry": {"interval": "1ms", "limit": 1}}}}, (), 1),
    "an action that is repeated": (
        {"test.failed": [], "runOptions": {"retry": {"interval": "1ms", "limit": 2}}}, (), 1),
    "an action repeated until something": (
        {"test.ok": [], "runOptions": {"retry": {
            "interval": "1ms", "limit": 2, "until": "false"}}}, (), 1),
    "a parameter that fails": ({"file.managed": [
        {"name": "/x"}, {"content": "{{ steps['first'].StdErr.nothing.here }}"}]}, (), 1),
    "another node": ({"test.ok": [], "runOptions": {"target": {"hosts": ["other"]}}}, (), 0),
}


@pytest.mark.parametrize("order", ["ansible", "justdoit"])
@pytest.mark.parametrize("what", WAITS)
def test_waits_and_retries_are_replayed(node, what, order):
    step, options, code = WAITS[what]
    steps = [{"name": "first", "test.ok": []}, {"name": "it", **step},
             {"name": "behind", "test.ok": [], "require": [{"step": "it"}]}]
    done = node.apply(steps, "--order", order, *options)
    assert done.returncode == code, done.stdout + done.stderr
    replayed = node.replay()
    assert replayed.returncode == 0, replayed.stdout


def test_the_target_of_a_prereq_may_wait_until_max_wait(node):
    steps = [
        {"name": "before", "test.ok": [], "prereq": [{"step": "target"}]},
        {"name": "target", "test.changed": [], "conditions": {"when": {
            "condition": "false", "retry": {"interval": "1h"}}}},
    ]
    done = node.apply(steps, "--max-wait", "1ms", "-o", "json")
    assert done.returncode == 124, done.stdout + done.stderr
    assert [step["result"] for step in json.loads(done.stdout)["steps"]] == ["waiting"] * 2
    assert node.replay().returncode == 0


def test_a_step_with_success_still_reacts_to_its_listen_targets(node):
    steps = [
        {"name": "conf", "file.managed": [{"name": "/conf"}, {"content": "a"}]},
        {"name": "service", "test.ok": [], "listen": [{"step": "conf"}],
         "conditions": {"success": {"condition": "true"}}},
    ]
    done = node.apply(steps, "-o", "json")
    service = json.loads(done.stdout)["steps"][1]
    assert service["reacted"] and service["result"] == "changed"
    assert json.loads(done.stdout)["owed"] == []
    assert node.replay().returncode == 0


def test_an_interrupted_run_is_replayed(node, eden_path, tmp_path):
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    wait = [{"host": "127.0.0.1"}, {"port": door.getsockname()[1]}, {"timeout": "60s"}]
    steps = [{"name": "slow", "net.wait_for": wait},
             {"name": "left", "test.ok": [], "require": [{"step": "slow"}]}]
    running = subprocess.Popen(
        [eden_path, *map(str, node.arguments(steps, "--progress", "json"))],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert "slow" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    door.listen()  # the step's condition becomes true only after the interrupt
    running.communicate(timeout=60)
    door.close()
    assert running.returncode == 130
    assert turn_of(node.record(), "left")["bar"] == "interrupted"
    assert node.replay().returncode == 0


def test_debts_of_an_earlier_run_are_part_of_it(node):
    steps = [
        {"name": "conf", "file.managed": [{"name": "/conf"}, {"content": "a"}]},
        {"name": "between", "test.failed": []},
        {"name": "service", "test.ok": [], "watch": [{"step": "conf"}],
         "require": [{"step": "between"}]},
    ]
    assert node.apply(steps).returncode == 1
    steps[1] = {"name": "between", "test.ok": []}
    assert node.apply(steps).returncode == 0
    record = node.record()
    assert step_of(record, "service")["owed"] == ["watch"]
    assert turn_of(record, "service")["reason"] == "owed from an earlier run"
    assert node.replay().returncode == 0
    del step_of(record, "service")["owed"]
    assert node.replay(record).returncode == 1


def test_json_for_other_programs(node, eden):
    node.apply(STEPS)
    done = eden("replay", "-o", "json", *node.where)
    response = json.loads(done.stdout)
    assert response["format"] == "eden.replay/1"
    assert response["agrees"] is True and response["decisions"] == 11
    assert response["run"] == node.record()["run"]


def test_other_files_are_reported_as_invalid_records(eden, tmp_path):
    missing = eden("replay", "--state-dir", tmp_path / "none")
    assert missing.returncode == 3
    assert "error[E0720]: no run recorded in" in missing.stderr
    (tmp_path / "other.json").write_text('{"format": "eden.run/1"}')
    other = eden("replay", "other.json")
    assert other.returncode == 1
    assert "error[E0721]" in other.stderr and "not the record of a run" in other.stderr
    absent = eden("replay", "./absent.json")
    assert absent.returncode == 3
