"""The tree follows its rules, and tools/check-layers detects violations."""

import re
import subprocess

import pytest


def check(root, tree):
    return subprocess.run(
        ["/usr/bin/python3", root / "tools" / "check-layers", tree], capture_output=True, text=True
    )


@pytest.fixture
def tree(tmp_path):
    """A tiny valid tree; each test breaks it in one way."""
    files = {
        "src/LAYERS": "# a remark\n0 base\n1 lang\n1 sys\n8 cli\n",
        "src/main.c": '#include "cli/cli.h"\n',
        "src/base/README.md": "base\n",
        "src/base/str.h": "/* Strings. */\n#pragma once\n#include <stddef.h>\n",
        "src/base/str.c": '#include "base/str.h"\n',
        "src/sys/README.md": "sys\n",
        "src/sys/file.h": "#pragma once\n",
        "src/sys/file.c": "#include <fcntl.h>\nint f(void)\n{\n    return open(0);\n}\n",
        "src/lang/README.md": "lang\n",
        "src/lang/value.h": '#pragma once\n#include "base/str.h"\n',
        "src/cli/README.md": "cli\n",
        "src/cli/cli.h": '#pragma once\n#include "lang/value.h"\n#include "sys/file.h"\n',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_this_tree_follows_its_rules(root):
    done = check(root, root)
    assert done.stdout == ""
    assert done.returncode == 0


def test_a_clean_tree_passes(root, tree):
    done = check(root, tree)
    assert done.stdout == ""
    assert done.returncode == 0


def test_a_row_may_be_planned_before_its_folder_exists(root, tree):
    """It is marked as planned; then nothing can include it, and its row is reserved."""
    layers = tree / "src/LAYERS"
    layers.write_text(layers.read_text() + "4 dns # planned: names\n")
    assert check(root, tree).stdout == ""
    layers.write_text(layers.read_text() + "5 boot\n")
    assert "src/LAYERS:7: layer: src/boot does not exist; mark it '# planned: ...'" in check(
        root, tree).stdout


def test_an_existing_folder_is_not_planned(root, tree):
    layers = tree / "src/LAYERS"
    layers.write_text(layers.read_text().replace("8 cli", "8 cli # planned: commands"))
    assert "src/LAYERS:5: layer: src/cli exists" in check(root, tree).stdout


def test_the_map_of_the_tree_has_every_row(root):
    """ARCHITECTURE.md names each folder of src/LAYERS with its row, and no other."""
    rows = re.findall(r"^(\d+) (\w+)", (root / "src/LAYERS").read_text(), re.M)
    output = re.findall(r"^\| (\d+) \| `src/(\w+)` \|", (root / "ARCHITECTURE.md").read_text(), re.M)
    assert sorted(rows) == sorted(output)


SPOILED = {
    "includes a row above": (
        "src/base/str.c",
        '#include "lang/value.h"\n',
        "src/base/str.c:1: layer: 'base' (layer 0) may not include 'lang' (layer 1)",
    ),
    "includes a folder of its own row": (
        "src/lang/value.h",
        '#pragma once\n#include "sys/file.h"\n',
        "src/lang/value.h:2: layer: 'lang' (layer 1) may not include 'sys' (layer 1)",
    ),
    "includes without the folder": (
        "src/base/str.c",
        '#include "str.h"\n',
        'src/base/str.c:1: layer: write "folder/str.h", from src/',
    ),
    "includes a folder without a row": (
        "src/main.c",
        '#include "net/tls.h"\n',
        "src/main.c:1: layer: 'net' is not in src/LAYERS",
    ),
    "includes a file that is not there": (
        "src/main.c",
        '#include "cli/gone.h"\n',
        "src/main.c:1: layer: src/cli/gone.h does not exist",
    ),
    "is a folder without a row": (
        "src/net/tls.h",
        "#pragma once\n",
        "src/net/tls.h:1: layer: 'net' is not in src/LAYERS",
    ),
    "has a system header in a pure folder": (
        "src/lang/value.h",
        "#pragma once\n#include <sys/socket.h>\n",
        "src/lang/value.h:2: pure: 'lang' may not include <sys/socket.h>",
    ),
    "asks the clock in a pure folder": (
        "src/lang/value.c",
        "int now(void)\n{\n    return time(0);\n}\n",
        "src/lang/value.c:3: pure: 'lang' may not call time()",
    ),
    "is too long": ("src/base/str.c", "\n" * 801, "src/base/str.c:801: length: 801 lines"),
    "is a folder without README": (
        "src/lang/yaml/load.h",
        "#pragma once\n",
        "src/lang/yaml:1: readme:",
    ),
    "is called utils": ("src/base/utils.h", "#pragma once\n", "src/base/utils.h:1: name:"),
    "holds a note to self": ("src/cli/a.c", "/* TO" "DO: this */\n", "src/cli/a.c:1: word:"),
    "names a machine's path": ("README.md", "see /wo" "rk/x\n", "README.md:1: word:"),
    "has a C++ comment": ("src/cli/a.c", "int a; // why\n", "src/cli/a.c:1: word:"),
    "has a header without pragma": ("src/cli/a.h", "int a;\n", "src/cli/a.h:1: pragma:"),
    "returns before it has initialized an arena": (
        "src/cli/a.c",
        "void a(void)\n{\n    AUTO_CLEAR(Arena) arena;\n    if (b) {\n        return;\n    }\n"
        "    arena_init(&arena, 1);\n}\n",
        "src/cli/a.c:3: arena:",
    ),
    "has a malformed row": ("src/LAYERS", "0 base\nbase 0\n", "src/LAYERS:2: layer:"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_violation_is_found_when_a_file(root, tree, name):
    path, text, expected = SPOILED[name]
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(text)
    done = check(root, tree)
    assert done.returncode == 1
    assert expected in done.stdout


def test_words_in_comments_and_strings_are_not_calls(root, tree):
    (tree / "src/lang/value.c").write_text(
        '/* as open() does */\nconst char *a = "time(0) // no";\nint b(void)\n'
        "{\n    return c->read(0) + d.open(1) + runtime(2);\n}\n"
    )
    assert check(root, tree).stdout == ""
