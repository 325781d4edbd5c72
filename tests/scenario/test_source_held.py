"""The newest commit of a source that is not current says why, since when, by whom, and how to follow again."""

import pytest
from events import wait_until
from git_world import SITE, Repository
from test_sources import Fleet


@pytest.fixture
def fleet(cluster, tmp_path):
    return Fleet(cluster, tmp_path)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "site", SITE)


def two_versions(fleet, repository):
    first = fleet.add("site", repository)["version"]
    repository.commit({"files/new": "x"}, "second")
    second = fleet.sync("site")["version"]
    return first, second


def held(fleet):
    status = fleet.status("site")
    return status["why"] if status["state"] == "held" else None


def name(fleet):
    return fleet.current()["metadata"]["name"]


def test_a_rollback_is_shown_until_the_next_commit(fleet, repository):
    first, second = two_versions(fleet, repository)
    fleet.call("versions", "rollback", "--reason", "it broke the shop")
    why = wait_until(lambda: held(fleet), "the state of the source")
    since = fleet.current()["status"]["since"]
    by = fleet.current()["status"]["activated_by"]
    assert why == (f"version {first} was made current instead, since {since} by {by} (it broke the shop); the next "
                   f"commit replaces it, or 'eden versions activate {second}'")
    done = fleet.call("sources", "sync", "site", code=5)
    assert done.stdout == (f"site is at commit {repository.head()[:12]}, version {second}, which is not current: "
                           f"{why}\n")
    assert "held" in fleet.call("sources").stdout
    third = repository.commit({"files/new": "y"}, "fix it")
    assert fleet.sync("site")["state"] == "ok"
    assert fleet.current()["spec"]["commit"] == third


def test_a_second_rollback_does_not_bring_the_newer_version_back(fleet, repository):
    first, second = two_versions(fleet, repository)
    done = fleet.call("versions", "rollback")
    assert done.stderr == (f"rolling back to version {first} (first); the next push or commit replaces it, unless "
                           "it is pinned\n")
    done = fleet.call("versions", "rollback", code=5)
    assert f"the previous version, {second} (second), is newer than the current one, {first} (first)" in done.stderr
    assert f"use 'eden versions activate {second}'" in done.stderr
    assert name(fleet) == first
    fleet.call("versions", "rollback", second)
    fleet.call("versions", "rollback")
    assert name(fleet) == first


def test_the_newest_commit_is_activated_by_hand_after_a_rollback(fleet, repository):
    first, second = two_versions(fleet, repository)
    fleet.call("versions", "rollback")
    wait_until(lambda: held(fleet), "the state of the source")
    assert fleet.call("versions", "activate", second).stdout == f"version {second} is current\n"
    wait_until(lambda: fleet.status("site")["state"] == "ok", "the state of the source")
    assert name(fleet) == second != first


def test_a_pin_is_shown_and_unpin_follows_again(fleet, repository):
    first, second = two_versions(fleet, repository)
    fleet.call("versions", "rollback", "--pin", "--reason", "freeze")
    why = wait_until(lambda: held(fleet), "the state of the source")
    current = fleet.current()["status"]
    assert why == (f"version {first} is pinned since {current['since']} by {current['activated_by']} (freeze); "
                   f"'eden versions unpin' makes version {second} current")
    assert "is pinned" in fleet.call("versions", "activate", second, code=5).stderr
    repository.commit({"files/new": "y"}, "third")
    third = fleet.sync("site", code=5)["version"]
    assert third not in (first, second) and name(fleet) == first
    fleet.call("versions", "unpin")
    wait_until(lambda: name(fleet) == third, "the newest version")
    assert fleet.sync("site")["state"] == "ok"


def test_a_rollback_that_ends_a_pin_stays(fleet, repository):
    """The version that the pin held back must not become current because nothing is pinned any more."""
    first, second = two_versions(fleet, repository)
    fleet.call("versions", "pin")
    repository.commit({"files/new": "y"}, "third")
    fleet.sync("site", code=5)
    fleet.call("versions", "rollback", first)
    wait_until(lambda: f"version {first} was made current instead" in (held(fleet) or ""), "the state of the source")
    fleet.sync("site", code=5)
    assert name(fleet) == first


def test_a_push_instead_of_the_newest_commit_is_shown(fleet, repository, tmp_path):
    fleet.add("site", repository)
    (repository.work / "files/pushed").write_text("x")
    done = fleet.call("push", repository.work)
    assert "the next commit of source 'site' replaces this version; 'eden versions pin' keeps it\n" in done.stderr
    assert wait_until(lambda: held(fleet), "the state of the source").startswith(
        f"version {name(fleet)} was made current instead, since ")


def test_a_commit_of_several_versions_names_them(fleet, repository):
    fleet.call("push", repository.work)
    first = name(fleet)
    (repository.work / "files/pushed").write_text("x")
    fleet.call("push", repository.work)
    commit = repository.head()[:12]
    done = fleet.call("versions", "rollback", commit[:8], code=1)
    assert f"'{commit[:8]}' matches several versions: {name(fleet)}, {first}" in done.stderr
