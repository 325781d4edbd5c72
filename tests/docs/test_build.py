"""The build lists name every existing file."""

import json
import os
import pathlib


def test_every_c_file_is_compiled(root):
    """A file that no meson.build names would rot unnoticed; so would a test that never runs."""
    build = pathlib.Path(os.environ.get("EDEN_BUILD", root / "build"))
    commands = json.loads((build / "compile_commands.json").read_text())
    compiled = {(build / entry["file"]).resolve() for entry in commands}
    there = {path for top in ("src", "tests") for path in (root / top).rglob("*.c")}
    unbuilt = {str(path.relative_to(root)) for path in there - compiled}
    # Without a target there is nothing to replay.
    if not list((root / "tests" / "fuzz").glob("fuzz_*.c")):
        unbuilt.discard("tests/fuzz/replay_main.c")
    assert unbuilt == set()
