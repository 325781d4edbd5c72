"""A gRPC server of ours (echo_server.c), certificates, and the npm packages of a foreign client."""

import json
import os
import pathlib
import resource
import signal
import socket
import ssl
import subprocess

import npm
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("EDEN_BUILD", ROOT / "build"))


def openssl(*args, cwd):
    done = subprocess.run(["openssl", *args], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Certificates:
    """A CA and what it signs, as files."""

    def __init__(self, folder):
        self.folder = folder
        self.make_ca("ca")
        self.make("server", "ca", "DNS:localhost,IP:127.0.0.1")
        self.make("node", "ca", "URI:eden://test/node/web1")
        self.make("nameless", "ca", "DNS:web1")
        self.make_ca("foreign-ca")
        self.make("foreign", "foreign-ca", "URI:eden://test/node/web1")

    def path(self, name):
        return str(self.folder / name)

    def make_ca(self, name):
        self.key(name)
        openssl("req", "-x509", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}",
                "-days", "2", "-out", f"{name}.pem", cwd=self.folder)

    def key(self, name):
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-out", f"{name}.key", cwd=self.folder)

    def make(self, name, ca, names):
        self.key(name)
        (self.folder / f"{name}.ext").write_text(
            f"subjectAltName={names}\nextendedKeyUsage=clientAuth,serverAuth\n")
        openssl("req", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}",
                "-out", f"{name}.csr", cwd=self.folder)
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key",
                "-CAcreateserial", "-days", "1", "-extfile", f"{name}.ext", "-out", f"{name}.pem",
                cwd=self.folder)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


class Server:
    """One echo_server, on a port and on a Unix socket."""

    def __init__(self, certificates, folder, options):
        self.certificates = certificates
        self.unix = str(folder / "echo.sock")
        args = ["--unix", self.unix, "--listen", "127.0.0.1:0",
                "--cert", certificates.path("server.pem"), "--key", certificates.path("server.key"),
                "--ca", certificates.path("ca.pem")]
        for name, value in options.items():
            args += ["--" + name.replace("_", "-"), str(value)]
        self.process = subprocess.Popen(
            [str(BUILD / "tests" / "net" / "echo_server"), *args], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("port "), line
        self.port = int(line.split()[1])

    def tls(self, name="node"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.certificates.path("ca.pem"))
        context.set_alpn_protocols(["h2"])
        if name is not None:
            context.load_cert_chain(self.certificates.path(f"{name}.pem"),
                                    self.certificates.path(f"{name}.key"))
        return context

    def connect_raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def connect(self, name="node"):
        """A connection with TLS, before anything was said on it."""
        return self.tls(name).wrap_socket(self.connect_raw(), server_hostname="localhost")

    def connect_unix(self):
        plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        plain.settimeout(30)
        plain.connect(self.unix)
        return plain

    def memory(self):
        """Resident bytes; not to be told under a sanitizer, which keeps freed memory back."""
        if os.environ.get("EDEN_SANITIZED") == "yes":
            return 0
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def stop(self):
        """Ends in order, or the test fails."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=30) == 0


@pytest.fixture
def start_server(certificates, tmp_path):
    servers = []

    def start(**options):
        servers.append(Server(certificates, tmp_path, options))
        return servers[-1]

    yield start
    for server in servers:
        try:
            server.stop()
        finally:
            if server.process.poll() is None:
                server.process.kill()


@pytest.fixture(scope="session")
def node_modules():
    return npm.node_modules(BUILD)


@pytest.fixture
def client(node_modules):
    """Runs client.js against a server: one JSON answer for a list of calls."""

    def run(server, steps, certificate="node", unix=False):
        task = {
            "target": f"unix:{server.unix}" if unix else f"localhost:{server.port}",
            "tls": not unix,
            "ca": server.certificates.path("ca.pem"),
            "certificate": certificate and server.certificates.path(f"{certificate}.pem"),
            "key": certificate and server.certificates.path(f"{certificate}.key"),
            "steps": steps,
        }
        done = subprocess.run(["node", str(HERE / "client.js"), json.dumps(task)],
                              env={**os.environ, "NODE_PATH": node_modules},
                              capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
