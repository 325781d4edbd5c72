"""Error messages as users see them: complete messages, and the same as JSON."""

import json

import pytest

CASES = {
    "a filter that does not exist": (
        {"t.j2": "hello\n{{ name | uper }}\n"},
        ["render", "t.j2"],
        """\
error[E0202]: unknown filter 'uper'
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
    "a key that is missing in one item of a loop": (
        {
            "t.j2": "{% for n in nodes %}\n{% for p in n.ports %}\n{{ p }} {{ 1 + n.adress }}\n"
                    "{% endfor %}\n{% endfor %}\n",
            "v.yaml": "nodes:\n  - {name: a, ports: []}\n  - {name: b, ports: [80, 443]}\n",
        },
        ["render", "t.j2", "-v", "v.yaml"],
        """\
error[E0204]: 'dict object' has no attribute 'adress'
  --> t.j2:3:18
3 | {{ p }} {{ 1 + n.adress }}
  |                  ^^^^^^
  = in item 1 of the loop at t.j2:2
  = in item 2, 'b', of the loop at t.j2:1
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
error[E0003]: variables must be a map of names, not a list
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

error[E0001]: cannot read the file: No such file or directory
  --> absent.j2
  = eden explain E0001

2 errors
""",
    ),
    "a definition that is no JSON": (
        {"t.j2": ""},
        ["render", "t.j2", "-D", "port:=[80"],
        """\
error[E0151]: unclosed '[': unexpected end of input, expected ',' or ']'
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


@pytest.mark.parametrize("arguments, message, hint", [
    (["plan"], "PATH is required", "see: eden help plan"),
    (["plan", "x", "--ordr", "genius"], "unknown option '--ordr'", "did you mean '--order'?"),
    (["apply", "x", "--workers", "many"], "--workers must be a number", "see: eden help apply"),
    (["render"], "FILE is required", "see: eden help render"),
    (["eval", "1", "2"], "unexpected argument '2'", "see: eden help eval"),
    (["plam", "x"], "unknown command 'plam'", "did you mean 'plan'?"),
    (["ping", "web1"], "unknown command 'ping'", "did you mean 'nodes ping'?"),
    (["codes"], "unknown command 'codes'", "did you mean 'help codes'?"),
    (["status"], "unknown command 'status'", "did you mean 'doctor'?"),
    (["create"], "; there is tokens create, roles create, backup create", "see: eden help"),
    (["vars"], "a verb is required: get|list|why", "see: eden help vars"),
    (["api", "GET"], "PATH is required", "see: eden help api"),
    (["tokens", "create", "--expires", "1h"], "unknown option '--expires'", "did you mean '--ttl'?"),
    (["audit", "tail", "--limit", "5"], "unknown option '--limit'", "see: eden help audit"),
    (["apply", "x", "--dryrun"], "unknown option '--dryrun'; use 'eden plan'",
     "see: eden help apply"),
    (["help", "nodes", "pong"], "'eden help nodes' lists all verbs", "see: eden help help"),
])  # fmt: skip
@pytest.mark.parametrize("asked", [["-o", "json"], ["-ojson"], ["--output=json"], ["--output", "json"]])
def test_usage_errors_are_reported_as_json(eden, arguments, message, hint, asked):
    done = eden(*arguments, *asked)
    assert (done.returncode, done.stderr) == (64, "")
    report = json.loads(done.stdout)
    [problem] = report["problems"]
    assert report["format"] == "eden.problems/1" and problem["code"] == "E0801"
    assert message in problem["message"] and problem["hint"] == hint
    other = eden(*arguments, "--", "-o", "json")
    assert (other.returncode, other.stdout) == (64, "") and other.stderr.startswith("eden")


def test_the_include_chain_is_in_the_json(eden, tmp_path):
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


@pytest.mark.parametrize("template, marked", [
    ("{{ a + user.nmae }}", "nmae"),
    ("{{ user.nmae + user.name }}", "nmae"),
    ("{{ user.name ~ user.nmae ~ a }}", "nmae"),
    ("{{ user.nmae | upper }}", "nmae"),
    ("{{ 'x' | replace('x', user.nmae) }}", "nmae"),
    ("{{ user.nmae.first.letter }}", "nmae"),
    ("{{ usr.name }}", "usr"),
    ("{{ a if a else b }}{{ usr . name | upper }}", "usr"),
    ("{% macro m() %}{{ usr.name }}{% endmacro %}{{ m() }}", "usr"),
    ("{{ user['nmae'] ~ '' }}", "'nmae'"),
    ("{{ (a if not a else user.nmae) + 1 }}", "nmae"),
    ("{{ a and (nope or a) }}", "nope"),
    ("{{ [] | first + 1 }}", "first"),
    ("{% if a == nope %}{% endif %}", "nope"),
    ("{% if not nope %}{% endif %}", "nope"),
    ("{% for x in user.nmae %}{% endfor %}", "nmae"),
    ("{% for x in [user] %}{{ x.nmae * 2 }}{% endfor %}", "nmae"),
    ("{% set x = user.nmae %}{{ x * 2 }}", "x "),
])
def test_the_caret_marks_the_undefined_name(eden, template, marked):
    done = eden("render", "-", "-D", "a:=1", "-D", 'user:={"name": "x"}', input=template)
    title, place, excerpt, carets, *_ = done.stderr.split("\n")
    assert "E0204" in title
    start = carets.index("^")
    assert excerpt[start:start + len(marked)] == marked
    assert carets[start:].split(" ")[0] == "^" * len(marked.rstrip())


def test_the_line_stays_the_one_of_the_use(eden):
    done = eden("render", "-", "-D", "a:=1", input="{{ a\n  + a +\n nope }}")
    assert "--> <stdin>:2:7" in done.stderr


def test_the_loop_item_is_reported_as_json_and_through_calls(eden, tmp_path):
    (tmp_path / "part.j2").write_text("{% for k, v in m.items() %}{{ 1 // v }}{% endfor %}")
    (tmp_path / "t.j2").write_text(
        "{% macro f(m) %}{% include 'part.j2' %}{% endmacro %}\n"
        "{% for i in range(5) if i > 2 %}\n{{ f({'x': 1, 'y': i - 3}) }}{% endfor %}")
    done = eden("render", "t.j2", "-o", "json")
    [problem] = json.loads(done.stdout)["problems"]
    assert problem["notes"] == [
        {"message": "in item 2, 'y', of the loop", "file": "part.j2", "line": 1},
        {"message": "in item 4 of the loop", "file": "t.j2", "line": 2},
    ]


def test_a_secret_loop_item_is_not_shown(eden, tmp_path):
    (tmp_path / "v.yaml").write_text(
        "a: [{name: !secret hunter2}]\nb: !secret [hunter2]\nc: [hunter2]\n")
    for name in "abc":
        done = eden("render", "-", "-v", "v.yaml",
                    input="{% for x in " + name + " %}{{ x // 0 }}{% endfor %}")
        assert done.returncode == 1
        assert "in item 1" in done.stderr
        assert "hunter2" not in done.stderr


@pytest.mark.parametrize("template, hint", [
    ("{% if a %}{% elseif a %}{% endif %}", "did you mean 'elif'?"),
    ("{% if a %}{% else if a %}{% endif %}", "write 'elif'"),
    ("{% if a = 1 %}{% endif %}", "to compare, write '=='"),
    ("{{ a = 1 }}", "'{% set name = ... %}'"),
    ("{% set b == 1 %}", "to assign, write '='"),
    ("{{ a === 1 }}", "remove one '='"),
    ("{{ a <> 1 }}", "write '!='"),
    ("{{ a && 1 }}", "write 'and'"),
    ("{{ a || 1 }}", "write 'or'"),
    ("{{ !a }}", "write 'not'"),
    ("{{ a ? 1 : 2 }}", "write 'a if condition else b'"),
    ("{{ if a }}x{{ endif }}", "write '{% if ... %}'"),
    ("{{ 1 if a else if a }}", "'a if condition else b'"),
    ("{% if a then %}{% endif %}", "there is no 'then'"),
    ("{% for k => v in a %}{% endfor %}", "write 'for key, value in map.items()'"),
    ("{{ ['x'] | map('uppr') | list }}", "did you mean 'upper'?"),
    ("{{ [1] | select('evn') | list }}", "did you mean 'even'?"),
    ("{{ a | ansible.builtin.to_json }}", "did you mean 'to_json'?"),
    ("{{ a is ansible.builtin.version('1') }}", "did you mean 'version'?"),
    ("{{ [a] | map('ansible.builtin.to_json') | list }}", "did you mean 'to_json'?"),
    ("{{ '2002-12-25' | strftime('%y') }}", "seconds since 1970"),
])
def test_habits_from_other_tools_get_a_hint(eden, template, hint):
    done = eden("render", "-", "-D", "a:=1", input=template)
    assert done.returncode == 1
    assert hint in done.stderr


@pytest.mark.parametrize("expression, hint", [
    ("{{ x }}", "without '{{' and '}}'"),
    ("x }}", "without '{{' and '}}'"),
    ("{% if x %}", "eden render"),
])
def test_an_expression_has_no_braces(eden, expression, hint):
    done = eden("eval", expression, "-D", "x=1")
    assert done.returncode == 1
    assert hint in done.stderr
