"""Power failure at any point: nothing acknowledged is lost, nothing torn is accepted.

A program runs once with storage.c, which records its disk operations. Then, for every point of that
run, disks are created as a power cut could leave them (power.py), and the program is started on
each. No disk is tried twice. EDEN_POWER_CUTS=N tries N disks for each test instead of a few dozen,
EDEN_POWER_SEED=S selects others.
"""

import copy
import io
import itertools
import json
import os
import random
import shutil
import subprocess
import tarfile

import pytest

import test_spool
import test_store
from power import Disk, read_record
from world import ORDERS, World

SEED = int(os.environ.get("EDEN_POWER_SEED", "1"))
STATES = 4  # per point with many unsynced changes; all of them if there are few


def cuts(default):
    return int(os.environ.get("EDEN_POWER_CUTS", default))


class Recorder:
    """Records runs of programs on one disk, and creates the disks that a power cut could leave."""

    def __init__(self, library, folder, disk):
        self.library, self.folder, self.disk = library, folder, disk
        self.record = folder / "record"
        self.place = folder / "after the cut"
        self.boot = folder / "boot"
        self.boot.write_text("11111111-2222-3333-4444-555555555555\n")

    def preload(self, **more):
        options = [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]
        return {"LD_PRELOAD": str(self.library), "ASAN_OPTIONS": ":".join(filter(None, options)), **more}

    def recording(self):
        self.record.write_bytes(b"")
        return self.preload(EDEN_STORAGE_RECORD=str(self.record))

    @staticmethod
    def moments(events, rng, only):
        """Points of the recording, in the order in which they are tried, starting with those right
        after output and syncs: there guarantees begin."""
        if only:
            chosen = [i + 1 for i, event in enumerate(events) if only(event)]
            return rng.sample(chosen, len(chosen))
        spoken = [i + 1 for i, event in enumerate(events) if event[0] in "PSFA"]
        others = [i for i in range(len(events) + 1) if i not in set(spoken)]
        rng.shuffle(spoken)
        rng.shuffle(others)
        both = itertools.zip_longest(spoken, others)
        return [moment for pair in both for moment in pair if moment is not None]

    @staticmethod
    def plan(events, disk, moments, count, rng, lost=None):
        """Which disks are created at which points, `count` or all of them."""
        seen, pending, synced = set(), {}, 0
        wanted = set(moments[:count])
        for i in range(len(events) + 1):
            if i in wanted:
                pending[i] = disk.unsynced(), len(disk.output), synced
            if i < len(events):
                synced += events[i][0] in "SFA"
                disk.feed(events[i])
        chosen, more_left = {}, True
        while more_left:  # random: other points each time
            more_left = False
            for i in moments[: len(pending)]:
                unsynced, *where = pending[i]
                for way, there in disk.ways(unsynced, rng, STATES, lost):
                    key = (*where, there if there is not None else way)
                    if count > 0 and key not in seen:
                        seen.add(key)
                        chosen.setdefault(i, []).append(way)
                        count -= 1
                        more_left = count > 0
        return chosen

    def states(self, before, count, only=None, lost=None):
        """For points throughout the recording: the output so far, and the disk at self.place. With
        `only`, for points after the events that it selects. Also, at each point, without any
        unsynced change of the inode `lost`."""
        events = read_record(self.record)
        assert any(event[0] == "W" for event in events), "nothing was recorded"
        rng = random.Random(SEED)
        moments = self.moments(events, rng, only)
        chosen = self.plan(events, copy.deepcopy(before), moments, count, rng, lost)
        for i in range(len(events) + 1):
            for way in chosen.get(i, ()):
                shutil.rmtree(self.place, ignore_errors=True)
                self.place.mkdir()
                before.write(self.place, before.state(way, rng))
                yield f"moment {i} of {len(events)}, {way}, seed {SEED}", before.output.decode()
            if i < len(events):
                before.feed(events[i])


