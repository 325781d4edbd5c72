"""Values in files."""

from lab.contract import Case

GIT = "printf '[user]\\n\\tname = a # who\\n[alias]\\n\\tco = checkout\\n' > /etc/gitconfig"
JSON = 'import json; d = json.load(open("/etc/app.json")); assert d == {"a": {"b": [1, 2]}}, d'

CASES = [
    Case("ini.option", {"name": "/etc/systemd/journald.conf", "section": "Journal",
                        "option": "SystemMaxUse", "value": "64M"}, host="systemd",
         release=("bookworm", "trixie"), before="mkdir -p /etc/systemd && "
         "printf '[Journal]\\n#Storage=auto\\n#SystemMaxUse=\\n' > /etc/systemd/journald.conf",
         after="test \"$(sed -n 4p /etc/systemd/journald.conf)\" = SystemMaxUse=64M"),
    Case("ini.option", {"name": "/etc/gitconfig", "section": "user", "option": "name",
                        "value": "b", "inline_comments": "#;"}, name="git", before=GIT,
         after="test $(git config --system user.name) = b && grep -q 'b # who' /etc/gitconfig"),
    Case("ini.option", {"name": "/etc/gitconfig", "section": "alias", "state": "absent"},
         name="section", before=GIT, after="! git config --system alias.co"),
    Case("json.value", {"name": "/etc/app.json", "path": "/a/b/1", "value": 2},
         before="echo '{\"a\": {\"b\": [1]}}' > /etc/app.json", after=["python3", "-c", JSON]),
    Case("json.value", {"name": "/etc/app/new.json", "path": "a.b", "value": {"c": [1]},
                        "create": True, "mode": "0600", "owner": "www-data"}, name="new",
         after="test $(stat -c %a%U /etc/app/new.json) = 600www-data"),
    Case("yaml.value", {"name": "/etc/app.yaml", "path": "a.b", "value": ["x", 1]},
         release=("bookworm", "trixie"), before="printf '# top\\na: # one\\n  c: 1\\n' > /etc/app.yaml",
         after="printf '# top\\na: # one\\n  c: 1\\n  b:\\n    - x\\n    - 1\\n' | diff - /etc/app.yaml"),
]  # fmt: skip
