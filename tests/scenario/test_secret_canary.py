"""A secret in every form, through every action, is on no way out.

One site per form: each of its steps sends the form another way, most of them on purpose to a
failure that quotes it. Then all that eden printed and kept is searched for traces of the secret.
"""

import base64
import hashlib
import json
import subprocess
import urllib.parse

import pytest

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

FORMS = {
    "alone": "{{ vars.pw }}",
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
    "later": "{{ steps['first'].StdOut }} {{ steps['first'].StdOut | reverse }}",
    "private": "{{ steps['private'].StdOut | upper }} {{ steps['private'].StdErr | reverse }}",
    "item": "{{ item }}",
}  # fmt: skip

MACROS = """\
show: {args: [x], cmd.run: [{cmd: "printf '<%s>' '{{ x }}'"}]}
keep: {secret: true, cmd.run: [{cmd: "echo c4n''4ry; echo hun''ter2"}]}
twist: {args: [x], expression: "x | reverse ~ '!'"}
fails: {args: [x], cmd.run: [{cmd: ["sh", "-c", "echo $1 >&2; exit 3", "-", "{{ x }}"]}]}
"""


def traces():
    """What no output may hold, in lower case."""
    found = ["c4n4ry", "hunter2", "yr4n4c", "2retnuh", "c.4.n.4.r.y", "h.u.n.t"]
    for text in (SECRET, ODD, SECRET.upper(), SECRET[::-1]):
        data = text.encode()
        found.append(data.hex())
        for shift in range(3):
            encoded = base64.b64encode(b"\0" * shift + data).decode()
            found.append(encoded[4:14])
    found.append(hashlib.sha256(("y" + SECRET).encode()).hexdigest()[:16])
    found.append(urllib.parse.quote(ODD[6:16]))
    return [trace.lower() for trace in found]


TRACES = traces()


def check(text, where):
    low = text.lower()
    for trace in TRACES:
        at = low.find(trace)
        assert at < 0, f"{where} shows {trace!r}: ...{text[max(0, at - 200) : at + 60]!r}"


