"""A full disk: steps fail with the reason, the others continue, and with free space the site
converges.
"""

import pathlib
import subprocess

import pytest


def test_an_apply_on_a_full_disk_fails_partially_and_converges_later(
    eden_path, tmp_path
):
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", tmp_path]).returncode != 0:
        pytest.fail("this test needs user and mount namespaces (unshare --user --mount)")
    program = pathlib.Path(__file__).with_name("full_disk.py")
    done = subprocess.run(
        [*unshare, "/usr/bin/python3", "-B", program, eden_path, tmp_path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
