"""A plan says what cannot be done, at the parameter that asks for it; and an obstacle that an earlier
step removes is none."""

import json

import pytest
from lab import repos


def step(called, action, /, **params):
    return {"name": called, action: params}


USER = step("maker", "user.present", name="app")
GROUP = step("maker", "group.present", name="app")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJKZlXOpWZBBwUaMBHyTf8hmXaGZ8nWQk2v5Yv0hQ2bL app"


def command(text):
    return step("maker", "cmd.run", cmd=text)


def archive(path):
    return command(f"mkdir -p /tmp/a; touch /tmp/a/b; tar -cf {path} -C /tmp/a b")


# A step that cannot be done as the machine is, the parameter at fault, what the plan says, and a step
# that removes the obstacle.
OBSTACLES = {
    "owner of a file": (
        step("it", "file.managed", name="/srv/f", content="x", owner="app"),
        "owner", "there is no user 'app'", USER),
    "group of a file": (
        step("it", "file.managed", name="/srv/f", content="x", group="app"),
        "group", "there is no group 'app'", GROUP),
    "owner of a directory": (
        step("it", "file.directory", name="/srv/d", owner="app"),
        "owner", "there is no user 'app'", USER),
    "owner that a command creates": (
        step("it", "file.managed", name="/srv/f", content="x", owner="app"),
        "owner", "there is no user 'app'", command("useradd app")),
    "group of a user": (
        step("it", "user.present", name="web", group="app"),
        "group", "there is no group 'app'", GROUP),
    "further groups of a user": (
        step("it", "user.present", name="web", groups=["app"]),
        "groups", "there is no group 'app'", GROUP),
    "shell of a user": (
        step("it", "user.present", name="web", shell="/opt/sh"),
        "shell", "there is no shell '/opt/sh'",
        step("maker", "file.copy", name="/opt/sh", source="/bin/dash")),
    "members of a group": (
        step("it", "group.present", name="web", members=["app"]),
        "members", "there is no user 'app'", USER),
    "user of a cron job": (
        step("it", "cron.present", name="job", cmd="true", user="app"),
        "user", "there is no user 'app'", USER),
    "user of an authorized key": (
        step("it", "ssh.authorized_key", key=KEY, user="app"),
        "user", "there is no user 'app'", USER),
    "user of a command": (
        step("it", "cmd.run", cmd="true", user="app"),
        "user", "there is no user 'app'", USER),
    "directory of a command": (
        step("it", "cmd.run", cmd="true", cwd="/srv/d"),
        "cwd", "there is no directory '/srv/d'",
        step("maker", "file.directory", name="/srv/d")),
    "program of a command": (
        step("it", "cmd.run", cmd="/opt/tool --all"),
        "cmd", "there is no program '/opt/tool'",
        step("maker", "file.managed", name="/opt/tool", content="#!/bin/sh\n", mode="0755")),
    "program of a list of words": (
        step("it", "cmd.run", cmd=["/opt/tool", "--all"]),
        "cmd", "there is no program '/opt/tool'",
        command("printf '#!/bin/sh\\n' > /opt/tool; chmod 755 /opt/tool")),
    "program that is not executable": (
        step("it", "cmd.run", cmd=["/etc/issue"]),
        "cmd", "'/etc/issue' is not executable",
        command("printf '#!/bin/sh\\n' > /etc/issue; chmod 755 /etc/issue")),
    "program of PATH": (
        step("it", "cmd.run", cmd=["nosuchtool", "--all"]),
        "cmd", "there is no program 'nosuchtool' in PATH",
        step("maker", "file.managed", name="/usr/local/bin/nosuchtool", content="#!/bin/sh\n",
             mode="0755")),
    "shell of a command": (
        step("it", "cmd.run", cmd="true", shell="/opt/sh"),
        "shell", "there is no program '/opt/sh'",
        step("maker", "file.copy", name="/opt/sh", source="/bin/dash")),
    "file to copy": (
        step("it", "file.copy", name="/srv/f", source="/srv/g"),
        "source", "there is no file '/srv/g' on the machine",
        step("maker", "file.managed", name="/srv/g", content="x")),
    "file to edit": (
        step("it", "file.line", name="/srv/f", line="x", create=False),
        "name", "/srv/f: No such file",
        command("touch /srv/f")),
    "directory above a file": (
        step("it", "file.managed", name="/srv/d/f", content="x", parents=False),
        "name", "there is no directory '/srv/d'",
        step("maker", "file.directory", name="/srv/d")),
    "archive": (
        step("it", "archive.extracted", name="/srv/d", source="/srv/a.tar"),
        "source", "/srv/a.tar", archive("/srv/a.tar")),
    "time zone": (
        step("it", "timezone.set", name="Mars/Base"),
        "name", "no time zone 'Mars/Base'",
        step("maker", "file.copy", name="/usr/share/zoneinfo/Mars/Base", source="/etc/hostname")),
    "device to mount": (
        step("it", "mount.mounted", name="/mnt/d", device="/srv/disk", type="none", options="bind",
             persist=False),
        "device", "there is no device '/srv/disk'",
        step("maker", "file.directory", name="/srv/disk")),
    "disk to mount": (
        step("it", "mount.mounted", name="/mnt/d", device="/dev/nonesuch", type="ext4"),
        "device", "there is no device '/dev/nonesuch'", None),
    "file system to mount": (
        step("it", "mount.mounted", name="/mnt/d", device="UUID=0c1d0000-0000-4000-8000-000000000000",
             type="ext4"),
        "device", "UUID=0c1d0000-0000-4000-8000-000000000000", None),
    "setting of the kernel": (
        step("it", "sysctl.present", name="net.ipv4.no_such_key", value="1"),
        "name", "no setting 'net.ipv4.no_such_key'", None),
    "setting of the kernel that is read-only": (
        step("it", "sysctl.present", name="kernel.osrelease", value="1"),
        "name", "the setting 'kernel.osrelease' is read-only", None),
    "number of another user": (
        step("it", "user.present", name="web", uid=1),
        "uid", "uid 1 already belongs to user 'daemon'",
        step("maker", "user.absent", name="daemon")),
    "number of another group": (
        step("it", "group.present", name="web", gid=1),
        "gid", "gid 1 already belongs to group 'daemon'",
        command("groupmod -g 4321 daemon")),
    "module of the kernel": (
        step("it", "kmod.loaded", name="no_such_module"),
        "name", "no module 'no_such_module'", None),
    "repository of git": (
        step("it", "git.cloned", name="/srv/clone", repo="/srv/repo"),
        "repo", "/srv/repo",
        command("git init -q -b main /srv/repo && cd /srv/repo && git -c user.name=a "
                "-c user.email=a@example.com commit -q --allow-empty -m one")),
    "server of a repository of git": (
        step("it", "git.cloned", name="/srv/clone", repo="https://127.0.0.1:1/x"),
        "repo", "127.0.0.1", None),
    "package": (
        step("it", "pkg.installed", name="lab-nothing"),
        "name", "no source of packages has 'lab-nothing'", None),
    "version of a package": (
        step("it", "pkg.installed", name="lab-hello", version="9.*"),
        "name", "there is no version 9.* of 'lab-hello'", None),
    "package that another is in the way of": (
        step("it", "pkg.installed", name="lab-alone"),
        "name", "'lab-hello' would be removed for it",
        step("maker", "pkg.removed", name="lab-hello")),
    "package that nobody can install": (
        step("it", "pkg.installed", name="lab-impossible"),
        "name", "lab-nowhere", None),
    "package to hold": (
        step("it", "pkg.held", name="lab-greets"),
        "name", "'lab-greets' is not installed",
        step("maker", "pkg.installed", name="lab-greets")),
    "program of a guard": (
        step("it", "cmd.run", cmd="true", onlyif="lab-greets"),
        "onlyif", "onlyif",
        step("maker", "pkg.installed", name="lab-greets")),
}  # fmt: skip


