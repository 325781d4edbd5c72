"""Packages with dnf, zypper and pacman: like apt, as far as they support it."""

import json
import re

import pytest
from apt_hosts import kill, start_apply, wait_for_event
from lab import repos

MANAGERS = ["dnf", "zypper", "pacman"]
MANY = [f"lab-many-{i:02}" for i in range(1, 31)]
LISTED = {"dnf": "rpm -q", "zypper": "rpm -q", "pacman": "pacman -Q"}


@pytest.fixture(params=MANAGERS)
def manager(request):
    return request.param


@pytest.fixture
def host(light, manager):
    host = light("foreign", repos=True)
    repos.use(host, manager)
    return host


def step(manager, action, name, **params):
    return {"name": name, f"pkg.{action}": {"name": name, "provider": manager, **params}}


def installed(manager, *names, **params):
    return [step(manager, "installed", name, **params) for name in names]


def is_installed(host, manager, name):
    return host.run(f"{LISTED[manager]} {name}", check=False).returncode == 0


def test_thirty_steps_are_one_transaction_with_a_result_each(host, manager):
    steps = installed(manager, *MANY, "lab-greets")
    done = host.apply(steps, "--order", "genius")
    assert (done.exit, done.result) == (0, "changed")
    for name in MANY:
        assert done.steps[name].changes == {name: {"new": "1.0-1"}}
    assert done.steps["lab-greets"].changes["lab-greets"] == {"new": "1.0-1"}
    came_along = [name for step in done.listed for name in step.changes if name == "lab-hello"]
    assert came_along == ["lab-hello"]
    assert transactions(host, manager) == 1
    assert host.apply(steps, "--order", "genius").result == "ok"


def transactions(host, manager):
    logs = {"dnf": "dnf -q history list | grep -c '| *Install *|'",
            "zypper": "cat /var/log/zypp/history | grep -c '|command|.*install'",
            "pacman": "grep -c 'transaction started' /var/log/pacman.log"}  # fmt: skip
    return int(host.run(logs[manager]).out)


def test_unavailable_packages_do_not_block_the_rest(host, manager):
    steps = [*installed(manager, *MANY[:3], "lab-nothing", "lab-impossible", *MANY[3:6]),
             step(manager, "installed", "lab-hello", version="7")]  # fmt: skip
    done = host.apply(steps, "--order", "genius")
    failed = {step.name: step.error.message for step in done.listed if step.result == "failed"}
    assert failed.pop("lab-nothing") == "no repository has 'lab-nothing'"
    assert "no version 7 of 'lab-hello' is available; available versions: 2.0-1" in failed.pop("lab-hello")
    assert "lab-nowhere" in failed.pop("lab-impossible")
    assert failed == {}
    assert all(is_installed(host, manager, name) for name in MANY[:6])


def test_conflicting_packages_are_reported(host, manager):
    assert host.apply(installed(manager, "lab-hello")).result == "changed"
    error = host.apply(installed(manager, "lab-alone")).steps["lab-alone"].error.message
    assert "conflict" in error and "lab-hello" in error
    assert is_installed(host, manager, "lab-hello")
    done = host.apply(installed(manager, "lab-alone", allow_removals=True)).steps["lab-alone"]
    assert done.changes == {"lab-alone": {"new": "1.0-1"}, "lab-hello": {"old": "2.0-1"}}


def test_failed_script_is_reported_although_the_package_is_installed(host, manager):
    """rpm and pacman treat it as a warning; the step reports that."""
    done = host.apply(installed(manager, "lab-broken")).steps["lab-broken"]
    assert done.result == "changed"
    assert "a script of 'lab-broken' failed: " in done.reason, done
    assert "the moon is in the wrong phase" in done.reason


def test_foreign_lock_is_waited_for_and_named(host, manager):
    install = {"dnf": "dnf -y install lab-slow", "zypper": "zypper -n install lab-slow",
               "pacman": "pacman --noconfirm -S lab-slow"}[manager]  # fmt: skip
    by_hand = host.popen(f"exec {install}")
    host.wait_for("test -e /run/lab-slow-waits")
    running = start_apply(host, installed(manager, "lab-hello"))
    output = wait_for_event(running, "wait")["reason"]
    assert "lab-slow" in output and " holds /" in output, output
    host.write("/run/lab-slow-go", "")
    out, _ = running.communicate(timeout=60)
    assert json.loads(out)["result"] == "changed"
    assert by_hand.wait() == 0


def test_killed_package_manager_does_not_block_the_next_run(host, manager):
    steps = installed(manager, "lab-hello", "lab-slow")
    running = start_apply(host, steps, "--order", "genius")
    host.wait_for("test -e /run/lab-slow-waits")
    # dnf is a Python script; zypper delegates to rpm.
    kill(host, *{"dnf": ["python3"], "zypper": ["zypper", "rpm"], "pacman": ["pacman"]}[manager])
    out, _ = running.communicate(timeout=60)
    assert json.loads(out)["result"] == "failed"
    host.write("/run/lab-slow-go", "")
    done = host.apply(steps, "--order", "genius")
    assert done.exit == 0, done
    assert is_installed(host, manager, "lab-hello") and is_installed(host, manager, "lab-slow")
    assert host.apply(steps).result == "ok"


