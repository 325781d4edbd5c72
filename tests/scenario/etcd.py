"""An etcd cluster on loopback with mutual TLS, as an operator would run it."""

import pathlib
import shutil
import socket
import ssl
import subprocess

import events
import ports

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build/unpacked/etcd-server/usr/bin/etcd"
LIMITS = ("--max-request-bytes", "4194304", "--max-txn-ops", "512")


class Certificates:
    """A CA and one certificate, for the members of etcd and their clients."""

    def __init__(self, folder):
        folder.mkdir()
        self.ca, self.cert, self.key = (folder / name for name in ("ca.crt", "etcd.crt", "etcd.key"))
        self.issue()

    def issue(self):
        ca_key = self.ca.with_suffix(".key")
        new = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
               "-nodes", "-days", "30")
        if not self.ca.exists():
            self._run(*new, "-subj", "/CN=etcd CA", "-keyout", ca_key, "-out", self.ca)
        request = self.cert.with_suffix(".csr")
        names = self.cert.with_suffix(".cnf")
        names.write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
        self._run("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt",
                  "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=etcd", "-keyout", self.key,
                  "-out", request)
        self._run("openssl", "x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", ca_key,
                  "-CAcreateserial", "-days", "30", "-extfile", names, "-out", self.cert)

    @staticmethod
    def _run(*command):
        subprocess.run(list(map(str, command)), check=True, capture_output=True)


class Member:
    def __init__(self, name, folder):
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.port, self.peer_port = ports.free_port(), ports.free_port()
        self.process = None


class Etcd:
    """Members with or without the limits that eden requires; close() ends them."""

    def __init__(self, folder, certificates, members=1, limits=LIMITS):
        self.certificates = certificates
        self.limits = limits
        folder.mkdir(parents=True, exist_ok=True)
        self.members = [Member(f"m{number}", folder) for number in range(members)]
        for member in self.members:
            self.start(member)
        self.wait()

    @property
    def endpoints(self):
        return ",".join(f"127.0.0.1:{member.port}" for member in self.members)

    @property
    def options(self):
        """Of `eden init`."""
        files = self.certificates
        return ("--endpoints", self.endpoints, "--etcd-ca", files.ca, "--etcd-cert", files.cert,
                "--etcd-key", files.key)

    def start(self, member):
        files = self.certificates
        client, peer = (f"https://127.0.0.1:{port}" for port in (member.port, member.peer_port))
        everyone = ",".join(f"{one.name}=https://127.0.0.1:{one.peer_port}" for one in self.members)
        command = [PROGRAM, "--name", member.name, "--data-dir", member.folder / "data",
                   "--listen-client-urls", client, "--advertise-client-urls", client,
                   "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                   "--initial-cluster", everyone, "--cert-file", files.cert, "--key-file", files.key,
                   "--trusted-ca-file", files.ca, "--client-cert-auth", "--peer-cert-file", files.cert,
                   "--peer-key-file", files.key, "--peer-trusted-ca-file", files.ca,
                   "--peer-client-cert-auth", *self.limits]
        with open(member.folder / "log", "ab") as log:
            member.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                                              stdout=log, stderr=log)

    def _health(self, member):
        context = ssl.create_default_context(cafile=self.certificates.ca)
        context.load_cert_chain(self.certificates.cert, self.certificates.key)
        try:
            with context.wrap_socket(socket.create_connection(("127.0.0.1", member.port), 1),
                                     server_hostname="127.0.0.1") as one:
                one.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                return b'"true"' in one.makefile("rb").read()
        except OSError:
            return False

    def wait(self):
        """Until each running member is in touch with a majority."""
        for member in self.members:
            if member.process is not None:
                events.wait_until(lambda: self._health(member), f"{member.name} of etcd is healthy")

    def kill(self, member):
        process, member.process = member.process, None
        process.kill()
        process.wait()

    def restart(self, member):
        self.start(member)
        self.wait()

    def close(self):
        for member in self.members:
            if member.process is not None:
                self.kill(member)
            # etcd allocates 128 MB for its log at once; pytest keeps the directories of tests.
            shutil.rmtree(member.folder / "data", ignore_errors=True)
