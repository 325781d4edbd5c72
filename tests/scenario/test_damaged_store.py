"""A store that is damaged or went back in time: reported to all clients, no longer written to, and
repaired by the command that the message names."""

import json
import shutil
import signal
import sqlite3

import pytest

from api_client import call, get, put
from cluster_world import is_alive, join, rewrite
from events import wait_until

PAGE = 4096
REVOCATIONS = "/eden/internal/pki/revocations"
ROTATION = "/eden/internal/pki/rotation"


def store_of(cluster):
    return cluster.state / "server/store"


def problems(cluster):
    status, response = call(cluster, "GET", "/readyz")
    assert (status == 200) == (response["problems"] == [])
    return {problem["what"]: problem for problem in response["problems"]}


def doctor(cluster):
    done = cluster.call("doctor", "-o", "json", check=False)
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def repair(cluster, *words, check=True):
    return cluster.eden("cluster", "repair", *words, "--state-dir", cluster.state, check=check)


def check_of(cluster):
    done = cluster.eden("cluster", "check", "--state-dir", cluster.state, "-o", "json", check=False)
    report = json.loads(done.stdout)
    assert (done.returncode == 0) == (report.get("whole", False) and report.get("bad") == []), report
    return report


def metric(cluster, name):
    lines = cluster.call("api", "GET", "/metrics").stdout.splitlines()
    return next(int(line.split()[1]) for line in lines if line.split()[0] == name)


def refused(cluster, what):
    done = cluster.call("put", "/t/refused", "x", check=False)
    assert done.returncode != 0 and what in done.stderr, done.stderr


def write_later(cluster, key, value):
    """A later change of a record that the API guards, as an older server let an administrator make.
    The server is stopped."""
    store = sqlite3.connect(store_of(cluster) / "store.db")
    with store:
        last = store.execute("SELECT max(id) >> 20 FROM changes").fetchone()[0]
        before, version, created = store.execute(
            "SELECT id, version, create_revision FROM keys WHERE key = ?", (key.encode(),)).fetchone()
        change = (last + 1) << 20
        store.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, 0, ?)",
                      (change, key.encode(), value, version + 1, created, before))
        store.execute("UPDATE keys SET id = ?, version = ? WHERE key = ?",
                      (change, version + 1, key.encode()))
    store.close()


def state_of_rotation(cluster):
    return json.loads(cluster.call("pki", "-o", "json").stdout)["rotation"]["state"]


def lose_writes(cluster):
    """The last acknowledged writes are only in the store's log, which is removed while the server
    is stopped.
    """
    put(cluster, "/t/kept", "yes")
    cluster.server.stop()  # closing writes the log into the store
    cluster.start()
    put(cluster, "/t/lost", "yes")
    revision = json.loads(cluster.call("get", "/t/lost", "-o", "json").stdout)["revision"]
    cluster.server.process.send_signal(signal.SIGKILL)
    cluster.server.process.wait()
    (store_of(cluster) / "store.db-wal").unlink()
    return revision


def test_a_removed_log_is_detected_and_the_loss_accepted(cluster):
    cluster.start()
    revision = lose_writes(cluster)
    printed = check_of(cluster)
    assert not printed["whole"] and f"but {revision} was acknowledged" in printed["damage"]
    assert "lost acknowledged writes" in doctor(cluster)["store"]["text"]
    cluster.start()
    assert "lost acknowledged writes" in cluster.server.wait_for_log("store is damaged and read-only")
    why = problems(cluster)["store"]
    assert why["condition"] == "damaged" and "eden cluster repair --accept-loss" in why["why"]
    assert call(cluster, "GET", "/v1/health")[0] == 503
    assert metric(cluster, "eden_store_damaged") == 1
    seen = doctor(cluster)["store"]
    assert seen["state"] == "failed" and "damaged" in seen["text"] and "eden cluster" in seen["fix"]
    refused(cluster, "the store is damaged and read-only")
    assert get(cluster, "/t/kept") == "yes"  # existing data is read
    listed = cluster.call("nodes")
    assert "s1" in listed.stdout and "data may be out of date since" in listed.stderr
    assert repair(cluster, "--accept-loss", check=False).returncode == 5  # it runs
    assert cluster.server.stop() == 0
    cluster.start()  # not forgotten
    assert problems(cluster)["store"]["condition"] == "damaged"
    cluster.server.stop()
    done = repair(cluster, "--accept-loss")
    assert "are lost; the store continues at revision" in done.stdout
    assert "warning: nodes, tokens and user certificates that were revoked or removed" in done.stderr
    assert "eden tokens list" in done.stderr and "eden nodes remove NAME" in done.stderr
    assert check_of(cluster)["whole"]
    cluster.start()
    assert problems(cluster) == {}
    assert metric(cluster, "eden_store_damaged") == 0
    assert get(cluster, "/t/kept") == "yes"
    put(cluster, "/t/new", "yes")
    later = json.loads(cluster.call("get", "/t/new", "-o", "json").stdout)["revision"]
    assert later > revision
    done = repair(cluster, "--accept-loss", check=False)
    assert done.returncode == 5