# Steps whose TEXT becomes the form. Paths are below @/, a folder of the test.
LIVE = {
    "stdout": {"cmd.run": {"cmd": ["printf", "%s\n", "TEXT"]}},
    "stderr": {"cmd.run": {"cmd": ["sh", "-c", "printf '%s\n' \"$1\" >&2; exit 3", "-", "TEXT"]}},
    "both": {"cmd.run": {"cmd": ["sh", "-c", "echo \"$1\"; echo \"$1\" >&2; exit 3", "-", "TEXT"]}},
    "shell": {"cmd.run": {"cmd": "cat <<'END' >&2\nTEXT\nEND\nexit 3"}},
    "environment": {"cmd.run": {"cmd": "env; env >&2; exit 3", "env": {"PASSWORD": "TEXT"}}},
    "stdin": {"cmd.run": {"cmd": "tee /dev/stderr; exit 3", "stdin": "TEXT"}},
    "directory": {"cmd.run": {"cmd": "true", "cwd": "@/TEXT"}},
    "program": {"cmd.run": {"cmd": ["@/no/TEXT"]}},
    "as user": {"cmd.run": {"cmd": "true", "user": "TEXT"}},
    "limited": {"cmd.run": {"cmd": ["sh", "-c", "printf '%0120d%s' 0 \"$1\" >&2; exit 3", "-", "TEXT"],
                            "output_limit": 128}},
    "unless": {"cmd.run": {"cmd": "false", "unless": ["sh", "-c", "echo $1 >&2; exit 1", "-", "TEXT"]}},
    "onlyif": {"cmd.run": {"cmd": "true", "onlyif": ["@/no/TEXT"]}},
    "creates": {"cmd.run": {"cmd": "false", "creates": "@/no/TEXT"}},
    "long": {"cmd.run": {"cmd": ["sh", "-c",
                                 "head -c 470 /dev/zero | tr '\\0' x >&2; echo \"$1\" >&2; exit 3",
                                 "-", "TEXT"]}},
    "cut off": {"cmd.run": {"cmd": ["sh", "-c", "head -c 1048566 /dev/zero | tr '\\0' x; echo \"$1\"",
                                    "-", "TEXT"]}},
    "traced": {"cmd.run": {"cmd": ["sh", "-xc", "test -z \"$1\"", "-", "TEXT"]}},
    "encoded": {"cmd.run": {"cmd": ["sh", "-c", "printf %s \"$1\" | base64; printf %s \"$1\" | od -An "
                                    "-tx1; exit 3", "-", "TEXT"]}},
    "file": {"file.managed": {"name": "@/file", "content": "a\nTEXT\nb\n"}},
    "read": {"cmd.run": {"cmd": "cat @/file; cat @/file >&2; exit 3"}, "require": [{"step": "file"}]},
    "file again": {"file.managed": {"name": "@/again", "content": "TEXT", "backup": ".old"}},
    "validated": {"file.managed": {"name": "@/validated", "content": "TEXT",
                                   "validate": "cat %s >&2; false"}},
    "validator": {"file.managed": {"name": "@/validator", "content": "x",
                                   "validate": ["sh", "-c", "echo $1 >&2; false", "-", "TEXT"]}},
    "public": {"file.managed": {"name": "@/public", "content": "TEXT", "mode": "0644"}},
    "template": {"file.managed": {"name": "@/template", "template": "t.j2",
                                  "context": {"text": "TEXT"}}},
    "path": {"file.managed": {"name": "@/no/TEXT", "content": "x"}},
    "owner": {"file.managed": {"name": "@/owner", "content": "x", "owner": "TEXT"}},
    "line": {"file.line": {"name": "@/again", "line": "TEXT"}},
    "block": {"file.block": {"name": "@/again", "content": "TEXT"}},
    "link": {"file.symlink": {"name": "@/link", "target": "TEXT"}},
    "look": {"file.contents": {"name": "@/file"}, "require": [{"step": "file"}]},
    "publish": {"file.content": {"name": "@/file"}, "require": [{"step": "file"}]},
    "ini": {"ini.option": {"name": "@/ini", "section": "s", "option": "o", "value": "TEXT", "create": True}},
    "json": {"json.value": {"name": "@/json", "path": "/a", "value": "TEXT", "create": True}},
    "yaml": {"yaml.value": {"name": "@/yaml", "path": "/a", "value": ["TEXT"], "create": True}},
    "step": {"test.step": {"stdout": "TEXT", "result": "failed"}},
    "expression": {"template.expression": {"content": ["TEXT"]}},
    "extension": {"leaky.told": {"name": "x", "text": "TEXT"}},
    "download": {"http.download": {"name": "@/got", "url": "http://127.0.0.1:1/TEXT",
                                   "pin": True}},
    "header": {"http.download": {"name": "@/got2", "url": "http://127.0.0.1:1/x", "pin": True,
                                 "headers": {"X-Token": "TEXT"}}},
    "clone": {"git.cloned": {"name": "@/clone", "repo": "@/no", "username": "u", "password": "TEXT"}},
    "port": {"net.wait_for": {"host": "TEXT", "port": 1, "timeout": "1ms"}},
    "archive": {"archive.extracted": {"name": "@/archive", "source": "@/no/TEXT"}},
    "when": {"test.ok": {}, "conditions": {"when": {"condition": "vars.pw == 'x'"}}},
    "success": {"test.ok": {}, "conditions": {"success": {"condition": "vars.pw | reverse == 'x'"}}},
    "retried": {"cmd.run": {"cmd": ["sh", "-c", "echo $1 >&2; exit 3", "-", "TEXT"]},
                "runOptions": {"retry": {"interval": "1ms", "limit": 1}}},
}  # fmt: skip

