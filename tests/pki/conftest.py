"""openssl(1) and pki_tool, side by side."""

import os
import pathlib
import subprocess
import time

import pytest

BUILD = pathlib.Path(
    os.environ.get("EDEN_BUILD", str(pathlib.Path(__file__).resolve().parents[2] / "build"))
)


class Refused(Exception):
    """The error message of a program that failed."""


def run(command, text):
    done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=60)
    if done.returncode < 0:
        pytest.fail(f"{command} died of signal {-done.returncode}")
    if done.returncode != 0:
        raise Refused(done.stderr.decode() + done.stdout.decode())
    return done.stdout.decode()


@pytest.fixture
def openssl(tmp_path):
    """Runs openssl; a dict as first argument is written to files that arguments may name."""

    def call(*args, text="", files=None):
        for name, content in (files or {}).items():
            (tmp_path / name).write_text(content)
        try:
            return run(["openssl", *(str(a).replace("@", f"{tmp_path}/") for a in args)], text)
        except FileNotFoundError:
            pytest.fail("this test needs openssl (Debian package 'openssl')")

    return call


class Tool:
    def __init__(self, folder):
        self.folder = folder
        self.now = int(time.time())

    def __call__(self, command, *args, text="", now=None):
        moment = str(self.now if now is None else now)
        path = str(BUILD / "tests" / "pki" / "pki_tool")
        return run([path, command, str(self.folder), moment, *args], text)


@pytest.fixture
def tool(tmp_path):
    return Tool(tmp_path / "pki")


@pytest.fixture
def cluster(tool):
    """A tool with a CA for the cluster "home", and that CA's certificate."""
    tool.ca = tool("ca", "home")
    return tool


@pytest.fixture
def key(tool):
    return tool("key")
