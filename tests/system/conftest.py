"""System tests use the hosts of tests/lab."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab.fixtures import *  # noqa: E402, F403
from parts import *  # noqa: E402, F403

BUILD = pathlib.Path(os.environ.get("EDEN_BUILD", pathlib.Path(__file__).parents[2] / "build"))


@pytest.fixture(scope="session")
def storage_path():
    """A library that kills the program it is loaded into at a chosen system call: tests/fault."""
    path = BUILD / "tests" / "fault" / "libstorage.so"
    if not path.is_file():
        pytest.fail(f"there is no {path}: run ninja in the build folder")
    return path


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def server(request, lab):
    """A host with systemd shared by the tests of a file, each of which uses unique names."""
    host = lab.systemd(request.param)
    yield host
    host.close()
