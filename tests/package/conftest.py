"""Packages of the build under test, built once, and hosts to install them on."""

import os
import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "docs"), str(TESTS / "browser")]

from chromium import Chromium  # noqa: E402
from lab.fixtures import *  # noqa: E402, F403
from programs import another_version, portable  # noqa: E402

ROOT = TESTS.parent
BUILD = pathlib.Path(os.environ.get("EDEN_BUILD", ROOT / "build")).resolve()
NEXT = "0.1.1~next"


def tool(name, *words):
    """The last line printed by a tool."""
    done = subprocess.run(
        [ROOT / "tools" / name, *words], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def deb(tmp_path_factory):
    """The package."""
    return tool("make-deb", BUILD, tmp_path_factory.mktemp("deb"))


@pytest.fixture(scope="session")
def next_deb(tmp_path_factory):
    """The package of a later version, whose program reports that version."""
    place = tmp_path_factory.mktemp("next")
    return tool("make-deb", BUILD, place, NEXT, another_version(BUILD, NEXT, place))


@pytest.fixture(scope="session")
def packages(deb, next_deb, tmp_path_factory):
    """A layer for hosts: both packages, under /srv."""
    place = tmp_path_factory.mktemp("layer") / "srv"
    place.mkdir()
    (place / "eden.deb").write_bytes(deb.read_bytes())
    (place / "next.deb").write_bytes(next_deb.read_bytes())
    return place.parent


@pytest.fixture(scope="session")
def static_link(tmp_path_factory):
    """What links the program statically, and the folder where that was done."""
    place = tmp_path_factory.mktemp("static")
    return portable(BUILD, place), place


@pytest.fixture(scope="session")
def static_program(static_link):
    return static_link[1] / "eden"


@pytest.fixture
def installed(systemd, packages):
    """`installed(root, name)` starts a host on which the package was installed like users do."""

    def make(root="bookworm", name=None):
        host = systemd(root, name=name, layers=[packages])
        host.run("rm /usr/local/bin/eden")  # the lab's
        host.run("dpkg -i /srv/eden.deb")
        return host

    return make


@pytest.fixture
def browser_on(tmp_path):
    """`browser_on(host)` is a browser that uses the network of a host."""
    browsers = []

    def start(host):
        within = ["nsenter", "-t", str(host.pid), "-n"]
        browsers.append(Chromium(tmp_path, within))
        return browsers[-1]

    yield start
    for browser in browsers:
        browser.close()
