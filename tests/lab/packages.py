"""The packages of the local repositories: small, each with the purpose of one test.

Names, files and scripts are the same in every format. Scripts are for /bin/sh, without arguments
that differ between formats. Tests control them through files:

    /etc/lab-broken-repaired   lab-broken can now be configured
    /run/lab-slow-go           lab-slow continues its installation (/run/lab-slow-waits: it waits)
    /etc/vnstat.conf           "Fail yes": the daemon prints the reason and exits
"""

import dataclasses

MANY = 30
LARGE_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True)
class Package:
    """`files`: path to text; the mode is 0755 if the text starts with "#!". `conffiles`: those that
    belong to the administrator. `before` and `after`: scripts around the installation. `zeros`:
    path to the size of a file of zeros."""

    name: str
    version: str
    files: dict = dataclasses.field(default_factory=dict)
    conffiles: tuple = ()
    depends: tuple = ()  # (name, minimum version or None)
    conflicts: tuple = ()
    before: str = ""
    after: str = ""
    service: str = ""  # a unit that is enabled and started
    question: str = ""  # asked by debconf; other formats have no equivalent
    zeros: dict = dataclasses.field(default_factory=dict)


def hello(version):
    return Package("lab-hello", version, {"/usr/bin/lab-hello": f"#!/bin/sh\necho hello {version}\n"})


def config(version):
    return Package(
        "lab-config", version, {"/etc/lab-config.conf": f"# As of version {version}.\ncolor = blue\n"},
        conffiles=("/etc/lab-config.conf",),
    )  # fmt: skip


VNSTATD = """#!/bin/sh
# Stands in for the real daemon: reads a configuration, says so, and waits for signals.
load() {
    if grep -qi '^fail *yes' /etc/vnstat.conf; then
        echo 'Error: the database "/var/lib/vnstat/vnstat.db" is not readable.' >&2
        exit 1
    fi
    echo "vnStat daemon: configuration loaded: $(grep -c '' /etc/vnstat.conf) lines"
}
trap load HUP
trap 'echo "vnStat daemon: stopped"; exit 0' TERM
load
while :; do
    sleep 1000 &
    wait $! || :
done
"""

VNSTAT_UNIT = """[Unit]
Description=vnStat network traffic monitor

[Service]
ExecStart=/usr/sbin/vnstatd
ExecReload=/bin/kill -HUP $MAINPID

[Install]
WantedBy=multi-user.target
"""

PACKAGES = [
    # Three versions; one package depends on the newer ones, one conflicts with all.
    hello("1.0"), hello("1.1"), hello("2.0"),
    Package("lab-greets", "1.0", {"/usr/bin/lab-greets": "#!/bin/sh\nexec lab-hello\n"},
            depends=(("lab-hello", "1.1"),)),
    Package("lab-alone", "1.0", {"/usr/share/lab-alone": "x\n"}, conflicts=("lab-hello",)),
    Package("lab-impossible", "1.0", {"/usr/share/lab-impossible": "x\n"},
            depends=(("lab-nowhere", None),)),
    # A configuration file that differs in every version.
    config("1.0"), config("2.0"),
    # A daemon with its unit.
    Package("vnstat", "2.10", {
        "/usr/bin/vnstat": "#!/bin/sh\necho vnStat 2.10\n", "/usr/sbin/vnstatd": VNSTATD,
        "/usr/lib/systemd/system/vnstat.service": VNSTAT_UNIT, "/etc/vnstat.conf": "Interface eth0\n",
    }, conffiles=("/etc/vnstat.conf",), service="vnstat.service"),
    # Its script fails until it is repaired.
    Package("lab-broken", "1.0", {"/usr/share/lab-broken": "x\n"}, after="""
if [ ! -e /etc/lab-broken-repaired ]; then
    echo "lab-broken: the moon is in the wrong phase" >&2
    exit 1
fi
"""),
    # Asks a question, and writes the answer to a file.
    Package("lab-asks", "1.0", {"/usr/share/lab-asks": "x\n"}, question="What is your favorite color?"),
    # Larger than a small disk; compressed it is tiny.
    Package("lab-large", "1.0", zeros={"/usr/share/lab-large": LARGE_BYTES}),
    # Holds the lock of its package manager until it is released.
    Package("lab-slow", "1.0", {"/usr/share/lab-slow": "x\n"}, before="""
touch /run/lab-slow-waits
until [ -e /run/lab-slow-go ]; do sleep 0.05; done
rm -f /run/lab-slow-waits
"""),
    *(Package(f"lab-many-{i:02}", "1.0", {f"/usr/share/lab-many/{i:02}": f"{i}\n"})
      for i in range(1, MANY + 1)),
]  # fmt: skip
