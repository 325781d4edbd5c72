"""Fixtures of the fault tests: the programs that are killed and starved."""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import interrupts  # noqa: E402, F401
import own_network  # noqa: E402

BUILD = pathlib.Path(
    os.environ.get("EDEN_BUILD", str(pathlib.Path(__file__).resolve().parents[2] / "build"))
)

own_network.enter()


@pytest.fixture(scope="session")
def eden_path():
    return os.environ.get("EDEN", str(BUILD / "eden"))


@pytest.fixture(scope="session")
def storage_path():
    """The library that simulates disk faults and power cuts."""
    return BUILD / "tests" / "fault" / "libstorage.so"


@pytest.fixture(scope="session")
def writer_path():
    return BUILD / "tests" / "fault" / "journal_writer"


@pytest.fixture(scope="session")
def privileged():
    """Command prefix for root privileges, as needed for chroot."""
    if os.geteuid() == 0:
        return []
    prefix = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.fail("this test needs the rights of root, or user namespaces")
    return prefix


@pytest.fixture
def writer(writer_path, tmp_path):
    """Runs `journal_writer VERB STATE WORLD ARGS...`, which must succeed."""

    def run(verb, *args):
        done = subprocess.run(
            [writer_path, verb, tmp_path / "state", tmp_path / "world", *map(str, args)],
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run
