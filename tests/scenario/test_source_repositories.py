"""Repositories that are unusual, broken or gone: each is handled, or rejected with a reason that `eden sources show`
gives; the last good version stays."""

import os
import shutil

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


def assert_rejected(fleet, commit, good, why):
    status = fleet.sync("site", code=1)
    assert (status["state"], status["commit"], status["used_commit"]) == ("rejected", commit, good)
    assert why in status["why"]
    assert fleet.status("site") == status
    assert fleet.current()["spec"]["commit"] == good


def test_rewritten_history_is_any_other_change(fleet, repository):
    first = repository.head()
    repository.commit({"files/a": "1"}, "second")
    fleet.add("site", repository)
    repository.git("reset", "--quiet", "--hard", first)
    rewritten = repository.commit({"files/b": "2"}, "another second")
    status = fleet.sync("site")
    assert (status["state"], status["used_commit"]) == ("ok", rewritten)
    assert "files/b" in fleet.files() and "files/a" not in fleet.files()
    repository.git("checkout", "--quiet", "--orphan", "anew")
    unrelated = repository.commit({"files/c": "3"}, "no common history")
    assert fleet.sync("site")["used_commit"] == unrelated


def test_a_deleted_branch_is_reported_and_returns(fleet, repository):
    repository.git("push", "--quiet", "origin", "HEAD:release")
    good = fleet.add("site", repository, "--branch", "release")["used_commit"]
    repository.git("push", "--quiet", "--delete", "origin", "release")
    status = fleet.sync("site", code=1)
    assert (status["state"], status["used_commit"]) == ("unreachable", good)
    assert status["why"] == "the repository has no branch 'release'"
    repository.git("push", "--quiet", "origin", "HEAD:release")
    assert fleet.sync("site")["state"] == "ok"


def test_an_empty_repository_is_reported(fleet, tmp_path):
    status = fleet.add("site", Repository(tmp_path / "empty"))
    assert (status["state"], status["why"]) == ("unreachable", "the repository has no commits")


def test_a_submodule_is_rejected(fleet, repository, tmp_path):
    good = fleet.add("site", repository)["used_commit"]
    other = Repository(tmp_path / "other", {"page": "x"})
    repository.git("submodule", "--quiet", "add", other.url, "files/module")
    commit = repository.commit({}, "add a submodule")
    assert_rejected(fleet, commit, good, "files/module: is a submodule")
    repository.git("rm", "--quiet", "-r", "files/module")
    assert fleet.sync("site", code=None)["used_commit"] == good
    repository.commit({".gitmodules": None}, "remove it")
    assert fleet.sync("site")["state"] == "ok"


@pytest.mark.parametrize("target", ["/etc/shadow", "../../../etc/shadow", "../.."])
def test_a_link_out_of_the_site_is_rejected(fleet, repository, target):
    good = fleet.add("site", repository)["used_commit"]
    (repository.work / "files/link").symlink_to(target)
    commit = repository.commit({}, "add a link")
    assert_rejected(fleet, commit, good, "files/link")


def test_a_link_within_the_site_is_part_of_it(fleet, repository):
    (repository.work / "files/link").symlink_to("motd")
    commit = repository.commit({}, "add a link")
    assert fleet.add("site", repository)["used_commit"] == commit


HOOKS = ["post-update", "post-receive", "pre-receive", "update", "reference-transaction", "post-checkout", "post-merge",
         "pre-auto-gc", "fsmonitor-watchman", "post-index-change", "push-to-checkout"]


def plant(folder, mark):
    folder.mkdir(parents=True, exist_ok=True)
    for hook in HOOKS:
        path = folder / hook
        path.write_text(f"#!/bin/sh\necho {hook} >> {mark}\n")
        path.chmod(0o755)


