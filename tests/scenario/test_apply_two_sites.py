"""Several sites on one node keep each other's resources."""

import json

import pytest

SITE = """
steps:
- name: conf
  file.managed: {name: /etc/conf, content: "{{ vars.text }}"}
- name: gate
  file.copy: {name: /etc/gate, source: /etc/open}
- name: reader
  test.changed: {}
  onchanges: [{step: conf}]
  require: [{step: gate}]
"""

HOTFIX = "steps: [{name: note, file.managed: {name: /etc/note, content: hello}}]"


@pytest.fixture
def node(eden, tmp_path):
    """Applies files of steps to one root; returns results by name."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)

    def apply(name, text, command="apply", *options):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        done = eden(
            command, path, "--root", root, "--config-dir", tmp_path / "config", "-o", "json",
            *options,
        )  # fmt: skip
        output = json.loads(done.stdout)
        steps = {step["name"]: step for step in output["steps"]}
        return steps, output["owed"], done.stderr

    apply.root = root
    return apply


def test_another_site_does_not_touch_owed_actions(node):
    _, owed, _ = node("site.yaml", SITE, "apply", "-D", "text=one")
    assert [debt["step"] for debt in owed] == ["site#reader"]
    assert owed[0]["site"].endswith("/site.yaml")
    _, owed, stderr = node("hotfix.yaml", HOTFIX)
    assert [debt["step"] for debt in owed] == ["site#reader"]
    assert "E0711" not in stderr
    (node.root / "etc/open").write_text("")
    steps, owed, _ = node("site.yaml", None, "apply", "-D", "text=one")
    assert (steps["conf"]["result"], steps["reader"]["result"]) == ("ok", "changed")
    assert owed == []


def test_a_debt_ends_when_its_site_drops_the_step(node):
    node("site.yaml", SITE, "apply", "-D", "text=one")
    _, owed, stderr = node("site.yaml", HOTFIX)
    assert owed == []
    assert "no longer in the site" in stderr


def test_a_debt_ends_with_its_site(node, tmp_path):
    node("site.yaml", SITE, "apply", "-D", "text=one")
    (tmp_path / "site.yaml").unlink()
    _, owed, _ = node("hotfix.yaml", HOTFIX)
    assert owed == []


def test_another_site_does_not_affect_drift_detection(node):
    (node.root / "etc/open").write_text("")
    node("site.yaml", SITE, "apply", "-D", "text=one")
    node("hotfix.yaml", HOTFIX)
    (node.root / "etc/conf").write_text("moved")
    steps, _, _ = node("site.yaml", None, "plan", "-D", "text=one")
    assert steps["conf"]["cause"] == "drift"
    steps, _, _ = node("site.yaml", None, "plan", "-D", "text=two")
    assert steps["conf"]["cause"] == "intent"
