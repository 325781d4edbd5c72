"""Hosts behave as tests expect."""

import json
import os
import pathlib
import subprocess

import pytest

from lab import hosts, kernel, snapshot

MOTD = """
- name: greet
  file.managed:
    - name: /etc/motd
    - content: hello
"""


def test_light_host_is_isolated(light):
    host = light()
    assert host.run("hostname").out == host.name
    assert host.run(["ps", "-e", "-o", "comm="]).out.split("\n") == ["lab-host", "ps"]
    links = host.run("ip -o link | cut -d: -f2").out.split()
    assert links[0] == "lo" and links[1].startswith("eth0@") and len(links) == 2


def test_hosts_reach_each_other_and_not_the_machine(light):
    server, client = light(), light()
    server.write("/srv/index.html", "here I am")
    server.serve("/srv", 80)
    assert client.run(f"curl -sS http://{server.address}/").out == "here I am"
    assert client.run(f"curl -sS http://{server.name}/").out == "here I am"
    assert os.readlink("/proc/self/ns/net") != client.run("readlink /proc/self/ns/net").out
    assert client.run("ip route get 192.0.2.1").out.split()[2] == "10.99.0.1"
    assert client.run("curl -sS -m 5 http://192.0.2.1/", check=False).returncode == 7


def test_link_can_be_cut(lab, light):
    one, other = light(), light()
    one.serve("/etc", 80)
    fetch = f"curl -sS -m 1 http://{one.address}/hostname"
    assert other.run(fetch).out == one.name
    one.cut()
    assert other.run(fetch, check=False).returncode != 0
    one.join()
    other.wait_for(fetch)


@pytest.mark.parametrize("root", ["bookworm", "trixie"])
def test_systemd_host_runs(systemd, root):
    host = systemd(root)
    assert host.state() == "running"
    assert host.run("cat /proc/1/comm").out == "systemd"
    assert host.run("systemctl is-active ssh cron dbus").out.split() == ["active"] * 3
    assert f"VERSION_CODENAME={root}\n" in host.read("/etc/os-release")
    assert host.eden("version").returncode == 0


def test_host_of_the_machine_has_its_programs_and_cannot_change_it(light):
    host = light("machine")
    assert host.run("/usr/bin/python3 -c 'print(6 * 7)'").out == "42"
    host.write("/etc/eden-lab-was-here", "x")
    assert not os.path.exists("/etc/eden-lab-was-here")


@pytest.mark.parametrize("make", ["light", "systemd"])
def test_disk_survives_kill_and_start(request, make):
    host = request.getfixturevalue(make)()
    host.write("/etc/kept", "still here\n")
    host.write("/run/lost", "not on the disk\n")
    before = host.run("cat /proc/sys/kernel/random/boot_id").out
    host.kill()
    assert host.pid is None
    assert host.read("/etc/kept") == "still here\n"
    host.write("/etc/between", "written while it was down\n", mode=0o600)
    host.start()
    assert host.read("/etc/kept") == "still here\n"
    assert host.run("stat -c %a /etc/between").out == "600"
    assert not host.exists("/run/lost")
    assert host.run("cat /proc/sys/kernel/random/boot_id").out != before


def test_systemd_host_reboots_and_halts(systemd):
    host = systemd()
    before = host.run("cat /proc/sys/kernel/random/boot_id").out
    host.reboot()
    assert host.state() == "running"
    assert host.run("cat /proc/sys/kernel/random/boot_id").out != before
    host.stop()
    with pytest.raises(hosts.LabError, match="is down"):
        host.run("true")


def test_light_host_reboots(light):
    host = light()
    host.write("/etc/kept", "x")
    with host.expect_reboot():
        host.run("systemctl --force --force reboot", check=False)
    assert host.boots == 2
    assert host.read("/etc/kept") == "x"


# In a separate process, so that it can start with capability sets like those of a shell in a
# container.
SHOW_CAPABILITIES = """
import json, sys
from lab import hosts
with hosts.Lab() as lab:
    for host in (lab.light(), lab.systemd()):
        print(json.dumps([host.run(f"cat /proc/{pid}/status").out for pid in ("1", "self")]))
"""


