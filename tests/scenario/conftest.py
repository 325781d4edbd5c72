"""Fixtures of every scenario: the built binary, run as a user runs it."""

import os
import pathlib
import subprocess
import sys

import daemons
import pytest
from remote_server import TOKEN, RemoteServer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import etcd  # noqa: E402
import interrupts  # noqa: E402, F401
import own_network  # noqa: E402
from parts import *  # noqa: E402, F403

ROOT = pathlib.Path(__file__).resolve().parents[2]

own_network.enter()


@pytest.fixture(scope="session")
def eden_path():
    """The binary under test: $EDEN, or the one built by `make build`."""
    return os.environ.get("EDEN", str(ROOT / "build" / "eden"))


@pytest.fixture
def eden(eden_path, tmp_path):
    """Runs `eden ARGS...` in a new folder and returns the finished process (text, not bytes).

    The environment is small and fixed, so that the caller's terminal and locale do not affect the
    output.
    """

    def run(*args, input=None, cwd=tmp_path, env=None, timeout=60, text=True, prefix=()):
        full_env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LLVM_PROFILE_FILE"):
            if name in os.environ:
                full_env[name] = os.environ[name]
        full_env.update(env or {})
        return subprocess.run(
            [*prefix, eden_path, *map(str, args)],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=full_env,
            timeout=timeout,
            text=text,
        )

    return run


def pytest_configure(config):
    config.addinivalue_line("markers", "also_on_etcd: runs with the store on etcd, too")
    config.addinivalue_line("markers", "only_on_etcd: runs with the store on etcd")


def pytest_generate_tests(metafunc):
    """With EDEN_STORE=etcd, every test with a cluster runs on etcd only."""
    if "store" not in metafunc.fixturenames:
        return
    marked = metafunc.definition.get_closest_marker
    if os.environ.get("EDEN_STORE") == "etcd" or marked("only_on_etcd"):
        metafunc.parametrize("store", ["etcd"], indirect=True)
    elif marked("also_on_etcd"):
        metafunc.parametrize("store", ["file", "etcd"], indirect=True)


@pytest.fixture(autouse=True)
def reserves_are_removed(tmp_path):
    """Each server reserves 32 MB of disk, and pytest keeps the directories of tests: 12 GB in total."""
    yield
    for reserve in tmp_path.rglob("store.reserve"):
        reserve.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def etcd_certificates(tmp_path_factory):
    return etcd.Certificates(tmp_path_factory.mktemp("etcd") / "tls")


@pytest.fixture
def store(request, tmp_path_factory):
    """None for a file, or the etcd that holds the store."""
    if getattr(request, "param", "file") == "file":
        yield None
        return
    one = etcd.Etcd(tmp_path_factory.mktemp("etcd"), request.getfixturevalue("etcd_certificates"))
    yield one
    one.close()


@pytest.fixture
def cluster(eden_path, tmp_path, store):
    """A cluster of one server, not started yet: cluster.start() starts it."""
    cluster = daemons.Cluster(eden_path, tmp_path, options=() if store is None else store.options)
    cluster.store = store
    yield cluster
    cluster.close()


@pytest.fixture
def remote(cluster):
    cluster.start()
    remote = RemoteServer(cluster)
    yield remote
    remote.close()


@pytest.fixture
def home(eden, remote, tmp_path):
    """`eden` of a remote user, with separate settings and no server."""

    def run(*args, env=None, **more):
        return eden(*args, env={"HOME": str(tmp_path / "home"), **(env or {})}, **more)

    run.file = tmp_path / "home/.config/eden/contexts.json"
    run.pin = remote.cluster.init_output["ca_pin"]
    return run


@pytest.fixture
def logged_in(home, remote):
    done = home("login", remote.url, "--name", "prod", "--ca-pin", home.pin, "--token-file", "-",
                input=TOKEN + "\n")
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture
def other_cluster(remote, tmp_path):
    """One that is not started yet."""
    other = daemons.Cluster(remote.cluster.eden_path, tmp_path, name="s9", cluster="red")
    yield other
    other.close()
