"""However a run ends, no owed action is forgotten."""

import random
import subprocess

import pytest

KILLS = 60


def test_killed_at_any_point_nothing_owed_is_lost(writer_path, writer, tmp_path):
    rng = random.Random(1)
    interrupted = 0
    for _ in range(KILLS):
        running = subprocess.Popen(
            [writer_path, "work", tmp_path / "state", tmp_path / "world",
             str(rng.getrandbits(60)), "0"],
            stdout=subprocess.PIPE,
        )  # fmt: skip
        # It continues while we count, so the exact moment is random, too.
        running.stdout.read(rng.randrange(1, 400))
        running.kill()
        running.stdout.close()
        running.wait()
        output = writer("check")
        assert set(output.split()) <= {"E0704"}  # a single write is never torn by a kill
        interrupted += output.count("E0704")
    assert interrupted > KILLS / 4
    writer("settle")
    assert writer("check") == ""


def test_the_journal_stays_bounded_however_long_it_is_used(writer, tmp_path):
    writer("work", 7, 80)
    assert (tmp_path / "state" / "journal").stat().st_size < 80_000
    assert (tmp_path / "state" / "journal.1").stat().st_size < 80_000
    assert {path.name for path in (tmp_path / "state").iterdir()} == {
        "journal", "journal.1", "lock",
    }  # fmt: skip


def test_any_lost_or_damaged_tail_lets_later_runs_continue(writer, tmp_path):
    """After a power failure the tail of the file may be missing, or contain zeros or old bytes."""
    rng = random.Random(2)
    journal = tmp_path / "state" / "journal"
    for _ in range(40):
        writer("work", rng.getrandbits(60), 1)
        text = journal.read_bytes()
        tail = rng.randrange(0, min(len(text), 300))
        kept = text[: len(text) - tail]
        rest = rng.choice([b"", bytes(tail), rng.randbytes(tail)])
        journal.write_bytes(kept + rest)
        writer("settle")
        writer("work", rng.getrandbits(60), 1)


FULL = """
set -e
mount -t tmpfs -o size=256k tmpfs "$1"
"$2" work "$1/state" "$1/world" 1 3 >/dev/null
dd if=/dev/zero of="$1/filler" bs=1k 2>/dev/null || true
for seed in 1 2 3 4 5 6; do
    "$2" work "$1/state" "$1/world" $seed 400 >/dev/null || echo "could not start"
    "$2" check "$1/state" "$1/world"
done
df --output=avail "$1" | tail -1
rm "$1/filler"
"$2" settle "$1/state" "$1/world"
"$2" check "$1/state" "$1/world"
"$2" work "$1/state" "$1/world" 9 3 >/dev/null
"$2" check "$1/state" "$1/world"
"""


def test_a_full_disk_loses_nothing_and_work_resumes_later(writer_path, tmp_path):
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", tmp_path]).returncode != 0:
        pytest.fail("this test needs user and mount namespaces (unshare --user --mount)")
    done = subprocess.run(
        [*unshare, "sh", "-c", FULL, "sh", tmp_path, writer_path], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int([line for line in done.stdout.split() if line.isdigit()][-1]) < 8
