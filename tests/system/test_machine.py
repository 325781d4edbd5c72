"""Machines that reboot in the middle of a run, and continue."""

import json

import pytest

UNIT = "/etc/systemd/system/eden-resume.service"
WANT = "/etc/systemd/system/multi-user.target.wants/eden-resume.service"
NOTES = "/var/lib/eden/resume"
SITE = "/srv/site.yaml"

# `boots` collects the boot id in which each part ran.
STEPS = """
steps:
  - name: before
    file.managed:
      - name: /etc/app.conf
      - content: "{{ vars.word | default('one') }}\\n"
  - name: restart
    machine.reboot:
      - allow: true
      - delay: "{{ vars.delay | default('0s') }}"
      - message: for the tests
    onchanges:
      - step: before
  - name: behind
    cmd.run:
      - cmd: cat /proc/sys/kernel/random/boot_id >> /srv/boots
      - creates: /srv/boots
    require:
      - step: restart
  - name: because of it
    cmd.run:
      - cmd: echo x >> /srv/restarts
    onchanges:
      - step: restart
  - name: unrelated
    file.managed:
      - name: /etc/unrelated
      - content: "x\\n"
    order: last
"""


def boot_id(host):
    return host.read("/proc/sys/kernel/random/boot_id").strip()


def apply(host, *options):
    done = host.eden("apply", SITE, "-o", "json", "--progress", "none", *options)
    return done, {step["name"]: step for step in json.loads(done.stdout)["steps"]}


def has_note(host):
    """Whether the run is over and has left nothing behind."""
    return not host.exists(UNIT) and not host.exists(WANT) and host.run(f"ls {NOTES}").out == ""


def wait_until_over(host):
    host.wait_for(lambda: has_note(host), timeout=60, what="the end of the run")


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_run_continues_after_the_reboot(systemd, release):
    host = systemd(release)
    host.write(SITE, STEPS)
    first = boot_id(host)
    with host.expect_reboot():
        done, steps = apply(host)
        assert done.returncode == 0 and "will reboot" in done.stderr
        assert {name: step["result"] for name, step in steps.items()} == {
            "before": "changed", "restart": "waiting", "behind": "waiting",
            "because of it": "waiting", "unrelated": "waiting"}  # fmt: skip
        assert steps["behind"]["reason"] == "waiting for the machine to reboot"
    wait_until_over(host)
    second = boot_id(host)
    assert second != first
    assert host.read("/srv/boots").strip() == second
    assert host.read("/srv/restarts") == "x\n"
    assert host.exists("/etc/unrelated")
    assert host.eden("replay", check=True).returncode == 0
    assert json.loads(host.eden("owed", "-o", "json").stdout)["owed"] == []
    # Nothing is left to do, and no further reboot happens.
    done, steps = apply(host)
    assert done.returncode == 0
    assert {step["result"] for step in steps.values()} <= {"ok", "skipped"}
    assert boot_id(host) == second and host.boots == 2
    assert has_note(host)


def test_run_before_the_reboot_can_be_replayed(systemd):
    host = systemd()
    # The machine cannot shut down: everything written before is there.
    host.write("/usr/local/sbin/systemctl", "#!/bin/sh\nexit 7\n", mode=0o755)
    host.write(SITE, STEPS)
    done, steps = apply(host)
    assert done.returncode == 1 and "systemctl" in done.stderr and "7" in done.stderr
    assert steps["restart"]["result"] == "waiting"
    assert host.eden("replay", check=True).returncode == 0
    note = json.loads(host.run(f"cat {NOTES}/*.json").stdout)
    assert [step["boot"] for step in note["steps"]] == [boot_id(host)]
    assert host.run(f"stat -c %a {NOTES}/*.json").out == "600"


def test_killed_between_note_and_reboot_the_next_run_reboots(systemd):
    host = systemd()
    host.write(SITE, STEPS)
    first = boot_id(host)
    process = host.popen(["eden", "apply", SITE, "-D", "delay=1h"])
    host.wait_for(f"test -e {WANT}")
    host.run("kill -9 $(pidof eden)")
    process.wait()
    assert host.boots == 1 and boot_id(host) == first
    with host.expect_reboot():
        done, steps = apply(host)
        assert steps["before"]["result"] == "ok"
        assert steps["restart"]["result"] == "waiting"
    wait_until_over(host)
    assert host.read("/srv/boots").strip() == boot_id(host) != first
    assert host.boots == 2


def test_power_loss_between_note_and_reboot_continues_after_the_next_boot(systemd):
    host = systemd()
    host.write(SITE, STEPS)
    host.popen(["eden", "apply", SITE, "-D", "delay=1h"])
    host.wait_for(f"test -e {WANT}")
    host.kill()
    host.start()
    wait_until_over(host)
    assert host.read("/srv/boots").strip() == boot_id(host)
    assert host.boots == 2


def test_two_reboots_in_one_site_happen_once_each(systemd):
    host = systemd()
    host.write(SITE, """
steps:
  - name: every time
    cmd.run: {cmd: "cat /proc/sys/kernel/random/boot_id >> /srv/boots"}
    order: first
  - {name: first, machine.reboot: {allow: true}}
  - name: second
    machine.reboot: {allow: true}
    require: [{step: first}]
  - name: behind
    cmd.run: {cmd: "cat /proc/sys/kernel/random/boot_id > /srv/behind"}
    require: [{step: second}]
""")  # fmt: skip
    with host.expect_reboot():
        apply(host)
    # It shuts down once more, before or after it counts as up.
    host.wait_for(lambda: host.exists("/srv/behind") and host.pid is not None)
    wait_until_over(host)
    boots = host.read("/srv/boots").split()
    assert len(boots) == len(set(boots)) == 3
    assert host.read("/srv/behind").strip() == boot_id(host) == boots[-1]


