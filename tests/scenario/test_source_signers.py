"""A source with signers uses only commits that one of them has signed."""

import pytest
import sshd as ssh
from git_world import SITE, Repository
from test_sources import Fleet


class Signer:
    def __init__(self, folder, name):
        self.path, self.mail = folder / name, f"{name}@example.org"
        self.key = ssh.make_key(self.path)

    def options(self):
        return ("-c", "gpg.format=ssh", "-c", f"user.signingKey={self.path}.pub")


class SignedRepository(Repository):
    def commit_by(self, signer, files, subject):
        self.write(files)
        self.git("add", "--all")
        self.git(*signer.options(), "commit", "--quiet", "--allow-empty", "--gpg-sign", "--message", subject)
        return self.push()


@pytest.fixture
def fleet(cluster, tmp_path):
    return Fleet(cluster, tmp_path)


@pytest.fixture
def repository(tmp_path):
    return SignedRepository(tmp_path / "site", SITE)


@pytest.fixture
def ann(tmp_path):
    return Signer(tmp_path, "ann")


@pytest.fixture
def eve(tmp_path):
    return Signer(tmp_path, "eve")


def signers_file(tmp_path, *signers, options=""):
    path = tmp_path / "signers"
    path.write_text("# who may change the site\n" +
                    "".join(f"{signer.mail} {options}{signer.key}\n" for signer in signers))
    return path


def test_only_signed_commits_are_used(fleet, repository, tmp_path, ann, eve):
    good = repository.commit_by(ann, {"files/a": "1"}, "signed")
    assert fleet.add("site", repository, "--signers", signers_file(tmp_path, ann))["used_commit"] == good
    for make, why in [
            (lambda: repository.commit({"files/a": "2"}, "not signed"), "the commit is not signed"),
            (lambda: repository.commit_by(eve, {"files/a": "3"}, "by Eve"), "which is not one of the 'signers'")]:
        commit = make()
        status = fleet.sync("site", code=1)
        assert (status["state"], status["commit"], status["used_commit"]) == ("rejected", commit, good)
        assert why in status["why"]
    assert ssh.fingerprint(eve.key) in status["why"]
    better = repository.commit_by(ann, {"files/a": "4"}, "signed again")
    assert fleet.sync("site")["used_commit"] == better


def test_a_commit_whose_content_was_exchanged_is_rejected(fleet, repository, tmp_path, ann):
    """The signature of one commit on another."""
    good = repository.commit_by(ann, {"files/a": "1"}, "signed")
    fleet.add("site", repository, "--signers", signers_file(tmp_path, ann))
    raw = repository.git("cat-file", "commit", good)
    forged = repository.git("hash-object", "-t", "commit", "-w", "--stdin", input=raw.replace("signed", "forged") + "\n")
    repository.git("push", "--quiet", "--force", "origin", f"{forged}:refs/heads/main")
    status = fleet.sync("site", code=1)
    assert (status["state"], status["commit"], status["used_commit"]) == ("rejected", forged, good)
    assert "not signed by one of the 'signers'" in status["why"]


def test_signers_can_be_changed(fleet, repository, tmp_path, ann, eve):
    commit = repository.commit_by(eve, {"files/a": "1"}, "by Eve")
    assert fleet.add("site", repository, "--signers", signers_file(tmp_path, ann))["state"] == "rejected"
    assert fleet.current() is None
    fleet.call("sources", "set", "site", "--signers", signers_file(tmp_path, ann, eve))
    assert fleet.sync("site")["used_commit"] == commit
    fleet.call("sources", "set", "site", "--signers", signers_file(tmp_path, ann))
    status = fleet.sync("site", code=1)
    assert (status["state"], status["used_commit"]) == ("rejected", commit)


def test_a_key_that_has_expired_signs_nothing(fleet, repository, tmp_path, ann):
    repository.commit_by(ann, {"files/a": "1"}, "signed")
    signers = signers_file(tmp_path, ann, options='valid-before="20200101" ')
    assert fleet.add("site", repository, "--signers", signers)["state"] == "rejected"


def test_a_file_that_has_no_signers_is_refused(fleet, repository, tmp_path):
    path = tmp_path / "signers"
    path.write_text("ann@example.org ssh-ed25519\n")
    done = fleet.call("sources", "add", "site", repository.url, "--signers", path, code=1)
    assert "line 1: must have the form 'ann@example.org ssh-ed25519 AAAA...'" in done.stderr


def test_a_proposed_commit_needs_a_signature_too(fleet, repository, tmp_path, ann):
    """A plan of it executes what is in it."""
    good = repository.commit_by(ann, {"files/a": "1"}, "signed")
    fleet.add("site", repository, "--signers", signers_file(tmp_path, ann))
    repository.git("checkout", "--quiet", "-b", "next")
    repository.write({"files/a": "2"})
    repository.git("commit", "--quiet", "--all", "--message", "not signed")
    repository.git("push", "--quiet", "origin", "next")
    commit = repository.git("rev-parse", "HEAD")
    for words in (("--branch", "next"), ("--commit", commit)):
        done = fleet.call("sources", "sync", "site", "--no-activate", *words, code=1)
        assert f"site commit {commit[:12]} is rejected: the commit is not signed" in done.stdout
    done = fleet.call("sources", "sync", "site", "--no-activate", "--commit", good)
    assert f"site commit {good[:12]} is version" in done.stdout
