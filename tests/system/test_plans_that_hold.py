"""A plan reports what cannot be done, at the parameter that requests it; an obstacle that an
earlier step removes is not an error."""

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


# A step that is impossible in the current state, the parameter at fault, the message of the plan,
# and a step that removes the obstacle.
OBSTACLES = {
    "owner of a file": (
        step("it", "file.managed", name="/srv/f", content="x", owner="app"),
        "owner", "user 'app' not found", USER),
    "group of a file": (
        step("it", "file.managed", name="/srv/f", content="x", group="app"),
        "group", "group 'app' not found", GROUP),
    "owner of a directory": (
        step("it", "file.directory", name="/srv/d", owner="app"),
        "owner", "user 'app' not found", USER),
    "owner that a command creates": (
        step("it", "file.managed", name="/srv/f", content="x", owner="app"),
        "owner", "user 'app' not found", command("useradd app")),
    "group of a user": (
        step("it", "user.present", name="web", group="app"),
        "group", "group 'app' not found", GROUP),
    "further groups of a user": (
        step("it", "user.present", name="web", groups=["app"]),
        "groups", "group 'app' not found", GROUP),
    "shell of a user": (
        step("it", "user.present", name="web", shell="/opt/sh"),
        "shell", "shell '/opt/sh' not found",
        step("maker", "file.copy", name="/opt/sh", source="/bin/dash")),
    "members of a group": (
        step("it", "group.present", name="web", members=["app"]),
        "members", "user 'app' not found", USER),
    "user of a cron job": (
        step("it", "cron.present", name="job", cmd="true", user="app"),
        "user", "user 'app' not found", USER),
    "user of an authorized key": (
        step("it", "ssh.authorized_key", key=KEY, user="app"),
        "user", "user 'app' not found", USER),
    "user of a command": (
        step("it", "cmd.run", cmd="true", user="app"),
        "user", "user 'app' not found", USER),
    "directory of a command": (
        step("it", "cmd.run", cmd="true", cwd="/srv/d"),
        "cwd", "directory '/srv/d' does not exist",
        step("maker", "file.directory", name="/srv/d")),
    "program of a command": (
        step("it", "cmd.run", cmd="/opt/tool --all"),
        "cmd", "program '/opt/tool' not found",
        step("maker", "file.managed", name="/opt/tool", content="#!/bin/sh\n", mode="0755")),
    "program of a list of words": (
        step("it", "cmd.run", cmd=["/opt/tool", "--all"]),
        "cmd", "program '/opt/tool' not found",
        command("printf '#!/bin/sh\\n' > /opt/tool; chmod 755 /opt/tool")),
    "program that is not executable": (
        step("it", "cmd.run", cmd=["/etc/issue"]),
        "cmd", "'/etc/issue' is not executable",
        command("printf '#!/bin/sh\\n' > /etc/issue; chmod 755 /etc/issue")),
    "program of PATH": (
        step("it", "cmd.run", cmd=["nosuchtool", "--all"]),
        "cmd", "program 'nosuchtool' not found in PATH",
        step("maker", "file.managed", name="/usr/local/bin/nosuchtool", content="#!/bin/sh\n",
             mode="0755")),
    "program of a simple command": (
        step("it", "cmd.run", cmd="nosuchtool --all"),
        "cmd", "program 'nosuchtool' not found in PATH",
        step("maker", "file.managed", name="/usr/local/bin/nosuchtool", content="#!/bin/sh\n",
             mode="0755")),
    "file of the kernel": (
        step("it", "file.managed", name="/proc/lab", content="x"),
        "name", "/proc: kernel files cannot be created", None),
    "setting as a file": (
        step("it", "file.managed", name="/proc/sys/vm/swappiness", content="1"),
        "name", "/proc/sys/vm: kernel files cannot be created", None),
    "file that the kernel has": (
        step("it", "file.absent", name="/proc/version"),
        "name", "/proc: kernel files cannot be created", None),
    "read-only file system": (
        step("it", "file.managed", name="/srv/fixed/d/f", content="x"),
        "name", "/srv/fixed: the file system is read-only",
        command("mount -o remount,rw /srv/fixed")),
    "link on a read-only file system": (
        step("it", "file.symlink", name="/srv/fixed/l", target="x"),
        "name", "/srv/fixed: the file system is read-only",
        command("mount -o remount,rw /srv/fixed")),
    "shell of a user that is no program": (
        step("it", "user.present", name="web", shell="/etc/issue"),
        "shell", "shell '/etc/issue' is not a program",
        command("chmod 755 /etc/issue")),
    "home of a user that is a file": (
        step("it", "user.present", name="web", home="/etc/issue"),
        "home", "/etc/issue is a file, not a directory",
        command("rm /etc/issue")),
    "primary group of a user": (
        step("it", "group.absent", name="lab-staff"),
        "name", "the group is the primary group of user 'lab-user'",
        step("maker", "user.absent", name="lab-user")),
    "file for swap space": (
        step("it", "swap.on", name="/srv/swapfile"),
        "name", "/srv/swapfile is not formatted as swap space", None),
    "space for swap": (
        step("it", "swap.on", name="/srv/more", size=1048576),
        "size", "'size' is 1048576 MiB, but only", None),
    "word for a number": (
        step("it", "sysctl.present", name="vm.swappiness", value="low"),
        "value", "the parameter 'vm.swappiness' is numeric", None),
    "shell of a command": (
        step("it", "cmd.run", cmd="true", shell="/opt/sh"),
        "shell", "program '/opt/sh' not found",
        step("maker", "file.copy", name="/opt/sh", source="/bin/dash")),
    "file to copy": (
        step("it", "file.copy", name="/srv/f", source="/srv/g"),
        "source", "no file '/srv/g' on the machine",
        step("maker", "file.managed", name="/srv/g", content="x")),
    "file to edit": (
        step("it", "file.line", name="/srv/f", line="x", create=False),
        "name", "/srv/f: No such file",
        command("touch /srv/f")),
    "directory above a file": (
        step("it", "file.managed", name="/srv/d/f", content="x", parents=False),
        "name", "directory '/srv/d' does not exist",
        step("maker", "file.directory", name="/srv/d")),
    "archive": (
        step("it", "archive.extracted", name="/srv/d", source="/srv/a.tar"),
        "source", "/srv/a.tar", archive("/srv/a.tar")),
    "file that is no archive": (
        step("it", "archive.extracted", name="/srv/d", source="/etc/issue"),
        "source", "neither a zip nor a tar archive", archive("/etc/issue")),
    "file behind a link": (
        step("it", "file.copy", name="/srv/f", source="/srv/l/issue"),
        "source", "no file '/srv/l/issue'",
        step("maker", "file.symlink", name="/srv/l", target="/etc")),
    "server of a download": (
        step("it", "http.download", name="/srv/f", url="http://127.0.0.1:1/f",
             digest="sha256:" + "0" * 64),
        "url", "http://127.0.0.1:1/f: Failed to connect", None),
    "host of a download": (
        step("it", "http.download", name="/srv/f", url="http://nowhere.example/f",
             digest="sha256:" + "0" * 64),
        "url", "Could not resolve host: nowhere.example", None),
    "locale": (
        step("it", "locale.present", name="xx_YY.UTF-8"),
        "name", "xx_YY.UTF-8", None),
    "time zone": (
        step("it", "timezone.set", name="Mars/Base"),
        "name", "no time zone 'Mars/Base'",
        step("maker", "file.copy", name="/usr/share/zoneinfo/Mars/Base", source="/etc/hostname")),
    "device to mount": (
        step("it", "mount.mounted", name="/mnt/d", device="/srv/disk", type="none", options="bind",
             persist=False),
        "device", "device '/srv/disk' not found",
        step("maker", "file.directory", name="/srv/disk")),
    "directory to mount": (
        step("it", "mount.mounted", name="/mnt/d", device="/srv", type="ext4", persist=False),
        "device", "'/srv' is a directory, not a device", None),
    "directory of a swap file": (
        step("it", "swap.on", name="/srv/more/swapfile", size=1),
        "name", "directory '/srv/more' does not exist", None),
    "digest of an archive": (
        step("it", "archive.extracted", name="/srv/d", source="/etc/issue",
             digest="sha256:" + "0" * 64),
        "digest", "the archive does not match 'digest'", None),
    "disk to mount": (
        step("it", "mount.mounted", name="/mnt/d", device="/dev/nonesuch", type="ext4"),
        "device", "device '/dev/nonesuch' not found", None),
    "file system to mount": (
        step("it", "mount.mounted", name="/mnt/d", device="UUID=0c1d0000-0000-4000-8000-000000000000",
             type="ext4"),
        "device", "UUID=0c1d0000-0000-4000-8000-000000000000", None),
    "type of a file system": (
        step("it", "mount.mounted", name="/mnt/d", device="tmpfs", type="tmpsf", persist=False),
        "type", "no file system type 'tmpsf'", None),
    "type of a file system of user space": (
        step("it", "mount.mounted", name="/mnt/d", device="host:/x", type="labfs", persist=False),
        "type", "no program 'mount.labfs'",
        step("maker", "file.managed", name="/sbin/mount.labfs", mode="0755",
             content="#!/bin/sh\nexec mount -t tmpfs tmpfs \"$2\"\n")),
    "setting of the kernel": (
        step("it", "sysctl.present", name="net.ipv4.no_such_key", value="1"),
        "name", "no parameter 'net.ipv4.no_such_key'", None),
    "setting of the kernel that is read-only": (
        step("it", "sysctl.present", name="kernel.osrelease", value="1"),
        "name", "the parameter 'kernel.osrelease' is read-only", None),
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
        "name", "no repository has 'lab-nothing'", None),
    "version of a package": (
        step("it", "pkg.installed", name="lab-hello", version="9.*"),
        "name", "no version 9.* of 'lab-hello' is available", None),
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
    "essential package": (
        step("it", "pkg.removed", name="hostname"),
        "name", "essential packages would be removed: 'hostname'", None),
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
    host.run("mkdir /srv/fixed && mount -t tmpfs -o ro tmpfs /srv/fixed")
    host.run("groupadd lab-staff && useradd -g lab-staff lab-user && truncate -s 1M /srv/swapfile")


