"""`eden dev`: a cluster that comes up, can be used, and leaves nothing behind, however it ends."""

import contextlib
import ctypes
import functools
import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest
from daemons import environment
from events import LIMIT, wait_until
from git_world import Repository

ROOT = pathlib.Path(__file__).resolve().parents[2]
OTHER_USER = 65534
CLONE_NEWUSER = 0x10000000


class Dev:
    """A running one, with its output when it was ready."""

    def __init__(self, eden_path, *words, prefix=()):
        self.eden_path = eden_path
        self.process = subprocess.Popen(
            [*prefix, str(eden_path), "dev", "-o", "json", "--port", "0", *map(str, words)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment(), cwd=ROOT)
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        line = self.process.stdout.readline() if ready else ""
        if '"directory"' not in line:
            self.process.kill()
            raise AssertionError(line + self.process.communicate()[1])
        self.card = json.loads(line)
        processes = [node["process"] for node in self.card["nodes"]]
        paths = [f"/proc/{process}/ns/{kind}" for process in processes
                 for kind in ("pid", "pid_for_children", "net", "mnt")]
        paths.append(f"/proc/{parent_of(processes[0])}/ns/net")
        # While a process has them open, their numbers are not reused.
        self.held = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths]
        self.spaces = {os.readlink(path) for path in paths}
        assert not self.spaces & {os.readlink(f"/proc/self/ns/{kind}")
                                  for kind in ("pid", "net", "mnt")}

    def call(self, *words, prefix=()):
        done = subprocess.run([*prefix, self.eden_path, *map(str, words)], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=LIMIT,
                              env=environment(), cwd=ROOT)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def ask(self, *words, **more):
        return self.call(*words, "--run-dir", self.card["run_dir"], **more)

    def inside(self, node, *words, **more):
        return self.call("dev", "--directory", self.card["directory"], "--in", node, "--", *words,
                         **more)

    def wait_gone(self):
        """Waits until no process is in its namespaces: then its mounts are gone."""
        wait_until(lambda: not self.spaces & namespaces_in_use(), "the end of all processes")

    def groups(self):
        """The cgroups it has created, each before its children."""
        name = pathlib.Path(self.card["directory"]).name
        return [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if f"/{name}" in folder]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.wait_gone()
        for descriptor in self.held:
            os.close(descriptor)
        for group in reversed(self.groups()):
            os.rmdir(group)
        shutil.rmtree(self.card["directory"], ignore_errors=True)


