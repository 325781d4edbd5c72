"""A condition that is evaluated again sees the current state."""

import json

import memory
import pytest

CONDITIONS = [
    "macros['flag'] == 'go'",
    "macros['file.contents']('HERE/flag') == 'go'",
    "macros['twice'] == 'gogo'",
]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("key", ["when", "success"])
def test_macros_are_evaluated_again(eden, tmp_path, condition, key):
    site = tmp_path / "site"
    for folder in ("jobs", "macros"):
        (site / folder).mkdir(parents=True)
    (tmp_path / "flag").write_text("no")
    (site / "jobs/base.yaml").write_text("jobs: {'*': [{name: wait}]}")
    (site / "macros/base.yaml").write_text("macros: {'*': [{name: flags}]}")
    (site / "macros/flags.yaml").write_text(
        f"flag: {{cmd.run: [{{cmd: cat {tmp_path}/flag}}]}}\n"
        "twice: {expression: \"macros['flag'] * 2\"}\n"
    )
    # The gate is opened after the fifth attempt of another step.
    (site / "jobs/wait.yaml").write_text(
        f"""
steps:
- name: opener
  cmd.run: {{cmd: "printf go > {tmp_path}/flag"}}
  conditions:
    when:
      condition: macros['file.contents']('{tmp_path}/asked') | length > 4
      retry: {{interval: 10ms, limit: 0}}
- name: counter
  cmd.run: {{cmd: "printf x >> {tmp_path}/asked; exit 1"}}
  runOptions: {{retry: {{interval: 10ms, limit: 9}}}}
- name: waiting
  test.ok: {{}}
  conditions:
    {key}:
      condition: "{condition.replace('HERE', str(tmp_path))}"
      retry: {{interval: 10ms, limit: 0}}
"""
    )
    (tmp_path / "asked").write_text("")
    done = eden(
        "apply", site, "--state-dir", "state", "--config-dir", "config", "-o", "json",
        "--max-wait", "30s",
    )  # fmt: skip
    steps = {step["name"]: step["result"] for step in json.loads(done.stdout)["steps"]}
    assert steps == {"opener": "changed", "counter": "failed", "waiting": "ok"}, done.stderr


def peak_of(eden_path, tmp_path, tries):
    path = tmp_path / "steps.yaml"
    path.write_text(
        f"""
steps:
- name: talks
  cmd.run: {{cmd: "head -c 500000 /dev/zero | tr '\\\\0' x"}}
  runOptions: {{retry: {{interval: 1ms, limit: {tries}, until: "false"}}}}
"""
    )
    command = [eden_path, "apply", path, "--state-dir", "state", "--config-dir", "config"]
    code, peak = memory.peak_kib(command, cwd=tmp_path)
    assert code == 1
    return peak


def test_output_of_earlier_attempts_uses_no_memory(eden_path, tmp_path):
    few, many = (peak_of(eden_path, tmp_path, tries) for tries in (5, 60))
    assert many - few < 20_000