@pytest.mark.parametrize("name", OBSTACLES)
def test_a_plan_that_cannot_succeed_fails(still, name):
    it, param, message, _ = OBSTACLES[name]
    done = still.plan([it])
    assert done.exit == 1, done
    output = done.steps["it"]
    assert output.result == "failed"
    assert message in output.error.message
    assert output.error.code == "E0601"
    line = json.dumps({"steps": [it]}, indent=1).splitlines()[output.error.line - 1]
    assert f'"{param}":' in line, line
    other = step("other", "file.managed", name="/srv/other", content="x")
    assert still.plan([it, other], "--detailed-exitcode").exit == 6


@pytest.mark.parametrize("name", [name for name in OBSTACLES if OBSTACLES[name][3] is not None])
def test_an_obstacle_removed_by_an_earlier_step_does_not_count(still, light, name):
    it, _, _, maker = OBSTACLES[name]
    done = still.plan([maker, it])
    assert done.exit == 0, done
    output = done.steps["it"]
    assert output.result in ("changed", "unknown"), output
    if output.result == "unknown":
        assert "provided by step" in output.reason and "#maker'" in output.reason, output
    host = light("bookworm", repos=True)
    prepare(host)
    done = host.apply([maker, it])
    assert done.exit == 0, done
    assert done.steps["it"].result == "changed"


