"""`eden sources sync --no-activate`: a version of a proposed commit, which does not become current."""

import json
import subprocess

import pytest

from git_world import SITE, Repository


class Fleet:
    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, folder
        cluster.start()

    def call(self, *words, code=0):
        done = self.cluster.call(*words, check=False)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done

    def add(self, name, repository, *options):
        self.call("sources", "add", name, repository.url, "--interval", "1d", *options)
        self.call("sources", "sync", name)

    def propose(self, name, *options, code=0):
        done = self.call("sources", "sync", name, "--no-activate", "-o", "json", *options, code=code)
        return json.loads(done.stdout)["status"]["proposal"]

    def current(self):
        return json.loads(self.call("versions", "show", "current", "-o", "json").stdout)

    def version(self, name):
        return json.loads(self.call("versions", "show", name, "-o", "json").stdout)

    def files(self, name):
        listed = json.loads(self.call("api", "GET", f"/v1/versions/{name}/manifest").stdout)["files"]
        return [file["path"] for file in listed]


@pytest.fixture
def fleet(cluster, tmp_path):
    return Fleet(cluster, tmp_path)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "site", SITE)


def branch(repository, name, files):
    """A commit on a branch of its own; the clone is on main again afterwards."""
    repository.git("checkout", "--quiet", "-b", name)
    repository.write(files)
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", f"on {name}")
    repository.git("push", "--quiet", "origin", name)
    commit = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "--quiet", "main")
    return commit


def test_the_newest_commit_of_a_branch_is_proposed(fleet, repository):
    fleet.add("site", repository)
    before = fleet.current()
    commit = branch(repository, "next", {"files/new": "x"})
    done = fleet.call("sources", "sync", "site", "--branch", "next", "--no-activate")
    proposal = json.loads(fleet.call("sources", "show", "site", "-o", "json").stdout)["status"]["proposal"]
    assert done.stdout == f"site commit {commit[:12]} is version {proposal['version']}\n"
    assert f"'eden run --check --version {proposal['version']}'" in done.stderr
    assert (proposal["state"], proposal["commit"], proposal["branch"]) == ("ok", commit, "next")
    version = fleet.version(proposal["version"])
    assert (version["spec"]["commit"], version["spec"]["branch"], version["spec"]["subject"]) == \
        (commit, "next", "on next")
    assert version["status"]["by"] == proposal["by"] and not version["status"]["current"]
    assert fleet.files(proposal["version"]) == sorted([*SITE, "files/new"])
    assert fleet.current() == before
    # The source still follows its own branch.
    newest = repository.commit({"files/main": "y"}, "on main")
    fleet.call("sources", "sync", "site")
    assert fleet.current()["spec"]["commit"] == newest


def test_a_commit_is_proposed_by_its_hash(fleet, repository):
    fleet.add("site", repository)
    before = fleet.current()
    first = branch(repository, "next", {"files/new": "x"})
    branch(repository, "later", {"files/new": "y"})
    proposal = fleet.propose("site", "--commit", first)
    assert (proposal["state"], proposal["commit"]) == ("ok", first)
    again = fleet.propose("site", "--commit", first)
    assert again["version"] == proposal["version"] and again["request"] > proposal["request"]
    own = fleet.propose("site")
    assert own["version"] == before["metadata"]["name"]
    assert fleet.current() == before


def test_a_proposed_commit_that_is_not_a_site_is_rejected(fleet, repository):
    fleet.add("site", repository)
    before = fleet.current()
    commit = branch(repository, "bad", {"jobs/web.yaml": "steps:\n- name: hello\n  cmd.rnu: [{cmd: echo}]\n"})
    done = fleet.call("sources", "sync", "site", "--commit", commit, "--no-activate", code=1)
    assert f"site commit {commit[:12]} is rejected: jobs/web.yaml:3:3" in done.stdout
    branch(repository, "link", {"files/x": "y"})
    (repository.work / "out").symlink_to("/etc")
    repository.git("checkout", "--quiet", "link")
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "link")
    repository.git("push", "--quiet", "origin", "link")
    assert fleet.propose("site", "--branch", "link", code=1)["state"] == "rejected"
    status = json.loads(fleet.call("sources", "show", "site", "-o", "json").stdout)["status"]
    assert status["state"] == "ok" and fleet.current() == before


def test_what_does_not_exist_says_so(fleet, repository):
    fleet.add("site", repository)
    missing = fleet.propose("site", "--commit", "0" * 39 + "1", code=1)
    assert missing["state"] == "failed" and "the repository has no commit 000000000000" in missing["why"]
    missing = fleet.propose("site", "--branch", "nowhere", code=1)
    assert missing["why"] == "the repository has no branch 'nowhere'"
    status = json.loads(fleet.call("sources", "show", "site", "-o", "json").stdout)["status"]
    assert status["state"] == "ok"


@pytest.mark.parametrize("options, text", [
    (["--commit", "4e5a"], "must be the full hash of a commit"),
    (["--commit", "HEAD:refs/heads/main"], "must be the full hash of a commit"),
    (["--commit", "A" * 40], "must be the full hash of a commit"),
    (["--branch=--upload-pack=/bin/sh"], "is not a valid branch name"),
    (["--branch", "a:b"], "is not a valid branch name"),
    (["--branch", "+main"], "the repository has no branch '+main'"),
])
def test_only_full_hashes_and_names_of_branches_are_fetched(fleet, repository, options, text):
    fleet.add("site", repository)
    done = fleet.call("sources", "sync", "site", "--no-activate", *options, code=1)
    assert text in done.stderr + done.stdout


def test_what_becomes_current_is_only_the_branch_of_the_source(fleet, repository):
    fleet.add("site", repository)
    assert "require --no-activate" in fleet.call("sources", "sync", "site", "--branch", "next", code=64).stderr
    assert "--commit and --branch are mutually exclusive" in fleet.call("sources", "sync", "site", "--no-activate", "--branch", "a",
                                                       "--commit", "0" * 40, code=64).stderr
    fleet.call("sources", "sync", "nowhere", "--no-activate", code=1)


def test_other_sources_are_as_they_are_in_the_site(fleet, repository, tmp_path):
    other = Repository(tmp_path / "web", {"index.html": "one\n"})
    fleet.add("site", repository)
    fleet.add("web", other, "--directory", "files/web")
    commit = branch(other, "next", {"new.html": "two\n"})
    proposal = fleet.propose("web", "--branch", "next")
    assert proposal["commit"] == commit
    assert fleet.files(proposal["version"]) == sorted([*SITE, "files/web/index.html", "files/web/new.html"])


def test_proposals_at_the_same_time_each_get_their_own_version(fleet, repository):
    fleet.add("site", repository)
    commits = {name: branch(repository, name, {"files/own": name}) for name in ("a", "b", "c")}
    cluster = fleet.cluster
    asked = {name: subprocess.Popen(
        [cluster.eden_path, "sources", "sync", "site", "--no-activate", "--branch", name, "-o", "json", "--run-dir",
         cluster.run, "--state-dir", cluster.state], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for name in commits}
    for name, process in asked.items():
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        proposal = json.loads(out)["status"]["proposal"]
        assert proposal["commit"] == commits[name]
        assert fleet.version(proposal["version"])["spec"]["branch"] == name


def test_a_proposal_survives_the_server(fleet, repository):
    fleet.add("site", repository)
    commit = branch(repository, "next", {"files/new": "x"})
    fleet.call("sources", "sync", "site", "--no-activate", "--branch", "next", "--no-wait")
    fleet.cluster.server.kill()
    fleet.cluster.start()
    assert fleet.propose("site", "--branch", "next")["commit"] == commit
