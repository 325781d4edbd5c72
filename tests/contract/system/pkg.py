"""Packages with each package manager, from the repositories of the lab."""

from lab import repos
from lab.contract import Case

BOTH = ("bookworm", "trixie")
REPOS = {"repos": True}
QUIET = "DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
STATUS = "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n' 'lab-*' || true"


def having(*names):
    """The repository is configured, and these packages are installed."""

    def make(host):
        repos.use(host, "apt")
        if names:
            host.run(f"{QUIET} install {' '.join(names)}")

    return make


# How the package managers install, and how they list what is installed.
INSTALL = {
    "dnf": "dnf -q -y install",
    "zypper": "zypper -q -n install",
    "pacman": "pacman --noconfirm -S",
}
FOREIGN = {"dnf": "rpm -qa", "zypper": "rpm -qa", "pacman": "pacman -Q || true"}


# What they write even for queries: caches, locks and database journals. Installed packages are
# compared separately.
QUERY_FILES = {"dnf": ("/var/cache", "/var/lib/rpm"),
               "zypper": ("/var/tmp", "/var/lib/rpm", "/var/lib/zypp"),
               "packagekit": ("/var/lib/PackageKit",)}  # fmt: skip


def foreign_having(manager, *names):
    def make(host):
        if manager != "pacman":
            host.run("rpm --initdb")
        repos.use(host, manager)
        if names:
            host.run(f"{INSTALL[manager]} {' '.join(names)}")

    return make


def foreign(manager, action, params, *names, **case):
    case.setdefault("look", FOREIGN[manager])
    case.setdefault("without", QUERY_FILES.get(manager, ()))
    return Case(action, {**params, "provider": manager}, name=manager, release="foreign",
                options=REPOS, before=foreign_having(manager, *names), **case)


def foreign_cases(manager):
    """The same cases for each; pacman has no older versions, Debian's dnf cannot hold packages."""
    old = {"dnf": "lab-hello-1.0", "zypper": "lab-hello=1.0"}.get(manager)
    yield foreign(manager, "pkg.installed", {"name": "lab-greets"},
                  after="test \"$(lab-greets)\" = 'hello 2.0'")
    yield foreign(manager, "pkg.removed", {"name": "lab-hello"}, "lab-hello",
                  after="! command -v lab-hello")
    if manager != "dnf":
        yield foreign(manager, "pkg.held", {"name": "lab-hello"}, "lab-hello")
    if old:
        yield foreign(manager, "pkg.latest", {"name": "lab-hello"}, old,
                      after="test \"$(lab-hello)\" = 'hello 2.0'")
        yield foreign(manager, "pkg.uptodate", {"refresh": False}, old,
                      after="test \"$(lab-hello)\" = 'hello 2.0'")


def packagekit(action, params, *names, **case):
    return Case(action, {**params, "provider": "packagekit"}, name="packagekit", host="systemd",
                release=BOTH, options=REPOS, before=having(*names), look=STATUS, below=False,
                without=QUERY_FILES["packagekit"], **case)


CASES = [
    *(case for manager in INSTALL for case in foreign_cases(manager)),
    packagekit("pkg.installed", {"name": "lab-greets"},
               after="test \"$(lab-greets)\" = 'hello 2.0'"),
    packagekit("pkg.latest", {"name": "lab-hello"}, "lab-hello=1.0",
               after="test \"$(lab-hello)\" = 'hello 2.0'"),
    packagekit("pkg.removed", {"name": "lab-hello"}, "lab-hello", after="! command -v lab-hello"),
    packagekit("pkg.uptodate", {"refresh": False}, "lab-hello=1.0",
               after="test \"$(lab-hello)\" = 'hello 2.0'"),
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
         after="test \"$(lab-hello)\" = 'hello 2.0'"),
]  # fmt: skip
