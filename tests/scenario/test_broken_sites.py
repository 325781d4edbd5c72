"""Error messages for broken sites: what is wrong, where, and how to fix it, word for word.

Each file of tests/broken-sites holds a small site and the expected message. After deliberate
changes of messages, EDEN_BLESS=1 writes the new ones; read them before they are committed.
Following the advice of a message must lead to a valid site.
"""

import json
import os
import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "broken-sites"
CASES = sorted(path.stem for path in FOLDER.glob("*.txt"))
BASE = "jobs:\n  '*':\n    - name: web\n"
PART = re.compile(r"^=== (.+)\n", re.M)


def read(name):
    """The files of a case, the files after following the hint, the command, and its expected
    output.
    """
    _, *parts = PART.split((FOLDER / f"{name}.txt").read_text())
    parts = dict(zip(parts[::2], parts[1::2]))
    [command] = [key for key in parts if key.startswith("eden ")]
    expected = parts.pop(command)
    fixed = {key.removeprefix("fixed "): parts.pop(key) for key in list(parts)
             if key.startswith("fixed ")}
    return parts, fixed, command, expected


def write_site(folder, files):
    for path, text in {"jobs/base.yaml": BASE, **files}.items():
        if text != "(none)\n":
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.removesuffix("\n") + "\n")


def arguments_of(command):
    words = command.split()[1:]
    if words[0] != "validate":
        words += ["--root", "root", "--state-dir", "state", "--config-dir", "config"]
        words += ["--node", "web1", "--progress", "none"]
    return words


def apply_fixes(tmp_path, problems):
    """Inserts the text of each fix at its position, the last one of a line first."""
    for problem in sorted(problems, key=lambda p: (p["fix"]["line"], p["fix"]["column"]), reverse=True):
        path, fix = tmp_path / problem["file"], problem["fix"]
        lines = path.read_text().split("\n")
        line = lines[fix["line"] - 1]
        lines[fix["line"] - 1] = line[: fix["column"] - 1] + fix["text"] + line[fix["end_column"] - 1 :]
        path.write_text("\n".join(lines))


def make_root(tmp_path):
    """A root in which commands can be planned: with a shell."""
    (tmp_path / "root/bin").mkdir(parents=True)
    (tmp_path / "root/bin/sh").touch(0o755)


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_the_expected_one(eden, tmp_path, name):
    files, _, command, expected = read(name)
    write_site(tmp_path / "site", files)
    make_root(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = eden(*arguments_of(command))
    output = re.sub(r"in \d+\.\d+ s$", "in 0.00 s", done.stdout + done.stderr, flags=re.M)
    assert sorted(tmp_path.rglob("*")) == before, "something was touched"
    if os.environ.get("EDEN_BLESS"):
        path = FOLDER / f"{name}.txt"
        kept = path.read_text().split(f"=== {command}\n")[0]
        path.write_text(f"{kept}=== {command}\n{output}")
        expected = output
    assert done.returncode == 1
    assert output == expected


@pytest.mark.parametrize("name", CASES)
def test_applying_the_hint_fixes_the_site(eden, tmp_path, name):
    """A hint that is a replacement is applied automatically; for advice the case has the corrected
    files."""
    files, fixed, command, _ = read(name)
    write_site(tmp_path / "site", files)
    make_root(tmp_path)
    if fixed:
        for path, text in fixed.items():
            (tmp_path / "site" / path).unlink(missing_ok=True)
        write_site(tmp_path / "site", {**files, **fixed})
    else:
        problems = json.loads(eden(*arguments_of(command), "-o", "json").stdout)["problems"]
        wrong = [problem for problem in problems if problem["severity"] == "error"]
        assert wrong and all("fix" in problem for problem in wrong), wrong
        apply_fixes(tmp_path, wrong)
    done = eden(*arguments_of(command))
    assert "error" not in done.stderr
    assert done.returncode == 0, done.stderr


def test_there_are_more_than_two_hundred():
    assert len(CASES) >= 250


@pytest.mark.parametrize("name", CASES)
def test_each_message_has_a_location_and_a_code(name):
    """A reader needs a location; what to do is in the hint or in the message itself."""
    _, _, _, expected = read(name)
    assert re.search(r"^ *error\[E\d{4}\]: .+\n +--> site/\S+", expected, re.M)
