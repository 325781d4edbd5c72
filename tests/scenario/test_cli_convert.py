"""`eden convert`: YAML to JSON and back."""

import json

import pytest


def test_yaml_becomes_json_with_aliases_resolved_and_order_preserved(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("b: &x {n: 1}\na: *x\nm: {<<: *x, o: 0o17}\n")
    done = eden("convert", "a.yaml", "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"b": {"n": 1}, "a": {"n": 1}, "m": {"n": 1, "o": 15}}
    assert list(json.loads(done.stdout)) == ["b", "a", "m"]


def test_json_survives_a_round_trip_through_yaml(eden, tmp_path):
    value = {"text": "a\nb\n", "yes": "no", "list": [1, 1.5, None, True, [], {}], "ä": "0644"}
    (tmp_path / "a.json").write_text(json.dumps(value))
    text = eden("convert", "a.json", "-o", "yaml").stdout
    (tmp_path / "b.yaml").write_text(text)
    assert json.loads(eden("convert", "b.yaml").stdout) == value


def test_several_documents(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n---\n- 2\n")
    assert eden("convert", "a.yaml").stdout == '{\n  "a": 1\n}\n[\n  2\n]\n'
    assert eden("convert", "a.yaml", "-o", "yaml").stdout == "a: 1\n---\n- 2\n"


def test_several_documents_survive_a_round_trip_through_json(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n---\n- 2\n---\n3\n")
    (tmp_path / "a.json").write_text(eden("convert", "a.yaml").stdout)
    (tmp_path / "pipe").write_text(eden("convert", "a.yaml").stdout)
    for name in ("a.json", "pipe"):
        done = eden("convert", name, "-o", "yaml")
        assert (done.returncode, done.stdout) == (0, "a: 1\n---\n- 2\n---\n3\n")


def test_secrets_stay_marked_in_yaml(eden, tmp_path):
    text = "p: !secret hunter2\nm: !secret\n  a: 1\n"
    (tmp_path / "a.yaml").write_text(text)
    assert eden("convert", "a.yaml", "-o", "yaml").stdout == text
    assert json.loads(eden("convert", "a.yaml").stdout) == {"p": "hunter2", "m": {"a": 1}}


def test_unknown_tags_are_dropped_with_a_warning(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("a: !vault x\n")
    done = eden("convert", "a.yaml", "-o", "json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"a": "x"})
    assert done.stderr.startswith("warning[E0121]: unknown tag !vault\n  --> a.yaml:1:4\n")


def test_keys_that_collide_in_json_are_an_error(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("1: a\n'1': b\n")
    done = eden("convert", "a.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E0004]: a map has the keys 1 and '1'" in done.stderr
    assert eden("convert", "a.yaml", "-o", "yaml").stdout == "1: a\n'1': b\n"


def test_standard_input(eden):
    assert eden("convert", "-", "-o", "yaml", input='{"a": [1]}').stdout == "a:\n  - 1\n"


def test_an_empty_file_has_no_documents(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("")
    (tmp_path / "a.json").write_text("")
    for name in ("a.yaml", "a.json"):
        done = eden("convert", name)
        assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("name, text, code", [
    ("a.yaml", "a: [1\n", "E0110"),
    ("a.yaml", "a: 1\na: 2\n", "E0102"),
    ("a.json", "{", "E0151"),
    ("a.json", "[1] x", "E0158"),
])
def test_errors_are_reported(eden, tmp_path, name, text, code):
    (tmp_path / name).write_text(text)
    done = eden("convert", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error[{code}]" in done.stderr
    done = eden("convert", name, "-o", "json")
    assert json.loads(done.stdout)["problems"][0]["code"] == code


def test_a_missing_file_is_reported(eden):
    done = eden("convert", "absent.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[E0001]: cannot read the file: No such file or directory\n  --> absent.yaml\n")


def test_infinity_is_not_json(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("a: .inf\n")
    done = eden("convert", "a.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E0004]" in done.stderr
    assert eden("convert", "a.yaml", "-o", "yaml").stdout == "a: .inf\n"


def test_json_from_a_pipe_is_read_as_json(eden):
    """YAML readers reject escaped surrogate pairs, which JSON writers use for emoji."""
    done = eden("convert", "-", "-o", "yaml", input='{"d": "\\ud83d\\ude00"}')
    assert (done.returncode, done.stdout) == (0, "d: \U0001f600\n")
