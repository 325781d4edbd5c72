"""Standard output that fails, interrupts, colors: the program's behavior apart from its actual
work.
"""

import os
import pty
import signal
import subprocess

import pytest


def test_a_full_disk_is_a_failure(eden_path):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([eden_path, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "eden: standard output: cannot write: No space left on device\n"


@pytest.mark.parametrize("arguments", [["explain"], ["help", "-o", "json"], ["eval", "'x' * 10**7"]])
def test_a_closed_reader_is_a_failure(eden_path, arguments):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([eden_path, *arguments], stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert done.returncode == 1
    assert done.stderr == "eden: standard output: cannot write: Broken pipe\n"


def test_a_batch_stops_if_its_output_is_closed(eden_path):
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = subprocess.Popen([eden_path, "render", "--batch"], stdin=subprocess.PIPE,
                               stdout=write_end, stderr=subprocess.PIPE)
    os.close(write_end)
    process.stdin.write(b'{"template": "x"}\n')
    process.stdin.flush()
    # The input stays open: it exits because of its output.
    assert process.wait(30) == 1
    assert b"Broken pipe" in process.stderr.read()
    process.stdin.close()
    process.stderr.close()


def test_closed_standard_output_is_a_failure(eden_path):
    done = subprocess.run(["sh", "-c", '"$0" help >&-', eden_path], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "standard output" in done.stderr


def test_a_failed_command_keeps_its_exit_code_on_a_full_disk(eden_path):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([eden_path, "nonsense"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 64


def test_an_interrupt_exits_with_130(eden_path):
    process = subprocess.Popen([eden_path, "render", "--batch"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    # Its response shows that it is up.
    process.stdin.write(b'{"template": "x"}\n')
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    process.stdin.close()
    process.stdout.close()


def test_an_interrupt_that_the_caller_ignores_stays_ignored(eden_path):
    process = subprocess.Popen(
        [eden_path, "render", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    for _ in range(2):
        process.stdin.write(b'{"template": "x"}\n')
        process.stdin.flush()
        assert process.stdout.readline() == b'{"output":"x"}\n'
        process.send_signal(signal.SIGINT)
    process.stdin.close()
    assert process.wait(30) == 0
    process.stdout.close()


def stderr_of(eden_path, env, terminal, *options):
    """What a failing command writes to standard error, on a terminal or into a pipe."""
    argv = [eden_path, "eval", "x", *options]
    env = {"PATH": "/usr/bin:/bin", **env}
    if not terminal:
        return subprocess.run(argv, stderr=subprocess.PIPE, env=env).stderr
    ours, theirs = pty.openpty()
    process = subprocess.Popen(argv, stderr=theirs, env=env)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:
        pass  # how Linux signals the end of a pseudo-terminal
    os.close(ours)
    process.wait()
    return text


@pytest.mark.parametrize("env, terminal, options, colored", [
    ({}, False, [], False),
    ({"TERM": "xterm"}, True, [], True),
    ({"TERM": "dumb"}, True, [], False),
    ({}, True, [], False),
    ({"TERM": "xterm", "NO_COLOR": "1"}, True, [], False),
    ({"TERM": "xterm", "NO_COLOR": ""}, True, [], True),
    ({"FORCE_COLOR": "1"}, False, [], True),
    ({"CLICOLOR_FORCE": "1"}, False, [], True),
    ({"FORCE_COLOR": "0"}, False, [], False),
    ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, [], False),
    ({"NO_COLOR": "1"}, False, ["--color", "always"], True),
    ({"TERM": "xterm"}, True, ["--color=never"], False),
])
def test_colors_are_used_on_terminals_by_default(eden_path, env, terminal, options, colored):
    text = stderr_of(eden_path, env, terminal, *options)
    assert b"E0204" in text
    assert (b"\x1b[" in text) == colored


@pytest.mark.parametrize("code, arguments", [
    (0, ["version"]),
    (1, ["eval", "x"]),
    (3, ["validate", "."]),
    (64, ["nonsense"]),
])
def test_exit_codes(eden, code, arguments):
    assert eden(*arguments).returncode == code
