"""A full disk: steps fail with the reason, the others continue, and with free space the site
converges.
"""

import pathlib
import subprocess

import pytest


def run_on_own_disk(name, folder, *args):
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", folder]).returncode != 0:
        pytest.fail("this test needs user and mount namespaces (unshare --user --mount)")
    program = pathlib.Path(__file__).with_name(name)
    done = subprocess.run(
        [*unshare, "/usr/bin/python3", "-B", program, *args, folder],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_an_apply_on_a_full_disk_fails_partially_and_converges_later(eden_path, tmp_path):
    run_on_own_disk("full_disk.py", tmp_path, eden_path)


def test_runs_across_nodes_end_after_a_disk_was_full_and_lose_nothing(eden_path, storage_path, tmp_path):
    run_on_own_disk("full_runs.py", tmp_path, eden_path, storage_path)
