"""Users and groups on both releases, because useradd and related programs differ."""

from lab.contract import Case

BOTH = ("bookworm", "trixie")

CASES = [
    Case("group.present", {"name": "admins", "gid": 900, "members": ["daemon"]}, release=BOTH,
         after="test $(getent group admins) = admins:x:900:daemon"),
    Case("group.absent", {"name": "games"}, before="userdel games; groupdel games || true;"
         " groupadd games", after="! getent group games"),
    Case("user.present", {"name": "web", "uid": 990, "groups": ["www-data"], "home": "/srv/web",
                          "shell": "/bin/sh", "fullname": "The Web"}, release=BOTH,
         after="test \"$(getent passwd web)\" = \"web:x:990:$(id -g web):The Web:/srv/web:/bin/sh\""
               " && test -d /srv/web && id -nG web | grep -qw www-data"),
    Case("user.present", {"name": "daemon", "shell": "/bin/sh"}, name="changed",
         after="getent passwd daemon | grep -q ':/bin/sh$'"),
    Case("user.absent", {"name": "web", "purge": True}, release=BOTH,
         before="useradd -m web", after="! getent passwd web && test ! -e /home/web"),
]  # fmt: skip
