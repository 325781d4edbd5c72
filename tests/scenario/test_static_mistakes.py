"""Errors in a parameter that do not depend on the machine are reported before anything is touched.
"""

import json

import pytest

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJKZlXOpWZBBwUaMBHyTf8hmXaGZ8nWQk2v5Yv0hQ2bL app"

MISTAKES = {
    "a plain-text password": ("user.present: {name: a, password: hunter2}", "password"),
    "an empty password": ("user.present: {name: a, password: ''}", "password"),
    "a name that no user can have": ("user.present: {name: 'a:b'}", "name"),
    "minute 61": ("cron.present: {name: j, cmd: x, minute: 61}", "minute"),
    "hour 24": ("cron.present: {name: j, cmd: x, hour: '1,24'}", "hour"),
    "weekday": ("cron.present: {name: j, cmd: x, weekday: someday}", "weekday"),
    "a job that cron ignores": ("cron.present: {name: a.b, cmd: x}", "name"),
    "a broken key": ("ssh.authorized_key: {user: a, key: ssh-ed25519 AAAAbroken}", "key"),
    "half a key": (f"ssh.authorized_key: {{user: a, key: '{KEY[:40]}'}}", "key"),
    "a private key": (
        "ssh.authorized_key: {user: a, key: '-----BEGIN OPENSSH PRIVATE KEY----- x'}", "key"),
    "an address of a host": ("host.entry: {name: db, address: 192.0.2.300}", "address"),
    "a name of a host": ("host.entry: {address: 192.0.2.3, name: 'a b'}", "name"),
    "an alias of a host": ("host.entry: {name: db, address: 192.0.2.3, aliases: ['a/b']}", "aliases"),
    "a port": ("net.wait_for: {port: 70000}", "port"),
    "a port of a known host": (f"ssh.known_host: {{name: h, key: '{KEY[:80]}', port: 0}}", "port"),
    "a number of a group": ("group.present: {name: a, gid: -1}", "gid"),
    "a name of a group": ("group.present: {name: 'a b'}", "name"),
    "a number of a user": ("user.present: {name: a, uid: 4294967296}", "uid"),
    "a name of the machine": ("hostname.set: {name: web_1}", "name"),
    "a limit": ("limits.present: {domain: a, type: soft, item: nofile, value: many}", "value"),
    "a locale": ("locale.present: {name: 'de DE'}", "name"),
    "a setting": ("sysctl.present: {value: 1, name: vm..swappiness}", "name"),
    "a module of the kernel": ("kmod.loaded: {name: 'a b'}", "name"),
    "a time zone": ("timezone.set: {name: /Europe/Berlin}", "name"),
    "an address of a download": (
        f"http.download: {{name: /f, digest: 'sha256:{64 * '0'}', url: ftp://x/}}", "url"),
    "a symlink in place of the root": ("file.symlink: {target: x, force: true, name: /}", "name"),
    "a digest": ("http.download: {name: /f, url: 'https://x/', digest: 'md5:0'}", "digest"),
    "a line": ("file.line: {name: /f, line: \"a\\nb\"}", "line"),
    "a pattern": ("file.line: {name: /f, line: a, match: '('}", "match"),
    "a path of JSON": ("json.value: {name: /f, value: 1, path: a..b}", "path"),
    "a size of swap": ("swap.on: {name: /swap, size: 0}", "size"),
    "a user of a key": (f"ssh.authorized_key: {{key: '{KEY}', user: 'a:b'}}", "user"),
    "a user of a job": ("cron.present: {name: j, cmd: x, user: 'a b'}", "user"),
    "lines of a job": ("cron.present: {name: j, cmd: \"a\\nb\"}", "cmd"),
    "the environment of a job": ("cron.present: {name: j, cmd: x, env: {'A B': c}}", "env"),
    "a repository": ("git.cloned: {name: /c, repo: 'x y'}", "repo"),
    "a revision": ("git.cloned: {name: /c, repo: 'https://x/', rev: 'a..b'}", "rev"),
    "a digest of an archive": (
        "archive.extracted: {name: /c, source: /x.tar, digest: 'sha256:0'}", "digest"),
    "directories to strip": ("archive.extracted: {name: /c, source: /x.tar, strip: -1}", "strip"),
    "a name of a repository": (
        "pkgrepo.managed: {uris: ['http://a/'], suites: [x], name: 'r/x'}", "name"),
    "a key of a repository": (
        "pkgrepo.managed: {name: r, uris: ['http://a/'], suites: [x], key: nonsense}", "key"),
    "a package": ("pkg.installed: {name: 'a b'}", "name"),
    "an option for a package": ("pkg.removed: {name: '-y'}", "name"),
    "packages": ("pkg.latest: {pkgs: [vim, 'a,b']}", "pkgs"),
    "a unit": ("service.unit: {content: x, name: a/b}", "name"),
    "a drop-in": ("service.unit: {name: a, content: x, dropin: x/y}", "dropin"),
    "a marker": ("file.block: {name: /f, content: x, marker: '# none'}", "marker"),
    "a target": ("file.symlink: {name: /f, target: ''}", "target"),
    "the root directory": ("file.absent: {name: /}", "name"),
    "an empty command": ("cmd.run: {cmd: ''}", "cmd"),
    "exit codes": ("cmd.run: {cmd: x, success_codes: [0, many]}", "success_codes"),
    "a name of a member": ("group.present: {name: a, members: ['b c']}", "members"),
    "a group that is absent": ("group.absent: {name: 'a b'}", "name"),
    "a full name": ("user.present: {name: a, fullname: 'a:b'}", "fullname"),
    "a group of a user": ("user.present: {name: a, groups: ['b c']}", "groups"),
    "options of a mount": (
        "mount.mounted: {name: /m, device: /d, type: ext4, options: 'a b'}", "options"),
    "options of swap": ("swap.on: {name: /s, options: 'a b'}", "options"),
    "a broken key of a host": ("ssh.known_host: {name: h, key: ssh-rsa AAAA}", "key"),
}  # fmt: skip


