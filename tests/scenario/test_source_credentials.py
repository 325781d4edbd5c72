"""Private repositories: over SSH with a key of the server and known host keys, and over HTTPS with a token. Nobody
reads the secrets afterwards."""

import getpass
import json
import pathlib
import subprocess

import pytest
import sshd as ssh
from git_https import GitHttps
from git_world import SITE, Repository
from test_sources import Fleet

TOKEN = "ghp_f4K3t0kenOfTheTests0123456789"


@pytest.fixture
def fleet(cluster, tmp_path):
    return Fleet(cluster, tmp_path)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "site", SITE)


@pytest.fixture
def host(tmp_path):
    """An SSH server with the repository."""
    sshd = ssh.Sshd(tmp_path / "sshd", {}).start()
    yield sshd
    sshd.end()


@pytest.fixture
def git_server(tmp_path, repository):
    server = GitHttps(tmp_path / "https", TOKEN)
    yield server
    server.end()


def ssh_url(host, repository):
    return f"ssh://{getpass.getuser()}@127.0.0.1:{host.port}{repository.bare}"


def public_key(fleet, name="site"):
    return fleet.call("sources", "key", name).stdout.strip()


def files_below(folder):
    return [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]


def server_files(fleet):
    return files_below(fleet.cluster.state)


# --- SSH ------------------------------------------------------------------------------------------

def add_ssh(fleet, host, repository, *options):
    return fleet.call("sources", "add", "site", ssh_url(host, repository), "--interval", "1d", *options)


def test_a_repository_is_fetched_over_ssh_with_the_key_of_the_source(fleet, host, repository):
    added = add_ssh(fleet, host, repository, "--host-key", host.host_key)
    key = added.stdout.splitlines()[-1].strip()
    assert key.startswith("ssh-ed25519 ") and key.endswith(" eden-site") and key == public_key(fleet)
    status = fleet.sync("site", code=1)
    assert status["state"] == "unreachable" and "rejected the SSH key of this source" in status["why"]
    assert "eden sources key site" in status["why"]
    host.authorized.write_text(f"restrict {key}\n")
    assert fleet.sync("site")["state"] == "ok"
    assert fleet.files() == sorted(SITE)


