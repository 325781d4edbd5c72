"""`eden backup`: a running server becomes a file, and a fresh machine becomes that server."""

import hashlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time

import api_client
import daemons
import pytest

from api_client import call, get, put
from events import wait_until

VALUE = "v" * 5000


@pytest.fixture
def cluster(cluster):
    cluster.start()
    return cluster


def create(cluster, *args):
    """A backup, as printed."""
    return json.loads(cluster.call("backup", "create", *args, "-o", "json").stdout)


def verify(cluster, path, check=False):
    return cluster.eden("backup", "verify", path, "--scratch", cluster.folder, check=check)


def restore(cluster, path, state, *args, check=True):
    return cluster.eden("backup", "restore", path, "--state-dir", state, "--user", "root", "-o",
                        "json", *args, check=check)


class Restored(daemons.Cluster):
    """The cluster on another machine, which here is another folder."""

    def __init__(self, cluster, name="restored"):
        self.eden_path, self.folder = cluster.eden_path, cluster.folder
        self.state, self.run = cluster.folder / name / "state", cluster.folder / name / "run"
        self.daemons, self.server = [], None


@pytest.fixture
def fresh(cluster):
    other = Restored(cluster)
    yield other
    other.close()


def test_a_backup_respects_its_timeout(cluster, tmp_path):
    os.kill(cluster.server.process.pid, signal.SIGSTOP)
    try:
        done = cluster.call("backup", "create", tmp_path / "b", "--timeout", "200ms", check=False)
    finally:
        os.kill(cluster.server.process.pid, signal.SIGCONT)
    assert done.returncode == 124
    assert "error[E0813]" in done.stderr and "'--timeout 2m' to wait longer" in done.stderr
    assert not (tmp_path / "b").exists()


@pytest.mark.also_on_etcd
def test_everything_is_restored(cluster, fresh):
    for i in range(50):
        put(cluster, f"/t/{i}", VALUE + str(i))
    call(cluster, "PATCH", "/v1/nodes/s1", {"metadata": {"labels": {"role": "server"}}})
    token = json.loads(cluster.call("tokens", "create", "-o", "json").stdout)
    made = create(cluster, "blue.backup")
    assert made["cluster"] == "blue" and made["node"] == "s1"
    assert os.stat(cluster.folder / "blue.backup").st_mode & 0o777 == 0o600
    put(cluster, "/t/0", "after the backup")
    cluster.server.stop()

    checked = json.loads(cluster.eden("backup", "verify", "blue.backup", "--scratch", ".", "-o",
                                      "json").stdout)
    assert checked["nodes"] == 1 and checked["tokens"] == 1 and checked["keys"] > 50
    assert checked["ca_pin"] == cluster.init_output["ca_pin"]
    output = cluster.eden("backup", "verify", "blue.backup", "--scratch", ".").stdout
    assert " keys, 1 node, 1 token\n" in output

    done = json.loads(restore(cluster, "blue.backup", fresh.state).stdout)
    assert done["revision"] == made["revision"] and done["store"] != made["store"]
    assert not (fresh.state / "server/restore").exists()
    fresh.start()
    for i in range(50):
        assert get(fresh, f"/t/{i}") == VALUE + str(i)
    tokens = call(fresh, "GET", "/v1/tokens")[1]["items"]
    assert [each["metadata"]["name"] for each in tokens] == [token["metadata"]["name"]]
    node = call(fresh, "GET", "/v1/nodes/s1")[1]
    assert node["metadata"]["labels"] == {"role": "server"} and node["status"]["server"]
    assert put(fresh, "/t/new", "1") > made["revision"]


def test_fields_of_a_newer_server_are_restored(cluster, fresh):
    """Also those of the server's own node, whose record is rewritten."""
    record = json.loads(get(cluster, "/eden/nodes/s1"))
    put(cluster, "/eden/nodes/s1", json.dumps({**record, "zone": {"name": "north"}}))
    create(cluster, "blue.backup")
    cluster.server.stop()
    restore(cluster, "blue.backup", fresh.state)
    fresh.start()
    assert json.loads(get(fresh, "/eden/nodes/s1"))["zone"] == {"name": "north"}


