"""Canary secrets: their forms, what no output may contain, and steps that pass a text to every
parameter of every action."""

import base64
import hashlib
import json
import re
import urllib.parse

SECRET = "c4n4ry-hunter2"
ODD = "c4n4ry \"hunter2\" & 'q' é/%"  # every encoding has something to escape here

VARS = f"""\
pw: !secret {SECRET}
odd: !secret {json.dumps(ODD)}
tree: {{list: [plain, {{pw: !secret {SECRET}}}], users: {{ann: !secret {SECRET}}}}}
lines: !secret |
  c4n4ry-first
  hunter2-second
given: !secret replaced-by-D
"""

KEPT = "c4n4ry-kept-in-a-file hunter2"  # known only to processes that read the file

FORMS = {
    "alone": "{{ vars.pw }}",
    "odd": "{{ vars.odd }}",
    "inside": "before {{ vars.pw }} after",
    "upper": "{{ vars.pw | upper }} {{ vars.pw | title }}",
    "reversed": "{{ vars.pw | reverse }} {{ vars.pw[::-1] }}",
    "hashed": "x{{ 'y' ~ (('y' ~ vars.pw) | hash('sha256')) }}",
    "cut": "{{ vars.pw[:7] }}\n{{ vars.pw[7:] }} {{ vars.pw.split('-') | join('_') }}",
    "spelled": "{% for c in vars.pw %}{{ c }}.{% endfor %}",
    "base64": "a{{ ('x' ~ vars.pw) | b64encode }} {{ vars.pw | b64encode }}",
    "url": "?q={{ vars.odd | urlencode }}",
    "json": "{{ {'k': vars.odd, 'l': [vars.pw]} | tojson }}",
    "html": "{{ vars.odd | e }} {{ vars.odd | forceescape }}",
    "quoted": "{{ vars.odd | quote }}",
    "nested": "{{ vars.tree.list[1].pw }} {{ vars.tree }} {{ vars.tree | tojson | b64encode }}",
    "lines": "{{ vars.lines }}{{ vars.lines | indent(8) }}",
    "defined": "{{ vars.given }}",
    "captured": "{% set x %}<{{ vars.pw }}>{% endset %}{% macro m(a) %}[{{ a }}]{% endmacro %}"
                "{{ x }}{{ m(vars.pw | reverse) }}{% filter upper %}{{ vars.pw }}{% endfilter %}",
    "macro": "{{ macros['show'](vars.pw) }} {{ macros['keep'] }} {{ macros['twist'](vars.pw) }}",
    "marked": "{{ ('c4n4' ~ 'ry-hun' ~ 'ter2') | secret }} {{ ['c4n4', 'ry'] | join | secret | reverse }}",
    "file": "{{ macros['kept'] }} {{ macros['kept'] | reverse }} {{ macros['kept'] | b64encode }}",
    "later": "{{ steps['first'].StdOut }} {{ steps['first'].StdOut | reverse }}",
    "private": "{{ steps['private'].StdOut | upper }} {{ steps['private'].StdErr | reverse }}",
    "item": "{{ item }}",
}  # fmt: skip

MACROS = """\
show: {args: [x], cmd.run: [{cmd: "printf '<%s>' '{{ x }}'"}]}
kept: {file.contents: [{name: "@/kept"}]}
keep: {secret: true, cmd.run: [{cmd: "echo c4n''4ry; echo hun''ter2"}]}
twist: {args: [x], expression: "x | reverse ~ '!'"}
fails: {args: [x], cmd.run: [{cmd: ["sh", "-c", "echo $1 >&2; exit 3", "-", "{{ x }}"]}]}
"""


# The spellings in which programs print a text: run by a step, and here to know what to search for.
SPELLINGS = r"""
import base64, html, html.entities, json, quopri, shlex, sys, urllib.parse

def spellings(text):
    data, names = text.encode(), html.entities.codepoint2name
    bits = [data[i:i + 16] for i in range(0, len(data), 16)]
    yield ", ".join("0x%02x" % byte for byte in data)
    yield "".join("%02X" % byte + "," for byte in data)
    yield data.hex("-")
    yield "".join("\\x%02x" % byte for byte in data)
    yield "".join("\\%03o" % byte for byte in data)
    yield " ".join("%03o" % byte for byte in data)
    yield str(list(data))
    yield json.dumps([ord(c) for c in text], indent=2)
    yield "".join("&%s;" % names[ord(c)] if ord(c) in names else c for c in text)
    yield "".join("&#%d;" % ord(c) for c in text)
    yield "\n".join(text)
    yield " ".join(text)
    yield json.dumps(list(text))
    yield "".join("%%%02x" % byte for byte in data)
    yield "".join("\\u%04x" % ord(c) for c in text)
    yield "".join("=%02X" % byte for byte in data)
    yield quopri.encodestring(data, quotetabs=True).decode()
    yield base64.b32encode(b"ab" + data).decode()
    yield base64.b64encode(base64.b64encode(data)).decode()
    yield base64.b64encode(json.dumps({"k": text}).encode()).decode()
    yield json.dumps(json.dumps({"k": json.dumps(text)}))
    yield html.escape(html.escape(text))
    yield urllib.parse.quote(json.dumps(text))
    yield shlex.quote(shlex.quote(text))
    yield "".join("%08x: %s  %s\n" % (i * 16, part.hex(" "), part) for i, part in enumerate(bits))
    yield "\n".join("+ " + text[i:i + 5] for i in range(0, len(text), 5))
"""
SPELL = SPELLINGS + 'print("\n--\n".join(spellings(sys.argv[1])), file=sys.stderr); sys.exit(3)'


