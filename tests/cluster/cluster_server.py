"""A cluster server as a separate process: `eden init`, `eden serve`, and how to connect to it."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_port  # noqa: E402

BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n", re.S)


def split_pem(source, certificate, key=None):
    """Splits a file into separate key and certificate files, for other programs."""
    blocks = {found[1]: found[0] for found in BLOCK.finditer(source.read_text())}
    certificate.write_text(blocks["CERTIFICATE"])
    if key is not None:
        key.write_text(blocks["PRIVATE KEY"])


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class ClusterServer:
    """Created in `folder`, and started when the context is entered. `before` precedes the command and
    must end in an exec, so that the process is the server. `settings` are written to
    server.json, `options` are passed to `eden serve`."""

    def __init__(self, build, folder, settings=None, before=(), options=()):
        self.eden = pathlib.Path(build) / "eden"
        self.folder = pathlib.Path(folder)
        self.state, self.runs = self.folder / "state", self.folder / "run"
        self.rpc_port, self.api_port = free_port(), free_port()
        self.socket = self.runs / "server" / "api.sock"
        self.before, self.options = list(before), list(options)
        self.process = None
        self.log = open(self.folder / "server.log", "a")
        founded = self.call(
            "init", "--state-dir", self.state, "--cluster", "blue", "--name", "s1",
            "--address", "localhost", "--address", "127.0.0.1", "--user", "root", "-o", "json",
            "--rpc", f"127.0.0.1:{self.rpc_port}", "--api", f"127.0.0.1:{self.api_port}",
        )  # fmt: skip
        self.pin = json.loads(founded)["ca_pin"]
        path = self.state / "server" / "server.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **(settings or {})}))
        # The server's own identity.
        self.certificate, self.key = self.folder / "node.crt", self.folder / "node.key"
        self.ca = self.folder / "ca.crt"
        split_pem(self.state / "server" / "node.pem", self.certificate, self.key)
        split_pem(self.state / "server" / "ca.pem", self.ca)

    def call(self, *args):
        done = subprocess.run([self.eden, *map(str, args)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, ready=False):
        """`ready`: waits until it listens."""
        environment = dict(os.environ)
        notified = None
        if ready:
            notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            notified.bind("")  # a name that the kernel chooses
            environment["NOTIFY_SOCKET"] = "@" + notified.getsockname()[1:].decode()
        self.process = subprocess.Popen(
            [*self.before, self.eden, "serve", "--state-dir", self.state, "--run-dir", self.runs,
             *self.options],
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
        """Resident memory in bytes."""
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def api(self, method, target, body=None, headers=None):
        """A request as an operator: status and response."""
        connection = UnixConnection(self.socket)
        fields = {"Content-Type": "application/json"} if body else {}
        connection.request(method, target, body=body and json.dumps(body),
                           headers={**fields, **(headers or {})})  # fmt: skip
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text else None

    def ask(self, path):
        """An unauthenticated request on the public port: status and response."""
        context = ssl.create_default_context(cafile=self.ca)
        connection = http.client.HTTPSConnection("localhost", self.api_port, timeout=60, context=context)
        connection.request("GET", path)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text)

    def join(self, name):
        """Another node: paths of its certificate and key."""
        status, made = self.api("POST", "/v1/tokens", {"spec": {"description": name}})
        assert status == 201, made
        state = self.folder / name
        self.call("join", "--state-dir", state, "--server", f"localhost:{self.api_port}",
                  "--token", made["status"]["secret"], "--ca-pin", self.pin, "--name", name)  # fmt: skip
        files = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        split_pem(state / "agent" / "node.pem", *files)
        return files

    def connect_raw(self, port=None):
        return socket.create_connection(("127.0.0.1", port or self.rpc_port), timeout=60)

    def connect(self, certificate=None, key=None):
        """A connection to the node port, by default as the server's own node; nothing has been sent yet."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.ca)
        context.load_cert_chain(certificate or self.certificate, key or self.key)
        context.set_alpn_protocols(["h2"])
        return context.wrap_socket(self.connect_raw())

    def connect_api(self):
        """A connection to the public port."""
        context = ssl.create_default_context(cafile=self.ca)
        context.set_alpn_protocols(["http/1.1"])
        return context.wrap_socket(self.connect_raw(self.api_port), server_hostname="localhost")

    def connect_unix(self):
        plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        plain.settimeout(60)
        plain.connect(str(self.socket))
        return plain

    def start_program(self, program, *args):
        """Runs a program that takes the port first and the certificates last."""
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
