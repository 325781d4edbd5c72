"""What is wrong with a parameter whatever the machine is like is told before anything is touched."""

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
    "a broken key of a host": ("ssh.known_host: {name: h, key: ssh-rsa AAAA}", "key"),
}  # fmt: skip


@pytest.mark.parametrize("verb", ["validate", "apply"])
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_at_load(eden, tmp_path, verb, name):
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
    assert text.splitlines()[2][: problem["column"] - 1].rstrip("'").endswith(f"{param}: ")
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
    ],
)
def test_what_is_right_or_not_known_passes(eden, tmp_path, step):
    (tmp_path / "steps.yaml").write_text(f"steps:\n- name: one\n  {step}\n")
    done = eden("validate", "steps.yaml")
    assert done.returncode == 0, done.stderr
