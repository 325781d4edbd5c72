"""A source without a branch follows the default branch that the repository had when it was first fetched."""

import json

import pytest
from git_world import SITE, Repository
from test_sources import Fleet


@pytest.fixture
def fleet(cluster, tmp_path):
    return Fleet(cluster, tmp_path)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "site", SITE)


def checked_out(repository):
    """The clone itself as a repository: what is checked out in it changes."""
    return f"file://{repository.work}"


def commit(repository, files, subject):
    repository.write(files)
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", subject)
    return repository.head()


def add(fleet, url, *options):
    return fleet.call("sources", "add", "site", url, "--interval", "1d", *options).stdout


def test_a_branch_that_is_checked_out_later_does_not_go_live(fleet, repository):
    shown = add(fleet, checked_out(repository))
    assert shown.splitlines()[1].startswith("following branch main, which HEAD of the repository refers to now")
    main = repository.head()
    repository.git("checkout", "--quiet", "-b", "unmerged")
    commit(repository, {"files/unmerged": "x"}, "not reviewed")
    status = fleet.sync("site")
    assert (status["commit"], status["branch"]) == (main, "main")
    assert "files/unmerged" not in fleet.files()
    fleet.cluster.server.stop()
    fleet.cluster.start()
    assert fleet.sync("site")["commit"] == main
    repository.git("checkout", "--quiet", "main")
    merged = commit(repository, {"files/merged": "x"}, "reviewed")
    assert fleet.sync("site")["used_commit"] == merged
    assert fleet.current()["spec"]["branch"] == "main"


def test_a_default_branch_that_changes_on_the_server_is_not_followed(fleet, repository):
    assert "following branch main, which HEAD of the repository" in add(fleet, repository.url)
    repository.git("push", "--quiet", "origin", "HEAD:next")
    repository.git("symbolic-ref", "HEAD", "refs/heads/next", at=repository.bare)
    head = repository.commit({"files/new": "x"}, "on main")
    assert fleet.sync("site")["commit"] == head
    listed = fleet.call("sources").stdout.splitlines()
    assert "BRANCH" in listed[0] and "main" in listed[1]
    repository.git("branch", "--quiet", "-D", "main", at=repository.bare)
    status = fleet.sync("site", code=1)
    assert status["why"] == ("the repository has no branch 'main', which was its default branch before: set the "
                             "branch to follow")
    fleet.call("sources", "set", "site", "--branch", "next")
    assert fleet.sync("site")["branch"] == "next"


def test_another_repository_has_its_own_default_branch(fleet, repository, tmp_path):
    add(fleet, repository.url)
    other = Repository(tmp_path / "other", SITE)
    other.git("push", "--quiet", "origin", "HEAD:trunk")
    other.git("symbolic-ref", "HEAD", "refs/heads/trunk", at=other.bare)
    fleet.call("sources", "set", "site", "--url", other.url)
    assert fleet.sync("site")["branch"] == "trunk"


def test_a_configured_branch_is_followed_and_without_one_the_default_is_determined_again(fleet, repository):
    repository.git("push", "--quiet", "origin", "HEAD:release")
    shown = add(fleet, repository.url, "--branch", "release")
    assert "following" not in shown
    assert fleet.sync("site")["branch"] == "release"
    repository.git("push", "--quiet", "origin", "HEAD:next")
    repository.git("symbolic-ref", "HEAD", "refs/heads/next", at=repository.bare)
    fleet.call("api", "PATCH", "/v1/sources/site", "-d", json.dumps({"spec": {"branch": None}}))
    assert fleet.sync("site")["branch"] == "next"


def test_a_repository_without_a_branch_at_its_head_says_what_to_do(fleet, repository):
    repository.git("checkout", "--quiet", "--detach")
    shown = add(fleet, checked_out(repository))
    why = "the repository's HEAD is not a branch: set the branch to follow"
    assert shown.splitlines()[1] == f"the default branch is determined when the repository is first fetched: {why}"
    assert fleet.sync("site", code=1)["why"] == why
    repository.git("checkout", "--quiet", "main")
    assert fleet.sync("site")["branch"] == "main"


def test_an_unreachable_repository_is_added_and_its_branch_is_determined_later(fleet, repository):
    away = repository.bare.with_name("away")
    repository.bare.rename(away)
    assert "the default branch is determined when the repository is first fetched" in add(fleet, repository.url)
    away.rename(repository.bare)
    assert fleet.sync("site")["branch"] == "main"
