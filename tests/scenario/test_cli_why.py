"""`eden why STEP`: what ran, skipped or blocked a step, and where its values came from."""

import json

import pytest

SITE = {
    "jobs/base.yaml": "jobs:\n  '*':\n    - name: web\n    - name: db\n",
    "variables/base.yaml": "files: {'*': [{name: common}]}\n",
    "variables/common.yaml": "site: fra\nports: {http: 80}\npassword: !secret hunter2hunter2\n",
    "jobs/web.yaml": """\
steps:
- name: conf
  file.managed:
    - name: /etc/web.conf
    - content: "site {{ vars.site }}, port {{ vars.ports['http'] }} of {{ item }}"
    - mode: '0604'
  forEach: [a]
- name: password
  file.managed:
    - name: /etc/password
    - content: "{{ vars.password }}"
- name: reload
  action: test.ok
  watch:
    - step: conf
- name: broken
  action: test.failed
- name: middle
  action: test.ok
  require: [{step: broken}]
- name: last
  action: test.ok
  require: [{step: middle}]
- name: elsewhere
  action: test.ok
  conditions:
    when:
      condition: vars.site == 'ams' and steps['reload'].Changed
- name: same
  action: test.ok
""",
    "jobs/db.yaml": "steps:\n- name: same\n  action: test.ok\n",
}


@pytest.fixture
def applied(eden, tmp_path):
    """A site that was applied; returns a function that runs `eden why`."""
    for name, text in SITE.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "root/etc").mkdir(parents=True)
    where = ("--root", tmp_path / "root", "--state-dir", tmp_path / "state")

    def apply():
        done = eden("apply", "site", *where, "--config-dir", tmp_path / "etc",
                    "--progress", "none")
        assert done.returncode == 1, done.stderr

    def why(*args):
        return eden("why", *args, "--state-dir", tmp_path / "state")

    apply()
    why.apply = apply
    return why


def test_the_chain_leads_to_the_root_cause(applied):
    lines = applied("last").stdout.split("\n")
    assert lines[0].startswith("web#last  test.ok  blocked  ")
    start = lines.index("Why")
    assert lines[start + 1].startswith("  web#last was blocked: requires 'middle', "
                                       "which is blocked  ")
    assert lines[start + 2].startswith("  <- web#middle was blocked: requires 'broken', "
                                       "which failed  ")
    assert lines[start + 3].startswith("  <- web#broken failed: fails as requested (E0601)  ")
    assert lines[start + 3].endswith("jobs/web.yaml:16")


def test_conditions_show_their_results(applied):
    output = json.loads(applied("elsewhere", "-o", "json").stdout)
    assert output["result"] == "skipped"
    condition, = output["conditions"]
    assert condition["condition"] == "when" and condition["answer"] == "no"
    assert condition["text"] == "vars.site == 'ams' and steps['reload'].Changed"
    assert condition["uses"] == ["vars.site", "steps['reload'].Changed"]
    assert condition["ask"] == ["eden vars why site site", "eden why 'reload'"]
    implicit, = output["requisites"]
    assert implicit["origin"] == "condition" and implicit["step"] == "web#reload"
    text = applied("elsewhere").stdout
    assert "when: vars.site == 'ams' and steps['reload'].Changed -> no" in text
    assert "order web#reload: changed  (condition: reload)" in text


def test_parameters_show_their_origin(applied):
    output = json.loads(applied("conf[a]", "-o", "json").stdout)
    params = {param["name"]: param for param in output["parameters"]}
    assert params["name"]["value"] == "/etc/web.conf"
    assert params["name"]["file"].endswith("jobs/web.yaml") and params["name"]["line"] == 4
    content = params["content"]
    assert content["line"] == 5
    assert content["value"] == "site fra, port 80 of a"
    assert content["template"] == ("site {{ vars.site }}, port {{ vars.ports['http'] }} "
                                   "of {{ item }}")
    assert content["uses"] == ["vars.site", "vars.ports['http']", "item"]
    assert content["ask"] == ["eden vars why site site", "eden vars why \"ports['http']\" site"]


