"""The recipe of CONTRIBUTING.md works: its files and lines make a kind of objects and its command."""

import json
import re
import subprocess

import pytest
from relink import compile_like, link_like

# Files compiled from the table of kinds, or from that of routes, which contains the endpoints of
# each kind.
TABLES = ["api", "bodies", "call", "kind", "kind_role", "openapi", "record", "routes"]


@pytest.fixture(scope="module")
def newcomer(root, build, tmp_path_factory):
    """Runs the program with the kind of the recipe."""
    place = tmp_path_factory.mktemp("recipe")
    section = (root / "CONTRIBUTING.md").read_text()
    section = section.split("### Add a kind of objects", 1)[1].split("\n### ", 1)[0]
    [code, command] = re.findall(r"^```c\n(.*?)^```", section, re.M | re.S)
    [line] = re.findall(r"`(KIND\([^`]*\))`", section)
    (place / "api").mkdir()
    rows = (root / "src/api/kinds.def").read_text()
    assert "kind_window" not in rows, "Window exists now: give the recipe of CONTRIBUTING.md another kind"
    (place / "api" / "kinds.def").write_text(rows + line + "\n")
    (place / "kind_window.c").write_text(code)
    objects = [place / "kind_window.o"]
    compile_like(build, "api/kind_config.c", place / "kind_window.c", objects[0], "-Werror", f"-I{place}")
    for name in TABLES:
        # From a copy: next to the original, its own .def would be found first.
        (place / f"{name}.c").write_text((root / f"src/api/{name}.c").read_text())
        objects.append(place / f"{name}.o")
        compile_like(build, f"src/api/{name}.c", place / f"{name}.c", objects[-1], f"-I{place}")
    [line] = re.findall(r"`(COMMAND\([^`]*\))`", section)
    (place / "cli").mkdir()
    (place / "cli" / "commands.def").write_text((root / "src/cli/commands.def").read_text() + line + "\n")
    (place / "command.c").write_text((root / "src/cli/command.c").read_text())
    (place / "command_windows.c").write_text(command)
    for name, like in (("command", "command"), ("command_windows", "command_roles")):
        objects.append(place / f"{name}.o")
        compile_like(build, f"cli/{like}.c", place / f"{name}.c", objects[-1], "-Werror", f"-I{place}")
    link_like(build, objects, place / "eden")

    def run(*args):
        return subprocess.run([place / "eden", *args], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)

    run.path = place / "eden"
    return run


def test_every_file_that_uses_route_numbers_is_recompiled(root):
    """The numbers of the routes after the new one change."""
    route = re.compile(r"\bROUTE_(?!JSON|MERGE_PATCH|BODY_MAX|AUDITED|CONDITIONAL|PARAMS_MAX)[A-Z]\w*")
    users = {path.stem for path in (root / "src").rglob("*.c") if "api/" in str(path) and route.search(path.read_text())}
    assert users <= set(TABLES)


def test_its_schema_has_the_limits(newcomer):
    spec = json.loads(newcomer("schema", "windows").stdout)["properties"]["spec"]
    assert spec["required"] == ["day"]
    assert spec["properties"]["day"]["enum"] == ["weekday", "weekend", "any"]
    assert spec["properties"]["nodes"]["minimum"] == 1
    assert spec["properties"]["nodes"]["maximum"] == 1000


def test_it_has_endpoints(newcomer):
    paths = json.loads(newcomer("schema", "openapi").stdout)["paths"]
    assert set(paths["/v1/windows"]) >= {"get", "post"}
    assert set(paths["/v1/windows/{name}"]) >= {"get", "put", "patch", "delete"}
    assert "/v1/health" in paths


def test_explain_and_the_reference_show_its_fields(newcomer):
    output = newcomer("explain", "Window").stdout
    assert "When nodes may be changed." in output
    assert "spec.length  duration (1m to 1d)" in output
    page = newcomer("help", "kinds", "-o", "markdown").stdout
    assert "| `spec.nodes` | number | 1 to 1000 | how many may be changed at once |" in page


def test_its_command_has_all_verbs(newcomer):
    text = newcomer("help", "windows").stdout
    assert "usage: eden windows [list] [OPTION]...\n" in text
    assert "eden windows delete [OPTION]... WINDOW...\n" in text
    assert "eden windows apply -f window.yaml" in newcomer("windows", "apply", "--help").stdout


def test_without_the_row_the_kind_is_unknown(eden_path):
    assert subprocess.run([eden_path, "schema", "windows"], capture_output=True).returncode != 0


def test_a_server_validates_and_stores_its_objects(newcomer):
    script = """
        put() { "$0" api PUT "/v1/windows/$1" -d "{\\"spec\\":$2}"; }
        put night '{"day":"weekday","length":"2h","nodes":5}' >/dev/null || exit 1
        put noon '{"day":"monday","length":"2h"}' >&2 && exit 1
        "$0" windows list >&2 || exit 1
        "$0" windows show night -o json || exit 1
        "$0" windows delete night >&2
    """
    done = newcomer("dev", "--nodes", "1", "--port", "0", "--", "bash", "-c", script, newcomer.path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["spec"] == {"day": "weekday", "length": "2h", "nodes": 5}
    assert "must be one of weekday|weekend|any" in done.stderr
    assert re.search(r"^NAME +DAY +LENGTH +STATE\nnight +weekday +2h +good$", done.stderr, re.M), done.stderr