def test_host_keys_are_read_from_a_known_hosts_file(fleet, host, repository, tmp_path):
    known = tmp_path / "known"
    known.write_text(f"other.example.org {host.host_key}\n[127.0.0.1]:{host.port} {host.host_key}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
    add_ssh(fleet, host, repository, "--known-hosts", known)
    host.authorized.write_text(public_key(fleet) + "\n")
    assert fleet.sync("site")["state"] == "ok"


def test_a_source_without_host_keys_is_refused(fleet, host, repository):
    done = fleet.call("sources", "add", "site", ssh_url(host, repository), code=1)
    assert "host_keys" in done.stderr and "required for SSH" in done.stderr


def test_a_server_with_another_host_key_is_refused(fleet, host, repository, tmp_path):
    add_ssh(fleet, host, repository, "--host-key", ssh.make_key(tmp_path / "other"))
    host.authorized.write_text(public_key(fleet) + "\n")
    status = fleet.sync("site", code=1)
    assert status["state"] == "unreachable" and "none of the host keys of this source" in status["why"]
    assert "Accepted publickey" not in host.log()
    fleet.call("sources", "set", "site", "--host-key", host.host_key)
    assert fleet.sync("site")["state"] == "ok"


def test_a_new_key_replaces_the_former_one(fleet, host, repository):
    add_ssh(fleet, host, repository, "--host-key", host.host_key)
    former = public_key(fleet)
    host.authorized.write_text(former + "\n")
    assert fleet.sync("site")["state"] == "ok"
    replaced = fleet.call("sources", "key", "site", "--new").stdout.strip()
    assert replaced != former and public_key(fleet) == replaced
    assert fleet.sync("site", code=1)["state"] == "unreachable"
    host.authorized.write_text(replaced + "\n")
    assert fleet.sync("site")["state"] == "ok"


def test_the_private_key_is_nowhere_to_be_read(fleet, host, repository, tmp_path):
    add_ssh(fleet, host, repository, "--host-key", host.host_key)
    host.authorized.write_text(public_key(fleet) + "\n")
    fleet.sync("site")
    assert [path for path in server_files(fleet)
            if b"OPENSSH PRIVATE KEY" in path.read_bytes() and path.name != "ssh_key"] == []
    assert not (fleet.cluster.state / "server/sources/site/ssh_key").exists()
    assert "PRIVATE" not in fleet.call("api", "GET", "/v1/keys?prefix=%2Feden").stdout
    assert (fleet.cluster.state / "server/source_key").stat().st_mode & 0o777 == 0o600


def test_a_source_that_is_added_again_has_another_key(fleet, host, repository):
    add_ssh(fleet, host, repository, "--host-key", host.host_key)
    former = public_key(fleet)
    fleet.call("sources", "remove", "site")
    add_ssh(fleet, host, repository, "--host-key", host.host_key)
    assert public_key(fleet) != former


def test_a_restored_cluster_fetches_with_the_same_key(fleet, host, repository, tmp_path, eden):
    add_ssh(fleet, host, repository, "--host-key", host.host_key)
    host.authorized.write_text(public_key(fleet) + "\n")
    fleet.sync("site")
    fleet.call("backup", "create", tmp_path / "backup")
    fleet.cluster.server.stop()
    fleet.cluster.state.rename(tmp_path / "lost")
    fleet.cluster.eden("backup", "restore", tmp_path / "backup", "--state-dir", fleet.cluster.state,
                       "--name", "s2", "--user", "root", "--rpc", "127.0.0.1:0", "--api", "127.0.0.1:0")
    fleet.cluster.start()
    commit = repository.commit({"files/new": "x"}, "after the restore")
    assert fleet.sync("site")["used_commit"] == commit


def test_a_lost_key_file_is_reported_with_what_to_do(fleet, host, repository):
    add_ssh(fleet, host, repository, "--host-key", host.host_key)
    fleet.cluster.server.stop()
    (fleet.cluster.state / "server/source_key").unlink()
    fleet.cluster.start()
    assert "eden sources key site --new" in fleet.sync("site", code=1)["why"]
    host.authorized.write_text(fleet.call("sources", "key", "site", "--new").stdout)
    assert fleet.sync("site")["state"] == "ok"


# --- HTTPS ----------------------------------------------------------------------------------------

def token_file(tmp_path, token=TOKEN):
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text(token + "\n")
    return path


def add_https(fleet, server, repository, *options, code=0):
    url = f"{server.url}/{repository.bare.relative_to(fleet.folder)}"
    return fleet.call("sources", "add", "site", url, "--interval", "1d", "--ca", server.ca, *options, code=code)


def test_a_private_repository_is_fetched_with_its_token(fleet, git_server, repository, tmp_path):
    add_https(fleet, git_server, repository, "--token-file", token_file(tmp_path))
    assert fleet.sync("site")["state"] == "ok"
    assert fleet.files() == sorted(SITE)
    assert f"x-access-token:{TOKEN}" in git_server.requests


def test_a_missing_token_and_a_wrong_one_are_reported_with_what_to_do(fleet, git_server, repository, tmp_path):
    add_https(fleet, git_server, repository)
    assert "requires a token to read this repository" in fleet.sync("site", code=1)["why"]
    fleet.call("sources", "set", "site", "--token-file", token_file(tmp_path, "wrong-token-of-the-test"))
    why = fleet.sync("site", code=1)["why"]
    assert "rejected the token of this source" in why and "wrong-token" not in why
    done = subprocess.run([fleet.cluster.eden_path, "sources", "set", "site", "--token-file", "-", "--run-dir",
                           fleet.cluster.run], input=TOKEN, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert fleet.sync("site")["state"] == "ok"
    fleet.call("sources", "set", "site", "--no-token")
    assert fleet.sync("site", code=1)["state"] == "unreachable"


def test_a_token_file_that_others_can_read_is_refused(fleet, git_server, repository, tmp_path):
    path = token_file(tmp_path)
    path.chmod(0o644)
    done = add_https(fleet, git_server, repository, "--token-file", path, code=1)
    assert "chmod" in done.stderr and TOKEN not in done.stderr


def test_a_server_that_the_ca_did_not_certify_is_refused(fleet, git_server, repository, tmp_path):
    other = GitHttps(tmp_path / "other", TOKEN)
    url = f"{git_server.url}/{repository.bare.relative_to(fleet.folder)}"
    fleet.call("sources", "add", "site", url, "--ca", other.ca, "--token-file", token_file(tmp_path))
    other.end()
    assert "is not from the CA of this source" in fleet.sync("site", code=1)["why"]
    assert git_server.requests == []


def test_a_token_is_sent_to_no_other_host(fleet, git_server, repository, tmp_path):
    """Neither after a redirect nor after somebody has changed the URL."""
    add_https(fleet, git_server, repository, "--token-file", token_file(tmp_path))
    fleet.sync("site")
    (tmp_path / "elsewhere").mkdir()
    other = GitHttps(tmp_path / "elsewhere/https", TOKEN)
    authorities = tmp_path / "both"
    authorities.write_text(git_server.ca.read_text() + other.ca.read_text())
    fleet.call("sources", "set", "site", "--ca", authorities)
    git_server.redirects_to = other.url
    assert fleet.sync("site", code=1)["state"] == "unreachable"
    fleet.call("sources", "set", "site", "--url", f"{other.url}/site/bare.git")
    why = fleet.sync("site", code=1)["why"]
    assert "it was provided for a different host" in why
    other.end()
    assert set(other.requests) <= {None}


def test_the_token_is_nowhere_to_be_read(fleet, git_server, repository, tmp_path):
    add_https(fleet, git_server, repository, "--token-file", token_file(tmp_path))
    fleet.sync("site")
    git_server.token = "another"
    fleet.sync("site", code=1)
    shown = fleet.call("sources", "show", "site", "-o", "json").stdout
    assert json.loads(shown)["status"]["has_token"] is True
    everything = shown + fleet.call("api", "GET", "/v1/keys?prefix=%2Feden").stdout + \
        fleet.call("audit", "tail").stdout + "\n".join(fleet.cluster.server.log)
    assert TOKEN not in everything
    assert [path for path in server_files(fleet) if TOKEN.encode() in path.read_bytes()] == []


def test_a_key_and_a_token_exist_as_files_only_while_git_runs(fleet, git_server, repository, tmp_path):
    add_https(fleet, git_server, repository, "--token-file", token_file(tmp_path))
    fleet.sync("site")
    left = {path.name for path in (fleet.cluster.state / "server/sources/site").iterdir()}
    assert left == {"repository", "config", "ca.pem"}