def test_a_truncated_log_is_detected_and_the_loss_accepted(cluster):
    cluster.start()
    put(cluster, "/t/kept", "yes")
    cluster.server.stop()
    cluster.start()
    for i in range(40):
        put(cluster, f"/t/{i}", "x" * 500)
    put(cluster, "/t/lost", "yes")
    revision = json.loads(cluster.call("get", "/t/lost", "-o", "json").stdout)["revision"]
    cluster.server.process.send_signal(signal.SIGKILL)
    cluster.server.process.wait()
    log = store_of(cluster) / "store.db-wal"
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size // 2)
    printed = check_of(cluster)
    assert not printed["whole"] and f"but {revision} was acknowledged" in printed["damage"]
    cluster.start()
    assert "lost acknowledged writes" in cluster.server.wait_for_log("store is damaged and read-only")
    refused(cluster, "the store is damaged and read-only")
    assert get(cluster, "/t/kept") == "yes"
    cluster.server.stop()
    assert "are lost; the store continues at revision" in repair(cluster, "--accept-loss").stdout
    cluster.start()
    assert problems(cluster) == {}
    put(cluster, "/t/new", "yes")
    assert json.loads(cluster.call("get", "/t/new", "-o", "json").stdout)["revision"] > revision


def test_nodes_return_to_a_store_whose_loss_was_accepted(cluster):
    cluster.start()
    join(cluster, "web1")
    lose_writes(cluster)
    repair(cluster, "--accept-loss")
    cluster.start()
    wait_until(lambda: is_alive(cluster, "web1"), "web1 is alive")
    assert doctor(cluster)["store"]["state"] == "ok"


def test_damaged_pages_are_found_and_a_backup_restores_them(cluster):
    cluster.start()
    for number in range(60):
        put(cluster, f"/t/large/{number:02}", "x" * 3500)
    cluster.call("backup", "create", "good.backup")
    cluster.server.stop()
    path = store_of(cluster) / "store.db"
    content = path.read_bytes()
    with open(path, "r+b") as file:  # pages that contain only these values
        for at in range(0, len(content), PAGE):
            if b"x" * 3400 in content[at:at + PAGE]:
                file.seek(at)
                file.write(b"\xa5" * PAGE)
    printed = check_of(cluster)
    assert not printed["whole"] and "is damaged" in printed["damage"]
    cluster.start()  # no query reads those pages: they are checked nevertheless
    assert "is damaged" in cluster.server.wait_for_log("store is damaged and read-only")
    assert "eden backup restore FILE" in problems(cluster)["store"]["why"]
    refused(cluster, "the store is damaged and read-only")
    cluster.server.stop()
    done = repair(cluster, "--accept-loss", check=False)
    assert done.returncode != 0 and "is damaged" in done.stderr
    cluster.start()  # as before: readable data is served
    assert problems(cluster)["store"]["condition"] == "damaged"
    cluster.server.stop()
    shutil.move(cluster.state, cluster.folder / "damaged")
    cluster.eden("backup", "restore", cluster.folder / "good.backup", "--state-dir", cluster.state,
                 "--user", "root")
    cluster.start()
    assert problems(cluster) == {}
    assert get(cluster, "/t/large/59") == "x" * 3500


def test_check_reads_keys_with_any_bytes_in_them(cluster):
    cluster.start()
    for number in range(600):  # more than a page
        put(cluster, f"/t\0{number}", "x")
    cluster.server.stop()
    report = check_of(cluster)
    assert report["whole"] and report["bad"] == [] and report["keys"] > 600


@pytest.mark.parametrize("key", [REVOCATIONS, "/eden/internal/pki/rotation", "/eden/internal/pki/trust",
                                 "/eden/internal/token/aaaaaaaa"])
def test_records_of_trust_are_not_changed_as_keys(cluster, key):
    cluster.start()
    for words in (("put", key, "junk", "--force"), ("delete", key, "--force")):
        done = cluster.call(*words, check=False)
        assert done.returncode == 4 and "cannot be changed directly" in done.stderr, done.stderr


