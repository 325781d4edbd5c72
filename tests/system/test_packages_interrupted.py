"""Interrupted package operations: locks of others, full disks, killed programs."""

import json
import subprocess

import pytest
from apt_hosts import (
    build_deb,
    hold,
    installed,
    kill,
    release,
    pids,
    ready,
    start_apply,
    status,
    step,
    transactions,
    unfinished,
    wait_for_event,
)

LOCKS = ["/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock"]


@pytest.fixture(params=["bookworm", "trixie"])
def host(request, light):
    return ready(light(request.param, repos=True))


def ended(running):
    out, _ = running.communicate(timeout=60)
    return json.loads(out)


# --- Locks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", LOCKS)
def test_foreign_lock_is_waited_for_and_named(light, lock):
    host = ready(light("bookworm", repos=True))
    holder, pid = hold(host, lock)
    running = start_apply(host, installed("lab-hello"))
    output = wait_for_event(running, "wait")
    assert output["step"] == "site#lab-hello"
    assert f"(process {pid}) holds {lock}" in output["reason"] and "/usr/bin/python3 -c" in output["reason"]
    assert status(host, "lab-hello") == ""
    release(holder)
    assert ended(running)["result"] == "changed"


def test_wait_has_a_limit(host):
    holder, pid = hold(host)
    for steps in (installed("lab-hello", lock_timeout="1s"),
                  [{**installed("lab-hello")[0], "runOptions": {"timeout": "1s"}}]):  # fmt: skip
        error = host.apply(steps).steps["lab-hello"].error.message
        assert f"(process {pid}) holds /var/lib/dpkg/lock-frontend" in error, error
        assert "'lock_timeout' sets how long to wait" in error
    release(holder)
    assert host.apply(installed("lab-hello")).result == "changed"


def test_another_package_manager_is_waited_for(host):
    """A manual apt-get at the same time: the step waits, and then finds its package installed."""
    by_hand = host.popen("apt-get -y install lab-slow", stdout=subprocess.DEVNULL)
    host.wait_for("test -e /run/lab-slow-waits")
    running = start_apply(host, installed("lab-slow", "lab-hello"), "--order", "genius")
    output = wait_for_event(running, "wait")
    assert "'apt-get -y install lab-slow'" in output["reason"]
    host.write("/run/lab-slow-go", "")
    done = {step["name"]: step for step in ended(running)["steps"]}
    assert by_hand.wait() == 0
    assert done["lab-slow"]["result"] == "ok" and done["lab-hello"]["result"] == "changed"


def test_plan_does_not_wait(host):
    holder, _ = hold(host)
    assert host.plan(installed("lab-hello")).steps["lab-hello"].result == "changed"
    assert host.plan(installed("dpkg")).steps["dpkg"].result == "ok"
    release(holder)


def test_satisfied_step_needs_no_lock(host):
    holder, _ = hold(host)
    assert host.apply(installed("dpkg")).result == "ok"
    release(holder)


# --- Killed --------------------------------------------------------------------------------------


def test_killed_dpkg_is_repaired_by_the_next_run(host):
    """In the middle of unpacking: earlier steps are done, the others are not."""
    steps = installed("lab-hello", "lab-slow", "lab-many-01")
    running = start_apply(host, steps, "--order", "genius")
    host.wait_for("test -e /run/lab-slow-waits")
    kill(host, "apt-get", "dpkg", "lab-slow.preinst")
    failed = [step for step in ended(running)["steps"] if step["result"] == "failed"]
    assert "lab-slow" in {step["name"] for step in failed}
    host.write("/run/lab-slow-go", "")
    done = host.apply(steps, "--order", "genius")
    assert done.exit == 0, done
    assert unfinished(host) == ""
    assert host.apply(steps).result == "ok"


def test_killed_eden_and_dpkg_are_repaired_by_the_next_run(host):
    """All at once, like a power failure."""
    steps = [*installed("lab-hello", "lab-slow", "lab-many-01"),
             {"name": "note", "cmd.run": {"cmd": "echo changed >> /var/log/notes"},
              "onchanges": [{"pkg": "lab-slow"}]}]  # fmt: skip
    start_apply(host, steps, "--order", "genius")
    host.wait_for("test -e /run/lab-slow-waits")
    host.kill()
    host.start()
    host.write("/run/lab-slow-go", "")
    planned = host.plan(steps, "--order", "genius")
    assert planned.steps["lab-slow"].changed
    done = host.apply(steps, "--order", "genius")
    assert done.exit == 0, done
    assert unfinished(host) == ""
    # Reactions owed for the change run.
    assert host.read("/var/log/notes") == "changed\n"
    assert host.apply(steps).result == "ok"


