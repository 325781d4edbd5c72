"""eden vars: the variables of a node, and the origin of each value."""

import json

import pytest


@pytest.fixture
def site(tmp_path):
    """A site whose variables come from two files, on a node that adds one."""
    files = {
        "site/jobs/base.yaml": "jobs: {}\n",
        "site/variables/base.yaml": (
            "files:\n  '*':\n    - name: common\n  'role=web':\n    - name: web\n"
        ),
        "site/variables/common.yaml": (
            "net:\n  port: 80\n  mtu: 1500\n"
            "url: http://{{ vars.host }}:{{ vars.net.port }}\n"
            "host: web\n"
            "motd: |\n  hello\n"
            "password: !secret hush-hush\n"
            "conn: db://{{ vars.password }}@x\n"
        ),
        "site/variables/web.yaml": "net: {port: 8080}\n",
        "etc/vars.d/local.yaml": "host: '{{ as it is }}'\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def vars_of(eden, site):
    def run(*args):
        return eden("vars", *args, "--config-dir", site / "etc")

    return run


def test_get_prints_strings_verbatim_and_other_values_as_yaml(vars_of):
    assert vars_of("get", "motd", "site").stdout == "hello\n"
    assert vars_of("get", "url", "site").stdout == "http://{{ as it is }}:80\n"
    assert vars_of("get", "net", "site").stdout == "port: 80\nmtu: 1500\n"
    assert vars_of("get", "net.port", "site", "--label", "role=web").stdout == "8080\n"
    assert json.loads(vars_of("get", "net", "site", "-o", "json").stdout) == {"port": 80, "mtu": 1500}


def test_the_default_site_is_the_current_directory(eden, site):
    assert eden("vars", "get", "net.mtu", cwd=site / "site").stdout == "1500\n"


def test_list_names_the_file_of_each(vars_of):
    done = vars_of("list", "site")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["VARIABLE", "VALUE", "FROM"]
    assert ["host", "{{", "as", "it", "is", "}}"] == lines[3][:6]
    assert lines[3][6].endswith("etc/vars.d/local.yaml:1")
    assert lines[2][0] == "url" and lines[2][-1] == "site/variables/common.yaml:4"
    assert done.returncode == 0


def test_why_names_every_layer_and_the_winner(vars_of):
    done = vars_of("why", "net.port", "site", "--label", "role=web", "-D", 'net:={"port": 9}')
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "net.port = 9",
        "",
        "FROM                          VALUE              SELECTED BY",
        "site/variables/common.yaml:2  80     overridden  site/variables/base.yaml:3",
        "site/variables/web.yaml:1     8080   overridden  site/variables/base.yaml:5",
        "-D net                        9      wins        -",
    ]


def test_why_as_json(vars_of):
    done = vars_of("why", "net", "site", "--label", "role=web", "-o", "json")
    why = json.loads(done.stdout)
    assert why["format"] == "eden.vars/1"
    assert why["value"] == {"port": 8080, "mtu": 1500}
    assert [(layer["file"], layer["line"], layer["wins"]) for layer in why["layers"]] == [
        ("site/variables/common.yaml", 2, True),
        ("site/variables/web.yaml", 1, True),
    ]
    assert why["layers"][1]["from"] == {
        "file": "site/variables/base.yaml",
        "line": 5,
        "column": 13,
    }


def test_secrets_are_shown_only_on_demand(vars_of):
    for args in (["list", "site"], ["get", "conn", "site"], ["why", "password", "site"]):
        for output in ("text", "json"):
            done = vars_of(*args, "-o", output)
            assert done.returncode == 0
            assert "hush" not in done.stdout + done.stderr
    assert vars_of("get", "conn", "site", "--show-secrets").stdout == "db://hush-hush@x\n"


def test_an_unknown_variable_has_a_hint(vars_of):
    done = vars_of("get", "net.prot", "site")
    assert done.returncode == 1
    assert "error[E0594]: variable 'net.prot' not found" in done.stderr
    assert "did you mean 'port'?" in done.stderr


