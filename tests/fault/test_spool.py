"""A node's spool: killed at any point, it loses no record and uses no sequence number twice."""

import os
import pathlib
import random
import subprocess

import pytest

KILLS = 100  # external kills
AT_CALLS = 80  # in the middle of a system call; in a write after half of it
COUNT = 120  # iterations of a process that exits by itself

BUILD = pathlib.Path(
    os.environ.get("EDEN_BUILD", str(pathlib.Path(__file__).resolve().parents[2] / "build"))
)
WRITER = BUILD / "tests" / "fault" / "spool_writer"


class History:
    """Everything reported over many restarts of a spool, and what a dump must show."""

    def __init__(self, folder):
        self.folder = folder
        self.numbers = {}  # (epoch, sequence): id
        self.sent = set()  # ids
        self.acked = 0  # all ids up to here
        self.acks = 0
        self.next = 1
        self.cut = 0

    def add_output(self, text):
        """Parses the lines of a writer; the last one may be cut off."""
        for line in text[: text.rfind("\n") + 1].splitlines():
            words = line.split()
            if words[0] == "ack":
                self.acked = max(self.acked, int(words[1]))
                self.acks += 1
                continue
            number, what = (words[1], int(words[2])), int(words[3])
            assert self.numbers.setdefault(number, what) == what, "a number means two records"
            self.sent.add(what)

    def check(self):
        done = subprocess.run([WRITER, "dump", self.folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.cut += done.stderr.count("truncating it")
        assert done.stderr.count("\n") == done.stderr.count("truncating it"), done.stderr
        epoch, last, ids = None, 0, []
        for line in done.stdout.splitlines():
            words = line.split()
            if words[0] == "spool":
                epoch, last = words[1], int(words[2])
                continue
            number, what = (epoch, int(words[1])), int(words[2])
            assert self.numbers.get(number, what) == what, "a number means two records"
            assert number[1] <= last
            ids.append(what)
        assert ids == sorted(set(ids)), "out of order, or twice"
        lost = {what for what in self.sent if what > self.acked} - set(ids)
        assert not lost, "records lost"
        highest = max((n for e, n in self.numbers if e == epoch), default=0)
        assert last >= highest, "a number would be given again"
        self.next = max([self.next, *ids, *self.sent]) + 1

    def start(self, rng, count, env=None):
        return subprocess.Popen(
            [WRITER, "work", self.folder, str(rng.getrandbits(60)), str(self.next), str(count)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip


@pytest.fixture
def history(tmp_path):
    return History(tmp_path / "spool")


def test_killed_at_any_point_the_spool_loses_no_record(history):
    rng = random.Random(1)
    for _ in range(KILLS):
        running = history.start(rng, 0)
        # It continues while we read, so the exact moment is random, too.
        text = running.stdout.read(rng.randrange(1, 6000))
        running.kill()
        text += running.stdout.read()
        assert running.stderr.read() == ""
        running.wait()
        history.add_output(text)
        history.check()
    assert len(history.sent) > KILLS * 20
    assert history.acks > KILLS


def test_killed_during_a_write_the_spool_loses_no_record(history, storage_path):
    rng = random.Random(2)
    preload = {**os.environ, "LD_PRELOAD": str(storage_path)}
    preload["ASAN_OPTIONS"] = ":".join(
        filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"])
    )
    killed = unfinished = 0
    while killed < AT_CALLS:
        at = rng.randrange(1, 250)
        running = history.start(rng, COUNT, {**preload, "EDEN_STORAGE_KILL": str(at)})
        text, errors = running.communicate()
        assert running.returncode in (0, -9), errors
        killed += running.returncode == -9
        unfinished += running.returncode == 0
        assert unfinished < AT_CALLS, "the moments come too late"
        history.add_output(text)
        history.check()
    assert history.cut > 0, "no write was torn"


@pytest.mark.parametrize("fault, most", [("fdatasync:{}:EIO", 60), ("fdatasync:{}+:EIO", 60),
                                         ("write:{}:short", 60), ("write:{}:ENOSPC", 60),
                                         ("fsync:{}:EIO", 3), ("rename:{}:EIO", 2)])  # fmt: skip
def test_a_failed_write_or_sync_is_retried(history, storage_path, fault, most):
    """A record that could not be written is retried and written once: no record is lost or
    duplicated.
    """
    rng = random.Random(fault)
    env = {**os.environ, "LD_PRELOAD": str(storage_path)}
    env["ASAN_OPTIONS"] = ":".join(
        filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"])
    )
    failed = 0
    for _ in range(15):
        at = rng.randrange(1, most + 1)
        running = history.start(rng, COUNT, {**env, "EDEN_STORAGE_FAIL": fault.format(at)})
        text, errors = running.communicate()
        if running.returncode != 0:  # when it was opened
            assert "spool_writer:" in errors
        failed += errors.count("cannot write the spool")
        history.add_output(text)
        history.check()
    assert failed > 0
    assert history.sent
