"""A saved plan is applied exactly as it was made, or not at all."""

import json
import os
import subprocess

import pytest

STEPS = """
steps:
- name: note
  file.managed: {name: /note, content: "{{ vars.text }}"}
"""

STEPS_OF_TEMPLATE = """
steps:
- name: note
  file.managed: {{name: /note, template: {}.j2}}
"""


@pytest.fixture
def saved(eden, tmp_path):
    """A plan for one root; returns a function that applies it with further options."""
    (tmp_path / "root").mkdir()
    (tmp_path / "steps.yaml").write_text(STEPS)
    done = eden(
        "plan", "steps.yaml", "--root", "root", "--config-dir", "config", "-D", "text=one",
        "--out", "saved",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return lambda *options: eden("apply", "saved", *options)


def test_a_plan_is_applied_with_its_original_options(saved, tmp_path):
    assert saved().returncode == 0
    assert (tmp_path / "root/note").read_text() == "one"


def test_options_equal_to_the_saved_ones_are_accepted(saved, tmp_path):
    done = saved("--root", "root", "--config-dir", "config", "-D", "text=one")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "root/note").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--root", "other"),
        ("--state-dir", "other"),
        ("--config-dir", "other"),
        ("--node", "other"),
        ("--order", "genius"),
        ("--job", "other"),
        ("--label", "role=web"),
        ("-D", "text=two"),
        ("-D", "text=one", "-D", "more=1"),
    ],
)
def test_an_option_that_differs_from_the_saved_one_is_rejected(saved, tmp_path, options):
    (tmp_path / "other").mkdir()
    done = saved(*options)
    assert done.returncode == 64
    assert "differs from the saved plan" in done.stderr
    assert not (tmp_path / "root/note").exists()
    assert list((tmp_path / "other").iterdir()) == []


def test_a_plan_is_rejected_when_the_site_has_changed(saved, tmp_path):
    (tmp_path / "steps.yaml").write_text(STEPS + "# another line\n")
    assert saved().returncode == 5
    assert not (tmp_path / "root/note").exists()


def test_a_plan_is_rejected_when_the_machine_has_changed(saved, tmp_path):
    (tmp_path / "root/note").write_text("somebody else's")
    assert saved().returncode == 5
    assert (tmp_path / "root/note").read_text() == "somebody else's"


def test_a_rejected_plan_names_the_file_and_the_remedy(saved, tmp_path):
    (tmp_path / "steps.yaml").write_text(STEPS + "# another line\n")
    output = saved().stderr
    assert "error[E0718]: the site has changed since the plan was created: steps.yaml" in output
    assert "plan again: eden plan --root=" in output


SHAPED = """
jobs:
  role=web:
    - name: web
    - name: other
"""