# What acts on files of the system, below another root.
ROOTED = {
    "host": {"host.entry": {"name": "TEXT", "address": "10.0.0.1"}},
    "cron": {"cron.present": {"name": "job", "cmd": "run TEXT", "minute": "1",
                              "env": {"PASSWORD": "TEXT"}}},
    "sysctl": {"sysctl.present": {"name": "kernel.x", "value": "TEXT"}},
    "limit": {"limits.present": {"domain": "TEXT", "type": "soft", "item": "nofile", "value": "1"}},
    "user": {"user.present": {"name": "ann", "password": "TEXT"}},
    "home": {"user.present": {"name": "ben", "home": "/home/TEXT", "shell": "/TEXT"}},
    "key": {"ssh.authorized_key": {"user": "root", "key": "TEXT"}},
    "known": {"ssh.known_host": {"name": "h", "key": "TEXT"}},
    "unit": {"service.unit": {"name": "x.service", "content": "[Service]\nExecStart=/bin/x TEXT\n"}},
    "service": {"service.ensure": {"name": "TEXT", "enabled": True}},
    "repo": {"pkgrepo.managed": {"name": "r", "uris": ["http://u:TEXT@127.0.0.1:1/"], "suites": ["x"],
                                 "components": ["main"], "trusted": True}},
    "zone": {"timezone.set": {"name": "TEXT"}},
    "locale": {"locale.present": {"name": "TEXT"}},
    "group": {"group.present": {"name": "TEXT"}},
    "alternative": {"alternatives.set": {"name": "editor", "path": "/TEXT"}},
    "copy": {"file.copy": {"name": "/copy", "source": "/no/TEXT"}},
    "gone": {"file.absent": {"name": "/TEXT"}},
    "folder": {"file.directory": {"name": "/TEXT/x"}},
    "playbook": {"ansible.playbook": {"content": "- hosts: all\n  vars: {x: TEXT}\n  tasks: []\n"}},
    "manifest": {"puppet.apply": {"code": "notify { 'TEXT': }"}},
    "packages": {"pkg.installed": {"name": "TEXT"}},
}  # fmt: skip

# What is refused before anything is touched.
FAULTY = {
    "key": {"cmd.run": {"cmd": "echo {{ {}[vars.pw] }}"}},
    "filter": {"cmd.run": {"cmd": "echo {{ (vars.pw | reverse) | from_json }}"}},
    "loop": {"cmd.run": {"cmd": "{% for a in [vars.pw | reverse] %}{{ a.x.y }}{% endfor %}"}},
    "macro": {"cmd.run": {"cmd": "{{ macros['nope' ~ vars.pw] }}"}},
    "attribute": {"cmd.run": {"cmd": "{{ vars.tree[vars.pw | reverse].z }}"}},
    "number": {"cmd.run": {"cmd": "{{ vars.pw | int + (vars.pw | reverse) }}"}},
    "format": {"cmd.run": {"cmd": "{{ '%d' % (vars.pw | reverse) }}"}},
    "include": {"cmd.run": {"cmd": "{% include vars.pw | reverse %}"}},
    "mode": {"file.managed": {"name": "/mode", "content": "x", "mode": "{{ vars.pw }}"}},
    "boolean": {"file.managed": {"name": "/b", "content": "x", "parents": "{{ vars.pw }}"}},
    "source": {"file.managed": {"name": "/source", "source": "{{ vars.pw }}"}},
    "template": {"file.managed": {"name": "/template", "template": "{{ vars.pw | reverse }}"}},
    "result": {"test.step": {"result": "{{ vars.pw }}"}},
    "time": {"time.sleep": {"duration": "{{ vars.pw }}"}},
    "when": {"test.ok": {}, "conditions": {"when": {"condition": "{}[vars.pw].x == 1"}}},
    "item": {"test.ok": {}, "forEach": "{{ vars.pw | from_json }}"},
    "items": {"test.ok": {}, "forEach": "{{ vars.pw }}"},
}  # fmt: skip

# Steps with secrets of their own, all on one line.
LITERAL = """\
steps: [{name: a, cmd.run: [{cmd: [sh, -c, 'echo $1 >&2; exit 3', -, !secret c4n4ry-own]}]}, \
{name: b, cmd.run: [{cmd: cat; exit 3}, {stdin: !secret hunter2-own}]}, \
{name: c, cmd.run: [{cmd: 'echo {{ item }}; exit 3'}], forEach: [!secret c4n4ry-item]}, \
{file.managed: [{name: '@/{{ vars.pw }}'}, {content: x}]}, \
{name: d, cmd.run: [{cmd: 'echo {{ item.key }}; exit 3'}], forEach: '{{ vars.keyed }}'}]
"""

LEAKY = """#!/bin/sh
request=$(cat)
case $request in
*'"op":"describe"'*)
    echo '{"format": "eden.module/1", "help": "x", "id_param": "name", "actions": {"told":'
    echo '{"help": "x", "roots": true, "params": {"name": {"kind": "string", "help": "x"},'
    echo '"text": {"kind": "string", "help": "x"}}}}}' ;;
*) printf '%s\\n' "$request" >&2; exit 3 ;;
esac
"""


