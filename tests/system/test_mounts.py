"""File systems and swap: what is in use stays, and incomplete changes are detected."""

import pytest


def mounted(**params):
    return [{"name": "mount", "mount.mounted": [{key: value} for key, value in params.items()]}]


@pytest.fixture
def disk(light):
    """A host with a file system on /dev/vg/lv, as LVM names its volumes."""
    host = light("trixie", loop=True)
    host.run("truncate -s 8M /srv/image && mkfs.ext4 -q /srv/image")
    device = host.run("ls -d /dev/loop[0-9]* | head -n 1").out
    host.run(["losetup", device, "/srv/image"])
    host.run(f"mkdir -p /dev/vg /dev/disk/by-uuid /srv/data && ln -s {device} /dev/vg/lv && "
             f"ln -s {device} /dev/disk/by-uuid/12-34")  # fmt: skip
    return host


@pytest.mark.parametrize("name", ["/dev/vg/lv", "UUID=12-34", "/dev/disk/by-uuid/12-34"])
def test_device_with_another_name_stays_mounted(disk, name):
    """Unmounting it would fail here, and elsewhere disrupt whoever uses it."""
    steps = mounted(name="/srv/data", device=name, type="ext4")
    disk.run("mount $(readlink -f /dev/vg/lv) /srv/data && touch /srv/data/x")
    disk.popen(["tail", "-f", "/srv/data/x"])
    disk.wait_for("fuser -s /srv/data/x || pgrep -x tail")
    done = disk.apply(steps)
    assert done.result == "changed", done
    assert "mount" not in done.steps["mount"].changes
    assert disk.apply(steps).result == "ok"
    assert disk.run("grep -c ' /srv/data ' /proc/self/mountinfo").out == "1"


def test_another_device_replaces_it(disk):
    disk.run("mount -t tmpfs tmpfs /srv/data")
    assert disk.apply(mounted(name="/srv/data", device="/dev/vg/lv", type="ext4")).result == "changed"
    assert disk.run("findmnt -n -o FSTYPE /srv/data").out == "ext4"


def test_mount_point_behind_a_link_is_mounted_once(light):
    host = light("trixie")
    host.run("mkdir /srv/real && ln -s real /srv/link")
    steps = mounted(name="/srv/link/x", device="tmpfs", type="tmpfs")
    assert host.apply(steps).result == "changed"
    assert host.apply(steps).result == "ok"
    assert host.run("grep -c ' /srv/real/x ' /proc/self/mountinfo").out == "1"
    gone = [{"name": "gone", "mount.unmounted": [{"name": "/srv/link/x"}]}]
    assert host.apply(gone).result == "changed"
    assert host.run("grep /srv/real/x /proc/self/mountinfo", check=False).out == ""


def test_file_is_bind_mounted_to_a_new_mount_point(light):
    host = light("trixie")
    host.run("echo x > /srv/from")
    steps = mounted(name="/srv/to", device="/srv/from", type="none", options="bind", file=True)
    assert host.apply(steps).result == "changed"
    assert host.read("/srv/to") == "x\n"
    assert host.apply(steps).result == "ok"


@pytest.mark.parametrize("device, type, options", [
    ("/dev/nowhere", "ext4", "defaults"), ("tmpfs", "tmpfs", "size=nowhere")
])
def test_failed_mounts_are_not_saved_for_the_next_boot(light, device, type, options):
    host = light("trixie")
    before = host.read("/etc/fstab")
    done = host.apply(mounted(name="/srv/x", device=device, type=type, options=options))
    assert done.result == "failed", done
    assert device in done.steps["mount"].error.message
    assert host.read("/etc/fstab") == before


