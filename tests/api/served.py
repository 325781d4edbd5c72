"""The API as a separate process, and curl to access it."""

import json
import os
import pathlib
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("EDEN_BUILD", ROOT / "build"))


class Answer:
    """Status, headers (lowercase names, values in order) and body of a response."""

    def __init__(self, head, body):
        lines = head.decode("ascii").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.fields = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            self.fields.setdefault(name.lower(), []).append(value.strip())
        self.body = body

    def field(self, name):
        """The only value of a header, or None."""
        values = self.fields.get(name, [None])
        assert len(values) == 1, (name, values)
        return values[0]

    def json(self):
        return json.loads(self.body)


class Server:
    def __init__(self, folder):
        self.socket = str(folder / "api.sock")
        certificate, key = str(folder / "cert.pem"), str(folder / "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        self.process = subprocess.Popen(
            [str(BUILD / "tests" / "api" / "api_server"), self.socket, certificate, key],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("port "), line
        self.port = int(line.split()[1])

    def curl(self, *args):
        """(status, JSON of the response)"""
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--path-as-is", "--max-time", "30",
             "--write-out", "%{http_code}", *args], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return int(done.stdout[-3:]), json.loads(done.stdout[:-3])

    def local(self, path, *args):
        return self.curl("--unix-socket", self.socket, *args, "http://localhost" + path)

    def outside(self, path, *args):
        return self.curl("--insecure", *args, f"https://127.0.0.1:{self.port}{path}")

    def stop(self):
        """Stops it; fails the test unless it exits cleanly."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=30) == 0

    def ask(self, path, *args, local=False, stdin=None):
        """The full response, unmodified."""
        where = ["--unix-socket", self.socket] if local else ["--insecure"]
        base = "http://localhost" if local else f"https://127.0.0.1:{self.port}"
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--path-as-is", "--max-time", "30", "--include",
             "--http1.1", *where, *args, base + path], stdin=stdin, capture_output=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        return Answer(head, body)
