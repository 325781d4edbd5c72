"""`eden help` shows what there is: for people, for programs, for the reference."""

import json

import pytest

TOPICS = ["commands", "actions", "sites", "selectors", "secrets", "filters", "tests", "globals", "methods", "kinds",
          "codes", "exit-codes"]


def test_the_overview_names_every_command_and_topic(eden):
    text = eden("help").stdout
    described = json.loads(eden("help", "-o", "json").stdout)
    for command in described["commands"]:
        assert f"\n  {command['name']} " in text
        assert command["help"] in text
    assert [topic["name"] for topic in described["topics"]] == TOPICS
    for topic in described["topics"]:
        assert f"\n  {topic['name']} " in text


def test_without_a_command_a_short_usage_goes_to_stderr(eden):
    done = eden()
    assert done.returncode == 64
    assert done.stdout == ""
    assert done.stderr.startswith("usage: eden COMMAND [OPTION]... [ARGUMENT]...\n")
    assert len(done.stderr.splitlines()) <= 4


def test_every_command_has_help_with_options_and_examples(eden):
    for command in json.loads(eden("help", "-o", "json").stdout)["commands"]:
        done = eden("help", command["name"])
        assert done.returncode == 0
        assert f"usage: eden {command['name']}" in done.stdout
        for option in command["options"]:
            assert f"--{option['name']}" in done.stdout
            assert option["help"] in done.stdout
        assert command["examples"], command["name"]
        for example in command["examples"]:
            assert example["command"] in done.stdout
        assert json.loads(eden("help", command["name"], "-o", "json").stdout) == command


def test_help_lines_fit_a_screen(eden):
    for command in json.loads(eden("help", "-o", "json").stdout)["commands"]:
        for line in eden("help", command["name"]).stdout.splitlines():
            assert len(line) <= 120, line


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_lists_every_row_in_every_format(eden, topic):
    entries = json.loads(eden("help", topic, "-o", "json").stdout)
    assert entries
    text = eden("help", topic).stdout
    page = eden("help", topic, "-o", "markdown").stdout
    for entry in entries:
        assert f"\n  {entry.get('signature', entry['name'])}" in text
        assert entry["help"] in text
        assert f"\n## {'eden ' if topic == 'commands' else ''}{entry['name']}\n" in page


def test_all_pages_at_once_are_markdown_too(eden):
    done = eden("help", "-o", "markdown")
    assert done.returncode == 0
    assert done.stdout.startswith("# Commands\n")
    assert "\n# Exit codes\n" in done.stdout


def test_an_unknown_topic_is_a_usage_error_with_a_suggestion(eden):
    done = eden("help", "filtres")
    assert done.returncode == 64
    assert "did you mean 'filters'?" in done.stderr


def test_exit_codes_are_those_of_the_reference(eden):
    codes = {entry["name"] for entry in json.loads(eden("help", "exit-codes", "-o", "json").stdout)}
    assert codes == {"0", "1", "2", "3", "4", "5", "6", "64", "124", "130"}