def test_cycles_are_problems_with_locations(vars_of, site):
    (site / "site/variables/web.yaml").write_text("a: '{{ vars.b }}'\nb: '{{ vars.a }}'\n")
    done = vars_of("list", "site", "--label", "role=web", "-o", "json")
    assert done.returncode == 1
    problems = json.loads(done.stdout)["problems"]
    assert [(p["code"], p["line"], p["message"]) for p in problems] == [
        ("E0212", 2, "circular reference between variables: vars.a -> vars.b -> vars.a")
    ]


def test_a_missing_file_is_reported_where_it_is_named(vars_of, site):
    (site / "site/variables/web.yaml").unlink()
    done = vars_of("list", "site", "--label", "role=web")
    assert done.returncode == 1
    assert "--> site/variables/base.yaml:5:13" in done.stderr


@pytest.mark.parametrize("args", [["get"], ["list", "a", "b"], ["drop", "x"], []])
def test_wrong_arguments_are_usage_errors(vars_of, args):
    assert vars_of(*args).returncode == 64


def test_a_plan_reports_variables_and_steps_together(eden, site):
    (site / "site/jobs/base.yaml").write_text("jobs: {'*': [{name: one}]}\n")
    (site / "site/jobs/one.yaml").write_text("steps: [{name: x, test.oj: []}]\n")
    (site / "site/variables/web.yaml").write_text("never_used: '{{ vars.absent }}'\n")
    done = eden("plan", "site", "--label", "role=web", "--config-dir", site / "etc",
                "--state-dir", site / "state", "-o", "json")
    assert done.returncode == 1
    assert sorted(p["code"] for p in json.loads(done.stdout)["problems"]) == ["E0204", "E0305"]


def test_a_missing_variables_file_is_reported_once(eden, site):
    (site / "site/jobs/base.yaml").write_text("jobs: {'*': [{name: one}]}\n")
    (site / "site/jobs/one.yaml").write_text(
        "steps: [{name: x, forEach: '{{ vars.hosts }}', test.ok: []}]\n"
    )
    (site / "site/variables/common.yaml").unlink()
    done = eden("plan", "site", "--config-dir", site / "etc", "--state-dir", site / "state",
                "-o", "json")
    assert [p["code"] for p in json.loads(done.stdout)["problems"]] == ["E0301"]


def test_a_path_given_to_define_suggests_the_correct_form(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text("steps: [{test.ok: }]")
    for given in ("limits.conns:=7", "limits.conns=7"):
        done = eden("plan", "steps.yaml", "-D", given)
        assert done.returncode == 64
        assert """not 'limits.conns'; maps are merged, so use -D 'limits:={"conns": ...}'""" in done.stderr


@pytest.fixture
def layered(tmp_path):
    files = {
        "jobs/base.yaml": "jobs: {'*': [{name: a}]}",
        "jobs/a.yaml": "steps: [{test.ok: }]",
        "variables/base.yaml": "files:\n  '*': [{name: one}, {name: two}]\n  role=mail: [{name: mail}]\n",
        "variables/one.yaml": "net:\n  mtu: 1\n",
        "variables/two.yaml": "x: 1\nnet:\n  dns: 2\n",
        "variables/mail.yaml": "domains:\n  - example.com\n",
    }
    for name, text in files.items():
        (tmp_path / "layered" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "layered" / name).write_text(text)


def test_a_variable_of_other_nodes_is_reported_with_its_selector(eden, layered):
    for verb in ("get", "why"):
        done = eden("vars", verb, "domains", "layered", "--config-dir", "none")
        assert done.returncode == 1
        assert "variables/mail.yaml defines it, for nodes with 'role=mail'" in done.stderr


def test_the_list_names_every_layer_of_a_merged_map_at_its_key(eden, layered):
    printed = eden("vars", "list", "layered", "--config-dir", "none").stdout
    assert "layered/variables/one.yaml:1, layered/variables/two.yaml:2" in printed
