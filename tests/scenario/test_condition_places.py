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
def test_a_condition_that_does_not_hold_is_shown_in_its_place(eden, tmp_path, line, code):
    (tmp_path / "root").mkdir()
    text = f"steps:\n- name: one\n  file.managed: {{name: /f, content: x}}\n  {line}\n"
    (tmp_path / "steps.yaml").write_text(text)
    done = eden("apply", "steps.yaml", "--root", "root", "--config-dir", "none", "-o", "json")
    error = json.loads(done.stdout)["steps"][0]["error"]
    assert (error["code"], error["line"]) == (code, 4)
    assert text.splitlines()[3][error["column"] - 1 :].startswith("1 > 2")
