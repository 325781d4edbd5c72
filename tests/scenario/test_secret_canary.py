"""A secret in every form, through every action, never appears in any output.

One site per form: each of its steps sends the form another way, usually to a deliberate failure
that quotes it. Then everything that eden printed and stored is searched for traces of the secret.
"""

import base64
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import urllib.parse

import pytest
from canary import (FORMS, KEPT, MACROS, ODD, SECRET, SPELL, VARS, actions, as_lines, check,
                    every_parameter, make_steps, without_refused)  # fmt: skip

# Steps whose TEXT becomes the form. Paths are below @/, a folder of the test.
LIVE = {
    "stdout": {"cmd.run": {"cmd": ["printf", "%s\n", "TEXT"]}},
    "stderr": {"cmd.run": {"cmd": ["sh", "-c", "printf '%s\n' \"$1\" >&2; exit 3", "-", "TEXT"]}},
    "both": {"cmd.run": {"cmd": ["sh", "-c", "echo \"$1\"; echo \"$1\" >&2; exit 3", "-", "TEXT"]}},
    "shell": {"cmd.run": {"cmd": "cat <<'END' >&2\nTEXT\nEND\nexit 3"}},
    "environment": {"cmd.run": {"cmd": "env; env >&2; exit 3", "env": {"PASSWORD": "TEXT"}}},
    "script": {"cmd.script": {"content": "#!/bin/sh\necho \"$1\"; cat >&2 <<'END'\nTEXT\nEND\nexit 3\n",
                              "args": ["TEXT"]}},
    "script of a template": {"cmd.script": {"template": "t.j2", "context": {"text": "TEXT"},
                                            "shell": "cat"}},
    "message": {"test.failed": {"message": "TEXT"}},
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
    "dumped": {"cmd.run": {"cmd": ["sh", "-c", "for how in -c -b -x -tx1 -tu1 -a '-An -c' ''; do "
                                   "printf %s \"$1\" | od $how; done; printf %s \"$1\" | base32; "
                                   "printf %s \"$1\" | fold -w 5; printf %s \"$1\" | sed 's/./& /g'; "
                                   "exit 3", "-", "TEXT"]}},
    "spelled": {"cmd.run": {"cmd": [sys.executable, "-c", SPELL, "TEXT"]}},
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

# Actions on system files, in another root.
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
    "version": {"pkg.installed": {"pkgs": [{"vim": "TEXT"}]}},
    "newest": {"pkg.latest": {"name": "TEXT"}},
    "held": {"pkg.held": {"name": "TEXT"}},
    "removed": {"pkg.removed": {"pkgs": ["vim", "TEXT"]}},
    "no repo": {"pkgrepo.absent": {"name": "TEXT", "provider": "apt"}},
    "firewall": {"firewall.rules": {"table": "t", "content": "chain c { TEXT }"}},
    "rules": {"firewall.rules": {"table": "u", "rules": [{"accept": {"from": "TEXT"}}]}},
    "mount": {"mount.mounted": {"name": "/mnt", "device": "//h/x", "type": "cifs",
                                "options": "username=u,password=TEXT"}},
    "device": {"mount.mounted": {"name": "/mnt2", "device": "TEXT", "type": "ext4"}},
    "unmount": {"mount.unmounted": {"name": "/mnt/TEXT"}},
    "swap": {"swap.on": {"name": "/TEXT", "options": "TEXT"}},
    "module": {"kmod.loaded": {"name": "TEXT"}},
    "hostname": {"hostname.set": {"name": "TEXT"}},
    "reboot": {"machine.reboot": {"allow": True, "message": "TEXT"}},
    "kexec": {"machine.kexec": {"allow": True, "command_line": "TEXT"}},
    "poweroff": {"machine.poweroff": {"allow": True, "message": "TEXT"}},
    "no cron": {"cron.absent": {"name": "TEXT"}},
    "no user": {"user.absent": {"name": "TEXT"}},
    "no group": {"group.absent": {"name": "TEXT"}},
    "status": {"service.status": {"name": "TEXT"}},
}  # fmt: skip

# Sites that are rejected before anything is touched.
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

