#!/usr/bin/python3
"""Renders random templates with Jinja2 and eden, and compares the results.

    tests/differential/run.py --count 3000 --seed 1 --eden build/eden
    tests/differential/run.py --seed 1 --only 1234        one case, in full
    tests/differential/run.py --count 3000 --oracle-only  generator output, without eden

Both must produce the same text, or errors of the same class (syntax errors: on the same line). A
mismatch is shrunk and printed with its number. Intended differences are counted by reason.
"""

import argparse
import collections
import json
import multiprocessing
import pathlib
import re
import resource
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "oracle")]

import generator  # noqa: E402
import jinja_oracle  # noqa: E402
import shrink  # noqa: E402

CHUNK = 250
SYNTAX = ("TemplateSyntaxError", "TemplateAssertionError")
LARGEST = 2**63 - 1
ORACLE_BYTES = 3 << 30
KNOWN = {*jinja_oracle.jinja2.defaults.DEFAULT_FILTERS, *jinja_oracle.jinja2.defaults.DEFAULT_TESTS}


class GaveUp(Exception):
    """The oracle exceeded its limits."""


def ask_oracle(case):
    try:
        answer = jinja_oracle.render(case, seconds=20)
    except jinja_oracle.OracleTimeout as error:
        raise GaveUp("time") from error
    if answer.get("error") in ("MemoryError", "RecursionError"):
        raise GaveUp(answer["error"])
    return answer


def ask_eden(eden, cases):
    """The results of one batch; {"error": "CRASH"} for a case that killed the process."""
    answers = []
    while len(answers) < len(cases):
        lines = "".join(json.dumps(case) + "\n" for case in cases[len(answers):])
        run = subprocess.run([eden, "render", "--batch"], input=lines.encode(), check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                             preexec_fn=unlimit_memory)
        got = run.stdout.decode("utf-8", "surrogatepass").splitlines()
        answers += [json.loads(line) for line in got if line]
        if len(answers) < len(cases):
            tail = run.stderr.decode(errors="replace")[-2000:]
            answers.append({"error": "CRASH", "message": f"exit {run.returncode}: {tail}"})
    return answers


def too_large(text):
    return any(abs(int(number)) > LARGEST for number in re.findall(r"\d{19,}", text))


def knows(eden, name):
    """Whether eden has a filter or test that Jinja2 lacks."""
    question = {"template": "{{ name is filter or name is test }}", "context": {"name": name}}
    return ask_eden(eden, [question])[0].get("output") == "True"


def meant(eden, want, got):
    """Why a difference is intended, or None. Each reason is narrow and counted."""
    if got.get("error") == "OverflowError" and too_large(want.get("output", "")):
        return "integer beyond 64 bits"
    if want.get("error") == "NameError" and re.search(r"name '(inf|nan)'", want["message"]):
        return "Jinja2 folds a constant to inf or nan and cannot read it back"
    if re.search(r"object\b.*? at 0x[0-9a-f]+", want.get("output", ""), re.I):
        return "Jinja2 prints an address"
    if want.get("error") == "SyntaxError" and got.get("error") == "TemplateSyntaxError":
        return "Jinja2 leaves an error to Python's compiler"
    if want.get("message") == "cannot convert float infinity to integer" and "output" in got:
        return "newer versions of Jinja2 give the default for a number that is too large"
    unknown = re.match("there is no (filter|test) '(.*)'", got.get("message", ""))
    if "output" in want and unknown and unknown[2] not in KNOWN:
        return "Jinja2 folds code with an unknown name away before it looks"
    unknown = re.match("No (filter|test) named '(.*)'", want.get("message", ""))
    if unknown and got.get("error") != want["error"] and knows(eden, unknown[2]):
        return "eden has more filters and tests"
    return None


def same(want, got):
    if "output" in want:
        return got.get("output") == want["output"]
    if got.get("error") != want["error"]:
        return False
    return want["error"] not in SYNTAX or got.get("line") == want.get("line")


def kind(want, got):
    """The class of a mismatch; shrinking must not switch to another."""
    return (want.get("error", "output"), got.get("error", "output"))


