"""Broken sites are told what is wrong, where, and how to go on: word for word.

Each file of tests/broken-sites holds a small site and the message that its author gets. After a
change of messages on purpose, EDEN_BLESS=1 writes the new ones; read them before they are committed.
"""

import os
import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "broken-sites"
CASES = sorted(path.stem for path in FOLDER.glob("*.txt"))
BASE = "jobs:\n  '*':\n    - name: web\n"
PART = re.compile(r"^=== (.+)\n", re.M)


def read(name):
    """The files of a case, the command, and what it is expected to say."""
    _, *parts = PART.split((FOLDER / f"{name}.txt").read_text())
    files = dict(zip(parts[::2], parts[1::2]))
    [command] = [key for key in files if key.startswith("eden ")]
    expected = files.pop(command)
    return files, command, expected


def write_site(folder, files):
    for path, text in {"jobs/base.yaml": BASE, **files}.items():
        if text != "(none)\n":
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.removesuffix("\n") + "\n")


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_the_expected_one(eden, tmp_path, name):
    files, command, expected = read(name)
    write_site(tmp_path / "site", files)
    (tmp_path / "root").mkdir()
    words = command.split()[1:]
    if words[0] != "validate":
        words += ["--root", "root", "--state-dir", "state", "--config-dir", "config"]
        words += ["--node", "web1", "--progress", "none"]
    before = sorted(tmp_path.rglob("*"))
    done = eden(*words)
    told = re.sub(r"in \d+\.\d+ s$", "in 0.00 s", done.stdout + done.stderr, flags=re.M)
    assert sorted(tmp_path.rglob("*")) == before, "something was touched"
    if os.environ.get("EDEN_BLESS"):
        path = FOLDER / f"{name}.txt"
        kept = path.read_text().split(f"=== {command}\n")[0]
        path.write_text(f"{kept}=== {command}\n{told}")
        expected = told
    assert done.returncode == 1
    assert told == expected


def test_there_are_forty_of_them():
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_each_message_has_a_place_and_a_code(name):
    """A reader needs to know where to look; what to do is in the hint or in the message itself."""
    _, _, expected = read(name)
    assert re.search(r"^ *error\[E\d{4}\]: .+\n +--> site/\S+", expected, re.M)
