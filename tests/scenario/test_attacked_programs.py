"""What programs of other users get from root, what a killed run leaves to them, and limits that the
caller set."""

import glob
import json
import os
import resource
import subprocess

from events import wait_until

SOMEBODY = 12345


def make_site(folder, steps, **files):
    (folder / "site/jobs").mkdir(parents=True)
    (folder / "site/files").mkdir()
    (folder / "site/jobs/base.yaml").write_text("jobs: {'*': [{name: a}]}\n")
    (folder / "site/jobs/a.yaml").write_text("steps:\n" + steps)
    for name, text in files.items():
        (folder / "site/files" / name).write_text(text)
    return folder / "site"


def test_another_user_does_not_get_the_environment_of_root(eden, tmp_path):
    """Tokens and passwords are often in there: for sops, for a cloud, for the API of a cluster."""
    site = make_site(tmp_path, f"""\
- name: other
  cmd.run: [{{cmd: env}}, {{user: "{SOMEBODY}"}}, {{env: {{GIVEN: "yes"}}}}]
- name: script
  cmd.script: [{{source: show}}, {{user: "{SOMEBODY}"}}]
- name: guard
  cmd.run: [{{cmd: "true"}}, {{unless: 'test -n "$EDEN_TOKEN"'}}, {{user: "{SOMEBODY}"}}]
- name: root
  cmd.run: [{{cmd: env}}]
""", show="#!/bin/sh\nenv\n")
    harmless = {"LANG": "C.UTF-8", "TZ": "UTC", "https_proxy": "http://proxy:3128", "NO_PROXY": "x"}
    secret = {"EDEN_TOKEN": "eden_x_y", "SOPS_AGE_KEY": "AGE-1", "SSH_AUTH_SOCK": "/tmp/agent"}
    done = eden("apply", site, "--state-dir", tmp_path / "state", "-o", "json",
                env={**harmless, **secret})
    assert done.returncode == 0, done.stdout
    steps = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
    for name in ("other", "script"):
        seen = dict(line.split("=", 1) for line in steps[name]["stdout"].splitlines())
        assert harmless.items() <= seen.items() and seen["PATH"]
        assert not secret.keys() & seen.keys(), name
    assert "GIVEN=yes" in steps["other"]["stdout"]
    assert steps["guard"]["result"] == "changed"
    seen = dict(line.split("=", 1) for line in steps["root"]["stdout"].splitlines())
    assert secret.items() <= seen.items()


def test_the_script_of_a_killed_run_is_removed_by_the_next(eden, eden_path, tmp_path):
    site = make_site(tmp_path, f"""\
- name: script
  cmd.script: [{{source: wait}}, {{user: "{SOMEBODY}"}}]
""", wait="#!/bin/sh\nwhile test -e $0; do sleep 0.1; done\n")
    words = ["apply", site, "--state-dir", tmp_path / "state"]
    with subprocess.Popen([eden_path, *map(str, words)], cwd=tmp_path,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        try:
            left = wait_until(lambda: glob.glob(f"/tmp/.eden-call-{run.pid}-*"), "the script is there")
        finally:
            run.kill()
    assert len(left) == 1 and os.path.exists(left[0])
    (site / "files/wait").write_text("#!/bin/sh\n")
    done = eden(*words)
    assert done.returncode == 0, done.stdout
    assert not os.path.exists(left[0])


def test_a_limit_of_file_sizes_fails_the_step_and_not_the_run(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text("""\
steps:
- name: large
  file.managed: {name: /srv/large, content: "{{ 'x' * 3000000 }}"}
- name: small
  file.managed: {name: /srv/small, content: x}
""")
    (tmp_path / "root").mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        done = eden("apply", "steps.yaml", "--root", "root", "--state-dir", "state", "--diff", "none")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert done.returncode == 1, done.stderr
    assert "File too large" in done.stdout
    assert sorted(os.listdir(tmp_path / "root/srv")) == ["small"]
