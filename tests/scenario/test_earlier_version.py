"""A store of an earlier version, whose internal records are among the objects of the API: the
server moves them when it starts, and a backup of one is restored."""

import json
import re
import sqlite3

import pytest
from cluster_world import join
from events import wait_until
from test_permissions import ask, ask_local, bearer, make_token

KINDS = ("access-token", "grants", "join-nonce", "joining", "pki", "pki-without", "token",
         "user-certificate")
MOVED = "moved internal records of an earlier version"


def open_store(cluster):
    return sqlite3.connect(cluster.state / "server/store/store.db", timeout=30)


def keys_below(cluster, prefix):
    database = open_store(cluster)
    found = {bytes(key).decode() for (key,) in database.execute(
        "SELECT keys.key FROM keys JOIN changes ON changes.id = keys.id WHERE value IS NOT NULL")}
    database.close()
    return {key for key in found if key.startswith(prefix)}


def age(cluster):
    """Gives the records their former keys, in the file itself; returns these keys."""
    database = open_store(cluster)
    with database:
        for table in ("keys", "changes"):
            database.execute(f"DELETE FROM {table} WHERE key = ?", (b"/eden/internal/store/moved",))
            for (key,) in database.execute(f"SELECT DISTINCT key FROM {table}").fetchall():
                if key.startswith(b"/eden/internal/"):
                    former = key.replace(b"/eden/internal/", b"/eden/objects/", 1)
                    database.execute(f"UPDATE {table} SET key = ? WHERE key = ?", (former, key))
    database.close()
    assert not keys_below(cluster, "/eden/internal/")
    return {key for kind in KINDS for key in keys_below(cluster, f"/eden/objects/{kind}/")}


def present(former):
    return {key.replace("/eden/objects/", "/eden/internal/", 1) for key in former}


@pytest.fixture
def populated(cluster):
    """A cluster with tokens, a role, a node, and a node that was removed and may not return."""
    cluster.start()
    agents = {name: join(cluster, name) for name in ("web1", "web2")}
    for name in agents:
        wait_until(lambda name=name: cluster.call("nodes", "ping", name, check=False).returncode == 0,
                   f"{name} has a session")
    role = json.dumps({"spec": {"rules": [{"verbs": ["list"], "kinds": ["Node"]}]}})
    assert ask_local(cluster, "PUT", "/v1/roles/web", role)[0] == 201
    cluster.token = make_token(cluster, "web")
    cluster.join_token = json.loads(
        cluster.call("tokens", "create", "-o", "json").stdout)["metadata"]["name"]
    cluster.call("nodes", "remove", "web2")
    cluster.revocations = cluster.call("get", "/eden/internal/pki/revocations").stdout
    assert "web2" in cluster.revocations
    return cluster


def is_as_before(cluster, revocations, join_token, token):
    assert cluster.call("get", "/eden/internal/pki/revocations").stdout == revocations
    assert join_token in cluster.call("tokens", "list", "-o", "name").stdout
    assert ask(cluster, "GET", "/v1/nodes", **bearer(token))[0] == 200
    assert ask(cluster, "GET", "/v1/tokens", **bearer(token))[0] == 403
    names = [one["metadata"]["name"] for one in
             json.loads(cluster.call("nodes", "list", "-o", "json").stdout)["items"]]
    assert "web1" in names and "web2" not in names


def test_records_are_moved_when_the_server_starts(populated):
    cluster = populated
    assert cluster.server.stop() == 0
    former = age(cluster)
    kinds = {key.split("/")[3] for key in former}
    assert {"access-token", "grants", "pki", "token"} <= kinds
    cluster.start()
    line = cluster.server.wait_for_log(MOVED)
    assert int(re.search(r"keys=(\d+)", line)[1]) == len(former)
    assert present(former) <= keys_below(cluster, "/eden/internal/")
    assert not former & keys_below(cluster, "/eden/objects/")
    assert keys_below(cluster, "/eden/objects/role/") == {"/eden/objects/role/web"}
    is_as_before(cluster, cluster.revocations, cluster.join_token, cluster.token)
    wait_until(lambda: cluster.call("nodes", "ping", "web1", check=False).returncode == 0,
               "the node is back")
    # Only once: a record that a client puts there later is not a record of the server.
    cluster.call("put", "/eden/objects/access-token/aaaaaaaa", "{}", "--force")
    assert cluster.server.stop() == 0
    cluster.start()
    assert not any(MOVED in line for line in cluster.server.log)
    assert "/eden/internal/access-token/aaaaaaaa" not in keys_below(cluster, "/eden/internal/")


def test_a_server_killed_during_the_migration_loses_nothing(cluster):
    cluster.start()
    for number in range(400):
        body = json.dumps({"spec": {"description": f"rack {number}"}})
        assert ask_local(cluster, "POST", "/v1/tokens", body)[0] == 201
    assert cluster.server.stop() == 0
    former = age(cluster)
    assert len(former) >= 400
    for limit in (1, 50, 120, 250):
        daemon = cluster.daemon("serve", "--state-dir", cluster.state, "--run-dir", cluster.run)
        wait_until(lambda limit=limit: len(keys_below(cluster, "/eden/internal/")) >= limit,
                   "some are moved")
        daemon.kill()
        now = keys_below(cluster, "/eden/internal/") - {"/eden/internal/store/moved"}
        left = keys_below(cluster, "/eden/objects/")
        assert now | present(left) == present(former) and not now & present(left)
    cluster.start()
    tokens = json.loads(cluster.call("tokens", "list", "-o", "json").stdout)["items"]
    assert len(tokens) == 400
    assert not keys_below(cluster, "/eden/objects/")


def test_a_backup_of_an_earlier_version_is_restored(populated, tmp_path):
    cluster = populated
    former = age(cluster)
    backup = tmp_path / "old.backup"
    cluster.call("backup", "create", backup)
    assert cluster.server.stop() == 0
    cluster.call("backup", "verify", backup)
    output = json.loads(cluster.eden("backup", "verify", backup, "-o", "json").stdout)
    assert output["tokens"] >= 1
    cluster.state.rename(tmp_path / "away")
    cluster.eden("backup", "restore", backup, "--user", "root", "--state-dir", cluster.state)
    assert present(former) <= keys_below(cluster, "/eden/internal/")
    assert not former & keys_below(cluster, "/eden/objects/")
    cluster.start()
    is_as_before(cluster, cluster.call("get", "/eden/internal/pki/revocations").stdout,
                 cluster.join_token, cluster.token)
    assert "web2" in cluster.call("get", "/eden/internal/pki/revocations").stdout


def test_a_store_is_checked_before_it_is_moved(populated):
    """'eden cluster check' finds a bad record by its former key."""
    cluster = populated
    assert cluster.server.stop() == 0
    age(cluster)
    database = open_store(cluster)
    with database:
        database.execute("UPDATE changes SET value = ? WHERE key = ?",
                         (b"junk", b"/eden/objects/pki/revocations"))
    database.close()
    done = cluster.eden("cluster", "check", "--state-dir", cluster.state, check=False)
    assert done.returncode == 1
    assert "/eden/objects/pki/revocations" in done.stdout + done.stderr
