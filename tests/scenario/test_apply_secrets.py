"""Secrets reach their destinations, and appear in no output or record."""

import json
import subprocess

import pytest

SECRET = "hunter2000"


def test_only_later_steps_receive_the_secret(eden, tmp_path):
    target = tmp_path / "target"
    (tmp_path / "vars.yaml").write_text(f"password: !secret {SECRET}\n")
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [
        {"name": "token", "cmd.run": [{"cmd": ["echo", "token-{{ vars.password }}"]}]},
        {"name": "use", "file.managed": [
            {"name": str(target)}, {"content": "{{ steps['token'].RawStdOut }}"}]},
        {"name": "look", "file.contents": [{"name": str(target)}]},
        {"name": "fail", "cmd.run": [
            {"cmd": "echo {{ steps['token'].stdout }} >&2; false"}]},
    ]}))
    for output in ("json", "text"):
        target.unlink(missing_ok=True)
        done = eden("apply", "steps.yaml", "-v", "vars.yaml", "--state-dir", "state",
                    "--config-dir", "etc", "-o", output, "--progress", "plain", "--verbose")
        assert done.returncode == 1, done.stderr
        assert target.read_text() == f"token-{SECRET}\n"
        assert SECRET not in done.stdout + done.stderr
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        if path.parent.name != "keep":  # the previous content, readable only by its owner
            assert SECRET.encode() not in path.read_bytes(), path
        assert path.stat().st_mode & 0o077 == 0


def site(tmp_path, *steps):
    (tmp_path / "vars.yaml").write_text(
        f"password: !secret {SECRET}\nlist: !secret [{SECRET}1, {SECRET}2]\n"
        f"users: {{ann: !secret {SECRET}}}\n"
    )
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": steps}))
    (tmp_path / "root").mkdir(exist_ok=True)
    return ["steps.yaml", "-v", "vars.yaml", "--root", "root", "--state-dir", "state",
            "--config-dir", "etc"]  # fmt: skip


def check_no_output_contains(done, tmp_path):
    assert SECRET not in done.stdout + done.stderr
    for path in (tmp_path / "state").rglob("*"):
        if path.is_file() and path.parent.name != "keep":
            assert SECRET.encode() not in path.read_bytes(), path


def test_secret_items_of_for_each_appear_in_no_name(eden, tmp_path):
    args = site(
        tmp_path,
        {"name": "listed", "forEach": "{{ vars.list | reverse }}", "file.managed": [
            {"name": "/listed"}, {"content": "{{ item }}"}, {"replace": False}]},
        {"name": "mapped", "forEach": "{{ vars.users }}", "file.managed": [
            {"name": "/{{ item.key }}"}, {"content": "{{ item.value }}"}]},
    )  # fmt: skip
    for output in ("json", "text"):
        done = eden("apply", *args, "-o", output, "--verbose")
        assert done.returncode == 0, done.stderr
        check_no_output_contains(done, tmp_path)
    assert "listed[0]" in done.stdout and "mapped[ann]" in done.stdout
    assert (tmp_path / "root" / "ann").read_text() == SECRET
    done = eden("graph", *args, "-o", "json")
    check_no_output_contains(done, tmp_path)


@pytest.mark.parametrize("items", [["a"], ["a", "b"]])
def test_values_derived_from_secret_output_stay_secret(eden, tmp_path, items):
    args = site(
        tmp_path,
        {"name": "each", "forEach": items, "test.step": [{"stdout": "{{ vars.password }}"}]},
        {"name": "use", "file.managed": [
            {"name": "/f"}, {"content": "{{ steps['each'].StdOut | upper }}"}]},
    )  # fmt: skip
    done = eden("apply", *args)
    assert (tmp_path / "root" / "f").read_text() == len(items) * SECRET.upper()
    assert SECRET.upper() not in done.stdout and "changed (secret)" in done.stdout


def test_errors_before_the_run_show_no_secret(eden, tmp_path):
    for param in ("source", "template"):
        args = site(tmp_path, {"name": "f", "file.managed": [
            {"name": "/f"}, {param: "{{ vars.password }}"}]})  # fmt: skip
        done = eden("plan", *args)
        assert done.returncode == 1 and "(secret)" in done.stderr
        check_no_output_contains(done, tmp_path)
    args = site(tmp_path, {"name": "a", "test.ok": []}, {
        "name": "f", "require": [{"step": "a"}],
        "file.managed": [{"name": "/f"}, {"content": "{{ steps[vars.password].StdOut }}"}]})  # fmt: skip
    for command in ("plan", "apply"):
        done = eden(command, *args)
        assert done.returncode == 1 and "no step named '...' in this run" in done.stdout + done.stderr
        check_no_output_contains(done, tmp_path)