def test_interrupted_dpkg_is_reported_and_repaired_first(host):
    """The first package step repairs it, even if its own package is fine."""
    host.run("apt-get -qq -y install lab-hello")
    host.run("apt-get -qq -y install lab-broken", check=False)
    host.write("/etc/lab-broken-repaired", "")
    planned = host.plan(installed("lab-hello")).steps["lab-hello"]
    assert planned.changes == {
        "apt": {"old": "dpkg left 'lab-broken' half-configured", "new": "repaired"}
    }
    done = host.apply(installed("lab-hello", "dpkg"))
    assert done.steps["lab-hello"].changes["apt"]["new"] == "repaired"
    assert done.steps["lab-hello"].changes["lab-broken"] == {
        "old": "1.0 (half-configured)", "new": "1.0",
    }  # fmt: skip
    assert done.steps["dpkg"].result == "ok"
    assert unfinished(host) == ""


def test_irreparable_packages_do_not_block_the_rest(host):
    host.run("apt-get -qq -y install lab-broken", check=False)
    done = host.apply(installed("dpkg", "lab-hello"))
    assert done.exit == 0, done
    output = "dpkg left 'lab-broken' half-configured, and repairing it failed"
    assert done.steps["dpkg"].reason == output
    assert status(host, "lab-broken") == "half-configured"


def test_upgrading_everything_repairs_interrupted_packages(host):
    """apt itself refuses to report upgrades while a dependency is missing."""
    host.run("apt-get -qq -y install lab-hello=1.0")
    host.run("cd /tmp && apt-get -qq download lab-greets && dpkg --unpack lab-greets_*.deb")
    steps = [{"name": "all", "pkg.uptodate": {}}]
    output = {"apt": {"old": "dpkg left 'lab-greets' unpacked", "new": "repaired"}}
    assert host.plan(steps).steps["all"].changes == output
    done = host.apply(steps).steps["all"]
    assert done.changes == {
        **output, "lab-greets": {"old": "1.0 (unpacked)", "new": "1.0"},
        "lab-hello": {"old": "1.0", "new": "2.0"},
    }  # fmt: skip
    assert unfinished(host) == ""
    assert host.apply(steps).result == "ok"


def test_half_removed_package_is_removed(host):
    build_deb(host, "/srv/own", "stubborn", "1",
              scripts={"prerm": "test -e /run/may-go || { echo I stay; exit 1; }\n"})
    host.run("apt-get -qq -y install /srv/own/stubborn_1_all.deb")
    done = host.apply([step("removed", "stubborn")])
    assert "I stay" in done.errors
    host.write("/run/may-go", "")
    assert host.apply([step("removed", "stubborn")]).result == "changed"
    assert host.apply([step("removed", "stubborn")]).result == "ok"


# --- Full disks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("root", ["bookworm", "trixie"])
def test_full_disk_is_reported_and_the_next_run_recovers(light, root):
    host = ready(light(root, repos=True, disk="40M"))
    steps = installed("lab-large", "lab-hello")
    done = host.apply(steps, "--order", "genius")
    error = done.steps["lab-large"].error.message
    assert "No space left on device" in error or "enough free space" in error, error
    # The others succeeded.
    assert status(host, "lab-hello") == "installed"
    assert host.apply(installed("lab-hello")).exit == 0
    assert host.apply([step("removed", "lab-large")]).exit == 0
    assert unfinished(host) == ""


def test_common_cause_is_not_retried_for_each_package(light):
    """Ten that all fail for the same reason: a few attempts are as conclusive as ten."""
    host = ready(light("bookworm", repos=True))
    host.run("dpkg-divert --local --rename --add /usr/bin/dpkg-deb")
    host.write("/usr/bin/dpkg-deb", "#!/bin/sh\necho no such luck >&2\nexit 2\n", mode=0o755)
    names = [f"lab-many-{i:02}" for i in range(1, 11)]
    done = host.apply(installed(*names), "--order", "genius")
    assert all(done.steps[name].result == "failed" for name in names)
    assert transactions(host) < 8
    host.run("rm /usr/bin/dpkg-deb; dpkg-divert --local --rename --remove /usr/bin/dpkg-deb")
    assert host.apply(installed(*names), "--order", "genius").result == "changed"


# --- Interrupting --------------------------------------------------------------------------------


def test_interrupt_lets_the_transaction_finish(host):
    """Ctrl-C once: the running step completes, the others do not start."""
    steps = [*installed("lab-slow"), *installed("lab-hello")]
    running = start_apply(host, steps)
    host.wait_for("test -e /run/lab-slow-waits")
    host.run(["kill", "-INT", *pids(host, "eden")])
    wait_for_event(running, "interrupt")
    host.write("/run/lab-slow-go", "")
    done = {step["name"]: step["result"] for step in ended(running)["steps"]}
    assert done == {"lab-slow": "changed", "lab-hello": "skipped"}
    assert unfinished(host) == ""
