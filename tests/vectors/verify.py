#!/usr/bin/python3
"""Check the template vectors against Debian's python3-jinja2.

    tests/vectors/verify.py            re-check every vector, list the eden-only ones
    tests/vectors/verify.py --fill     also write expected values into vectors that lack them
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "oracle"))

import jinja_oracle  # noqa: E402

ORDER = ("name", "eden", "reason", "template", "options", "context", "output", "error", "line")


def save(path, cases):
    """One case per block, keys in a fixed order, so that diffs stay readable."""
    blocks = []
    for case in cases:
        lines = [
            f"    {json.dumps(key)}: {json.dumps(case[key], ensure_ascii=False)}"
            for key in ORDER
            if key in case
        ]
        blocks.append("  {\n" + ",\n".join(lines) + "\n  }")
    path.write_text("[\n" + ",\n".join(blocks) + "\n]\n", encoding="utf-8")


def expected(answer):
    """The part of the oracle's result that a vector specifies."""
    return {key: answer[key] for key in ("output", "error", "line") if key in answer}


def check_file(path, fill):
    """Returns (checked, eden-only names, problems) for one file."""
    cases = json.loads(path.read_text(encoding="utf-8"))
    only_here, problems, checked = [], [], 0
    names = set()
    for case in cases:
        if case["name"] in names:
            problems.append(f"{path.name}: two cases are called {case['name']!r}")
        names.add(case["name"])
        for key in case:
            if key not in ORDER:
                problems.append(f"{path.name}: {case['name']}: unknown key {key!r}")
        if case.get("eden"):
            only_here.append(case["name"])
            continue
        want = expected(jinja_oracle.render(case))
        have = expected(case)
        checked += 1
        if not have and fill:
            case.update(want)
        elif have != want:
            problems.append(f"{path.name}: {case['name']}\n  vector: {have}\n  jinja2: {want}")
    if fill:
        save(path, cases)
    return checked, only_here, problems


def main():
    fill = "--fill" in sys.argv[1:]
    total, failed = 0, []
    for path in sorted((HERE / "template").glob("*.json")):
        checked, only_here, problems = check_file(path, fill)
        total += checked
        failed += problems
        print(f"{path.name}: {checked} agree with Jinja2 {jinja_oracle.jinja2.__version__}"
              if not problems else f"{path.name}: {len(problems)} PROBLEMS")
        for name in only_here:
            print(f"    eden only: {name}")
    for problem in failed:
        print(problem)
    print(f"{total} vectors checked, {len(failed)} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
