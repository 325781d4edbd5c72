"""A real sshd on loopback, in a separate folder: nothing of the machine is read or changed."""

import os
import pathlib
import socket
import subprocess

import events

ROOT = pathlib.Path(__file__).resolve().parents[2]
SSHD = ROOT / "build/unpacked/openssh-server/usr/sbin/sshd"
# As root it needs a directory /run/sshd and a user; both are visible only to it.
ALONE = """
mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd &&
    { grep -v ^sshd: /etc/passwd; echo sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin; } \
        > /run/passwd && mount --bind /run/passwd /etc/passwd && exec "$@"
"""


def make_key(path):
    """A new key; returns "type base64" of its public half."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return " ".join(pathlib.Path(f"{path}.pub").read_text(encoding="ascii").split()[:2])


def fingerprint(key):
    done = subprocess.run(["ssh-keygen", "-l", "-f", "-"], input=key + "\n", capture_output=True,
                          text=True, check=True)
    return done.stdout.split()[1]


class Sshd:
    """`programs` are files that a login session finds first in its PATH: name to text."""

    def __init__(self, folder, programs):
        folder.mkdir()
        self.folder = folder
        self.host_key = make_key(folder / "host_key")
        self.authorized = folder / "authorized_keys"
        self.authorized.write_text("", encoding="ascii")
        (folder / "bin").mkdir()
        for name, text in programs.items():
            (folder / "bin" / name).write_text(text, encoding="utf-8")
            (folder / "bin" / name).chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        (folder / "config").write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {folder}/host_key\n"
            f"AuthorizedKeysFile {self.authorized}\nPidFile none\nUsePAM no\nStrictModes no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
            f"SetEnv PATH={folder}/bin:/usr/bin:/bin\nLogLevel VERBOSE\n", encoding="utf-8")
        self.process = None

    def start(self):
        if not SSHD.is_file():
            raise AssertionError(f"there is no {SSHD}: run tools/install-packages test")
        command = [SSHD, "-D", "-e", "-f", self.folder / "config"]
        if os.geteuid() == 0:
            command = ["unshare", "--mount", "sh", "-c", ALONE, "sh", *command]
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        events.wait_until(self.listens, "sshd", self.folder)
        return self

    def listens(self):
        assert self.process.poll() is None, self.log()
        return "Server listening on" in self.log()

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
