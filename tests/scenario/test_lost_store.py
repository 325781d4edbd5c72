"""A server whose store is lost or foreign: it does not create a new one, and all commands report
the same reason, with what to do."""

import http.client
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading

import daemons
import pytest

from api_client import call, get, put
from cluster_world import LocalConnection, join
from events import wait_until

LOST = "the store of this cluster is lost"


def store_of(cluster):
    return cluster.state / "server/store"


def lose(cluster):
    for path in store_of(cluster).glob("store.db*"):
        path.unlink()


def is_complete(cluster):
    """Whether a restore is complete: its settings come last."""
    return ((cluster.state / "server/server.json").exists()
            and (store_of(cluster) / "store.db").exists())  # fmt: skip


def serve(cluster):
    """A server that must not start; returns its error."""
    done = cluster.eden("serve", "--state-dir", cluster.state, "--run-dir", cluster.run, check=False)
    assert done.returncode != 0
    return done.stderr


def checks(cluster):
    done = cluster.call("doctor", "-o", "json", check=False)
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def advice_to_leave(seen):
    """Checks whose advice would remove this machine from the cluster."""
    return [check for check in seen.values() if "leave" in check.get("fix", "")]


@pytest.fixture
def backup(cluster):
    cluster.start()
    put(cluster, "/t/kept", "yes")
    cluster.call("backup", "create", "today.backup")
    assert cluster.server.stop() == 0
    return cluster.folder / "today.backup"


@pytest.mark.parametrize("how", ["no file", "no directory", "empty"])
def test_no_new_store_is_created_in_place_of_a_lost_one(cluster, how):
    lose(cluster)
    if how == "empty":
        (store_of(cluster) / "store.db").touch()
    elif how == "no directory":
        for path in store_of(cluster).iterdir():
            path.unlink()
        store_of(cluster).rmdir()
    printed = serve(cluster)
    assert LOST in printed and f"eden backup restore FILE --state-dir {cluster.state}" in printed
    assert "eden init" in printed
    assert (store_of(cluster) / "store.db").exists() == (how == "empty")
    assert LOST in serve(cluster)  # also the second time
    seen = checks(cluster)
    assert LOST in seen["store"]["text"] and LOST in seen["server"]["text"]
    assert "eden backup restore" in seen["store"]["fix"]
    assert not advice_to_leave(seen)


def test_the_agent_reports_why_there_is_no_server(cluster):
    lose(cluster)
    agent = cluster.daemon("agent", "--state-dir", cluster.state, "--run-dir", cluster.run,
                           "--config-dir", cluster.folder / "etc")
    assert LOST in agent.wait_for_log("server exited; restarting it")
    done = subprocess.run(["curl", "-sS", "--unix-socket", cluster.run / "agent.sock",
                           "http://eden/v1/agent"], capture_output=True, text=True, check=True)
    assert LOST in json.loads(done.stdout)["server"]["why"]
    seen = checks(cluster)
    assert LOST in seen["server"]["text"]
    assert not advice_to_leave(seen)


def test_the_suggested_command_restores_it(cluster, backup):
    lose(cluster)
    bad = cluster.folder / "bad.backup"
    bad.write_bytes(backup.read_bytes()[:-100])
    assert cluster.eden("backup", "restore", bad, "--state-dir", cluster.state, "--user", "root",
                        check=False).returncode != 0
    assert LOST in serve(cluster)  # nothing was changed by that
    cluster.eden("backup", "restore", backup, "--state-dir", cluster.state, "--user", "root")
    cluster.start()
    assert get(cluster, "/t/kept") == "yes"


def test_revoked_nodes_stay_out_of_a_restored_store(cluster):
    """Both agents run all the time, without any action on their machines."""
    cluster.start()
    join(cluster, "web1")
    web2 = join(cluster, "web2")
    cluster.call("pki", "revoke", "web2")
    web2.wait_for_log("revoked")
    cluster.call("backup", "create", "today.backup")
    assert cluster.server.stop() == 0
    lose(cluster)
    assert LOST in serve(cluster)
    cluster.eden("backup", "restore", cluster.folder / "today.backup", "--state-dir", cluster.state,
                 "--user", "root")
    cluster.start()
    # That it was alive is in the backup; commands reach it through a session.
    wait_until(lambda: cluster.call("nodes", "ping", "web1", check=False).returncode == 0,
               "web1 is back")
    # It retries as long as it runs, and a new process gets the same response.
    web2.stop()
    folder = cluster.folder / "web2"
    again = cluster.daemon("agent", "--state-dir", folder / "state", "--run-dir", folder / "run",
                           "--config-dir", folder / "etc")
    again.wait_for_log("revoked")
    # Its session is not in the backup: the leader records when it was last seen.
    wait_until(lambda: "'web2' has been silent since" in
               cluster.call("nodes", "ping", "web2", check=False).stderr, "web2 is noted as silent")


