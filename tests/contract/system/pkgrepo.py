"""Package repositories, signed and unsigned, for each package manager."""

from lab import repos
from lab.contract import Case

BOTH = ("bookworm", "trixie")
REPOS = {"repos": True}
APT = {"name": "lab", "uris": f"file:{repos.PLACE}/apt-signed", "suites": "./",
       "key_path": f"{repos.PLACE}/keys/lab.asc"}  # fmt: skip
RPM = {"name": "lab", "uris": f"file://{repos.PLACE}/rpm",
       "key_path": f"{repos.PLACE}/keys/lab.asc"}  # fmt: skip

CASES = [
    Case("pkgrepo.managed", APT, release=BOTH, options=REPOS,
         after="apt-get -qq update && apt-cache show lab-hello"),
    Case("pkgrepo.managed", {**APT, "format": "oneline"}, name="oneline", options=REPOS,
         after="apt-get -qq update && apt-cache show lab-hello"),
    Case("pkgrepo.managed", {**RPM, "provider": "dnf"}, name="dnf", release="foreign",
         options=REPOS, after="dnf -q -y --setopt=cachedir=/tmp/dnf makecache"),
    Case("pkgrepo.managed", {**RPM, "provider": "zypper"}, name="zypper", release="foreign",
         options=REPOS, after="zypper -n lr lab"),
    Case("pkgrepo.absent", {"name": "lab"}, release=BOTH, options=REPOS,
         before="echo 'deb [trusted=yes] file:/srv/lab/apt ./' > /etc/apt/sources.list.d/lab.list",
         after="test ! -e /etc/apt/sources.list.d/lab.list"),
]  # fmt: skip
