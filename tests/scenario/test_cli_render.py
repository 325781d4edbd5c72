"""`eden render`: one template to standard output."""

import json

import pytest


@pytest.fixture
def folder(tmp_path):
    """Writes files into the working folder: folder({"a.j2": "text"})."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, bytes):
                path.write_bytes(text)
            else:
                path.write_text(text)

    return write


def test_variables_are_read_from_files_and_definitions(eden, folder):
    folder({"t.j2": "{{ a }} {{ b }} {{ c + 1 }}\n", "v.yaml": "a: 1\nb: 2\n"})
    done = eden("render", "t.j2", "-v", "v.yaml", "-D", "b=two", "-D", "c:=41")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 two 42\n", "")


def test_later_variables_take_precedence_and_maps_merge(eden, folder):
    folder({
        "t.j2": "{{ m }} {{ l }} {{ s }}\n",
        "one.yaml": "m: {a: 1, deep: {x: 1, y: 2}}\nl: [1, 2]\ns: one\n",
        "two.yaml": "m: {deep: {y: 3}, b: 2}\nl: [3]\ns: two\n",
    })
    assert eden("render", "t.j2", "-v", "one.yaml", "-v", "two.yaml").stdout == (
        "{'a': 1, 'deep': {'x': 1, 'y': 3}, 'b': 2} [3] two\n")
    assert eden("render", "t.j2", "-v", "two.yaml", "-D", "s=given", "-v", "one.yaml").stdout == (
        "{'deep': {'y': 2, 'x': 1}, 'b': 2, 'a': 1} [1, 2] one\n")


def test_a_shared_map_is_not_changed_by_merging(eden, folder):
    folder({
        "t.j2": "{{ a.x }} {{ b.x }}\n",
        "one.yaml": "a: &a {x: 1}\nb: *a\n",
        "two.yaml": "a: {x: 2}\n",
    })
    assert eden("render", "t.j2", "-v", "one.yaml", "-v", "two.yaml").stdout == "2 1\n"


def test_an_empty_file_of_variables_is_fine(eden, folder):
    folder({"t.j2": "x", "v.yaml": "# nothing yet\n"})
    assert eden("render", "t.j2", "-v", "v.yaml").stdout == "x"


def test_json_variables_are_read_by_name(eden, folder):
    folder({"t.j2": "{{ a }}", "v.json": '{"a": [1, null]}'})
    assert eden("render", "t.j2", "-v", "v.json").stdout == "[1, None]"


def test_the_template_can_be_read_from_standard_input(eden, folder):
    folder({"part.j2": "part"})
    done = eden("render", "-", "-D", "a=1", input="{{ a }} {% include 'part.j2' %}\n")
    assert (done.returncode, done.stdout) == (0, "1 part\n")


def test_variables_can_be_read_from_standard_input(eden, folder):
    folder({"t.j2": "{{ a }}"})
    assert eden("render", "t.j2", "-v", "-", input="a: 5\n").stdout == "5"


def test_standard_input_is_not_read_twice(eden):
    done = eden("render", "-", "-v", "-", input="a: 5\n")
    assert done.returncode == 1
    assert "can be read only once" in done.stderr


def test_includes_are_found_next_to_the_template_or_in_the_given_directory(eden, folder):
    folder({
        "site/main.j2": "{% include 'parts/a.j2' %}",
        "site/parts/a.j2": "{% include 'parts/b.j2' %}",
        "site/parts/b.j2": "beside",
        "other/parts/a.j2": "other",
    })
    assert eden("render", "site/main.j2").stdout == "beside"
    assert eden("render", "site/main.j2", "-t", "other").stdout == "other"


@pytest.mark.parametrize("name", ["../outside.j2", "/etc/hostname", "link.j2"])
def test_files_outside_the_directory_are_not_included(eden, folder, tmp_path, name):
    folder({"site/main.j2": "{% include '" + name + "' %}", "outside.j2": "outside"})
    (tmp_path / "site" / "link.j2").symlink_to("../outside.j2")
    done = eden("render", "site/main.j2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "points outside the directory 'site'" in done.stderr


def test_white_space_options(eden, folder):
    folder({"t.j2": "  {% if true %}\nx\n  {% endif %}\n"})
    assert eden("render", "t.j2").stdout == "  \nx\n  \n"
    assert eden("render", "t.j2", "--trim-blocks", "--lstrip-blocks").stdout == "x\n"
    assert eden("render", "t.j2", "--chomp").stdout == "  \nx\n  "


def test_undefined_modes(eden, folder):
    folder({"t.j2": "[{{ a }}]", "chain.j2": "[{{ a.b.c }}]"})
    assert eden("render", "t.j2").returncode == 1
    assert eden("render", "t.j2", "--undefined", "default").stdout == "[]"
    assert eden("render", "t.j2", "--undefined", "debug").stdout == "[{{ a }}]"
    assert eden("render", "chain.j2", "--undefined", "default").returncode == 1
    assert eden("render", "chain.j2", "--undefined", "chainable").stdout == "[]"


def test_autoescape(eden, folder):
    folder({"t.j2": "{{ a }}"})
    assert eden("render", "t.j2", "-D", "a=<b>", "--autoescape").stdout == "&lt;b&gt;"


def test_json_output_has_the_text_and_the_ranges_of_secrets(eden, folder):
    folder({"t.j2": "pässword={{ p }}\n", "v.yaml": "p: !secret hunter2\n"})
    done = eden("render", "t.j2", "-v", "v.yaml", "-o", "json")
    response = json.loads(done.stdout)
    assert response["output"] == "pässword=hunter2\n"
    [[start, end]] = response["secrets"]
    assert response["output"].encode()[start:end] == b"hunter2"


def test_text_output_shows_secrets_on_request(eden, folder):
    folder({"t.j2": "{{ p }}\n", "v.yaml": "p: !secret hunter2\n"})
    assert eden("render", "t.j2", "-v", "v.yaml").stdout == "hunter2\n"


def test_nothing_is_printed_when_rendering_fails(eden, folder):
    folder({"t.j2": "before {{ 1 / 0 }}"})
    done = eden("render", "t.j2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E0210]" in done.stderr


@pytest.mark.parametrize("options, template", [
    (["--max-output", "1K"], "{{ 'x' * 2000 }}"),
    (["--max-steps", "1K"], "{% for i in range(10000) %}{% endfor %}"),
    (["--max-memory", "64K"], "{{ (range(100000) | list) | length }}"),
])
def test_limits_cause_a_clear_error(eden, folder, options, template):
    folder({"t.j2": template})
    done = eden("render", "t.j2", *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E0213]" in done.stderr
    assert eden("render", "t.j2").returncode == 0


def test_depth_has_a_limit_that_can_be_lowered(eden, folder):
    folder({"t.j2": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(20) }}"})
    assert eden("render", "t.j2").returncode == 0
    done = eden("render", "t.j2", "--max-depth", "5")
    assert done.returncode == 1
    assert "error[E0212]" in done.stderr


def test_the_template_limit_can_be_changed(eden, folder):
    folder({"t.j2": "{{ 1 }}{{ 2 }}{{ 3 }}"})
    done = eden("render", "t.j2", "--max-template", "10")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[E0002]: cannot read the file: larger than 10 bytes\n  --> t.j2\n" in done.stderr
    assert eden("render", "t.j2", "--max-template", "21").stdout == "123"


def test_huge_or_endless_input_is_rejected(eden, tmp_path):
    with open(tmp_path / "huge.yaml", "wb") as file:
        file.truncate(1 << 40)
    done = eden("render", "/dev/zero", "-v", "huge.yaml", "-v", "/dev/zero")
    assert done.returncode == 1
    assert "error[E0002]: cannot read the file: larger than 64 MiB\n  --> huge.yaml\n" in done.stderr
    assert "error[E0002]: cannot read the file: larger than 64 MiB\n  --> /dev/zero\n" in done.stderr
    assert "error[E0002]: cannot read the file: larger than 4 MiB\n  --> /dev/zero\n" in done.stderr


def test_arbitrary_bytes_are_text_or_an_error(eden, folder):
    folder({"t.j2": b"a\xff\x00b"})
    done = eden("render", "t.j2", text=False)
    assert done.returncode in (0, 1)


def test_a_typed_definition_merges_into_a_map(eden, folder):
    folder({"t.j2": "{{ d }}\n", "v.yaml": "d: {a: 1, b: {x: 1, y: 2}}\n"})
    assert eden("render", "t.j2", "-v", "v.yaml", "-D", 'd:={"b": {"x": 5}}').stdout == (
        "{'a': 1, 'b': {'x': 5, 'y': 2}}\n")


def test_hints_about_boolean_like_variables_appear_at_once(eden, tmp_path):
    (tmp_path / "v.yaml").write_text("debug: no\ncolor: yes\nmode: 0644\n")
    done = eden("render", "-", "-v", "v.yaml", input="{{ 1 if debug }}{{ mode }}")
    assert (done.returncode, done.stdout) == (0, "1644")
    assert done.stderr.count("hint[") == 1
    assert "--> v.yaml:1:8" in done.stderr
    assert "= 2 more like this: eden validate v.yaml" in done.stderr
    (tmp_path / "v.yaml").write_text("debug: 'no'\ntime: 12:30\n")
    assert eden("render", "-", "-v", "v.yaml", input="x").stderr == ""
