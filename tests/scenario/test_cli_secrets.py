"""Secrets: marked in YAML with !secret, reported by their byte ranges, and in no message."""

import json

import pytest

SECRET = "s3cr3t-hunter2"


@pytest.fixture
def render(eden, tmp_path):
    (tmp_path / "v.yaml").write_text(f"p: !secret {SECRET}\nm: {{k: !secret {SECRET}, n: 1}}\n")

    def run(template, *options):
        return eden("render", "-", "-v", "v.yaml", *options, input=template)

    return run


def secret_parts(done):
    response = json.loads(done.stdout)
    text = response["output"].encode()
    return [text[start:end].decode() for start, end in response["secrets"]]


@pytest.mark.parametrize("template, parts", [
    ("a {{ p }} b", [SECRET]),
    ("{{ p | upper }}", [SECRET.upper()]),
    ("{{ 'x' ~ p }}", ["x" + SECRET]),
    ("{{ p }}-{{ m.k }}", [SECRET, SECRET]),
    ("{{ p | length }} {{ p == 'x' }} {{ m.n }}", []),
    ("{% set q = p %}{% macro s(x) %}<{{ x }}>{% endmacro %}{{ s(q) }}", [SECRET]),
])
def test_the_ranges_of_secrets(render, template, parts):
    assert secret_parts(render(template, "-o", "json")) == parts


@pytest.mark.parametrize("template", [
    "{{ p | int(p) + 1 }}", "{{ [1] | map(p) | list }}", "{{ {}[p].x }}", "{% include p %}",
    "{% include p ~ '/../../x' %}", "{{ p | hash(p) }}", "{{ p.nope }}", "{{ p | from_json }}",
])
@pytest.mark.parametrize("options", [[], ["-o", "json"]])
def test_no_message_shows_a_secret(render, template, options):
    done = render(template, *options)
    assert done.returncode == 1
    assert SECRET not in done.stderr + done.stdout


def test_an_invalid_line_with_a_secret_is_shown_without_it(eden, tmp_path):
    (tmp_path / "v.yaml").write_text(f"a: 1\npass: !secret {SECRET}\npass: !secret {SECRET}\n")
    done = eden("validate", "v.yaml")
    assert done.returncode == 1
    assert "error[E0102]" in done.stderr
    assert SECRET not in done.stderr


def test_a_requested_value_is_printed(eden, tmp_path):
    (tmp_path / "v.yaml").write_text(f"p: !secret {SECRET}\n")
    assert eden("eval", "p", "-v", "v.yaml").stdout == f'"{SECRET}"\n'


@pytest.mark.parametrize("text", [
    "pw: !secret foo: HUNTER\n",
    "pw: !secret @HUNTER\n",
    "pw: !secret {{ HUNTER }}\n",
    "pw: !secret {HUNTER: 1, HUNTER: 2}\n",
    "pw: !secret |\n   HUNTER\n  HUNTER2\n",
    "pw: !secret\n\tHUNTER\n",
    "!secret\n- HUNTER: x: y\n",
])
def test_errors_about_a_malformed_secret_do_not_show_it(eden, tmp_path, text):
    (tmp_path / "bad.yaml").write_text(text)
    for form in ([], ["-o", "json"]):
        done = eden("validate", "bad.yaml", *form)
        assert done.returncode == 1
        assert "HUNTER" not in done.stdout + done.stderr


def test_a_mistake_next_to_a_secret_is_still_shown(eden, tmp_path):
    (tmp_path / "bad.yaml").write_text("pw: !secret hush\nport: 1\nport: 2\n")
    done = eden("validate", "bad.yaml")
    assert "duplicate key 'port'" in done.stderr and "3 | port: 2" in done.stderr


def test_a_misspelled_mark_is_an_error_that_hides_the_value(eden, tmp_path):
    for tag in ("!secrets", "!secert", "!Secret"):
        (tmp_path / "v.yaml").write_text(f"p: {tag} {SECRET}\n")
        for command in (["validate", "v.yaml"], ["render", "-", "-v", "v.yaml"]):
            done = eden(*command, input="")
            assert done.returncode == 1
            assert f"error[E0121]: unknown tag {tag}" in done.stderr
            assert "did you mean '!secret'?" in done.stderr
            assert SECRET not in done.stderr
