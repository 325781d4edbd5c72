"""A server whose store is on an etcd cluster that an operator runs."""

import json

import daemons
import etcd
import pytest
from api_client import UnixConnection
from cluster_world import get, is_alive, join, put
from events import wait_until

pytestmark = pytest.mark.only_on_etcd


def init(eden, tmp_path, *options):
    return eden("init", "--cluster", "blue", "--name", "s1", "--user", "root", "--address", "127.0.0.1",
                "--state-dir", tmp_path / "state", *options)


def look(cluster, target):
    connection = UnixConnection(cluster.run / "server/api.sock")
    try:
        connection.request("GET", target)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


@pytest.mark.parametrize("limits", [(), etcd.LIMITS[:2], etcd.LIMITS[2:]], ids=["none", "bytes", "operations"])
def test_an_etcd_with_lower_limits_is_rejected(eden, tmp_path, etcd_certificates, limits):
    one = etcd.Etcd(tmp_path / "etcd", etcd_certificates, limits=limits)
    try:
        done = init(eden, tmp_path, *one.options)
    finally:
        one.close()
    assert done.returncode == 1
    assert "'--max-request-bytes 4194304 --max-txn-ops 512'" in done.stderr
    assert not (tmp_path / "state/server/server.json").exists()


def test_an_etcd_with_other_data_is_rejected(cluster, eden, tmp_path, store):
    done = init(eden, tmp_path, *store.options)
    assert done.returncode == 5 and "is not empty: it contains 4 keys" in done.stderr
    assert cluster.eden("cluster", "check", "--state-dir", cluster.state).stdout.startswith("ok: ")


def test_an_etcd_that_does_not_respond_is_reported(eden, tmp_path, store):
    store.kill(store.members[0])
    done = init(eden, tmp_path, *store.options)
    assert done.returncode == 3 and "no connection to etcd" in done.stderr
    assert not (tmp_path / "state/server/server.json").exists()


def test_files_for_etcd_are_required(eden, tmp_path):
    done = init(eden, tmp_path, "--endpoints", "127.0.0.1:2379")
    assert done.returncode == 64 or "must be used together" in done.stderr
    assert "must be used together" in done.stderr


def test_the_server_reports_that_etcd_is_unreachable_and_recovers(cluster, store):
    cluster.start()
    agent = join(cluster, "web1")
    assert look(cluster, "/readyz")[0] == 200
    store.kill(store.members[0])
    wait_until(lambda: look(cluster, "/readyz")[0] == 503, "the server is not ready")
    status, ready = look(cluster, "/readyz")
    assert status == 503 and "no connection to etcd" in ready["problems"][0]["why"]
    assert look(cluster, "/v1/nodes")[0] == 200
    doctor = json.loads(cluster.call("doctor", "-o", "json", check=False).stdout)
    found = next(check for check in doctor["checks"] if check["name"] == "store")
    assert found["state"] == "failed" and "etcd" in found["text"], found
    refused = cluster.call("put", "/test/x", "1", check=False)
    assert refused.returncode != 0
    store.restart(store.members[0])
    wait_until(lambda: look(cluster, "/readyz")[0] == 200, "the server is ready again")
    put(cluster, "/test/x", "2")
    wait_until(lambda: is_alive(cluster, "web1"), "the node's session is known again")
    assert agent.process.poll() is None


def test_the_server_survives_the_loss_of_one_of_three_members(eden_path, tmp_path, etcd_certificates):
    three = etcd.Etcd(tmp_path / "etcd", etcd_certificates, members=3)
    cluster = daemons.Cluster(eden_path, tmp_path, options=three.options)
    try:
        cluster.start()
        for member in three.members:
            three.kill(member)
            put(cluster, f"/test/{member.name}", "still here")
            three.restart(member)
        assert [get(cluster, f"/test/{member.name}") for member in three.members] == ["still here"] * 3
    finally:
        cluster.close()
        three.close()


def test_a_new_certificate_for_etcd_is_loaded(cluster, tmp_path_factory, eden_path, tmp_path):
    certificates = etcd.Certificates(tmp_path / "own")
    one = etcd.Etcd(tmp_path / "etcd", certificates)
    own = daemons.Cluster(eden_path, tmp_path, name="s5", options=one.options)
    try:
        server = own.start()
        certificates.issue()
        server.wait_for_log("new certificate for etcd loaded")
        one.kill(one.members[0])
        one.restart(one.members[0])
        wait_until(lambda: look(own, "/readyz")[0] == 200, "the server is ready again")
    finally:
        own.close()
        one.close()


def test_a_different_store_is_rejected(cluster, store):
    settings = json.loads((cluster.state / "server/server.json").read_text())
    (cluster.state / "server/server.json").write_text(json.dumps({**settings, "store": "another"}))
    done = cluster.eden("serve", "--state-dir", cluster.state, "--run-dir", cluster.run, check=False)
    assert done.returncode == 1
    assert "contains a different store" in done.stderr


def test_a_backup_of_etcd_is_restored_to_a_file_and_back(cluster, store, tmp_path, eden_path,
                                                         etcd_certificates):
    cluster.start()
    put(cluster, "/test/kept", "hello")
    agent = join(cluster, "web1")
    backup = tmp_path / "blue.backup"
    cluster.call("backup", "create", backup)
    cluster.server.stop()
    agent.stop()
    restored = daemons.Cluster.__new__(daemons.Cluster)
    restored.__dict__.update({**cluster.__dict__, "state": tmp_path / "file/state", "run": tmp_path / "file/run",
                              "daemons": []})
    other = etcd.Etcd(tmp_path / "other", etcd_certificates)
    try:
        cluster.eden("backup", "restore", backup, "--user", "root", "--state-dir", restored.state)
        assert (restored.state / "server/store/store.db").exists()
        restored.start()
        assert get(restored, "/test/kept") == "hello"
        restored.call("backup", "create", tmp_path / "second.backup")
        restored.close()
        restored.state, restored.run = tmp_path / "etcd/state", tmp_path / "etcd/run"
        cluster.eden("backup", "restore", tmp_path / "second.backup", "--user", "root", "--state-dir",
                     restored.state, *other.options)
        assert not (restored.state / "server/store").exists()
        restored.start()
        assert get(restored, "/test/kept") == "hello"
        assert get(restored, "/eden/nodes/web1")["name"] == "web1"
    finally:
        restored.close()
        other.close()


def test_a_bad_record_on_etcd_is_found_and_repaired(cluster):
    cluster.start()
    key = "/eden/nodes/s1"
    record = get(cluster, key)
    cluster.call("put", key, "garbage", "--force")
    cluster.server.stop()
    found = cluster.eden("cluster", "check", "--state-dir", cluster.state, check=False)
    assert found.returncode == 1 and key in found.stdout
    cluster.eden("cluster", "repair", key, "--state-dir", cluster.state)
    assert cluster.eden("cluster", "check", "--state-dir", cluster.state).returncode == 0
    cluster.start()
    assert get(cluster, key) == record
    refused = cluster.eden("cluster", "repair", "--accept-loss", "--state-dir", cluster.state, check=False)
    assert refused.returncode != 0 and "in etcd" in refused.stderr
