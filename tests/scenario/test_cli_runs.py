"""Recorded runs are listed, and the errors of the last one are shown first."""

import json
import os
import signal
import subprocess

import pytest

STEPS = """
steps:
- name: first
  cmd.run: [{cmd: 'echo early; exit 3'}]
- name: second
  test.ok:
  require: [{step: first}]
- name: third
  test.ok:
  require: [{step: second}]
- name: fine
  test.ok:
"""
PLACES = ["--state-dir", "state", "--config-dir", "config", "--node", "n1"]


@pytest.fixture
def apply(eden, tmp_path):
    def run(steps, *words):
        (tmp_path / "steps.yaml").write_text(steps)
        return eden("apply", "steps.yaml", *PLACES, "--progress", "none", *words)

    return run


def test_why_without_arguments_shows_the_root_cause(eden, apply):
    apply(STEPS)
    done = eden("why", "--state-dir", "state")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("run 20")
    assert lines[1].startswith("steps#first  cmd.run failed: exited with 3 (E0601)  steps.yaml:3")
    assert lines[2].startswith("steps#second  test.ok was blocked")
    assert lines[3].startswith("  <- steps#first failed: exited with 3 (E0601)")
    assert lines[4].startswith("steps#third")
    assert lines[5].startswith("  <- steps#first failed")
    assert lines[6] == "1 ok, 1 failed, 2 blocked; see 'eden why STEP' for details"


def test_why_alone_as_json(eden, apply):
    apply(STEPS)
    why = json.loads(eden("why", "--state-dir", "state", "-o", "json").stdout)
    assert why["format"] == "eden.why-run/1"
    assert [step["step"] for step in why["steps"]] == ["steps#first", "steps#second", "steps#third"]
    assert why["steps"][2]["root"]["step"] == "steps#first"


def test_why_without_arguments_if_all_succeeded(eden, apply):
    apply("steps: [{test.ok: }]")
    done = eden("why", "--state-dir", "state")
    assert done.stdout.endswith("\n1 ok\n")


def test_runs_are_listed(eden, apply):
    apply(STEPS)
    apply("steps: [{test.ok: }]")
    done = eden("runs", "--state-dir", "state")
    assert done.returncode == 0, done.stderr
    head, first, second = done.stdout.splitlines()
    assert head.split() == ["RUN", "AT", "NODE", "SITE", "RESULT", "STEPS"]
    assert first.endswith("failed  1 failed, 2 blocked, 1 ok")
    assert second.endswith("ok      1 ok")
    runs = json.loads(eden("runs", "--state-dir", "state", "-o", "json").stdout)["runs"]
    assert [run["result"] for run in runs] == ["failed", "ok"]
    assert (runs[0]["counts"]["blocked"], runs[1]["counts"]["ok"]) == (2, 1)


def test_a_report_names_its_run(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text("steps: [{test.ok: }]\n")
    options = ["steps.yaml", "--root", ".", "--state-dir", "state", "-o", "json"]
    assert json.loads(eden("plan", *options).stdout)["run"] is None
    run = json.loads(eden("apply", *options).stdout)["run"]
    assert eden("why", "--run", run, "--state-dir", "state").returncode == 0


def test_a_damaged_record_does_not_hide_the_others(eden, apply, tmp_path):
    apply("steps: [{test.ok: }]")
    (tmp_path / "state/runs/20200101T000000.000-0000.json").write_text("{")
    done = eden("runs", "--state-dir", "state")
    assert done.returncode == 0
    assert "unreadable" in done.stdout
    assert done.stdout.endswith("1 ok\n")


def test_without_any_run(eden, tmp_path):
    done = eden("runs", "--state-dir", "nowhere")
    assert done.returncode == 3
    assert "no run recorded in nowhere" in done.stderr


# --- Output of commands ----------------------------------------------------------------------

LONG = "steps:\n- name: long\n  cmd.run: [{cmd: 'seq 1000 1999 >&2; echo the reason >&2; exit 1'}]\n"


def test_why_shows_the_end_of_command_output(eden, apply):
    apply(LONG)
    output = eden("why", "long", "--state-dir", "state").stdout
    assert "  ... (last lines; -o json shows all)\n" in output
    assert "  1999\n  the reason\n" in output
    assert "  1000\n" not in output


def test_apply_shows_where_the_full_output_is(apply):
    output = apply(LONG).stdout
    assert "stderr: ... (last lines; eden why 'steps#long' -o json shows all)" in output


def test_why_shows_where_the_record_is(eden, apply, tmp_path):
    apply("steps: [{name: a, test.ok: }]")
    [record] = (tmp_path / "state/runs").iterdir()
    assert eden("why", "a", "--state-dir", "state").stdout.endswith(f"\nrecord: state/runs/{record.name}\n")


# --- An incomplete run -----------------------------------------------------------------------


SLOW = {"command": "cmd.run: [{cmd: '%s'}]",
        "check": "file.managed: [{name: %s/made}, {content: x}, {validate: '%s #'}]"}


@pytest.fixture(params=SLOW)
def slow(request, eden_path, tmp_path):
    """An apply whose step runs until we close a pipe; returns the process once the step runs."""
    ready, hold = tmp_path / "ready", tmp_path / "hold"
    os.mkfifo(ready)
    os.mkfifo(hold)
    held = os.open(hold, os.O_RDWR)
    command = f"echo > {ready}; exec cat {hold}"
    step = SLOW[request.param] % (
        command if request.param == "command" else (tmp_path, command)
    )
    (tmp_path / "slow.yaml").write_text(f"steps:\n- name: slow\n  {step}\n")
    running = subprocess.Popen(
        [eden_path, "apply", "slow.yaml", *PLACES, "--progress", "plain", "--order", "ansible"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    ready.read_text()
    yield running
    os.close(held)
    running.kill()
    running.communicate()


def test_ctrl_c_is_acknowledged(slow):
    slow.send_signal(signal.SIGINT)
    assert slow.stderr.readline() == "stopping after slow#slow; press Ctrl-C again to kill it\n"
    slow.send_signal(signal.SIGINT)
    assert slow.stderr.readline() == "killing slow#slow\n"
    slow.communicate()
    assert slow.returncode == 130


def test_a_killed_run_is_named(slow, eden, tmp_path):
    slow.kill()
    slow.communicate()
    (tmp_path / "fine.yaml").write_text("steps: [{test.ok: }]")
    done = eden("apply", "fine.yaml", *PLACES, "--progress", "none")
    assert "warning[E0704]: the last run did not finish: 20" in done.stderr
    assert " was interrupted in slow#slow; its owed actions are still owed" in done.stderr


# --- Progress --------------------------------------------------------------------------------


def test_a_plan_does_not_claim_changes(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text("steps: [{name: a, test.changed: }]")
    done = eden("plan", "steps.yaml", *PLACES, "--progress", "plain")
    assert "would change steps#a" in done.stderr
    assert " changed" not in done.stderr
