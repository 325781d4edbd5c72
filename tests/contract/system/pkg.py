"""Packages by apt, from the repository of the lab."""

from lab import repos
from lab.contract import Case

BOTH = ("bookworm", "trixie")
REPOS = {"repos": True}
QUIET = "DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
STATUS = "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n' 'lab-*' || true"


def having(*names):
    """The repository is known, and these packages are installed."""

    def make(host):
        repos.use(host, "apt")
        if names:
            host.run(f"{QUIET} install {' '.join(names)}")

    return make


CASES = [
    Case("pkg.installed", {"name": "lab-greets"}, release=BOTH, options=REPOS, before=having(),
         look=STATUS, after="test \"$(lab-greets)\" = 'hello 2.0'"),
    Case("pkg.installed", {"pkgs": [{"lab-hello": "1.1"}, "lab-config"]}, name="versions",
         options=REPOS, before=having(), look=STATUS, after="test \"$(lab-hello)\" = 'hello 1.1'"),
    Case("pkg.latest", {"name": "lab-hello"}, release=BOTH, options=REPOS,
         before=having("lab-hello=1.0"), look=STATUS, after="test \"$(lab-hello)\" = 'hello 2.0'"),
    Case("pkg.removed", {"name": "lab-hello"}, release=BOTH, options=REPOS,
         before=having("lab-hello"), look=STATUS, after="! command -v lab-hello"),
    Case("pkg.held", {"name": "lab-hello"}, release=BOTH, options=REPOS,
         before=having("lab-hello=1.0"), look=STATUS, after="apt-mark showhold | grep -qx lab-hello"),
    Case("pkg.uptodate", {"refresh": False}, release=BOTH, options=REPOS,
         before=having("lab-hello=1.0", "lab-config=1.0"), look=STATUS,
         after="test \"$(lab-hello)\" = 'hello 2.0'",
         without=("/var/log",)),  # where apt notes also what it only simulated
]  # fmt: skip