class Canary:
    """A site of some of these steps, and what is searched after each command."""

    def __init__(self, eden, path, steps, text):
        self.eden, self.path = eden, path
        self.site, self.etc, self.root = path / "site", path / "etc", path / "root"
        for folder in ("jobs", "macros", "templates", "modules", "files"):
            (self.site / folder).mkdir(parents=True)
        for folder in (self.etc / "trusted-keys", self.root / "etc", path / "made"):
            folder.mkdir(parents=True)
        (path / "vars.yaml").write_text(VARS)
        (self.site / "jobs/base.yaml").write_text("jobs: {'*': [{name: canary}]}\n")
        (self.site / "macros/base.yaml").write_text("macros: {'*': [{name: all}]}\n")
        (self.site / "macros/all.yaml").write_text(MACROS)
        (self.site / "templates/t.j2").write_text("t {{ text }} {{ vars.pw | reverse }}\n")
        (path / "made/again").write_text("old\n")
        self.steps = list(steps)
        made = [{"name": "first", "cmd.run": {"cmd": ["printf", "%s\\n", "{{ vars.pw }}"]}},
                {"name": "private", "secret": True,
                 "cmd.run": {"cmd": "echo c4n''4ry-hun''ter2; echo hun''ter2-x >&2"}}]  # fmt: skip
        for name, step in steps.items():
            form = json.loads(json.dumps(step).replace("@/", f"{path}/made/").replace(
                "TEXT", json.dumps(text)[1:-1]))  # fmt: skip
            made.append({"name": name, **form})
            if "item" in text:
                made[-1]["forEach"] = "{{ [vars.pw] }}"
        (self.site / "jobs/canary.yaml").write_text(json.dumps({"steps": made}))
        self.args = [self.site, "-v", "vars.yaml", "-D", f"given={SECRET}", "--config-dir", "etc",
                     "--state-dir", "state"]  # fmt: skip

    def trust_module(self):
        (self.site / "modules/leaky").write_text(LEAKY)
        (self.site / "modules/leaky").chmod(0o755)
        self.run("modules", "keygen", "key")
        (self.etc / "trusted-keys/key.pub").write_text((self.path / "key.pub").read_text())
        self.run("modules", "sign", self.site, "--key", "key")

    def run(self, *args, **more):
        done = self.eden(*args, **more)
        shown = [arg if len(str(arg)) < 60 else "..." for arg in args]
        check(done.stdout, f"stdout of {shown}")
        check(done.stderr, f"stderr of {shown}")
        return done

    def check_kept(self):
        for path in [*(self.path / "state").rglob("*"), *self.path.glob("out*")]:
            if path.is_file() and path.parent.name != "keep":
                check(path.read_bytes().decode("utf-8", "replace"), path)
            assert path.stat().st_mode & 0o077 == 0 or not path.name.startswith("state"), path


def walk(canary, every_step=False):
    """Every way out."""
    args = canary.args
    for extra in (["--verbose"], ["-o", "json"], ["--out", "out.plan", "--diff", "full"]):
        done = canary.run("plan", *args, *extra)
        assert done.returncode in (0, 1), done.stderr
    canary.run("apply", "out.plan", "-D", f"given={SECRET}")
    for extra in (["--verbose", "--progress", "plain", "--junit", "out.xml"],
                  ["-o", "json", "--progress", "json", "--order", "justdoit"],
                  ["-o", "yaml", "--verbose", "--order", "genius"]):  # fmt: skip
        done = canary.run("apply", *args, *extra)
        assert done.returncode == 1, done.stderr
        canary.check_kept()
        if "-o json" in " ".join(extra):
            assert len(json.loads(done.stdout)["steps"]) == len(canary.steps) + 2
    for extra in ([], ["-o", "json"]):
        canary.run("graph", *args[:-2], *extra)
        canary.run("runs", "--state-dir", "state", *extra)
        canary.run("replay", "--state-dir", "state", *extra)
        canary.run("owed", "--state-dir", "state", *extra)
        canary.run("vars", "list", *args[:-2], *extra)
    canary.run("validate", canary.site)
    for step in canary.steps[:: 1 if every_step else 9]:  # they show the records, checked above
        canary.run("why", step, "--state-dir", "state")


