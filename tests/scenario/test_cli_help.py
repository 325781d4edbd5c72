"""`eden help` lists what exists: for users, for programs, for the reference."""

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


def test_without_a_command_a_short_usage_is_printed_to_stderr(eden):
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


def with_verbs(eden):
    """Every command with verbs, in its machine-readable description."""
    found = [command for command in json.loads(eden("help", "-o", "json").stdout)["commands"]
             if command["verbs"]]
    assert len(found) > 5
    return found


def test_help_lines_fit_a_screen(eden):
    for command in json.loads(eden("help", "-o", "json").stdout)["commands"]:
        for verb in [None, *command["verbs"]]:
            words = [command["name"], *([verb["name"]] if verb else [])]
            for line in eden("help", *words).stdout.splitlines():
                assert len(line) <= 120, line


def test_command_help_lists_verbs_and_their_options(eden):
    for command in with_verbs(eden):
        text = eden("help", command["name"]).stdout
        for verb in command["verbs"]:
            name = f"[{verb['name']}]" if verb["default"] else verb["name"]
            usage = f"eden {command['name']} {name} [OPTION]... {verb['arguments']}".rstrip()
            assert f" {usage}\n" in text
            assert f"\n  {verb['name']} " in text and verb["help"] in text
        for option in command["options"]:
            for verb in command["verbs"]:
                has_it = option["verbs"] is not None and verb["name"] in option["verbs"]
                assert (option["name"] in verb["options"]) == has_it


def test_verb_help_lists_only_its_options_and_examples(eden):
    for command in with_verbs(eden):
        for verb in command["verbs"]:
            done = eden("help", command["name"], verb["name"])
            assert done.stdout == eden(command["name"], verb["name"], "--help").stdout
            assert done.stdout.startswith(verb["help"] + "\n")
            options, _, examples = done.stdout.partition("\noptions:\n")[2].partition("\nexamples:\n")
            for option in command["options"]:
                is_its = option["verbs"] is None or verb["name"] in option["verbs"]
                assert (option["help"] in options) == is_its, (verb["name"], option["name"])
            for example in command["examples"]:
                shown = f"  {example['command']}\n      {example['help']}\n"
                assert (shown in examples) == (example in verb["examples"])


def test_the_description_for_programs_still_has_verbs_as_a_first_argument(eden):
    nodes = json.loads(eden("help", "nodes", "-o", "json").stdout)
    assert nodes["choices"][:2] == ["list", "show"] and nodes["word"] == "node"
    assert (nodes["arguments_min"], nodes["arguments_max"]) == (0, None)
    assert nodes["arguments"].startswith("[list|show|")
    label = next(verb for verb in nodes["verbs"] if verb["name"] == "label")
    assert label["arguments"] == "[NODE...] LABEL..." and label["arguments_min"] == 1
    assert label["positions"] == [
        {"name": "NODE", "required": False, "repeats": True, "word": "node", "choices": None},
        {"name": "LABEL", "required": True, "repeats": True, "word": "text", "choices": None}]


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
