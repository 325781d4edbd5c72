"""Fixtures for tests in hosts. In a conftest.py: `from lab.fixtures import *`."""

import pytest

from . import hosts

__all__ = ["lab", "light", "systemd"]


@pytest.fixture(scope="session")
def lab():
    """The lab of this test run. If a requirement is missing, tests fail with the reason."""
    with hosts.Lab() as running:
        yield running


def _factory(lab, kind):
    made = []

    def make(root="bookworm", **options):
        host = kind(lab, root, **options)
        made.append(host)
        return host.start()

    yield make
    for host in made:
        host.close()


@pytest.fixture
def light(lab):
    """`light(root="bookworm", **options)` starts a light host that ends with the test."""
    yield from _factory(lab, hosts.LightHost)


@pytest.fixture
def systemd(lab):
    """`systemd(root="bookworm", **options)` boots a systemd host that ends with the test."""
    yield from _factory(lab, hosts.SystemdHost)
