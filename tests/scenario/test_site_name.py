"""Knowledge about earlier runs belongs to the name of a site, wherever its files are."""

import json
import shutil

import pytest

JOB = """
steps:
- name: motd
  file.managed: {name: /etc/motd, content: "CONTENT"}
- name: gate
  file.copy: {name: /etc/gate, source: /etc/open}
- name: reader
  test.changed: {}
  onchanges: [{step: motd}]
  require: [{step: gate}]
"""


@pytest.fixture
def node(eden, tmp_path):
    """Creates sites, and runs them on one root."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)

    class Node:
        etc = root / "etc"

        def site(self, path, content="one", name=None, job=JOB):
            place = tmp_path / path
            (place / "jobs").mkdir(parents=True, exist_ok=True)
            (place / "jobs/base.yaml").write_text("jobs: {'*': [{name: web}]}\n")
            (place / "jobs/web.yaml").write_text(job.replace("CONTENT", content))
            if name is not None:
                (place / "config.yaml").write_text(f"name: {name}\n")
            return place

        def run(self, verb, path, **more):
            done = eden(verb, path, "--root", root, "--config-dir", tmp_path / "none", "-o", "json",
                        **more)  # fmt: skip
            output = json.loads(done.stdout)
            output["stderr"] = done.stderr
            return output

        def cause(self, path):
            return self.run("plan", path)["steps"][0]["cause"]

    return Node()


def test_a_copy_of_a_site_distinguishes_drift_from_intent(node, tmp_path):
    first = node.site("a/shop")
    node.run("apply", first)
    shutil.copytree(first, tmp_path / "b/shop")
    shutil.rmtree(first)
    (node.etc / "motd").write_text("somebody else's")
    assert node.cause(tmp_path / "b/shop") == "drift"
    node.site("b/shop", content="two")
    assert node.cause(tmp_path / "b/shop") == "intent"


def test_config_yaml_names_a_site(node, tmp_path):
    node.run("apply", node.site("version-1", name="shop"))
    (node.etc / "motd").write_text("somebody else's")
    assert node.cause(node.site("version-2", name="shop")) == "drift"
    assert node.cause(node.site("version-3")) == "new"


def test_the_folder_names_a_site_also_from_inside(node, tmp_path):
    place = node.site("a/shop")
    node.run("apply", ".", cwd=place)
    (node.etc / "motd").write_text("somebody else's")
    assert node.cause(place) == "drift"


def test_owed_actions_move_with_the_site(node, tmp_path):
    first = node.site("a/shop")
    owed = node.run("apply", first)["owed"]
    assert [debt["step"] for debt in owed] == ["web#reader"]
    second = node.site("b/shop", job=JOB[: JOB.index("- name: reader")])
    done = node.run("apply", second)
    assert done["owed"] == []  # its step has left the site, although the old copy still has it
    assert "E0711" in done["stderr"]


def test_a_site_with_another_name_does_not_touch_owed_actions(node, tmp_path):
    node.run("apply", node.site("a/shop"))
    other = node.site("b/other", job="steps: [{name: note, file.managed: {name: /etc/note}}]\n")
    assert [debt["step"] for debt in node.run("apply", other)["owed"]] == ["web#reader"]


@pytest.mark.parametrize("name", ["'../up'", "a b", "-x", "''", "[shop]", "x" * 64, "{{ x }}"])
def test_an_invalid_name_is_reported_at_its_location(eden, node, tmp_path, name):
    place = node.site("shop")
    (place / "config.yaml").write_text(f"name: \"{name}\"\n" if "{{" in name else f"name: {name}\n")
    done = eden("validate", place, "-o", "json")
    assert done.returncode == 1
    problem = json.loads(done.stdout)["problems"][0]
    assert problem["file"].endswith("config.yaml") and problem["line"] == 1
