"""Fixtures of the tests about the tree itself."""

import os
import pathlib

import pytest


@pytest.fixture(scope="session")
def root():
    """The source tree."""
    return pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def eden_path(root):
    """The binary under test: $EDEN, or the one built by `make build`."""
    return pathlib.Path(os.environ.get("EDEN", root / "build" / "eden"))


@pytest.fixture(scope="session")
def build(root):
    """The build directory of the binary under test."""
    return pathlib.Path(os.environ.get("EDEN_BUILD", root / "build")).resolve()
