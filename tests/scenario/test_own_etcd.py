"""Servers that run the datastore themselves: etcd as a child of their agents."""

import fcntl
import itertools
import json
import os
import pathlib
import shlex
import shutil
import signal
import socket
import ssl
import struct
import tempfile
import threading

import daemons
import etcd
import pytest
from cluster_world import get, put
from events import wait_until

F_OFD_GETLK, FLOCK = 36, "hhqqi4x"
PATHS = {"PATH": f"{etcd.PROGRAM.parent}:/usr/bin:/bin"}


class Server(daemons.Cluster):
    """A machine with an address of its own, whose agent runs etcd and the server."""

    def __init__(self, eden_path, folder, number):
        self.eden_path, self.folder, self.name = eden_path, folder, f"s{number}"
        self.address = f"127.64.0.{number}"
        self.state, self.run = folder / self.name / "state", folder / self.name / "run"
        self.daemons, self.agent = [], None

    @property
    def addresses(self):
        return ("--address", self.address, "--rpc", f"{self.address}:1337", "--api", f"{self.address}:1338")

    def init(self, *options, check=True, env=PATHS):
        return self.eden("init", "--store", "etcd", "--cluster", "blue", "--name", self.name, "--user",
                         "root", "--state-dir", self.state, *self.addresses, *options, check=check, env=env)

    def start(self, **more):
        self.agent = self.daemon("agent", "--state-dir", self.state, "--run-dir", self.run, "--config-dir",
                                 self.folder / self.name / "etc", **{"env": PATHS, **more})
        return self.agent

    def answers(self):
        return self.call("servers", "list", check=False).returncode == 0

    def start_and_wait(self):
        self.start()
        wait_until(self.answers, f"{self.name} serves")

    def join_as_node(self, first):
        variable, _, *line = shlex.split(first.call("tokens", "create").stdout)
        self.eden(*line, "--name", self.name, "--state-dir", self.state, env=dict([variable.split("=", 1)]))

    def join_as_server(self, first, *options, check=True, env=PATHS):
        self.join_as_node(first)
        self.added = first.call("servers", "add", self.name)
        return self.eden("join", "--as-server", "--state-dir", self.state, "--user", "root", "--max-wait",
                         "40s", *self.addresses, *options, check=check, env=env)

    @property
    def datastore(self):
        return self.state / "datastore"

    def etcd(self):
        """The process ID of etcd, which holds the lock for as long as it runs; 0: none."""
        try:
            with open(self.datastore / "etcd.lock", "rb") as lock:
                answer = fcntl.fcntl(lock, F_OFD_GETLK, struct.pack(FLOCK, fcntl.F_WRLCK, 0, 0, 0, 0))
                held = struct.unpack(FLOCK, answer)[0] != fcntl.F_UNLCK
                return int(lock.read() or 0) if held else 0
        except FileNotFoundError:
            return 0

    def kill_etcd(self):
        number = self.etcd()
        assert number > 0
        os.kill(number, signal.SIGKILL)
        return number

    def lose_power(self):
        self.agent.kill()
        if self.etcd():
            self.kill_etcd()

    def roles(self):
        listed = json.loads(self.call("servers", "list", "-o", "json").stdout)
        return {item["metadata"]["name"]: item["status"].get("datastore") for item in listed["items"]}

    def wait_for_roles(self, **roles):
        def are_there():
            done = self.call("servers", "list", "-o", "json", check=False)
            return done.returncode == 0 and self.roles() == roles

        wait_until(are_there, f"the datastore is run by {roles}")

    def close(self):
        super().close()
        if self.etcd():
            self.kill_etcd()
        # etcd allocates 128 MB for its log at once; pytest keeps the directories of tests.
        shutil.rmtree(self.datastore, ignore_errors=True)


@pytest.fixture
def machines(eden_path, tmp_path):
    several = [Server(eden_path, tmp_path, number) for number in range(1, 4)]
    yield several
    for one in several:
        one.close()


@pytest.fixture
def first(machines):
    machines[0].init()
    machines[0].start_and_wait()
    return machines[0]


@pytest.fixture
def three(machines, first):
    for other in machines[1:]:
        other.join_as_server(first)
        other.start_and_wait()
    first.wait_for_roles(s1="voter", s2="voter", s3="voter")
    return machines


def test_a_cluster_is_created_with_an_etcd_of_its_own(machines):
    one = machines[0]
    done = one.init("-o", "json")
    assert json.loads(done.stdout)["etcd_endpoints"] == [f"{one.address}:2379"]
    assert one.etcd() == 0
    one.start_and_wait()
    one.wait_for_roles(s1="voter")
    put(one, "/test/x", "1")
    assert get(one, "/test/x") == "1"
    assert (one.state / "server/datastore-ca.pem").stat().st_mode & 0o777 == 0o600
    assert not (one.state / "server/store").exists()


