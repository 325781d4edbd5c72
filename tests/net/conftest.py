"""Our servers (echo_server.c for gRPC, http_echo_server.c), certificates, and the npm packages of a
third-party client."""

import http.client
import json
import os
import pathlib
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time

import h2
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import npm  # noqa: E402

ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("EDEN_BUILD", ROOT / "build"))


def openssl(*args, cwd):
    done = subprocess.run(["openssl", *args], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Certificates:
    """A CA and certificates signed by it, as files."""

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

    program = "echo_server"
    socket_name = "echo.sock"
    more = ["--ca", "ca.pem"]

    def __init__(self, certificates, folder, options):
        self.certificates = certificates
        self.unix = str(folder / self.socket_name)
        args = ["--unix", self.unix, "--listen", "127.0.0.1:0",
                "--cert", certificates.path("server.pem"), "--key", certificates.path("server.key")]
        for name, file in zip(self.more[::2], self.more[1::2]):
            args += [name, certificates.path(file)]
        for name, value in options.items():
            args += ["--" + name.replace("_", "-"), str(value)]
        self.process = subprocess.Popen(
            [str(BUILD / "tests" / "net" / self.program), *args], stdout=subprocess.PIPE, text=True)
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
        """A connection after the TLS handshake; nothing has been sent yet."""
        return self.tls(name).wrap_socket(self.connect_raw(), server_hostname="localhost")

    def connect_unix(self):
        plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        plain.settimeout(30)
        plain.connect(self.unix)
        return plain

    def memory(self):
        """Resident bytes; not measurable under a sanitizer, which retains freed memory."""
        if os.environ.get("EDEN_SANITIZED") == "yes":
            return 0
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def stop(self):
        """Stops it; fails the test unless it exits cleanly."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=30) == 0


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


class HttpServer(Server):
    """One http_echo_server."""

    program = "http_echo_server"
    socket_name = "http.sock"
    more = []

    def tls(self, protocols=("h2", "http/1.1")):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.certificates.path("ca.pem"))
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    def connect(self, protocols=("h2", "http/1.1")):
        return self.tls(protocols).wrap_socket(self.connect_raw(), server_hostname="localhost")

    def client(self, **options):
        """A connection that uses HTTP/2."""
        connection = self.connect()
        assert connection.selected_alpn_protocol() == "h2"
        return h2.Client(connection, **options)

    def stats(self):
        """Requested on a connection that is not part of the test."""
        connection = UnixConnection(self.unix)
        connection.request("GET", "/stats")
        response = json.loads(connection.getresponse().read())
        connection.close()
        return response

    def wait_for(self, **counts):
        limit = time.monotonic() + 30
        while any((known := self.stats())[name] != value for name, value in counts.items()):
            assert time.monotonic() < limit, (known, counts)

    def is_served(self):
        """Another client, at the same time."""
        client = self.client()
        response = client.ask(1)
        client.connection.close()
        return response.status == 200 and response.body.startswith(b"GET /echo?")


def starting(kind, certificates, folder):
    servers = []

    def start(**options):
        servers.append(kind(certificates, folder, options))
        return servers[-1]

    yield start
    for server in servers:
        try:
            server.stop()
        finally:
            if server.process.poll() is None:
                server.process.kill()


@pytest.fixture
def start_server(certificates, tmp_path):
    yield from starting(Server, certificates, tmp_path)


@pytest.fixture
def start_http(certificates, tmp_path):
    yield from starting(HttpServer, certificates, tmp_path)


@pytest.fixture(scope="session")
def node_modules():
    return npm.node_modules(BUILD, HERE)


@pytest.fixture
def client(node_modules):
    """Runs client.js against a server: one JSON result for a list of calls."""

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
