"""`--batch`: a JSON object per line in, one per line out, whatever the lines contain."""

import json
import os
import select
import subprocess

import pytest


def responses(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def lines(*requests):
    return "".join(json.dumps(request) + "\n" for request in requests)


def test_templates_are_rendered_in_order(eden):
    done = eden("render", "--batch", input=lines(
        {"template": "{{ a + 1 }}", "context": {"a": 1}},
        {"template": "{{ a", "context": {}},
        {"template": "\n{{ 1 / 0 }}"},
        {"template": "{{ x.y }}"},
        {"template": "{% include 'nope' %}"},
        {"template": "last"},
    ))
    got = responses(done)
    assert got[0] == {"output": "2"}
    assert got[1]["error"] == "TemplateSyntaxError"
    assert (got[2]["error"], got[2]["line"]) == ("ZeroDivisionError", 2)
    assert (got[3]["error"], got[3]["message"]) == ("UndefinedError", "'x' is undefined")
    assert (got[4]["error"], got[4]["message"]) == ("TemplateNotFound", "nope")
    assert got[5] == {"output": "last"}


def test_expressions_are_evaluated_in_order(eden):
    done = eden("eval", "--batch", input=lines(
        {"expression": "a + 1", "context": {"a": 1}},
        {"expression": "range(2)"},
        {"expression": "missing"},
        {"expression": "1 +"},
        {"expression": "missing.attribute"},
    ))
    got = responses(done)
    assert got[:3] == [{"value": 2}, {"value": [0, 1]}, {"value": None}]
    assert [response["error"] for response in got[3:]] == ["TemplateSyntaxError", "UndefinedError"]


@pytest.mark.parametrize("options, template, output", [
    ({"trim_blocks": True}, "{% if true %}\nx{% endif %}", "x"),
    ({"lstrip_blocks": True}, "  {% if true %}x{% endif %}", "x"),
    ({"keep_trailing_newline": True}, "x\n", "x\n"),
    ({}, "x\n", "x"),
    ({"autoescape": True}, "{{ '<' }}", "&lt;"),
    ({"newline_sequence": "\r\n"}, "a\nb", "a\r\nb"),
    ({"block_start_string": "<%", "block_end_string": "%>"}, "<% if true %>x<% endif %>", "x"),
    ({"variable_start_string": "${", "variable_end_string": "}"}, "${ 1 }", "1"),
    ({"comment_start_string": "<#", "comment_end_string": "#>"}, "a<# b #>", "a"),
    ({"line_statement_prefix": "%"}, "% if true\nx\n% endif", "x\n"),
    ({"line_comment_prefix": "##"}, "a ## b\nc", "a\nc"),
    ({"line_comment_prefix": None}, "a ## b", "a ## b"),
    ({"undefined": "DebugUndefined"}, "{{ x }}", "{{ x }}"),
    ({"undefined": "ChainableUndefined"}, "{{ x.y }}", ""),
    ({"loader": {"a": "from {{ b }}"}}, "{% set b = 1 %}{% include 'a' %}", "from 1"),
    ({"globals": {"g": 5}}, "{{ g }}", "5"),
    ({"optimized": False}, "x", "x"),
])
def test_options_of_a_line(eden, options, template, output):
    got = responses(eden("render", "--batch", input=lines({"template": template, "options": options})))
    assert got == [{"output": output}]


def test_garbage_lines_get_an_error_and_do_not_affect_the_next(eden):
    garbage = [b"garbage", b"{", b"[]", b"5", b'"x"', b"null", b'{"template": 5}', b"{}",
               b'{"template": "x", "options": {"nonsense": 1}}',
               b'{"template": "x", "options": {"trim_blocks": "yes"}}',
               b'{"template": "x", "options": {"undefined": "NoSuchUndefined"}}',
               b'{"template": "x", "template": "y"}',
               b"\0", b"\xff\xfe", b'{"template": "\xff"}', b"\xef\xbb\xbf", b'{"template": "\\ud800"}',
               b"[" * 100000]
    data = b"".join(line + b'\n{"template": "ok"}\n' for line in garbage)
    done = eden("render", "--batch", input=data, text=False)
    assert (done.returncode, done.stderr) == (0, b"")
    got = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(got) == 2 * len(garbage)
    assert all(response == {"output": "ok"} for response in got[1::2])
    assert sum(response.get("error") == "InvalidRequest" for response in got[::2]) >= 13


def test_blank_lines_are_skipped_and_the_last_newline_is_optional(eden):
    done = eden("render", "--batch", input='\n  \n{"template": "a"}\r\n\n{"template": "b"}')
    assert responses(done) == [{"output": "a"}, {"output": "b"}]


def test_a_line_over_the_limit_is_reported_and_skipped(eden_path):
    """Written in chunks: neither side buffers the whole line."""
    process = subprocess.Popen([eden_path, "render", "--batch"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    chunk = b"x" * (1 << 20)
    process.stdin.write(b'{"template": "before"}\n{"template": "')
    for _ in range(65):
        process.stdin.write(chunk)
    process.stdin.write(b'"}\n{"template": "after"}\n')
    out, _ = process.communicate()
    got = [json.loads(line) for line in out.splitlines()]
    assert got[0] == {"output": "before"}
    assert got[1] == {"error": "InvalidRequest", "message": "the line is longer than 64 MiB"}
    assert got[2] == {"output": "after"}


def test_a_long_line_within_the_limit_is_read(eden):
    text = "x" * (3 << 20)
    assert responses(eden("render", "--batch", input=lines({"template": text}))) == [{"output": text}]


def test_each_response_precedes_the_next_request(eden_path):
    process = subprocess.Popen([eden_path, "render", "--batch"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    try:
        for i in range(3):
            process.stdin.write(lines({"template": "{{ i }}", "context": {"i": i}}).encode())
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], 30)
            assert ready, "no answer while the input stays open"
            assert json.loads(process.stdout.readline()) == {"output": str(i)}
    finally:
        process.stdin.close()
        assert process.wait(30) == 0


def test_many_lines_need_few_writes(eden_path, tmp_path):
    """Not one write per response: a pipe gets large chunks."""
    (tmp_path / "in").write_text(lines({"template": "x"}) * 3000)
    read_end, write_end = os.pipe()
    with open(tmp_path / "in", "rb") as source:
        process = subprocess.Popen([eden_path, "render", "--batch"], stdin=source, stdout=write_end)
        os.close(write_end)
        first = os.read(read_end, 1 << 20)
        rest = b""
        while chunk := os.read(read_end, 1 << 20):
            rest += chunk
    os.close(read_end)
    assert process.wait(30) == 0
    assert (first + rest).count(b"\n") == 3000
    assert first.count(b"\n") > 100


def test_limits_hold_for_every_line(eden):
    done = eden("render", "--batch", "--max-output", "1K", input=lines(
        {"template": "{{ 'x' * 2000 }}"}, {"template": "{% for i in range(10**12) %}{% endfor %}"},
        {"template": "fine"}))
    got = responses(done)
    assert [response.get("error") for response in got] == ["LimitError", "LimitError", None]


def test_undefined_behaves_as_in_jinja2_by_default(eden):
    request = lines({"template": "[{{ x }}]"})
    assert responses(eden("render", "--batch", input=request)) == [{"output": "[]"}]
    [response] = responses(eden("render", "--batch", "--undefined", "strict", input=request))
    assert response["error"] == "UndefinedError"


@pytest.mark.parametrize("arguments", [["x.j2"], ["-v", "x.yaml"], ["-D", "a=1"]])
def test_options_that_do_not_fit_a_batch_are_usage_errors(eden, arguments):
    assert eden("render", "--batch", *arguments, input="").returncode == 64