def test_full_disk_is_reported(light, manager):
    host = light("foreign", repos=True, disk="40M")
    repos.use(host, manager)
    if manager == "pacman":  # as configured on its distribution
        host.run("ln -sf /proc/mounts /etc/mtab; sed -i 's/.options./&\\nCheckSpace/' /etc/pacman.conf")
    done = host.apply(installed(manager, "lab-large", "lab-hello"), "--order", "genius")
    assert re.search("space|too full", done.steps["lab-large"].error.message), done
    assert is_installed(host, manager, "lab-hello")


@pytest.mark.parametrize("policy, stays", [("keep", "mine"), ("replace", "As of version 2.0")])
def test_changed_configuration_file_is_handled_by_policy(host, manager, policy, stays):
    old = {"dnf": "dnf -q -y install lab-config-1.0", "zypper": "zypper -q -n install lab-config=1.0",
           "pacman": f"pacman --noconfirm -U {repos.PLACE}/pacman/lab-config-1.0-1-any.pkg.tar.gz",
           }[manager]  # fmt: skip
    host.run(old)
    host.write("/etc/lab-config.conf", "mine\n")
    steps = [step(manager, "latest", "lab-config", conffiles=policy)]
    assert host.apply(steps).result == "changed"
    assert stays in host.read("/etc/lab-config.conf")
    beside = host.run("ls /etc | grep lab-config.conf. || true").out
    assert bool(beside) == (policy == "keep"), beside


@pytest.mark.parametrize("given", ["key", "key_path"])
def test_key_of_a_source_is_trusted_by_zypper(light, given):
    host = light("foreign", repos=True)
    path = f"{repos.PLACE}/keys/lab.asc"
    key = host.read(path) if given == "key" else path
    steps = [{"name": "source", "pkgrepo.managed": {
        "name": "lab", "uris": f"file://{repos.PLACE}/rpm", "provider": "zypper", given: key}}]  # fmt: skip
    # The first time rpm cannot accept it.
    host.write("/usr/local/sbin/rpm", "#!/bin/sh\n[ -e /run/rpm-works ] || exit 1\n"
               'exec /usr/bin/rpm "$@"\n', mode=0o755)  # fmt: skip
    assert "rpm exited with 1" in host.apply(steps).errors
    host.write("/run/rpm-works", "")
    assert host.apply(steps).result == "changed"
    assert host.apply(steps).result == "ok"
    assert host.apply(installed("zypper", "lab-hello")).result == "changed"


@pytest.mark.parametrize("code", [102, 103, 107])
def test_informational_zypper_messages_are_not_failures(light, code):
    """For instance that a reboot is recommended: it has its own exit code."""
    host = light("foreign", repos=True)
    repos.use(host, "zypper")
    assert host.apply(installed("zypper", "lab-hello", version="1.0")).result == "changed"
    host.write("/usr/local/sbin/zypper", "#!/bin/sh\n/usr/bin/zypper \"$@\" || exit\n"
               f'case "$*" in *" update "*) exit {code};; esac\n', mode=0o755)  # fmt: skip
    steps = [{"name": "all", "pkg.uptodate": {"provider": "zypper"}}]
    done = host.apply(steps).steps["all"]
    assert done.result == "changed"
    assert done.changes == {"lab-hello": {"old": "1.0-1", "new": "2.0-1"}}


def test_two_equal_failures_do_not_block_the_rest(light):
    """pacman does not overwrite files of other packages."""
    host = light("foreign", repos=True)
    repos.use(host, "pacman")
    host.run("mkdir /usr/share/lab-many && touch /usr/share/lab-many/01 /usr/share/lab-many/02")
    done = host.apply(installed("pacman", *MANY[:8]), "--order", "genius")
    failed = {step.name: step.error.message for step in done.listed if step.result == "failed"}
    assert failed.keys() == {*MANY[:2]}
    assert "/usr/share/lab-many/01 exists in filesystem" in failed[MANY[0]]


@pytest.mark.parametrize("manager", ["dnf", "zypper"])
def test_rpm_resolves_names_once(host, manager):
    host.write("/usr/local/sbin/rpm", "#!/bin/sh\necho \"$@\" >> /run/asked\n"
               'exec /usr/bin/rpm "$@"\n', mode=0o755)  # fmt: skip
    assert host.apply(installed(manager, *MANY[:5]), "--order", "genius").result == "changed"
    requested = [line for line in host.read("/run/asked").splitlines() if "--whatprovides" in line]
    assert len(requested) == len({*requested})
