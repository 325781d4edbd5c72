"""Locales."""

from lab.contract import Case

CASES = [
    Case("locale.present", {"name": "de_DE.UTF-8", "default": True}, release=("bookworm", "trixie"),
         look="locale -a", after="locale -a | grep -qx de_DE.utf8 && grep -qx LANG=de_DE.UTF-8 "
                                 "$(test -L /etc/default/locale || test -e /etc/locale.conf && "
                                 "echo /etc/locale.conf || echo /etc/default/locale)"),
    Case("locale.present", {"name": "de_DE@euro"}, name="other characters", look="locale -a",
         after="locale -a | grep -qx de_DE@euro && LC_ALL=de_DE@euro locale charmap | grep -qx ISO-8859-15"),
]  # fmt: skip
