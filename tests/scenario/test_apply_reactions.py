"""Effects of watch and listen: a command reacts to a change once."""

import json
import os

import pytest


@pytest.fixture
def apply(eden, tmp_path):
    """Applies steps confined to the test's folder; returns results by name."""

    def run(text, *options):
        path = tmp_path / "steps.yaml"
        path.write_text(text.replace("HERE", str(tmp_path)))
        done = eden(
            "apply", path, "--state-dir", tmp_path / "state", "--config-dir", tmp_path / "config",
            "-o", "json", *options,
        )  # fmt: skip
        output = json.loads(done.stdout)
        assert "steps" in output, output
        return {step["name"]: step for step in output["steps"]}

    return run


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


WATCH = """
steps:
- name: conf
  file.managed: {name: HERE/conf, content: "{{ vars.text }}"}
- name: answer
  cmd.run: {cmd: "echo ran >> HERE/log"GUARD}
  KIND: [{step: conf}]
"""


@pytest.mark.parametrize("kind", ["watch", "listen"])
def test_a_command_that_ran_after_the_change_does_not_run_again(apply, tmp_path, kind):
    text = WATCH.replace("KIND", kind).replace("GUARD", "")
    apply(text, "-D", "text=one")
    assert lines(tmp_path / "log") == ["ran"]
    apply(text, "-D", "text=one")
    assert lines(tmp_path / "log") == ["ran"] * 2
    apply(text, "-D", "text=two")
    assert lines(tmp_path / "log") == ["ran"] * 3


@pytest.mark.parametrize("kind", ["watch", "listen"])
def test_a_guarded_command_runs_as_a_reaction(apply, tmp_path, kind):
    text = WATCH.replace("KIND", kind).replace("GUARD", ', onlyif: "false"')
    for value, count in (("one", 1), ("one", 1), ("two", 2)):
        apply(text, "-D", f"text={value}")
        assert lines(tmp_path / "log") == ["ran"] * count


def test_a_listener_that_ran_before_the_change_reacts_at_the_end(apply, tmp_path):
    steps = apply(
        """
steps:
- name: answer
  cmd.run: {cmd: "echo ran >> HERE/log"}
  listen: [{step: conf}]
- name: conf
  file.managed: {name: HERE/conf, content: text}
"""
    )
    assert steps["answer"]["run_order"] < steps["conf"]["run_order"]
    assert lines(tmp_path / "log") == ["ran"] * 2


def test_the_owner_of_a_link_alone_can_change(apply, tmp_path):
    assert os.geteuid() == 0, "changing owners needs root"
    data = tmp_path / "data"
    data.mkdir()
    (data / "link").symlink_to("nowhere")
    os.chown(data, 1, -1)
    steps = apply(
        """
steps:
- name: data
  file.directory: {name: HERE/data, owner: 1, recurse: true}
- name: after
  file.managed: {name: HERE/after, content: x}
"""
    )
    assert [step["result"] for step in steps.values()] == ["changed", "changed"]
    assert os.lstat(data / "link").st_uid == 1


@pytest.mark.parametrize("kind", ["watch", "listen"])
def test_a_plan_describes_the_reaction(eden, tmp_path, kind):
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/done").write_text("")
    (tmp_path / "steps.yaml").write_text(
        f"""
steps:
- {{name: config, file.managed: {{name: /etc/config, content: new}}}}
- {{name: build, cmd.run: {{cmd: 'true', creates: /done}}, {kind}: [{{step: config}}]}}
- {{name: word, test.ok: {{}}, {kind}: [{{step: config}}]}}
"""
    )
    done = eden("plan", "steps.yaml", "--root", "root")
    assert done.returncode == 0, done.stderr
    assert "would run again because 'steps#config' changes" in done.stdout
    assert "would react because 'steps#config' changes" in done.stdout