@pytest.fixture
def recorder(storage_path, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    return Recorder(storage_path, tmp_path, disk)


# --- The spool of a node -------------------------------------------------------------------------


def check_after(history, folder, output, where, *more):
    """What the remaining disk contains, given everything that was reported by then."""
    after = copy.deepcopy(history)
    after.folder = folder
    after.add_output(output)
    try:
        after.check(*more)
    except AssertionError as why:
        raise AssertionError(f"{where}: {why}") from why


def test_the_spool_loses_no_record(recorder):
    history = test_spool.History(recorder.disk / "spool")
    rng = random.Random(SEED)
    tried = 0
    for _ in range(3):
        before = Disk(recorder.disk)
        running = history.start(rng, 60, {**os.environ, **recorder.recording()})
        text, errors = running.communicate()
        assert running.returncode == 0, errors
        for where, output in recorder.states(before, cuts(300) // 3):
            check_after(history, recorder.place / "spool", output, where)
            tried += 1
        history.add_output(text)
        history.check()
    assert tried > 30
    assert history.acks > 5


# --- The store -----------------------------------------------------------------------------------


def test_the_store_loses_no_acknowledged_write(recorder):
    history = test_store.History(recorder.disk / "store")
    rng = random.Random(SEED)
    tried = 0
    for life in range(2):
        before = Disk(recorder.disk)
        env = {**os.environ, **recorder.recording()}
        running = test_store.start(history, rng, 150, env)
        text, errors = running.communicate()
        assert running.returncode == 0, errors
        for where, output in recorder.states(before, cuts(80) // 2):
            check_after(history, recorder.place / "store", output, where, rng)
            tried += 1
        history.add_output(text)
        history.check(rng)
    assert tried > 40


def test_a_power_cut_during_a_checkpoint_loses_nothing(recorder):
    """A thread copies the log into the database, and syncs it, during writes."""
    history = test_store.History(recorder.disk / "store")
    rng = random.Random(SEED)
    running = test_store.start(history, rng, 1)
    history.add_output(running.communicate()[0])
    before = Disk(recorder.disk)
    running = test_store.start(history, rng, 3000, {**os.environ, **recorder.recording()})
    text, errors = running.communicate()
    assert running.returncode == 0, errors
    database = (recorder.disk / "store/store.db").stat().st_ino
    events = read_record(recorder.record)
    copies = [i for i, event in enumerate(events) if event[0] == "W" and event[1][0] == database]
    lasting = [i for i in copies if any(event[0] == "P" for event in events[i:])]
    assert len(lasting) > 60, "the log was not copied while others wrote"

    # After every write and sync of the copy, and after every sync of the log, which then restarts.
    def matters(event):
        return event[0] in "SF" or event[0] == "W" and event[1][0] == database

    for where, output in recorder.states(before, cuts(240), matters):
        check_after(history, recorder.place / "store", output, where, rng)


# --- Files of runs and of site versions ----------------------------------------------------------

FILES_WRITER = test_spool.BUILD / "tests" / "fault" / "files_writer"
KEPT = 3  # versions of the site kept on a node


def promises(subject, text):
    """What must persist, by name, given the output of a writer; the highest number for each."""
    found = {}
    for line in text[: text.rfind("\n") + 1].splitlines():
        _, *name, number = line.split() if subject in ("logs", "runs") else (*line.split(), "1")
        found[tuple(name)] = max(int(number), found.get(tuple(name), -1))
    if subject == "runs":  # it may be there or not while it is being removed
        return {name: stage for name, stage in found.items() if stage < 5}
    if subject == "sites":
        return dict(list(found.items())[-KEPT:])
    return found


def check_files(recorder, subject, folder, output, where, count):
    command = [FILES_WRITER, subject, "dump", folder, str(count)]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, **recorder.preload(EDEN_STORAGE_UNSYNCED="1")})  # fmt: skip
    assert done.returncode == 0, f"{where}: {done.stderr}"
    there = promises(subject, done.stdout) if subject != "sites" else {
        tuple(line.split()[1:]): 1 for line in done.stdout.splitlines()}  # fmt: skip
    for name, number in promises(subject, output).items():
        assert there.get(name, -1) >= number, f"{where}: {name} was {number}, is {there.get(name)}"


@pytest.mark.parametrize("subject, count", [("logs", 12), ("blobs", 40), ("runs", 8), ("sites", 5)])
def test_files_of_runs_and_sites_lose_nothing(recorder, subject, count):
    folder = recorder.disk / "files"
    folder.mkdir(mode=0o700)
    before = Disk(recorder.disk)
    command = [FILES_WRITER, subject, "work", folder, str(SEED), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **recorder.recording()})
    assert done.returncode == 0, done.stderr
    tried = 0
    for where, output in recorder.states(before, cuts(100)):
        check_files(recorder, subject, recorder.place / "files", output, where, count)
        tried += 1
    assert tried > 60
    check_files(recorder, subject, folder, done.stdout, "without a cut", count)


