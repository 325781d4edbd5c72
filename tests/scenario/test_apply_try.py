"""eden apply --try: applies for real, and discards all changes. Requires root privileges."""

import json
import contextlib
import os
import pathlib
import signal
import socket
import subprocess

import pytest


@pytest.fixture
def attempt(eden_path, tmp_path):
    """The command line for trying these steps."""
    if os.geteuid() != 0:
        pytest.fail("this test needs the rights of root")

    def command(steps, *options):
        file = tmp_path / "steps.yaml"
        file.write_text(json.dumps({"steps": steps}))
        return [eden_path, "apply", file, "--try", "--state-dir", tmp_path / "state",
                "--config-dir", tmp_path / "none", "--progress", "none", *options]  # fmt: skip

    return command


def command(name, text):
    return {"name": name, "cmd.run": [{"cmd": text}]}


def run(words):
    return subprocess.run(words, capture_output=True, text=True)


def leftovers():
    return set(pathlib.Path("/tmp").glob("eden-try-*"))


def test_changes_are_listed_and_discarded(attempt, tmp_path):
    file = tmp_path / "file"
    done = run(attempt([command("write", f"echo x > {file}")]))
    assert done.returncode == 0, done.stderr
    assert f"created  {file}\n" in done.stdout
    assert not file.exists()


def test_files_of_eden_itself_are_not_listed(attempt, tmp_path):
    """By whatever path its folder is given; a path with the same prefix is reported."""
    words = attempt([command("write", "touch state-of-others")], "--state-dir", "state")
    words = [word for word in words if word != tmp_path / "state"]
    words.remove("--state-dir")
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.endswith(f"would differ:\n  created  {tmp_path}/state-of-others\n")


def test_processes_of_the_machine_cannot_be_reached(attempt):
    done = run(attempt([command("kill", f"kill -0 {os.getpid()}")]))
    assert done.returncode == 1
    assert "No such process" in done.stdout


def command_lines():
    """Of all processes; one may exit while it is inspected."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


def test_started_processes_end_with_it(attempt):
    marker = f"98765.{os.getpid()}"
    done = run(attempt([command("daemon", f"sleep {marker} > /dev/null 2>&1 &")]))
    assert done.returncode == 0, done.stderr
    running = list(command_lines())
    assert not [line for line in running if marker.encode() in line and b"sleep" in line]


def is_pending(pid):
    """Whether a signal is still pending: once it is received and forwarded, the process waits
    again.
    """
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status") if ":\t" in line)
    assert status["State"][0] not in "ZX", "it exited immediately"
    return status["State"][0] != "S" or int(status["ShdPnd"], 16) & 1 << (signal.SIGINT - 1)


def test_interrupted_it_stops_between_steps_and_leaves_nothing(attempt):
    before = leftovers()
    server = socket.create_server(("127.0.0.1", 0))
    gate = "import socket; socket.create_connection(('127.0.0.1', %d)).recv(1)"
    steps = [
        command("gate", f'/usr/bin/python3 -c "{gate % server.getsockname()[1]}"'),
        command("second", "true"),
    ]
    running = subprocess.Popen(attempt(steps, "--network"), stdout=subprocess.PIPE, text=True,
                               start_new_session=True)  # fmt: skip
    connection, _ = server.accept()
    child = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    os.killpg(running.pid, signal.SIGINT)
    for pid in [running.pid, *child]:
        while is_pending(pid):
            os.sched_yield()
    connection.send(b"x")
    out, _ = running.communicate()
    assert running.returncode == 130
    assert "changed  steps#gate" in out
    assert "interrupted: 1 step did not start" in out
    assert leftovers() == before


def test_missing_privileges_are_reported(attempt):
    without = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    done = run([*without, *attempt([command("one", "true")])])
    assert (done.returncode, done.stdout) == (4, "")
    assert "cannot use --try" in done.stderr and "Operation not permitted" in done.stderr
