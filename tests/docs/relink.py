"""Links a separate program from the built library and a few changed files."""

import json
import shlex
import subprocess


def compile_like(build, source, changed, output, *options):
    """Compiles `changed` as the build compiles `source`, with additional options first."""
    commands = json.loads((build / "compile_commands.json").read_text())
    entry = next(e for e in commands if e["file"].endswith(source))
    words = shlex.split(entry["command"])
    words[words.index("-o") + 1] = str(output)
    words[words.index("-c") + 1] = str(changed)
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    words[first:first] = options
    subprocess.run(words, cwd=build, check=True)


def link_like(build, objects, output):
    """Links as the build links eden, with `objects` before the library."""
    commands = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "eden"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    words = shlex.split(commands[-1])
    at = words.index("-o")
    words[at + 1] = str(output)
    # The first definition wins, also if the entire library is linked.
    words[at + 2 : at + 2] = [*map(str, objects), "-Wl,--allow-multiple-definition"]
    subprocess.run(words, cwd=build, check=True)