def test_a_warning_lists_revocations_since_the_backup(cluster, fresh):
    """Restoring a backup reactivates what was revoked after it; the user must be warned."""
    join = json.loads(cluster.call("tokens", "create", "-o", "json").stdout)["metadata"]["name"]
    api = json.loads(cluster.call("tokens", "create", "--role", "viewer", "-o", "json").stdout)
    made = create(cluster, "blue.backup")
    cluster.call("tokens", "revoke", join, api["metadata"]["name"])
    cluster.server.stop()

    done = json.loads(restore(cluster, "blue.backup", fresh.state).stdout)
    assert done["time"] == made["time"]
    assert (done["nodes"], done["tokens"], done["api_tokens"], done["user_certificates"]) == (1, 1, 1, 0)
    assert made["time"] in done["warning"] and "valid again" in done["warning"]
    assert {"list": "eden tokens list", "revoke": "eden tokens revoke ID"} in done["review"]
    fresh.start()
    tokens = [each["metadata"]["name"] for each in call(fresh, "GET", "/v1/tokens")[1]["items"]]
    assert join in tokens  # as the warning suggests
    output = cluster.eden("backup", "restore", "blue.backup", "--state-dir", fresh.folder / "third",
                          "--user", "root")
    assert f"warning: the cluster was reset to {made['time']}" in output.stderr
    assert "(1 node, 1 join token, 1 API token, 0 user certificates)" in output.stderr
    for row in done["review"]:
        assert row["list"] in output.stderr and row["revoke"] in output.stderr


def test_an_unreadable_record_does_not_prevent_a_restore(cluster, fresh):
    put(cluster, "/eden/nodes/zz", "x")
    create(cluster, "blue.backup")
    cluster.server.stop()
    assert verify(cluster, "blue.backup", check=True).returncode == 0
    restore(cluster, "blue.backup", fresh.state)
    fresh.start()
    assert call(fresh, "GET", "/v1/nodes/zz")[1]["status"]["state"] == "unreadable"
    assert call(fresh, "GET", "/v1/nodes/s1")[0] == 200


def test_the_restored_server_has_new_keys_and_the_same_ca(cluster, fresh):
    create(cluster, "blue.backup")
    cluster.server.stop()
    restore(cluster, "blue.backup", fresh.state)

    def read(world, name):
        return (world.state / name).read_bytes()

    assert read(cluster, "server/ca.pem") == read(fresh, "server/ca.pem")
    for name in ("server/node.pem", "server/serving.pem", "agent/node.pem"):
        assert read(cluster, name) != read(fresh, name)
    assert read(cluster, "agent/ca.pem") == read(fresh, "agent/ca.pem")
    for name in ("server/server.json", "server/ca.pem", "agent/node.pem"):
        assert os.stat(fresh.state / name).st_mode & 0o777 == 0o600


def test_a_server_can_be_restored_under_another_name(cluster, fresh):
    create(cluster, "blue.backup")
    cluster.server.stop()
    done = restore(cluster, "blue.backup", fresh.state, "--name", "s2", "--address", "localhost",
                   "--rpc", "127.0.0.1:0", "--api", "127.0.0.1:0")
    assert json.loads(done.stdout)["node"] == "s2"
    fresh.start()
    nodes = call(fresh, "GET", "/v1/nodes")[1]["items"]
    assert [(node["metadata"]["name"], node["status"]["server"]) for node in nodes] == [("s2", True)]
    settings = json.loads((fresh.state / "server/server.json").read_text())
    assert settings["names"] == ["localhost"]


def test_an_abandoned_name_can_be_used_again(cluster, fresh):
    """From s1 to s2 and back: the old state of s1 is not trusted, its new one is."""
    create(cluster, "first")
    cluster.server.stop()
    ports = ["--rpc", "127.0.0.1:0", "--api", "127.0.0.1:0"]
    restore(cluster, "first", fresh.state, "--name", "s2", *ports)
    fresh.start()
    create(fresh, "second")
    fresh.server.stop()
    third = Restored(cluster, "third")
    try:
        restore(cluster, "second", third.state, "--name", "s1", *ports)
        third.start()
        start_agent(third, "third", third.state)
        wait_until(lambda: show(third, "s1")["state"] == "alive", "its own agent")
    finally:
        third.close()


