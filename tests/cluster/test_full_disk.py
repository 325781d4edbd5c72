"""A server on a full disk: writes are refused with the reason, reads go on, and so do writes when
there is room again."""

import pathlib
import subprocess

import pytest


def test_a_full_disk_fails_writes_only_and_only_as_long_as_it_is_full(build, tmp_path):
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", tmp_path]).returncode != 0:
        pytest.fail("this test needs user and mount namespaces (unshare --user --mount)")
    program = pathlib.Path(__file__).with_name("full_server.py")
    done = subprocess.run(
        [*unshare, "/usr/bin/python3", "-B", program, build, tmp_path],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