def test_hooks_filters_and_configuration_are_never_executed(fleet, repository, tmp_path):
    """Of the repository, of its configuration and attributes, and in the mirror itself."""
    mark = tmp_path / "executed"
    plant(repository.work / ".git-hooks", mark)
    repository.commit({".gitattributes": "* filter=x diff=x\n", "files/a": "1",
                       ".gitmodules": f"[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% {mark}\n"}, "attributes")
    fleet.add("site", repository)
    plant(repository.bare / "hooks", mark)
    mirror = fleet.cluster.state / "server/sources/site"
    plant(mirror / "repository/hooks", mark)
    repository.git("config", "uploadpack.packObjectsHook", f"touch {mark}", at=repository.bare)
    repository.git("config", "core.fsmonitor", f"touch {mark}", at=repository.bare)
    with open(mirror / "repository/config", "a", encoding="utf-8") as config:
        config.write(f"[filter \"x\"]\n\tsmudge = touch {mark}\n\tclean = touch {mark}\n[diff \"x\"]\n"
                     f"\ttextconv = touch {mark}\n")
    commit = repository.commit({"files/a": "2"}, "again")
    if mark.exists():
        mark.unlink()  # by the push of the test itself
    assert fleet.sync("site")["used_commit"] == commit
    assert not mark.exists()


def test_a_huge_file_is_rejected(fleet, repository):
    good = fleet.add("site", repository)["used_commit"]
    path = repository.work / "files/huge"
    repository.git("config", "core.compression", "1")
    alternates = repository.bare / "objects/info/alternates"  # so that the push copies nothing
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{repository.work}/.git/objects\n")
    with open(path, "wb") as file:
        file.truncate((1 << 30) + 1)  # zeros, which git compresses
    commit = repository.commit({}, "add a huge file")
    path.unlink()
    assert_rejected(fleet, commit, good, "files/huge")
    repository.commit({}, "remove it")
    assert fleet.sync("site")["state"] == "ok"


def test_directories_without_end_are_rejected(fleet, repository):
    """A dozen objects make billions of empty directories."""
    good = fleet.add("site", repository)["used_commit"]
    tree = repository.git("mktree", input="")
    for _ in range(10):
        tree = repository.git("mktree", input="".join(f"040000 tree {tree}\t{name}\n" for name in "abcdefghij"))
    top = repository.git("ls-tree", "HEAD")
    root = repository.git("mktree", input=f"{top}\n040000 tree {tree}\tzeros\n")
    commit = repository.git("commit-tree", "-p", "HEAD", "-m", "add directories", root)
    repository.git("push", "--quiet", "origin", f"{commit}:main")
    assert_rejected(fleet, commit, good, "git ls-tree: wrote too much output")


@pytest.mark.parametrize("message", ["s" * 200_000, "line\n" * 50_000])
def test_a_commit_message_of_any_length_is_cut(fleet, repository, message, tmp_path):
    fleet.add("site", repository)
    (tmp_path / "message").write_text(message)
    repository.git("commit", "--quiet", "--allow-empty", "--file", tmp_path / "message")
    repository.push()
    status = fleet.sync("site")
    assert (status["state"], status["commit"]) == ("ok", repository.head())
    assert 400 < len(status["subject"]) <= 500


def test_a_repository_may_name_objects_by_sha256(fleet, repository, tmp_path):
    other = tmp_path / "other"
    repository.git("init", "--quiet", "--initial-branch=main", "--object-format=sha256", other)
    for name, text in SITE.items():
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_text(text)
    repository.git("add", "--all", at=other)
    repository.git("commit", "--quiet", "--message", "first", at=other)
    fleet.add("site", repository)
    fleet.call("sources", "set", "site", "--url", f"file://{other}")
    status = fleet.sync("site")
    assert (status["state"], len(status["commit"])) == ("ok", 64)
    fleet.call("sources", "set", "site", "--url", repository.url)
    assert fleet.sync("site")["commit"] == repository.head()


def test_the_default_branch_is_found_among_many(fleet, repository):
    head = repository.head()
    (repository.bare / "packed-refs").write_text(
        "# pack-refs with: peeled fully-peeled sorted \n" +
        "".join(f"{head} refs/heads/b{number:05}/HEAD\n" for number in range(10_000)))
    assert fleet.add("site", repository)["branch"] == "main"