def package(name):
    return step("maker", "pkg.installed", name=name)


def made(path):
    return step("maker", "cmd.run", cmd="perl -e 1", creates=path)


FILE = step("maker", "file.managed", name="/srv/made", content="x")

# An earlier step that changes something, but cannot provide what the later one lacks.
HOPELESS = {
    "echo, a setting": (command("echo net.ipv4.no_such_key"), "setting of the kernel"),
    "echo, a time zone": (command("echo Mars/Base"), "time zone"),
    "echo, a type of file systems": (command("echo tmpsf"), "type of a file system"),
    "echo, a user": (command("echo useradd app"), "owner of a file"),
    "a quoted command, a user": (command("echo 'x; useradd app' \"&& useradd app\""), "owner of a file"),
    "words, a user": (command(["echo", "useradd", "app"]), "owner of a file"),
    "output that is dropped, a file": (command("echo x >/dev/null 2>&1"), "file to copy"),
    "a test, a program": (command("test -e /x || echo no"), "program of PATH"),
    "sleep and grep, a package": (command("sleep 0 && grep -c x /etc/hosts"), "package"),
    "a comment, a user": (command("true # useradd app"), "owner of a file"),
    "mkdir, a user": (command("mkdir -p /srv/x"), "owner of a file"),
    "touch, a setting": (command("touch /srv/x"), "setting of the kernel"),
    "cp, a module": (command("cp /etc/hostname /srv/x"), "module of the kernel"),
    "a redirection, a group": (command("date > /srv/x"), "group of a user"),
    "useradd, a setting": (command("useradd web"), "setting of the kernel"),
    "useradd, a type of file systems": (command("useradd web"), "type of a file system"),
    "logger, a user": (command("logger useradd app"), "owner of a file"),
    "kill, a program": (command("kill -l"), "program of PATH"),
    "dmesg, a setting": (command("dmesg"), "setting of the kernel"),
    "chattr, a setting": (command("chattr +i /srv/x"), "setting of the kernel"),
    "modprobe, a user": (command("/sbin/modprobe x"), "owner of a file"),
    "a script that writes nothing, a setting": (step("maker", "cmd.script", content="#!/bin/sh\necho x\n"),
                                                "setting of the kernel"),
    "a condition, a setting": (command("if [ -e /x ]; then useradd app; fi"), "setting of the kernel"),
    "a loop, a disk": (command("for i in a b; do echo $i; done"), "disk to mount"),
    "a command in a shell, a user": (command("sh -c 'date > /srv/d'"), "owner of a file"),
    "a reload of systemd, a disk": (command("systemctl daemon-reload"), "disk to mount"),
    "modprobe, a time zone": (command("modprobe x"), "time zone"),
    "sysctl, a setting": (command("sysctl -w net.ipv4.no_such_key=1"), "setting of the kernel"),
    "a package, a setting": (package("lab-greets"), "setting of the kernel"),
    "a package, a time zone": (package("lab-greets"), "time zone"),
    "a package, a disk": (package("lab-greets"), "disk to mount"),
    "a command, an essential package": (command("useradd web"), "essential package"),
    "a file, a type of file systems": (FILE, "type of a file system"),
    "a file, a user": (FILE, "owner of a file"),
    "git, a user": (command("git init -q /srv/x"), "owner of a file"),
    "creates, a user": (made("/opt/x"), "owner of a file"),
    "creates, a setting": (made("/opt/x"), "setting of the kernel"),
    "creates, a file elsewhere": (made("/opt/x"), "file to copy"),
    "creates, a program": (made("/opt/x"), "program of PATH"),
    "echo, a download": (command("echo x"), "server of a download"),
    "a user, a setting": (USER, "setting of the kernel"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOPELESS)
def test_a_step_that_cannot_provide_it_is_no_excuse(still, name):
    maker, obstacle = HOPELESS[name]
    it, _, message, _ = OBSTACLES[obstacle]
    done = still.plan([maker, it])
    assert done.steps["maker"].result == "changed", done
    output = done.steps["it"]
    assert output.result == "failed", output
    assert message in output.error.message
    assert done.exit == 1


@pytest.mark.parametrize("path", ["/home/app/f", "/root/f", "/tmp/f", "/mnt/f", "/usr/local/lib/f"])
def test_packages_do_not_provide_files_outside_their_directories(still, path):
    it = step("it", "file.copy", name="/srv/f", source=path)
    output = still.plan([package("lab-greets"), it]).steps["it"]
    assert output.result == "failed" and f"no file '{path}'" in output.error.message


# The same, but the earlier step may provide it.
HOPEFUL = {
    "modprobe, a setting": (command("modprobe x"), "setting of the kernel"),
    "modprobe, a type of file systems": (command("modprobe x"), "type of a file system"),
    "a script, a setting": (step("maker", "cmd.script", content="perl -e 1"), "setting of the kernel"),
    "a script, a user": (command("sh /opt/setup"), "owner of a file"),
    "another program, a setting": (command("ip link add x type dummy"), "setting of the kernel"),
    "another shell, a user": (step("maker", "cmd.run", cmd="true", shell="/bin/perl"), "owner of a file"),
    "an assignment, a user": (command("A=b useradd app"), "owner of a file"),
    "behind echo, a user": (command("echo app; useradd app"), "owner of a file"),
    "and echo, a user": (command("echo app && useradd app"), "owner of a file"),
    "a pipe, a user": (command("echo app | xargs useradd"), "owner of a file"),
    "a second line, a user": (command("echo app\nuseradd app"), "owner of a file"),
    "backquotes, a user": (command("echo `useradd app`"), "owner of a file"),
    "a substitution, a user": (command("echo \"$(useradd app)\""), "owner of a file"),
    "a condition, a user": (command("if true; then useradd app; fi"), "owner of a file"),
    "a variable, a user": (command("T=useradd; $T app"), "owner of a file"),
    "a line in passwd, a user": (command("echo app:x:7:7:::/ >> /etc/passwd"), "owner of a file"),
    "words, a user": (command(["useradd", "app"]), "owner of a file"),
    "a redirection, a file": (command("date 2>/dev/null >/srv/g"), "file to copy"),
    "tar, an archive": (command("tar -cf /srv/a.tar /etc/hostname"), "archive"),
    "cp, a time zone": (command("cp -r /srv/zones/. /usr/share/zoneinfo"), "time zone"),
    "an archive, a time zone": (command("unzip -d / /srv/zones.zip"), "time zone"),
    "a package of zones, a time zone": (command("apt-get install tzdata"), "time zone"),
    "a package, a user": (package("lab-greets"), "owner of a file"),
    "a package, a group": (package("lab-greets"), "group of a file"),
    "a package, a program": (package("lab-greets"), "program of PATH"),
    "a package, a type of file systems": (package("lab-greets"), "type of a file system"),
    "a package, a module": (package("lab-greets"), "module of the kernel"),
    "creates, a file beside it": (made("/srv/x"), "file to copy"),
    "creates, a program beside it": (made("/usr/local/bin/x"), "program of PATH"),
    "a name, a download": (step("maker", "host.entry", name="nowhere.example", address="127.0.0.1"),
                           "host of a download"),
    "a service, a download": (command("perl -e 1"), "server of a download"),
    "mknod, a disk": (command("mknod /dev/nonesuch b 7 9"), "disk to mount"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOPEFUL)
def test_a_step_that_may_provide_it_is_named(still, name):
    maker, obstacle = HOPEFUL[name]
    it = OBSTACLES[obstacle][0]
    done = still.plan([maker, it])
    output = done.steps["it"]
    assert output.result in ("changed", "unknown"), output
    assert "may be provided by step" in output.reason and "#maker'" in output.reason, output
    assert done.exit == 0


# A file where a later step needs a directory. The path is known late, so that only the plan can
# detect it.
BELOW = {
    "a file": step("it", "file.managed", name="/srv/made/f", content="x"),
    "a directory": step("it", "file.directory", name="/srv/made/d"),
    "a link": step("it", "file.symlink", name="/srv/made/l", target="/etc/hostname"),
    "a copy": step("it", "file.copy", name="/srv/made/f", source="/etc/hostname"),
    "a line": step("it", "file.line", name="/srv/made/f", line="x", create=True),
    "an option": step("it", "ini.option", name="/srv/made/f", option="o", value="x", create=True),
    "a value": step("it", "json.value", name="/srv/made/f", path="a", value=1, create=True),
    "a mount": step("it", "mount.mounted", name="/srv/made/m", device="tmpfs", type="tmpfs", persist=False),
    "a clone": step("it", "git.cloned", name="/srv/made/c", repo="/srv/repository"),
}  # fmt: skip


@pytest.mark.parametrize("name", BELOW)
def test_nothing_fits_below_a_path_that_becomes_a_file(still, name):
    if not still.exists("/srv/repository"):
        still.run("git init -q -b main /srv/repository && cd /srv/repository && git -c user.name=a "
                  "-c user.email=a@example.com commit -q --allow-empty -m one")  # fmt: skip
    maker = step("maker", "file.managed", name="/srv/made", content="x")
    done = still.plan([maker, BELOW[name] | {"conditions": {"when": {"condition": "1 == 1"}}}])
    output = done.steps["it"]
    assert output.result == "failed", output
    assert "path '/srv/made' is required as a directory" in output.error.message
    assert done.exit == 1


def test_a_later_step_does_not_help(still):
    it, _, message, _ = OBSTACLES["file to edit"]
    done = still.plan([it, command("touch /srv/f")])
    assert message in done.steps["it"].error.message


def test_a_step_without_changes_does_not_help(still):
    it, _, message, _ = OBSTACLES["owner of a file"]
    kept = step("maker", "cmd.run", cmd="useradd app", creates="/etc/passwd")
    done = still.plan([kept, it])
    assert done.steps["maker"].result == "ok"
    assert message in done.steps["it"].error.message


def test_an_added_source_may_have_the_package(still):
    repo = step("maker", "pkgrepo.managed", name="more", uris=["file:/srv/more"], suites=["./"],
                trusted=True)  # fmt: skip
    it = OBSTACLES["package"][0]
    output = still.plan([repo, it]).steps["it"]
    assert output.result == "changed"
    assert "may be provided by step" in output.reason


def test_a_step_that_refreshes_the_index_is_not_judged_by_the_old_one(still):
    it = step("it", "pkg.installed", name="lab-nothing", refresh=True)
    done = still.plan([it])
    assert done.exit == 0
    assert done.steps["it"].result == "unknown"


def test_a_kernel_module_may_provide_a_setting(still):
    it = OBSTACLES["setting of the kernel"][0]
    output = still.plan([command("modprobe x"), it]).steps["it"]
    assert output.result == "changed"
    assert "kernel setting 'net.ipv4.no_such_key' may be provided by step" in output.reason


def test_the_last_step_certain_to_provide_it_is_named(still):
    it = OBSTACLES["owner of a file"][0]
    output = still.plan([step("one", "cmd.run", cmd="true"), USER, step("two", "cmd.run", cmd="true"),
                         it]).steps["it"]  # fmt: skip
    assert output.reason.startswith("user 'app' is provided by step '")
    assert output.reason.endswith("#maker'")


@pytest.mark.parametrize("order", ["justdoit", "genius"])
def test_every_order_knows_the_earlier_steps(still, order):
    it = OBSTACLES["owner of a file"][0]
    done = still.plan([it, USER], "--order", order)
    assert done.exit == 0, done
    assert done.steps["it"].result == "changed"


def test_a_missing_unit_fails_a_plan(server):
    it = step("it", "service.ensure", name="no-such-thing", state="started")
    done = server.plan([it])
    assert done.exit == 1 and "unit 'no-such-thing.service' not found" in done.steps["it"].error.message
    unit = step("maker", "file.managed", name="/etc/systemd/system/no-such-thing.service",
                content="[Service]\nType=oneshot\nRemainAfterExit=true\nExecStart=/bin/true\n")  # fmt: skip
    output = server.plan([unit, it]).steps["it"]
    assert output.result == "changed", output
    assert "is provided by step" in output.reason
