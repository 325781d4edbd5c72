"""What programs of other users can get from root, what a killed run leaves to them, and resource
limits set by the caller."""

import glob
import json
import os
import pathlib
import resource
import subprocess
import tempfile

import pytest

from events import wait_until

OTHER_USER = 12345


@pytest.fixture
def reachable():
    """A folder that other users can reach."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


def make_site(folder, steps, **files):
    (folder / "site/jobs").mkdir(parents=True)
    (folder / "site/files").mkdir()
    (folder / "site/jobs/base.yaml").write_text("jobs: {'*': [{name: a}]}\n")
    (folder / "site/jobs/a.yaml").write_text("steps:\n" + steps)
    for name, text in files.items():
        (folder / "site/files" / name).write_text(text)
    return folder / "site"


def test_other_users_do_not_inherit_the_environment_of_root(eden, tmp_path):
    """Tokens and passwords are often in the environment: for sops, for a cloud, for the API of a
    cluster.
    """
    site = make_site(tmp_path, f"""\
- name: other
  cmd.run: [{{cmd: env}}, {{user: "{OTHER_USER}"}}, {{env: {{GIVEN: "yes"}}}}]
- name: script
  cmd.script: [{{source: show}}, {{user: "{OTHER_USER}"}}]
- name: guard
  cmd.run: [{{cmd: "true"}}, {{unless: 'test -n "$EDEN_TOKEN"'}}, {{user: "{OTHER_USER}"}}]
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
  cmd.script: [{{source: wait}}, {{user: "{OTHER_USER}"}}]
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


def test_a_file_size_limit_fails_the_step_and_not_the_run(eden, tmp_path):
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


def test_commands_of_root_do_not_start_behind_a_link_of_another_user(eden, reachable):
    """Whatever a command does to the files around it, it would do to those of root."""
    private, theirs = reachable / "private", reachable / "theirs"
    (private / "deep").mkdir(parents=True)
    theirs.mkdir()
    (theirs / "link").symlink_to(private)
    (theirs / "own").mkdir()
    (theirs / "to_own").symlink_to("own")
    for path in (theirs, *theirs.iterdir()):
        os.chown(path, OTHER_USER, OTHER_USER, follow_symlinks=False)
    site = make_site(reachable, f"""\
- name: last
  cmd.run: {{cmd: touch made, cwd: {theirs}/link}}
- name: middle
  cmd.run: {{cmd: touch made, cwd: {theirs}/link/deep}}
- name: guard
  cmd.run: {{cmd: "true", unless: touch made, cwd: {theirs}/link}}
- name: by name
  cmd.run: {{cmd: touch made, cwd: {theirs}/link, user: root}}
- name: script
  cmd.script: {{source: make, cwd: {theirs}/link/deep}}
- name: missing
  cmd.run: {{cmd: touch made, cwd: {theirs}/own/missing, onlyif: "true"}}
- name: own
  cmd.run: {{cmd: pwd, cwd: {theirs}/to_own}}
- name: user
  cmd.run: {{cmd: pwd, cwd: {theirs}/link/deep, user: "{OTHER_USER}"}}
""", make="#!/bin/sh\ntouch made\n")
    for command in ("plan", "apply"):
        done = eden(command, site, "--state-dir", reachable / "state", "-o", "json")
        assert done.returncode == 1, done.stdout
        steps = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
        for name in ("last", "middle", "guard", "by name", "script"):
            assert f"run 'chown -h root {theirs}/link', or run the step as that user" in steps[name]["error"]["message"], (command, name)
        assert "missing" in steps["missing"]["error"]["message"]
        for name in ("own", "user"):
            assert steps[name]["result"] == "changed", (command, steps[name])
    assert steps["own"]["stdout"] == f"{theirs}/own\n"
    assert steps["user"]["stdout"] == f"{private}/deep\n"
    assert list(private.iterdir()) == [private / "deep"] and list((private / "deep").iterdir()) == []


def make_repository(folder):
    def git(*words):
        return subprocess.run(["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=a@b", *words],
                              check=True, capture_output=True, text=True).stdout.strip()
    folder.mkdir()
    git("init", "-q", "--initial-branch=main")
    (folder / "f").write_text("one")
    git("add", "f")
    git("commit", "-qm", "one")
    return git