def test_a_repository_that_is_gone_returns(fleet, repository):
    good = fleet.add("site", repository)["used_commit"]
    away = repository.bare.with_name("away")
    os.rename(repository.bare, away)
    status = fleet.sync("site", code=1)
    assert (status["state"], status["used_commit"]) == ("unreachable", good)
    assert status["why"] == f"'{repository.bare}' does not appear to be a git repository"
    assert fleet.current()["spec"]["commit"] == good
    fleet.cluster.server.stop()  # a day passes
    fleet.cluster.start()
    assert fleet.status("site")["state"] == "unreachable"
    os.rename(away, repository.bare)
    commit = repository.commit({"files/new": "x"}, "while it was gone")
    assert fleet.sync("site")["used_commit"] == commit


def test_a_repository_that_is_gone_is_polled_until_it_returns(fleet, repository):
    fleet.call("sources", "add", "site", repository.url, "--interval", "5s")
    wait_until(fleet.current, "the first version")
    away = repository.bare.with_name("away")
    os.rename(repository.bare, away)
    wait_until(lambda: fleet.status("site")["state"] == "unreachable", "the failure")
    os.rename(away, repository.bare)
    wait_until(lambda: fleet.status("site")["state"] == "ok", "its return", fleet.folder)


@pytest.mark.parametrize("damage", ["HEAD", "objects", "refs", "config", "packs", "killed-at-its-start"])
def test_a_damaged_mirror_is_fetched_again(fleet, repository, damage):
    fleet.add("site", repository)
    mirror = fleet.cluster.state / "server/sources/site/repository"
    commit = repository.commit({"files/new": "x"}, "next")
    fleet.cluster.server.stop()
    if damage == "packs":
        for path in (mirror / "objects").rglob("*"):
            if path.is_file():
                path.chmod(0o600)
                path.write_bytes(b"")
    elif damage == "killed-at-its-start":
        for path in mirror.iterdir():
            if path.name != "HEAD":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    elif damage == "config":
        (mirror / "config").write_bytes(b"[core")
    else:
        path = mirror / damage
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    fleet.cluster.start()
    status = fleet.sync("site")
    assert (status["state"], status["used_commit"]) == ("ok", commit)


def test_a_dead_remote_blocks_no_other_source(fleet, repository, tmp_path):
    """One that never answers, one that is gone, and one that is rejected."""
    other = Repository(tmp_path / "other", {"page": "one"})
    broken = Repository(tmp_path / "broken", {"link": "x"})
    (broken.work / "link").unlink()
    (broken.work / "link").symlink_to("/etc/shadow")
    broken.commit({}, "a link")
    silent = tmp_path / "silent.git"
    os.mkfifo(silent)  # opening it does not return
    fleet.add("site", repository)
    fleet.call("sources", "add", "gone", "file:///nowhere.git", "--directory", "files/gone")
    fleet.call("sources", "add", "silent", f"file://{silent}", "--directory", "files/silent")
    fleet.add("broken", broken, "--directory", "files/broken")
    assert fleet.add("other", other, "--directory", "files/other")["state"] == "ok"
    commit = repository.commit({"files/new": "x"}, "next")
    assert fleet.sync("site")["used_commit"] == commit
    assert fleet.files() == sorted([*SITE, "files/new", "files/other/page"])
    assert (fleet.sync("gone", code=1)["state"], fleet.status("broken")["state"]) == ("unreachable", "rejected")


def test_a_directory_may_end_with_a_slash(fleet, repository):
    fleet.add("site", repository, "--directory", "parts/web/")
    source, = fleet.call("sources", "-o", "jsonpath={.items[*].spec.directory}").stdout.split()
    assert source == "parts/web"


def test_a_branch_that_is_not_there_is_named_in_a_proposal(fleet, repository):
    fleet.add("site", repository)
    done = fleet.call("sources", "sync", "site", "--branch", "nxet", "--no-activate", code=1)
    assert done.stdout == "site: the repository has no branch 'nxet'\n"
