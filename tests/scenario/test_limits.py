"""Inputs that would run, recurse or grow without end: a clear error and little memory.

The time and memory they take are in docs/fuzzing.md; `test_limits.py --measure EDEN` prints them.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

DEEP = 100_000
MEBIBYTES = 64

# Runs a command and writes its exit code, messages, CPU seconds and peak memory as JSON. In a
# separate process, because the peak of a child is never less than what its parent used when it
# started it.
PROBE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, timeout=60)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"code": done.returncode, "stderr": done.stderr.decode(),
                  "seconds": used.ru_utime + used.ru_stime, "kib": used.ru_maxrss}))
"""


def exponential(levels):
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [" + ", ".join([f"*a{level - 1}"] * 10) + "]")
    return "\n".join(lines) + "\n"


# name: (files, the first one being the input, and part of the message)
CASES = {
    "a loop over a range without end": (
        {"t.j2": "{% for i in range(10**12) %}{% endfor %}"},
        "error[E0213]: the template exceeded its limit of 52428800 steps",
    ),
    "a loop that prints without end": (
        {"t.j2": "{% for i in range(10**12) %}x{{ i }}{% endfor %}"},
        "error[E0213]: the output exceeded its limit of 16777216 bytes",
    ),
    "a text times a million millions": (
        {"t.j2": "{{ 'x' * 10**12 }}"},
        "error[E0213]: the template exceeded its memory limit of 33554432 bytes",
    ),
    "a power past all integers": (
        {"t.j2": "{{ 2 ** 10**9 }}"},
        "error[E0211]: integer result does not fit in 64 bits",
    ),
    "nested brackets in a template": (
        {"t.j2": "{{ " + "[" * DEEP + "]" * DEEP + " }}"},
        "error[E0213]: nested too deeply (limit: 200 levels)",
    ),
    "nested parentheses in a template": (
        {"t.j2": "{{ " + "(" * DEEP + ")" * DEEP + " }}"},
        "error[E0213]: nested too deeply (limit: 200 levels)",
    ),
    "nested tags in a template": (
        {"t.j2": "{% if 1 %}" * DEEP + "{% endif %}" * DEEP},
        "error[E0213]: nested too deeply (limit: 200 levels)",
    ),
    "nested brackets in YAML": (
        {"t.yaml": "[" * DEEP + "]" * DEEP},
        "error[E0105]: the YAML text is nested too deeply (limit: 64)",
    ),
    "nested lists in YAML": (
        {"t.yaml": "- " * DEEP + "x"},
        "error[E0105]: the YAML text is nested too deeply (limit: 64)",
    ),
    "nested brackets in JSON": (
        {"t.json": "[" * DEEP + "]" * DEEP},
        "error[E0156]: nested deeper than 512 levels",
    ),
    "nested objects in JSON": (
        {"t.json": '{"a":' * DEEP + "1" + "}" * DEEP},
        "error[E0156]: nested deeper than 512 levels",
    ),
    "a million aliases": (
        {"t.yaml": "a: &a [x]\nb:\n" + "  - *a\n" * 1_000_000},
        "error[E0105]: the YAML text uses too many aliases (limit: 100000)",
    ),
    "aliases of aliases of aliases": (
        {"t.yaml": exponential(20)},
        "error[E0105]: the aliases expand to too many values (limit: 1000000)",
    ),
    "a macro that calls itself": (
        {"t.j2": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"},
        "error[E0212]: maximum recursion depth exceeded",
    ),
    "a macro that calls itself twice": (
        {
            "t.j2": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}"
            "{% endmacro %}{{ m(200) }}"
        },
        "error[E0213]: the template exceeded its limit of 52428800 steps",
    ),
    "two macros that call one another": (
        {
            "t.j2": "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}"
            "{{ a() }}"
        },
        "error[E0212]: maximum recursion depth exceeded",
    ),
    "a recursive loop without end": (
        {"t.j2": "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"},
        "error[E0212]: maximum recursion depth exceeded",
    ),
    "a template that includes itself": (
        {"t.j2": "{% include 't.j2' %}"},
        "error[E0212]: maximum recursion depth exceeded",
    ),
    "two templates that include one another": (
        {"t.j2": "{% include 'u.j2' %}", "u.j2": "{% include 't.j2' %}"},
        "error[E0212]: maximum recursion depth exceeded",
    ),
    "two templates that import one another": (
        {"t.j2": "{% import 'u.j2' as u %}", "u.j2": "{% import 't.j2' as t %}"},
        "error[E0212]: maximum recursion depth exceeded",
    ),
    "two templates that extend one another": (
        {"t.j2": "{% extends 'u.j2' %}", "u.j2": "{% extends 't.j2' %}"},
        "extends itself recursively",
    ),
    "a pattern that takes forever": (
        {"t.j2": "{{ ('a' * 5000 ~ 'b') is match('(a+)+$') }}"},
        "error[E0213]: matching '(a+)+$' takes too long",
    ),
    "a pattern that runs over a long text from every place": (
        {"t.j2": "{{ ('a' * 1000000) is search('a+[bc]') }}"},
        "error[E0213]: matching 'a+[bc]' takes too long",
    ),
    "a pattern that takes a while, without end": (
        {"t.j2": "{% for i in range(10**12) %}{{ ('a' * 12 ~ 'b') is match('(a+)+$') }}{% endfor %}"},
        "error[E0213]: the template exceeded its limit of 52428800 steps",
    ),
}


def measure(eden_path, folder, files):
    for name, text in files.items():
        (folder / name).write_text(text)
    first = next(iter(files))
    command = ["render", first] if first.endswith(".j2") else ["convert", first]
    probe = subprocess.run(
        [sys.executable, "-S", "-c", PROBE, eden_path, *command],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(probe.stdout)


@pytest.mark.parametrize("name", CASES)
def test_causes_a_clear_error(eden_path, tmp_path, name):
    files, message = CASES[name]
    done = measure(eden_path, tmp_path, files)
    assert done["code"] == 1, done["stderr"][-500:]
    assert message in done["stderr"]
    # Sanitizers use additional memory.
    if "asan" not in os.environ.get("EDEN_BUILD", ""):
        assert done["kib"] < MEBIBYTES * 1024


def main(eden_path):
    import tempfile

    for name, (files, _) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            done = measure(eden_path, pathlib.Path(folder), files)
        print(f"| {name} | {done['seconds']:.2f} | {done['kib'] / 1024:.0f} |")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[2]))
