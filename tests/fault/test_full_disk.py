"""A disk without room: steps fail with the reason, the rest goes on, and room makes it converge."""

import pathlib
import subprocess

import pytest


def test_an_apply_to_a_full_disk_fails_in_part_and_converges_when_there_is_room(
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
