"""A saved plan is applied as it was made, or not at all."""

import pytest

STEPS = """
steps:
- name: note
  file.managed: {name: /note, content: "{{ vars.text }}"}
"""


@pytest.fixture
def saved(eden, tmp_path):
    """A plan for one root; answers a function that applies it with further options."""
    (tmp_path / "root").mkdir()
    (tmp_path / "steps.yaml").write_text(STEPS)
    done = eden(
        "plan", "steps.yaml", "--root", "root", "--config-dir", "config", "-D", "text=one",
        "--out", "saved",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return lambda *options: eden("apply", "saved", *options)


def test_a_plan_is_applied_with_what_it_was_made_with(saved, tmp_path):
    assert saved().returncode == 0
    assert (tmp_path / "root/note").read_text() == "one"


def test_options_that_say_the_same_are_fine(saved, tmp_path):
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
def test_an_option_that_says_otherwise_is_refused(saved, tmp_path, options):
    (tmp_path / "other").mkdir()
    done = saved(*options)
    assert done.returncode == 64
    assert "is not what the saved plan was made with" in done.stderr
    assert not (tmp_path / "root/note").exists()
    assert list((tmp_path / "other").iterdir()) == []


def test_a_plan_is_refused_when_the_site_has_moved(saved, tmp_path):
    (tmp_path / "steps.yaml").write_text(STEPS + "# another line\n")
    assert saved().returncode == 5
    assert not (tmp_path / "root/note").exists()


def test_a_plan_is_refused_when_the_machine_has_moved(saved, tmp_path):
    (tmp_path / "root/note").write_text("somebody else's")
    assert saved().returncode == 5
    assert (tmp_path / "root/note").read_text() == "somebody else's"


def test_a_refusal_names_the_file_and_what_to_do(saved, tmp_path):
    (tmp_path / "steps.yaml").write_text(STEPS + "# another line\n")
    told = saved().stderr
    assert "error[E0718]: the site has changed since the plan was made: steps.yaml" in told
    assert f"run 'eden plan {tmp_path}/steps.yaml --out saved' again" in told


def test_other_variables_are_no_other_machine(eden, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "steps.yaml").write_text(STEPS)
    (tmp_path / "vars.yaml").write_text("text: one")
    eden("plan", "steps.yaml", "--root", "root", "-v", "vars.yaml", "--out", "saved")
    (tmp_path / "vars.yaml").write_text("text: two")
    done = eden("apply", "saved")
    assert done.returncode == 5
    assert f"the variables have changed since the plan was made: {tmp_path}/vars.yaml" in done.stderr


def test_a_saved_plan_is_shown_again(eden, saved, tmp_path):
    (tmp_path / "steps.yaml").unlink()  # what is shown is what was planned
    done = eden("plan", "saved")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"saved plan of {tmp_path}/steps.yaml, made at 20")
    assert "change   steps#note  file.managed: created\n" in done.stdout
    assert "+one" in done.stdout


def test_a_plan_can_be_applied_from_elsewhere(eden, saved, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    done = eden("apply", "../saved", cwd=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "root/note").read_text() == "one"


@pytest.mark.parametrize("command", ["apply", "plan"])
def test_a_torn_plan_is_no_wrong_usage(eden, saved, tmp_path, command):
    text = (tmp_path / "saved").read_text()
    (tmp_path / "saved").write_text(text[: len(text) // 2])
    done = eden(command, "saved")
    assert done.returncode == 1
    assert "error[E0719]: saved: the saved plan is damaged" in done.stderr


def test_only_its_owner_reads_a_plan(saved, tmp_path):
    assert (tmp_path / "saved").stat().st_mode & 0o777 == 0o600
