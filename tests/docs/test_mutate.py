"""tools/mutate, on a tree with one C file and one test."""

import json
import subprocess

import pytest

THING = """\
#include "thing.h"

/* if (a < 1) { return 1; } is not code here, and neither is "a < b". */
int clamp(int value, int most)
{
    if (value > most) {
        return most;
    }
    return value < 0 && most >= 0 ? 0 : value;
}

void count(int *counter, int by)
{
    note("by < 0");
    *counter += by;
}
"""

TEST = """\
#include <stddef.h>
#include "thing.h"

void note(const char *text)
{
    (void)text;
}

int main(void)
{
    int counter = 1;
    count(&counter, 2);
    return clamp(5, 3) == 3 && clamp(2, 3) == 2 && clamp(-1, 3) == 0 && counter == 3 ? 0 : 1;
}
"""

MESON = """\
project('thing', 'c')
program = executable('test_thing', 'tests/test_thing.c', 'src/thing/thing.c',
    include_directories: 'src/thing')
test('thing/test_thing', program)
"""


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree"
    (folder / "src" / "thing").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "src" / "thing" / "thing.c").write_text(THING)
    (folder / "src" / "thing" / "thing.h").write_text(
        "int clamp(int value, int most);\nvoid count(int *counter, int by);\nvoid note(const char *text);\n"
    )
    (folder / "tests" / "test_thing.c").write_text(TEST)
    (folder / "meson.build").write_text(MESON)
    return folder


@pytest.fixture
def mutate(root, tree):
    def run(*args, file="src/thing/thing.c"):
        words = [root / "tools" / "mutate", file, "--tree", tree, *args]
        return subprocess.run(words, capture_output=True, text=True, timeout=300)

    return run


def test_comments_and_strings_are_not_mutated(mutate):
    lines = [line.split("\t") for line in mutate("--list").stdout.splitlines()]
    assert [(line, kind) for _, line, kind in lines] == [
        ("src/thing/thing.c:6", "drop a guard"),
        ("src/thing/thing.c:6", "negate a condition"),
        ("src/thing/thing.c:6", "swap >"),
        ("src/thing/thing.c:9", "drop an operand"),
        ("src/thing/thing.c:9", "swap <"),
        ("src/thing/thing.c:9", "one more"),
        ("src/thing/thing.c:9", "&& to ||"),
        ("src/thing/thing.c:9", "drop an operand"),
        ("src/thing/thing.c:9", "swap >="),
        ("src/thing/thing.c:9", "one more"),
        ("src/thing/thing.c:9", "one more"),
        ("src/thing/thing.c:14", "return early"),
        ("src/thing/thing.c:14", "drop a call"),
        ("src/thing/thing.c:15", "drop an assignment"),
    ]


def test_detected_and_surviving_mutants_are_distinguished(mutate, tree):
    done = mutate("--count", "0", "-o", "json")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    survived = [(c["line"], c["kind"]) for c in report["changes"] if c["result"] == "survived"]
    # Equal at the limit, unreachable below it, a limit below zero is never tried, a note has no
    # effect.
    assert survived == [
        (6, "swap >"),
        (9, "swap <"),
        (9, "one more"),
        (9, "drop an operand"),
        (9, "swap >="),
        (9, "one more"),
        (14, "drop a call"),
    ]
    assert report["counts"] == {"noticed": 7, "survived": 7, "does not compile": 0}
    dropped = next(c for c in report["changes"] if c["kind"] == "drop an assignment")
    assert "-    *counter += by;" in dropped["diff"]
    assert dropped["by"] == "thing/test_thing: exit 1"
    assert (tree / "src" / "thing" / "thing.c").read_text() == THING


def test_a_seed_reproduces_the_selection(mutate):
    first, second, other = (mutate("--count", "3", "--seed", seed).stdout for seed in "112")
    assert first == second != other
    assert len([line for line in first.splitlines() if line.startswith(("noticed", "survived  "))]) == 3


def test_tests_that_fail_by_themselves_are_an_error(mutate, tree):
    (tree / "tests" / "test_thing.c").write_text("int main(void) { return 1; }\nvoid note(const char *t) {}\n")
    done = mutate("--only", "0")
    assert done.returncode == 2
    assert "thing/test_thing fails without any change: exit 1" in done.stderr


def test_unknown_files_and_numbers_are_refused(mutate):
    assert "no such file" in mutate(file="src/thing/other.c").stderr
    assert "the last is 13" in mutate("--only", "99").stderr
