#!/usr/bin/python3
"""The process that owns a lab: the switch between the hosts, their disks and their processes.

    keeper.py CONTROL OWNER NAME

It is the first process of a pid namespace in which all hosts run, with its own mount and network
namespaces. When it exits, the kernel kills every process in there, which also removes mounts,
networks and disks (all in memory); so nothing outlives the tests, however they end. It exits when
the process OWNER (a pidfd) exits, or the socket CONTROL is closed.

In here the file systems of the machine are read-only, and completely visible under
/run/lab/machine.

CONTROL takes one message, a map that describes a host, with a socket for that host. Both are
SOCK_SEQPACKET and carry JSON. A host's socket takes {"op": "start" | "kill" | "halt"}; it sends
{"event": ...} as things happen, and closing it removes the host:

    up      with a pidfd: the first process of the host runs; again after a reboot
    ready   a systemd host has booted
    down    all processes of the host have ended
    error   with "text": the request failed
"""

import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kernel  # noqa: E402

RUN = pathlib.Path("/run/lab")
MACHINE = RUN / "machine"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

# Kernel settings that are per namespace; all others belong to the machine.
OWN_SETTINGS = ["net", "fs/mqueue", "kernel/hostname", "kernel/domainname", "kernel/msgmax",
                "kernel/msgmnb", "kernel/msgmni", "kernel/sem", "kernel/shmall",
                "kernel/shmmax", "kernel/shmmni", "kernel/shm_rmid_forced"]  # fmt: skip
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9),
           "tty": (5, 0)}  # fmt: skip
# Where users and programs leave files on a machine. Hosts of the machine see these directories as
# installed by packages; files left by eden itself are hidden.
LITTERED = ["/root", "/home", "/srv", "/opt", "/mnt", "/media", "/tmp", "/var/tmp", "/var/cache",
            "/usr/local"]  # fmt: skip
OWN_TRACES = ["/etc/eden", "/var/lib/eden"]
LOOP_DEVICES = 4
LOOP_FIRST = 1000  # beyond those in use on the machine
NSPAWN_RESTART = 133


def command(*argv, input=None):
    done = subprocess.run(
        argv, input=input, capture_output=True, text=True, env={"PATH": PATH, "LC_ALL": "C"}
    )
    if done.returncode != 0:
        raise OSError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")


def pid_of(pidfd):
    for line in pathlib.Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    raise ProcessLookupError


# --- Control groups ------------------------------------------------------------------------------


def own_cgroups():
    """The cgroup directories of this process in the hierarchies that systemd uses."""
    groups = {}
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups[controllers] = path
    found = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ", 1)
        top, target = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if kind == "cgroup2":
            path = groups.get("", "/")
        elif kind == "cgroup" and "name=systemd" in options.split(","):
            path = groups.get("name=systemd", "/")
        else:
            continue
        relative = os.path.relpath(path, top)
        if not relative.startswith(".."):
            found.append((pathlib.Path(target), pathlib.Path(target) / relative))
    return found


def remove_cgroup(folder):
    """Processes that were just killed may remain visible for a moment."""
    deadline = time.monotonic() + 10
    while folder.is_dir():
        for inner, _, _ in os.walk(folder, topdown=False):
            try:
                os.rmdir(inner)
            except OSError:
                pass
        if time.monotonic() > deadline:
            print(f"keeper: {folder} is still in use", file=sys.stderr)
            return
        if folder.is_dir():
            time.sleep(0.005)


def sweep_cgroups(prefix):
    """Removes cgroups of labs whose keeper was killed. Their names end with the pid of their owner.
    """
    for _, group in own_cgroups():
        for left in group.glob(f"{prefix}*"):
            if not os.path.exists(f"/proc/{left.name.removeprefix(prefix)}"):
                remove_cgroup(left)


# --- The machine without leftover files -----------------------------------------------------------


def packaged_directories():
    """Directories owned by packages below the littered ones."""
    wanted = re.compile(rf"^(?:{'|'.join(LITTERED)})/.*$", re.M)
    found = set()
    for listing in pathlib.Path("/var/lib/dpkg/info").glob("*.list"):
        found.update(filter(os.path.isdir, wanted.findall(listing.read_text())))
    return found