@pytest.fixture
def again(eden_path, tmp_path):
    """Runs the line that an error message suggests, as a shell reads it."""

    def run(output, shell="sh", **variables):
        (line,) = [line for line in output.splitlines() if "plan again: " in line]
        line = line.split("plan again: ", 1)[1]
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin/eden").unlink(missing_ok=True)
        (tmp_path / "bin/eden").symlink_to(eden_path)
        env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", **variables}
        return subprocess.run(
            [shell, "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
        )

    return run


def test_the_printed_command_shows_the_plan_in_the_same_way(eden, again, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "steps.yaml").write_text(STEPS)
    options = ("--verbose", "--diff", "none", "--progress", "json", "--detailed-exitcode", "-o", "json",
               "--junit", "out.xml", "--color=never", "-D", "text=x")  # fmt: skip
    done = eden("plan", "steps.yaml", "--root", "root", "--config-dir", "config", "--state-dir", "state",
                *options, "--out", "the plan")  # fmt: skip
    assert done.returncode == 2, done.stderr
    (tmp_path / "steps.yaml").write_text(STEPS + "# another line\n")
    output = eden("apply", "the plan")
    assert output.returncode == 5
    shown = ("--verbose --diff=none --progress=json --detailed-exitcode --output=json "
             f"--junit={tmp_path}/out.xml --color=never ")  # fmt: skip
    assert shown in output.stderr
    done = again(output.stderr)
    assert done.returncode == 2 and json.loads(done.stdout)["mode"] == "plan", done.stderr


def test_the_printed_command_makes_the_same_plan_again(eden, again, tmp_path):
    site, root = tmp_path / "my site", tmp_path / "a root"
    (site / "jobs").mkdir(parents=True)
    root.mkdir()
    (site / "jobs/base.yaml").write_text(SHAPED)
    for job in ("web", "other"):
        (site / f"jobs/{job}.yaml").write_text(
            f"steps:\n- {{name: note, file.managed: {{name: /{job},"
            " content: '{{ vars.text }} {{ vars.more }} {{ eden.node }}'}}\n"
        )
    (tmp_path / "vars.yaml").write_text("more: from a file\n")
    options = (
        "--root", "a root", "--state-dir", "state", "--config-dir", "config", "--node", "web1",
        "--label", "role=web", "-v", "vars.yaml", "-D", "text=it's $HOME; `id`", "--job", "web",
        "--order", "justdoit", "--workers", "3", "--max-wait", "90s",
    )  # fmt: skip
    first = eden("plan", "my site", *options, "--out", "the plan")
    assert first.returncode == 0, first.stderr
    (tmp_path / "vars.yaml").write_text("more: from a file, edited\n")
    output = eden("apply", "the plan")
    assert output.returncode == 5
    assert "--workers=3 --max-wait=90000ms " in output.stderr
    done = again(output.stderr)
    assert done.returncode == 0, done.stderr
    assert eden("apply", "the plan").returncode == 0
    assert (root / "web").read_text() == "it's $HOME; `id` from a file, edited web1"
    assert not (root / "other").exists()
    assert (tmp_path / "state/journal").exists()


def test_control_characters_survive_the_printed_command(eden, again, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "steps.yaml").write_text(STEPS)
    eden("plan", "steps.yaml", "--root", "root", "-D", "text=a\n\tb'\\c", "--out", "saved")
    (tmp_path / "steps.yaml").write_text(STEPS + "# edited\n")
    done = again(eden("apply", "saved").stderr, shell="bash")
    assert done.returncode == 0, done.stderr
    assert eden("apply", "saved").returncode == 0
    assert (tmp_path / "root/note").read_text() == "a\n\tb'\\c"


def test_the_printed_command_contains_no_secret(eden, again, tmp_path):
    (tmp_path / "site/jobs").mkdir(parents=True)
    (tmp_path / "site/variables").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "site/jobs/base.yaml").write_text("jobs: {'*': [{name: web}]}\n")
    (tmp_path / "site/jobs/web.yaml").write_text(STEPS)
    (tmp_path / "site/variables/base.yaml").write_text("files: {'*': [{name: all}]}\n")
    (tmp_path / "site/variables/all.yaml").write_text("text: !secret changeme\n")
    word = "hunter2-hunter2"
    eden("plan", "site", "--root", "root", "-D", f"text={word}", "--out", "saved")
    (tmp_path / "site/jobs/web.yaml").write_text(STEPS + "# edited\n")
    for options in ((), ("-o", "json")):
        output = eden("apply", "saved", "-D", f"text={word}", *options)
        assert output.returncode == 5
        assert word not in output.stderr + output.stdout
    output = eden("apply", "saved", "-D", f"text={word}").stderr
    assert "set the shell variable 'text' to the secret" in output
    assert again(output).returncode != 0  # the shell fails: it is not set
    assert again(output, text=word).returncode == 0
    assert word not in (tmp_path / "saved").read_text()
    output = eden("apply", "saved")
    assert output.returncode == 64 and "does not contain the secret 'text'" in output.stderr
    assert eden("apply", "saved", "-D", "text=another-one").returncode == 5
    assert eden("apply", "saved", "-D", f"text={word}").returncode == 0
    assert (tmp_path / "root/note").read_text() == word


@pytest.mark.parametrize("source", ["-", "/dev/stdin"])
def test_variables_that_cannot_be_reread_are_rejected_for_saved_plans(eden, tmp_path, source):
    (tmp_path / "root").mkdir()
    (tmp_path / "steps.yaml").write_text(STEPS)
    done = eden(
        "plan", "steps.yaml", "--root", "root", "-v", source, "--out", "saved", input="text: one"
    )
    assert done.returncode == 64
    assert f"'-v {source}' is not a regular file" in done.stderr
    assert not (tmp_path / "saved").exists()