def test_a_powered_off_machine_continues_on_request(systemd):
    host = systemd()
    host.write(SITE, """
steps:
  - {name: "off", machine.poweroff: {allow: true, continue: true}}
  - name: behind
    cmd.run: {cmd: "touch /srv/behind"}
    require: [{step: "off"}]
""")  # fmt: skip
    apply(host)
    host.wait_down()
    host.start()
    wait_until_over(host)
    assert host.exists("/srv/behind")


def test_nothing_reboots_without_permission(systemd):
    host = systemd()
    steps = [{"name": "r", "machine.reboot": {"allow": False}},
             {"name": "p", "machine.poweroff": {"allow": "no"}},
             {"name": "k", "machine.kexec": {"allow": True}}]  # fmt: skip
    for done in (host.plan(steps), host.apply(steps)):
        assert "'allow: true' is required" in done.steps["r"].error.message
        assert "'allow: true' is required" in done.steps["p"].error.message
        assert "a container cannot kexec" in done.steps["k"].error.message
    missing = host.plan([{"name": "r", "machine.reboot": {"when": "needed"}}])
    assert "allow" in missing.problems[0].message
    assert host.boots == 1


def test_try_leaves_the_machine_up(systemd):
    host = systemd()
    host.write(SITE, STEPS)
    done = host.eden("apply", SITE, "--try", "--progress", "none")
    assert "waiting for the machine to reboot" in done.stdout, done
    assert "will reboot" not in done.stderr
    assert not host.exists(UNIT) and host.boots == 1


KERNEL = """
steps:
  - name: rules
    firewall.rules:
      - rules: [{accept: {port: 1}}]
  - name: swap
    swap.on:
      - name: /data/swap
      - size: 1
  - name: hostname
    hostname.set:
      - name: tried
"""


@pytest.mark.parametrize("options", [[], ["--network"]])
def test_try_leaves_the_kernel_alone(light, options):
    host = light(loop=True)
    host.write(SITE, KERNEL)
    host.run("truncate -s 16M /disk && mkfs.ext4 -q /disk && mkdir /data && mount /disk /data")
    before = host.run("nft list ruleset; cat /proc/swaps; hostname").out
    done = host.eden("apply", SITE, "--try", "--progress", "none", "--diff", "none", *options)
    assert "changed  site#hostname" in done.stdout, done
    assert "swapon failed: Operation not permitted" in done.stdout, done
    assert ("changed  site#rules" in done.stdout) == (options == []), done
    assert host.run("nft list ruleset; cat /proc/swaps; hostname").out == before


def test_without_systemd_it_is_rejected(light):
    host = light()
    done = host.plan([{"name": "r", "machine.reboot": {"allow": True}}])
    assert "not booted with systemd" in done.steps["r"].error.message
    done = host.eden("apply", "--resume")
    assert done.returncode == 0 and "no run to resume" in done.stderr


def test_a_site_that_would_disappear_prevents_the_reboot(systemd):
    host = systemd()
    host.write("/tmp/site.yaml", STEPS)
    done = host.eden("apply", "/tmp/site.yaml")
    assert done.returncode != 0 and "is in memory" in done.stderr, done
    assert not host.exists(UNIT) and host.boots == 1


def test_a_site_that_others_can_replace_prevents_the_reboot(systemd):
    """/tmp is emptied at boot, and root would execute what any user has put there."""
    host = systemd()
    host.write(SITE, STEPS)
    host.run("mkdir -m 1777 /srv/open && cp /usr/local/bin/eden /srv/open/")
    host.run(f"cp {SITE} /srv/open/ && ln -s /srv /srv/open/link")
    host.write("/srv/open/vars.yaml", "word: two\n")
    for command in (["eden", "apply", "/srv/open/site.yaml"],
                    ["eden", "apply", "/srv/open/link/site.yaml"],
                    ["eden", "apply", SITE, "-v", "/srv/open/vars.yaml"],
                    ["eden", "apply", SITE, "--state-dir", "/srv/open/state"],
                    ["eden", "apply", SITE, "--config-dir", "/srv/open/none"],
                    ["/srv/open/eden", "apply", SITE]):  # fmt: skip
        host.run("rm -f /etc/app.conf")
        done = host.run(command, check=False)
        assert done.returncode != 0 and "is writable by everyone" in done.stderr, (command, done)
        assert not host.exists(UNIT) and host.boots == 1, command


def test_newer_kernel_of_the_same_kind_is_a_reason(systemd):
    host = systemd()
    host.run("rm /run/systemd/container")  # it runs its own kernel
    running = host.run("uname -r").out
    kind = running.partition("-")[2] if running.partition("-")[2][:1].isalpha() else ""
    suffix = f"-{kind}" if kind else ""
    step = {"name": "r", "machine.reboot": {"allow": True, "when": "needed"}}

    def reason():
        return host.plan([step]).steps["r"].reason

    assert reason() == "not needed"
    for release in (f"99.9.1-other{suffix}", f"1.0.0{suffix}", f"99.9.2{suffix}"):
        host.mkdir(f"/lib/modules/{release}")
    assert reason() == "not needed", "of another kind, older, or without a kernel"
    host.write(f"/boot/vmlinuz-99.9.2{suffix}", "")
    host.write("/boot/vmlinuz-99.9.1-other", "")
    assert reason() == f"would reboot: kernel {running} is running, but 99.9.2{suffix} is installed"
