"""Host name, hosts, locale and time zone of a machine."""

from lab.contract import Case

BOTH = ("bookworm", "trixie")

CASES = [
    Case("hostname.set", {"name": "web1"}, release=BOTH, look="hostname; cat /proc/sys/kernel/hostname",
         after="test $(hostname)$(cat /etc/hostname) = web1web1"),
    Case("hostname.set", {"name": "web1"}, name="booted", host="systemd", look="hostnamectl --static; hostname",
         after="test $(hostname)$(cat /etc/hostname) = web1web1"),
    Case("hostname.set", {"name": "web1"}, name="without hostname", before="rm /usr/bin/hostname",
         look="cat /proc/sys/kernel/hostname",
         after="test $(cat /proc/sys/kernel/hostname)$(cat /etc/hostname) = web1web1"),
    Case("host.entry", {"name": "db.example.net", "address": "192.0.2.7", "aliases": ["db"]},
         look="getent hosts db || true", after="getent hosts db | grep -q '^192.0.2.7 .*db.example.net'"),
    Case("timezone.set", {"name": "Europe/Berlin"}, release=BOTH,
         after="test $(date -d 2024-01-01 +%Z) = CET"),
]  # fmt: skip
