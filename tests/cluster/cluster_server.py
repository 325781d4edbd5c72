"""A server of a cluster as a process of its own: `eden init`, `eden serve`, and how to reach it."""

import os
import pathlib
import re
import signal
import socket
import subprocess

BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n", re.S)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class ClusterServer:
    """Founded in `folder` and started. `before` stands before the command, such as a user's name
    space; it must end in an exec, so that the process is the server."""

    def __init__(self, build, folder, settings=None, before=()):
        self.eden = pathlib.Path(build) / "eden"
        self.folder = pathlib.Path(folder)
        self.state, self.runs = self.folder / "state", self.folder / "run"
        self.rpc_port, self.api_port = free_port(), free_port()
        self.socket = self.runs / "server" / "api.sock"
        self.before = list(before)
        self.process = None
        self.log = open(self.folder / "server.log", "a")
        self.call("init", "--state-dir", self.state, "--cluster", "blue", "--name", "s1",
                  "--address", "localhost", "--address", "127.0.0.1", "--user", "root",
                  "--rpc", f"127.0.0.1:{self.rpc_port}", "--api", f"127.0.0.1:{self.api_port}")  # fmt: skip
        self.split_certificate()

    def call(self, *args):
        done = subprocess.run([self.eden, *map(str, args)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def split_certificate(self):
        """The server's own identity, in files as foreign programs want them."""
        text = (self.state / "server" / "node.pem").read_text()
        blocks = {found[1]: found[0] for found in BLOCK.finditer(text)}
        self.certificate, self.key = self.folder / "node.crt", self.folder / "node.key"
        self.certificate.write_text(blocks["CERTIFICATE"])
        self.key.write_text(blocks["PRIVATE KEY"])
        self.ca = self.folder / "ca.crt"
        text = (self.state / "server" / "ca.pem").read_text()
        self.ca.write_text({found[1]: found[0] for found in BLOCK.finditer(text)}["CERTIFICATE"])

    def start(self, ready=False):
        """`ready`: waits until it listens."""
        environment = dict(os.environ)
        notified = None
        if ready:
            notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            notified.bind("")  # a name that the kernel chooses
            environment["NOTIFY_SOCKET"] = "@" + notified.getsockname()[1:].decode()
        self.process = subprocess.Popen(
            [*self.before, self.eden, "serve", "--state-dir", self.state, "--run-dir", self.runs],
            env=environment, stdout=self.log, stderr=self.log,
        )  # fmt: skip
        if ready:
            notified.settimeout(60)
            while b"READY=1" not in notified.recv(4096):
                pass
            notified.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def memory(self):
        """Bytes that are resident."""
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def start_program(self, program, *args):
        """A program that takes the port first and the certificates last."""
        return subprocess.Popen(
            [program, str(self.rpc_port), *args, self.certificate, self.key, self.ca],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self):
        self.start(ready=True)
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.kill()
        self.log.close()
