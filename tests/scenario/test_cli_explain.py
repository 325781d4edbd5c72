"""`eden explain` covers everything that has a row, and nothing else."""

import json

import pytest


def names(eden):
    return eden("explain", "-o", "name").stdout.split()


def test_every_name_can_be_explained(eden):
    every = names(eden)
    assert {"E0204", "upper", "str.upper", "range", "divisibleby", "render", "64"} <= set(every)
    # All in one call: a name that cannot be found would exit with 64.
    done = eden("explain", *every)
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_code_is_explained_with_its_title_and_text(eden):
    done = eden("explain", "E0204")
    assert done.returncode == 0
    assert done.stdout.startswith("E0204: undefined value\n\n")
    assert "{{ port | default(80) }}" in done.stdout


@pytest.mark.parametrize("name", ["e0204", "UndefinedError"])
def test_a_code_is_found_by_its_other_names(eden, name):
    assert eden("explain", name).stdout == eden("explain", "E0204").stdout


def test_a_name_of_several_kinds_is_explained_for_each(eden):
    text = eden("explain", "upper").stdout
    assert "filter upper\n" in text
    assert "test upper\n" in text
    assert "method str.upper()\n" in text


def test_a_filter_is_explained_with_signature_example_and_result(eden):
    text = eden("explain", "batch").stdout
    assert text.startswith("filter batch(linecount, fill_with=none)\n")
    entry = json.loads(eden("explain", "batch", "-o", "json").stdout)[0]
    assert entry["kind"] == "filter"
    assert entry["help"] in text
    for line in (entry["example"] + "\n" + entry["shows"]).splitlines():
        assert line in text


def test_a_method_can_be_named_with_its_type(eden):
    found = json.loads(eden("explain", "dict.items", "-o", "json").stdout)
    assert [entry["name"] for entry in found] == ["dict.items"]


def test_a_command_is_explained_as_help_does(eden):
    assert eden("explain", "render").stdout == eden("help", "render").stdout


def test_an_unknown_name_is_a_usage_error_with_a_suggestion(eden):
    done = eden("explain", "uper")
    assert done.returncode == 64
    assert done.stdout == ""
    assert done.stderr.startswith("eden explain: 'uper' not found; did you mean 'upper'?\n")


def test_without_a_name_everything_is_listed(eden):
    text = eden("explain").stdout
    for title in ("Commands", "Filters", "Tests", "Global functions", "Methods", "Problem codes"):
        assert f"{title}\n" in text
    listed = {entry["name"] for entry in json.loads(eden("explain", "-o", "json").stdout)}
    assert listed == set(names(eden))


def test_an_action_is_explained_from_its_row(eden):
    text = eden("explain", "cmd.run").stdout
    assert text.startswith("action cmd.run\n")
    assert "  cmd           command, required" in text
    assert "example:\n    - name:" in text


def test_a_module_name_explains_all_its_actions(eden):
    names = eden("explain", "test", "-o", "name").stdout.split()
    assert "test.ok" in names and "test.failed" in names


def test_the_description_of_an_action_has_its_parameters(eden):
    (action,) = json.loads(eden("explain", "test.step", "-o", "json").stdout)
    assert action["kind"] == "action"
    result = next(row for row in action["parameters"] if row["name"] == "result")
    assert "changed" in result["choices"] and not result["required"]


def keys_of_steps(eden):
    return json.loads(eden("help", "sites", "-o", "json").stdout)


def test_keys_of_steps_are_explained_from_the_parser(eden):
    for name in ("require", "onfail", "forEach", "conditions", "watch_in"):
        done = eden("explain", name)
        assert done.returncode == 0
        assert done.stdout.startswith(f"step key: {name}\n")
    assert "If the target is ok, changed or blocked, this step is skipped." in eden("explain", "onfail").stdout


def test_the_examples_of_keys_are_valid(eden, tmp_path):
    examples = [key["example"] for key in keys_of_steps(eden) if key["example"]]
    assert len(examples) >= 10
    for example in examples:
        (tmp_path / "steps.yaml").write_text("steps:\n" + example)
        done = eden("validate", "steps.yaml")
        assert done.returncode == 0, example + done.stderr


def test_help_about_sites_has_the_table_of_requisites(eden):
    output = eden("help", "sites").stdout
    assert "onfail      skipped    runs       skipped    skipped" in output
    assert "jobs/base.yaml" in output


def test_columns_of_parameters_do_not_collide(eden):
    """The kind of 'every' is wider than its column."""
    rows = json.loads(eden("explain", "cron.present", "-o", "json").stdout)
    action = rows[0] if isinstance(rows, list) else rows
    shown = eden("explain", "cron.present").stdout
    lines = shown.split("parameters:\n")[1].split("\n\n")[0].splitlines()
    helps = [param["help"] for param in action["parameters"]]
    column = {line.index(help) for line in lines for help in helps if line.endswith(help)}
    assert len(column) == 1 and sum(line.endswith(tuple(helps)) for line in lines) == len(helps)
    start = column.pop()
    for line in lines:
        if line.endswith(tuple(helps)):
            assert line[start - 2 : start] == "  ", line
    kinds = {line[2:].split()[0]: line.index(line[2:].split(maxsplit=1)[1]) for line in lines if line[2] != " "}
    assert list(kinds) == [param["name"] for param in action["parameters"]]
    assert len(set(kinds.values())) == 1