def parent_of(process):
    return int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def namespaces_in_use():
    found = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        for kind in ("pid", "net", "mnt"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{process}/ns/{kind}"))
    return found


def machine():
    """What a cluster must not change."""
    files = {}
    for place in ("/etc", "/var/lib/eden", "/run/eden", "/usr/local"):
        for folder, _, names in os.walk(place):
            for name in names:
                with contextlib.suppress(OSError):
                    info = os.lstat(f"{folder}/{name}")
                    files[f"{folder}/{name}"] = (info.st_ino, info.st_mtime_ns, info.st_size)
    return {"mounts": pathlib.Path("/proc/self/mountinfo").read_text(),
            "links": sorted(os.listdir("/sys/class/net")), "host": socket.gethostname(),
            "files": files}


@pytest.fixture
def start(eden_path):
    running = []

    def run(*words, path=eden_path, **more):
        running.append(Dev(path, *words, **more))
        return running[-1]

    yield run
    with contextlib.ExitStack() as all_of_them:
        for dev in running:
            all_of_them.callback(dev.end)


@pytest.fixture
def for_all(eden_path):
    """The program where any user finds it."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="eden-test-"))
    place.chmod(0o755)
    shutil.copy(eden_path, place / "eden")
    yield place / "eden"
    shutil.rmtree(place)


def drop_to_other_user():
    return (() if os.geteuid() != 0 else
            ("setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"))


def refused(eden_path, *words, **more):
    """One that fails to start: its exit code and error message."""
    done = subprocess.run([eden_path, "dev", *map(str, words)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=LIMIT, env=environment(), **more)
    assert done.returncode != 0
    return done.returncode, done.stderr


def left():
    return {path.name for path in pathlib.Path("/tmp").glob("eden-dev-*")}


def test_five_nodes_have_sent_facts_when_it_is_ready(start):
    dev = start("--nodes", 5)
    names = [f"node{i}" for i in range(1, 6)]
    assert [node["name"] for node in dev.card["nodes"]] == names
    assert dev.ask("nodes", "list", "-o", "name").split() == names
    for node in dev.card["nodes"]:
        facts = json.loads(dev.ask("facts", "--node", node["name"], "-o", "json"))
        assert node["address"] in json.dumps(facts["interfaces"]), facts


def test_the_api_is_reached_from_this_machine(start):
    dev = start("--nodes", 1)
    curl = ["curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", dev.card["api"] + "/v1/nodes"]
    assert subprocess.run(curl, capture_output=True, text=True).stdout == "401"
    curl += ["-H", f"Authorization: Bearer {dev.card['token']}"]
    assert subprocess.run(curl, capture_output=True, text=True).stdout == "200"


def test_commands_reach_it_from_any_directory(start, tmp_path):
    dev = start("--nodes", 2)
    env = {**environment(), "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path),
           "EDEN_TOKEN": dev.card["token"]}

    def call(*words):
        done = subprocess.run([dev.eden_path, *words], capture_output=True, text=True, env=env,
                              stdin=subprocess.DEVNULL, timeout=LIMIT, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    call("login", dev.card["api"], "--ca-pin", dev.card["ca_pin"], "--name", "dev")
    assert call("nodes", "list", "-o", "name").split() == ["node1", "node2"]
    # Inside, commands use the server of the node, whatever the user has logged in to.
    inside = ("dev", "--directory", dev.card["directory"], "--in", "node1", "--", dev.eden_path)
    assert "no problems found" in call(*inside, "doctor")


def test_the_machine_is_untouched_while_it_runs_and_afterwards(start):
    before = machine()
    dev = start("--nodes", 2)
    assert machine() == before
    dev.inside("node2", "sh", "-c",
               "echo inside > /etc/motd && echo new > /etc/eden-inside && hostname other")
    dev.inside("node2", dev.eden_path, "apply", "examples/shop", "--label", "role=web",
               "--progress", "none")
    assert "inside" not in dev.inside("node1", "cat", "/etc/hostname")
    assert machine() == before
    dev.process.send_signal(signal.SIGINT)
    assert dev.process.wait(LIMIT) == 0
    assert machine() == before


def test_a_site_changes_the_node_that_it_is_applied_on(start):
    dev = start("--nodes", 2)
    apply = (dev.eden_path, "apply", "examples/shop", "--label", "role=web", "--progress", "none")
    assert "apply on node2: 13 changed" in dev.inside("node2", *apply)
    assert "apply on node2: 11 ok" in dev.inside("node2", *apply)
    assert "node2" in dev.inside("node2", "cat", "/etc/motd")
    assert dev.inside("node2", "hostname") == "node2\n"
    assert dev.inside("node1", "sh", "-c", "ls -d /etc/web || echo none") == "none\n"


def save(path, text):
    """As editors do: a new file replaces the old one."""
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.chmod(0o755)
    draft.rename(path)


@pytest.fixture
def project(tmp_path):
    """A directory with a file that any user can read."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="eden-test-"))
    folder.chmod(0o755)
    save(folder / "file", "old\n")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_node_sees_files_of_the_machine_as_they_are_now(start, for_all, project, user):
    prefix = drop_to_other_user() if user == "nobody" else ()
    dev = start("--nodes", 1, path=for_all, prefix=prefix)
    file, new = project / "file", project / "new"
    look = ("sh", "-c", f"cat {file}; cat {new} 2>/dev/null; ls {project}")
    assert dev.inside("node1", *look, prefix=prefix) == "old\nfile\n"
    save(file, "changed\n")
    save(new, "new\n")
    assert dev.inside("node1", *look, prefix=prefix) == "changed\nnew\nfile\nnew\n"
    file.unlink()
    assert "changed" not in dev.inside("node1", *look, prefix=prefix)
    # A program, like eden after a build.
    save(file, "#!/bin/sh\necho one\n")
    assert dev.inside("node1", file, prefix=prefix) == "one\n"
    save(file, "#!/bin/sh\necho two\n")
    assert dev.inside("node1", file, prefix=prefix) == "two\n"


def test_a_program_in_a_node_sees_files_saved_meanwhile(start, project):
    dev = start("--nodes", 1)
    file = project / "file"
    waits = f"cat {file}; until [ $(cat {file}) = saved ]; do sleep 0.05; done; echo seen"
    running = subprocess.Popen(
        [dev.eden_path, "dev", "--directory", dev.card["directory"], "--in", "node1", "--",
         "sh", "-c", waits],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment(), cwd=project)
    try:
        assert running.stdout.readline() == "old\n"
        save(file, "saved\n")
        assert running.communicate(timeout=LIMIT)[0] == "seen\n"
    finally:
        running.kill()
        running.wait()


def test_changes_in_a_node_stay_in_it(start, project):
    dev = start("--nodes", 2)
    file = project / "file"
    dev.inside("node1", "sh", "-c", f"echo mine > {file}")
    save(file, "saved\n")
    assert dev.inside("node1", "cat", file) == "mine\n"
    assert dev.inside("node2", "cat", file) == "saved\n"
    assert file.read_text() == "saved\n"


SERVICE = """
steps:
- name: unit
  file.managed:
    name: /etc/systemd/system/hello.service
    content: |
      [Service]
      ExecStart=/bin/sh -c 'echo hello from the unit; exec sleep 100000'
      DynamicUser=yes
      [Install]
      WantedBy=multi-user.target
- name: runs
  service.ensure: {name: hello, state: started, enabled: true}
  watch: [{step: unit}]
- name: clock
  file.managed:
    name: /etc/systemd/system/tick.service
    content: |
      [Service]
      ExecStart=/usr/bin/touch /var/tick
- name: timer
  file.managed:
    name: /etc/systemd/system/tick.timer
    content: |
      [Timer]
      OnActiveSec=10ms
      AccuracySec=1ms
- name: ticks
  service.ensure: {name: tick.timer, state: started}
  require: [{step: clock}, {step: timer}]
"""


@pytest.fixture
def booted(start, project):
    assert os.geteuid() == 0, "this test needs root, for a systemd of its own"
    (project / "service.yaml").write_text(SERVICE)
    return start("--nodes", 2, "--systemd")


def test_a_service_runs_in_a_node_that_has_booted_systemd(booted, project):
    inside = functools.partial(booted.inside, "node2")
    assert inside("systemctl", "is-system-running") == "running\n"
    site = project / "service.yaml"
    output = inside(booted.eden_path, "apply", site, "--progress", "none")
    assert "apply on node2: 5 changed" in output
    assert inside("systemctl", "is-active", "hello") == "active\n"
    assert "hello from the unit" in inside("journalctl", "--no-pager", "-o", "cat", "-u", "hello")
    inside("sh", "-c", "until [ -e /var/tick ]; do sleep 0.05; done")
    output = inside(booted.eden_path, "apply", site, "--progress", "none")
    assert "apply on node2: 5 ok" in output
    # The next one knows nothing about it, and neither does the machine.
    assert booted.inside("node1", "sh", "-c", "systemctl is-active hello || true") == "inactive\n"
    assert not os.path.exists("/etc/systemd/system/hello.service")
    assert "systemd" in inside("cat", "/proc/1/comm")


def test_a_node_has_its_own_network_settings_only(start):
    setting = pathlib.Path("/proc/sys/net/ipv4/ip_forward")
    before = setting.read_text()
    other = "0" if before.strip() == "1" else "1"
    for options in ((), ("--systemd",)):
        dev = start("--nodes", 1, *options)
        shown = dev.inside("node1", "sh", "-c", f"echo {other} > {setting}; cat {setting}")
        assert shown.strip() == other
        assert setting.read_text() == before
        refused = dev.inside("node1", "sh", "-c",
                             "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness || echo no")
        assert refused == "no\n"


def test_a_node_that_has_booted_sees_neither_devices_nor_sockets_of_the_machine(booted):
    devices = booted.inside("node1", "sh", "-c", "ls /dev; ls /run").split()
    assert "null" in devices and "eden" in devices
    assert not {"tty0", "tty1", "kmsg", "mem", "loop0", "vda", "sda"} & set(devices)
    mounts = booted.inside("node1", "cat", "/proc/mounts")
    assert not re.search(r" (debugfs|tracefs|fusectl|binfmt_misc|configfs) rw", mounts)
    kept = booted.inside("node1", "ls", "/tmp").split()
    assert pathlib.Path(booted.card["directory"]).name in kept, "/tmp is not cleared"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_systemd_and_its_services_end_with_the_cluster(start, booted, project, number):
    before = machine()
    booted.inside("node2", booted.eden_path, "apply", project / "service.yaml", "--progress", "none")
    assert booted.groups()
    booted.process.send_signal(number)
    booted.process.wait(LIMIT)
    booted.wait_gone()
    if number == signal.SIGKILL:
        start("--nodes", 1)  # removes what is left of it
    assert not booted.groups()
    assert not os.path.exists(booted.card["directory"])
    assert machine() == before


def test_systemd_requires_root_and_reports_it(for_all):
    done = subprocess.run([*drop_to_other_user(), for_all, "dev", "--systemd", "--port", "0"],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT,
                          env=environment())
    assert done.returncode == 4
    assert "--systemd requires root" in done.stderr


def test_a_node_sees_its_own_processes_and_network_only(start):
    dev = start("--nodes", 2)
    seen = dev.inside("node1", "sh", "-c", "ls -d /proc/[0-9]* | wc -l; ls /sys/class/net")
    count, *links = seen.split()
    assert int(count) < 10
    assert links == ["eth0", "lo"]
    port = dev.card["api"].rsplit(":", 1)[1]
    assert dev.inside("node2", "curl", "-sk", "-o", "/dev/null", "-w", "%{remote_ip}",
                      f"https://node1:{port}/") == dev.card["nodes"][0]["address"]
    routes = dev.inside("node1", "cat", "/proc/net/route").splitlines()
    assert len(routes) == 2  # a separate network without a route to the outside


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_after_it_is_stopped(start, number):
    dev = start("--nodes", 2)
    dev.process.send_signal(number)
    assert dev.process.wait(LIMIT) == 0
    assert not dev.spaces & namespaces_in_use()
    assert not os.path.exists(dev.card["directory"])


def test_ctrl_c_on_a_terminal_stops_it(eden_path):
    process, terminal = pty.fork()
    if process == 0:
        os.execve(eden_path, [eden_path, "dev", "--nodes", "2", "--port", "0"], environment())
    printed = b""
    while b"Press Ctrl-C to stop" not in printed:
        assert select.select([terminal], [], [], LIMIT)[0], printed
        printed += os.read(terminal, 65536)
    folder = re.search(rb"/tmp/eden-dev-\w+", printed)[0]
    assert b"dev --directory " + folder + b" --in node1 -- " in printed
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # the terminal closes with its last process
        while select.select([terminal], [], [], LIMIT)[0] and (more := os.read(terminal, 65536)):
            printed += more
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0, printed
    assert b"stopped; everything has been removed" in printed
    assert not os.path.exists(folder)


def folder_of(process):
    """Its lock names its owner."""
    for path in pathlib.Path("/tmp").glob("eden-dev-*/lock"):
        with contextlib.suppress(OSError):
            if path.read_text().strip() == str(process.pid):
                return path.parent
    return None


def test_it_can_be_stopped_while_starting(eden_path):
    process = subprocess.Popen([eden_path, "dev", "--port", "0"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment())
    assert "is running the server" in process.stderr.readline()
    folder = folder_of(process)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=LIMIT)
    assert process.returncode in (130, 0), printed  # 0: it was ready before the signal arrived
    assert not folder.exists()


def test_a_node_that_exits_is_reported_and_others_continue(start):
    dev = start("--nodes", 2)
    os.kill(dev.card["nodes"][1]["process"], signal.SIGKILL)
    assert dev.process.stderr.readline() == "node2 has exited; the other nodes keep running\n"
    assert dev.ask("nodes", "ping", "node1")


def test_killed_it_leaves_a_folder_that_the_next_one_removes(start):
    dev = start("--nodes", 2)
    dev.process.kill()
    dev.process.wait()
    dev.wait_gone()
    other = start("--nodes", 1)
    assert not os.path.exists(dev.card["directory"])
    assert os.path.exists(other.card["directory"])


def test_it_stops_with_the_process_that_runs_the_nodes(start):
    dev = start("--nodes", 2)
    os.kill(parent_of(dev.card["nodes"][0]["process"]), signal.SIGKILL)
    assert dev.process.wait(LIMIT) == 3
    dev.wait_gone()
    assert not os.path.exists(dev.card["directory"])


def test_two_clusters_are_isolated(start):
    one, other = start("--nodes", 2), start("--nodes", 1)
    assert one.card["api"] != other.card["api"]
    assert one.card["ca_pin"] != other.card["ca_pin"]
    assert one.ask("nodes", "list", "-o", "name").split() == ["node1", "node2"]
    assert other.ask("nodes", "list", "-o", "name").split() == ["node1"]
    code, printed = refused(one.eden_path, "--in", "node1", "--", "sh", "-c", "echo it is  $(hostname)")
    assert code == 5
    lines = [line[len("  = "):].split("  (") for line in printed.splitlines() if "--directory /" in line]
    for dev, nodes in ((one, "2 nodes, "), (other, "1 node, ")):
        line, known = next(each for each in lines if dev.card["directory"] in each[0])
        assert known == f"{nodes}{dev.card['api']})"
        done = subprocess.run(["sh", "-c", line], text=True, capture_output=True, timeout=LIMIT,
                              env=environment(), cwd=ROOT)
        assert (done.returncode, done.stdout) == (0, "it is node1\n"), done.stderr
    one.process.send_signal(signal.SIGINT)
    assert one.process.wait(LIMIT) == 0
    assert other.ask("nodes", "ping", "node1")


# A chroot whose root is that of this machine, except for a directory with the program.
IN_A_CHROOT = """
mount --rbind / "$1"
mount -t tmpfs tmpfs "$1/mnt"
mkdir "$1/mnt/work"
cp "$2" "$1/mnt/work/eden"
exec /usr/sbin/chroot "$1" sh -c 'cd /mnt/work && exec ./eden dev --nodes 1 --port 0 -- \
    ./eden dev --in node1 -- sh -c "hostname; pwd; ./eden version"'
"""


def test_a_node_is_entered_from_a_chroot(eden_path, tmp_path):
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-ec", IN_A_CHROOT, "sh", tmp_path,
         eden_path],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("node1\n/mnt/work\neden "), done.stdout