def make_blank_layer(blank):
    """An overlay layer that hides files left on the machine. Called while the machine's directories
    are still mounted."""
    for path in sorted({*LITTERED, *packaged_directories()}):
        if os.path.isdir(path) and not os.path.islink(path):
            (blank / path[1:]).mkdir(parents=True, exist_ok=True)
    for folder, _, _ in os.walk(blank):
        status = os.stat(f"/{os.path.relpath(folder, blank)}")
        os.chown(folder, status.st_uid, status.st_gid)
        os.chmod(folder, status.st_mode & 0o7777)
    for path in LITTERED:
        if (blank / path[1:]).is_dir():
            os.setxattr(blank / path[1:], "trusted.overlay.opaque", b"y")
    for path in filter(os.path.exists, OWN_TRACES):
        (blank / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        os.mknod(blank / path[1:], 0o020000, os.makedev(0, 0))


# --- A host --------------------------------------------------------------------------------------


class Host:
    def __init__(self, keeper, channel, given):
        self.keeper = keeper
        self.channel = channel
        self.name = given["name"]
        self.number = given["number"]
        self.booted = given["kind"] == "systemd"
        self.lowers = given["lowers"]
        self.size = given["disk"]
        self.addresses = given["addresses"]
        self.loops = []
        self.wants_loops = given["loop"]
        self.folder = RUN / self.name
        self.root = self.folder / "root"
        self.cgroups = [group / self.name for group in keeper.cgroups]
        self.pid = None  # the child of the keeper: the first process, or systemd-nspawn
        self.leader = None  # a pidfd of the first process
        self.notify = None
        self.leaving = False

    def send_event(self, event, *fds, **more):
        try:
            socket.send_fds(self.channel, [json.dumps({"event": event, **more}).encode()], fds)
        except OSError:
            pass  # the other end is closed; its socket reports that, too

    def make(self, seed):
        while self.wants_loops and len(self.loops) < LOOP_DEVICES:
            self.loops.append(kernel.add_loop(LOOP_FIRST))
        self.root.mkdir(parents=True)
        disk = self.folder / "disk"
        disk.mkdir()
        kernel.mount("disk", str(disk), "tmpfs", data=f"size={self.size},mode=755")
        for part in ("upper", "work"):
            (disk / part).mkdir()
        # Files that make this host distinct; they count as part of the installed system.
        seeds = self.folder / "seed"
        for path, text in seed.items():
            target = seeds / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            target.chmod(0o600 if path.endswith("_key") else 0o644)
        lowers = [str(seeds), *self.lowers]
        kernel.mount(
            self.name, str(self.root), "overlay",
            data=f"lowerdir={':'.join(lowers)},upperdir={disk}/upper,workdir={disk}/work,"
                 "index=off,metacopy=off,redirect_dir=off",
        )  # fmt: skip

    def connect(self):
        lines = [f"netns add {self.name}",
                 f"link add v{self.number} type veth peer name eth0 netns {self.name}",
                 f"link set v{self.number} master br0 up"]  # fmt: skip
        command("ip", "-batch", "-", input="\n".join(lines))
        lines = ["link set lo up", "link set eth0 up"]
        for address in self.addresses:
            lines.append(f"addr add {address} dev eth0{' nodad' if ':' in address else ''}")
        lines.append(f"route add default via {self.keeper.gateway}")
        command("ip", "-n", self.name, "-batch", "-", input="\n".join(lines))

    def disconnect(self):
        """Remove the port explicitly: the kernel is slow to remove the network of the host."""
        if os.path.exists(f"/run/netns/{self.name}"):
            if os.path.exists(f"{RUN}/sys/class/net/v{self.number}"):
                command("ip", "link", "del", f"v{self.number}")
            command("ip", "netns", "del", self.name)

    def start(self):
        if self.pid is not None:
            raise OSError("it runs already")
        self.connect()
        if self.booted:
            self.boot()
        else:
            self.pid = self.fork_light()
            self.leader = os.pidfd_open(self.pid)
            self.send_event("up", self.leader)

    def kill(self):
        if self.pid is None:
            self.send_event("down")
            return
        self.stop_swapping()
        if self.leader is not None:
            signal.pidfd_send_signal(self.leader, signal.SIGKILL)
        if self.booted:
            os.kill(self.pid, signal.SIGKILL)

    def halt(self):
        """Asks systemd to shut down; other hosts have no init to ask."""
        if self.booted and self.leader is not None:
            signal.pidfd_send_signal(self.leader, signal.SIGRTMIN + 3)
        else:
            self.kill()

    def rebooting(self, status):
        """When a light host calls reboot(2), the kernel kills it with SIGHUP; systemd-nspawn
        reports a reboot with its exit code."""
        if self.booted:
            return os.WIFEXITED(status) and os.WEXITSTATUS(status) == NSPAWN_RESTART
        return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGHUP

    # Swap and loop devices are global to the machine: they outlive the process that set them up.

    def stop_swapping(self):
        """While the host runs: afterward the file cannot be reached any more."""
        if self.loops == [] or self.leader is None:
            return
        try:
            space = os.open(f"/proc/{pid_of(self.leader)}/ns/mnt", os.O_RDONLY)
        except OSError:
            return  # it is gone
        swaps = pathlib.Path("/proc/swaps").read_text().splitlines()[1:]
        child = os.fork()
        if child == 0:
            kernel.setns(space, kernel.CLONE_NEWNS)
            for line in swaps:
                kernel.swap_off(line.split()[0])
            os._exit(0)
        os.close(space)
        os.waitpid(child, 0)

    def remove_loops(self):
        for number in self.loops:
            for tries in range(200):
                try:
                    kernel.remove_loop(number)
                    break
                except OSError as error:  # a mount that was just removed may still use it
                    if tries == 199:
                        print(f"keeper: /dev/loop{number}: {error}", file=sys.stderr)
                    time.sleep(0.01)
        self.loops = []

    def add_loop_nodes(self, folder):
        """Only the host's own devices, and none that creates others."""
        for number in self.loops:
            path = f"{folder}/loop{number}"
            if not os.path.exists(path):
                os.mknod(path, 0o060660, os.makedev(7, number))

    def ended(self, status):
        """Its child has exited."""
        self.forget_leader()
        self.pid = None
        if self.notify is not None:
            self.keeper.selector.unregister(self.notify)
            self.notify.close()
            self.notify = None
        for group in self.cgroups:
            remove_cgroup(group)
        self.disconnect()
        if self.rebooting(status) and not self.leaving:
            try:
                self.start()
                return
            except OSError as error:
                self.send_event("error", text=f"it does not start again: {error}")
        self.send_event("down")

    def forget_leader(self):
        if self.leader is not None:
            os.close(self.leader)
            self.leader = None

    def destroy(self):
        self.leaving = True
        if self.pid is not None:
            self.kill()
            while self.pid is not None:
                self.keeper.reap(os.waitpid(-1, 0))
        self.remove_loops()
        for mounted in (self.root, self.folder / "disk"):
            try:
                kernel.unmount(str(mounted))
            except OSError:
                pass  # it exited before that
        shutil.rmtree(self.folder, ignore_errors=True)
        self.channel.close()

    # --- light

    def fork_light(self):
        """The first process of a light host, once its root is set up. It only reaps children."""
        reader, writer = os.pipe()
        middle = os.fork()
        if middle == 0:
            try:
                with open(f"/run/netns/{self.name}") as net:
                    kernel.setns(net.fileno(), kernel.CLONE_NEWNET)
                kernel.unshare(
                    kernel.CLONE_NEWNS | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC
                    | kernel.CLONE_NEWPID | kernel.CLONE_NEWCGROUP
                )  # fmt: skip
                first = os.fork()
                if first == 0:
                    self.become_init(writer)
                os.write(writer, f"{first}\n".encode())
            except BaseException as error:  # noqa: BLE001 - told to the parent, nothing goes on
                os.write(writer, f"failed: {error}\n".encode())
            os._exit(0)
        os.close(writer)
        with open(reader) as output:
            lines = output.read().splitlines()
        os.waitpid(middle, 0)
        failures = [line for line in lines if line.startswith("failed")]
        pids = [int(line) for line in lines if line.isdigit()]
        if failures or "stands" not in lines or not pids:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            self.disconnect()
            raise OSError("; ".join(failures) or "its first process died")
        return pids[0]

    def become_init(self, writer):
        try:
            signal.set_wakeup_fd(-1)
            self.set_up_root()
            kernel.name_process("lab-host")
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            kernel.drop_capabilities()
            os.write(writer, b"stands\n")
            os.closerange(3, 1000)
        except BaseException as error:  # noqa: BLE001
            os.write(writer, f"failed: {error}\n".encode())
            os._exit(1)
        blocked = {signal.SIGCHLD}
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        while True:
            signal.sigwait(blocked)
            try:
                while os.waitpid(-1, os.WNOHANG)[0] != 0:
                    pass
            except ChildProcessError:
                pass

    def set_up_root(self):
        bare = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
        kernel.mount(None, "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
        os.chdir(self.root)
        socket.sethostname(self.name)
        for folder in ("proc", "sys", "dev", "run", "tmp"):
            pathlib.Path(folder).mkdir(exist_ok=True)
        kernel.mount("proc", "proc", "proc", bare)
        kernel.mount("sysfs", "sys", "sysfs", bare | kernel.MS_RDONLY)
        kernel.mount("tmpfs", "run", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")
        kernel.mount("tmpfs", "tmp", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777")
        self.make_devices()
        os.mkdir("run/lock", 0o1777)
        os.mkdir("run/sshd", 0o755)
        boot_id = pathlib.Path("run/.boot_id")
        boot_id.write_text(f"{uuid.uuid4()}\n")
        kernel.bind("proc/sys", "proc/sys")
        for setting in OWN_SETTINGS:
            if os.path.exists(f"proc/sys/{setting}"):
                kernel.bind(f"proc/sys/{setting}", f"proc/sys/{setting}")
        kernel.bind(str(boot_id), "proc/sys/kernel/random/boot_id", read_only=True)
        boot_id.unlink()
        kernel.mount(
            None, "proc/sys", flags=kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | bare
        )
        if os.path.exists("proc/sysrq-trigger"):
            kernel.bind("proc/sysrq-trigger", "proc/sysrq-trigger", read_only=True)
        kernel.pivot_root()

    def make_devices(self):
        kernel.mount("tmpfs", "dev", "tmpfs", kernel.MS_NOSUID, "mode=755")
        os.umask(0)
        for name, (major, minor) in DEVICES.items():
            os.mknod(f"dev/{name}", 0o020666, os.makedev(major, minor))
        self.add_loop_nodes("dev")
        for name in ("pts", "shm", "mqueue"):
            os.mkdir(f"dev/{name}")
        kernel.mount("devpts", "dev/pts", "devpts", data="newinstance,ptmxmode=0666,mode=620,gid=5")
        kernel.mount("tmpfs", "dev/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777")
        kernel.mount("mqueue", "dev/mqueue", "mqueue")
        os.symlink("pts/ptmx", "dev/ptmx")
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.symlink(f"/proc/self/fd/{number}", f"dev/{name}")
        os.symlink("/proc/self/fd", "dev/fd")
        os.umask(0o022)

    # --- systemd

    def boot(self):
        for group in self.cgroups:
            group.mkdir(parents=True, exist_ok=True)
        path = self.folder / "notify"
        path.unlink(missing_ok=True)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(path))
        self.keeper.selector.register(self.notify, selectors.EVENT_READ, self.receive)
        argv = ["systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit",
                f"--machine={self.name}", f"--directory={self.root}",
                f"--network-namespace-path=/run/netns/{self.name}", "--notify-ready=yes",
                "--resolv-conf=off", "--timezone=off", "--link-journal=no", "--console=pipe",
                "--capability=CAP_NET_ADMIN,CAP_IPC_LOCK",
                "--kill-signal=SIGRTMIN+3"]  # fmt: skip
        environment = {"PATH": PATH, "NOTIFY_SOCKET": str(path),
                       "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network"}  # fmt: skip
        log = os.open(self.folder / "console", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                os.setsid()
                for group in self.cgroups:
                    (group / "cgroup.procs").write_text("0")
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
                os.dup2(log, 1)
                os.dup2(log, 2)
                kernel.drop_capabilities()
                os.execvpe(argv[0], argv, environment)
            except BaseException as error:  # noqa: BLE001 - it is in the console's log
                os.write(log, f"cannot start: {error}\n".encode())
            os._exit(127)
        os.close(log)
        self.pid = pid

    def receive(self):
        """systemd-nspawn reports the first process of its container, and when it is up."""
        words = dict(
            line.split("=", 1) for line in self.notify.recv(65536).decode().splitlines() if line
        )
        if "X_NSPAWN_LEADER_PID" in words:
            self.forget_leader()
            try:
                self.leader = os.pidfd_open(int(words["X_NSPAWN_LEADER_PID"]))
                self.add_loop_nodes(f"/proc/{pid_of(self.leader)}/root/dev")
                self.send_event("up", self.leader)
            except (ProcessLookupError, FileNotFoundError):
                pass  # already dead, which systemd-nspawn will also notice
        if words.get("READY") == "1":
            self.send_event("ready")

    def serve(self):
        try:
            message = self.channel.recv(65536)
        except ConnectionError:
            message = b""
        if not message:
            self.keeper.selector.unregister(self.channel)
            self.destroy()
            self.keeper.hosts.remove(self)
            return
        try:
            {"start": self.start, "kill": self.kill, "halt": self.halt}[json.loads(message)["op"]]()
        except OSError as error:
            self.send_event("error", text=str(error))


# --- The lab -------------------------------------------------------------------------------------


class Keeper:
    def __init__(self, control, owner, name):
        self.control = control
        self.owner = owner
        self.hosts = []
        self.selector = selectors.DefaultSelector()
        self.over = False
        cgroups = own_cgroups()
        self.set_up_mounts([top for top, _ in cgroups])
        self.cgroups = [group / name for _, group in cgroups]
        self.gateway = "10.99.0.1"
        self.set_up_switch()

    def set_up_mounts(self, cgroup_mounts):
        kernel.mount(None, "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.protect_tree("/")
        machine = kernel.clone_tree("/")
        kernel.mount("tmpfs", "/run", "tmpfs", data="mode=755")
        (RUN / "blank").mkdir(parents=True)
        make_blank_layer(RUN / "blank")
        kernel.mount("tmpfs", "/tmp", "tmpfs", data="mode=755")
        MACHINE.mkdir()
        (RUN / "sys").mkdir()
        kernel.attach_tree(machine, str(MACHINE))
        os.close(machine)
        kernel.mount("proc", "/proc", "proc")
        # /sys shows the network namespace of the process that mounts it. Mounts below it are kept.
        kernel.mount("sysfs", str(RUN / "sys"), "sysfs")
        for mounted in cgroup_mounts:
            kernel.mount(None, str(mounted), flags=kernel.MS_REMOUNT | kernel.MS_BIND)
        (RUN / "layer").mkdir()

    def set_up_switch(self):
        lines = ["link set lo up", "link add br0 type bridge", f"addr add {self.gateway}/16 dev br0",
                 "link set br0 up"]  # fmt: skip
        command("ip", "-batch", "-", input="\n".join(lines))
        # Reject unroutable destinations; otherwise hosts would wait for responses from outside.
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def reap(self, ended):
        for host in self.hosts:
            if host.pid == ended[0]:
                host.ended(ended[1])

    def reap_children(self):
        self.waker.recv(4096)
        try:
            ended = os.waitpid(-1, os.WNOHANG)
            while ended[0] != 0:
                self.reap(ended)
                ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass

    def accept_host(self):
        message, fds, _, _ = socket.recv_fds(self.control, 1 << 20, 1)
        if not message:
            self.over = True
            return
        given = json.loads(message)
        host = Host(self, socket.socket(fileno=fds[0]), given)
        try:
            host.make(given["seed"])
        except OSError as error:
            host.send_event("error", text=str(error))
            host.destroy()
            return
        self.hosts.append(host)
        self.selector.register(host.channel, selectors.EVENT_READ, host.serve)
        host.send_event("made")

    def end(self):
        self.over = True

    def run(self):
        self.waker, wakes = socket.socketpair()
        wakes.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes.fileno())
        self.selector.register(self.waker, selectors.EVENT_READ, self.reap_children)
        self.selector.register(self.owner, selectors.EVENT_READ, self.end)
        self.selector.register(self.control, selectors.EVENT_READ, self.accept_host)
        socket.send_fds(self.control, [b"ready"], [os.pidfd_open(os.getpid())])
        try:
            while not self.over:
                for key, _ in self.selector.select():
                    key.data()
        finally:
            self.finish()

    def finish(self):
        """Removes only what the kernel would leave behind: swap, loop devices and cgroups."""
        for host in self.hosts:
            host.stop_swapping()
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            while True:
                os.wait()
        except ChildProcessError:
            pass
        for host in self.hosts:
            host.remove_loops()
        for group in self.cgroups:
            remove_cgroup(group)


def main():
    control = socket.socket(fileno=int(sys.argv[1]))
    owner = int(sys.argv[2])
    sweep_cgroups(sys.argv[3].rstrip("0123456789"))
    kernel.unshare(
        kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC
        | kernel.CLONE_NEWUTS
    )  # fmt: skip
    first = os.fork()
    if first != 0:
        control.close()
        os.close(owner)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
    # Python's own handlers; without them, only SIGKILL reaches the first process of a namespace.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    kernel.name_process("lab-keeper")
    Keeper(control, owner, sys.argv[3]).run()


main()
