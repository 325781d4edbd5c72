"""Programs that differ a little from the one that was built, without building all of it again."""

import json
import os
import pathlib
import shlex
import subprocess

from relink import compile_like, link_like

ROOT = pathlib.Path(__file__).resolve().parents[2]


def another_version(build, version, place):
    """The program as it would be of another version."""
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
    """Where Debian has the archive beside a library; that of libuv has a name of its own."""
    plain = pathlib.Path(library.removesuffix(".so") + ".a")
    return str(plain if plain.exists() else plain.with_name(f"{plain.stem}_a.a"))


def portable(build, place):
    """The program as `make static` links it: against archives, and told that it is static. Gives what
    links it; the program is there as "eden", what it consists of as "map"."""
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
    # Ours by a path from the folder, as all that is built: other paths are of the system.
    ours = os.path.relpath(place / "bus_library.o", build)
    words[at + 2 : at + 2] = [ours, "-Wl,--allow-multiple-definition"]
    subprocess.run([*words, f"-Wl,-Map={place}/map"], cwd=build, check=True)
    return words
