"""The embedded store: killed at any point, and on a full disk."""

import os
import pathlib
import random
import subprocess

import pytest

KILLS = 100  # external kills, while it prints its progress
AT_CALLS = 60  # in the middle of a system call; in a write after half of it
COUNT = 150  # writes of a process that exits by itself

BUILD = pathlib.Path(
    os.environ.get("EDEN_BUILD", str(pathlib.Path(__file__).resolve().parents[2] / "build"))
)
WRITER = BUILD / "tests" / "fault" / "store_writer"


class History:
    """Everything acknowledged over many restarts of a store, and what a dump must show."""

    def __init__(self, folder):
        self.folder = folder
        self.acks = {}  # revision: (key, value)
        self.events = {}  # the same, as seen in the log
        self.last = 0  # the newest acknowledged revision
        self.revision = 0  # the newest revision seen
        self.swaps = 0

    def add_output(self, text):
        """Parses the lines of a writer; the last one may be cut off."""
        heard = 0
        for line in text[: text.rfind("\n") + 1].splitlines():
            words = line.split()
            if words[0] == "swap":
                assert words[1] == "1", "of two compare-and-swap exactly one wins"
                self.swaps += 1
                continue
            revision = int(words[1])
            assert revision > self.last, "revisions do not grow"
            assert revision not in self.events, "a revision was used twice"
            self.last = revision
            self.acks[revision] = (words[2], words[3])
            heard += 1
        return heard

    def dump(self, start=0):
        done = subprocess.run([WRITER, "dump", self.folder, str(start)],
                              capture_output=True, text=True)  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        keys, events = {}, {}
        revision = compacted = None
        for line in done.stdout.splitlines():
            words = line.split()
            if words[0] == "store":
                revision, compacted = int(words[1]), int(words[2])
            elif words[0] == "key":
                keys[words[1]] = (words[2], int(words[3]))
            else:
                # Every change of the writer has a separate revision.
                assert not events or int(words[1]) == max(events) + 1, "a gap, or out of order"
                events[int(words[1])] = (words[2], words[3])
        return revision, compacted, keys, events

    def check(self, rng):
        revision, compacted, keys, events = self.dump()
        assert revision >= self.last, "an acknowledged write is lost"
        assert revision >= self.revision, "the store went back"
        self.revision = revision
        assert list(events) == list(range(compacted + 1, revision + 1))
        for number, what in events.items():
            assert self.acks.get(number, what) == what, "the log tells another story than the ack"
            assert self.events.get(number, what) == what, "history was changed"
        self.events.update(events)
        state = {}
        for number in sorted(set(self.acks) | set(self.events)):
            key, value = self.events.get(number) or self.acks[number]
            state[key] = (value, number)
        known = {key: there for key, there in state.items()
                 if there[0] != "-" and key != "counter"}  # fmt: skip
        assert keys == known
        if events:
            start = rng.choice(list(events))
            later = self.dump(start)[3]
            assert later == {number: what for number, what in events.items() if number >= start}


@pytest.fixture
def history(tmp_path):
    return History(tmp_path / "store")


def start(history, rng, count, env=None):
    return subprocess.Popen(
        [WRITER, "write", history.folder, str(rng.getrandbits(60)), str(count)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip


def test_killed_at_any_point_the_store_loses_no_acknowledged_write(history):
    rng = random.Random(1)
    for _ in range(KILLS):
        running = start(history, rng, 0)
        # It continues while we read, so the exact moment is random, too.
        text = running.stdout.read(rng.randrange(1, 4000))
        running.kill()
        text += running.stdout.read()
        assert running.stderr.read() == ""
        running.wait()
        history.add_output(text)
        history.check(rng)
    assert history.last > KILLS * 20
    assert history.swaps > KILLS


def test_killed_during_a_write_the_store_loses_no_acknowledged_write(history, storage_path):
    rng = random.Random(2)
    preload = {**os.environ, "LD_PRELOAD": str(storage_path)}
    preload["ASAN_OPTIONS"] = ":".join(
        filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"])
    )
    killed = unfinished = 0
    while killed < AT_CALLS:
        at = rng.randrange(1, 350)
        running = start(history, rng, COUNT, {**preload, "EDEN_STORAGE_KILL": str(at)})
        text, errors = running.communicate()
        assert running.returncode in (0, -9), errors
        killed += running.returncode == -9
        unfinished += running.returncode == 0
        assert unfinished < AT_CALLS, "the moments come too late"
        history.add_output(text)
        history.check(rng)


@pytest.mark.parametrize("at, name", [(1, "store.db"), (2, "store.db"), (7, "store.db"),
                                      (60, "store.db"), (200, "store.db"), (1, "store.db$"),
                                      (2, "store.db$"), (9, "store.db$")])  # fmt: skip
def test_a_failed_fsync_loses_nothing_and_stops_writing(tmp_path, history, storage_path, at, name):
    started = start(history, random.Random(3), 1)
    assert started.communicate() and started.returncode == 0
    env = {**os.environ, "LD_PRELOAD": str(storage_path), "ASAN_OPTIONS": "verify_asan_link_order=0",
           "EDEN_STORAGE_FAIL": f"fdatasync:{at}:EIO:{name}"}
    done = subprocess.run([WRITER, "sync", tmp_path / "store"], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


FULL = """
set -e
mount -t tmpfs -o size=8m tmpfs "$1"
head -c 3000000 /dev/zero > "$1/ballast"
exec "$2" full "$1/store" "$1/ballast"
"""


def test_a_full_disk_fails_writes_only_while_it_is_full(tmp_path):
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", tmp_path]).returncode != 0:
        pytest.fail("this test needs user and mount namespaces (unshare --user --mount)")
    done = subprocess.run([*unshare, "sh", "-c", FULL, "sh", tmp_path, WRITER],
                          capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