def test_a_saved_plan_is_private_and_detects_changed_secrets(eden, tmp_path):
    args = site(tmp_path, {"name": "f", "file.managed": [
        {"name": "/f"}, {"content": "{{ vars.password }}"}]})  # fmt: skip
    target, plan, variables = tmp_path / "root" / "f", tmp_path / "a.plan", tmp_path / "vars.yaml"
    target.write_text("one")
    assert eden("plan", *args, "--out", plan).returncode == 0
    assert SECRET not in plan.read_text()
    assert plan.stat().st_mode & 0o777 == 0o600
    target.write_text("two")
    assert eden("apply", plan).returncode == 5
    target.write_text("one")
    variables.write_text(variables.read_text().replace(SECRET, SECRET[::-1]))
    assert eden("apply", plan).returncode == 5
    variables.write_text(variables.read_text().replace(SECRET[::-1], SECRET))
    assert eden("apply", plan).returncode == 0
    assert target.read_text() == SECRET


@pytest.mark.parametrize("mark, given", [
    ("pw: !secret first-layer", ["-D", f"pw={SECRET}"]),
    ("pw: !secret first-layer", ["-D", f'pw:="{SECRET}"']),
    ("pw: !secret first-layer", ["-v", "more.yaml"]),
    ("pw: !secret {}", ["-v", "more.yaml"]),
])
def test_overriding_a_secret_keeps_its_mark(eden, tmp_path, mark, given):
    args = site(tmp_path, {"name": "f", "file.managed": [
        {"name": "/f"}, {"content": "x {{ vars.pw }} y"}]})  # fmt: skip
    (tmp_path / "vars.yaml").write_text(mark + "\n")
    (tmp_path / "more.yaml").write_text(f"pw: {SECRET}\n")
    for command in ("plan", "apply"):
        done = eden(command, *args, *given)
        assert done.returncode == 0, done.stderr
        assert "changed (secret)" in done.stdout
        check_no_output_contains(done, tmp_path)
    target = tmp_path / "root" / "f"
    assert target.read_text() == f"x {SECRET} y"
    assert target.stat().st_mode & 0o777 == 0o600
    done = eden("plan", *args, "-D", f"pw:={SECRET}")
    assert done.returncode == 1 and "is not JSON; it is secret" in done.stderr
    check_no_output_contains(done, tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "base.yaml").write_text("jobs: {}\n")
    for verb in (["list"], ["get", "pw"], ["why", "pw"]):
        done = eden("vars", *verb, ".", *args[1:3], *given)
        assert done.returncode == 0, done.stderr
        check_no_output_contains(done, tmp_path)


def results(done):
    return {step["name"]: step for step in json.loads(done.stdout)["steps"]}


def test_output_of_a_secret_step_is_hidden_but_usable(eden, tmp_path):
    target = tmp_path / "token"
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [
        {"name": "token", "secret": True, "cmd.run": [{"cmd": "echo ab''cd-token; echo xy >&2"}]},
        {"name": "fails", "secret": True, "cmd.run": [{"cmd": "echo ab''cd-why >&2; exit 3"}]},
        {"name": "use", "file.managed": [
            {"name": str(target)}, {"content": "t={{ steps['token'].StdOut }}"}]},
        {"name": "print", "cmd.run": [{"cmd": "cat " + str(target)}], "require": [{"step": "use"}]},
        {"name": "twist", "cmd.run": [{"cmd": "echo {{ steps['token'].StdOut | reverse }}; exit 4"}]},
    ]}))  # fmt: skip
    args = ["apply", "steps.yaml", "--state-dir", "state", "--config-dir", "etc"]
    done = eden(*args, "-o", "json")
    assert done.returncode == 1, done.stderr
    steps = results(done)
    assert steps["token"]["stdout"] == steps["token"]["stderr"] == "(secret)\n"
    assert steps["fails"]["error"]["message"] == "exited with 3; its output is secret"
    assert "changed (secret)" in steps["use"]["diff"]
    assert steps["print"]["stdout"] == "t=(secret)"
    assert steps["twist"]["stdout"] == "(secret)\n"
    assert target.read_text() == "t=abcd-token"
    assert target.stat().st_mode & 0o777 == 0o600
    texts = [done.stdout, done.stderr, eden(*args, "--verbose", "--progress", "plain").stdout]
    texts += [eden("why", name, "--state-dir", "state").stdout for name in steps]
    texts += [path.read_text() for path in (tmp_path / "state/runs").iterdir()]
    for text in texts:
        assert not any(part in text for part in ("abcd-", "nekot-dcba", "xy\n")), text


@pytest.mark.parametrize("before", [0, 1, 110, 120, 124])
def test_truncated_output_shows_no_prefix_of_a_secret(eden, tmp_path, before):
    (tmp_path / "vars.yaml").write_text("pw: !secret s3cr3t-hunter2\n")
    command = ["sh", "-c", f"printf '%{before}s%s' '' $PW", "-"]
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [
        {"name": "print", "cmd.run": {"cmd": command, "env": {"PW": "{{ vars.pw }}"},
                                      "output_limit": 10}},
    ]}))  # fmt: skip
    done = eden("apply", "steps.yaml", "-v", "vars.yaml", "--state-dir", "state", "-o", "json")
    assert done.returncode == 0, done.stdout
    assert results(done)["print"]["stdout"] == " " * before + "(secret)"