def test_it_exits_with_the_exit_code_of_a_command(eden_path):
    done = subprocess.run(
        [eden_path, "dev", "--nodes", "1", "--port", "0", "--", "sh", "-c",
         f'{eden_path} nodes list -o name; test -d "$EDEN_DEV" || exit 8; '
         f"{eden_path} dev --in node1 -- sh -c 'hostname; echo \"<$EDEN_RUN_DIR>\"'; exit 7"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT, env=environment())
    assert (done.returncode, done.stdout) == (7, "node1\nnode1\n<>\n"), done.stderr
    assert "node1 is running the server" in done.stderr


@pytest.mark.parametrize("how", ["{} &", "setsid {} &", "(trap '' TERM HUP; {}) &",
                                 "setsid sh -c '{} & exit 0'; {} &"])
def test_leftovers_of_a_command_are_removed(eden_path, tmp_path, how):
    mark = f"echo $$ >> {tmp_path}/left; sleep 1000"
    script = tmp_path / "leave"
    script.write_text(f"#!/bin/sh\n{mark}\n")
    script.chmod(0o755)
    command = how.format(*[f"{script} >/dev/null 2>&1"] * how.count("{}"))
    wanted = how.count("{}")
    subprocess.run(
        [eden_path, "dev", "--nodes", "1", "--port", "0", "--", "sh", "-c",
         f'{command} until [ "$(cat {tmp_path}/left 2>/dev/null | wc -l)" = {wanted} ]; do :; done'],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT, env=environment(),
        check=True)
    left_behind = (tmp_path / "left").read_text().split()
    assert len(left_behind) == wanted
    for process in left_behind:
        assert not pathlib.Path(f"/proc/{process}").exists()
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            assert str(script).encode() not in path.read_bytes()


class Typed:
    """`eden dev -- COMMAND` at a terminal."""

    def __init__(self, eden_path, *command):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execve(eden_path, [eden_path, "dev", "--nodes", "1", "--port", "0", "--", *command],
                      environment())
        self.printed = b""

    def wait_for(self, text):
        while text not in self.printed:
            assert select.select([self.terminal], [], [], LIMIT)[0], self.printed
            self.printed += os.read(self.terminal, 65536)

    def end(self):
        with contextlib.suppress(OSError):  # the terminal closes with its last process
            while select.select([self.terminal], [], [], LIMIT)[0] and (
                    more := os.read(self.terminal, 65536)):
                self.printed += more
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


DEAF = ("sh", "-c", "trap '' INT TERM HUP; echo it goes $$; while :; do sleep 1000; done")


def sigterm_ignoring_process(printed):
    return pathlib.Path("/proc", re.search(rb"it goes (\d+)", printed)[1].decode())


def test_a_command_that_ignores_ctrl_c_is_reported_and_killed_by_the_next(eden_path):
    typed = Typed(eden_path, *DEAF)
    typed.wait_for(b"it goes ")
    typed.wait_for(b"\n")
    os.write(typed.terminal, b"\x03")
    typed.wait_for(b"waiting for 'sh' (process ")
    typed.wait_for(b"or on another Ctrl-C")
    assert sigterm_ignoring_process(typed.printed).exists()
    os.write(typed.terminal, b"\x03")
    assert typed.end() == 130, typed.printed
    assert b"stopped; everything has been removed" in typed.printed and not sigterm_ignoring_process(typed.printed).exists()


def test_a_command_that_does_not_exit_is_killed_after_a_while(eden_path):
    process = subprocess.Popen([eden_path, "dev", "--nodes", "1", "--port", "0", "--", *DEAF],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment())
    printed = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, output = process.communicate(timeout=LIMIT)
    assert process.returncode == 137, output
    assert b"it will be killed in 9 s" in output and not sigterm_ignoring_process(printed).exists()


def test_ctrl_c_goes_to_a_command_in_raw_mode(eden_path):
    typed = Typed(eden_path, "sh", "-c",
                  "trap 'echo heard' INT; stty -icanon; echo it goes; "
                  "until read word; do :; done; [ $word = end ] && exit 7")
    typed.wait_for(b"it goes\r\n")
    for count in (1, 2, 3):
        os.write(typed.terminal, b"\x03")
        while typed.printed.count(b"heard") < count:
            typed.printed += os.read(typed.terminal, 65536)
    os.write(typed.terminal, b"end\n")
    assert typed.end() == 7, typed.printed


def test_an_unknown_command_is_reported(eden_path):
    code, printed = refused(eden_path, "--nodes", 1, "--port", 0, "--", "no-such-program")
    assert code == 1
    assert "no-such-program" in printed


def test_it_works_without_root_privileges(start, for_all):
    anonymous = drop_to_other_user()
    dev = start("--nodes", 2, path=for_all, prefix=anonymous)
    assert dev.ask("nodes", "list", "-o", "name", prefix=anonymous).split() == ["node1", "node2"]
    shown = dev.inside("node2", "sh", "-c", "id -u; hostname; echo x > /etc/motd; cat /etc/motd",
                       prefix=anonymous)
    assert shown == "0\nnode2\nx\n"
    dev.process.send_signal(signal.SIGINT)
    assert dev.process.wait(LIMIT) == 0
    assert not os.path.exists(dev.card["directory"])


def test_without_user_namespaces_it_shows_a_remedy(for_all):
    """In a user namespace in which no other may be created, as a user who is not root there."""
    if os.geteuid() != 0:
        pytest.fail("needs the rights of root, to take namespaces from a user")
    libc = ctypes.CDLL(None, use_errno=True)
    made, mapped = os.pipe(), os.pipe()

    def drop_capabilities():
        assert libc.unshare(CLONE_NEWUSER) == 0, os.strerror(ctypes.get_errno())
        os.write(made[1], b"x")
        os.read(mapped[0], 1)
        pathlib.Path("/proc/sys/user/max_user_namespaces").write_text("0")
        os.setgroups([])
        os.setresgid(OTHER_USER, OTHER_USER, OTHER_USER)
        os.setresuid(OTHER_USER, OTHER_USER, OTHER_USER)

    helper = os.fork()
    if helper == 0:
        try:
            drop_capabilities()
            os.dup2(mapped[1], 2)
            os.execve(for_all, [for_all, "dev", "--nodes", "1", "--port", "0"], environment())
        finally:
            os._exit(99)
    os.read(made[0], 1)
    for name in ("uid_map", "gid_map"):
        pathlib.Path(f"/proc/{helper}/{name}").write_text(f"0 0 {OTHER_USER + 1}\n")
    os.write(mapped[1], b"x")
    _, status = os.waitpid(helper, 0)
    os.set_blocking(mapped[0], False)
    printed = os.read(mapped[0], 65536).decode()
    assert os.waitstatus_to_exitcode(status) == 4, printed
    assert "run it as root" in printed and "user.max_user_namespaces" in printed


def test_overlays_rejected_by_the_kernel_are_reported(start):
    """They can be nested twice: a cluster inside a cluster cannot contain a third."""
    dev = start("--nodes", 1)
    words = ("dev", "--nodes", "1", "--port", "0", "--")
    done = subprocess.run(
        [dev.eden_path, "dev", "--directory", dev.card["directory"], "--in", "node1", "--",
         dev.eden_path, *words, dev.eden_path, "dev", "--in", "node1", "--", dev.eden_path, *words,
         "true"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT, env=environment())
    assert done.returncode != 0
    assert "cannot mount an overlay on /" in done.stderr, done.stderr


def test_a_port_in_use_is_reported(eden_path):
    before = left()
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        port = occupied.getsockname()[1]
        code, printed = refused(eden_path, "--nodes", 1, "--port", port)
    assert code == 5
    assert f"127.0.0.1:{port}" in printed
    assert not any((pathlib.Path("/tmp") / name / "dev.json").exists() for name in left() - before)


@pytest.mark.parametrize("words", [("--nodes", "0"), ("--nodes", "1000"), ("--nodes", "x"),
                                   ("--port", "70000"), ("--in", "node1"),
                                   ("--directory", "/tmp"),
                                   ("--in", "node1", "--nodes", "2", "--", "true"),
                                   ("--in", "node1", "--systemd", "--", "true")])
def test_a_wrong_command_line_starts_nothing(eden_path, words):
    code, printed = refused(eden_path, *words)
    assert code == 64
    assert words[0] in printed


def test_an_unknown_node_is_reported(start):
    dev = start("--nodes", 1)
    code, printed = refused(dev.eden_path, "--directory", dev.card["directory"], "--in", "node7", "--",
                            "true")
    assert code == 1
    assert "node 'node7' not found; the only node is node1" in printed


def examples():
    eden = os.environ.get("EDEN", "build/eden")
    listed = subprocess.run([eden, "help", "dev", "-o", "json"], capture_output=True, text=True)
    return ([] if listed.returncode != 0
            else [each["command"] for each in json.loads(listed.stdout)["examples"]])


@pytest.mark.parametrize("command", examples())
def test_the_example_works(start, eden_path, tmp_path, command):
    words = [word.replace("site/", "examples/cluster") for word in shlex.split(command)[1:]]
    (tmp_path / "eden").symlink_to(pathlib.Path(eden_path).resolve())
    env = {**environment(), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    if "--in" in words:
        env["EDEN_DEV"] = start("--nodes", 2).card["directory"]
    elif "--" not in words:
        start(*words[1:])
        return
    done = subprocess.run([eden_path, *words], capture_output=True, text=True, cwd=ROOT,
                          stdin=subprocess.DEVNULL, timeout=LIMIT, env=env)
    assert done.returncode == 0, done.stderr
    assert "node1" in done.stdout or "node2" in done.stdout


def site_that_writes(text):
    return {"config.yaml": "name: shop\n", "jobs/base.yaml": "jobs: {'*': [{name: web}]}\n",
            "jobs/web.yaml": "steps:\n- name: greeting\n  file.managed: [{name: /etc/greeting}, "
                             f"{{content: {text}}}]\n"}  # fmt: skip


def test_a_repository_is_followed(start, tmp_path):
    repository = Repository(tmp_path / "git", site_that_writes("one"))
    dev = start("--nodes", "2", "--site", repository.work)

    def greets(text):
        return all(dev.inside(node, "sh", "-c", "cat /etc/greeting || true") == text for node in ("node1", "node2"))

    wait_until(lambda: greets("one"), "the first commit on all nodes")
    repository.commit(site_that_writes("two"), "second")
    assert repository.git("rev-parse", "--short=12", "HEAD") in dev.ask("sources", "sync", "site")
    wait_until(lambda: greets("two"), "the second commit on all nodes")
    dev.inside("node1", "sh", "-c", f"! touch {repository.work}/x")


def test_a_directory_is_sent_once(start, tmp_path):
    for name, text in site_that_writes("one").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    dev = start("--nodes", "1", "--site", tmp_path)
    wait_until(lambda: dev.inside("node1", "sh", "-c", "cat /etc/greeting || true") == "one", "the site on the node")
    assert "'no-such'" in refused(dev.eden_path, "--site", "no-such")[1]
