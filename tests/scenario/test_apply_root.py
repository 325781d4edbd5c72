"""--root DIR: everything happens below it, also where links would lead out."""

import os

import pytest

STEPS = "steps: [{name: one, test.ok: }]\n"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "steps.yaml").write_text(STEPS)
    (tmp_path / "outside").mkdir()
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_a_node_gets_its_identity_from_its_root(eden, root):
    (root / "etc/eden/vars.d").mkdir(parents=True)
    (root / "etc/eden/node.yaml").write_text("name: image\n")
    (root / "etc/eden/vars.d/a.yaml").write_text("color: green\n")
    done = eden("plan", "steps.yaml", "--root", root)
    assert "plan on image:" in done.stdout, done.stderr
    (root.parent / "jobs").mkdir()
    (root.parent / "jobs/base.yaml").write_text("jobs: {}\n")
    done = eden("vars", "get", "color", "--root", root)
    assert done.stdout == "green\n", done.stderr


@pytest.mark.parametrize("made", [False, True], ids=["missing", "there"])
def test_state_stays_in_the_root_where_a_link_leads_elsewhere(eden, root, made):
    """An absolute link in an image refers to a path in the image."""
    outside = root.parent / "outside"
    (root / "var").symlink_to(outside)
    place = root / str(outside)[1:]
    if made:
        place.mkdir(parents=True)
    done = eden("apply", "steps.yaml", "--root", root)
    assert os.listdir(outside) == []
    if made:
        assert done.returncode == 0, done.stderr
        assert (place / "lib/eden/journal").exists()
        assert "nothing is owed" in eden("owed", "--root", root).stderr
        assert eden("why", "one", "--root", root).returncode == 0
    else:
        assert done.returncode == 64
        assert "/var in '" in done.stderr and "is a dangling symbolic link" in done.stderr


@pytest.mark.parametrize("target", ["/nowhere/sh", "../nowhere/sh"])
def test_a_plan_names_programs_missing_in_the_root(eden, root, target):
    (root.parent / "run.yaml").write_text("steps: [{name: x, cmd.run: {cmd: echo hi}}]")
    (root / "bin").mkdir()
    (root / "bin/sh").symlink_to(target)
    done = eden("plan", "run.yaml", "--root", root)
    assert done.returncode == 1
    assert "program '/bin/sh' not found: it is a symlink to '" in done.stdout
    assert "nowhere/sh', which does not exist" in done.stdout
    (root / "nowhere").mkdir()
    (root / "nowhere/sh").touch(0o755)
    assert eden("plan", "run.yaml", "--root", root).returncode == 0