def test_host_has_no_capability_over_the_machine():
    """Only inspected, never tried: where it is possible, trying would do harm."""
    forbidden = set(kernel.FORBIDDEN_CAPABILITIES.values())
    own = kernel.read_capabilities(pathlib.Path("/proc/self/status").read_text())
    given = [name for name, number in kernel.FORBIDDEN_CAPABILITIES.items() if number in own["Prm"]]
    assert given, "this process has none to pass on"
    names = "+" + ",+".join(given)
    done = subprocess.run(
        ["setpriv", f"--inh-caps={names}", f"--ambient-caps={names}", "/usr/bin/python3", "-B", "-c",
         SHOW_CAPABILITIES],
        cwd=pathlib.Path(__file__).resolve().parents[1], capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for status in (status for line in lines for status in json.loads(line)):
        sets = kernel.read_capabilities(status)
        assert sets.keys() == {"Inh", "Prm", "Eff", "Bnd", "Amb"}
        assert not forbidden & set.union(*sets.values()), status


def test_host_sees_settings_of_the_machine_and_cannot_write_them(light, systemd):
    for host in (light(), systemd()):
        host.run("sysctl -qw net.ipv4.ip_forward=1")
        for path in ("/proc/sys/vm/swappiness", "/proc/sys/kernel/core_pattern", "/sys/kernel"):
            options = host.run(["findmnt", "-n", "-o", "OPTIONS", "-T", path]).out.split("\n")[-1]
            assert "ro" in options.split(","), path
        assert host.run("ls /dev/vda /dev/sda /dev/nvme0n1", check=False).stdout == ""


def test_host_of_the_machine_hides_leftover_files(light):
    """Checked file by file, in the directories where users and programs leave files."""
    host = light("machine")
    folders = "/root /home /srv /opt /mnt /media /tmp /var/tmp /var/cache /usr/local"
    left = host.run(f"find {folders} -xdev ! -type d -printf '%p\\n'").out.split("\n")
    assert sorted(left) == ["/usr/local/bin/eden", "/usr/local/lib/lab/httpd.py"]
    assert host.run("find /root /home -mindepth 1").out == ""
    assert host.run("stat -c '%a %U' /root /home /var/tmp").out.split("\n") == [
        "700 root", "755 root", "1777 root",
    ]  # fmt: skip
    before = host.snapshot()
    host.run("mkdir -m 700 /root/.ansible")
    assert snapshot.differences(before, host.snapshot()) == ["added /root/.ansible"]


@pytest.mark.parametrize("make", ["light", "systemd"])
def test_snapshot_shows_exactly_the_changes(request, make):
    host = request.getfixturevalue(make)()
    before = host.snapshot()
    strict = host.snapshot(times=True)
    host.run("cat /etc/passwd; ls -lR /etc /var >/dev/null")
    assert host.snapshot(times=True) == strict
    host.run("echo a > /etc/new; chmod 600 /etc/issue; rm /etc/debian_version; mkdir /srv/d;"
             " ln -s new /etc/link; rm -r /etc/cron.d; mkdir /etc/cron.d; rm -r /etc/pam.d")  # fmt: skip
    after = host.snapshot()
    assert snapshot.differences(before, after) == [
        "added /etc/cron.d", "removed /etc/debian_version", "added /etc/issue",
        "added /etc/link", "added /etc/new", "removed /etc/pam.d", "added /srv/d",
    ]  # fmt: skip
    assert after["/etc/issue"].mode == 0o600
    host.run("echo b > /etc/new; rm /etc/link")
    assert snapshot.differences(after, host.snapshot()) == [
        "taken back /etc/link", "changed (content) /etc/new",
    ]  # fmt: skip
    assert host.snapshot(without=["/etc", "/srv"]) == {
        path: entry for path, entry in before.items() if not path.startswith("/etc")
    }


def test_short_lived_file_shows_by_the_time_of_its_folder(light):
    host = light()
    before = host.snapshot(times=True)
    host.run("touch /etc/x && rm /etc/x")
    assert host.snapshot() == {}
    assert snapshot.differences(before, host.snapshot(times=True)) == ["added /etc"]


def test_disk_is_full_at_its_size(light):
    host = light(disk="4M")
    assert "No space left" in host.run("cat /dev/zero > /var/big", check=False).stderr
    assert host.run("rm /var/big; echo room > /var/small").returncode == 0


def test_loop_devices_on_demand(light):
    host = light(loop=True)
    host.run("truncate -s 8M /srv/image && mkfs.ext4 -q /srv/image && mount /srv/image /mnt")
    assert host.run("findmnt -n -o FSTYPE /mnt").out == "ext4"
    host.run("umount /mnt")


def test_eden_plans_and_applies(light):
    host = light()
    before = host.snapshot(times=True)
    planned = host.plan(MOTD)
    assert (planned.exit, planned.result) == (0, "changed")
    assert host.snapshot(times=True) == before
    applied = host.apply(MOTD, "--order", "genius")
    assert applied.steps["greet"].changed is True
    assert applied.steps["greet"].changes["size"]["new"] == 5
    assert host.read("/etc/motd") == "hello"
    assert host.apply(MOTD).result == "ok"
    failed = host.apply([{"name": "no", "test.failed": []}])
    assert failed.exit != 0 and failed.steps["no"].error.message == failed.errors
    broken = host.apply("- name: x\n  file.manged: []\n")
    assert broken.result is None and "file.manged" in broken.errors


def test_site_of_several_files(light):
    host = light()
    site = {
        "jobs/base.yaml": "jobs:\n  '*':\n    - name: web\n",
        "jobs/web.yaml": "steps:\n"
                         "  - name: page\n"
                         "    file.managed:\n"
                         "      - name: /srv/page\n"
                         "      - template: page.j2\n",
        "templates/page.j2": "{{ vars.greeting }}",
    }  # fmt: skip
    done = host.apply(site, "-D", "greeting=hello")
    assert done.result == "changed", done
    assert host.read("/srv/page") == "hello"


def test_command_that_times_out_is_killed_with_its_children(light):
    host = light()
    with pytest.raises(hosts.CommandFailed, match="longer than"):
        host.run("echo begun; sleep 1000 | sleep 1000", timeout=1)
    alone = ["lab-host", "ps"]  # once zombies are reaped
    host.wait_for(lambda: host.run(["ps", "-e", "-o", "comm="]).out.split("\n") == alone)


def test_failed_command_shows_its_output(light):
    with pytest.raises(hosts.CommandFailed, match="(?s)ended with 3.*oh no"):
        light().run("echo oh no >&2; exit 3")


def test_hosts_do_not_share_an_identity(light):
    one, other = light(), light()
    for path in ("/etc/machine-id", "/etc/ssh/ssh_host_ed25519_key.pub"):
        assert one.read(path) != other.read(path)
