"""`eden push` and `eden versions`: a site becomes a version of the cluster."""

import json
import os
import pathlib
import signal
import subprocess

import daemons
import pytest

from cluster_world import LocalConnection
from events import wait_until

MIB = 1 << 20


@pytest.fixture
def cluster(cluster):
    cluster.start()
    return cluster


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path / "site")


def make_site(path):
    for name, text in {
        "config.yaml": "name: shop\n",
        "jobs/base.yaml": "jobs:\n  '*':\n  - name: web\n",
        "jobs/web.yaml": "steps:\n- name: hello\n  cmd.run: [{cmd: echo hello}]\n",
        "files/motd": "welcome\n",
    }.items():
        write(path / name, text)
    return path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def push(cluster, site, *args, check=True):
    done = cluster.call("push", site, "-o", "json", *args, check=check)
    return json.loads(done.stdout) if done.returncode == 0 else done


def versions(cluster):
    return json.loads(cluster.call("versions", "-o", "json").stdout)["items"]


def current(cluster):
    return json.loads(cluster.call("get", "/eden/current_version").stdout)


def problems(done):
    return json.loads(done.stdout)["problems"]


def blobs(cluster):
    return {path.name for path in (cluster.state / "server/blobs").glob("*/*")}


@pytest.mark.also_on_etcd
def test_a_pushed_site_is_the_current_version(cluster, site):
    pushed = push(cluster, site, "--reason", "first site")
    assert (pushed["files"], pushed["sent_blobs"]) == (4, 4)
    assert pushed["current"] and pushed["changed"]
    assert pushed["version"] == pushed["manifest"][:12]
    [version] = versions(cluster)
    assert version["metadata"]["name"] == pushed["version"]
    assert version["status"]["state"] == "valid"
    assert version["status"]["current"] and not version["status"]["pinned"]
    assert version["spec"]["origin"] == "push"
    assert version["spec"]["source"] == str(site)
    record = current(cluster)
    assert record["manifest"] == pushed["manifest"]
    assert record["reason"] == "first site"
    assert record["run"] is True
    assert "root" in record["by"] or "local" in record["by"]
    files = json.loads(cluster.call("api", "GET", f"/v1/versions/{pushed['version']}/manifest").stdout)["files"]
    assert [file["path"] for file in files] == ["config.yaml", "files/motd", "jobs/base.yaml", "jobs/web.yaml"]


def test_a_second_push_sends_nothing_or_only_what_changed(cluster, site):
    first = push(cluster, site)
    again = push(cluster, site)
    assert again["version"] == first["version"]
    assert (again["sent_blobs"], again["changed"]) == (0, False)
    write(site / "files/motd", "hello\n")
    changed = push(cluster, site)
    assert changed["sent_blobs"] == 1
    assert changed["version"] != first["version"]
    assert current(cluster)["previous"] == first["version"]


def test_an_unchanged_push_is_reported_as_such(cluster, site):
    first = cluster.call("push", site)
    assert first.stdout.startswith("version ") and first.stdout.endswith(" is current\n")
    again = cluster.call("push", site)
    assert "is already current" in again.stdout
    assert "sent 0 of 4 blobs" in again.stderr


def test_a_site_with_errors_is_reported_as_by_validate_and_not_sent(cluster, site):
    write(site / "jobs/web.yaml", "steps:\n- name: hello\n  cmd.rnu: [{name: echo}]\n")
    pushed = cluster.call("push", site, check=False)
    validated = cluster.eden("validate", site, check=False)
    assert pushed.returncode == 1
    assert f"{site}/jobs/web.yaml:3:3" in pushed.stderr
    assert pushed.stderr == validated.stderr
    assert versions(cluster) == [] and blobs(cluster) == set()


