#!/usr/bin/python3
"""Writes the project's vectors and the examples of filters, tests and functions as fuzz inputs.

    tests/fuzz/seeds.py FOLDER

makes FOLDER/template, FOLDER/expression, FOLDER/yaml and FOLDER/json. `tools/fuzz minimize` calls
it, so that the corpora know every case that the vectors know. The form of an input is described in
template_world.h.
"""

import ast
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
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
EXAMPLE = re.compile(r'\.example =((?:\s*"(?:[^"\\]|\\.)*")+)')


def option_bytes(options):
    """The two bytes at the head of an input that come closest to the options of a vector."""
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


def from_templates(target):
    for path in sorted((ROOT / "tests/vectors/template").glob("*.json")):
        for case in json.loads(path.read_text()):
            options, context = case["options"], case["context"]
            head, tail = option_bytes(options), parts(options, context)
            write(target / "template", head + case["template"] + tail)
            for expression in re.findall(r"\{\{-?(.*?)-?\}\}", case["template"], re.S):
                write(target / "expression", head + expression.strip() + tail)


def from_examples(target):
    for path in sorted((ROOT / "src/lang/template").glob("*.c")):
        for found in EXAMPLE.findall(path.read_text()):
            text = "".join(ast.literal_eval(piece) for piece in STRING.findall(found))
            write(target / "template", "@@" + text)
            for expression in re.findall(r"\{\{-?(.*?)-?\}\}", text, re.S):
                write(target / "expression", "@@" + expression.strip())


def from_documents(target):
    for path in sorted((ROOT / "tests/vectors/yaml").glob("*.json")):
        for case in json.loads(path.read_text()):
            write(target / "yaml", case["yaml"])
            if isinstance(case.get("json"), str):
                write(target / "json", case["json"])


def main():
    target = pathlib.Path(sys.argv[1])
    from_templates(target)
    from_examples(target)
    from_documents(target)


if __name__ == "__main__":
    main()
