"""Steps with contradictory settings for one resource are an error before anything is changed."""

import json

import pytest


@pytest.fixture
def output(eden, tmp_path):
    """Plans (or applies) steps in a root; returns the exit code and the output."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "usr/share/zoneinfo").mkdir(parents=True)
    for name, text in {"passwd": "root:x:0:0::/:/bin/sh\n", "group": "root:x:0:\nweb:x:7:\n"}.items():
        (root / "etc" / name).write_text(text)
    for name in ("sh", "true"):
        (root / "bin").mkdir(exist_ok=True)
        (root / "bin" / name).write_text("")

    def run(steps, verb="plan", **files):
        (tmp_path / "site/jobs").mkdir(parents=True, exist_ok=True)
        (tmp_path / "site/jobs/base.yaml").write_text("jobs: {'*': [{name: web}]}\n")
        (tmp_path / "site/jobs/web.yaml").write_text("steps:\n" + steps)
        for path, text in files.items():
            (tmp_path / "site" / path.replace("__", "/")).parent.mkdir(exist_ok=True)
            (tmp_path / "site" / path.replace("__", "/")).write_text(text)
        done = eden(verb, "site", "--root", root, "--config-dir", tmp_path / "config", "-o", "json")
        return done.returncode, json.loads(done.stdout)

    return run


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJKZlXOpWZBBwUaMBHyTf8hmXaGZ8nWQk2v5Yv0hQ2bL"


def pair(first, second):
    lines = []
    for name, text in zip("ab", (first, second)):
        action, params = text.split(" ", 1)
        lines.append(f"- {{name: {name}, {action}: {{{params}}}}}\n")
    return "".join(lines)


CONTRADICTIONS = {
    "content": ("file.managed name: /f, content: x", "file.managed name: /f, content: y", "content"),
    "mode": ("file.managed name: /f, mode: '0644'", "file.managed name: /f, mode: '0600'", "mode"),
    "owner": ("file.managed name: /f, owner: root", "file.managed name: /f, owner: web", "owner"),
    "kinds": ("file.managed name: /f", "file.directory name: /f", "'directory'"),
    "present and absent": ("file.managed name: /f", "file.absent name: /f", "'absent'"),
    "an edit of what is absent": ("file.absent name: /f", "file.line name: /f, line: x", "'file'"),
    "where a link leads": ("file.symlink name: /l, target: a", "file.symlink name: /l, target: b",
                           "target"),
    "another spelling of the path": ("file.managed name: /a/f, content: x",
                                     "file.managed name: /a//./f, content: y", "content"),
    "one line": ("file.line name: /f, match: '^a=', line: a=1",
                 "file.line name: /f, match: '^a=', line: a=2", "line"),
    "one option": ("ini.option name: /f, section: s, option: o, value: 1",
                   "ini.option name: /f, section: s, option: o, value: 2", "value"),
    "one value": ("json.value name: /f, path: a.b, value: 1",
                  "json.value name: /f, path: a.b, value: 2", "value"),
    "packages": ("pkg.installed name: vim", "pkg.removed name: vim", "'absent'"),
    "packages in a list": ("pkg.installed pkgs: [vim, nano]", "pkg.removed pkgs: [nano]", "'absent'"),
    "versions": ("pkg.installed name: vim, version: '1'", "pkg.installed pkgs: [{vim: '2'}]",
                 "version"),
    "running and stopped": ("service.ensure name: ssh, state: started",
                            "service.ensure name: ssh.service, state: stopped", "state"),
    "enabled and disabled": ("service.ensure name: ssh, enabled: true",
                             "service.ensure name: ssh, enabled: false", "enabled"),
    "users": ("user.present name: app", "user.absent name: app", "'absent'"),
    "homes": ("user.present name: app, home: /a", "user.present name: app, home: /b", "home"),
    "groups": ("group.present name: app, gid: 7", "group.present name: app, gid: 8", "gid"),
    "settings of the kernel": ("sysctl.present name: vm.swappiness, value: 1",
                               "sysctl.present name: vm.swappiness, value: 2", "value"),
    "settings of the kernel in two spellings": ("sysctl.present name: net.ipv4.ip_forward, value: 1",
                                                "sysctl.present name: net/ipv4/ip_forward, value: 0",
                                                "value"),
    "settings with a dot in a name": ("sysctl.present name: net.ipv4.conf.eth0/1.forwarding, value: 1",
                                      "sysctl.present name: net/ipv4/conf/eth0.1/forwarding, value: 0",
                                      "value"),
    "rules of one table": ("firewall.rules rules: [{accept: {port: 80}}]",
                           "firewall.rules rules: [{accept: {port: 81}}]", "rules"),
    "rules and content of one table": ("firewall.rules rules: [{accept: {port: 80}}]",
                                       "firewall.rules content: accept", "rules"),
    "policies of one table": ("firewall.rules table: inet a, policy: drop",
                              "firewall.rules table: inet a, policy: accept", "policy"),
    "a table that is absent": ("firewall.rules rules: [{accept: {port: 80}}]",
                               "firewall.rules state: absent", "state"),
    "jobs of cron": ("cron.present name: j, cmd: a", "cron.present name: j, cmd: b", "cmd"),
    "mounts": ("mount.mounted name: /m, device: tmpfs, type: tmpfs", "mount.unmounted name: /m",
               "'unmounted'"),
    "names of hosts": ("host.entry name: db, address: 192.0.2.1",
                       "host.entry name: db, address: 192.0.2.2", "IPv4 address"),
    "the time zone": ("timezone.set name: Etc/UTC", "timezone.set name: Europe/Berlin", "zone"),
    "a file in a directory that is absent": ("file.managed name: /d/e/f", "file.absent name: /d",
                                             "step 'web#a' requires it as a directory"),
    "a directory that is absent, and a file in it": ("file.absent name: /d", "file.managed name: /d/e/f",
                                                     "path '/d' is required as a directory here"),
    "a file above a file": ("file.managed name: /d", "file.managed name: /d/f", "path '/d' is required"),
    "a file above a directory": ("file.directory name: /d/e", "file.managed name: /d",
                                 "cannot be 'file' here"),
    "a file above a link": ("file.managed name: /d", "file.symlink name: /d/l, target: x", "is required"),
    "a file above a clone": ("file.managed name: /d", "git.cloned name: /d/c, repo: /r", "is required"),
    "a file above an archive": ("file.copy name: /d, source: /x",
                                "archive.extracted name: /d/c, source: /r.tar", "is required"),
    "a file above an edit": ("file.managed name: /d", "ini.option name: /d/f, option: o, value: 1",
                             "is required"),
    "a mount on what is absent": ("mount.mounted name: /m, device: tmpfs, type: tmpfs",
                                  "file.absent name: /m", "cannot be 'absent' here"),
    "an owner who is absent": ("file.managed name: /f, owner: app", "user.absent name: app",
                               "user 'app' cannot be 'absent' here"),
    "a group that is absent": ("group.absent name: app", "file.directory name: /d, group: app",
                               "group 'app' is required here"),
    "a job of a user who is absent": ("user.absent name: app",
                                      "cron.present name: j, cmd: x, user: app", "is required here"),
    "a copy of what is managed": ("file.managed name: /f, content: x", "file.copy name: /f, source: /g",
                                  "origin of its content"),
    "what is managed as a copy": ("file.copy name: /f, source: /g", "file.managed name: /f, content: t",
                                  "origin of its content"),
    "two copies": ("file.copy name: /f, source: /g", "file.copy name: /f, source: /h", "file to copy"),
    "a download of a copy": ("file.copy name: /f, source: /g",
                             "http.download name: /f, url: 'https://x/', pin: true",
                             "origin of its content"),
    "the file of a unit": ("service.unit name: a, content: x",
                           "file.managed name: /etc/systemd/system/a.service, content: y",
                           "origin of its content"),
    "the file of a unit that is absent": ("file.absent name: /etc/systemd/system/a.service",
                                          "service.unit name: a, content: x", "'file'"),
    "the file of a job of cron": ("cron.present name: j, cmd: x",
                                  "file.managed name: /etc/cron.d/j, content: y",
                                  "origin of its content"),
    "the file of the name": ("hostname.set name: a", "file.managed name: /etc/hostname, content: b",
                             "origin of its content"),
    "a path of JSON in two spellings": ("json.value name: /f, path: a.b, value: 1",
                                        "json.value name: /f, path: /a/b, value: 2", "value"),
    "a path of YAML in two spellings": ("yaml.value name: /f, path: [a, b], value: 1",
                                        "yaml.value name: /f, path: a.b, value: 2", "value"),
    "a value that is absent": ("json.value name: /f, path: a.b, value: 1",
                               "json.value name: /f, path: /a/b, state: absent", "state"),
    "patterns that find each other's line": ("file.line name: /f, match: '^a=', line: a=1",
                                             "file.line name: /f, match: '^a *=', line: a=2",
                                             "undo each other's change"),
    "a pattern that finds a line": ("file.line name: /f, line: a=1",
                                    "file.line name: /f, match: '^a=', line: a=2",
                                    "undo each other's change"),
    "a line that is absent": ("file.line name: /f, line: a", "file.line name: /f, line: a, state: absent",
                              "state"),
    "lines that are absent": ("file.line name: /f, line: a=1",
                              "file.line name: /f, match: '^a', state: absent", "undo each other's change"),
    "a block that is absent": ("file.block name: /f, content: a", "file.block name: /f, state: absent",
                               "cannot have a different"),
    "the mode of an edit": ("file.managed name: /f, mode: '0644'",
                            "file.line name: /f, line: x, mode: '0600'", "mode"),
    "a slash at the end": ("file.managed name: /d/, content: x", "file.directory name: /d", "'directory'"),
    "one number for two users": ("user.present name: a, uid: 7", "user.present name: b, uid: 7",
                                 "uid '7' cannot have a different user"),
    "one number for two groups": ("group.present name: a, gid: 9", "group.present name: b, gid: '9'",
                                  "gid '9' cannot have a different group"),
    "a masked unit that starts": ("service.ensure name: a, masked: true",
                                  "service.ensure name: a, state: started", "mask state"),
    "an enabled unit that is masked": ("service.ensure name: a.service, enabled: true",
                                       "service.ensure name: a, masked: true", "mask state"),
    "a file that something is mounted on": ("file.managed name: /m, content: x",
                                            "mount.mounted name: /m, device: tmpfs, type: tmpfs",
                                            "path '/m' is required as a directory here"),
    "a key with another comment": (f"ssh.authorized_key user: root, key: '{KEY} one'",
                                   f"ssh.authorized_key user: root, key: '{KEY} two', state: absent",
                                   "state"),
    "a key without its type": (f"ssh.authorized_key user: root, key: '{KEY}'",
                               f"ssh.authorized_key user: root, key: {KEY.split()[1]},"
                               " type: ssh-ed25519, state: absent", "state"),
    "a host without any key": (f"ssh.known_host name: h, key: '{KEY}'",
                               "ssh.known_host name: h, state: absent", "cannot be 'absent' here"),
    "two downloads": ("http.download name: /f, url: 'https://x/', pin: true",
                      "http.download name: /f, url: 'https://y/', pin: true", "address"),
    "a value within another": ("json.value name: /f, path: a, value: {b: 1}",
                               "json.value name: /f, path: a.b, value: 2", "undo each other's change"),
    "a value below a number": ("yaml.value name: /f, path: a.b.c, value: 2",
                               "yaml.value name: /f, path: /a/b, value: 1", "undo each other's change"),
    "a value within what is absent": ("json.value name: /f, path: a, state: absent",
                                      "json.value name: /f, path: a.b, value: 2",
                                      "undo each other's change"),
    "an absent item of a list": ("json.value name: /f, path: a, value: [x, y]",
                                 "json.value name: /f, path: [a, 1], state: absent",
                                 "undo each other's change"),
    "members of a group": ("group.present name: g, members: [a, b]", "group.present name: g, members: [a, c]",
                           "members"),
    "exact groups of a user": ("user.present name: u, groups: [root], remove_groups: true",
                               "user.present name: u, groups: [web], remove_groups: true", "groups"),
    "a member who is not in the list": ("group.present name: g, members: [a, b]",
                                        "user.present name: u, groups: [g]", "undo each other's change"),
    "a group without this member": ("user.present name: u, groups: [web, g]",
                                    "group.present name: g, members: []", "undo each other's change"),
    "a member with other groups": ("group.present name: g, members: [u]",
                                   "user.present name: u, groups: [web], remove_groups: true",
                                   "undo each other's change"),
    "the name of the machine": ("hostname.set name: a", "hostname.set name: b", "name"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_two_steps_that_disagree_are_an_error_at_load(output, name):
    first, second, what = CONTRADICTIONS[name]
    code, out = output(pair(first, second))
    assert code == 1 and out["format"] == "eden.problems/1", out
    (problem,) = out["problems"]
    assert problem["code"] == "E0407"
    assert what in problem["message"] and "step 'web#a'" in problem["message"]
    assert problem["line"] == 3  # the second one
    assert problem["notes"][0]["line"] == 2 and problem["notes"][0]["file"].endswith("jobs/web.yaml")


AGREEING = {
    "settings of two kinds": ("sysctl.present name: net.ipv4.conf.eth0/1.forwarding, value: 1",
                              "sysctl.present name: net.ipv4.conf.eth0.forwarding, value: 0"),
    "the same twice": ("file.managed name: /f, content: x", "file.managed name: /f, content: x"),
    "different aspects": ("file.managed name: /f, mode: '0644'", "file.managed name: /f, owner: root"),
    "different lines": ("file.line name: /f, line: a, create: true",
                        "file.line name: /f, line: b, create: true"),
    "different blocks": ("file.block name: /f, content: a, create: true, marker: '# {mark} one'",
                         "file.block name: /f, content: b, create: true, marker: '# {mark} two'"),
    "a file and a line in it": ("file.managed name: /f, content: \"a\\n\"",
                                "file.line name: /f, line: b"),
    "different options": ("ini.option name: /f, section: s, option: a, value: 1, create: true",
                          "ini.option name: /f, section: s, option: b, value: 2, create: true"),
    "a file that is only made": ("file.managed name: /f, content: x, replace: false",
                                 "file.managed name: /f, content: y"),
    "groups of a user": ("user.present name: root, groups: [root]", "user.present name: root, groups: [web]"),
    "groups in another order": ("user.present name: root, groups: [root, web], remove_groups: true",
                                "user.present name: root, groups: [web, root], remove_groups: true"),
    "a file and its directory": ("file.directory name: /d", "file.managed name: /d/f, content: x"),
    "a file behind a link": ("file.symlink name: /l, target: /etc", "file.managed name: /l/f, content: x"),
    "a file that is absent beside another": ("file.absent name: /d", "file.managed name: /dd/f, content: x"),
    "absence below absence": ("file.absent name: /d/e", "file.absent name: /d"),
    "a file and absence under its directory": ("file.managed name: /d/f, content: x",
                                               "file.absent name: /d/g"),
    "the same copy twice": ("file.copy name: /f, source: /etc/passwd",
                            "file.copy name: /f, source: /etc/passwd"),
    "a copy and a line in it": ("file.copy name: /f, source: /etc/passwd", "file.line name: /f, line: x"),
    "a copy and its mode": ("file.copy name: /f, source: /etc/passwd", "file.managed name: /f, mode: '0600'"),
    "other paths of JSON": ("json.value name: /f, path: a.b, value: 1, create: true",
                            "json.value name: /f, path: 'a.c', value: 2, create: true"),
    "a key with a dot": ("json.value name: /f, path: [a.b], value: 1, create: true",
                         "json.value name: /f, path: a.b, value: 2, create: true"),
    "patterns that do not find each other": (
        "file.line name: /f, match: '^a=', line: a=1, create: true",
        "file.line name: /f, match: '^b=', line: b=2, create: true"),
    "a line that goes and one that comes": (
        "file.line name: /f, match: '^old', state: absent, create: true",
        "file.line name: /f, line: new, create: true"),
    "a value and one within it": ("json.value name: /f, path: a, value: {b: 1}, create: true",
                                  "json.value name: /f, path: a.b, value: 1, create: true"),
    "an item at the end of a list": ("json.value name: /f, path: a, value: [x], create: true",
                                     "json.value name: /f, path: a.-, value: y, create: true"),
    "what is absent within a value": ("json.value name: /f, path: a, value: {b: 1}, create: true",
                                      "json.value name: /f, path: a.c, state: absent, create: true"),
    "different numbers": ("group.present name: a, gid: 7701", "group.present name: b, gid: 7702"),
    "different keys": (f"ssh.known_host name: h, key: '{KEY}'",
                       "ssh.known_host name: other, state: absent"),
    "names and numbers": ("file.managed name: /f, owner: root", "file.managed name: /f, owner: 0"),
    "addresses of both families": ("host.entry name: db, address: 192.0.2.1",
                                   "host.entry name: db, address: '2001:db8::1'"),
}  # fmt: skip


@pytest.mark.parametrize("name", AGREEING)
def test_two_compatible_steps_are_accepted(output, name):
    code, out = output(pair(*AGREEING[name]))
    assert code == 0, out


# The plans of these may fail, since the root has no programs.
LOADED = {
    "a member in the list": ("group.present name: g, members: [a, u]",
                             "user.present name: u, groups: [g, web], remove_groups: true"),
    "members and another user": ("group.present name: g, members: [a]",
                                 "user.present name: u, groups: [web], remove_groups: true"),
    "a member with more groups": ("group.present name: g, members: [u]",
                                  "user.present name: u, groups: [web]"),
    "rules of two tables": ("firewall.rules rules: [{accept: {port: 80}}]",
                            "firewall.rules table: inet other, rules: [{accept: {port: 81}}]"),
}


@pytest.mark.parametrize("name", LOADED)
def test_two_compatible_steps_are_loaded(output, name):
    assert output(pair(*LOADED[name]))[1]["format"] == "eden.run/1"


WRITTEN = "file.managed name: /f, content: \"[s]\\no = yes\\n\""
EDITS = {
    "an option": ("ini.option name: /f, section: s, option: a, value: 1", True),
    "an option that is in it": ("ini.option name: /f, section: s, option: o, value: yes", False),
    "a line": ("file.line name: /f, line: b", True),
    "a line that is in it": ("file.line name: /f, line: o = yes", False),
    "a line that is removed": ("file.line name: /f, line: o = yes, state: absent", True),
    "a line that is not in it": ("file.line name: /f, line: b, state: absent", False),
    "a block": ("file.block name: /f, content: b", True),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_a_file_that_another_step_writes_is_a_warning(eden, tmp_path, name):
    edit, warned = EDITS[name]
    for steps in (pair(WRITTEN, edit), pair(edit, WRITTEN)):
        (tmp_path / "steps.yaml").write_text("steps:\n" + steps)
        done = eden("validate", tmp_path / "steps.yaml")
        assert done.returncode == 0, done.stderr
        assert ("warning[E0407]" in done.stderr) == warned, done.stderr
        assert ("undo each other's change" in done.stderr) == warned, done.stderr


@pytest.mark.parametrize(
    "how", ["onfail: [{step: c}]", "onchanges: [{step: c}]", "conditions: {when: {condition: 1 > 2}}"]
)
def test_possible_alternatives_are_not_compared(output, how):
    code, out = output(
        "- {name: c, test.ok: {}}\n- {name: a, file.managed: {name: /f, content: x}}\n"
        f"- {{name: b, file.managed: {{name: /f, content: y}}, {how}}}\n"
    )
    assert code == 0, out


TEMPLATES = (
    "- {name: a, file.managed: {name: /f, template: t, context: {x: 1}}}\n"
    "- {name: b, file.managed: {name: /f, template: t, context: {x: TWO}}}\n"
)


@pytest.mark.parametrize("verb", ["plan", "apply"])
def test_template_results_are_compared_when_known(output, verb):
    code, out = output(TEMPLATES.replace("TWO", "2"), verb, templates__t="{{ x }}")
    assert code == 1
    a, b = out["steps"]
    assert (a["result"], b["result"]) == ("changed", "failed")
    assert b["error"]["code"] == "E0407" and b["error"]["line"] == 3
    assert "cannot have a different content here than in step 'web#a'" in b["error"]["message"]


def test_templates_with_equal_results_are_accepted(output):
    assert output(TEMPLATES.replace("TWO", "1"), templates__t="{{ x }}")[0] == 0


def test_conditions_that_both_hold_are_compared_in_the_run(output):
    steps = "".join(
        f"- {{name: {name}, file.managed: {{name: /f, content: {name}}},"
        " conditions: {when: {condition: 1 < 2}}}\n"
        for name in "ab"
    )
    code, out = output(steps)
    assert code == 1 and [step["result"] for step in out["steps"]] == ["changed", "failed"]


def test_jobs_for_different_nodes_are_not_compared_without_a_node(eden, tmp_path):
    (tmp_path / "site/jobs").mkdir(parents=True)
    (tmp_path / "site/jobs/base.yaml").write_text(
        "jobs: {role=web: [{name: web}], role=db: [{name: db}]}\n"
    )
    for job in ("web", "db"):
        (tmp_path / f"site/jobs/{job}.yaml").write_text(
            f"steps:\n- {{name: motd, file.managed: {{name: /etc/motd, content: {job}}}}}\n"
        )
    done = eden("validate", "site")
    assert done.returncode == 0, done.stderr
    (tmp_path / "site/jobs/web.yaml").write_text(pair(
        "file.managed name: /f, content: x", "file.managed name: /f, content: y"
    ).replace("- {name: a", "steps:\n- {name: a", 1))  # fmt: skip
    done = eden("validate", "site")
    assert done.returncode == 1 and "E0407" in done.stderr


def test_contradictions_are_reported_along_with_other_errors(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text(
        "steps:\n"
        "- {name: a, file.managed: {name: /f, content: x}}\n"
        "- {name: b, file.managed: {name: /f, content: y}}\n"
        "- {name: c, cron.present: {name: j, cmd: x, minute: 61}}\n"
        "- {name: d, cmd.run: {cmd: x}, require: [{step: nobody}]}\n"
    )
    done = eden("validate", "steps.yaml", "-o", "json")
    found = sorted((p["code"], p["line"]) for p in json.loads(done.stdout)["problems"])
    assert found == [("E0308", 4), ("E0401", 5), ("E0407", 3)]


def test_steps_whose_alternative_is_misspelled_are_not_compared(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text(
        "steps:\n"
        "- {name: a, file.managed: {name: /f, content: x}}\n"
        "- {name: b, file.managed: {name: /f, content: y}, onfail: [{step: nobody}]}\n"
    )
    done = eden("validate", "steps.yaml", "-o", "json")
    assert [p["code"] for p in json.loads(done.stdout)["problems"]] == ["E0401"]


INSTANCES = {
    "packages": ("pkg.installed: {name: '{{ item }}'}", "forEach: [a, b]", "pkg.removed: {name: b}", "'absent'"),
    "keys of a map": ("file.managed: {name: '/{{ item.key }}'}", "forEach: {a: 1}", "file.absent: {name: /a}",
                      "'absent'"),
    "elements of maps": ("user.present: {name: '{{ item.name }}'}", "forEach: [{name: u}, {name: v}]",
                         "user.absent: {name: v}", "'absent'"),
}  # fmt: skip


@pytest.mark.parametrize("name", INSTANCES)
def test_instances_are_compared_without_a_node(eden, tmp_path, name):
    first, each, second, what = INSTANCES[name]
    (tmp_path / "steps.yaml").write_text(
        f"steps:\n- name: a\n  {first}\n  {each}\n- name: b\n  {second}\n"
    )
    done = eden("validate", "steps.yaml", "-o", "json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["code"] == "E0407" and problem["line"] == 6 and what in problem["message"]


def test_instances_of_one_step_are_compared(eden, tmp_path):
    text = "steps: [{name: a, user.present: {name: '{{ item }}', uid: 7}, forEach: [u, v]}]\n"
    (tmp_path / "steps.yaml").write_text(text)
    done = eden("validate", "steps.yaml")
    assert "error[E0407]: uid '7' cannot have a different user here" in done.stderr
    (tmp_path / "steps.yaml").write_text(text.replace("'{{ item }}'", "'{{ item ~ vars.x }}'"))
    assert eden("validate", "steps.yaml").returncode == 0


def test_invalid_ids_of_instances_are_reported_without_a_node(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text(
        "steps: [{name: a, user.present: {name: '{{ item }}'}, forEach: [u, 'v w']}]\n"
    )
    done = eden("validate", "steps.yaml")
    assert "error[E0308]: 'v w' is not a valid name for a user" in done.stderr
