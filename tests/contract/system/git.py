"""Clones of repositories."""

from lab.contract import Case

MAKE = """
export HOME=/root GIT_CONFIG_GLOBAL=/dev/null
mkdir -p /srv/git && cd /srv/git && git init -q --bare --initial-branch=main app.git
git init -q --initial-branch=main /tmp/w && cd /tmp/w
git config user.email a@b && git config user.name n
echo one > f && git add f && git commit -qm one && git tag -a -m one v1
echo two > f && git commit -qam two
git push -q /srv/git/app.git main v1
"""
REPO = {"name": "/srv/app", "repo": "/srv/git/app.git"}

CASES = [
    Case("git.cloned", REPO, release=("bookworm", "trixie"), before=MAKE,
         after="test $(cat /srv/app/f) = two && test $(git -C /srv/app branch --show-current) = main"),
    Case("git.cloned", {**REPO, "repo": "file:///srv/git/app.git", "rev": "v1", "depth": 1,
                        "user": "www-data"}, name="tag",
         before=MAKE + "chown -R www-data /srv/git", after="test $(cat /srv/app/f) = one && test $(stat -c %U /srv/app/f) = www-data"),
]  # fmt: skip
