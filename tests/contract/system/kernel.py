"""Kernel settings and modules, file systems, and alternatives."""

from lab.contract import Case

BOTH = ("bookworm", "trixie")
MOUNTS = "cut -d' ' -f5 /proc/self/mountinfo"

CASES = [
    Case("sysctl.present", {"name": "net.ipv4.ip_forward", "value": "1"}, release=BOTH,
         look="cat /proc/sys/net/ipv4/ip_forward",
         after="test $(cat /proc/sys/net/ipv4/ip_forward) = 1"),
    Case("sysctl.present", {"name": "net.ipv4.ip_local_port_range", "value": "20000 30000"},
         name="list", look="cat /proc/sys/net/ipv4/ip_local_port_range",
         after="test \"$(cat /proc/sys/net/ipv4/ip_local_port_range | tr '\\t' -)\" = 20000-30000"),
    # The container shares the kernel of the machine, which may have bridges built in or refuse to
    # load modules.
    Case("kmod.loaded", {"name": "bridge"}, after="grep -qx bridge /etc/modules-load.d/bridge.conf"),
    Case("mount.mounted",
         {"name": "/srv/a b", "device": "tmpfs", "type": "tmpfs", "options": "size=8m"},
         release=BOTH, look=MOUNTS,
         after="mountpoint -q '/srv/a b' && umount '/srv/a b' && mount '/srv/a b'"),
    Case("mount.unmounted", {"name": "/srv/x"}, look=MOUNTS,
         before="mkdir /srv/x; echo 'tmpfs /srv/x tmpfs defaults 0 0' >> /etc/fstab; mount /srv/x",
         after="! mountpoint -q /srv/x && ! grep -q /srv/x /etc/fstab"),
    Case("alternatives.set", {"name": "pager", "path": "/usr/local/bin/mine"},
         before="printf '#!/bin/sh\\n' > /usr/local/bin/mine; chmod 755 /usr/local/bin/mine;"
                " update-alternatives --install /usr/bin/pager pager /bin/more 50 2>&1;"
                " update-alternatives --install /usr/bin/pager pager /usr/local/bin/mine 5 2>&1",
         after="test $(readlink -f /usr/bin/pager) = /usr/local/bin/mine"),
]  # fmt: skip