def test_a_message_does_not_cut_a_secret(eden, tmp_path):
    """Less than half of a secret is not recognized."""
    (tmp_path / "vars.yaml").write_text("pw: !secret c4n4ry-hunter2-0123456789-abcdefghij-klmnopqrst-uvwxyz\n")
    (tmp_path / "root").mkdir()
    long = "{{ 'a' * 80 }}{{ vars.pw }}{{ 'b' * 5000 }}"
    steps = [{"file.symlink": {"name": "/link", "target": long}},
             {"file.managed": {"name": "/" + long, "content": "x"}},
             {"git.cloned": {"name": "/clone", "repo": "/repo", "rev": long}}]
    steps = [{"name": f"step {i}", **step} for i, step in enumerate(steps)]
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": steps}))
    done = eden("apply", "steps.yaml", "--root", "root", "--state-dir", "state", "-v", "vars.yaml")
    assert done.returncode == 1 and done.stdout.count("bytes long; the maximum is") == 3, done.stdout
    assert "c4n4ry" not in done.stdout + done.stderr


def test_the_filter_marks_a_value(eden, tmp_path):
    args = site(tmp_path, {"name": "f", "file.managed": [
        {"name": "/f"}, {"content": "x {{ ['hunter', '2000'] | join | secret }} y"}]})  # fmt: skip
    done = eden("apply", *args)
    assert done.returncode == 0, done.stderr
    assert "changed (secret)" in done.stdout
    check_no_output_contains(done, tmp_path)
    assert (tmp_path / "root" / "f").stat().st_mode & 0o777 == 0o600


def test_a_macro_can_return_a_secret(eden, tmp_path):
    for folder in ("jobs", "macros", "root"):
        (tmp_path / "site" / folder).mkdir(parents=True)
    (tmp_path / "site/jobs/base.yaml").write_text("jobs: {'*': [{name: one}]}\n")
    (tmp_path / "site/macros/base.yaml").write_text("macros: {'*': [{name: all}]}\n")
    (tmp_path / "site/macros/all.yaml").write_text(
        "key: {secret: true, expression: \"['hunter', '2000'] | join\"}\n"
    )
    (tmp_path / "site/jobs/one.yaml").write_text(json.dumps({"steps": [
        {"name": "f", "file.managed": [{"name": "/f"}, {"content": "{{ macros['key'] }}"}]}]}))
    args = ["site", "--root", "site/root", "--state-dir", "state", "--config-dir", "etc"]
    done = eden("apply", *args)
    assert done.returncode == 0, done.stderr
    assert "changed (secret)" in done.stdout
    check_no_output_contains(done, tmp_path)
    (tmp_path / "site/macros/all.yaml").write_text("key: {secret: maybe, expression: 1}\n")
    done = eden("validate", "site")
    assert done.returncode == 1 and "must be true or false" in done.stderr


def test_a_repository_file_with_a_password_is_private(eden, tmp_path):
    args = site(tmp_path, {"name": "r", "pkgrepo.managed": {
        "name": "shop", "provider": "apt", "suites": "x", "components": "main", "trusted": True,
        "uris": "https://me:{{ vars.password }}@example.org/debian"}})  # fmt: skip
    source = tmp_path / "root/etc/apt/sources.list.d/shop.sources"
    source.parent.mkdir(parents=True)
    source.write_text("Types: deb\n")
    source.chmod(0o644)
    done = eden("apply", *args)
    assert done.returncode == 0, done.stdout
    assert SECRET in source.read_text() and source.stat().st_mode & 0o777 == 0o640
    check_no_output_contains(done, tmp_path)
    assert "1 ok" in eden("apply", *args).stdout


def test_a_step_can_be_marked_secret(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text("steps:\n  - {name: a, secret: perhaps, test.ok: []}\n")
    done = eden("validate", "steps.yaml")
    assert done.returncode == 1 and "'secret' must be true or false" in done.stderr


@pytest.mark.parametrize("given", ["sops -d vars.yaml | EDEN -v -", "EDEN -v <(sops -d vars.yaml)"])
def test_secrets_can_be_read_from_a_pipe(eden_path, eden, tmp_path, given):
    args = site(tmp_path, {"name": "f", "file.managed": [
        {"name": "/f"}, {"content": "{{ vars.password }}"}]})  # fmt: skip
    line = " ".join([eden_path, "apply", *args[:1], *args[3:]])
    done = subprocess.run(["bash", "-c", "sops() { cat vars.yaml; }; " + given.replace("EDEN", line)],
                          cwd=tmp_path, capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    check_no_output_contains(done, tmp_path)
    assert (tmp_path / "root" / "f").read_text() == SECRET