@pytest.fixture(scope="module")
def still(lab):
    """A host that plans do not change, with packages to install."""
    host = lab.light("bookworm", repos=True)
    prepare(host)
    yield host
    host.close()


def prepare(host):
    repos.use(host, "apt")
    host.run("apt-get -qqy install lab-hello=1.1")


@pytest.mark.parametrize("name", OBSTACLES)
def test_a_plan_that_cannot_hold_says_so(still, name):
    it, param, message, _ = OBSTACLES[name]
    done = still.plan([it])
    assert done.exit == 1, done
    told = done.steps["it"]
    assert told.result == "failed"
    assert message in told.error.message
    assert told.error.code == "E0601"
    line = json.dumps({"steps": [it]}, indent=1).splitlines()[told.error.line - 1]
    assert f'"{param}":' in line, line
    other = step("other", "file.managed", name="/srv/other", content="x")
    assert still.plan([it, other], "--detailed-exitcode").exit == 6


@pytest.mark.parametrize("name", [name for name in OBSTACLES if OBSTACLES[name][3] is not None])
def test_an_obstacle_that_an_earlier_step_removes_is_none(still, light, name):
    it, _, _, maker = OBSTACLES[name]
    done = still.plan([maker, it])
    assert done.exit == 0, done
    told = done.steps["it"]
    assert told.result in ("changed", "unknown"), told
    if told.result == "unknown":
        assert "provided by step" in told.reason and "#maker'" in told.reason, told
    host = light("bookworm", repos=True)
    prepare(host)
    done = host.apply([maker, it])
    assert done.exit == 0, done
    assert done.steps["it"].result == "changed"


