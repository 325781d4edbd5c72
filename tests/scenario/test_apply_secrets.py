"""Secrets reach the places that they are for, and nothing that is told or kept."""

import json

import pytest

SECRET = "hunter2000"


def test_later_steps_get_the_secret_and_nobody_else_does(eden, tmp_path):
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
        if path.parent.name != "keep":  # what was there before, for its owner alone
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


def check_nothing_tells(done, tmp_path):
    assert SECRET not in done.stdout + done.stderr
    for path in (tmp_path / "state").rglob("*"):
        if path.is_file() and path.parent.name != "keep":
            assert SECRET.encode() not in path.read_bytes(), path


def test_items_of_foreach_that_are_secret_are_in_no_name(eden, tmp_path):
    args = site(
        tmp_path,
        {"name": "listed", "forEach": "{{ vars.list | reverse }}", "file.managed": [
            {"name": "/listed"}, {"content": "{{ item }}"}]},
        {"name": "mapped", "forEach": "{{ vars.users }}", "file.managed": [
            {"name": "/{{ item.key }}"}, {"content": "{{ item.value }}"}]},
    )  # fmt: skip
    for output in ("json", "text"):
        done = eden("apply", *args, "-o", output, "--verbose")
        assert done.returncode == 0, done.stderr
        check_nothing_tells(done, tmp_path)
    assert "listed[0]" in done.stdout and "mapped[ann]" in done.stdout
    assert (tmp_path / "root" / "ann").read_text() == SECRET
    done = eden("graph", *args, "-o", "json")
    check_nothing_tells(done, tmp_path)


@pytest.mark.parametrize("items", [["a"], ["a", "b"]])
def test_what_is_made_of_outputs_stays_secret(eden, tmp_path, items):
    args = site(
        tmp_path,
        {"name": "each", "forEach": items, "test.step": [{"stdout": "{{ vars.password }}"}]},
        {"name": "use", "file.managed": [
            {"name": "/f"}, {"content": "{{ steps['each'].StdOut | upper }}"}]},
    )  # fmt: skip
    done = eden("apply", *args)
    assert (tmp_path / "root" / "f").read_text() == len(items) * SECRET.upper()
    assert SECRET.upper() not in done.stdout and "changed (secret)" in done.stdout


def test_errors_before_the_run_tell_no_secret(eden, tmp_path):
    for param in ("source", "template"):
        args = site(tmp_path, {"name": "f", "file.managed": [
            {"name": "/f"}, {param: "{{ vars.password }}"}]})  # fmt: skip
        done = eden("plan", *args)
        assert done.returncode == 1 and "(secret)" in done.stderr
        check_nothing_tells(done, tmp_path)
    args = site(tmp_path, {"name": "a", "test.ok": []}, {
        "name": "f", "require": [{"step": "a"}],
        "file.managed": [{"name": "/f"}, {"content": "{{ steps[vars.password].StdOut }}"}]})  # fmt: skip
    for command in ("plan", "apply"):
        done = eden(command, *args)
        assert done.returncode == 1 and "there is no step '...'" in done.stdout + done.stderr
        check_nothing_tells(done, tmp_path)


def test_a_saved_plan_is_for_its_owner_and_notices_secrets_that_move(eden, tmp_path):
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
def test_a_layer_that_overrides_a_secret_keeps_its_mark(eden, tmp_path, mark, given):
    args = site(tmp_path, {"name": "f", "file.managed": [
        {"name": "/f"}, {"content": "x {{ vars.pw }} y"}]})  # fmt: skip
    (tmp_path / "vars.yaml").write_text(mark + "\n")
    (tmp_path / "more.yaml").write_text(f"pw: {SECRET}\n")
    for command in ("plan", "apply"):
        done = eden(command, *args, *given)
        assert done.returncode == 0, done.stderr
        assert "changed (secret)" in done.stdout
        check_nothing_tells(done, tmp_path)
    target = tmp_path / "root" / "f"
    assert target.read_text() == f"x {SECRET} y"
    assert target.stat().st_mode & 0o777 == 0o600
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "base.yaml").write_text("jobs: {}\n")
    for verb in (["list"], ["get", "pw"], ["why", "pw"]):
        done = eden("vars", *verb, ".", *args[1:3], *given)
        assert done.returncode == 0, done.stderr
        check_nothing_tells(done, tmp_path)