def test_swap_file_of_a_killed_run_is_created_again(light):
    """In a root: active swap belongs to the machine."""
    host = light("trixie")
    host.make_image("/srv/image")
    host.run("mv /srv/image/usr/sbin/mkswap /srv/image/usr/sbin/mkswap.real")
    host.write("/srv/image/usr/sbin/mkswap", "#!/bin/sh\nkill -9 $PPID\n", mode=0o755)
    steps = [{"name": "swap", "swap.on": [{"name": "/swapfile"}, {"size": 1}]}]
    path = host.put_site(steps, "/srv/site")
    apply = ["eden", "apply", path, "--root", "/srv/image"]
    assert host.run(apply, check=False).returncode != 0
    assert not host.exists("/srv/image/swapfile")
    host.run("mv /srv/image/usr/sbin/mkswap.real /srv/image/usr/sbin/mkswap")
    host.run(apply)
    assert "SWAPSPACE2" in host.run("tail -c +4087 /srv/image/swapfile | head -c 10").out
    assert host.run("stat -c %a /srv/image/swapfile; ls -a /srv/image | grep -c eden-", check=False).out.split() == ["600", "0"]


@pytest.fixture
def shared(light):
    """A host with a user who has created links, and a directory owned by root."""
    host = light("trixie")
    host.run("useradd -m bob && mkdir -m 0700 /srv/private && touch /srv/private/x")
    host.run("su bob -c 'mkdir ~/data && ln -s /srv/private ~/share && ln -s /etc ~/file && "
             "ln -s ~/data /dev/shm/share'")
    return host


@pytest.mark.parametrize("params", [
    {"name": "/srv/share", "device": "/home/bob/share", "type": "none", "options": "bind"},
    {"name": "/srv/share", "device": "/home/bob/data", "type": "none", "options": "bind"},
    {"name": "/srv/share", "device": "/dev/shm/share", "type": "none", "options": "bind"},
    {"name": "/home/bob/file", "device": "tmpfs", "type": "tmpfs", "file": True},
    {"name": "/home/bob/data", "device": "tmpfs", "type": "tmpfs"},
    {"name": "/home/bob/new/place", "device": "tmpfs", "type": "tmpfs"},
])  # fmt: skip
def test_nothing_is_mounted_on_a_path_that_others_can_replace(shared, params):
    """Between checking the path and mount(8), and at every boot, it could lead to /etc."""
    before = shared.run("cat /proc/self/mountinfo; cat /etc/fstab").out
    done = shared.apply(mounted(**params))
    assert done.result == "failed", done
    assert "bob" in done.steps["mount"].error.message
    assert shared.run("cat /proc/self/mountinfo; cat /etc/fstab").out == before


def test_nothing_is_unmounted_on_a_path_that_others_can_replace(shared):
    shared.run("mount -t tmpfs tmpfs /home/bob/data")
    done = shared.apply([{"name": "gone", "mount.unmounted": [{"name": "/home/bob/data"}]}])
    assert done.result == "failed" and "bob" in done.steps["gone"].error.message
    assert "/home/bob/data" in shared.run("cat /proc/self/mountinfo").out


def test_directories_of_other_users_are_mounted_where_only_root_can_write(shared):
    shared.run("mkdir -m 0700 /srv/pool && chown bob /srv/pool && touch /srv/pool/x")
    steps = mounted(name="/home/bob", device="/srv/pool", type="none", options="bind")
    assert shared.apply(steps).result == "changed"
    assert shared.run("ls /home/bob").out == "x"
    assert shared.apply(steps).result == "ok"


def test_entries_in_shared_directories_must_belong_to_root(shared):
    shared.run("su bob -c 'mkdir /tmp/theirs'; mkdir /tmp/ours")
    theirs = mounted(name="/tmp/theirs", device="tmpfs", type="tmpfs", persist=False)
    assert "belongs to user 'bob'" in shared.apply(theirs).steps["mount"].error.message
    ours = mounted(name="/tmp/ours", device="tmpfs", type="tmpfs", persist=False)
    assert shared.apply(ours).result == "changed"
    new = mounted(name="/tmp/new", device="tmpfs", type="tmpfs", persist=False)
    assert shared.apply(new).result == "changed"


def test_no_swap_below_the_home_of_a_user(shared):
    done = shared.apply([{"name": "swap", "swap.on": [{"name": "/home/bob/swap"}, {"size": 1}]}])
    assert done.result == "failed" and "bob" in done.steps["swap"].error.message
    assert shared.run("ls /home/bob").out.split() == ["data", "file", "share"]
