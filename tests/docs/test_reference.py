"""docs/reference matches the program, and shows every row."""

import json
import subprocess

import pytest

TOPICS = ["commands", "actions", "sites", "selectors", "secrets", "filters", "tests", "globals", "methods", "kinds",
          "codes", "exit-codes"]


@pytest.fixture(scope="module")
def eden(eden_path):
    def run(*args):
        return subprocess.run([eden_path, *args], capture_output=True, text=True, check=True).stdout

    return run


def test_there_is_a_page_for_every_topic(root, eden):
    topics = [topic["name"] for topic in json.loads(eden("help", "-o", "json"))["topics"]]
    assert topics == TOPICS
    assert sorted(path.stem for path in (root / "docs" / "reference").iterdir()) == sorted(topics)


@pytest.mark.parametrize("topic", TOPICS)
def test_the_page_is_up_to_date(root, eden, topic):
    page = (root / "docs" / "reference" / f"{topic}.md").read_text()
    assert page == eden("help", topic, "-o", "markdown"), "run `make docs`"


@pytest.mark.parametrize("topic", ["filters", "tests", "globals", "methods"])
def test_every_row_is_documented_everywhere(root, eden, topic):
    rows = json.loads(eden("help", topic, "-o", "json"))
    listed = eden("help", topic)
    page = (root / "docs" / "reference" / f"{topic}.md").read_text()
    explained = eden("explain", *(row["name"] for row in rows))
    assert len(rows) > 5
    for row in rows:
        assert f"\n  {row['signature']}" in listed
        assert f"\n## {row['name']}\n\n```\n{row['signature']}\n```\n" in page
        for text in (listed, page.replace("\\", ""), explained):
            assert row["help"].replace("\\", "") in text.replace("\\", "")
        assert f"{row['kind']} {row['signature']}\n" in explained


def test_the_tool_writes_the_pages(root, eden_path, tmp_path):
    subprocess.run([root / "tools" / "make-reference", eden_path, tmp_path], check=True)
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(TOPICS)
    for path in tmp_path.iterdir():
        assert path.read_text().startswith("# ")


def test_pages_have_no_empty_sections(root):
    for path in (root / "docs" / "reference").iterdir():
        text = path.read_text()
        assert "\n\n\n" not in text, path.name
        assert text.count("```") % 2 == 0, path.name
