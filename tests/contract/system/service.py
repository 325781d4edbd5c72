"""systemd units."""

from lab.contract import Case

BOTH = ("bookworm", "trixie")
UNIT = "[Service]\nExecStart=/usr/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
LOOK = (
    "systemctl show -p ActiveState,SubState,LoadState,UnitFileState,MainPID,NeedDaemonReload,Nice"
    " -p InactiveExitTimestampMonotonic cron app app@blue"
)


def having(*commands):
    """There is a unit "app" of the system, and a template of it."""

    def make(host):
        host.write("/usr/lib/systemd/system/app.service", UNIT)
        host.write("/usr/lib/systemd/system/app@.service", UNIT)
        host.run("; ".join(["systemctl daemon-reload", *commands]))

    return make


def case(action, params, name, after, *before, **more):
    return Case(action, params, name=name, host="systemd", release=BOTH, look=LOOK,
                before=having(*before), after=after, **more)  # fmt: skip


def ensure(name, after, *before, below=True, **params):
    return case("service.ensure", {"name": "app", **params}, name, after, *before, below=below)


ACTIVE = "systemctl is-active app"
CASES = [
    ensure("started", ACTIVE, state="started", below=False),
    ensure("stopped", f"! {ACTIVE}", "systemctl start app", state="stopped", below=False),
    ensure("all", f"{ACTIVE} && systemctl is-enabled app", "systemctl mask app",
           state="started", enabled=True, masked=False, below=False),
    ensure("enabled", "systemctl is-enabled app", enabled=True),
    ensure("disabled", "! systemctl is-enabled app", "systemctl enable app", enabled=False),
    ensure("masked", "test $(systemctl is-enabled app) = masked", masked=True),
    ensure("unmasked", "test $(systemctl is-enabled app) = disabled", "systemctl mask app",
           masked=False),
    case("service.ensure", {"name": "app@blue", "state": "started", "enabled": True}, "instance",
         "systemctl is-active app@blue && systemctl is-enabled app@blue", below=False),
    case("service.ensure", {"name": "app@blue", "enabled": True}, "instance-enabled",
         "systemctl is-enabled app@blue"),
    Case("service.ensure", {"name": "app", "state": "restarted"}, name="restarted",
         host="systemd", before=having(), after=ACTIVE, below=False, repeats=True),
    case("service.unit", {"name": "app", "content": UNIT + "# ours\n"}, "override",
         "systemctl cat app | grep ours"),
    case("service.unit", {"name": "app", "dropin": "nice", "content": "[Service]\nNice=5\n"},
         "dropin", "test $(systemctl show --value -p Nice app) = 5"),
    case("service.unit", {"name": "other.timer", "content": "[Timer]\nOnCalendar=yearly\n"},
         "timer", "systemctl cat other.timer"),
    case("service.unit", {"name": "app", "absent": True}, "absent",
         "systemctl show -p FragmentPath app | grep -q /lib/systemd/system/app.service",
         "cp /usr/lib/systemd/system/app.service /etc/systemd/system/; systemctl daemon-reload"),
    case("service.status", {"name": "cron"}, "cron", None, below=False, asks=True),
]  # fmt: skip
