"""Variants of the built program, without a full rebuild."""

import json
import os
import pathlib
import shlex
import subprocess

from relink import compile_like, link_like

ROOT = pathlib.Path(__file__).resolve().parents[2]


def another_version(build, version, place):
    """The program as if it had another version."""
    commands = json.loads((build / "compile_commands.json").read_text())
    objects, running = [], []
    for entry in commands:
        source = (build / entry["file"]).resolve()
        if ROOT / "src" not in source.parents or "EDEN_VERSION" not in source.read_text():
            continue
        words = [word if not word.startswith("-DEDEN_VERSION=") else f'-DEDEN_VERSION="{version}"'
                 for word in shlex.split(entry["command"])]  # fmt: skip
        objects.append(place / f"{source.parent.name}-{source.stem}.o")
        words[words.index("-o") + 1] = str(objects[-1])
        words[words.index("-MF") + 1] = "/dev/null"
        running.append(subprocess.Popen(words, cwd=build))
    assert running and all(process.wait() == 0 for process in running)
    link_like(build, objects, place / "eden")
    return place / "eden"


def archive_of(library):
    """Where Debian has the static archive of a library; libuv's has an unusual name."""
    plain = pathlib.Path(library.removesuffix(".so") + ".a")
    return str(plain if plain.exists() else plain.with_name(f"{plain.stem}_a.a"))


def portable(build, place):
    """The program as `make static` links it: with archives, and marked as static. Returns the
    linker inputs; the program is "eden", the map of its contents "map"."""
    source = "src/sys/bus_library.c"
    compile_like(build, source, ROOT / source, place / "bus_library.o", "-DEDEN_STATIC")
    commands = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "eden"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    words = [archive_of(word) if word.endswith(".so") else word
             for word in shlex.split(commands[-1])]  # fmt: skip
    words[words.index("-pie")] = "-static"
    at = words.index("-o")
    words[at + 1] = str(place / "eden")
    # Ours have a path relative to the folder, like all build results: other paths belong to the
    # system.
    ours = os.path.relpath(place / "bus_library.o", build)
    words[at + 2 : at + 2] = [ours, "-Wl,--allow-multiple-definition"]
    subprocess.run([*words, f"-Wl,-Map={place}/map"], cwd=build, check=True)
    return words