def test_the_canary_itself_is_found(eden, tmp_path):
    for text in (SECRET, "x" + SECRET.upper(), base64.b64encode(b"ab" + SECRET.encode()).decode(),
                 ODD, json.dumps(ODD), urllib.parse.quote(ODD), SECRET.encode().hex()):  # fmt: skip
        with pytest.raises(AssertionError):
            check(text, "it")


@pytest.mark.parametrize("form", FORMS)
def test_no_way_out_shows_a_secret(eden, tmp_path, form):
    canary = Canary(eden, tmp_path, LIVE, FORMS[form])
    canary.trust_module()
    walk(canary, every_step=form == "inside")


@pytest.mark.parametrize("form", ["alone", "inside", "reversed", "lines"])
def test_no_system_file_shows_a_secret(eden, tmp_path, form):
    canary = Canary(eden, tmp_path, ROOTED, FORMS[form])
    canary.args += ["--root", "root"]
    walk(canary)


def test_no_line_of_a_site_shows_a_secret(eden, tmp_path):
    canary = Canary(eden, tmp_path, {}, "")
    job = canary.site / "jobs/canary.yaml"
    job.write_text(LITERAL.replace("@", str(tmp_path / "made")))
    with (tmp_path / "vars.yaml").open("a") as variables:
        variables.write("keyed: !secret {c4n4ry-key: 1}\n")
    args = canary.args
    for command in (["plan"], ["apply", "--verbose"], ["apply", "-o", "json"], ["graph"]):
        done = canary.run(*command, *(args if command != ["graph"] else args[:-2]))
        assert done.returncode in (0, 1), done.stderr
        canary.check_kept()
    for text in ("jobs: {'*': {name: !secret c4n4ry}}", "jobs: !secret c4n4ry-hunter2"):
        (canary.site / "jobs/base.yaml").write_text(text)
        assert canary.run("plan", *args).returncode == 1
    (canary.site / "jobs/base.yaml").write_text("jobs: {'*': [{name: canary}]}\n")
    for text in ("x: '{{ (vars.pw | reverse) | from_json }}'", "x: '{{ vars[vars.pw | reverse] }}'",
                 "pw: '{{ [vars.odd][1] }}'", "x: '{{ vars.pw.y.z }}'",
                 "x: '{{ {}[vars.pw | reverse] }}'", "x: '{{ macros[vars.pw | reverse] }}'",
                 "x: '{{ (vars.pw | reverse ~ 1).y.z }}'", "x: '{{ server[vars.pw | reverse] }}'"):  # fmt: skip
        (tmp_path / "vars.yaml").write_text(VARS + text + "\n")
        assert canary.run("plan", *args).returncode == 1
        assert canary.run("vars", "list", *args[:-2]).returncode == 1


@pytest.mark.parametrize("fault", FAULTY)
def test_no_fault_shows_a_secret(eden, tmp_path, fault):
    canary = Canary(eden, tmp_path, {"x": FAULTY[fault]}, "")
    canary.args += ["--root", "root"]
    for command in (["plan"], ["apply"], ["apply", "-o", "json"]):
        done = canary.run(*command, *canary.args)
        assert done.returncode == 1 and "error" in done.stdout + done.stderr
    canary.run("graph", *canary.args[:-4])
    canary.run("validate", canary.site)


def test_a_killed_run_leaves_no_secret_behind(eden_path, eden, tmp_path):
    canary = Canary(eden, tmp_path, {
        "file": {"file.managed": {"name": "@/TEXT", "content": "TEXT"}},
        "long": {"cmd.run": {"cmd": ["sh", "-c", "echo $1 >&2; sleep {{ vars.seconds }}", "-", "TEXT"],
                             "env": {"PASSWORD": "TEXT"}}},
    }, FORMS["inside"])  # fmt: skip
    run = subprocess.Popen(
        [eden_path, "apply", *map(str, canary.args), "-D", "seconds=100", "--progress", "json"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    for line in run.stderr:
        check(line, "progress")
        if '"start"' in line and "canary#long" in line:
            break
    run.kill()
    run.communicate()
    canary.check_kept()
    done = canary.run("apply", *canary.args, "-D", "seconds=0", "--verbose")
    assert done.returncode == 0, done.stderr
    canary.check_kept()
