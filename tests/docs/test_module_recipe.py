"""The recipe of CONTRIBUTING.md works: its file and its line make a module.

The file is compiled together with the table of modules and one more line, and linked with the
rest of the library into a separate program, which then applies the example of the row.
"""

import re
import subprocess

import pytest
from relink import compile_like, link_like


@pytest.fixture(scope="module")
def newcomer(root, build, tmp_path_factory):
    """Runs the program with the module of the recipe."""
    place = tmp_path_factory.mktemp("recipe")
    section = (root / "CONTRIBUTING.md").read_text()
    section = section.split("### Add a module", 1)[1].split("\n### ", 1)[0]
    [code] = re.findall(r"^```c\n(.*?)^```", section, re.M | re.S)
    [line] = re.findall(r"`(MODULE\(\w+\))`", section)
    (place / "mailname.c").write_text(code)
    (place / "modules").mkdir()
    rows = (root / "src/modules/modules.def").read_text()
    (place / "modules" / "modules.def").write_text(rows + line + "\n")
    # The table is compiled from a copy: next to the original, its own .def would be found first.
    (place / "modules.c").write_text((root / "src/modules/modules.c").read_text())
    compile_like(build, "modules/time.c", place / "mailname.c", place / "mailname.o", "-Werror")
    compile_like(build, "modules/modules.c", place / "modules.c", place / "modules.o",
                 f"-I{place}")
    link_like(build, [place / "mailname.o", place / "modules.o"], place / "eden")

    def run(*args):
        return subprocess.run([place / "eden", *args], capture_output=True, text=True)

    return run


def test_it_is_explained(newcomer):
    shown = newcomer("explain", "mailname.set")
    assert shown.returncode == 0
    assert "Ensure that the machine has this name." in shown.stdout


def test_the_reference_and_the_names_have_it(newcomer, root):
    page = newcomer("help", "actions", "-o", "markdown").stdout
    assert "## mailname.set\n" in page
    assert "| `name` | string, required | the name |" in page
    assert "mailname.set" in newcomer("explain", "-o", "name").stdout.split()
    assert "mailname.set" not in (root / "docs/reference/actions.md").read_text()


def test_its_example_changes_once(newcomer, tmp_path):
    (tmp_path / "root" / "etc").mkdir(parents=True)
    (tmp_path / "root" / "etc" / "mailname").write_text("old\n")
    steps = tmp_path / "steps.yaml"
    steps.write_text("steps:\n- name: call it web1\n  mailname.set:\n    - name: web1\n")
    args = ["apply", steps, "--root", tmp_path / "root", "--state-dir", tmp_path / "state"]
    first = newcomer(*args)
    assert first.returncode == 0, first.stderr
    assert "changed" in first.stdout
    assert (tmp_path / "root" / "etc" / "mailname").read_text() == "web1\n"
    again = newcomer(*args, "--detailed-exitcode")
    assert again.returncode == 0, again.stdout


def test_a_mistake_in_its_parameters_is_reported(newcomer, tmp_path):
    steps = tmp_path / "steps.yaml"
    steps.write_text("steps:\n- name: call it web1\n  mailname.set:\n    - nmae: web1\n")
    output = newcomer("validate", steps)
    assert output.returncode == 1
    assert "did you mean 'name'" in output.stderr