# --- A run ---------------------------------------------------------------------------------------


def record_apply(world, recorder, order):
    """Applies the site; also records what its commands do in the root."""
    inside = {"lib/storage.so": None, "etc/ld.so.preload": "/lib/storage.so\n", "storage.record": ""}
    for name, text in inside.items():
        path = world.root / name
        path.parent.mkdir(exist_ok=True)
        if text is None:
            shutil.copy(recorder.library, path)
        else:
            path.write_text(text)
    recorder.record = world.root / "storage.record"
    before = Disk(recorder.disk, {world.root / name for name in inside})
    done = subprocess.run(world.command(order, "--progress", "none"), capture_output=True, text=True,
                          env=world.environment(**recorder.recording()))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (world.root / "etc" / "ld.so.preload").unlink()
    return before


def check_apply(world, recorder, order, default, lost=None):
    """Whatever the power cut leaves, files are complete, and the next apply performs all owed
    actions.
    """
    before = record_apply(world, recorder, order)
    saved = world.version
    for where, _ in recorder.states(before, cuts(default), lost=lost):
        after = copy.copy(world)
        after.root, after.state = recorder.place / "root", recorder.place / "state"
        boot = recorder.preload(EDEN_STORAGE_BOOT=str(recorder.boot), EDEN_STORAGE_UNSYNCED="1")
        after.environment = lambda **more: world.environment(**boot, **more)
        try:
            for name in ("alpha", "beta", "gamma", "delta"):
                assert after.version_of(name) in (saved - 1, saved), name
            after.converge(order)
        except (AssertionError, ValueError) as why:
            raise AssertionError(f"{where}: {why}") from why


@pytest.fixture
def world(eden_path, privileged, tmp_path, recorder):
    if privileged:
        pytest.fail("this test needs the rights of root: programs in another root are recorded")
    return World(eden_path, tmp_path, disk=recorder.disk)


@pytest.mark.parametrize("order", ORDERS[:2])
def test_an_apply_forgets_nothing_and_tears_nothing(world, recorder, order):
    world.converge()
    world.next()
    check_apply(world, recorder, order, 60)


def test_the_first_apply_of_a_machine_forgets_nothing(world, recorder):
    check_apply(world, recorder, "ansible", 50)


def test_a_new_journal_forgets_nothing(world, recorder):
    world.converge()
    world.next()
    (world.state / "journal").unlink()
    # Its name, which only a sync of the directory makes durable.
    check_apply(world, recorder, "ansible", 70, lost=world.state.stat().st_ino)


def test_owed_actions_of_an_earlier_run_survive(world, recorder):
    """The second run changes nothing but performs the actions owed by the first, which was killed.
    """
    world.converge()
    world.next()
    order = "ansible"
    for at in range(60, 400, 10):
        env = world.environment(**recorder.preload(EDEN_STORAGE_KILL=str(at)))
        done = subprocess.run(world.command(order, "--progress", "none"), env=env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        if done.returncode == -9 and world.version_of("delta") == world.version:
            break
    assert world.owed() >= {"both"}
    check_apply(world, recorder, order, 40)


# --- An archive ----------------------------------------------------------------------------------


def test_an_archive_is_extracted_completely_or_not_at_all(recorder, eden_path, tmp_path, monkeypatch):
    # The interval between the move and the following sync is short: try many states of it.
    monkeypatch.setitem(globals(), "STATES", 16)
    root = recorder.disk / "root"
    (root / "opt").mkdir(parents=True)
    contents = {f"f{i}": f"{i}\n".encode() * 5000 for i in range(5)}
    with tarfile.open(root / "a.tar", "w") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    steps = tmp_path / "steps.json"
    steps.write_text(json.dumps({"steps": [
        {"name": "it", "archive.extracted": [{"name": "/opt/app"}, {"source": "/a.tar"}]}]}))  # fmt: skip
    before = Disk(recorder.disk)
    command = [eden_path, "apply", steps, "--root", root, "--state-dir", recorder.disk / "state",
               "--config-dir", tmp_path / "etc", "--progress", "none"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, **recorder.recording()})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    seen = set()
    for where, _ in recorder.states(before, cuts(450)):
        app = recorder.place / "root/opt/app"
        seen.add(app.exists())
        for name, content in contents.items() if app.exists() else ():
            assert (app / name).exists() and (app / name).read_bytes() == content, f"{where}: {name}"
    assert seen == {False, True}