def test_long_parameters_are_only_counted(eden, tmp_path):
    (tmp_path / "root").mkdir()
    content = "x" * 201
    (tmp_path / "steps.yaml").write_text(
        f"steps:\n- name: long\n  file.managed: [{{name: /long}}, {{content: {content}}}, {{mode: '0600'}}]\n"
        f"- name: short\n  file.managed: [{{name: /short}}, {{content: {content[1:]}}}]\n")
    done = eden("apply", "steps.yaml", "--root", "root", "--state-dir", "state", "--config-dir", "config",
                "--node", "n1", "--progress", "none")  # fmt: skip
    assert done.returncode == 0, done.stderr
    for step, expected in (("long", {"bytes": 201}), ("short", {"value": content[1:]})):
        output = json.loads(eden("why", step, "--state-dir", "state", "-o", "json").stdout)
        param, = (p for p in output["parameters"] if p["name"] == "content")
        assert {key: param[key] for key in ("bytes", "value") if key in param} == expected


def test_the_commands_it_names_work(applied, eden):
    output = json.loads(applied("conf[a]", "-o", "json").stdout)
    content = next(param for param in output["parameters"] if param["name"] == "content")
    assert len(content["ask"]) == 2
    for command, line in zip(content["ask"], (1, 2)):
        key = command.split()[3].strip('"')
        done = eden("vars", "why", key, "site")
        assert f"variables/common.yaml:{line}" in done.stdout, done.stdout + done.stderr


def test_changes_are_shown(applied):
    output = applied("conf[a]").stdout
    assert "web#conf[a] changed: it was never applied here before" in output
    assert "  +site fra, port 80 of a\n" in output
    reload = json.loads(applied("reload", "-o", "json").stdout)
    assert [link["step"] for link in reload["chain"]] == ["web#reload", "web#conf[a]"]
    assert reload["chain"][1]["kind"] == "watch"
    assert reload["reacted"] is True


def test_drift_is_the_cause_of_the_second_change(applied, tmp_path):
    (tmp_path / "root/etc/web.conf").write_text("somebody was here\n")
    applied.apply()
    assert "the machine had changed since the last run" in applied("conf[a]").stdout
    runs = sorted(path.stem for path in (tmp_path / "state/runs").iterdir())
    first = applied("conf[a]", "--run", min(runs))
    assert f"run {min(runs)} on" in first.stdout


def test_secrets_stay_hidden(applied):
    for form in ("text", "json"):
        done = applied("password", "-o", form)
        assert done.returncode == 0
        assert "hunter2" not in done.stdout
        assert "(secret)" in done.stdout
        assert "eden vars why password site" in done.stdout


def test_a_missing_name_gets_a_suggestion(applied):
    done = applied("brokn")
    assert done.returncode == 3
    assert "the run has no step 'brokn'" in done.stderr
    assert "did you mean 'broken'?" in done.stderr


def test_a_name_in_two_jobs_needs_its_id(applied):
    done = applied("same")
    assert done.returncode == 3
    assert "'same' matches more than one step" in done.stderr
    assert "'web#same', 'db#same'" in done.stderr
    assert applied("db#same").returncode == 0


def test_a_resource_leads_to_its_step(eden, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "steps: [{name: config, file.managed: {name: /etc/app, content: x}}, {name: homes, "
        "file.directory: {name: '/home/{{ item }}'}, forEach: [ann, ben]}]"
    )
    (tmp_path / "root").mkdir()
    assert eden("apply", "s.yaml", "--root", "root").returncode == 0
    done = eden("why", "/etc/app", "--root", "root")
    assert done.returncode == 3 and "use 's#config'" in done.stderr
    assert eden("why", "s#config", "--root", "root").returncode == 0
    done = eden("why", "homes", "--root", "root")
    assert "use 's#homes[ann]', 's#homes[ben]'" in done.stderr


def test_a_missing_record_is_reported(eden, tmp_path):
    done = eden("why", "greet", "--state-dir", tmp_path / "state")
    assert done.returncode == 3
    assert "error[E0720]: no run recorded in" in done.stderr
    output = eden("why", "greet", "--state-dir", tmp_path / "state", "-o", "json")
    assert json.loads(output.stdout)["problems"][0]["code"] == "E0720"


def test_an_unknown_run_is_reported(applied):
    done = applied("conf[a]", "--run", "1999")
    assert done.returncode == 3
    assert "run '1999' not found in" in done.stderr


def test_a_requisite_written_on_the_target_has_its_location(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text(
        "steps:\n- name: k\n  test.ok:\n  require_in: [{step: d}]\n- name: d\n  test.ok:\n"
    )
    eden("apply", "steps.yaml", "--state-dir", "state", "--config-dir", "none", "--progress", "none")
    output = eden("why", "d", "--state-dir", "state").stdout
    assert "require steps#k: ok  steps.yaml:4 (as _in, there)" in output