@pytest.mark.parametrize("verb", ["validate", "apply"])
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_reported_at_load(eden, tmp_path, verb, name):
    step, param = MISTAKES[name]
    text = f"steps:\n- name: one\n  {step}\n"
    (tmp_path / "steps.yaml").write_text(text)
    (tmp_path / "root").mkdir()
    options = () if verb == "validate" else ("--root", "root", "--config-dir", "none")
    done = eden(verb, "steps.yaml", "-o", "json", *options)
    assert done.returncode == 1, done.stdout
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["code"] == "E0308"
    assert problem["line"] == 3
    assert text.splitlines()[2][: problem["column"] - 1].rstrip("'\"").endswith(f"{param}: ")
    assert "hunter2" not in problem["message"]
    assert list((tmp_path / "root").iterdir()) == []


@pytest.mark.parametrize(
    "step",
    [
        "user.present: {name: a, password: '$6$abc$def'}",
        "user.present: {name: a, password: '!'}",
        "cron.present: {name: j, cmd: x, minute: '*/5', weekday: mon-fri}",
        f"ssh.authorized_key: {{user: a, key: '{KEY}'}}",
        f"ssh.authorized_key: {{user: a, key: {KEY.split()[1]}, type: ssh-ed25519}}",
        "user.present: {name: a, password: '{{ vars.hash }}'}",
        "host.entry: {name: db, address: '{{ vars.address }}'}",
        "host.entry: {name: db, state: absent}",
        "file.line: {name: /f, line: '{{ vars.line }}'}",
        "ini.option: {name: /f, option: o, value: '{{ vars.value }}'}",
        "json.value: {name: /f, path: a, value: '{{ vars.value }}'}",
        "service.ensure: {name: '{{ vars.unit }}', state: started}",
        "net.wait_for: {port: '{{ vars.port }}'}",
        "http.download: {name: /f, url: 'https://x/', digest: '{{ vars.digest }}'}",
        "pkg.installed: {name: '{{ vars.package }}'}",
        "cmd.run: {cmd: '{{ vars.command }}'}",
        "ssh.known_host: {name: h, key: '{{ vars.key }}'}",
        "ansible.playbook: {playbook: '{{ vars.playbook }}'}",
    ],
)
def test_correct_or_unknown_values_pass(eden, tmp_path, step):
    (tmp_path / "steps.yaml").write_text(f"steps:\n- name: one\n  {step}\n")
    done = eden("validate", "steps.yaml")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "step, output",
    [
        ("ini.option: {name: /f, option: o}", "'value' is required"),
        ("host.entry: {name: db}", "'address' is required"),
        ("file.line: {name: /f}", "'line' is required"),
        ("service.ensure: {name: a, state: started, masked: true}", "a masked unit cannot be started"),
        ("net.wait_for: {port: 80, state: closed, status: 200}", "'status' requires 'state: open'"),
        ("ssh.known_host: {name: h}", "'key' is required"),
        ("http.download: {name: /f, url: 'https://x/'}", "exactly one of 'digest'"),
        ("http.download: {name: /f, url: 'http://x/', pin: true}", "'pin' requires an https"),
        ("http.download: {name: /f, url: 'https://x:99999/', pin: true}", "the port in 'url' must be from 1"),
        ("ansible.playbook: {}", "one of 'playbook', 'source' and 'content' is required"),
        ("puppet.apply: {manifest: /a, code: b}", "mutually exclusive"),
        ("cmd.script: {}", "one of 'source', 'template' and 'content' is required"),
        ("service.unit: {name: a}", "one of 'content', 'template' and 'source' is required"),
        ("cron.present: {name: j, cmd: x, every: daily, minute: 1}", "'every' and 'minute'"),
        ("git.cloned: {name: /c, repo: 'https://x/', password: y}", "must be set together"),
        ("pkg.installed: {}", "'name' or 'pkgs' is required"),
        ("pkg.removed: {name: a, pkgs: [b]}", "'name' and 'pkgs' are mutually exclusive"),
        ("pkgrepo.managed: {name: r, uris: ['http://a/'], suites: [x], trusted: true, key: x}",
         "a trusted repository does not need a key"),
        ("firewall.rules: {table: inet a, rules: [{accept: {port: 70000}}]}", "70000"),
    ],
)
def test_missing_parameter_combinations_are_reported_at_the_action(eden, tmp_path, step, output):
    (tmp_path / "steps.yaml").write_text(f"steps:\n- name: one\n  {step}\n")
    done = eden("validate", "steps.yaml", "-o", "json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["code"] == "E0308" and output in problem["message"], problem
