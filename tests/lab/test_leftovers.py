"""A lab leaves nothing behind, however it ends."""

import glob
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from lab import hosts

TESTS = pathlib.Path(__file__).resolve().parents[1]

# A process that runs a lab with a host of each kind, reports how to find it, and waits to be
# killed.
HOLDER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from lab import hosts
lab = hosts.Lab()
light, booted = lab.light(), lab.systemd()
light.popen("sleep 1000")
print(lab.name, *(os.readlink(f"/proc/{pid}/ns/pid") for pid in (lab.pid, light.pid, booted.pid)),
      flush=True)
sys.stdin.read()
if sys.argv[2] == "close":
    lab.close()
"""


def namespaces():
    """Every namespace used by any process."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/ns/*"):
        try:
            found.add(os.readlink(path))
        except OSError:
            pass  # exited meanwhile
    return found


def cgroups_of(name):
    return glob.glob(f"/sys/fs/cgroup/**/{name}*", recursive=True)


def mounts():
    return pathlib.Path("/proc/self/mountinfo").read_text().splitlines()


@pytest.mark.parametrize("end", ["close", "exit", "kill"])
def test_nothing_is_left(end):
    mounted = mounts()
    folders = {path: set(os.listdir(path)) for path in ("/run", "/tmp", "/etc", "/var/tmp", "/")}
    holder = subprocess.Popen(
        [sys.executable, "-B", "-c", HOLDER, TESTS, end], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    name, *spaces = holder.stdout.readline().split()
    assert len(spaces) == 3 and set(spaces) <= namespaces()
    assert cgroups_of(name) != []
    assert mounts() == mounted
    if end == "kill":
        holder.send_signal(signal.SIGKILL)
    else:
        holder.stdin.close()
    assert holder.wait(60) == (-signal.SIGKILL if end == "kill" else 0)
    hosts.wait_for(lambda: not set(spaces) & namespaces(), what="the last process")
    hosts.wait_for(lambda: cgroups_of(name) == [], what="the control groups")
    assert mounts() == mounted
    for path, names in folders.items():
        new = set(os.listdir(path)) - names
        assert [found for found in new if "lab" in found or "nspawn" in found] == [], path


def test_killed_keeper_stops_all_hosts():
    with pytest.raises(hosts.LabError):
        with hosts.Lab() as lab:
            host = lab.light()
            space = os.readlink(f"/proc/{host.pid}/ns/pid")
            signal.pidfd_send_signal(lab._pidfd, signal.SIGKILL)
            hosts.wait_for(lambda: space not in namespaces())
            host.run("true")


def test_groups_of_a_killed_keeper_are_swept_by_the_next():
    group = "/sys/fs/cgroup" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else None
    group = group or "/sys/fs/cgroup/unified"
    dead = subprocess.Popen(["true"])
    dead.wait()
    os.makedirs(f"{group}/eden-lab-{dead.pid}/h1/payload")
    with hosts.Lab():
        assert cgroups_of(f"eden-lab-{dead.pid}") == []


def test_closed_host_is_removed_immediately(lab):
    host = lab.systemd()
    space = os.readlink(f"/proc/{host.pid}/ns/pid")
    host.close()
    hosts.wait_for(lambda: space not in namespaces())
    hosts.wait_for(lambda: glob.glob(f"/sys/fs/cgroup/*/{lab.name}/{host.name}") == [])
    hosts.wait_for(lambda: not lab.view(f"{hosts.RUN}/{host.name}").exists())


SWAP_AND_LOOP = """
truncate -s 16M /srv/image && mkfs.ext4 -q /srv/image && mount -o loop /srv/image /mnt
dd if=/dev/zero of=/mnt/swap bs=1M count=4 status=none && chmod 600 /mnt/swap
mkswap -q /mnt/swap && swapon /mnt/swap
truncate -s 1M /srv/other && losetup --find --show /srv/other
"""


@pytest.mark.parametrize("kind", [hosts.LightHost, hosts.SystemdHost])
def test_swap_and_loop_devices_are_removed_with_the_host(lab, kind):
    def in_use():
        swaps = pathlib.Path("/proc/swaps").read_text().splitlines()[1:]
        return swaps + glob.glob("/sys/block/loop1[0-9][0-9][0-9]")

    before = in_use()
    host = kind(lab, loop=True).start()
    host.run(SWAP_AND_LOOP)
    assert len(in_use()) == len(before) + 1 + 4
    host.close()
    hosts.wait_for(lambda: in_use() == before, what="swap and loop devices")


def test_machine_is_read_only_inside(lab):
    done = lab.run("touch /run/lab/machine/etc/x /run/lab/machine/tmp/x", check=False)
    assert done.stderr.count("Read-only file system") == 2
