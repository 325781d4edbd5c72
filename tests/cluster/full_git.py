#!/usr/bin/python3
"""A server that follows a repository whose files do not fit on its disk; see test_full_disk.py.

    full_git.py BUILD FOLDER     in its own mount namespace
"""

import os
import pathlib
import subprocess
import sys
import time

from cluster_server import ClusterServer

MIB = 1 << 20
DISK = 200


def git(folder, *words):
    environment = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org",
        "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org",
    }  # fmt: skip
    subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)


def make_repository(folder):
    """Its files are compressed well."""
    (folder / "jobs").mkdir(parents=True)
    (folder / "config.yaml").write_text("name: shop\n")
    (folder / "jobs/base.yaml").write_text("jobs: {'*': [{name: web}]}\n")
    (folder / "jobs/web.yaml").write_text("steps: [{name: hello, cmd.run: [{cmd: echo}]}]\n")
    for number in range(DISK):
        (folder / f"file-{number}").write_bytes(bytes([number]) * MIB)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "first")


def main(build, folder):
    disk, repository = pathlib.Path(folder) / "disk", pathlib.Path(folder) / "repository"
    make_repository(repository)
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", disk], check=True)
    with ClusterServer(build, disk) as server:
        source = {"spec": {"url": f"file://{repository}", "branch": "main", "interval": "1d"}}
        assert server.api("PUT", "/v1/sources/site", source)[0] in (200, 201)
        status = {}
        for _ in range(600):
            status = server.api("GET", "/v1/sources/site")[1]["status"]
            if status.get("why"):
                break
            time.sleep(0.1)
        assert status["state"] == "unreachable", status
        assert "the server's disk is nearly full" in status["why"], status
        room = os.statvfs(disk)
        assert room.f_bavail * room.f_frsize >= DISK * MIB / 16 - 4 * MIB
        assert server.api("PUT", "/v1/store?key=/a", {"value": "b"})[0] == 200
        assert server.stop() == 0


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
