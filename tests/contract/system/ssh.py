"""SSH keys."""

from lab.contract import Case

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX"
WEB = "useradd -m web"

CASES = [
    Case("ssh.authorized_key", {"user": "web", "key": KEY, "comment": "ann", "options": ["restrict"]},
         release=("bookworm", "trixie"), before=WEB,
         after=f"test \"$(cat ~web/.ssh/authorized_keys)\" = 'restrict {KEY} ann' && "
               "test $(stat -c %U%a ~web/.ssh)$(stat -c %U%a ~web/.ssh/authorized_keys) = web700web600"),
    Case("ssh.authorized_key", {"user": "web", "key": KEY, "state": "absent"}, name="absent",
         before=f"{WEB}; mkdir ~web/.ssh; echo '{KEY} x' > ~web/.ssh/authorized_keys; chown -R web: ~web",
         after="test ! -s ~web/.ssh/authorized_keys"),
    Case("ssh.known_host", {"name": "Backup.example.net", "key": KEY, "port": 2222},
         after="ssh-keygen -F '[backup.example.net]:2222' -f /etc/ssh/ssh_known_hosts"),
    Case("ssh.known_host", {"name": "h", "state": "absent", "user": "web"}, name="hashed",
         before=f"{WEB}; mkdir ~web/.ssh; cd ~web/.ssh; echo 'h {KEY}' > known_hosts; ssh-keygen -H -f known_hosts; "
                "rm known_hosts.old; chown -R web: .; grep '|1|' known_hosts",
         after="test ! -s ~web/.ssh/known_hosts"),
]  # fmt: skip
