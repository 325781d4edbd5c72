"""Values in a template's context may be known only when the step runs."""

import json

import pytest


@pytest.mark.parametrize(
    "value",
    ["macros['k']", "macros['file.contents']('/etc/version')", "steps.ask.value", "vars.v"],
)
@pytest.mark.parametrize("when", ["", "  conditions: {when: {condition: 'true'}}\n"])
def test_a_context_known_only_at_run_time(eden, tmp_path, value, when):
    site = tmp_path / "site"
    for folder in ("jobs", "macros", "templates", "variables"):
        (site / folder).mkdir(parents=True)
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/version").write_text("6.1")
    (site / "jobs/base.yaml").write_text("jobs: {'*': [{name: j}]}")
    (site / "macros/base.yaml").write_text("macros: {'*': [{name: m}]}")
    (site / "macros/m.yaml").write_text("k: {file.contents: [{name: /etc/version}]}")
    (site / "variables/base.yaml").write_text("files: {'*': [{name: v}]}")
    (site / "variables/v.yaml").write_text("v: \"{{ macros['k'] }}\"")
    (site / "templates/t.j2").write_text("version {{ k }} {{ fixed }}\n")
    (site / "jobs/j.yaml").write_text(
        f"""
steps:
- name: ask
  file.contents: {{name: /etc/version}}
- name: write
  file.managed:
    name: /etc/out
    template: t.j2
    context: {{k: "{{{{ {value} }}}}", fixed: text}}
{when}"""
    )
    options = ("site", "--root", "root", "--config-dir", "config", "-o", "json")
    assert "steps" in json.loads(eden("plan", *options).stdout)
    done = eden("apply", *options)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "root/etc/out").read_text() == "version 6.1 text\n"
