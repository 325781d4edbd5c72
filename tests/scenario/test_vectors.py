"""The language, case by case: the project's own vectors, and the shared ones where they exist."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWN = ROOT / "tests" / "vectors"
SHARED = ROOT.parent / "shared" / "vectors"
DEVIATIONS = ROOT / "docs" / "yaml-deviations.md"

# Shared cases whose result depends on something not in the case, with that reason.
# Jinja2 itself, given only the contents of the case, gives another result, too.
NOT_IN_THE_CASE = {
    ("test_json_dump", "42"): "a function of the host that writes 42 for every value",
    ("test_pass_context_in_blocks", "42\n24\n42"): "a function test() of the host",
    ("test_pass_context_block_and_loop", "42\n0\n24\n0\n42\n1\n24\n1\n42"): "the same function",
    ("test_cached_extends[include]", "bar y"): "globals given when the template was loaded first",
    ("test_cached_extends[include]", "42 y"): "globals given when the template was loaded first",
}


def render_batch(eden_path, cases):
    """Renders all cases in one process; one result for each."""
    lines = "".join(
        json.dumps({key: case[key] for key in ("template", "options", "context")}) + "\n"
        for case in cases
    )
    run = subprocess.run(
        [eden_path, "render", "--batch"], input=lines.encode(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=300, check=False,
    )
    responses = [json.loads(line) for line in run.stdout.decode().splitlines()]
    assert len(responses) == len(cases), (
        f"{len(responses)} answers for {len(cases)} cases, exit {run.returncode}: "
        f"{run.stderr.decode(errors='replace')[-500:]}"
    )
    return responses


def agrees(case, response):
    """Same text, or same error class and, where the vector specifies one, same line."""
    if "output" in case:
        return response.get("output") == case["output"]
    if response.get("error") != case["error"]:
        return False
    return "line" not in case or response.get("line") == case["line"]


def failure_text(case, response):
    wanted = {key: case[key] for key in ("output", "error", "line") if key in case}
    lines = [
        case.get("name") or case.get("test"),
        "  template: " + json.dumps(case["template"], ensure_ascii=False),
        "  expected: " + json.dumps(wanted, ensure_ascii=False),
        "  got:      " + json.dumps(response, ensure_ascii=False),
    ]
    for part in ("options", "context"):
        if case[part]:
            lines.insert(2, f"  {part}: " + json.dumps(case[part], ensure_ascii=False))
    return "\n".join(lines)


def check_templates(eden_path, cases):
    responses = render_batch(eden_path, cases)
    failed = [
        failure_text(case, response)
        for case, response in zip(cases, responses)
        if not agrees(case, response)
    ]
    assert not failed, f"{len(failed)} of {len(cases)} vectors fail:\n" + "\n".join(failed)


def documents(text):
    """The JSON documents concatenated in a text."""
    decoder = json.JSONDecoder()
    found, place = [], 0
    while True:
        while place < len(text) and text[place].isspace():
            place += 1
        if place == len(text):
            return found
        value, place = decoder.raw_decode(text, place)
        found.append(value)


def exact(value):
    """A form in which 1 and true differ, 1 and 1.0 do not, and the order of keys does not matter.
    """
    if isinstance(value, dict):
        return ("map", sorted((key, exact(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("list", [exact(item) for item in value])
    return ("bool" if isinstance(value, bool) else "other", value)


def depends_on_host(case):
    return (case["test"].split("::")[-1], case.get("output")) in NOT_IN_THE_CASE


def deviations():
    """The ids in the first column of the table of cases in which libyaml itself deviates."""
    if not DEVIATIONS.exists():
        return set()
    rows = DEVIATIONS.read_text(encoding="utf-8").splitlines()
    return {row.split("|")[1].strip(" `") for row in rows if re.match(r"\|\s*`?[0-9A-Z]{4}", row)}


def check_yaml(eden_path, cases):
    failed = []
    for case in cases:
        run = subprocess.run(
            [eden_path, "convert", "-", "-o", "json"], input=case["yaml"].encode(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False,
        )
        got = run.stdout.decode() if run.returncode == 0 else "rejected"
        if case["fail"]:
            fine = run.returncode == 1
        elif "json" in case:
            fine = run.returncode == 0 and exact(documents(got)) == exact(documents(case["json"]))
        else:
            fine = run.returncode in (0, 1)
        if not fine:
            wanted = "rejected" if case["fail"] else case.get("json", "any value or error")
            failed.append(
                f"{case['id']}: {case['name']}\n  yaml: {json.dumps(case['yaml'])}\n"
                f"  expected: {wanted}\n  got:      exit {run.returncode}: {got}"
            )
    assert not failed, f"{len(failed)} of {len(cases)} vectors fail:\n" + "\n".join(failed)


class Bare:
    """The value described by libyaml's plain events: text for scalars, no types, no checks."""

    def __init__(self, text):
        self.events = iter(list(yaml.parse(text, Loader=yaml.CLoader)))
        self.anchors = {}

    def documents(self):
        found = []
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                found.append(self.node(next(self.events)))
        return found

    def node(self, event):
        if isinstance(event, yaml.AliasEvent):
            return self.anchors[event.anchor]
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if event.style else Plain(event.value)
        else:
            value = []
            for inner in self.events:
                if isinstance(inner, yaml.CollectionEndEvent):
                    break
                value.append(self.node(inner))
            if isinstance(event, yaml.MappingStartEvent):
                value = dict(zip(map(str, value[::2]), value[1::2]))
        if event.anchor:
            self.anchors[event.anchor] = value
        return value