def test_junk_in_the_revocations_locks_all_nodes_out_and_is_repaired(cluster):
    cluster.start()
    agent = join(cluster, "web1")
    join(cluster, "web2")
    cluster.call("nodes", "remove", "web2", "--yes")
    good = cluster.call("get", REVOCATIONS).stdout
    assert "web2" in good
    cluster.server.stop()
    write_later(cluster, REVOCATIONS, b"junk")
    cluster.start()  # it does, for operators on its machine
    cluster.server.wait_for_log("cannot read the revocation list")
    assert "cannot be read" in problems(cluster)["revocations"]["why"]
    assert doctor(cluster)["revocations"]["state"] == "failed"
    agent.wait_for_log("rejected this client")  # and retries later
    cluster.server.stop()
    bad = check_of(cluster)["bad"]
    assert [record["key"] for record in bad] == [REVOCATIONS]
    printed = repair(cluster, REVOCATIONS).stdout
    assert "repaired: restored the value of revision" in printed
    saved = next(line.split()[-1] for line in printed.splitlines() if "saved its value as" in line)
    assert open(saved).read() == "junk"
    assert check_of(cluster)["bad"] == []
    assert repair(cluster, REVOCATIONS, check=False).returncode == 5  # it is readable
    cluster.start()
    assert cluster.call("get", REVOCATIONS).stdout == good  # web2 is still locked out
    assert problems(cluster) == {}
    wait_until(lambda: is_alive(cluster, "web1"), "web1 is alive")


def test_junk_for_the_rotation_stops_rotations_only_and_is_repaired(cluster):
    cluster.start()
    join(cluster, "web1")
    cluster.call("pki", "rotate")
    cluster.call("pki", "rotate", "--abort")
    good = cluster.call("get", ROTATION).stdout
    cluster.server.stop()
    write_later(cluster, ROTATION, b"junk")
    cluster.start()
    assert "eden cluster repair /eden/internal/pki/rotation" in cluster.server.wait_for_log(
        "cannot rotate the CA")
    assert problems(cluster) == {}
    join(cluster, "web2")  # certificates are issued and accepted
    wait_until(lambda: is_alive(cluster, "web1"), "web1 is alive")
    assert doctor(cluster)["rotation"]["state"] == "failed"
    assert "The CA cannot be rotated" in cluster.call("pki").stdout
    done = cluster.call("pki", "rotate", check=False)
    assert done.returncode != 0 and f"eden cluster repair {ROTATION}" in done.stderr
    assert not (cluster.state / "server/ca-next.pem").exists()
    cluster.server.stop()
    assert [record["key"] for record in check_of(cluster)["bad"]] == [ROTATION]
    assert "repaired: restored the value of revision" in repair(cluster, ROTATION).stdout
    cluster.start()
    assert cluster.call("get", ROTATION).stdout == good
    assert doctor(cluster)["rotation"]["state"] == "ok"
    cluster.call("pki", "rotate")
    assert state_of_rotation(cluster) != "steady"


def test_junk_in_an_ongoing_rotation_prevents_choosing_a_ca(cluster):
    cluster.start()
    agent = join(cluster, "web1")
    agent.stop()
    cluster.call("pki", "rotate")
    wait_until(lambda: state_of_rotation(cluster) == "distribute", "it waits for web1")
    cluster.server.stop()
    write_later(cluster, ROTATION, b"junk")
    done = cluster.eden("serve", "--state-dir", cluster.state, "--run-dir", cluster.run, check=False)
    assert done.returncode != 0 and f"eden cluster repair {ROTATION}" in done.stderr, done.stderr
    assert (cluster.state / "server/ca-next.pem").exists()
    repair(cluster, ROTATION)
    cluster.start()
    assert state_of_rotation(cluster) == "distribute"


def test_a_record_without_a_valid_value_is_deleted_on_request(cluster):
    cluster.start()
    made = json.loads(cluster.call("tokens", "create", "-o", "json").stdout)["metadata"]["name"]
    key = f"/eden/internal/token/{made}"
    rewrite(cluster, key, b"\xff\x00junk")
    listed = json.loads(cluster.call("tokens", "list", "-o", "json").stdout)["items"]
    assert [token["status"]["state"] for token in listed] == ["unreadable"]
    assert repair(cluster, key, check=False).returncode == 5  # the server has it open
    cluster.server.stop()
    done = repair(cluster, key, check=False)
    assert done.returncode == 1 and "--delete" in done.stderr
    assert repair(cluster, key, "--delete").stdout.splitlines()[-1] == "deleted"
    assert check_of(cluster)["bad"] == []
    assert repair(cluster, key, "--delete", check=False).returncode == 1
    assert repair(cluster, check=False).returncode == 64


@pytest.mark.parametrize("words", [("check",), ("repair", "--accept-loss"), ("repair", REVOCATIONS)])
def test_the_store_of_a_running_server_is_not_touched(cluster, words):
    cluster.start()
    done = cluster.eden("cluster", *words, "--state-dir", cluster.state, check=False)
    assert done.returncode != 0
    assert "another process has this store open; stop the server first ('systemctl stop eden')" in done.stderr