def work(job):
    """Compares one chunk; returns counts and mismatches."""
    seed, start, stop, eden = job
    counts = collections.Counter()
    mismatches = []
    cases, wants = [], []
    for index in range(start, stop):
        case = generator.case(seed, index)
        counts["cases"] += 1
        for name in set(re.findall(r"(?:\{%[-+]?|\n\s*(?:@|%%|::))\s*([a-z]+)", case["template"])):
            counts["has " + name] += 1
        try:
            want = ask_oracle(case)
        except GaveUp as error:
            counts[f"skipped: the oracle gave up ({error})"] += 1
            continue
        counts["errors" if "error" in want else "outputs"] += 1
        cases.append((index, case))
        wants.append(want)
    if eden:
        gots = ask_eden(eden, [case for _, case in cases])
        for (index, case), want, got in zip(cases, wants, gots):
            if same(want, got):
                counts["agree"] += 1
                continue
            reason = meant(eden, want, got)
            if reason:
                counts[f"meant: {reason}"] += 1
            else:
                mismatches.append((index, case, want, got))
    return counts, mismatches


def limit_memory():
    """Limits the oracle: a random template must not take the machine down."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (ORACLE_BYTES, hard))


def unlimit_memory():
    """Eden limits itself, and a sanitizer build needs all the address space."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def smallest(eden, case, want, got):
    wanted = kind(want, got)

    def still_fails(candidate):
        try:
            new_want = ask_oracle(candidate)
        except GaveUp:
            return False
        new_got = ask_eden(eden, [candidate])[0]
        return (not same(new_want, new_got) and not meant(eden, new_want, new_got)
                and kind(new_want, new_got) == wanted)

    return shrink.shrink(case, still_fails)


def show(index, seed, case, want, got):
    print(f"--- mismatch: --seed {seed} --only {index}")
    print("template: " + json.dumps(case["template"], ensure_ascii=False))
    for part in ("options", "context"):
        if case.get(part):
            print(f"{part}: " + json.dumps(case[part], ensure_ascii=False))
    print("jinja2:   " + json.dumps(want, ensure_ascii=False))
    print("eden:     " + json.dumps(got, ensure_ascii=False))


def report(counts, seconds):
    cases = counts["cases"]
    errors = 100 * counts["errors"] / max(1, cases)
    print(f"{cases} cases in {seconds:.1f} s, {errors:.1f} % errors, {counts['agree']} agree")
    for name, number in sorted(counts.items()):
        if name.startswith(("meant", "skipped")):
            print(f"  {number} {name}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="run this case alone and print it whole")
    parser.add_argument("--eden", default=str(ROOT / "build" / "eden"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=10, help="how many mismatches to print")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--oracle-only", action="store_true")
    return parser.parse_args()


def run_only(args):
    case = generator.case(args.seed, args.only)
    want = ask_oracle(case)
    got = {"output": None} if args.oracle_only else ask_eden(args.eden, [case])[0]
    show(args.only, args.seed, case, want, got)
    return 0 if same(want, got) else 1


def main():
    args = arguments()
    if args.only is not None:
        return run_only(args)
    eden = None if args.oracle_only else args.eden
    last = args.start + args.count
    jobs = [(args.seed, start, min(start + CHUNK, last), eden)
            for start in range(args.start, last, CHUNK)]
    counts = collections.Counter()
    mismatches = []
    begin = time.monotonic()
    with multiprocessing.Pool(args.jobs, initializer=limit_memory) as pool:
        for chunk_counts, chunk_mismatches in pool.imap(work, jobs):
            counts.update(chunk_counts)
            mismatches += chunk_mismatches
    report(counts, time.monotonic() - begin)
    if args.oracle_only:
        for name, number in counts.most_common():
            if name.startswith("has "):
                print(f"  {number} {name}")
        return 0
    for index, case, want, got in mismatches[: args.show]:
        if not args.no_shrink:
            case = smallest(eden, case, want, got)
            want, got = ask_oracle(case), ask_eden(eden, [case])[0]
        show(index, args.seed, case, want, got)
    if mismatches:
        print(f"{len(mismatches)} mismatches in {counts['cases']} cases")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
