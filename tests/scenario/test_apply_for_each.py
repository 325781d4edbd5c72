"""A step whose list is empty on this node is a known name without instances."""

import json

import pytest

SITE = """
steps:
- name: none
  forEach: []
  test.changed: {}
- name: dependent
  test.ok: {}
  KIND: [{REFERENCE}]
"""


@pytest.mark.parametrize("reference", ["step: none", "step: 'no*'", "step: steps#none", "test: none"])
@pytest.mark.parametrize(
    "kind, result",
    [
        ("require", "ok"),
        ("watch", "ok"),
        ("listen", "ok"),
        ("onchanges", "skipped"),
        ("onfail", "skipped"),
        ("prereq", "skipped"),
        ("require_in", "ok"),
    ],
)
def test_requisites_on_an_empty_for_each(eden, tmp_path, kind, reference, result):
    path = tmp_path / "steps.yaml"
    path.write_text(SITE.replace("KIND", kind).replace("REFERENCE", reference))
    options = ("--root", tmp_path, "--config-dir", tmp_path)
    done = eden("apply", path, "-o", "json", *options)
    (step,) = json.loads(done.stdout)["steps"]
    assert step["result"] == result, step
    (record,) = (tmp_path / "var/lib/eden/runs").iterdir()
    assert eden("replay", record).returncode == 0


def test_an_unknown_name_is_still_an_error(eden, tmp_path):
    path = tmp_path / "steps.yaml"
    path.write_text(SITE.replace("KIND", "require").replace("REFERENCE", "step: noone"))
    done = eden("apply", path, "--root", tmp_path, "--config-dir", tmp_path)
    assert done.returncode == 1
    assert "E0401" in done.stderr