def test_the_name_of_another_node_is_rejected(cluster, fresh):
    join(cluster, "web1")
    create(cluster, "blue.backup")
    done = restore(cluster, "blue.backup", fresh.state, "--name", "web1", check=False)
    assert done.returncode == 5 and "already has a node 'web1'" in done.stdout
    restore(cluster, "blue.backup", fresh.state)


def test_a_watch_detects_a_restored_store(cluster, fresh):
    """The same revisions now mean something else."""
    create(cluster, "blue.backup")
    store = json.loads((cluster.state / "server/server.json").read_text())["store"]
    restore(cluster, "blue.backup", fresh.state)
    assert json.loads((fresh.state / "server/server.json").read_text())["store"] != store


def join(cluster, name):
    """A node, in separate folders."""
    token = json.loads(cluster.call("tokens", "create", "-o", "json").stdout)["status"]["secret"]
    state = cluster.folder / name / "state"
    done = subprocess.run(
        [cluster.eden_path, "join", "--server", f"127.0.0.1:{cluster.api_port}", "--token", "-",
         "--ca-pin", cluster.init_output["ca_pin"], "--name", name, "--state-dir", state],
        input=token, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return state


def start_agent(cluster, name, state):
    return cluster.daemon("agent", "--state-dir", state, "--run-dir", cluster.folder / name / "run",
                          "--config-dir", cluster.folder / name / "etc").wait_ready()


def show(cluster, name):
    return call(cluster, "GET", f"/v1/nodes/{name}")[1]["status"]


def test_nodes_return_to_the_restored_server(cluster, fresh):
    """With their existing certificates, and no action on them."""
    start_agent(cluster, "web1", join(cluster, "web1"))
    wait_until(lambda: show(cluster, "web1")["state"] == "alive" and show(cluster, "web1")["facts"],
               "a session and facts")
    call(cluster, "PATCH", "/v1/nodes/web1", {"metadata": {"labels": {"role": "web"}}})
    create(cluster, "blue.backup")
    call(cluster, "PATCH", "/v1/nodes/web1", {"metadata": {"labels": {"role": "changed"}}})
    cluster.server.stop()
    restore(cluster, "blue.backup", fresh.state)
    fresh.start()
    wait_until(lambda: show(fresh, "web1")["state"] == "alive", "the node")
    node = call(fresh, "GET", "/v1/nodes/web1")[1]
    assert node["metadata"]["labels"] == {"role": "web"} and node["status"]["facts"]
    # The node resyncs its watches: the agent has the label from this store.
    status = api_client.UnixConnection(cluster.folder / "web1/run/agent.sock")

    def labels():
        status.request("GET", "/v1/agent")
        return json.loads(status.getresponse().read())["labels"]

    wait_until(lambda: labels() == {"role": "web"}, "the labels of the backup")
    status.close()


def test_a_backup_between_two_cas_has_both(cluster, fresh):
    """The rotation waits for a silent node, and still does after restoring."""
    join(cluster, "web1")
    assert call(cluster, "POST", "/v1/pki/rotate", {"action": "begin"})[0] == 200

    def state(world):
        return call(world, "GET", "/v1/pki")[1]["rotation"]["state"]

    wait_until(lambda: state(cluster) == "distribute", "that it waits")
    made = create(cluster, "blue.backup")
    assert "ca-next.pem" in [part["name"] for part in made["parts"]]
    assert verify(cluster, "blue.backup").returncode == 0
    cluster.server.stop()
    restore(cluster, "blue.backup", fresh.state)
    assert (fresh.state / "server/ca-next.pem").read_bytes() == (
        cluster.state / "server/ca-next.pem").read_bytes()
    fresh.start()
    assert state(fresh) == "distribute"
    assert call(fresh, "POST", "/v1/pki/rotate", {"action": "abort"})[0] == 200
    wait_until(lambda: state(fresh) == "steady", "that it is turned back")


def test_a_file_is_named_after_cluster_and_time(cluster):
    made = create(cluster)
    assert re.fullmatch(r"blue-\d{8}T\d{6}Z\.eden-backup", made["file"])
    text = cluster.call("backup", "create", "second").stdout
    assert "The backup contains the CA key" in text


def test_nothing_is_replaced(cluster):
    (cluster.folder / "taken").write_text("mine")
    done = cluster.call("backup", "create", "taken", check=False)
    assert done.returncode == 5 and (cluster.folder / "taken").read_text() == "mine"


def test_a_backup_needs_a_running_server(cluster):
    cluster.server.stop()
    done = cluster.call("backup", "create", "x", check=False)
    assert done.returncode == 3
    assert os.listdir(cluster.folder).count("x") == 0


def test_a_restore_does_not_replace_an_existing_cluster(cluster):
    create(cluster, "blue.backup")
    before = (cluster.state / "server/server.json").read_bytes()
    done = restore(cluster, "blue.backup", cluster.state, check=False)
    assert done.returncode == 5 and "a cluster already exists" in done.stdout
    assert f"move {cluster.state} away" in done.stdout
    assert (cluster.state / "server/server.json").read_bytes() == before


# --- Invalid files -------------------------------------------------------------------------------

LINE = 88


def manifest_of(data):
    length = int(data[14:22])
    return json.loads(data[LINE:LINE + length]), data[LINE + length:]


def with_manifest(manifest, rest, name="eden.backup/2"):
    """A file with a modified manifest and matching digests."""
    text = json.dumps(manifest).encode()
    digest = hashlib.sha256(text).hexdigest()
    return f"{name} {len(text):08} {digest}\n".encode() + text + rest


def refused(cluster, data, *words):
    """Neither verified nor restored, with this message."""
    (cluster.folder / "bad").write_bytes(data)
    done = verify(cluster, "bad")
    assert done.returncode == 1
    for word in words:
        assert word in done.stderr, done.stderr
    done = restore(cluster, "bad", cluster.folder / "none/state", check=False)
    assert done.returncode == 1 and "E0873" in done.stdout
    assert not (cluster.folder / "none/state/server/server.json").exists()
    assert not (cluster.folder / "none/state/server/restore").exists()
    assert not [name for name in os.listdir(cluster.folder) if name.startswith("eden-verify")]


def test_damage_is_reported_with_its_location(cluster):
    put(cluster, "/t", VALUE)
    made = create(cluster, "good")
    data = (cluster.folder / "good").read_bytes()
    _, rest = manifest_of(data)
    head = len(data) - len(rest)
    assert made["parts"][-1]["name"] == "store.dump"
    store = len(data) - made["parts"][-1]["size"]

    def flipped(place):
        return data[:place] + bytes([data[place] ^ 1]) + data[place + 1:]

    refused(cluster, b"", "E0872", "not an eden backup")
    refused(cluster, b"hello\n" * 100, "not an eden backup")
    refused(cluster, data[:50], "damaged or truncated")
    refused(cluster, data[:LINE + 10], "truncated", "manifest")
    refused(cluster, data[:head + 5], "truncated", "'server.json'")
    refused(cluster, data[:-1], "truncated", "'store.dump'")
    refused(cluster, data[:store], "truncated", "'store.dump'")
    refused(cluster, data + b"x", "data after the end")
    refused(cluster, flipped(LINE + 20), "damaged: the manifest")
    refused(cluster, flipped(head + 5), "damaged: the part 'server.json'")
    for place in (store, store + 1000, len(data) - 1):
        refused(cluster, flipped(place), f"the part 'store.dump', starting at byte {store} of the file")
    refused(cluster, flipped(30), "damaged")
    refused(cluster, data.replace(b"eden.backup/2 ", b"eden.backup/9 ", 1), "a different format version")


def test_an_inconsistent_manifest_is_rejected(cluster):
    create(cluster, "good")
    manifest, rest = manifest_of((cluster.folder / "good").read_bytes())
    sizes = [part["size"] for part in manifest["parts"]]

    def modified(**changes):
        return with_manifest({**manifest, **changes}, rest)

    refused(cluster, modified(format="eden.backup/1"), "eden.backup/1")
    refused(cluster, modified(store="another"), "another")
    refused(cluster, modified(cluster="../../etc"), "manifest")
    refused(cluster, modified(cluster="green"), "green")
    refused(cluster, modified(revision=manifest["revision"] + 1), "revision")
    refused(cluster, modified(revision=-1), "manifest")
    refused(cluster, modified(parts=[]), "is missing")
    refused(cluster, modified(parts=manifest["parts"][::-1]), "wrong place")
    refused(cluster, modified(parts=[*manifest["parts"], manifest["parts"][-1]]), "twice")
    refused(cluster, modified(more=1), "unknown field")
    for size in (-1, sizes[0] + 1, sizes[0] - 1, 1 << 62):
        parts = [{**manifest["parts"][0], "size": size}, *manifest["parts"][1:]]
        refused(cluster, modified(parts=parts), "server.json")
    bad = {"name": "../../../etc/shadow", "size": 0, "digest": "0" * 64}
    refused(cluster, modified(parts=[bad, *manifest["parts"]]), "does not support")


def replace_part(cluster, name, text):
    """A complete and consistent file with one part replaced."""
    manifest, rest = manifest_of((cluster.folder / "good").read_bytes())
    out = b""
    for part in manifest["parts"]:
        chunk, rest = rest[:part["size"]], rest[part["size"]:]
        if part["name"] == name:
            chunk = text
            part.update(size=len(text), digest=hashlib.sha256(text).hexdigest())
        out += chunk
    return with_manifest(manifest, out + (text if name == "store.dump" else rest))


def test_parts_that_do_not_form_a_cluster_are_rejected(cluster, eden_path):
    create(cluster, "good")
    other = cluster.folder / "other"
    cluster.eden("init", "--cluster", "green", "--user", "root", "--state-dir", other)
    ca = (other / "server/ca.pem").read_bytes()
    refused(cluster, replace_part(cluster, "ca.pem", ca), "ca.pem", "green")
    refused(cluster, replace_part(cluster, "ca.pem", b"hello"), "ca.pem")
    refused(cluster, replace_part(cluster, "server.json", b"{}"), "server.json")
    refused(cluster, replace_part(cluster, "store.dump", b"hello"), "store.dump")
    refused(cluster, replace_part(cluster, "store.dump", b"hello" * 100), "store.dump", "not a dump")
    refused(cluster, replace_part(cluster, "store.dump", b""), "store.dump")


# --- Earlier versions -----------------------------------------------------------------------------

def create_earlier(cluster):
    """In eden.backup/1 the store is an SQLite file with its history, and one of the parts."""
    manifest, rest = manifest_of((cluster.folder / "good").read_bytes())
    source = sqlite3.connect(cluster.state / "server/store/store.db", timeout=30)
    copy = sqlite3.connect(cluster.folder / "store.db")
    source.backup(copy)
    revision = copy.execute("SELECT max(id) >> 20 FROM changes").fetchone()[0]
    copy.close()
    source.close()
    store = (cluster.folder / "store.db").read_bytes()
    files = rest[:sum(part["size"] for part in manifest["parts"])]
    manifest["parts"].append({"name": "store.db", "size": len(store),
                              "digest": hashlib.sha256(store).hexdigest()})
    manifest.update(format="eden.backup/1", revision=revision)
    return with_manifest(manifest, files + store, "eden.backup/1")


def test_a_backup_of_the_earlier_format_is_restored(cluster, fresh):
    put(cluster, "/t/1", "first")
    put(cluster, "/t/1", VALUE)
    create(cluster, "good")
    cluster.server.stop()
    data = create_earlier(cluster)
    (cluster.folder / "earlier").write_bytes(data)
    checked = json.loads(cluster.eden("backup", "verify", "earlier", "--scratch", ".", "-o",
                                      "json").stdout)
    assert checked["parts"][-1]["name"] == "store.db" and checked["nodes"] == 1
    restore(cluster, "earlier", fresh.state)
    fresh.start()
    assert get(fresh, "/t/1") == VALUE
    assert put(fresh, "/t/new", "1") > checked["revision"]
    refused(cluster, data[:-1], "truncated", "'store.db'", "1 bytes are missing")
    refused(cluster, data[:-9] + b"x" + data[-8:], "damaged: the part 'store.db'")


def test_presence_is_not_in_a_backup(cluster):
    """Neither the sessions of nodes nor the leader are restored: they do not exist any more."""
    start_agent(cluster, "web1", join(cluster, "web1"))
    wait_until(lambda: show(cluster, "web1")["state"] == "alive", "a session")
    create(cluster, "blue.backup")
    data = (cluster.folder / "blue.backup").read_bytes()
    assert b"/nodes/web1" in data
    assert b"/nodes/web1/alive" not in data and b"/eden/leader/" not in data


# --- Killed ---------------------------------------------------------------------------------------

def test_a_killed_restore_can_be_repeated(cluster, fresh):
    """At points throughout it; until its settings exist, there is no cluster."""
    for i in range(20):
        put(cluster, f"/t/{i}", VALUE)
    create(cluster, "good")
    cluster.server.stop()
    command = [cluster.eden_path, "backup", "restore", "good", "--state-dir", fresh.state, "--user",
               "root"]
    began = time.monotonic()
    subprocess.run([*command[:-3], cluster.folder / "timing", *command[-2:]], cwd=cluster.folder,
                   check=True, capture_output=True)
    whole = time.monotonic() - began
    killed = 0
    for i in range(12):
        process = subprocess.Popen(command, cwd=cluster.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(whole * (i + 0.5) / 12)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
        if (fresh.state / "server/server.json").exists():
            break
    assert killed > 0
    if not (fresh.state / "server/server.json").exists():
        restore(cluster, "good", fresh.state)
    fresh.start()
    assert get(fresh, "/t/7") == VALUE


def test_backups_of_a_busy_server_are_complete(cluster):
    """A client writes all the time; each backup is one revision."""
    writer = subprocess.Popen(
        ["sh", "-c", "i=0; while :; do i=$((i+1)); curl -s -o /dev/null --unix-socket "
         f"{cluster.run}/server/api.sock -X PUT -H 'Content-Type: application/json' "
         "-d '{\"value\":\"'$i'\"}' \"http://eden/v1/store?key=/t/$((i%7))\"; done"])
    try:
        for i in range(5):
            create(cluster, f"busy{i}")
            assert verify(cluster, f"busy{i}").returncode == 0
    finally:
        writer.kill()
        writer.wait()


def test_an_aborted_backup_leaves_nothing(cluster):
    """A backup creates no file on the server, and others are served meanwhile."""
    for i in range(40):
        put(cluster, f"/t/{i}", "x" * 200_000)
    descriptors = f"/proc/{cluster.server.process.pid}/fd"
    files = set(os.listdir(cluster.state / "server"))
    before = len(os.listdir(descriptors))
    peers = []
    for _ in range(4):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(str(cluster.run / "server/api.sock"))
        peer.sendall(b"GET /v1/backup HTTP/1.1\r\nHost: eden\r\n\r\n")
        assert b"200 OK" in peer.recv(1000)
        peers.append(peer)
    assert set(os.listdir(cluster.state / "server")) == files
    assert put(cluster, "/t/0", "others go on") > 0
    for peer in peers:
        peer.close()
    wait_until(lambda: len(os.listdir(descriptors)) <= before, "that they are closed")
    assert set(os.listdir(cluster.state / "server")) == files


def test_leftovers_of_a_killed_backup_are_removed(cluster):
    (cluster.state / "server/backup-0123456789abcdef.new").write_text("half")
    cluster.server.kill()
    cluster.start()
    assert not [name for name in os.listdir(cluster.state / "server") if name.endswith(".new")]


@pytest.mark.parametrize("words", [["backup"], ["backup", "verify"], ["backup", "restore"],
                                   ["backup", "shred"], ["backup", "verify", "a", "b"]])
def test_wrong_arguments_are_a_usage_error(eden, words):
    assert eden(*words).returncode == 64
