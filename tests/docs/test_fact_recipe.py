"""The recipe of CONTRIBUTING.md works: its function, row and line make a fact."""

import json
import re
import subprocess

import pytest
from relink import compile_like, link_like


@pytest.fixture(scope="module")
def newcomer(root, build, tmp_path_factory):
    """Runs the program with the fact of the recipe."""
    place = tmp_path_factory.mktemp("recipe")
    section = (root / "CONTRIBUTING.md").read_text()
    section = section.split("### Add a fact", 1)[1].split("\n### ", 1)[0]
    [code] = re.findall(r"^```c\n(.*?)^```", section, re.M | re.S)
    [line] = re.findall(r"`(FACT\(\w+\))`", section)
    (place / "locale.c").write_text(code)
    (place / "facts").mkdir()
    rows = (root / "src/facts/facts.def").read_text()
    (place / "facts" / "facts.def").write_text(rows + line + "\n")
    # The table is compiled from a copy: next to the original, its own .def would be found first.
    (place / "facts.c").write_text((root / "src/facts/facts.c").read_text())
    compile_like(build, "facts/system.c", place / "locale.c", place / "locale.o", "-Werror")
    compile_like(build, "facts/facts.c", place / "facts.c", place / "facts.o", f"-I{place}")
    link_like(build, [place / "locale.o", place / "facts.o"], place / "eden")

    def run(*args):
        return subprocess.run([place / "eden", *args], capture_output=True, text=True)

    return run


def test_it_is_read(newcomer, tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/locale.conf").write_text("LANG=de_DE.UTF-8\n")
    done = newcomer("facts", "locale", "--root", tmp_path, "-o", "json")
    assert json.loads(done.stdout) == {"locale": "de_DE.UTF-8"}


def test_without_a_source_it_is_null(newcomer, tmp_path):
    done = newcomer("facts", "locale", "--root", tmp_path, "-o", "json")
    assert (json.loads(done.stdout), done.stderr) == ({"locale": None}, "")


def test_it_is_listed_and_suggested(newcomer):
    assert "The language of the system." in newcomer("facts", "--list").stdout
    assert "did you mean 'locale'?" in newcomer("facts", "locle").stderr


def test_selectors_and_templates_see_it(newcomer, tmp_path):
    site, root = tmp_path / "site", tmp_path / "root"
    (site / "jobs").mkdir(parents=True)
    (root / "etc").mkdir(parents=True)
    (root / "etc/locale.conf").write_text("LANG=C\n")
    (site / "jobs/base.yaml").write_text("jobs: {\"server.locale == 'C'\": [{name: tell}]}\n")
    (site / "jobs/tell.yaml").write_text(
        "steps:\n- name: tell\n  file.managed: {name: /told, content: 'in {{ server.locale }}'}\n"
    )
    done = newcomer("apply", site, "--root", root)
    assert done.returncode == 0, done.stderr
    assert (root / "told").read_text() == "in C"


def test_without_the_row_the_fact_is_unknown(eden_path):
    assert subprocess.run([eden_path, "facts", "locale"], capture_output=True).returncode != 0