def connects(server, certificate):
    """Whether etcd accepts it from a client that trusts etcd."""
    context = ssl.create_default_context(cafile=server.state / "server/datastore/ca.pem")
    context.load_cert_chain(certificate)
    try:
        with context.wrap_socket(socket.create_connection((server.address, 2379), 5),
                                 server_hostname=server.address) as one:
            one.sendall(b"GET /health HTTP/1.0\r\n\r\n")
            return b'"true"' in one.makefile("rb").read()
    except OSError:
        return False


def test_no_certificate_of_a_node_opens_the_datastore(first):
    assert connects(first, first.state / "server/datastore/member.pem")
    for other in ("agent/node.pem", "server/node.pem", "server/serving.pem"):
        path = first.state / other
        if path.exists():
            assert not connects(first, path), other


def test_without_etcd_nothing_is_created(machines):
    done = machines[0].init(check=False, env={"PATH": "/nonexistent"})
    assert done.returncode != 0 and "etcd-server" in done.stderr
    assert not (machines[0].state / "server/server.json").exists()
    machines[0].init()


def test_an_interrupted_init_is_repeated(machines, tmp_path):
    """Its etcd, which never responds, is still running then."""
    one = machines[0]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/etcd").write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec {etcd.PROGRAM} --version\n'
                                       'exec sleep infinity\n')
    (tmp_path / "bin/etcd").chmod(0o755)
    waiting = one.daemon("init", "--store", "etcd", "--name", "s1", "--user", "root", "--state-dir", one.state,
                         *one.addresses, env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
    wait_until(one.etcd, "etcd was started")
    waiting.kill()
    left = one.etcd()
    assert left > 0
    one.init()
    assert one.etcd() == 0
    one.start_and_wait()


def test_the_address_for_etcd_must_be_an_ip_address(eden, tmp_path):
    done = eden("init", "--store", "etcd", "--address", "s1.example.org", "--state-dir", tmp_path / "state")
    assert done.returncode == 1 and "--etcd-address" in done.stderr
    done = eden("init", "--etcd-address", "10.0.0.5", "--state-dir", tmp_path / "state")
    assert done.returncode == 1 and "--store etcd" in done.stderr


def test_etcd_outlives_its_agent(first):
    before = first.etcd()
    first.agent.stop()
    assert first.etcd() == before
    first.start_and_wait()
    assert first.etcd() == before
    assert first.agent.wait_for_log("etcd is already running")


def test_etcd_that_is_killed_is_started_again(first):
    put(first, "/test/x", "kept")
    before = first.kill_etcd()
    wait_until(lambda: first.etcd() not in (0, before), "etcd runs again")
    wait_until(lambda: first.call("get", "/test/x", check=False).returncode == 0, "the store responds")
    assert get(first, "/test/x") == "kept"


def test_everything_returns_after_a_power_failure(first):
    put(first, "/test/x", "kept")
    first.lose_power()
    first.start_and_wait()
    assert get(first, "/test/x") == "kept"


def test_a_lost_certificate_is_issued_again_without_a_restart_of_etcd(first):
    before, member = first.etcd(), first.state / "server/datastore/member.pem"
    old = member.read_bytes()
    member.unlink()
    wait_until(lambda: member.exists() and connects(first, member), "there is a new one")
    assert member.read_bytes() != old
    first.agent.wait_for_log("new certificate for etcd loaded")
    assert first.etcd() == before


@pytest.mark.parametrize("name", ["server.json", "datastore.json"])
def test_a_lost_settings_file_is_restored_without_a_restart_of_etcd(first, name):
    before, path = first.etcd(), first.state / "server" / name
    path.unlink()
    wait_until(path.exists, f"{name} is there again")
    first.wait_for_roles(s1="voter")
    assert first.etcd() == before


def test_started_by_root_etcd_runs_as_the_user_of_the_server(eden_path):
    if os.geteuid() != 0:
        pytest.fail("only root can start it as another user")
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        folder.chmod(0o711)
        shutil.copy(etcd.PROGRAM, folder / "etcd")  # other users may not enter the directory of the build
        paths = {"PATH": f"{folder}:/usr/bin:/bin"}
        one = Server(eden_path, folder, 1)
        try:
            one.eden("init", "--store", "etcd", "--user", "nobody", "--state-dir", one.state, *one.addresses,
                     env=paths)
            one.start(env=paths)
            wait_until(one.answers, "it serves")
            user = (one.state / "server").stat().st_uid
            assert user != 0 and os.stat(f"/proc/{one.etcd()}").st_uid == user
            assert (one.state / "datastore").stat().st_uid == 0
            assert (one.state / "datastore/data").stat().st_uid == user
            wait_until(lambda: list(one.roles().values()) == ["voter"], "the server knows its member")
        finally:
            one.close()


def test_a_new_cluster_grows_to_three_members(three):
    first, second, third = three
    ca = {(server.state / "server/datastore-ca.pem").read_bytes() for server in three}
    assert len(ca) == 1
    key = ca.pop().split(b"\n")[1]
    for path in first.datastore.rglob("*"):
        assert not path.is_file() or key not in path.read_bytes(), path
    put(third, "/test/x", "from s3")
    assert get(second, "/test/x") == "from s3"


def test_the_loss_of_one_of_three_servers_is_survived(three):
    for lost, other in zip(three, three[1:] + three[:1]):
        lost.lose_power()
        wait_until(lambda: other.call("put", "/test/x", json.dumps(lost.name), check=False).returncode == 0,
                   f"{other.name} writes without {lost.name}")
        lost.start_and_wait()
        other.wait_for_roles(s1="voter", s2="voter", s3="voter")
        assert get(lost, "/test/x") == lost.name


def test_two_servers_have_one_voter(machines, first):
    second = machines[1]
    second.join_as_server(first)
    assert "with 2 servers, one of them does not vote" in second.added.stderr
    second.start_and_wait()
    first.wait_for_roles(s1="voter", s2="none")
    put(second, "/test/x", "1")
    assert get(first, "/test/x") == "1"


def test_servers_are_removed_down_to_one(three):
    first, second, third = three
    put(first, "/test/x", "kept")
    first.call("servers", "remove", "s1")
    first.agent.wait_for_log("no longer a server of the cluster")
    wait_until(lambda: first.etcd() == 0, "s1 does not run etcd")
    assert not any((first.state / "server").glob("datastore*"))
    second.wait_for_roles(s2="voter", s3="none")
    assert get(third, "/test/x") == "kept"
    second.call("servers", "remove", "s2")
    second.agent.wait_for_log("no longer a server of the cluster")
    third.wait_for_roles(s3="voter")
    put(third, "/test/x", "changed")
    assert get(third, "/test/x") == "changed"


def test_a_server_that_is_lost_is_removed_and_returns_with_new_data(three):
    first, second, third = three
    third.lose_power()
    put(first, "/test/x", "kept")
    first.call("servers", "remove", "s3")
    first.wait_for_roles(s1="voter", s2="none")
    third.start()
    third.agent.wait_for_log("no longer a server of the cluster")
    wait_until(lambda: third.etcd() == 0, "s3 does not run etcd")
    first.call("servers", "add", "s3")
    third.eden("join", "--as-server", "--state-dir", third.state, "--user", "root", "--max-wait", "40s",
               *third.addresses, env=PATHS)
    first.wait_for_roles(s1="voter", s2="voter", s3="voter")
    assert get(third, "/test/x") == "kept"


@pytest.mark.parametrize("kind", ["file", "etcd"])
def test_a_cluster_on_etcd_of_its_own_is_restored(first, eden_path, tmp_path, kind):
    put(first, "/test/x", "kept")
    backup = tmp_path / "blue.backup"
    first.call("backup", "create", backup)
    (tmp_path / "other").mkdir()
    other = Server(eden_path, tmp_path / "other", 9)
    try:
        other.eden("backup", "restore", backup, "--user", "root", "--state-dir", other.state, "--name", "s9",
                   "--store", kind, *other.addresses, env=PATHS)
        assert (other.state / "server/store/store.db").exists() == (kind == "file")
        other.start_and_wait()
        assert get(other, "/test/x") == "kept"
        if kind == "etcd":
            other.wait_for_roles(s9="voter")
            before = (first.state / "server/datastore-ca.pem").read_bytes()
            assert (other.state / "server/datastore-ca.pem").read_bytes() != before
    finally:
        other.close()


def test_no_acknowledged_write_is_lost_when_a_server_fails(three):
    first, second, third = three
    written, is_over = [], threading.Event()

    def write():
        for number in itertools.count():
            if is_over.is_set():
                return
            if third.call("put", f"/test/write-{number}", str(number), check=False).returncode == 0:
                written.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for lost in (first, second):
            before = len(written)
            wait_until(lambda: len(written) > before + 5, "something is written")
            lost.lose_power()
            during = len(written)
            wait_until(lambda: len(written) > during + 5, f"something is written without {lost.name}")
            lost.start_and_wait()
            third.wait_for_roles(s1="voter", s2="voter", s3="voter")
    finally:
        is_over.set()
        writer.join()
    assert all(get(first, f"/test/write-{number}") == number for number in written)
