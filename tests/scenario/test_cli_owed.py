"""eden owed shows what the journal contains, without changing it."""

import fcntl
import json
import pathlib
import struct

import pytest

BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def line(**record):
    text = json.dumps(record).encode()
    return b"%08x " % crc32c(text) + text + b"\n"


def begin(boot=BOOT):
    edges = [["web#nginx", "web#conf", "watch", "nginx"], ["web#mail", "web#key", "listen", ""]]
    return line(
        t="begin", at=1769847330000, run="r1", boot=boot, path="/srv/site", edges=edges
    )


ACT = line(t="act", at=1769847331000, step="web#conf")
DONE = line(t="done", at=1769847332000, step="web#conf", result="changed", changed=True)
PAID = line(t="paid", at=1769847333000, step="web#nginx")
END = line(t="end", at=1769847334000, run="r1", result="changed")


@pytest.fixture
def state(tmp_path):
    """A state directory whose journal consists of these lines."""
    folder = tmp_path / "state"

    def write(*lines):
        folder.mkdir(exist_ok=True)
        (folder / "journal").write_bytes(b"".join(lines))
        return folder

    return write


def owed(eden, folder):
    done = eden("owed", "--state-dir", folder, "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    output = json.loads(done.stdout)
    assert output["format"] == "eden.owed/1"
    return output


def test_nothing_is_owed_where_nothing_was_applied(eden, tmp_path):
    assert owed(eden, tmp_path / "nowhere") == {
        "format": "eden.owed/1", "running": False, "owed": [],
    }  # fmt: skip
    done = eden("owed", "--root", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "nothing is owed\n")


def test_a_change_without_its_reaction_is_owed(eden, state):
    folder = state(begin(), ACT, DONE, END)
    assert owed(eden, folder)["owed"] == [
        {
            "step": "web#nginx",
            "kind": "watch",
            "cause": "web#conf",
            "unit": "nginx",
            "site": "/srv/site",
            "run": "r1",
            "since": "2026-01-31T08:15:31Z",
            "state": "owed",
        }
    ]
    done = eden("owed", "--state-dir", folder)
    assert done.stdout == (
        "STEP       KIND   CAUSE     SINCE                 STATE\n"
        "web#nginx  watch  web#conf  2026-01-31T08:15:31Z  owed\n"
    )
    assert done.stderr == "the next 'eden apply' performs them\n"


def test_a_paid_debt_disappears(eden, state):
    assert owed(eden, state(begin(), ACT, DONE, PAID, END))["owed"] == []


def test_an_interrupted_change_is_owed(eden, state):
    output = owed(eden, state(begin(), ACT))
    assert [debt["step"] for debt in output["owed"]] == ["web#nginx"]


def test_after_a_reboot_reactions_of_the_unfinished_run_are_owed_again(eden, state):
    """A power failure may have undone their effects."""
    output = owed(eden, state(begin(boot="another"), ACT, DONE, PAID))
    assert [debt["step"] for debt in output["owed"]] == ["web#nginx", "web#mail"]


def test_a_torn_tail_is_skipped_and_not_changed(eden, state):
    folder = state(begin(), ACT, DONE, END[:20])
    before = (folder / "journal").read_bytes()
    assert [debt["state"] for debt in owed(eden, folder)["owed"]] == ["owed"]
    assert (folder / "journal").read_bytes() == before


def test_a_change_in_progress_is_shown_during_a_run(eden, state):
    folder = state(begin(), ACT)
    with open(folder / "lock", "w") as lock:
        whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, whole)
        output = owed(eden, folder)
        assert output["running"] is True
        assert [debt["state"] for debt in output["owed"]] == ["possible"]
        assert "in progress" in eden("owed", "--state-dir", folder).stdout


def test_a_journal_that_is_not_a_file_is_an_error(eden, state):
    folder = state()
    (folder / "journal").unlink()
    (folder / "journal").mkdir()
    done = eden("owed", "--state-dir", folder)
    assert done.returncode == 1
    assert "journal" in done.stderr
