"""Secrets reach the places that they are for, and nothing that is told or kept."""

import json

SECRET = "hunter2000"


def test_later_steps_get_the_secret_and_nobody_else_does(eden, tmp_path):
    target = tmp_path / "target"
    (tmp_path / "vars.yaml").write_text(f"password: !secret {SECRET}\n")
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [
        {"name": "token", "cmd.run": [{"cmd": ["echo", "token-{{ vars.password }}"]}]},
        {"name": "use", "file.managed": [
            {"name": str(target)}, {"content": "{{ steps['token'].StdOut }}"}]},
        {"name": "look", "file.contents": [{"name": str(target)}]},
        {"name": "fail", "cmd.run": [
            {"cmd": "echo {{ steps['token'].stdout | trim }} >&2; false"}]},
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
