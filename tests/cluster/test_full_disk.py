"""A server on a full disk: writes are rejected with the reason, reads continue, and writes resume
when there is space. It can be started and repaired while the disk is full."""

import pathlib
import subprocess

import pytest


def run_on_own_disk(name, build, folder):
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", folder]).returncode != 0:
        pytest.fail("this test needs user and mount namespaces (unshare --user --mount)")
    program = pathlib.Path(__file__).with_name(name)
    done = subprocess.run(
        [*unshare, "/usr/bin/python3", "-B", program, build, folder],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_full_disk_fails_writes_only_while_it_is_full(build, tmp_path):
    run_on_own_disk("full_server.py", build, tmp_path)


def test_a_full_disk_does_not_prevent_repair(build, tmp_path):
    run_on_own_disk("full_repair.py", build, tmp_path)


def test_a_full_disk_does_not_prevent_removing_nodes(build, tmp_path):
    run_on_own_disk("full_removed.py", build, tmp_path)


def test_an_audit_log_that_fills_the_disk_can_be_archived(build, tmp_path):
    run_on_own_disk("full_audit.py", build, tmp_path)


def test_files_of_a_repository_leave_the_reserve_of_the_disk(build, tmp_path):
    run_on_own_disk("full_git.py", build, tmp_path)


def test_uploads_leave_files_for_the_store(build, tmp_path):
    run_on_own_disk("full_files.py", build, tmp_path)
