"""A secret in every form, through everything that only complete machines have: packages, other
tools, units.
"""

import json

from canary import (FORMS, KEPT, MACROS, SECRET, VARS, as_lines, check, every_parameter, make_steps,
                    without_refused)  # fmt: skip
from lab import repos

STATE = ("/var/lib/eden", "/tmp/out.xml", "/tmp/out.plan")
PLAYBOOK = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: played TEXT
      copy: {dest: /srv/played, content: "{% raw %}{{ text }}{% endraw %}"}
      diff: true
    - name: told
      debug: {msg: "{% raw %}{{ text }}{% endraw %}"}
      changed_when: true
    - name: goes wrong
      command: {argv: [/bin/sh, -c, "echo $1; echo $1 >&2; exit 3", -, "{% raw %}{{ text }}{% endraw %}"]}
"""

MANIFEST = """\
file { '/srv/puppet': content => $facts['text'] }
exec { "/bin/sh -c 'echo \\"\\$0\\"; echo \\"\\$0\\" >&2; exit 3' '${facts['text']}'": logoutput => true }
notify { $facts['text']: }
"""

TOOLS = {
    "playbook": {"ansible.playbook": {"content": PLAYBOOK, "extra_vars": {"text": "ALL"}, "ask": False}},
    "manifest": {"puppet.apply": {"code": MANIFEST, "facts": {"text": "ALL"}, "ask": False}},
}  # fmt: skip

PACKAGES = {
    "package": {"pkg.installed": {"name": "TEXT"}},
    "version": {"pkg.installed": {"name": "lab-greets", "version": "TEXT"}},
    "list": {"pkg.installed": {"pkgs": ["lab-greets", "TEXT"], "refresh": True}},
    "newest": {"pkg.latest": {"name": "TEXT"}},
    "removed": {"pkg.removed": {"name": "TEXT"}},
    "held": {"pkg.held": {"name": "TEXT"}},
}


class Site:
    """A site on a host, and the files searched after each command."""

    def __init__(self, host, steps, text):
        self.host, self.text = host, text
        host.write("/srv/made/kept", KEPT, mode=0o600)
        host.write("/root/vars.yaml", VARS)
        self.args = ["/tmp/site", "-v", "/root/vars.yaml", "-D", f"given={SECRET}"]
        self.put(steps)

    def put(self, steps):
        self.steps = steps
        self.jobs = as_lines(make_steps(steps, self.text, "/srv/made"))
        self.host.put_site({
            "jobs/base.yaml": "jobs: {'*': [{name: canary}]}\n",
            "jobs/canary.yaml": self.jobs,
            "macros/base.yaml": "macros: {'*': [{name: all}]}\n",
            "macros/all.yaml": MACROS.replace("@", "/srv/made"),
        })  # fmt: skip

    def run(self, *args):
        done = self.host.eden(*args, timeout=600)
        check(done.stdout, f"stdout of {args[:2]}")
        check(done.stderr, f"stderr of {args[:2]}")
        return done

    def drop_refused(self):
        for _ in range(3):
            done = self.run("plan", *self.args, "-o", "json", "--progress", "none")
            if "problems" not in json.loads(done.stdout):
                return
            self.put(without_refused(self.steps, self.jobs, done.stdout))

    def check_kept(self):
        """Everything that eden and the tools it ran left where others can read it."""
        for folder in STATE:
            check(self.host.run(f"find {folder} -name keep -prune -o -type f -exec cat {{}} +",
                                check=False).stdout, folder)  # fmt: skip

    def look_back(self):
        self.check_kept()
        for extra in ([], ["-o", "json"]):
            for command in ("why", "runs", "owed"):
                self.run(command, *extra)

    def walk(self):
        done = self.run("apply", *self.args, "-o", "json", "--progress", "json")
        assert done.returncode == 1, done
        self.run("apply", *self.args, "--verbose", "--diff", "full", "--junit", "/tmp/out.xml")
        self.run("plan", *self.args, "--verbose", "--out", "/tmp/out.plan")
        self.look_back()
        return {step["name"]: step for step in json.loads(done.stdout)["steps"]}


# On one line, and without characters that end a name.
JOINED = ("inside", "odd", "upper", "reversed", "hashed", "base64", "url", "json", "html", "quoted", "nested",
          "macro", "marked", "file", "later", "private")  # fmt: skip


def test_playbooks_and_manifests_show_no_secret(light):
    forms = " ".join(FORMS[form].replace("\n", " ") for form in JOINED)
    tools = json.loads(json.dumps(TOOLS).replace("ALL", json.dumps(forms)[1:-1]))
    site = Site(light("machine"), tools, FORMS["inside"])
    done = site.run("apply", *site.args, "-o", "json", "--progress", "json")
    found = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
    site.look_back()
    # They take seconds, so that users see only one of them.
    site.put({"playbook": tools["playbook"]})
    site.run("apply", *site.args, "--verbose", "--diff", "full", "--junit", "/tmp/out.xml")
    site.look_back()
    assert "task 'goes wrong' failed" in found["playbook"]["error"]["message"], found["playbook"]
    assert "told" in found["playbook"]["changes"], found["playbook"]
    assert "Exec[" in found["manifest"]["error"]["message"], found["manifest"]
    for path in ("/srv/played", "/srv/puppet"):
        assert SECRET in site.host.read(path)


def test_package_steps_show_no_secret(light):
    host = light("bookworm", repos=True)
    repos.use(host, "apt")
    host.run("apt-get -qqy install lab-hello")
    steps = {}
    for form in ("alone", "odd", "upper", "reversed", "base64", "url", "json", "nested", "file", "later"):
        for name, step in PACKAGES.items():
            steps[f"{name} {form}"] = json.loads(json.dumps(step).replace(
                "TEXT", json.dumps(FORMS[form])[1:-1]))  # fmt: skip
    # apt's messages about a source contain its password.
    steps["source"] = {"pkgrepo.managed": {
        "name": "r", "uris": ["http://u:{{ vars.pw }}@127.0.0.1:1/"], "suites": ["x"],
        "components": ["main"], "trusted": True}}  # fmt: skip
    steps["from it"] = {"pkg.latest": {"name": "lab-greets", "refresh": True}, "require": [{"step": "source"}]}
    site = Site(host, steps, "")
    site.drop_refused()
    found = site.walk()
    assert sum(step["result"] == "failed" for step in found.values()) >= len(PACKAGES)


def test_no_action_parameter_shows_a_secret_on_a_machine(light):
    host = light("bookworm", repos=True)
    repos.use(host, "apt")
    steps = every_parameter(lambda *args, input=None: host.eden(*args, input=input))
    site = Site(host, steps, FORMS["alone"])
    site.drop_refused()
    assert len(site.steps) > 200
    done = site.run("apply", *site.args, "--verbose", "--progress", "json", "--junit", "/tmp/out.xml")
    assert done.returncode == 1, done
    site.look_back()


SYSTEMCTL = """#!/bin/sh
case $1 in reboot) echo "cannot: $*" >&2; exit 1 ;; esac
exec /usr/bin/systemctl "$@"
"""


def test_a_failed_reboot_shows_no_secret(systemd):
    host = systemd()
    host.write("/usr/local/sbin/systemctl", SYSTEMCTL, mode=0o755)
    host.write("/etc/eden/vars.d/x.yaml", VARS)
    host.write("/srv/steps.yaml", json.dumps({"steps": [
        {"name": "down", "machine.reboot": {"allow": True, "message": "{{ vars.pw }}"}}]}))  # fmt: skip
    done = host.eden("apply", "/srv/steps.yaml")
    check(done.stdout + done.stderr, "apply")
    assert done.returncode != 0 and "cannot: reboot --message=(secret)" in done.stderr, done
