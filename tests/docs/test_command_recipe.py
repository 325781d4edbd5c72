"""The recipe of CONTRIBUTING.md works: each of its two files makes a command with one more line.

The files are compiled together with the table of commands and the new lines, and linked with the
rest of the library into a separate program.
"""

import re
import subprocess

import pytest
from relink import compile_like, link_like


@pytest.fixture(scope="module")
def newcomer(root, build, tmp_path_factory):
    """Runs the program with the commands of the recipe."""
    place = tmp_path_factory.mktemp("recipe")
    section = (root / "CONTRIBUTING.md").read_text()
    section = section.split("### Add a command", 1)[1].split("\n### ", 1)[0]
    files = re.findall(r"^```c\n(.*?)^```", section, re.M | re.S)
    lines = re.findall(r"`(COMMAND\(\w+\))`", section)
    assert lines == ["COMMAND(hello)", "COMMAND(greet)"] and len(files) == 2
    (place / "cli").mkdir()
    rows = (root / "src/cli/commands.def").read_text()
    (place / "cli" / "commands.def").write_text(rows + "\n".join(lines) + "\n")
    # The table is compiled from a copy: next to the original, its own .def would be found first.
    (place / "command.c").write_text((root / "src/cli/command.c").read_text())
    compile_like(build, "cli/command.c", place / "command.c", place / "command.o", f"-I{place}")
    for code, name in zip(files, ("hello", "greet")):
        (place / f"command_{name}.c").write_text(code)
        compile_like(build, "cli/command_version.c", place / f"command_{name}.c",
                     place / f"{name}.o", "-Werror")
    link_like(build, [place / "hello.o", place / "greet.o", place / "command.o"], place / "eden")

    def run(*args):
        return subprocess.run([place / "eden", *args], capture_output=True, text=True)

    return run


def test_it_runs(newcomer):
    assert newcomer("hello").stdout == "hello world\n"
    assert newcomer("hello", "fleet", "--loud").stdout == "hello fleet!\n"
    assert newcomer("hello", "-l").stdout == "hello world!\n"


def test_wrong_usage_is_reported(newcomer):
    done = newcomer("hello", "a", "b")
    assert done.returncode == 64
    assert done.stderr.startswith("eden hello: unexpected argument 'b'\n")
    assert "did you mean '--loud'?" in newcomer("hello", "--lod").stderr
    assert "did you mean 'hello'?" in newcomer("helllo").stderr


def test_help_manual_completion_and_explain_include_it(newcomer):
    assert "hello       Print a greeting.\n" in newcomer("help").stdout
    assert "-l, --loud" in newcomer("hello", "--help").stdout
    assert "eden hello fleet --loud" in newcomer("man", "hello").stdout
    assert "Print a greeting." in newcomer("explain", "hello").stdout
    assert "hello\tPrint a greeting.\n" in newcomer("complete", "line", "--", "eden", "hel").stdout
    assert "--loud\tuse an exclamation mark\n" in newcomer("complete", "line", "--", "eden", "hello", "-").stdout


def test_a_command_with_verbs_runs(newcomer):
    assert newcomer("greet").stdout == newcomer("greet", "list").stdout == "hello\ngoodbye\n"
    assert newcomer("greet", "say", "a", "b").stdout == "hello a\nhello b\n"
    assert newcomer("greet", "--word", "hi", "say", "a").stdout == "hi a\n"
    assert newcomer("greet", "say").stderr.startswith("eden greet say: NODE is required\n")
    done = newcomer("greet", "list", "--word", "hi")
    assert done.stderr.startswith("eden greet list: option '--word' applies to 'say'\n")


def test_help_manual_and_completion_include_the_verbs(newcomer):
    text = newcomer("help", "greet").stdout
    assert "usage: eden greet [list] [OPTION]...\n       eden greet say [OPTION]... NODE...\n" in text
    assert "\noptions for say:\n      --word WORD" in text
    assert "eden greet say web1 --word goodbye" in newcomer("greet", "say", "--help").stdout
    assert ".It Cm say\nGreet nodes.\n" in newcomer("man", "greet").stdout
    assert "say\tGreet nodes.\n" in newcomer("complete", "line", "--", "eden", "greet", "").stdout


def test_without_the_row_the_command_is_unknown(eden_path):
    assert subprocess.run([eden_path, "hello"], capture_output=True).returncode == 64
