"""The recipe of CONTRIBUTING.md works: its file and its line make a command.

The file is compiled, and the table of commands with one line more; both are linked with the rest of
the library into a program of its own.
"""

import re
import subprocess

import pytest
from relink import compile_like, link_like


@pytest.fixture(scope="module")
def newcomer(root, build, tmp_path_factory):
    """Runs the program that has the command of the recipe."""
    place = tmp_path_factory.mktemp("recipe")
    section = (root / "CONTRIBUTING.md").read_text()
    section = section.split("### Add a command", 1)[1].split("\n### ", 1)[0]
    [code] = re.findall(r"^```c\n(.*?)^```", section, re.M | re.S)
    [line] = re.findall(r"`(COMMAND\(\w+\))`", section)
    (place / "command_hello.c").write_text(code)
    (place / "cli").mkdir()
    rows = (root / "src/cli/commands.def").read_text()
    (place / "cli" / "commands.def").write_text(rows + line + "\n")
    # The table is compiled from a copy: beside the original, its own .def would be found first.
    (place / "command.c").write_text((root / "src/cli/command.c").read_text())
    compile_like(build, "cli/command_version.c", place / "command_hello.c", place / "hello.o",
                 "-Werror")
    compile_like(build, "cli/command.c", place / "command.c", place / "command.o", f"-I{place}")
    link_like(build, [place / "hello.o", place / "command.o"], place / "eden")

    def run(*args):
        return subprocess.run([place / "eden", *args], capture_output=True, text=True)

    return run


def test_it_runs(newcomer):
    assert newcomer("hello").stdout == "hello world\n"
    assert newcomer("hello", "fleet", "--loud").stdout == "hello fleet!\n"
    assert newcomer("hello", "-l").stdout == "hello world!\n"


def test_wrong_usage_is_told(newcomer):
    done = newcomer("hello", "a", "b")
    assert done.returncode == 64
    assert done.stderr.startswith("eden hello: 'b' is one argument too many\n")
    assert "did you mean '--loud'?" in newcomer("hello", "--lod").stderr
    assert "did you mean 'hello'?" in newcomer("helllo").stderr


def test_help_manual_completion_and_explain_know_it(newcomer):
    assert "hello       Print a greeting.\n" in newcomer("help").stdout
    assert "-l, --loud" in newcomer("hello", "--help").stdout
    assert "eden hello fleet --loud" in newcomer("man", "hello").stdout
    assert "Print a greeting." in newcomer("explain", "hello").stdout
    for shell in ("bash", "zsh", "fish"):
        script = newcomer("completion", shell).stdout
        assert "hello" in script and "loud" in script


def test_the_program_without_the_row_does_not_know_it(eden_path):
    assert subprocess.run([eden_path, "hello"], capture_output=True).returncode == 64