def spelled_traces(text):
    """A part of each spelling that is not the text itself."""
    scope = {}
    exec(SPELLINGS, scope)
    for spelling in scope["spellings"](text):
        part = spelling[len(spelling) // 4 :][:24].lower()
        if len(part) >= 12 and part not in text.lower():
            yield part


def traces():
    """What no output may contain, in lowercase."""
    found = ["c4n4ry", "hunter2", "yr4n4c", "2retnuh", "c.4.n.4.r.y", "h.u.n.t"]
    for text in (SECRET, ODD, SECRET.upper(), SECRET[::-1], KEPT):
        data = text.encode()
        found.append(data.hex())
        for shift in range(3):
            encoded = base64.b64encode(b"\0" * shift + data).decode()
            found.append(encoded[4:14])
    found.append(hashlib.sha256(("y" + SECRET).encode()).hexdigest()[:16])
    found.append(urllib.parse.quote(ODD[6:16]))
    found += [*spelled_traces(SECRET), *spelled_traces(ODD)]
    return [trace.lower() for trace in found]


TRACES = traces()


def check(text, where):
    low = text.replace("x" * 256, "").lower()  # what long outputs are filled with
    for trace in TRACES:
        at = low.find(trace)
        assert at < 0, f"{where} shows {trace!r}: ...{low[max(0, at - 200) : at + 60]!r}"


# --- Every parameter ------------------------------------------------------------------------------

# The value for a parameter of that kind; TEXT becomes the form, WORD a unique word. Others get the
# text itself, which is rejected.
PLACES = {
    "path": ["/srv/TEXT", "/srv/WORD/TEXT"],
    "list of strings": [["plain", "TEXT"]],
    "map": [{"key": "TEXT"}],
    "anything": ["TEXT", ["plain", {"key": "TEXT"}]],
    "command": ["TEXT", ["sh", "-c", "echo $1; echo $1 >&2; exit 3", "-", "TEXT"]],
    "names, with or without versions": [["plain", "TEXT"], [{"plain": "TEXT"}]],
}  # fmt: skip
STAYS = {"allow": False}  # or the machine would shut down
NOT_TOUCHED = {"machine.kexec": STAYS, "machine.poweroff": STAYS, "machine.reboot": STAYS,
               "pkg.uptodate": {"refresh": False}}  # fmt: skip


def actions(eden):
    """The `eden explain` output of each action, and the parameters of its example."""
    rows = [row for row in json.loads(eden("explain", "-o", "json").stdout) if row["kind"] == "action"]
    text = "".join(row["example"] for row in rows)
    examples = json.loads(eden("convert", "-", "-o", "json", input=text).stdout)
    for row, example in zip(rows, examples):
        given = example[row["name"]] or []
        row["given"] = {key: value for part in given for key, value in part.items()}
    return rows


def every_parameter(eden):
    """Steps by name: for each parameter of each action the example from its help, with TEXT in that
    parameter."""
    steps = {"trigger": {"test.changed": {}}}
    for row in actions(eden):
        for param in row["parameters"]:
            for number, place in enumerate(PLACES.get(param["kind"], ["TEXT"])):
                name = f"{row['name']} {param['name']} {number}"
                word = re.sub("[^a-z0-9]", "", name)
                given = {**row["given"], **NOT_TOUCHED.get(row["name"], {}), param["name"]: place}
                # Steps with 'onchanges' may contradict each other.
                steps[name] = json.loads(json.dumps(
                    {row["name"]: given, "onchanges": [{"step": "trigger"}]}).replace("WORD", word))  # fmt: skip
    return steps


def make_steps(steps, text, folder, rooted=False):
    """The steps as a list, with a form for TEXT and a directory for @, after two steps whose output
    later ones use. In another root there are no programs."""
    first = {"cmd.run": {"cmd": ["printf", "%s\\n", "{{ vars.pw }}"]}}
    if rooted:
        first = {"test.step": {"stdout": "{{ vars.pw }}"}}
    made = [{"name": "first", **first},
            {"name": "private", "secret": True,
             "cmd.run": {"cmd": "echo c4n''4ry-hun''ter2; echo hun''ter2-x >&2"}}]  # fmt: skip
    for name, step in steps.items():
        form = json.loads(json.dumps(step).replace("@/", f"{folder}/").replace(
            "TEXT", json.dumps(text)[1:-1]))  # fmt: skip
        made.append({"name": name, **form})
        if "item" in text:
            made[-1]["forEach"] = "{{ [vars.pw] }}"
    return made


def without_refused(steps, text, told):
    """The steps without those rejected by `told`, problems as JSON; `text` is their file, with one
    step per line."""
    lines = {problem["line"] for problem in json.loads(told)["problems"]}
    rows = text.splitlines()
    refused = {json.loads(rows[line - 1].rstrip(","))["name"] for line in lines}
    assert refused, told
    return {name: step for name, step in steps.items() if name not in refused}


def as_lines(steps):
    """A file with one step per line."""
    return '{"steps": [\n' + ",\n".join(map(json.dumps, steps)) + "\n]}\n"