def test_what_a_later_step_brings_helps_nobody(still):
    it, _, message, _ = OBSTACLES["file to edit"]
    done = still.plan([it, command("touch /srv/f")])
    assert message in done.steps["it"].error.message


def test_what_a_step_without_changes_could_bring_helps_nobody(still):
    it, _, message, _ = OBSTACLES["owner of a file"]
    kept = step("maker", "cmd.run", cmd="useradd app", creates="/etc/passwd")
    done = still.plan([kept, it])
    assert done.steps["maker"].result == "ok"
    assert message in done.steps["it"].error.message


def test_a_source_that_is_added_may_have_the_package(still):
    repo = step("maker", "pkgrepo.managed", name="more", uris=["file:/srv/more"], suites=["./"],
                trusted=True)  # fmt: skip
    it = OBSTACLES["package"][0]
    told = still.plan([repo, it]).steps["it"]
    assert told.result == "changed"
    assert "may be provided by step" in told.reason


def test_a_step_that_reads_the_index_first_cannot_be_judged_by_the_old_one(still):
    it = step("it", "pkg.installed", name="lab-nothing", refresh=True)
    done = still.plan([it])
    assert done.exit == 0
    assert done.steps["it"].result == "unknown"


def test_a_module_of_the_kernel_may_bring_a_setting(still):
    it = OBSTACLES["setting of the kernel"][0]
    told = still.plan([command("modprobe x"), it]).steps["it"]
    assert told.result == "changed"
    assert "kernel setting 'net.ipv4.no_such_key' may be provided by step" in told.reason


def test_the_last_step_that_brings_it_for_certain_is_named(still):
    it = OBSTACLES["owner of a file"][0]
    told = still.plan([step("one", "cmd.run", cmd="true"), USER, step("two", "cmd.run", cmd="true"),
                       it]).steps["it"]  # fmt: skip
    assert told.reason.startswith("user 'app' is provided by step '")
    assert told.reason.endswith("#maker'")


@pytest.mark.parametrize("order", ["justdoit", "genius"])
def test_every_order_knows_what_comes_before(still, order):
    it = OBSTACLES["owner of a file"][0]
    done = still.plan([it, USER], "--order", order)
    assert done.exit == 0, done
    assert done.steps["it"].result == "changed"


def test_a_unit_that_is_not_there_fails_a_plan(server):
    it = step("it", "service.ensure", name="no-such-thing", state="started")
    done = server.plan([it])
    assert done.exit == 1 and "no unit 'no-such-thing.service'" in done.steps["it"].error.message
    unit = step("maker", "file.managed", name="/etc/systemd/system/no-such-thing.service",
                content="[Service]\nType=oneshot\nRemainAfterExit=true\nExecStart=/bin/true\n")  # fmt: skip
    told = server.plan([unit, it]).steps["it"]
    assert told.result == "changed", told
    assert "is provided by step" in told.reason
