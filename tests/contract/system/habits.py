"""Cron jobs and user limits."""

from lab.contract import Case

CASES = [
    Case("cron.present", {"name": "backup", "cmd": "echo 100%", "minute": "30", "hour": "3"},
         release=("bookworm", "trixie"), after="grep -q '^30 3 .*root' /etc/cron.d/backup"),
    Case("cron.absent", {"name": "backup"}, before="echo '@daily root true' > /etc/cron.d/backup",
         after="test ! -e /etc/cron.d/backup"),
    Case("limits.present", {"domain": "daemon", "item": "nofile", "value": "512"},
         after="test $(su -s /bin/sh daemon -c 'ulimit -n') = 512"),
]  # fmt: skip
