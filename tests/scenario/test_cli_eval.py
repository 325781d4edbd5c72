"""`eden eval`: the value of an expression as JSON or YAML."""

import json

import pytest


@pytest.mark.parametrize("expression, printed", [
    ("1 + 2 * 3", "7"),
    ("1 / 2", "0.5"),
    ("'a' ~ 1", '"a1"'),
    ("none", "null"),
    ("true", "true"),
    ("[1, 'x', none]", '[1,"x",null]'),
    ("{'b': 1, 'a': [2]}", '{"b":1,"a":[2]}'),
    ("(1, 2)", "[1,2]"),
    ("range(3)", "[0,1,2]"),
    ("[3, 1] | sort", "[1,3]"),
    ("[1, 2] | map('string')", '["1","2"]'),
    ("{'a': 1}.items()", '[["a",1]]'),
    ("'<b>' | safe", '"<b>"'),
    ("'ä'", '"ä"'),
])
def test_a_value_is_printed_on_one_line(eden, expression, printed):
    done = eden("eval", expression)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed + "\n", "")


def test_yaml_output(eden):
    done = eden("eval", "{'a': [1, 'yes'], 'b': range(2)}", "-o", "yaml")
    assert done.stdout == "a:\n  - 1\n  - 'yes'\nb:\n  - 0\n  - 1\n"


def test_variables_can_be_evaluated(eden, tmp_path):
    (tmp_path / "v.yaml").write_text("nodes:\n- {name: a, up: true}\n- {name: b, up: false}\n")
    done = eden("eval", "nodes | selectattr('up') | map(attribute='name')", "-v", "v.yaml")
    assert done.stdout == '["a"]\n'


@pytest.mark.parametrize("expression", ["x", "[1, x]", "{'a': x}", "nodes.x"])
def test_undefined_is_an_error_unless_allowed(eden, expression):
    done = eden("eval", expression, "-D", "nodes:={}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E0204]" in done.stderr
    assert eden("eval", expression, "-D", "nodes:={}", "--undefined", "default").returncode == 0


@pytest.mark.parametrize("expression", ["range", "[1, range]", "namespace(a=1)", "'a'.upper"])
def test_values_without_a_json_form_are_errors(eden, expression):
    done = eden("eval", expression)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be represented in JSON or YAML" in done.stderr


def test_a_number_that_json_cannot_represent_is_an_error(eden):
    done = eden("eval", "'inf' | float")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E0004]" in done.stderr


@pytest.mark.parametrize("expression", ["", " ", "1 +", "1 2", "{{ 1 }}", "(", "a b", "'x"])
def test_a_syntax_error_is_reported_with_its_location(eden, expression):
    done = eden("eval", expression)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E0201]" in done.stderr
    assert "--> <argument>:1:" in done.stderr


def test_problems_are_printed_as_json_on_request(eden):
    done = eden("eval", "a.b", "-D", "a:={}", "-o", "json")
    assert done.returncode == 1
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["format"] == "eden.problems/1"
    [problem] = report["problems"]
    assert {key: problem[key] for key in ("code", "file", "line", "column")} == {
        "code": "E0204", "file": "<argument>", "line": 1, "column": 3}
    assert problem["message"]


@pytest.mark.parametrize("expression", [
    "'x' * 10**12",
    "2 ** 10**9",
    "range(10**12) | list",
    pytest.param("(" * 50000 + "1" + ")" * 50000, id="brackets"),
])
def test_hostile_expressions_fail(eden, expression):
    done = eden("eval", expression, timeout=10)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[E02")