def test_different_variables_do_not_mean_another_machine(eden, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "steps.yaml").write_text(STEPS)
    (tmp_path / "vars.yaml").write_text("text: one")
    eden("plan", "steps.yaml", "--root", "root", "-v", "vars.yaml", "--out", "saved")
    (tmp_path / "vars.yaml").write_text("text: two")
    done = eden("apply", "saved")
    assert done.returncode == 5
    assert f"the variables have changed since the plan was created: {tmp_path}/vars.yaml" in done.stderr


def test_a_saved_plan_is_shown_again(eden, saved, tmp_path):
    (tmp_path / "steps.yaml").unlink()  # what is shown is what was planned
    done = eden("plan", "saved")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"saved plan of {tmp_path}/steps.yaml, created at 20")
    assert "change   steps#note  file.managed: created\n" in done.stdout
    assert "+one" in done.stdout


def test_a_plan_can_be_applied_from_another_directory(eden, saved, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    done = eden("apply", "../saved", cwd=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "root/note").read_text() == "one"


@pytest.mark.parametrize("command", ["apply", "plan"])
def test_a_truncated_plan_is_not_a_usage_error(eden, saved, tmp_path, command):
    text = (tmp_path / "saved").read_text()
    (tmp_path / "saved").write_text(text[: len(text) // 2])
    done = eden(command, "saved")
    assert done.returncode == 1
    assert "error[E0719]: saved: the saved plan is damaged" in done.stderr


def test_a_plan_with_other_secrets_is_reported_as_damaged(eden, saved, tmp_path):
    plan = json.loads((tmp_path / "saved").read_text())
    (tmp_path / "saved").write_text(json.dumps({**plan, "withheld": [3]}))
    done = eden("apply", "saved", "-D", "text=one")
    assert done.returncode == 1 and "the saved plan is damaged" in done.stderr
    (tmp_path / "saved").write_text(json.dumps({**plan, "withheld": ["text"] * 100000}))
    done = eden("apply", "saved", "-D", "text=one")  # a repeated name counts once
    assert done.returncode == 0, done.stderr


def test_only_its_owner_can_read_a_plan(saved, tmp_path):
    assert (tmp_path / "saved").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("owner, mode, reason", [
    (12345, 0o600, "is owned by user 12345"),
    (0, 0o620, "is writable by users other than its owner"),
    (0, 0o602, "is writable by users other than its owner"),
])
def test_a_plan_writable_by_others_is_rejected(eden, saved, tmp_path, owner, mode, reason):
    plan = tmp_path / "saved"
    plan.chmod(mode)
    os.chown(plan, owner, -1)
    done = saved()
    assert done.returncode == 4, done.stderr
    assert f"error[E0724]: the saved plan is not trusted: saved {reason}" in done.stderr
    assert "chown $(id -u) saved && chmod 600 saved" in done.stderr
    assert not (tmp_path / "root/note").exists()
    assert eden("plan", "saved").returncode == 0  # showing it is harmless
    plan.chmod(0o644)
    os.chown(plan, 0, 0)
    assert saved().returncode == 0
    assert (tmp_path / "root/note").exists()


def test_a_plan_is_rejected_when_the_site_reads_other_files(eden, tmp_path):
    """The first of them is named, whether it was added or is not read anymore."""
    (tmp_path / "root").mkdir()
    for name, text in {"jobs/base.yaml": "jobs:\n  '*':\n  - name: web\n", "templates/one.j2": "1",
                       "templates/two.j2": "2", "jobs/web.yaml": STEPS_OF_TEMPLATE.format("one")}.items():
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text(text)
    done = eden("plan", "site", "--root", "root", "--out", "saved")
    assert done.returncode == 0, done.stderr
    (tmp_path / "site/jobs/web.yaml").write_text(STEPS_OF_TEMPLATE.format("two"))
    done = eden("apply", "saved")
    assert done.returncode == 5
    assert "the site has changed since the plan was created" in done.stderr
    assert "and others" in done.stderr
    assert not (tmp_path / "root/note").exists()
