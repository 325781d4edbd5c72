"""`eden sources`: commits of git repositories become versions of the site."""

import json

import pytest

from events import wait_until
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
        return self.sync(name, code=None)

    def sync(self, name, code=0):
        """Returns the status of the source once the leader has handled the request."""
        done = self.cluster.call("sources", "sync", name, "-o", "json", check=False)
        assert code is None or done.returncode == code, (done.stdout, done.stderr)
        return json.loads(done.stdout)["status"]

    def status(self, name):
        return json.loads(self.call("sources", "show", name, "-o", "json").stdout)["status"]

    def versions(self):
        return json.loads(self.call("versions", "-o", "json").stdout)["items"]

    def current(self):
        return next((version for version in self.versions() if version["status"]["current"]), None)

    def files(self, version=None):
        name = (version or self.current())["metadata"]["name"]
        listed = json.loads(self.call("api", "GET", f"/v1/versions/{name}/manifest").stdout)["files"]
        return [file["path"] for file in listed]


@pytest.fixture
def fleet(cluster, tmp_path):
    return Fleet(cluster, tmp_path)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "site", SITE)


@pytest.mark.also_on_etcd
def test_a_commit_becomes_the_current_version(fleet, repository):
    commit = repository.commit({"files/motd": "hello\n"}, "greet")
    status = fleet.add("site", repository)
    assert (status["state"], status["commit"], status["subject"]) == ("ok", commit, "greet")
    version = fleet.current()
    assert version["metadata"]["name"] == status["version"]
    spec = version["spec"]
    assert (spec["origin"], spec["source"], spec["commit"]) == ("git", repository.url, commit)
    assert (spec["author"], spec["subject"]) == ("Ann <ann@example.org>", "greet")
    assert version["status"]["by"] == "source:site"
    assert fleet.files() == sorted(SITE)


def test_the_configuration_of_a_local_repository_names_no_programs(fleet, repository, tmp_path):
    """The owner of the repository would execute commands as the user of the server."""
    hook, executed = tmp_path / "hook", tmp_path / "executed"
    hook.write_text(f'#!/bin/sh\ntouch {executed}\nexec "$@"\n')
    hook.chmod(0o755)
    repository.git("config", "uploadpack.packObjectsHook", hook, at=repository.bare)
    assert fleet.add("site", repository)["state"] == "ok"
    assert not executed.exists()


def test_incomplete_packs_are_removed(fleet, repository, cluster):
    """git leaves one of up to 1 GiB whenever a commit is too large, and they would fill the disk."""
    fleet.add("site", repository)
    packs = cluster.state / "server/sources/site/repository/objects/pack"
    (packs / "tmp_pack_1").write_text("x" * 1000)
    fleet.sync("site")
    assert packs.is_dir() and [path for path in packs.iterdir() if path.name.startswith("tmp")] == []


def test_a_new_commit_is_found_by_polling(fleet, repository):
    fleet.call("sources", "add", "site", repository.url, "--interval", "5s")
    wait_until(fleet.current, "the first version")
    commit = repository.commit({"files/new": "x"}, "second")
    wait_until(lambda: fleet.current()["spec"]["commit"] == commit, "the second version", fleet.folder)
    assert "files/new" in fleet.files()


def test_a_bad_commit_is_rejected_with_file_and_line_and_the_last_good_version_stays(fleet, repository):
    good = fleet.add("site", repository)["version"]
    bad = repository.commit({"jobs/web.yaml": "steps:\n- name: hello\n  cmd.rnu: [{cmd: echo}]\n"}, "break it")
    done = fleet.call("sources", "sync", "site", code=1)
    assert "site is rejected: jobs/web.yaml:3:3: " in done.stdout
    status = fleet.status("site")
    assert (status["state"], status["commit"], status["version"]) == ("rejected", bad, good)
    assert status["why"].startswith("jobs/web.yaml:3:3: ")
    assert fleet.current()["metadata"]["name"] == good
    assert [version["status"]["state"] for version in fleet.versions()] == ["rejected", "valid"]
    fixed = repository.commit({"jobs/web.yaml": SITE["jobs/web.yaml"] + "# fixed\n"}, "fix it")
    assert fleet.sync("site")["used_commit"] == fixed
    assert fleet.current()["spec"]["commit"] == fixed


def test_several_repositories_make_one_site(fleet, repository, tmp_path):
    other = Repository(tmp_path / "other", {"page": "one"})
    fleet.add("site", repository)
    assert fleet.add("pages", other, "--directory", "files/pages")["state"] == "ok"
    assert fleet.files() == sorted([*SITE, "files/pages/page"])
    other.commit({"page": "two", "more/page": "x"}, "more pages")
    fleet.sync("pages")
    assert fleet.files() == sorted([*SITE, "files/pages/more/page", "files/pages/page"])
    fleet.call("sources", "remove", "pages")
    wait_until(lambda: fleet.files() == sorted(SITE), "the site without the removed source")
