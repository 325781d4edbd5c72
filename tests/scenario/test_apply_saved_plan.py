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
