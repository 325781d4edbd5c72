"""Fixtures for tests with a real server."""

import os
import pathlib

import pytest
from cluster_server import ClusterServer


@pytest.fixture(scope="session")
def build():
    return pathlib.Path(
        os.environ.get("EDEN_BUILD", str(pathlib.Path(__file__).resolve().parents[2] / "build"))
    )


@pytest.fixture
def server(build, tmp_path):
    with ClusterServer(build, tmp_path) as started:
        yield started
