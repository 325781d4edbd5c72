#!/usr/bin/python3
"""Writes the project's vectors and the examples of its reference as fuzz inputs.

    tests/fuzz/seeds.py FOLDER

creates FOLDER/template, FOLDER/expression, FOLDER/yaml and FOLDER/json. `tools/fuzz` calls it, so
that a run starts from every case in the vectors. The format of an input is described in
template_world.h.

Each case is one small input, which suits fuzzing. The cases that succeed are also combined into
larger ones, a few of which cover as much as many small ones: a minimized corpus consists of them.
"""

import hashlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

UNDEFINED = {
    "Undefined": 0,
    "StrictUndefined": 1,
    "ChainableUndefined": 2,
    "DebugUndefined": 3,
}
FIRST_BYTE = {"autoescape": 4, "trim_blocks": 8, "lstrip_blocks": 16, "keep_trailing_newline": 32}
HEADING = re.compile(r"^## (?:(\w+)\.)?(\w+)$", re.M)
EXAMPLE = re.compile(r"^```jinja\n(.*?)\n```$", re.M | re.S)

# Values of every kind, and arguments, for each filter, test, function and method.
VALUES = (
    "text",
    "n",
    "pi",
    "yes",
    "nothing",
    "list",
    "users",
    "map",
    "range(3)",
    "(list, 'x')",
    "html|safe",
    "missing",
    "missing.deeper",
    "password",
    "vault",
    "[]",
    "''",
    "-big",
    "inf",
    "(list|map('string'))",
    "dict",
)
ARGUMENTS = ("", "n", "text", "list", "map", "nothing", "missing", "2, 3", "'x', 'y'", "x=1")


def option_bytes(options):
    """The two bytes at the start of an input that come closest to the options of a vector."""
    first = ord("@") | UNDEFINED[options.get("undefined", "Undefined")]
    for name, bit in FIRST_BYTE.items():
        first |= bit if options.get(name) else 0
    second = ord("@")
    starts = {options.get("block_start_string"), options.get("variable_start_string")}
    for row, known in enumerate(({"{%"}, {"<%", "${"}, {"<!--%"}, {"[%", "[["})):
        second |= row if starts & known else 0
    second |= 4 if options.get("line_statement_prefix") else 0
    second |= 8 if options.get("line_comment_prefix") else 0
    second |= 16 if options.get("newline_sequence") == "\r\n" else 0
    return chr(first) + chr(second)


def parts(options, context):
    variables = {**options.get("globals", {}), **context}
    named = dict(options.get("loader", {}))
    if variables:
        named["context"] = json.dumps(variables, ensure_ascii=False)
    return "".join(f"\n=== {name}\n{text}" for name, text in named.items())


def write(folder, text):
    data = text.encode("utf-8", "surrogatepass")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def expressions(template):
    return [found.strip() for found in re.findall(r"\{\{-?(.*?)-?\}\}", template, re.S)]


class Together:
    """Concatenates templates into inputs of about the given size."""

    SIZE = 2000

    def __init__(self, folder, start="", between="\n", end=""):
        self.folder, self.start, self.between, self.end = folder, start, between, end
        self.open = []

    def add(self, head, text, variables):
        for group in self.open:
            known = group["variables"]
            if group["head"] == head and all(known.get(k, v) == v for k, v in variables.items()):
                break
        else:
            group = {"head": head, "texts": [], "variables": {}}
            self.open.append(group)
        group["texts"].append(text)
        group["variables"].update(variables)
        if sum(map(len, group["texts"])) > self.SIZE:
            self.open.remove(group)
            self.close(group)

    def close(self, group):
        text = self.start + self.between.join(group["texts"]) + self.end
        write(self.folder, group["head"] + text + parts({}, group["variables"]))

    def finish(self):
        for group in self.open:
            self.close(group)


def from_templates(target):
    templates = Together(target / "template")
    lists = Together(target / "expression", "[", ", ", "]")
    for path in sorted((ROOT / "tests/vectors/template").glob("*.json")):
        for case in json.loads(path.read_text()):
            options, context, text = case["options"], case["context"], case["template"]
            head, tail = option_bytes(options), parts(options, context)
            write(target / "template", head + text + tail)
            for expression in expressions(text):
                write(target / "expression", head + expression + tail)
            if "output" in case and "loader" not in options and " block" not in text:
                variables = {**options.get("globals", {}), **context}
                templates.add(head, text, variables)
                if re.fullmatch(r"\{\{((?!\}\}).)*\}\}", text, re.S):
                    lists.add(head, expressions(text)[0], variables)
    templates.finish()
    lists.finish()


def from_reference(target):
    templates = Together(target / "template")
    lists = Together(target / "expression", "[", ", ", "]")
    for path in sorted((ROOT / "docs/reference").glob("*.md")):
        for text in EXAMPLE.findall(path.read_text()):
            write(target / "template", "@@" + text)
            templates.add("@@", text, {})
            for expression in expressions(text):
                write(target / "expression", "@@" + expression)
            if re.fullmatch(r"\{\{((?!\}\}).)*\}\}", text, re.S):
                lists.add("@@", expressions(text)[0], {})
    templates.finish()
    lists.finish()


def from_names(target):
    """Every name on every kind of value with every kind of argument: mostly errors."""
    forms = {
        "filters": "{value}|{name}({arguments})",
        "tests": "{value} is {name}({arguments})",
        "globals": "{name}({value}, {arguments})",
        "methods": "{value}.{name}({arguments})",
    }
    for kind, form in forms.items():
        headings = HEADING.findall((ROOT / f"docs/reference/{kind}.md").read_text())
        for name in sorted({name for _, name in headings}):
            for at, value in enumerate(VALUES):
                for arguments in ARGUMENTS[: 2 if at % 3 else None]:
                    text = form.format(value=value, name=name, arguments=arguments)
                    write(target / "expression", "@@" + text)


def from_documents(target):
    for path in sorted((ROOT / "tests/vectors/yaml").glob("*.json")):
        for case in json.loads(path.read_text()):
            write(target / "yaml", case["yaml"])
            if isinstance(case.get("json"), str):
                write(target / "json", case["json"])


def main():
    target = pathlib.Path(sys.argv[1])
    from_templates(target)
    from_reference(target)
    from_names(target)
    from_documents(target)


if __name__ == "__main__":
    main()