def test_a_killed_restore_is_repeated(cluster, backup):
    lose(cluster)
    command = [cluster.eden_path, "backup", "restore", backup, "--state-dir", cluster.state,
               "--user", "root"]
    for after_ms in (1, 5, 10, 20, 40):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=daemons.environment())
        try:
            process.wait(after_ms / 1000)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        if is_complete(cluster):
            break  # it may be killed after its last step
        printed = serve(cluster)
        assert LOST in printed or "no cluster in" in printed, printed
    if not is_complete(cluster):
        cluster.eden(*command[1:])
    cluster.start()
    assert get(cluster, "/t/kept") == "yes"


def test_an_existing_store_is_not_overwritten_by_a_restore(cluster, backup):
    done = cluster.eden("backup", "restore", backup, "--state-dir", cluster.state, "--user", "root",
                        check=False)
    assert done.returncode != 0 and "a cluster already exists" in done.stderr
    assert cluster.eden("init", "--cluster", "blue", "--user", "root", "--state-dir", cluster.state,
                        check=False).returncode != 0
    cluster.start()
    assert get(cluster, "/t/kept") == "yes"


def test_the_store_of_another_cluster_is_rejected(cluster, backup):
    other = cluster.folder / "other"
    cluster.eden("init", "--cluster", "blue", "--name", "s1", "--user", "root", "--state-dir", other)
    lose(cluster)
    foreign = (other / "server/store/store.db").read_bytes()
    (store_of(cluster) / "store.db").write_bytes(foreign)
    printed = serve(cluster)
    assert "is a different one: its ID is" in printed and "eden backup restore" in printed
    assert "is a different one" in checks(cluster)["server"]["text"]
    lose(cluster)
    cluster.eden("backup", "restore", backup, "--state-dir", cluster.state, "--user", "root")
    cluster.start()
    wait_until(lambda: get(cluster, "/t/kept") == "yes", "what was in the backup")


def test_a_store_created_before_ids_existed_gets_one(cluster):
    cluster.start()
    cluster.server.stop()
    path = store_of(cluster) / "store.db"
    with sqlite3.connect(path) as database:
        row = database.execute("DELETE FROM keys WHERE key = CAST('/eden/store_id' AS BLOB)")
        assert row.rowcount == 1
    cluster.start()
    wanted = json.loads((cluster.state / "server/server.json").read_text())["store"]
    wait_until(lambda: get(cluster, "/eden/store_id") == wanted, "its id")


# Changes made to an open store, under its directory.
DAMAGES = {
    "the file": lambda store: (store / "store.db").unlink(),
    "the log": lambda store: (store / "store.db-wal").unlink(),
    "both": lambda store: [path.unlink() for path in store.glob("store.db*")],
    # The server may restore it meanwhile.
    "the directory": lambda store: shutil.rmtree(store, ignore_errors=True),
    "moved": lambda store: store.rename(store.parent / "aside"),
}


def write_until_rejected(cluster):
    """Returns the acknowledged keys, and the response to the one that was not."""
    kept = []
    while True:
        key = f"/t/{len(kept)}"
        status, response = call(cluster, "PUT", f"/v1/store?key={key}", {"value": key})
        if status != 200:
            return kept, status, response
        kept.append(key)
        assert len(kept) < 100, "it goes on acknowledging"


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("end", ["by itself", "killed"])
def test_a_store_removed_while_open_is_put_back(cluster, how, end):
    cluster.start()
    put(cluster, "/t/kept", "yes")
    DAMAGES[how](store_of(cluster))
    kept, status, response = write_until_rejected(cluster)
    assert kept == [] and status == 503 and LOST in response["detail"]
    if end == "killed":
        cluster.server.wait_for_log("fatal error")
        cluster.server.kill()
    else:
        assert cluster.server.process.wait(timeout=daemons.LIMIT) != 0
        failure = (cluster.run / "server/failure").read_text()
        assert "acknowledged writes were saved there again" in failure and str(store_of(cluster)) in failure
    cluster.start()
    assert get(cluster, "/t/kept") == "yes"
    put(cluster, "/t/after", "yes")
    assert [path.name for path in store_of(cluster).glob("*rescued*")] == []
    assert cluster.server.stop() == 0


