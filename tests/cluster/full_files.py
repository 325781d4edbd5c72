#!/usr/bin/python3
"""A server on a file system with room for few files; see test_full_disk.py.

    full_files.py BUILD FOLDER     in its own mount namespace
"""

import hashlib
import os
import pathlib
import subprocess
import sys

from cluster_server import ClusterServer, UnixConnection

FILES = 4000


def upload(server, number):
    content = b"file %d" % number
    connection = UnixConnection(server.socket)
    connection.request("PUT", "/v1/blobs/" + hashlib.sha256(content).hexdigest(), content,
                       {"Content-Type": "application/octet-stream"})  # fmt: skip
    response = connection.getresponse()
    return response.status, response.read()


def main(build, folder):
    disk = pathlib.Path(folder) / "disk"
    disk.mkdir()
    options = f"size=200m,nr_inodes={FILES}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], check=True)
    with ClusterServer(build, disk) as server:
        status, response = upload(server, 0)
        assert status == 200, response
        for number in range(os.statvfs(disk).f_favail - 200):
            (disk / f"file-{number}").touch()
        status, response = upload(server, 1)
        assert status == 503 and b"the server's disk is nearly full" in response, response
        assert server.api("PUT", "/v1/store?key=/a", {"value": "b"})[0] == 200
        assert server.stop() == 0


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