# Steps with additional secrets, all on one line.
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
    """A site with some of these steps, and the files searched after each command."""

    def __init__(self, eden, eden_path, path, steps, text, rooted=False):
        self.eden, self.eden_path, self.path, self.rooted = eden, eden_path, path, rooted
        self.site, self.etc, self.root = path / "site", path / "etc", path / "root"
        for folder in ("jobs", "macros", "templates", "modules", "files"):
            (self.site / folder).mkdir(parents=True)
        for folder in (self.etc / "trusted-keys", self.root / "etc", path / "made"):
            folder.mkdir(parents=True)
        (path / "vars.yaml").write_text(VARS)
        (self.site / "jobs/base.yaml").write_text("jobs: {'*': [{name: canary}]}\n")
        (self.site / "macros/base.yaml").write_text("macros: {'*': [{name: all}]}\n")
        (self.site / "macros/all.yaml").write_text(MACROS.replace("@", f"{path}/made"))
        (self.site / "templates/t.j2").write_text("t {{ text }} {{ vars.pw | reverse }}\n")
        (path / "made/again").write_text("old\n")
        for kept in (path / "made/kept", self.root / str(path)[1:] / "made/kept"):
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.touch(0o600)
            kept.write_text(KEPT)
        self.text, self.checked = text, set()
        self.put(steps)
        self.args = [self.site, "-v", "vars.yaml", "-D", f"given={SECRET}", "--config-dir", "etc",
                     "--state-dir", "state", *(["--root", "root"] if rooted else [])]  # fmt: skip
        self.stateless = [*self.args[:7], *self.args[9:]]

    def put(self, steps):
        self.steps = list(steps)
        made = make_steps(steps, self.text, self.path / "made", self.rooted)
        (self.site / "jobs/canary.yaml").write_text(as_lines(made))

    def drop_refused(self, steps):
        """Omits steps that are rejected before anything runs, once their message was checked."""
        for _ in range(3):
            done = self.run("plan", *self.args, "-o", "json")
            if "problems" not in json.loads(done.stdout):
                return
            self.run("plan", *self.args)
            text = (self.site / "jobs/canary.yaml").read_text()
            steps = without_refused(steps, text, done.stdout)
            self.put(steps)

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

    def run_on_terminal(self, *args):
        """Its progress is shown in changing lines that are truncated at column 60."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        with (self.path / "out.terminal").open("w") as out:
            run = subprocess.Popen(
                [self.eden_path, *map(str, args), "--progress", "tty"], cwd=self.path, stderr=theirs,
                stdout=out, env={"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8"})  # fmt: skip
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:
            pass  # how Linux signals the end of a pseudo-terminal
        os.close(ours)
        run.wait()
        assert shown
        check(shown.decode("utf-8", "replace"), "the terminal")

    def check_kept(self):
        for path in [*(self.path / "state").rglob("*"), *self.path.glob("out*")]:
            stat = path.stat()
            version = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if path.is_file() and path.parent.name != "keep" and version not in self.checked:
                self.checked.add(version)
                check(path.read_bytes().decode("utf-8", "replace"), path)
            assert stat.st_mode & 0o077 == 0 or not path.name.startswith("state"), path


def walk(canary):
    """All outputs."""
    args = canary.args
    for extra in (["--verbose"], ["-o", "json"], ["--out", "out.plan", "--diff", "full"]):
        done = canary.run("plan", *args, *extra)
        assert done.returncode in (0, 1), done.stderr
    for extra in ([], ["-o", "json"], ["--diff", "full", "--verbose"]):
        done = canary.run("plan", "out.plan", "-D", f"given={SECRET}", *extra)
        assert done.returncode in (0, 1), done.stderr
    canary.run("apply", "out.plan", "-D", f"given={SECRET}", "--diff", "full")
    for extra in (["--verbose", "--progress", "plain", "--junit", "out.xml"],
                  ["-o", "json", "--progress", "json", "--order", "justdoit"],
                  ["-o", "yaml", "--verbose", "--order", "genius", "--run-id", "r", "--events", "out.events"],
                  ["--diff", "full", "--verbose", "--progress", "none"]):  # fmt: skip
        done = canary.run("apply", *args, *extra)
        assert done.returncode == 1, done.stderr
        canary.check_kept()
        if "-o json" in " ".join(extra):
            assert len(json.loads(done.stdout)["steps"]) == len(canary.steps) + 2
    canary.run_on_terminal("apply", *args)
    canary.check_kept()
    for extra in ([], ["-o", "json"]):
        canary.run("graph", *canary.stateless, *extra)
        canary.run("runs", "--state-dir", "state", *extra)
        canary.run("replay", "--state-dir", "state", *extra)
        canary.run("owed", "--state-dir", "state", *extra)
        canary.run("vars", "list", *canary.stateless, *extra)
        canary.run("why", "--state-dir", "state", *extra)
    canary.run("validate", canary.site)
    number = "[0]" if "item" in canary.text else ""
    for step in canary.steps:
        done = canary.run("why", f"canary#{step}{number}", "--state-dir", "state")
        assert done.returncode == 0, done.stderr


def test_the_canary_itself_is_found(eden, tmp_path):
    for text in (SECRET, "x" + SECRET.upper(), base64.b64encode(b"ab" + SECRET.encode()).decode(),
                 ODD, json.dumps(ODD), urllib.parse.quote(ODD), SECRET.encode().hex(),
                 str(list(SECRET.encode())), ", ".join(f"0x{byte:02x}" for byte in ODD.encode())):  # fmt: skip
        with pytest.raises(AssertionError):
            check(text, "it")


@pytest.mark.parametrize("form", FORMS)
def test_no_output_shows_a_secret(eden, eden_path, tmp_path, form):
    canary = Canary(eden, eden_path, tmp_path, LIVE, FORMS[form])
    canary.trust_module()
    walk(canary)


@pytest.mark.parametrize("form", FORMS)
def test_no_system_file_shows_a_secret(eden, eden_path, tmp_path, form):
    canary = Canary(eden, eden_path, tmp_path, ROOTED, FORMS[form], rooted=True)
    canary.drop_refused(ROOTED)
    assert len(canary.steps) > len(ROOTED) / 2
    walk(canary)


# They take no text: a time, or settings common to all packages.
WITHOUT_TEXT = {"time.sleep", "time.sleep_rand", "test.ok", "test.changed", "pkg.uptodate"}


def test_every_action_has_a_row(eden):
    """A secret in a step of a new action needs a row in LIVE or ROOTED."""
    rows = {key for table in (LIVE, ROOTED) for step in table.values() for key in step if "." in key}
    assert {row["name"] for row in actions(eden)} - rows - WITHOUT_TEXT == set()


@pytest.mark.parametrize("form", ["alone", "odd", "file", "later"])
def test_no_parameter_of_any_action_shows_a_secret(eden, eden_path, tmp_path, form):
    steps = every_parameter(eden)
    canary = Canary(eden, eden_path, tmp_path, steps, FORMS[form], rooted=True)
    canary.drop_refused(steps)
    assert len(canary.steps) > 200
    for extra in (["--verbose", "--junit", "out.xml"], ["-o", "json", "--progress", "json"]):
        done = canary.run("apply", *canary.args, *extra)
        assert done.returncode == 1, done.stderr
        canary.check_kept()
    for command in ("owed", "why", "runs"):
        canary.run(command, "--state-dir", "state", "-o", "json")


KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIJKZlXOpWZBBwUaMBHyTf8hmXaGZ8nWQk2v5Yv0hQ2bL"


def test_the_end_of_a_secret_key_is_not_shown(eden, eden_path, tmp_path):
    canary = Canary(eden, eden_path, tmp_path, {
        "may log in": {"ssh.authorized_key": {"user": "root", "key": "ssh-ed25519 {{ vars.key }}"}},
        "is known": {"ssh.known_host": {"name": "h", "key": "{{ vars.line }}"}},
    }, "", rooted=True)  # fmt: skip
    (tmp_path / "vars.yaml").write_text(f"key: !secret {KEY}\nline: !secret ssh-ed25519 {KEY}\npw: x\n")
    (canary.root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    (canary.root / "root").mkdir()
    for command in (["plan"], ["apply", "--verbose"], ["why", "--state-dir", "state"], ["owed", "--state-dir", "state"]):
        done = canary.run(*command, *(canary.args if len(command) < 3 else []))
        assert KEY[-8:] not in done.stdout + done.stderr
        if "apply" in command:
            assert "ssh-ed25519 ...(secret)" in done.stdout
    for record in (tmp_path / "state/runs").iterdir():
        assert KEY[-8:] not in record.read_text()


def test_secret_parts_of_a_plain_value_are_in_no_record(eden, eden_path, tmp_path):
    """A list, a variable and the host name, which are not marked themselves."""
    canary = Canary(eden, eden_path, tmp_path, {
        "listed": {"cmd.run": {"cmd": ["echo", "c4n4ry-hunter2"]}},
        "named": {"hostname.set": {"name": "{{ vars.pw }}"}},
        "starts": {"service.ensure": {"name": "{{ vars.pw }}", "enabled": True},
                   "watch": [{"step": "first"}]},
    }, "", rooted=True)  # fmt: skip
    with (tmp_path / "vars.yaml").open("a") as variables:
        variables.write(f"plain: [a {SECRET} b]\n")
    for _ in range(2):  # the second time with that name
        assert canary.run("apply", *canary.args, "-o", "json", "--junit", "out.xml").returncode == 1
        canary.check_kept()
    for command in ("why", "runs", "owed"):
        canary.run(command, "--state-dir", "state")


def test_no_line_of_a_site_shows_a_secret(eden, eden_path, tmp_path):
    canary = Canary(eden, eden_path, tmp_path, {}, "")
    job = canary.site / "jobs/canary.yaml"
    job.write_text(LITERAL.replace("@", str(tmp_path / "made")))
    with (tmp_path / "vars.yaml").open("a") as variables:
        variables.write("keyed: !secret {c4n4ry-key: 1}\n")
    args = canary.args
    for command in (["plan"], ["apply", "--verbose"], ["apply", "-o", "json"], ["graph"]):
        done = canary.run(*command, *(args if command != ["graph"] else canary.stateless))
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
        assert canary.run("vars", "list", *canary.stateless).returncode == 1


@pytest.mark.parametrize("fault", FAULTY)
def test_no_error_shows_a_secret(eden, eden_path, tmp_path, fault):
    canary = Canary(eden, eden_path, tmp_path, {"x": FAULTY[fault]}, "", rooted=True)
    for command in (["plan"], ["apply"], ["apply", "-o", "json"]):
        done = canary.run(*command, *canary.args)
        assert done.returncode == 1 and "error" in done.stdout + done.stderr
    canary.run("graph", *canary.stateless)
    canary.run("validate", canary.site)


def test_a_killed_run_leaves_no_secret_behind(eden_path, eden, tmp_path):
    canary = Canary(eden, eden_path, tmp_path, {
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
