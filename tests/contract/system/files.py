"""The contract of file actions is in test_modules.c; these cases show that it also holds in
containers."""

from lab.contract import Case

CASES = [
    Case("file.managed", {"name": "/etc/motd", "content": "hello\n", "mode": "0600"},
         release=("bookworm", "trixie"), after="grep -qx hello /etc/motd"),
    Case("file.directory", {"name": "/srv/data", "mode": "0750", "owner": "www-data"},
         host="systemd", look="systemctl is-system-running --wait",
         after="test $(stat -c %U%a /srv/data) = www-data750"),
    Case("cmd.run", {"cmd": "touch /srv/made", "creates": "/srv/made"}, name="creates",
         after="test -f /srv/made"),
    Case("cmd.run", {"cmd": "touch /run/booted", "unless": "test -e /run/booted"},
         name="unless", host="systemd", release="trixie", look="ls /run/booted || true"),
]  # fmt: skip
