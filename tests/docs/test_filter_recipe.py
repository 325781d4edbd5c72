"""The recipe of CONTRIBUTING.md works: its function and its row make a filter.

The code blocks are inserted as the recipe says; the changed file and the generated index of all
rows are compiled and linked with the rest of the library into a separate program. It must list
the filter wherever filters are listed.
"""

import json
import re
import subprocess

import pytest
from relink import compile_like, link_like

TABLE = "src/lang/template/filters_text.c"
BLOCK = re.compile(r"^```c\n(.*?)^```", re.M | re.S)


@pytest.fixture(scope="module")
def recipe(root):
    """The function and the row of the recipe."""
    text = (root / "CONTRIBUTING.md").read_text()
    section = text.split("### Add a filter", 1)[1].split("\n### ", 1)[0]
    function, row = BLOCK.findall(section)
    return function, row


@pytest.fixture(scope="module")
def newcomer(root, build, recipe, tmp_path_factory):
    """Runs the program with the filter of the recipe."""
    place = tmp_path_factory.mktemp("recipe")
    function, row = recipe
    source = (root / TABLE).read_text()
    head, table = source.split("const Native filters_text[] = {\n", 1)
    table = table.replace("    { 0 },\n", row + "    { 0 },\n", 1)
    changed = place / "filters_text.c"
    changed.write_text(f"{head}{function}\nconst Native filters_text[] = {{\n{table}")
    tables = sorted(
        path
        for kind in ("filters", "tests", "globals")
        for path in (root / "src/lang/template").glob(f"{kind}_*.c")
        if path.name != "filters_text.c"
    )
    index = place / "native_index.c"
    subprocess.run([root / "tools/native-index", index, changed, *tables], check=True)
    compile_like(build, "filters_text.c", changed, place / "filters_text.o")
    compile_like(build, "native_index.c", index, place / "native_index.o")
    link_like(build, [place / "filters_text.o", place / "native_index.o"], place / "eden")

    def run(*args, **options):
        done = subprocess.run(
            [place / "eden", *args], capture_output=True, text=True, cwd=place, **options
        )
        return done.stdout + done.stderr

    return run


def test_help_lists_it(newcomer):
    assert re.search(r"^ *surround\(mark='\*'\) +Surrounds a string", newcomer("help", "filters"), re.M)


def test_explain_describes_it(newcomer):
    output = newcomer("explain", "surround")
    assert "surround(mark='*')" in output
    assert "Surrounds a string with a mark." in output
    assert "{{ 'careful' | surround('!') }}" in output
    assert "!careful!" in output


def test_reference_has_it(newcomer):
    page = newcomer("help", "filters", "-o", "markdown")
    assert "## surround\n" in page
    assert "Surrounds a string with a mark." in page


def test_templates_use_it(newcomer):
    cases = ["{{ 'careful' | surround('!') }}", "{{ 1 | surround }}", "{{ 1 | surround('') }}"]
    lines = "".join(json.dumps({"template": case}) + "\n" for case in cases)
    responses = [json.loads(line) for line in newcomer("render", "--batch", input=lines).splitlines()]
    assert [a.get("output", a.get("error")) for a in responses] == [
        "!careful!",
        "*1*",
        "FilterArgumentError",
    ]


def test_wrong_names_suggest_it(newcomer):
    lines = json.dumps({"template": "{{ 1 | suround }}"}) + "\n"
    response = json.loads(newcomer("render", "--batch", input=lines))
    assert response["error"] == "TemplateAssertionError"
    assert "surround" in json.dumps(response)


def test_without_the_row_the_filter_is_unknown(eden_path):
    done = subprocess.run([eden_path, "explain", "surround"], capture_output=True, text=True)
    assert done.returncode != 0
