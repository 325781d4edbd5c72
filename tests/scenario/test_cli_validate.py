"""`eden validate`: all errors in files, at once."""

import json


def test_valid_files_are_counted(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n")
    (tmp_path / "b.json").write_text("[]\n")
    assert eden("validate", "a.yaml").stdout == "1 file ok (1 as data: without 'steps')\n"
    done = eden("validate", "a.yaml", "b.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2 files ok (2 as data: without 'steps')\n"
    (tmp_path / "c.yaml").write_text("steps: [{name: a, test.ok: {}}]\n")
    done = eden("validate", "c.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 file ok\n", "")


def test_a_directory_is_searched(eden, tmp_path):
    for name in ("site/a.yaml", "site/jobs/b.yml", "site/facts.json", "site/notes.txt",
                 "site/.git/c.yaml", "site/.hidden.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}\n" if "." in name else "")
    (tmp_path / "site" / ".hidden.yaml").write_text("a: [\n")
    assert eden("validate", "site").stdout == "3 files ok\n"
    assert eden("validate", "site/").stdout == "3 files ok\n"


def test_skipped_files_are_reported(eden, tmp_path):
    (tmp_path / "site").mkdir()
    for name in ("a.yaml", "notes.txt", "README"):
        (tmp_path / "site" / name).write_text("")
    done = eden("validate", "site")
    assert (done.returncode, done.stdout) == (0, "1 file ok\n")
    assert done.stderr == ("skipped 2 files that are not YAML, JSON or templates by file name: "
                           "site/README, site/notes.txt\n")
    for i in range(10):
        (tmp_path / "site" / f"{i}.bin").write_text("")
    assert eden("validate", "site").stderr.endswith("site/4.bin, ...\n")
    assert eden("validate", "site", "-o", "json").stderr == ""


def test_templates_are_compiled(eden, tmp_path):
    good = "{% extends 'absent.j2' %}{% block b %}{{ missing }}{% endblock %}"
    for name in ("a.j2", "b.sls", "c.jinja", "d.jinja2"):
        (tmp_path / name).write_text(good)
        done = eden("validate", name)
        if name == "b.sls":
            assert done.returncode == 1 and "this is a Salt state file" in done.stderr
            assert "under 'steps:'" in done.stderr and done.stderr.count("error[") == 1
        else:
            assert done.stdout == "1 file ok\n"
        (tmp_path / name).write_text("\n{{ x | uper }}\n{{ y | lowr }}")
        done = eden("validate", name)
        assert done.returncode == 1
        assert f"--> {name}:2:8" in done.stderr
        assert f"--> {name}:3:8" in done.stderr


def test_files_of_other_tools_are_not_taken_for_sites(eden, tmp_path):
    (tmp_path / "other/roles/web/tasks").mkdir(parents=True)
    (tmp_path / "other/site.yml").write_text("- import_playbook: web.yml\n")
    (tmp_path / "other/roles/web/tasks/main.yml").write_text("- include_tasks: more.yml\n")
    done = eden("validate", "other")
    assert done.returncode == 0 and done.stderr.count("warning[E0303]") == 2
    assert "this is a playbook" in done.stderr and "these are Ansible tasks" in done.stderr
    for name in ("site.yml", "roles/web/tasks/main.yml"):
        done = eden("validate", f"other/{name}")
        assert done.returncode == 1 and "error[E0303]" in done.stderr
    (tmp_path / "top.sls").write_text("base:\n  '*': [common]\n")
    assert "this is a Salt top file" in eden("validate", "top.sls").stderr
    # A site may contain playbooks for steps.
    (tmp_path / "other/jobs").mkdir()
    (tmp_path / "other/jobs/base.yaml").write_text("jobs: {}\n")
    done = eden("validate", "other")
    assert done.returncode == 0 and "E0303" not in done.stderr


def test_problems_of_a_file_are_sorted_by_line(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\na: 2\nb:\n  c: 1\n  c: 2\nd: !x 1\n")
    (tmp_path / "b.yaml").write_text("a: {b: 1, b: 2}\na: 1\n")
    report = json.loads(eden("validate", "b.yaml", "a.yaml", "-o", "json").stdout)
    places = [(problem["file"], problem["line"]) for problem in report["problems"]]
    assert places == [("b.yaml", 1), ("b.yaml", 2), ("a.yaml", 2), ("a.yaml", 5), ("a.yaml", 6)]
    text = eden("validate", "a.yaml").stderr
    assert text.index("a.yaml:2:1") < text.index("a.yaml:5:3") < text.index("a.yaml:6:4")


def test_problems_of_all_files_are_reported_at_once(eden, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a.yaml").write_text("a: {{ x }}\n")
    (tmp_path / "site" / "b.yaml").write_text("a: 1\na: 2\nb: 1\nb: 2\n")
    (tmp_path / "site" / "c.json").write_text("{]\n")
    done = eden("validate", "site")
    assert (done.returncode, done.stdout) == (1, "")
    for place in ("site/a.yaml:1:4", "site/b.yaml:2:1", "site/b.yaml:4:1", "site/c.json:1:2"):
        assert f"--> {place}" in done.stderr
    assert done.stderr.rstrip().endswith("4 errors")


def test_json_report(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\na: 2\n")
    done = eden("validate", "a.yaml", "-o", "json")
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    assert report["format"] == "eden.problems/1"
    [problem] = report["problems"]
    assert set(problem) >= {"code", "message", "file", "line", "column", "hint"}
    assert (problem["code"], problem["file"], problem["line"], problem["column"]) == (
        "E0102", "a.yaml", 2, 1)
    (tmp_path / "a.yaml").write_text("a: 1\n")
    done = eden("validate", "a.yaml", "-o", "json")
    assert (done.returncode, json.loads(done.stdout)["problems"]) == (0, [])


def test_hints_do_not_fail_the_check(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("a: yes\nmode: 0644\n")
    done = eden("validate", "a.yaml")
    assert (done.returncode, done.stdout[:10]) == (0, "1 file ok ")
    assert "hint[E0131]" in done.stderr
    assert "hint[E0132]" in done.stderr


def test_nothing_to_check_is_a_failure(eden, tmp_path):
    (tmp_path / "empty").mkdir()
    done = eden("validate", "empty")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no YAML, JSON or template files" in done.stderr


def test_a_missing_file_fails_and_the_others_are_checked(eden, tmp_path):
    (tmp_path / "b.yaml").write_text("a: [\n")
    done = eden("validate", "absent.yaml", "b.yaml")
    assert done.returncode == 1
    assert "--> absent.yaml\n" in done.stderr
    assert "--> b.yaml:1:4" in done.stderr


def test_standard_input(eden):
    assert eden("validate", "-", input="a: 1\n").returncode == 0
    done = eden("validate", "-", input="a: 1\na: 2\n")
    assert done.returncode == 1
    assert "--> <stdin>:2:1" in done.stderr


def test_very_many_problems_are_counted_not_all_shown(eden, tmp_path):
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("a: 1\n" * 2000)
    done = eden("validate", "a.yaml", "b.yaml")
    assert done.returncode == 1
    assert done.stderr.count("error[E0102]") <= 200
    assert done.stderr.endswith("200 errors (there may be more)\n")
