"""Hosts: test machines with their own disk, network and processes. See README.md."""

import contextlib
import io
import itertools
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import tarfile
import tempfile
import time

import interrupts  # noqa: F401

from . import kernel, outcome, repos as repositories, roots, snapshot

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
RUN = "/run/lab"  # as seen by the keeper
SITE = "/tmp/site"
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "HOME": "/root", "LC_ALL": "C.UTF-8"}  # fmt: skip
# Systems write here on their own; a test that cares passes its own list.
RESTLESS = ("/var/log/journal", "/var/lib/systemd", "/var/cache/ldconfig", "/var/tmp")

NEEDS = {"systemd-nspawn": "systemd-container", "nft": "nftables", "ip": "iproute2",
         "nsenter": "util-linux", "setpriv": "util-linux", "ssh-keygen": "openssh-client"}  # fmt: skip


class LabError(Exception):
    """The lab cannot provide what was requested."""


class CommandFailed(AssertionError):
    """A command in a host failed."""


class Done:
    """A finished command: returncode, stdout and stderr as text; `out` is stdout without the final
    newline."""

    def __init__(self, argv, returncode, stdout, stderr):
        self.argv = argv
        self.returncode = returncode
        self.stdout = stdout.decode(errors="replace")
        self.stderr = stderr.decode(errors="replace")

    @property
    def out(self):
        return self.stdout.rstrip("\n")

    def __repr__(self):
        return f"<Done {self.argv} exit {self.returncode}\n{self.stdout}{self.stderr}>"


def _pid_of(pidfd):
    """The pid of a pidfd's process in this namespace; None if it is gone."""
    for line in pathlib.Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
        if line.startswith("Pid:"):
            pid = int(line.split()[1])
            return pid if pid > 0 else None
    return None


def _escape(path):
    return str(path).replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def wait_for(predicate, timeout=30, what="it"):
    """Calls `predicate` until it returns something true, and returns that. For events without
    notification; where a command can wait (systemctl --wait, inotifywait), use that."""
    deadline = time.monotonic() + timeout
    pause = 0.01
    while not (found := predicate()):
        if time.monotonic() > deadline:
            raise LabError(f"waited {timeout} s for {what}")
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
    return found


