"""Daemons of eden as real processes: started, waited for until they report readiness, and stopped
by their creator."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time

import events
from events import LIMIT


def environment():
    """The environment of a daemon: small and fixed, plus sanitizer settings."""
    names = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LLVM_PROFILE_FILE")
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
            **{name: os.environ[name] for name in names if name in os.environ}}


class Daemon:
    """One process; its notes are its notifications to systemd, its log is its output."""

    def __init__(self, folder, *command, env=None):
        self.socket_path = str(folder / f"notify-{os.urandom(4).hex()}")
        self.notes = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notes.bind(self.socket_path)
        os.chmod(self.socket_path, 0o666)  # also accept notifications after the daemon changed its user
        self.notes.setblocking(False)
        self.folder = folder
        self.notifications = []
        self.log = []
        self.logged, self.wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=folder,
            env={**environment(), "NOTIFY_SOCKET": self.socket_path, **(env or {})})
        self.grown = threading.Condition()
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        events.sources.append(self)

    def _read_log(self):
        for line in self.process.stderr:
            with self.grown:
                self.log.append(line.rstrip("\n"))
                self.grown.notify_all()
            with contextlib.suppress(BlockingIOError):
                os.write(self.wakes, b"x")
        with self.grown:
            self.grown.notify_all()

    def descriptors(self):
        return [self.notes, self.logged]

    def take(self):
        """Receives its notifications to systemd; for its log, only the fact that it has grown."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.notifications.append(self.notes.recv(4096).decode())
        with contextlib.suppress(BlockingIOError):
            while os.read(self.logged, 4096):
                pass

    def wait_for_note(self, wanted, limit=LIMIT):
        """Waits until it has sent systemd a notification that contains `wanted`."""
        end = time.monotonic() + limit
        while not any(wanted in note for note in self.notifications):
            if select.select([self.notes], [], [], 0.2)[0]:
                self.take()
            elif self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode}: {self.log}")
            elif time.monotonic() > end:
                raise AssertionError(f"no '{wanted}' came: {self.notifications} {self.log}")
        return next(note for note in self.notifications if wanted in note)

    def wait_ready(self):
        self.wait_for_note("READY=1")
        return self

    def wait_for_log(self, wanted, limit=LIMIT):
        """Waits until a line of its log contains `wanted`; returns that line."""
        end = time.monotonic() + limit
        with self.grown:
            while True:
                for line in self.log:
                    if wanted in line:
                        return line
                if self.process.poll() is not None and not self.reader.is_alive():
                    raise AssertionError(f"it ended without '{wanted}': {self.log}")
                if not self.grown.wait(max(0, end - time.monotonic())):
                    raise AssertionError(f"its log has no '{wanted}': {self.log}")

    def kill(self):
        """Like a power failure."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Stops it cleanly; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=LIMIT)

    def end(self):
        """May be called twice."""
        if self not in events.sources:
            return
        if self.process.poll() is None:
            self.kill()
        self.reader.join()
        events.sources.remove(self)
        os.close(self.logged)
        os.close(self.wakes)
        self.process.stdout.close()
        self.process.stderr.close()
        self.notes.close()


class Cluster:
    """A cluster of one server on loopback, in a folder; close() stops its daemons."""

    def __init__(self, eden_path, folder, name="s1", cluster="blue", user="root", options=()):
        self.eden_path = eden_path
        self.folder = folder
        self.state = folder / name / "state"
        self.run = folder / name / "run"
        self.daemons = []
        self.server = None
        self.rpc_port = self.api_port = 0
        self.init_output = json.loads(self.eden(
            "init", "--cluster", cluster, "--name", name, "--user", user, "--rpc", "127.0.0.1:0",
            "--api", "127.0.0.1:0", "--address", "127.0.0.1", "-o", "json", "--state-dir",
            self.state, *options).stdout)

    def eden(self, *args, check=True, env=None, **more):
        """Runs a command; the test fails if it fails, unless `check` is False."""
        done = subprocess.run([self.eden_path, *map(str, args)], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT,
                              env={**environment(), **(env or {})}, cwd=self.folder, **more)
        assert not check or done.returncode == 0, done.stderr + done.stdout
        return done

    def call(self, *args, check=True):
        """A command that connects to the server."""
        return self.eden(*args, "--run-dir", self.run, "--state-dir", self.state, check=check)

    def start(self, *options, env=None):
        """The server; the ports are kept when it restarts."""
        self.server = self.daemon("serve", "--state-dir", self.state, "--run-dir", self.run,
                                  *options, env=env)
        note = self.server.wait_for_note("STATUS=listening")
        self.rpc_port, self.api_port = map(int, re.findall(r"\d+", note))
        self.server.wait_ready()
        self.keep_ports()
        return self.server

    def keep_ports(self):
        """For the next start, and for the agent of the same machine."""
        ports = {"rpc": f"127.0.0.1:{self.rpc_port}", "api": f"127.0.0.1:{self.api_port}"}
        settings = json.loads((self.state / "server/server.json").read_text())
        (self.state / "server/server.json").write_text(json.dumps({**settings, **ports}))
        node = json.loads((self.state / "agent/node.json").read_text())
        node["servers"][0].update(ports)
        (self.state / "agent/node.json").write_text(json.dumps(node))

    def daemon(self, *command, env=None):
        daemon = Daemon(self.folder, self.eden_path, *command, env=env)
        self.daemons.append(daemon)
        return daemon

    def close(self):
        for daemon in reversed(self.daemons):
            daemon.end()
