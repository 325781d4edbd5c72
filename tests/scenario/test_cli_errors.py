"""What a person sees when something is wrong: whole messages, and the same as JSON."""

import json

import pytest

CASES = {
    "a filter that does not exist": (
        {"t.j2": "hello\n{{ name | uper }}\n"},
        ["render", "t.j2"],
        """\
error[E0202]: No filter named 'uper'.
  --> t.j2:2:11
2 | {{ name | uper }}
  |           ^^^^ did you mean 'upper'?
  = eden explain E0202
""",
    ),
    "a misspelled variable": (
        {"t.j2": "{{ prot }}\n"},
        ["render", "t.j2", "-D", "port=80"],
        """\
error[E0204]: 'prot' is undefined
  --> t.j2:1:4
1 | {{ prot }}
  |    ^^^^ did you mean 'port'?
  = eden explain E0204
""",
    ),
    "a misspelled key": (
        {"t.j2": "{{ site.naem }}\n", "v.yaml": "site: {name: x}\n"},
        ["render", "t.j2", "-v", "v.yaml"],
        """\
error[E0204]: 'dict object' has no attribute 'naem'
  --> t.j2:1:9
1 | {{ site.naem }}
  |         ^^^^ did you mean 'name'?
  = eden explain E0204
""",
    ),
    "a template that is not there": (
        {"site/t.j2": "{% include 'parts/hedaer.j2' %}\n", "site/parts/header.j2": ""},
        ["render", "site/t.j2"],
        """\
error[E0203]: template 'parts/hedaer.j2' not found in 'site'
  --> site/t.j2:1:4
1 | {% include 'parts/hedaer.j2' %}
  |    ^^^^^^^ did you mean 'parts/header.j2'?
  = eden explain E0203
""",
    ),
    "a fault in a macro of an included template, with the way there": (
        {
            "site/main.j2": "first\n{% include 'a.j2' %}\n",
            "site/a.j2": "{% import 'b.j2' as b %}\n\n{{ b.broken(1) }}\n",
            "site/b.j2": "{% macro broken(x) %}\n{{ x + 'a' }}\n{% endmacro %}\n",
        },
        ["render", "site/main.j2"],
        """\
error[E0207]: unsupported operand type(s) for +: 'int' and 'str'
  --> site/b.j2:2:6   (from site/a.j2:3, from site/main.j2:2)
2 | {{ x + 'a' }}
  |      ^
  = eden explain E0207
""",
    ),
    "variables that are a list": (
        {"t.j2": "", "v.yaml": "# nodes\n- a\n"},
        ["render", "t.j2", "-v", "v.yaml"],
        """\
error[E0003]: variables must be a map of names, this is a list
  --> v.yaml:2:1
2 | - a
  | ^
  = eden explain E0003
""",
    ),
    "two things at once": (
        {"v.yaml": "greeting: {{ name }}\n"},
        ["render", "absent.j2", "-v", "v.yaml"],
        """\
error[E0103]: a value that starts with '{{' needs quotes
  --> v.yaml:1:11
1 | greeting: {{ name }}
  |           ^^^^^^^^^^ quote the template: "{{ name }}"
  = eden explain E0103

error[E0001]: cannot read this: No such file or directory
  --> absent.j2
   = eden explain E0001

2 errors
""",
    ),
    "a definition that is no JSON": (
        {"t.j2": ""},
        ["render", "t.j2", "-D", "port:=[80"],
        """\
error[E0151]: '[' is never closed: the text ends where ',' or ']' is expected
  --> -D port:1:1
1 | [80
  | ^
  = eden explain E0151
""",
    ),
}


def write(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)


@pytest.mark.parametrize("files, arguments, message", CASES.values(), ids=CASES.keys())
def test_message(eden, tmp_path, files, arguments, message):
    write(tmp_path, files)
    done = eden(*arguments)
    assert done.stderr == message
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("files, arguments, message", CASES.values(), ids=CASES.keys())
def test_the_same_as_json(eden, tmp_path, files, arguments, message):
    write(tmp_path, files)
    done = eden(*arguments, "-o", "json")
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    assert report["format"] == "eden.problems/1"
    for problem in report["problems"]:
        assert f"error[{problem['code']}]: {problem['message']}\n" in message
        assert f"--> {problem['file']}" in message
        if problem["line"] is not None:
            assert f"--> {problem['file']}:{problem['line']}:{problem['column']}" in message
        if problem["hint"] is not None:
            assert problem["hint"] in message
        for origin in problem["from"]:
            assert f"from {origin['file']}:{origin['line']}" in message


def test_the_way_there_is_in_the_json_too(eden, tmp_path):
    files, arguments, _ = CASES["a fault in a macro of an included template, with the way there"]
    write(tmp_path, files)
    [problem] = json.loads(eden(*arguments, "-o", "json").stdout)["problems"]
    assert problem["from"] == [
        {"file": "site/a.j2", "line": 3}, {"file": "site/main.j2", "line": 2}]


def test_control_characters_of_a_file_do_not_reach_the_terminal(eden, tmp_path):
    (tmp_path / "t.j2").write_text("{{ '\x1b[31m' | uper }}\n")
    done = eden("render", "t.j2", "--color", "never")
    assert "\x1b" not in done.stderr
    assert "\\x1b[31m" in done.stderr
