#!/usr/bin/python3
"""A stopped server with a full disk: its store is repaired, and it starts; see test_full_disk.py.

    full_repair.py BUILD FOLDER     in its own mount namespace
"""

import pathlib
import sqlite3
import subprocess
import sys

from cluster_server import ClusterServer
from full_server import create, delete, fill, get, put

ROLE = "/eden/objects/role/full"


def corrupt(store, key):
    """A later, unreadable value of the record."""
    database = sqlite3.connect(store / "store.db")
    with database:
        last = database.execute("SELECT max(id) >> 20 FROM changes").fetchone()[0]
        before, version, created = database.execute(
            "SELECT id, version, create_revision FROM keys WHERE key = ?", (key.encode(),)).fetchone()
        change = (last + 1) << 20
        database.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, 0, ?)",
                         (change, key.encode(), b"junk", version + 1, created, before))
        database.execute("UPDATE keys SET id = ?, version = ? WHERE key = ?",
                         (change, version + 1, key.encode()))
    database.close()


def run(server, *words):
    return subprocess.run([server.eden, "cluster", *words, "--state-dir", server.state],
                          capture_output=True, text=True)


def check_emptied(server, large):
    """It runs and accepts only deletes, using its reserved space."""
    status, response = put(server, "/full/refused", "x")
    assert status == 503 and "the disk is full" in str(response), response
    for key in large:
        status, response = delete(server, key)
        assert status == 200, (key, response)


def repair_record(server, store, ballast, large):
    role = create(server, "full", "full")
    assert role[0] == 201, role
    before = get(server, ROLE)
    assert server.stop() == 0
    corrupt(store, ROLE)
    fill(ballast)
    done = run(server, "check")
    assert done.returncode == 1 and ROLE in done.stdout, done.stdout + done.stderr
    fill(ballast)
    done = run(server, "repair", ROLE)
    assert done.returncode == 0 and "repaired" in done.stdout, done.stdout + done.stderr
    saved = next(line.split()[-1] for line in done.stdout.splitlines() if "saved its value as" in line)
    assert pathlib.Path(saved).read_text() == "junk"
    assert (store / "store.reserve").exists(), "nothing is kept back any more"
    fill(ballast)
    assert run(server, "check").returncode == 0
    fill(ballast)
    server.start(ready=True)
    assert get(server, ROLE) == before
    fill(ballast)
    check_emptied(server, large)


def accept_loss(server, store, ballast, large):
    assert put(server, "/full/lost", "yes")[0] == 200
    server.kill()
    (store / "store.db-wal").unlink()
    fill(ballast)
    done = run(server, "repair", "--accept-loss")
    assert done.returncode == 0 and "are lost" in done.stdout, done.stdout + done.stderr
    assert (store / "store.reserve").exists(), "nothing is kept back any more"
    fill(ballast)
    server.start(ready=True)
    assert get(server, "/full/kept") == "yes" and get(server, "/full/lost") is None
    fill(ballast)
    check_emptied(server, large)


def refuse_while_it_runs(server, store):
    """The reserved space of a server is not touched."""
    before = (store / "store.reserve").stat()
    done = run(server, "repair", ROLE)
    assert done.returncode == 5 and "another process has this store open" in done.stderr, done.stderr
    assert (store / "store.reserve").stat().st_ino == before.st_ino


def main(build, folder):
    disk = pathlib.Path(folder) / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    ballast = disk / "ballast"
    with ClusterServer(build, disk) as server:
        store = server.state / "server/store"
        assert put(server, "/full/kept", "yes")[0] == 200
        refuse_while_it_runs(server, store)
        size = (store / "store.reserve").stat().st_size
        for work in (repair_record, accept_loss):
            large = [f"/large/{count}" for count in range(20)]
            for key in large:
                assert put(server, key, "z" * 50000)[0] == 200
            assert server.stop() == 0
            server.start(ready=True)
            work(server, store, ballast, large)
            ballast.unlink()
            # With free space again, and without a restart.
            assert put(server, "/full/again", "z")[0] == 200
            assert (store / "store.reserve").stat().st_size == size
        assert server.stop() == 0


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