class Lab:
    """All hosts of a test process, and the switch between them. One per process is enough."""

    def __init__(self, eden=None):
        self.eden_path = pathlib.Path(eden or os.environ.get("EDEN", PROJECT / "build" / "eden"))
        self._check_needs()
        self.name = f"eden-lab-{os.getpid()}"
        self._numbers = itertools.count(1)
        self._addresses = {}
        self._start_keeper()
        self.layer = self.view(f"{RUN}/layer")
        program = self.layer / "usr" / "local" / "bin" / "eden"
        program.parent.mkdir(parents=True)
        program.write_bytes(self.eden_path.read_bytes())
        program.chmod(0o755)
        server = self.layer / "usr" / "local" / "lib" / "lab" / "httpd.py"
        server.parent.mkdir(parents=True)
        server.write_bytes((HERE / "httpd.py").read_bytes())
        # Each of these would use an inotify instance, of which the machine has few.
        units = self.layer / "etc" / "systemd" / "system"
        units.mkdir(parents=True)
        for name in ("console", "wall"):
            (units / f"systemd-ask-password-{name}.path").symlink_to("/dev/null")
        # A newer /usr makes systemd treat the system as updated.
        os.utime(self.layer / "usr", (0, 0))

    def _check_needs(self):
        if os.geteuid() != 0:
            raise LabError("lab hosts need the rights of root")
        if not self.eden_path.is_file():
            raise LabError(f"there is no {self.eden_path}: run make build")
        path = ENVIRONMENT["PATH"].split(":")
        for program, package in NEEDS.items():
            if not any(os.access(f"{folder}/{program}", os.X_OK) for folder in path):
                raise LabError(f"{program} is missing: tools/install-packages lab ({package})")

    def _start_keeper(self):
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        own = os.pidfd_open(os.getpid())
        self._log = tempfile.TemporaryFile()
        self._keeper = subprocess.Popen(
            ["/usr/bin/python3", "-B", HERE / "keeper.py", str(theirs.fileno()), str(own),
             self.name],
            pass_fds=[theirs.fileno(), own], start_new_session=True,
            env={**ENVIRONMENT}, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
        )  # fmt: skip
        theirs.close()
        os.close(own)
        message, fds, _, _ = socket.recv_fds(self._control, 100, 1)
        if message != b"ready":
            raise LabError(f"the lab did not start:\n{self._log_text()}")
        self._pidfd = fds[0]
        self.pid = _pid_of(self._pidfd)

    def _log_text(self):
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def view(self, path):
        """Where this process finds a path of the keeper's mount namespace."""
        return pathlib.Path(f"/proc/{self.pid}/root{path}")

    def run(self, command, check=True, input=None, timeout=60):
        """Runs a command in the network namespace of the switch: bridge br0, one port v<number> per
        host.
        """
        return _run(["nsenter", "-t", str(self.pid), "-n", "-m"], command, check, input, timeout)

    def light(self, root="bookworm", **options):
        return LightHost(self, root, **options).start()

    def systemd(self, root="bookworm", **options):
        return SystemdHost(self, root, **options).start()

    def close(self):
        self._control.close()
        try:
            self._keeper.wait(30)
        except subprocess.TimeoutExpired:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            self._keeper.wait()
        output = self._log_text()
        os.close(self._pidfd)
        self._log.close()
        if output:
            raise LabError(f"the lab ended with:\n{output}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _argv(command):
    return ["/bin/sh", "-c", command] if isinstance(command, str) else [str(a) for a in command]


def _popen(prefix, command, env=None, **more):
    return subprocess.Popen(
        [*prefix, "--", *_argv(command)], env={**ENVIRONMENT, **(env or {})}, cwd="/",
        start_new_session=True, **more,
    )  # fmt: skip


def _run(prefix, command, check, input, timeout, env=None):
    process = _popen(
        prefix, command, env, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    given = input.encode() if isinstance(input, str) else input
    try:
        out, err = process.communicate(given, timeout)
    except BaseException as error:
        # The command and its children are one process group, also across namespaces.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise CommandFailed(
                f"{command!r} took longer than {timeout} s; it said:\n"
                f"{out.decode(errors='replace')}{err.decode(errors='replace')}"
            ) from None
        raise
    done = Done(command, process.returncode, out, err)
    if check and done.returncode != 0:
        raise CommandFailed(
            f"{command!r} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done


class Host:
    """Common base of light and systemd hosts. `root` is the name of a root (roots.ROOTS), or
    "machine": what is installed on this machine, without files added by users and programs."""

    kind = ""

    def __init__(self, lab, root="bookworm", name=None, disk="1G", loop=False, repos=False, layers=()):
        """`disk`: the size of its disk. `loop`: it may use loop devices. `repos`: it has local
        package repositories, see repos.py. `layers`: folders whose files are overlaid on the root.
        """
        self.lab = lab
        self.root = root
        self.number = next(lab._numbers)
        self.name = name or f"h{self.number}"
        self.address = f"10.99.{self.number // 200 + 1}.{self.number % 200 + 1}"
        self.boots = 0
        self._up = False  # as last reported; stays true for a moment when it dies
        self._leader = None
        self._closed = False
        below = [roots.MACHINE if root == "machine" else roots.path(root)]
        if repos:
            below.insert(0, repositories.layer())
        lowers = [*map(pathlib.Path, layers), *below]
        self.lowers = [f"{RUN}/layer", *(f"{RUN}/machine{path.resolve()}" for path in lowers)]
        if root == "machine":
            self.lowers.insert(-1, f"{RUN}/blank")
        lab._addresses[self.name] = self.address
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        given = {
            "name": self.name, "number": self.number, "kind": self.kind, "disk": disk,
            "lowers": [_escape(path.rstrip("/")) for path in self.lowers],
            "addresses": [f"{self.address}/16"], "loop": loop, "seed": self._seed(),
        }  # fmt: skip
        socket.send_fds(lab._control, [json.dumps(given).encode()], [theirs.fileno()])
        theirs.close()
        self._expect("made")

    def _seed(self):
        hosts = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
        hosts += [f"{address} {name}" for name, address in self.lab._addresses.items()]
        seed = {
            "/etc/hostname": f"{self.name}\n",
            "/etc/hosts": "\n".join(hosts) + "\n",
            "/etc/resolv.conf": "# There is no name server here.\n",
            "/etc/machine-id": f"{os.urandom(16).hex()}\n",
        }
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder) / "key"
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", key],
                check=True,
            )  # fmt: skip
            seed["/etc/ssh/ssh_host_ed25519_key"] = key.read_text()
            seed["/etc/ssh/ssh_host_ed25519_key.pub"] = key.with_suffix(".pub").read_text()
        return seed

    # --- events

    def _receive(self, timeout):
        """Processes the next event; returns its name, or None on timeout."""
        if not select.select([self._channel], [], [], timeout)[0]:
            return None
        message, fds, _, _ = socket.recv_fds(self._channel, 65536, 1)
        if not message:
            raise LabError("the lab is gone")
        output = json.loads(message)
        event = output["event"]
        if event in ("up", "down"):
            self._up = event == "up"
            if self._leader is not None:
                os.close(self._leader)
            self._leader = fds[0] if fds else None
        if event == "ready" or (event == "up" and self.kind == "light"):
            self.boots += 1
        if event == "error":
            raise LabError(f"{self.name}: {output['text']}")
        return event

    def _expect(self, wanted, timeout=60):
        deadline = time.monotonic() + timeout
        while (event := self._receive(max(0, deadline - time.monotonic()))) != wanted:
            if event is None:
                raise LabError(f"{self.name}: waited {timeout} s for '{wanted}'\n{self.console()}")
            if event == "down":
                raise LabError(f"{self.name} went down instead of '{wanted}'\n{self.console()}")

    def _send(self, op):
        self._channel.send(json.dumps({"op": op}).encode())

    @property
    def pid(self):
        """The pid of the host's first process in this namespace; None while it is down."""
        self._catch_up()
        return None if self._leader is None else _pid_of(self._leader)

    def _catch_up(self):
        while self._receive(0) is not None:
            pass

    def console(self):
        path = self.lab.view(f"{RUN}/{self.name}/console")
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    # --- power

    def start(self):
        self._send("start")
        self._expect("ready" if self.kind == "systemd" else "up")
        return self

    def kill(self):
        """Kills every process at once, like a power failure; the disk stays."""
        self._shut_down("kill")

    def stop(self):
        """An orderly shutdown."""
        self._shut_down("halt")

    def _shut_down(self, op):
        self._catch_up()
        if self._up:
            self._send(op)
            self.wait_down()

    def wait_down(self, timeout=60):
        """Waits until all processes of the host have ended."""
        deadline = time.monotonic() + timeout
        while self._up:
            if self._receive(max(0, deadline - time.monotonic())) is None:
                raise LabError(f"{self.name} is still up after {timeout} s")

    @contextlib.contextmanager
    def expect_reboot(self, timeout=60):
        """Runs what makes the host reboot; returns once it is up again."""
        assert self.pid is not None
        before = self.boots
        yield
        deadline = time.monotonic() + timeout
        while self.boots == before:
            if self._receive(max(0, deadline - time.monotonic())) is None:
                raise LabError(f"{self.name} did not come back within {timeout} s")

    def close(self):
        if not self._closed:
            self._closed = True
            self._channel.close()
            if self._leader is not None:
                os.close(self._leader)
            del self.lab._addresses[self.name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- commands

    def _prefix(self):
        pid = self.pid
        if pid is None:
            raise LabError(f"{self.name} is down")
        return [*kernel.DROP_CAPABILITIES, "nsenter", "-t", str(pid), "-m",
                "-u", "-i", "-n", "-p", "-C", "-r", "-w"]  # fmt: skip

    def run(self, command, check=True, input=None, timeout=60, env=None):
        """Runs a command (a list, or text for the shell) as root and waits for it."""
        return _run(self._prefix(), command, check, input, timeout, env)

    def popen(self, command, env=None, **more):
        """Starts a command and returns its subprocess.Popen; it ends with the host at the latest.
        """
        return _popen(self._prefix(), command, env, **more)

    def wait_for(self, predicate, timeout=30, what="it"):
        """`predicate`: a command that succeeds once the condition holds, or a function."""
        if not callable(predicate):
            command = predicate
            what = repr(command) if what == "it" else what
            return wait_for(lambda: self.run(command, check=False).returncode == 0, timeout, what)
        return wait_for(predicate, timeout, what)

    def serve(self, folder, port=80, log=None):
        """Serves the files of a folder over HTTP until the host ends. `log`: a file that gets a
        line "METHOD PATH STATUS" for each request."""
        argv = ["/usr/bin/python3", "/usr/local/lib/lab/httpd.py", folder, str(port), *filter(None, [log])]
        server = self.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = server.stdout.readline()
        if line != "ready\n":
            raise LabError(f"{self.name}: cannot serve {folder}: {line}{server.stdout.read()}")
        server.stdout.close()
        return server

    def cut(self):
        """Disconnects the host from the switch."""
        self.lab.run(["ip", "link", "set", f"v{self.number}", "down"])

    def join(self):
        self.lab.run(["ip", "link", "set", f"v{self.number}", "up"])

    # --- files; also while it is down

    def _on_disk(self, command, check=True, input=None):
        if self.pid is not None:
            return self.run(command, check, input)
        prefix = [*kernel.DROP_CAPABILITIES, "nsenter", "-t", str(self.lab.pid), "-m", "chroot",
                  f"{RUN}/{self.name}/root"]  # fmt: skip
        return _run([*prefix, "/usr/bin/env"], command, check, input, 60)

    def read(self, path):
        return self._on_disk(["cat", path]).stdout

    def write(self, path, text, mode=None, owner=None):
        """Creates parent directories, too. `mode` as for chmod, `owner` as for chown."""
        script = 'mkdir -p "$(dirname "$1")" && cat > "$1"'
        if mode is not None:
            script += ' && chmod "$2" "$1"'
        if owner is not None:
            script += ' && chown "$3" "$1"'
        mode = oct(mode)[2:] if isinstance(mode, int) else mode
        self._on_disk(["/bin/sh", "-c", script, "sh", path, mode, owner], input=text)

    def exists(self, path):
        return self._on_disk(["test", "-e", path, "-o", "-L", path], check=False).returncode == 0

    def mkdir(self, path):
        self._on_disk(["mkdir", "-p", path])

    def snapshot(self, without=(), times=False):
        """Contents of the disk beyond the installed system, see snapshot.take(). /run and /tmp are
        not on the disk. Files that systems write on their own are left out."""
        lowers = [f"{RUN}/{self.name}/seed", *self.lowers]
        return snapshot.take(
            str(self.lab.view(f"{RUN}/{self.name}/disk/upper")),
            [str(self.lab.view(path)).rstrip("/") for path in lowers],
            without={*RESTLESS, *without}, times=times,
        )  # fmt: skip

    def make_image(self, path):
        """Mounts the contents of this disk at `path`, as an image to act on: it is writable, and
        nothing written reaches the host. umount removes it; changes are in /run/image/upper."""
        self.run(f"rm -rf /run/image; mkdir -p /run/image/upper /run/image/work {path}")
        options = "lowerdir=/,upperdir=/run/image/upper,workdir=/run/image/work,index=off"
        self.run(["mount", "-t", "overlay", "image", "-o", options, path])

    # --- eden

    def eden(self, *args, check=False, **more):
        """Runs the eden under test."""
        return self.run(["eden", *args], check=check, **more)

    def put_site(self, site, path=SITE):
        """Writes a site and returns its path: a map of relative paths to texts creates a directory;
        text or a list of steps creates a single steps file."""
        self._on_disk(["rm", "-rf", path, f"{path}.yaml"])
        if isinstance(site, dict) and "steps" not in site:
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w") as tar:
                for name, text in site.items():
                    content = text.encode() if isinstance(text, str) else text
                    entry = tarfile.TarInfo(name)
                    entry.size = len(content)
                    entry.mode = 0o755 if content.startswith(b"#!") else 0o644
                    tar.addfile(entry, io.BytesIO(content))
            self.mkdir(path)
            self._on_disk(["tar", "-x", "-C", path], input=packed.getvalue())
            return path
        if isinstance(site, list):
            site = {"steps": site}
        if isinstance(site, dict):
            site = json.dumps(site, indent=1)
        elif site.lstrip("\n").startswith("- "):
            site = "steps:\n" + site
        self.write(f"{path}.yaml", site)
        return f"{path}.yaml"

    def _run_site(self, verb, site, options, more):
        path = self.put_site(site)
        done = self.eden(verb, path, "-o", "json", "--progress", "none", *options, **more)
        return outcome.Run(done)

    def apply(self, site, *options, **more):
        """Runs `eden apply` for a site (see put_site), with options of eden; returns an
        outcome.Run.
        """
        return self._run_site("apply", site, options, more)

    def plan(self, site, *options, **more):
        return self._run_site("plan", site, options, more)


class LightHost(Host):
    """Namespaces and a disk, without an init system: up in a fraction of a second."""

    kind = "light"


class SystemdHost(Host):
    """Runs systemd as the first process, booted to its default target."""

    kind = "systemd"

    def state(self):
        """The output of `systemctl is-system-running` once no unit is being started."""
        return self.run(["systemctl", "is-system-running", "--wait"], check=False).out

    def reboot(self):
        with self.expect_reboot():
            self.run(["systemctl", "reboot"], check=False)
