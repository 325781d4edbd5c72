"""`eden validate` on complete sites: all errors are reported at once, with their locations."""

import json

import pytest


@pytest.fixture
def site(tmp_path):
    """Writes files of a site: `site({"jobs/base.yaml": ..})` returns its folder."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / "site" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "site"

    return write


def problems(eden, path):
    result = eden("validate", str(path), "-o", "json")
    found = json.loads(result.stdout)["problems"]
    assert result.returncode == (1 if any(p["severity"] == "error" for p in found) else 0)
    return [
        (p["code"], p["file"].removeprefix(str(path) + "/"), p["line"], p["column"], p["hint"])
        for p in found
    ]


BASE = {
    "jobs/base.yaml": "jobs:\n  '*':\n    - name: web\n",
    "jobs/web.yaml": "steps:\n- name: greet\n  cmd.run:\n    - cmd: echo hello\n",
}


def test_a_valid_site_has_no_problems(eden, site):
    result = eden("validate", str(site(BASE)))
    assert (result.returncode, result.stdout, result.stderr) == (0, "2 files ok\n", "")


def test_mistakes_in_several_documents_are_reported_together(eden, site):
    path = site(
        {
            "jobs/base.yaml": "jobs:\n  '*':\n    - name: wep\n    - name: web\n",
            "jobs/web.yaml": "steps:\n- name: greet\n  cmd.run:\n    - cnd: echo\n"
            "- cmd.runn: {cmd: ls}\n",
            "jobs/nobody.yaml": "step: []\n",
            "variables/base.yaml": "files: {'*': [{name: common}]}\n",
            "variables/common.yaml": "a: \"{{ b | uper }}\"\n",
            "templates/motd": "{% if %}",
        }
    )
    assert sorted(problems(eden, path), key=lambda found: found[1:4]) == [
        ("E0301", "jobs/base.yaml", 3, 13, "did you mean 'web'?"),
        ("E0302", "jobs/nobody.yaml", 1, 1, "did you mean 'steps'?"),
        (
            "E0307",
            "jobs/web.yaml",
            3,
            3,
            "add 'cmd: ...' (command as a string for a shell, or as a list of arguments without a shell)",
        ),
        ("E0306", "jobs/web.yaml", 4, 7, "did you mean 'cmd'?"),
        ("E0305", "jobs/web.yaml", 5, 3, "did you mean 'cmd.run'?"),
        ("E0201", "templates/motd", 1, 7, None),
        ("E0202", "variables/common.yaml", 1, 12, "did you mean 'upper'?"),
    ]


def test_dangling_references_are_found_without_a_node(eden, site):
    path = site(
        BASE
        | {
            "jobs/base.yaml": "jobs:\n  role=web: [{name: web}]\n  role=db: [{name: db}]\n",
            "jobs/db.yaml": "steps:\n- name: dump\n  cmd.run: {cmd: dump}\n"
            "  require:\n    - step: greet\n    - step: gret\n",
        }
    )
    (found,) = problems(eden, path)
    assert found[:4] == ("E0401", "jobs/db.yaml", 6, 13)
    assert found[4].startswith("did you mean 'greet' (")


def test_a_file_of_steps_is_checked_alone(eden, tmp_path):
    path = tmp_path / "steps.yaml"
    path.write_text(
        "steps:\n"
        "- name: a\n  cmd.run: {cmd: ls}\n  require: [{step: b}]\n"
        "- name: b\n  cmd.run: {cmd: ls}\n  require: [{step: a}]\n"
    )
    (found,) = problems(eden, path)
    assert found[0] == "E0403"


def test_hints_do_not_fail(eden, tmp_path):
    path = tmp_path / "steps.yaml"
    path.write_text(
        "steps:\n- name: a\n  cmd.run: {cmd: ls}\n  conditions: {when: {condition: '{{ 1 }}'}}\n"
    )
    (found,) = problems(eden, path)
    assert found[0] == "E0318"


@pytest.mark.parametrize(
    "selector, hint",
    [
        ("role=web & zone=x", "write 'and'"),
        ("role=web && zone=x", "write 'and'"),
        ("role=web || zone=x", "write 'or'"),
        ("G@os:Debian", "write \"server.os == 'debian'\""),
        ("I@role:web", "write a label of the nodes, such as 'role=web'"),
        ("P@os:Deb.*", "regular expressions are not supported"),
        ("'os_family == x'", "write \"server.os == 'debian'\" for a fact"),
        ("web[01", "unmatched bracket"),
        ("all:!db", "write '!db'"),
        ("web*:!db", "write 'web* and !db'"),
        ("@web", "write 'role=web' if the label is 'role'"),
        ("%web", "write 'role=web' if the label is 'role'"),
        ("~web.*", "write a pattern with '*', '?' or '[abc]', such as 'web*'"),
    ],
)
def test_foreign_selectors_get_a_hint(eden, tmp_path, selector, hint):
    (tmp_path / "site/jobs").mkdir(parents=True)
    (tmp_path / "site/jobs/base.yaml").write_text(f'jobs:\n  "{selector}": [{{name: a}}]\n')
    (tmp_path / "site/jobs/a.yaml").write_text("steps: [{test.ok: }]")
    done = eden("validate", "site")
    assert done.returncode == 1
    assert "error[E0501]" in done.stderr
    assert hint in done.stderr


@pytest.mark.parametrize(
    "selector, meant",
    [
        ("webservers:&staging:!phoenix", "webservers and staging and !phoenix"),
        ("all:&prod", "prod"),
        ("all:!web:!db", "!web and !db"),
        ("!web:!db", "!web and !db"),
        ("web:db:mail", "(web or db or mail)"),
        ("web:db:!web3", "(web or db) and !web3"),
        ("@web:@db", "(role=web or role=db)"),
        ("web*:!@db", "web* and !role=db"),
        ("dc=fra and web[a:c]", "dc=fra and web[a-c]"),
        ("role: web", "role=web"),
        ("role=web|db", "(role=web or role=db)"),
        ("role=(web|db)", "(role=web or role=db)"),
        ("web|db", "(web or db)"),
        ("role not in (web, db)", "!(role=web or role=db)"),
        ("role in [web, db]", "(role=web or role=db)"),
        ("role is web", "role=web"),
        ("role is not web", "role!=web"),
        ("role is defined", "role=*"),
        ("role is not defined", "role!=*"),
        ("labels.role == web", "role=web"),
        ("ansible_os_family == 'Debian'", "server.os_family == 'debian'"),
        ("web* and grains.os == debian", "web* and server.os == 'debian'"),
        ("G@os:Debian and web*", "server.os == 'debian' and web*"),
        ("G@role:web", "role=web"),
        ("L@web1,web2", "(web1 or web2)"),
        ("S@192.0.2.7", "server.ipv4 == '192.0.2.7'"),
        ("os == debian", "server.os == 'debian'"),
        ("os:debian", "server.os == 'debian'"),
        ("labels.role=web", "role=web"),
        ("server.oss == 'x'", "server.os == 'x'"),
    ],
)
def test_the_hint_for_a_foreign_selector_is_valid(eden, tmp_path, selector, meant):
    (tmp_path / "site/jobs").mkdir(parents=True)
    base = tmp_path / "site/jobs/base.yaml"
    base.write_text(f'jobs:\n  "{selector}": [{{name: a}}]\n')
    (tmp_path / "site/jobs/a.yaml").write_text("steps: [{test.ok: }]")
    done = eden("validate", "site", "-o", "json")
    (problem,) = json.loads(done.stdout)["problems"]
    fix = problem["fix"]
    lines = base.read_text().splitlines()
    line = lines[fix["line"] - 1]
    lines[fix["line"] - 1] = line[: fix["column"] - 1] + fix["text"] + line[fix["end_column"] - 1 :]
    assert lines[1] == f'  "{meant}": [{{name: a}}]'
    base.write_text("\n".join(lines))
    assert eden("validate", "site").returncode == 0


@pytest.mark.parametrize(
    "selector, message",
    [
        ("web[01:10]", "brackets match one character"),
        ("web[01-10]", "brackets match one character"),
        ("web[1:3]:!web2", "ranges in brackets are written with '-'"),
        ("^web", "regular expressions are not supported"),
        ("web$", "regular expressions are not supported"),
        ("/web[0-9]/", "regular expressions are not supported"),
        ("web+", "regular expressions are not supported"),
        ("role~=web", "'~=' is not a valid operator"),
        ("role!~web", "'!~' is not a valid operator"),
        ("web@db", "'@' is not allowed in a node name"),
        ("web/db", "'/' is not allowed in a node name"),
        ("web1 web2", "'and' or 'or' is expected before this"),
    ],
)
def test_selectors_that_match_no_node_are_errors(eden, tmp_path, selector, message):
    (tmp_path / "site/jobs").mkdir(parents=True)
    (tmp_path / "site/jobs/base.yaml").write_text(f'jobs:\n  "{selector}": [{{name: a}}]\n')
    (tmp_path / "site/jobs/a.yaml").write_text("steps: [{test.ok: }]")
    done = eden("validate", "site", "-o", "json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["code"] == "E0501" and message in problem["message"]


def test_names_passed_to_a_template_are_known(eden, tmp_path):
    """Other names are reported; those known from other tools may come from `context`, too. A template
    that no step uses may get any name."""
    for path, text in {
        "jobs/base.yaml": "jobs: {'*': [{name: web}]}\n",
        "jobs/web.yaml": "steps:\n- file.managed: {name: /a, template: a.j2, context: {grains: {id: 1}}}\n",
        "templates/a.j2": "{{ grains.id }} {{ whatever }} {{ pillar.x }} {{ mine | default(1) }}"
        "{% for x in [1] %}{% include 'c.j2' %}{% endfor %}",
        "templates/b.j2": "{{ somewhat }}",
        "templates/c.j2": "{{ x }} {{ item }}",
    }.items():
        (tmp_path / "site" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / path).write_text(text)
    done = eden("validate", "site")
    assert done.returncode == 1
    assert "'pillar' is undefined" in done.stderr and "write 'vars'" in done.stderr
    assert "'whatever' is undefined" in done.stderr and "pass it in the step's 'context'" in done.stderr
    assert "2 errors" in done.stderr


def test_macros_and_steps_that_do_not_exist_are_found_in_templates(eden, site):
    path = site(
        BASE
        | {
            "jobs/web.yaml": "steps:\n- name: greet\n  file.managed: [{name: /f}, {template: a.j2}]\n"
            "- name: each\n  forEach: [1]\n  cmd.run: [{cmd: ls}]\n",
            "macros/base.yaml": "macros: {'*': [{name: all}]}\n",
            "macros/all.yaml": "count:\n  expression: 1 + 1\n",
            "templates/a.j2": "{{ macros.nope }}\n{{ macros['cuont'] }}\n{{ steps.gret }}\n"
            "{{ steps['web#gret'].changed }}\n{% include 'b.j2' %}\n",
            "templates/b.j2": "{{ macros.count }} {{ macros['pkg.uptodate']() }} {{ steps.greet }}\n"
            "{{ steps['web#greet'] }} {{ steps['each[1]'] }} {{ steps.none | default(1) }}\n"
            "{% if macros.nobody is defined %}{{ macros.nobody }}{% endif %}\n",
        }
    )
    found = problems(eden, path)
    assert sorted(p[1:] for p in found) == [
        ("templates/a.j2", 1, 11, None),
        ("templates/a.j2", 2, 11, "did you mean 'count'?"),
        ("templates/a.j2", 3, 10, "did you mean 'greet'?"),
        ("templates/a.j2", 4, 10, "did you mean 'web#greet'?"),
    ]


def test_a_template_that_gets_macros_from_steps_is_not_checked(eden, site):
    path = site(
        BASE
        | {
            "jobs/web.yaml": "steps:\n- name: greet\n  file.managed:\n    - name: /f\n    - template: a.j2\n"
            "    - context: {steps: {a: 1}}\n",
            "templates/a.j2": "{{ steps.a }}\n",
        }
    )
    assert problems(eden, path) == []


@pytest.mark.parametrize("folder, name", [("jobs", "base.yaml"), ("jobs", "./base.yaml"),
                                          ("jobs/deep", "../base.yaml"), ("jobs/deep", "x.yaml"),
                                          ("templates", "motd.txt")])  # fmt: skip
def test_a_part_of_a_site_is_known_from_within_its_folder(eden, site, folder, name):
    path = site(
        {
            "jobs/base.yaml": "jobs:\n  '*': [{name: wep}]\n",
            "jobs/web.yaml": "steps: []\n",
            "jobs/deep/x.yaml": "stepz: []\n",
            "templates/motd.txt": "{{ a | uper }}\n",
        }
    )
    done = eden("validate", name, "-o", "json", cwd=path / folder)
    assert done.returncode == 1, done.stdout
    assert len(json.loads(done.stdout)["problems"]) == 1


def test_a_broken_step_of_a_single_file_hides_no_other_mistakes(eden, tmp_path):
    path = tmp_path / "steps.yaml"
    path.write_text(
        "steps:\n- name: a\n  file.manged: {name: /f}\n- &b\n  name: b\n  cmd.run:\n    cmd: |\n"
        "   under\n- *b\n- name: c\n  cmd.rn: {cmd: x}\n"
    )
    done = eden("validate", "steps.yaml", "-o", "json")
    found = [(p["code"], p["line"]) for p in json.loads(done.stdout)["problems"]]
    assert found == [("E0117", 8)]  # the others refer to what is in the broken one
    path.write_text(path.read_text().replace("- *b\n", ""))
    done = eden("validate", "steps.yaml", "-o", "json")
    found = [(p["code"], p["line"]) for p in json.loads(done.stdout)["problems"]]
    assert found == [("E0305", 3), ("E0117", 8), ("E0305", 10)]


def test_steps_are_not_missing_because_their_step_is_broken(eden, site):
    path = site({
        **BASE,
        "jobs/web.yaml": "steps:\n- name: a\n  cmd.run: {cmd: [x}\n- name: c\n  cmd.run: {cmd: x}\n"
        "  require: [{step: a}]\n",
        "templates/t": "{{ steps.a.Changed }}",
    })
    done = eden("validate", path, "-o", "json")
    assert len(json.loads(done.stdout)["problems"]) == 1, done.stdout