def upload(cluster, site):
    """Sends the files of a site without `eden push`; returns the id of the manifest."""
    import hashlib

    connection = LocalConnection(cluster)
    files = []
    for path in sorted(site.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            name = hashlib.sha256(data).hexdigest()
            connection.request("PUT", f"/v1/blobs/{name}", data, {"Content-Type": "application/octet-stream"})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
            files.append({"path": str(path.relative_to(site)), "mode": "0644", "size": len(data), "blobs": [name]})
    files.sort(key=lambda file: file["path"].encode())
    text = json.dumps({"format": "eden.manifest/1", "files": files}, separators=(",", ":")).encode()
    name = hashlib.sha256(text).hexdigest()
    connection.request("PUT", f"/v1/blobs/{name}", text, {"Content-Type": "application/octet-stream"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return name, answer.status


def create(cluster, manifest):
    connection = LocalConnection(cluster)
    connection.request("POST", "/v1/versions", json.dumps({"spec": {"manifest": manifest}}),
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    value = json.loads(answer.read())
    connection.close()
    return answer.status, value


def test_the_server_rejects_a_site_with_errors(cluster, site):
    write(site / "jobs/web.yaml", "steps:\n- name: hello\n  cmd.rnu: [{name: echo}]\n")
    manifest, _ = upload(cluster, site)
    status, version = create(cluster, manifest)
    assert status == 201, version
    assert version["status"]["state"] == "rejected"
    name = version["metadata"]["name"]
    shown = cluster.call("versions", "show", name)
    assert "state: rejected" in shown.stdout
    assert "jobs/web.yaml:3:3" in shown.stderr
    refused = cluster.call("versions", "rollback", name, check=False)
    assert refused.returncode == 5
    assert f"version {name} was rejected" in refused.stderr
    assert cluster.call("get", "/eden/current_version", check=False).returncode == 1


def test_modules_of_a_site_are_not_executed_by_the_server(cluster, site, tmp_path):
    witness = tmp_path / "witness"
    write(site / "modules/spy", f"#!/bin/sh\ntouch {witness}\n")
    (site / "modules/spy").chmod(0o755)
    manifest, _ = upload(cluster, site)
    create(cluster, manifest)
    push(cluster, site, check=False)
    assert not witness.exists()


def test_a_version_without_all_of_its_files_is_not_created(cluster, site):
    manifest, _ = upload(cluster, site)
    for path in (cluster.state / "server/blobs").glob("*/*"):
        if path.read_bytes() == b"welcome\n":
            path.unlink()
    status, problem = create(cluster, manifest)
    assert status == 409
    assert "1 blob is missing" in problem["detail"]
    push(cluster, site)


def test_a_damaged_file_is_noticed_and_sent_again(cluster, site):
    manifest, _ = upload(cluster, site)
    [motd] = [path for path in (cluster.state / "server/blobs").glob("*/*") if path.read_bytes() == b"welcome\n"]
    motd.write_bytes(b"WELCOME\n")
    status, problem = create(cluster, manifest)
    assert status == 409 and "damaged" in problem["detail"]
    assert push(cluster, site)["sent_blobs"] == 1


@pytest.mark.parametrize("files", [
    [{"path": "../../../tmp/evil", "mode": "0644"}],
    [{"path": "/tmp/evil", "mode": "0644"}],
    [{"path": "a", "link": "../../etc/passwd"}],
    [{"path": "a", "link": "/tmp"}, {"path": "a/b", "mode": "0644"}],
    [{"path": "jobs/.git/config", "mode": "0644"}],
])
def test_a_hostile_manifest_is_refused(cluster, files):
    import hashlib

    text = json.dumps({"format": "eden.manifest/1", "files": files}, separators=(",", ":")).encode()
    name = hashlib.sha256(text).hexdigest()
    connection = LocalConnection(cluster)
    connection.request("PUT", f"/v1/blobs/{name}", text, {"Content-Type": "application/octet-stream"})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    connection.close()
    status, problem = create(cluster, name)
    assert status == 400, problem
    assert not pathlib.Path("/tmp/evil").exists()
    assert list((cluster.state / "server/checks").glob("*")) == []


def test_a_blob_must_have_its_hash(cluster):
    connection = LocalConnection(cluster)
    connection.request("PUT", f"/v1/blobs/{'0' * 64}", b"text", {"Content-Type": "application/octet-stream"})
    answer = connection.getresponse()
    problem = json.loads(answer.read())
    assert answer.status == 400 and "SHA-256" in problem["detail"]
    connection.close()
    assert blobs(cluster) == set()


def test_a_link_out_of_the_site_is_an_error(cluster, site):
    (site / "files/passwd").symlink_to("../../etc/passwd")
    pushed = cluster.call("push", site, check=False)
    assert pushed.returncode == 1
    assert "files/passwd: the link points outside the site" in pushed.stderr
    (site / "files/passwd").unlink()
    (site / "files/passwd").symlink_to("motd")
    push(cluster, site)


def test_a_large_file_is_sent_in_blobs(cluster, site):
    with open(site / "files/image", "wb") as file:
        for number in range(5):
            file.write(bytes([number]) * MIB)
        file.write(b"end")
    pushed = push(cluster, site)
    assert pushed["sent_blobs"] == 4 + 6
    with open(site / "files/image", "r+b") as file:
        file.seek(2 * MIB)
        file.write(b"changed")
    assert push(cluster, site)["sent_blobs"] == 1


def test_a_file_above_the_limit_is_an_error(cluster, site):
    with open(site / "files/huge", "wb") as file:
        file.truncate(1025 * MIB)
    pushed = cluster.call("push", site, check=False)
    assert pushed.returncode == 1
    assert "files/huge: with this file the site is larger than 1 GiB" in pushed.stderr


def test_a_site_has_up_to_100000_files(cluster, site):
    many = site / "files/many"
    many.mkdir()
    for number in range(61_000):
        (many / str(number)).touch()
    assert push(cluster, site)["files"] > 61_000
    for number in range(61_000, 100_000):
        (many / str(number)).touch()
    pushed = cluster.call("push", site, check=False)
    assert pushed.returncode == 1 and "more than 100000 files" in pushed.stderr


def test_a_push_that_was_killed_continues(cluster, site):
    for number in range(12):
        (site / f"files/{number:02}").write_bytes(bytes([number]) * MIB)
    process = subprocess.Popen([cluster.eden_path, "push", site, "--run-dir", cluster.run])
    wait_until(lambda: len(blobs(cluster)) >= 2, "some blobs have arrived")
    process.send_signal(signal.SIGKILL)
    process.wait()
    arrived = len(blobs(cluster))
    pushed = push(cluster, site)
    assert pushed["current"]
    assert pushed["sent_blobs"] <= pushed["blobs"] - min(arrived, pushed["blobs"] - 1) + 1


def test_a_rollback_returns_to_the_previous_version(cluster, site):
    first = push(cluster, site)["version"]
    write(site / "files/motd", "hello\n")
    second = push(cluster, site)["version"]
    rolled = cluster.call("versions", "rollback", "--reason", "broken")
    assert rolled.stdout == f"version {first} is current\n"
    record = current(cluster)
    assert (record["version"], record["previous"], record["reason"]) == (first, second, "broken")
    cluster.call("versions", "rollback", second[:6])
    assert current(cluster)["version"] == second


def test_a_pinned_version_is_not_replaced_by_a_push(cluster, site):
    first = push(cluster, site)["version"]
    cluster.call("versions", "pin")
    assert current(cluster)["pinned"] and current(cluster)["run"] is False
    write(site / "files/motd", "hello\n")
    refused = cluster.call("push", site, check=False)
    assert refused.returncode == 5
    assert f"version {first} is pinned by" in refused.stderr
    assert current(cluster)["version"] == first
    assert len(versions(cluster)) == 2
    cluster.call("versions", "unpin")
    pushed = push(cluster, site)
    assert pushed["current"] and current(cluster)["version"] == pushed["version"]
    assert push(cluster, site, "--pin")["current"]
    assert current(cluster)["pinned"]


def test_versions_are_compared(cluster, site):
    first = push(cluster, site)["version"]
    write(site / "files/motd", "hello\n")
    write(site / "files/new", "new\n")
    (site / "config.yaml").unlink()
    second = push(cluster, site)["version"]
    names = cluster.call("versions", "diff", "--name-status").stdout
    assert names == "D config.yaml\nM files/motd\nA files/new\n"
    text = cluster.call("versions", "diff", first[:5], second).stdout
    assert "--- a/files/motd\n+++ b/files/motd\n" in text
    assert "-welcome\n+hello\n" in text
    value = json.loads(cluster.call("versions", "diff", "-o", "json").stdout)
    assert value["before"] == first
    assert value["files"][0] == {"path": "config.yaml", "change": "removed"}


def test_versions_in_use_are_not_deleted(cluster, site):
    made = []
    for text in ("one\n", "two\n", "three\n"):
        write(site / "files/motd", text)
        made.append(push(cluster, site)["version"])
    for name, why in ((made[2], "current"), (made[1], "previous")):
        refused = cluster.call("versions", "delete", name, check=False)
        assert refused.returncode == 5
        assert f"version {name} is the {why} version" in refused.stderr
    cluster.call("versions", "delete", made[0])
    assert [version["metadata"]["name"] for version in versions(cluster)] == [made[2], made[1]]


def test_references_that_match_nothing_or_too_much(cluster, site):
    nothing = cluster.call("versions", "show", check=False)
    assert nothing.returncode == 3
    assert "E0882" in nothing.stderr
    push(cluster, site)
    unknown = cluster.call("versions", "show", "feedfeed", check=False)
    assert unknown.returncode == 3
    assert "'feedfeed' is not a version" in unknown.stderr


def test_a_version_knows_its_commit(cluster, site):
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-C", site]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "add the site"], check=True)
    push(cluster, site)
    [version] = versions(cluster)
    commit = version["spec"]["commit"]
    assert len(commit) == 40
    assert version["spec"]["branch"] == "main"
    assert version["spec"]["author"] == "Ann <ann@example.org>"
    assert version["spec"]["subject"] == "add the site"
    shown = json.loads(cluster.call("versions", "show", commit[:8], "-o", "json").stdout)
    assert shown["metadata"]["name"] == version["metadata"]["name"]
    write(site / "files/motd", "hello\n")
    push(cluster, site)
    assert versions(cluster)[0]["spec"]["commit"] == commit + "-dirty"


def test_the_record_of_the_current_version_is_not_written_by_hand(cluster, site):
    name = push(cluster, site)["version"]
    for key in ("/eden/current_version", f"/eden/objects/version/{name}"):
        refused = cluster.call("put", key, "x", "--force", check=False)
        assert refused.returncode == 4, refused.stderr


def test_a_directory_without_a_site_is_an_error(cluster, tmp_path):
    (tmp_path / "empty").mkdir()
    refused = cluster.call("push", tmp_path / "empty", check=False)
    assert refused.returncode == 1
    assert "not a site: it has no jobs/base.yaml" in refused.stderr
    missing = cluster.call("push", tmp_path / "nowhere", check=False)
    assert missing.returncode == 3 or missing.returncode == 1
    assert "no such directory" in missing.stderr


# A server whose blobs are on a separate small disk.
SMALL_DISK = 'mkdir -p "$0" && mount -t tmpfs -o size=6m tmpfs "$0" && exec "$@"'


def test_a_full_disk_of_the_server_is_reported_and_harms_nothing_else(cluster, site):
    cluster.server.stop()
    command = [cluster.eden_path, "serve", "--state-dir", cluster.state, "--run-dir", cluster.run]
    cluster.server = daemons.Daemon(
        cluster.folder, "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK,
        cluster.state / "server/blobs", *command)
    cluster.daemons.append(cluster.server)
    cluster.server.wait_ready()
    for number in range(8):
        (site / f"files/{number}").write_bytes(bytes([number]) * MIB)
    refused = cluster.call("push", site, check=False)
    assert refused.returncode == 3
    assert "the server's disk is nearly full" in refused.stderr
    cluster.call("put", "/test/key", "value")
    for number in range(8):
        (site / f"files/{number}").unlink()
    assert push(cluster, site)["current"]
