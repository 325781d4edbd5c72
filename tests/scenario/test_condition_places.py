"""A condition that does not hold is shown with its source location."""

import json

import pytest


@pytest.mark.parametrize(
    "line, code",
    [
        ("conditions: {success: {condition: 1 > 2}}", "E0603"),
        ("runOptions: {retry: {limit: 1, interval: 1ms, until: 1 > 2}}", "E0603"),
    ],
)
def test_a_false_condition_is_shown_with_its_location(eden, tmp_path, line, code):
    (tmp_path / "root").mkdir()
    text = f"steps:\n- name: one\n  file.managed: {{name: /f, content: x}}\n  {line}\n"
    (tmp_path / "steps.yaml").write_text(text)
    done = eden("apply", "steps.yaml", "--root", "root", "--config-dir", "none", "-o", "json")
    error = json.loads(done.stdout)["steps"][0]["error"]
    assert (error["code"], error["line"]) == (code, 4)
    assert text.splitlines()[3][error["column"] - 1 :].startswith("1 > 2")