class Plain(str):
    """A plain scalar, which may mean null, a boolean or a number."""


def same_shape(bare, value):
    """Whether the text in `bare` can be read as `value`."""
    if isinstance(value, dict):
        return (isinstance(bare, dict) and bare.keys() == value.keys()
                and all(same_shape(bare[key], value[key]) for key in value))
    if isinstance(value, list):
        return (isinstance(bare, list) and len(bare) == len(value)
                and all(map(same_shape, bare, value)))
    if isinstance(value, str):
        return bare == value
    return isinstance(bare, Plain)


def libyaml_deviates(case):
    try:
        read = Bare(case["yaml"]).documents()
    except (yaml.YAMLError, KeyError, TypeError):
        return not case["fail"]
    if case["fail"]:
        return True
    wanted = documents(case["json"])
    return len(read) != len(wanted) or not all(map(same_shape, read, wanted))


def shared(name, capsys):
    """The cases of a shared file; skips with a message if there is none."""
    path = SHARED / name
    if not path.exists():
        with capsys.disabled():
            print(f"\n{name}: no shared vectors beside the project, its own ones must do")
        pytest.skip("no shared vectors")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted((OWN / "template").glob("*.json")), ids=lambda p: p.stem)
def test_own_template_vectors(eden_path, path):
    check_templates(eden_path, json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", sorted((OWN / "yaml").glob("*.json")), ids=lambda p: p.stem)
def test_own_yaml_vectors(eden_path, path):
    check_yaml(eden_path, json.loads(path.read_text(encoding="utf-8")))


def test_own_vectors_agree_with_jinja2():
    run = subprocess.run([sys.executable, "-B", OWN / "verify.py"], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0, run.stdout[-3000:]


def test_shared_template_vectors(eden_path, capsys):
    cases = shared("jinja2.json", capsys)
    output = [case for case in cases if not depends_on_host(case)]
    assert len(cases) - len(output) <= 5
    check_templates(eden_path, output)


def test_shared_yaml_vectors(eden_path, capsys):
    cases = shared("yaml.json", capsys)
    known = deviations()
    assert known <= {case["id"] for case in cases} and len(known) <= 63
    check_yaml(eden_path, [case for case in cases if case["id"] not in known])


def test_libyaml_deviates_where_the_table_lists_it(capsys):
    cases = {case["id"]: case for case in shared("yaml.json", capsys)}
    agree = [name for name in sorted(deviations()) if not libyaml_deviates(cases[name])]
    assert not agree, f"libyaml reads these as it should: {agree}"