def test_git_of_root_rejects_directories_that_others_can_replace(eden, reachable):
    """Between two checks by git a clone of root could be replaced by another repository of root."""
    git = make_repository(reachable / "repo")
    home, srv = reachable / "home", reachable / "srv"
    for path in (home, srv):
        path.mkdir()
    git("clone", "-q", ".", str(home / "old"))
    git("clone", "-q", ".", str(srv / "theirs"))
    for path in (home, srv / "theirs"):
        os.chown(path, OTHER_USER, OTHER_USER)
    (reachable / "repo/f").write_text("two")
    git("commit", "-qam", "two")
    site = make_site(reachable, f"""\
- name: new
  git.cloned: {{name: {home}/new, repo: {reachable}/repo}}
- name: old
  git.cloned: {{name: {home}/old, repo: {reachable}/repo, user: root}}
- name: theirs
  git.cloned: {{name: {srv}/theirs, repo: {reachable}/repo, force: true}}
- name: user
  git.cloned: {{name: {home}/deep/by_user, repo: {reachable}/copy, user: "{OTHER_USER}"}}
- name: root
  git.cloned: {{name: {srv}/app, repo: {reachable}/repo}}
""")
    # git refuses to read from a repository of another user.
    git("clone", "-q", ".", str(reachable / "copy"))
    subprocess.run(["chown", "-R", str(OTHER_USER), reachable / "copy"], check=True)
    config = reachable / "gitconfig"
    config.write_text(f"[safe]\n\tdirectory = {srv}/theirs\n")
    (home / "deep").mkdir()
    os.chown(home / "deep", OTHER_USER, OTHER_USER)
    for command in ("plan", "apply"):
        done = eden(command, site, "--state-dir", reachable / "state", "-o", "json",
                    env={"GIT_CONFIG_GLOBAL": str(config)})
        steps = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
        for name, place in (("new", home), ("old", home), ("theirs", srv / "theirs")):
            message = steps[name]["error"]["message"]
            assert f"the directory '{place}' is owned by user '{OTHER_USER}'" in message
            assert "set 'user' to run git as another user" in message
        for name in ("user", "root"):
            assert steps[name]["result"] == "changed", (command, steps[name])
    assert sorted(os.listdir(home)) == ["deep", "old"]
    assert (home / "old/f").read_text() == (srv / "theirs/f").read_text() == "one"
    assert (srv / "app/f").read_text() == (home / "deep/by_user/f").read_text() == "two"
    assert (home / "deep/by_user").stat().st_uid == OTHER_USER


def test_programs_of_root_ignore_settings_in_homes_of_others(eden, reachable):
    """'sudo -E' and others keep HOME: programs read settings there, and run the programs named in
    them.
    """
    make_repository(reachable / "repo")
    make_repository(reachable / "other")
    (reachable / "other/f").write_text("two")
    subprocess.run(["git", "-C", reachable / "other", "-c", "user.name=n", "-c", "user.email=a@b", "commit",
                    "-qam", "two"], check=True)
    homes = {"theirs": OTHER_USER, "own": 0}
    for home, owner in homes.items():
        (reachable / home / "xdg/git").mkdir(parents=True)
        for name in (".gitconfig", "xdg/git/config"):
            (reachable / home / name).write_text(
                f'[url "{reachable}/other"]\n\tinsteadOf = {reachable}/repo\n')
        os.chown(reachable / home, owner, owner)
        site = make_site(reachable / home, f"""\
- name: clone
  git.cloned: {{name: {reachable}/clone-{home}, repo: {reachable}/repo}}
""")
        done = eden("apply", site, "--state-dir", reachable / "state", env={
            "HOME": str(reachable / home), "XDG_CONFIG_HOME": str(reachable / home / "xdg")})
        assert done.returncode == 0, done.stdout
    assert (reachable / "clone-theirs/f").read_text() == "one"
    assert (reachable / "clone-own/f").read_text() == "two", "root's own home is used"
