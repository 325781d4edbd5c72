"""Progress of a run: one updated line on a terminal, plain lines elsewhere."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

import pytest

STEPS = {"steps": [
    {"name": "länger als die Zeile " * 4, "cmd.run": [{"cmd": "read x < $EDEN_GATE"}]}
]}  # fmt: skip


def on_terminal(eden_path, tmp_path, columns, until, *options, **env):
    """Standard error, a terminal, and standard output of an apply whose only step ends once `until`
    was seen there; None: as soon as it can."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "steps.yaml").write_text(json.dumps(STEPS))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [eden_path, "apply", "steps.yaml", "--state-dir", "state", "--config-dir", "none", *options],
        cwd=tmp_path, stderr=theirs, stdout=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "EDEN_GATE": str(gate), **env})  # fmt: skip
    os.close(theirs)
    text = b""
    if until is None:
        gate.write_text("go\n")
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
            if until is not None and until in text:
                until = None
                gate.write_text("go\n")
    except OSError:
        pass  # how Linux signals the end of a pseudo-terminal
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == 0
    return text.decode(), out.decode()


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_the_changing_line_fits_into_the_terminal(eden_path, tmp_path, columns):
    text, _ = on_terminal(eden_path, tmp_path, columns, b"\x1b[K", TERM="xterm")
    lines = [line.split("\x1b[K")[0] for line in text.split("\r") if "\x1b[K" in line]
    assert any("0/1" in line for line in lines)
    assert all(len(line) < columns for line in lines), lines


def test_without_cursor_movement_progress_lines_are_plain(eden_path, tmp_path):
    text, _ = on_terminal(eden_path, tmp_path, 80, None, TERM="dumb")
    assert "\x1b" not in text and "changed" in text


def test_the_report_is_colored_on_request(eden_path, tmp_path):
    _, out = on_terminal(eden_path, tmp_path, 80, None, "--color", "always", TERM="dumb")
    assert "\x1b[33m" in out