@pytest.mark.parametrize("how", DAMAGES)
def test_a_store_removed_before_a_stop_is_put_back(cluster, how):
    cluster.start()
    put(cluster, "/t/kept", "yes")
    DAMAGES[how](store_of(cluster))
    done = subprocess.run(["curl", "-sS", "--unix-socket", cluster.run / "server/api.sock", "-w",
                           "%{http_code}", "http://eden/readyz"], capture_output=True, text=True,
                          check=True)
    assert LOST in done.stdout and done.stdout.endswith("503")
    cluster.server.stop()
    cluster.start()
    assert get(cluster, "/t/kept") == "yes"


def test_the_operator_chooses_between_two_stores(cluster, backup):
    """Another file in its place may be there deliberately: it is not overwritten."""
    cluster.start()
    put(cluster, "/t/later", "yes")
    path = store_of(cluster) / "store.db"
    other = cluster.folder / "older.db"
    with sqlite3.connect(path) as database:
        database.execute("VACUUM INTO ?", (str(other),))
    put(cluster, "/t/latest", "yes")
    other.replace(path)
    assert write_until_rejected(cluster)[1] == 503
    assert cluster.server.process.wait(timeout=daemons.LIMIT) != 0
    printed = serve(cluster)
    assert "store.db.rescued" in printed and "move the current file away" in printed
    assert "store.db.rescued" in checks(cluster)["server"]["text"]
    path.rename(cluster.folder / "elsewhere.db")
    cluster.start()
    assert get(cluster, "/t/latest") == "yes"


@pytest.mark.parametrize("how", ["moved", "the directory"])
def test_a_store_that_cannot_be_saved_keeps_the_server_running(cluster, how):
    """State that only this process has must survive: the key of the CA, and the settings."""
    cluster.start()
    put(cluster, "/t/kept", "yes")
    before = (cluster.state / "server/ca.pem").read_bytes()
    DAMAGES[how](cluster.state / "server")
    assert write_until_rejected(cluster)[0] == []
    assert "do not stop it" in cluster.server.wait_for_log("no longer writable")
    assert get(cluster, "/t/kept") == "yes"
    listed = cluster.call("nodes")
    assert "s1" in listed.stdout and "data may be out of date since" in listed.stderr
    assert checks(cluster)["store"]["fix"].startswith("do not stop the server")
    (cluster.state / "server").mkdir(mode=0o700)
    assert write_until_rejected(cluster)[1] == 503
    assert cluster.server.process.wait(timeout=daemons.LIMIT) != 0
    assert (cluster.state / "server/ca.pem").read_bytes() == before
    cluster.start()
    assert get(cluster, "/t/kept") == "yes"


def test_no_backup_is_made_of_another_store(cluster):
    cluster.start()
    put(cluster, "/t/kept", "yes")
    path = store_of(cluster) / "store.db"
    other = cluster.folder / "older.db"
    with sqlite3.connect(path) as database:
        database.execute("VACUUM INTO ?", (str(other),))
    other.replace(path)
    done = cluster.call("backup", "create", "today.backup", check=False)
    assert done.returncode != 0 and LOST in done.stderr
    assert not (cluster.folder / "today.backup").exists()


@pytest.mark.parametrize("how", DAMAGES)
def test_acknowledged_writes_of_many_clients_are_kept(cluster, how):
    """Writes acknowledged before it was taken away are still there."""
    cluster.start()
    output = [[] for _ in range(8)]
    met = threading.Barrier(len(output) + 1)

    def write(number):
        connection = LocalConnection(cluster)
        try:
            while True:
                key = f"/t/{number}/{len(output[number])}"
                connection.put(key, key)
                output[number].append(key)
                if len(output[number]) == 20:
                    met.wait()
        except (AssertionError, OSError, http.client.HTTPException):
            connection.close()  # rejected, or the server has exited

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(output))]
    for thread in threads:
        thread.start()
    met.wait()
    DAMAGES[how](store_of(cluster))
    for thread in threads:
        thread.join()
    assert cluster.server.process.wait(timeout=daemons.LIMIT) != 0
    cluster.start()
    kept = cluster.call("get", "/t/", "--prefix", "-o", "json").stdout
    for keys in output:
        assert len(keys) >= 20
        assert [key for key in keys if f'"{key}"' not in kept] == []
