"""What fault tests use: the programs that are made to be hurt."""

import os
import pathlib
import subprocess

import pytest


@pytest.fixture(scope="session")
def writer_path():
    build = os.environ.get("EDEN_BUILD", str(pathlib.Path(__file__).resolve().parents[2] / "build"))
    return pathlib.Path(build) / "tests" / "fault" / "journal_writer"


@pytest.fixture
def writer(writer_path, tmp_path):
    """Runs `journal_writer VERB STATE WORLD ARGS...` to its end; it must succeed."""

    def run(verb, *args):
        done = subprocess.run(
            [writer_path, verb, tmp_path / "state", tmp_path / "world", *map(str, args)],
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run
