"""Units that fail, hang, are masked or do not exist: the error messages of the step."""



import pytest

from canary import FORMS, SECRET, VARS, check
from units import ensure, file, fresh, put, show, text, unit


def failed(done, name):
    assert done.exit == 1, done
    step = done.steps[name]
    assert step.result == "failed"
    return step


SH = "/bin/sh -c '{}'"
# What the unit does, the error, and words of the unit that must be in the error.
BROKEN = {
    "ends with an exit code": (
        text(SH.format("echo first; echo cannot open port 80 >&2; exit 3")),
        "did not start: it exited with code 3", ["first | cannot open port 80"]),
    "is killed": (
        text(SH.format("echo going; kill -SEGV $$$$")), "it was killed by SIGSEGV", ["going"]),
    "cannot be executed": (
        text("/nonexistent/program"),
        # The journal cannot always attribute what the child prints before it exits to the unit.
        "its program cannot be executed (exit code 203)", []),
    "has a user that is not there": (
        text("/bin/true", "User=nobody-at-all"),
        "its user does not exist (exit code 217)", []),
    "fails before its start": (
        text("/usr/bin/sleep 1000", "ExecStartPre=" + SH.format("echo no disk; exit 4")),
        "its ExecStartPre, /bin/sh, exited with code 4", ["no disk"]),
    "is started again and again": (
        text(SH.format("echo next try; exit 1"), "Restart=always", "RestartSec=20ms",
             unit=["StartLimitIntervalSec=0"]),
        "systemd keeps restarting it", ["next try"]),
    "is given up": (
        text(SH.format("echo next try; exit 1"), "Restart=always", "RestartSec=1ms",
             unit=["StartLimitBurst=2"]),
        "did not start: ", ["next try"]),
    "never gets ready": (
        text(SH.format("echo looking for a peer; exec sleep 1000"), "Type=notify",
             "TimeoutStartSec=1"),
        "it exceeded its own time limit", ["looking for a peer"]),
    "ends before it is ready": (
        text(SH.format("echo done"), "Type=notify"),
        "it did not notify systemd that it is ready", ["done"]),
    "ends at once": (
        text(SH.format("echo nothing to do")), "it exited immediately without an error",
        ["nothing to do"]),
    "is Type=forking and fails": (
        text(SH.format("echo bad option; exit 2"), "Type=forking"),
        "its ExecStart, /bin/sh, exited with code 2", ["bad option"]),
    "has a condition": (
        text("/usr/bin/sleep 1000", unit=["ConditionPathExists=/nonexistent"]),
        "its condition is not met: ConditionPathExists=/nonexistent", []),
    "has the opposite of a condition": (
        text("/usr/bin/sleep 1000", unit=["ConditionPathExists=!/etc"]),
        "its condition is not met: ConditionPathExists=!/etc", []),
    "is broken": (
        text("no/absolute/path"), "cannot be used: Unit", []),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_unit_that_fails_fails_the_step_with_its_journal(server, what):
    content, output, words = BROKEN[what]
    name = fresh("broken")
    put(server, name, content)
    step = failed(server.apply([ensure(name, state="started")]), name)
    assert f"{name}.service" in step.error.message
    assert output in step.error.message
    for word in words:
        assert word in step.error.message
        assert all(part in step.stderr for part in word.split(" | "))
    # The second time is no better.
    failed(server.apply([ensure(name, state="started")]), name)
    server.run(["systemctl", "stop", name], check=False)


def test_users_see_the_journal_of_a_failed_unit(server):
    name = fresh("broken")
    put(server, name, text(SH.format("for i in 1 2 3 4 5; do echo line $$i; done; exit 1")))
    path = server.put_site([ensure(name, state="started")])
    shown = server.eden("apply", path)
    for number in range(1, 6):
        assert f"line {number}" in shown.stdout + shown.stderr


def test_journal_of_an_earlier_start_is_not_shown(server):
    name = fresh("broken")
    put(server, name, text(SH.format(f"cat /run/{name}; exit 1")))
    server.write(f"/run/{name}", "yesterday\n")
    failed(server.apply([ensure(name, state="started")]), name)
    server.write(f"/run/{name}", "today\n")
    step = failed(server.apply([ensure(name, state="started")]), name)
    assert "today" in step.stderr and "yesterday" not in step.stderr


def test_long_and_hostile_output_is_bounded_and_escaped(server):
    name = fresh("broken")
    server.write(f"/run/{name}", "".join(f"{number} {'x' * 5000}\n" for number in range(100)))
    put(server, name, text(SH.format(f"cat /run/{name}; printf \"\\\\033[31mred\\\\n\"; exit 1")))
    step = failed(server.apply([ensure(name, state="started")]), name)
    lines = step.stderr.splitlines()
    assert len(lines) <= 20 and all(len(line) <= 303 for line in lines)
    assert "\033" not in step.stderr and "\033" not in step.error.message
    assert len(step.error.message) < 600


# What the unit prints: the text, and the text where a journal line is truncated.
PRINTS = """#!/bin/sh
cat "$1"
for size in 120 126 280 290 296 299; do printf "%0${size}d" 0; tr '\\n' ' ' < "$1"; echo; done
base64 -w0 "$1"; od -An -tx1 "$1"
exit 3
"""


def test_journal_of_a_unit_that_prints_a_secret_is_shown_without_it(server):
    server.write("/etc/eden/vars.d/canary.yaml", VARS)
    server.write("/usr/local/bin/prints", PRINTS, mode=0o755)
    steps, names = [], []
    for form in ("alone", "odd", "base64", "json", "nested", "lines"):
        name = fresh("leaky")
        names.append(name)
        steps += [file(f"/run/{name}", FORMS[form] + "\n", step=f"{name} text"),
                  unit(name, text(f"/usr/local/bin/prints /run/{name}")),
                  ensure(name, state="started")]  # fmt: skip
    output = fresh("leaky")
    names.append(output)
    steps += [unit(output, text("/bin/sh -c 'echo {{ vars.pw }} $$0; exit 3' {{ vars.odd | quote }}")),
              ensure(output, state="started")]  # fmt: skip
    done = server.apply(steps, "--junit", "/tmp/out.xml")
    for name in names:
        step = failed(done, name)
        assert "(secret)" in step.stderr and "its journal ends with" in step.error.message, step
    check(done.stdout, "-o json")
    shown = server.eden("apply", server.put_site(steps), "--verbose", "--progress", "plain")
    check(shown.stdout + shown.stderr, "the terminal")
    for options in ([], ["-o", "json"], [names[0]], [output]):
        why = server.eden("why", *options)
        assert why.returncode == 0, why
        check(why.stdout + why.stderr, "why")
    kept = server.run("find /var/lib/eden -name keep -prune -o -type f -exec cat {} + ; cat /tmp/out.xml")
    assert "(secret)" in kept.stdout
    check(kept.stdout, "the state directory")
    server.run("rm /etc/eden/vars.d/canary.yaml")
    assert SECRET in server.run(["journalctl", "--no-pager", "-u", output]).stdout


def test_unit_with_failed_dependencies_names_them(server):
    needed, name = fresh("broken"), fresh()
    put(server, needed, text(SH.format("echo no license; exit 1"), "Type=oneshot"))
    needs = f"{needed}.service"
    put(server, name, text(unit=[f"Requires={needs}", f"After={needs}"]))
    step = failed(server.apply([ensure(name, state="started")]), name)
    assert f"{name}.service did not start: it requires {needs}" in step.error.message
    assert "no license" in step.error.message and "no license" in step.stderr


# --- Time ------------------------------------------------------------------------------------


def test_job_that_takes_too_long_fails_and_continues(server):
    name = fresh("slow")
    waits = f"while ! test -e /run/{name}; do sleep 0.05; done"
    put(server, name, text(SH.format(f"echo warming up; {waits}"), "Type=oneshot",
                           "RemainAfterExit=yes"))  # fmt: skip
    step = failed(server.apply([ensure(name, state="started", timeout="1s")]), name)
    assert "after 1 s it is still 'activating' (start); systemd continues with the job" in step.error.message
    assert "warming up" in step.error.message
    assert show(server, name, "ActiveState") == "activating"
    # The next run waits for the same job.
    waiting = server.popen(["eden", "apply", server.put_site([ensure(name, state="started")]),
                            "-o", "json", "--progress", "none"])  # fmt: skip
    server.wait_for(f"fuser -s /var/lib/eden/lock || pidof eden", what="eden to run")
    server.write(f"/run/{name}", "")
    assert waiting.wait(30) == 0
    assert show(server, name, "ActiveState") == "active"


def test_time_limit_of_the_step_applies_too(server):
    name = fresh("slow")
    put(server, name, text("/usr/bin/sleep 1000", "Type=oneshot"))
    step = {**ensure(name, state="started"), "runOptions": {"timeout": "1s"}}
    assert "after 1 s it is still" in failed(server.apply([step]), name).error.message
    server.run(["systemctl", "stop", name])


def test_interrupted_twice_the_wait_stops(server):
    name = fresh("slow")
    put(server, name, text("/usr/bin/sleep 1000", "Type=oneshot"))
    path = server.put_site([ensure(name, state="started")])
    running = server.popen(f"exec eden apply {path} --progress none")
    server.wait_for(lambda: show(server, name, "ActiveState") == "activating", what="the start")
    pid = server.run(["pidof", "eden"]).out.split()[0]
    server.run(["kill", "-INT", pid])

    def ends():
        """Signals that are pending together count once, so send them until it has received two."""
        server.run(["kill", "-INT", pid], check=False)
        return running.poll() is not None

    server.wait_for(ends, what="the end of the run")
    assert running.returncode == 130
    server.run(["systemctl", "stop", name])


def test_systemd_reexec_does_not_end_the_wait(server):
    name = fresh("slow")
    waits = f"while ! test -e /run/{name}; do sleep 0.05; done"
    put(server, name, text(SH.format(waits), "Type=oneshot", "RemainAfterExit=yes"))
    path = server.put_site([ensure(name, state="started")])
    running = server.popen(["eden", "apply", path, "--progress", "none"])
    server.wait_for(lambda: show(server, name, "ActiveState") == "activating", what="the start")
    server.run(["systemctl", "daemon-reexec"])
    server.write(f"/run/{name}", "")
    assert running.wait(30) == 0
    assert show(server, name, "ActiveState") == "active"


def test_job_canceled_by_others_is_reported(server):
    name = fresh("slow")
    put(server, name, text("/usr/bin/sleep 1000", "Type=oneshot"))
    path = server.put_site([ensure(name, state="started")])
    running = server.popen(["eden", "apply", path, "--progress", "none"], stderr=-1, stdout=-1)
    server.wait_for(lambda: show(server, name, "ActiveState") == "activating", what="the start")
    server.run(["systemctl", "stop", name])
    output = b"".join(running.communicate(timeout=30)).decode()
    assert running.returncode == 1 and "did not start" in output


# --- Masked, unknown, unusual ----------------------------------------------------------------


def test_masked_unit_is_not_started_but_unmasked_on_request(server):
    name = fresh()
    server.write(f"/usr/lib/systemd/system/{name}.service", text())
    server.run(f"systemctl daemon-reload; systemctl mask {name}")
    step = failed(server.apply([ensure(name, state="started")]), name)
    assert "is masked and cannot be started; set 'masked: false' to unmask it" in step.error.message
    step = failed(server.apply([ensure(name, enabled=True)]), name)
    assert "is masked and cannot be enabled" in step.error.message
    steps = [ensure(name, state="started", enabled=True, masked=False)]
    done = server.apply(steps)
    assert done.result == "changed" and done.steps[name].changes["masked"] == {
        "old": True, "new": False}  # fmt: skip
    assert show(server, name, "ActiveState") == "active"
    assert server.apply(steps).result == "ok"
    done = server.apply([ensure(name, state="stopped", enabled=False, masked=True)])
    assert done.result == "changed"
    assert show(server, name, "LoadState") == "masked"
    assert server.apply([ensure(name, state="stopped", masked=True)]).result == "ok"


def test_mask_that_systemd_has_not_read_is_read(server):
    """As left by a run that dies between the link and the reload."""
    name = fresh()
    server.write(f"/usr/lib/systemd/system/{name}.service", text())
    server.run(f"systemctl daemon-reload; systemctl start {name}")
    server.run(["ln", "-s", "/dev/null", f"/etc/systemd/system/{name}.service"])
    assert show(server, name, "LoadState") == "loaded"
    assert server.apply([ensure(name, masked=True)]).result == "changed"
    assert show(server, name, "LoadState") == "masked"
    assert server.apply([ensure(name, masked=True)]).result == "ok"
    server.run(["rm", f"/etc/systemd/system/{name}.service"])
    steps = [ensure(name, masked=False, state="restarted")]
    assert server.apply(steps).result == "changed"


def test_unit_masked_until_the_next_boot_is_unmasked(server):
    name = fresh()
    server.write(f"/usr/lib/systemd/system/{name}.service", text())
    server.run(f"systemctl daemon-reload; systemctl mask --runtime {name}")
    assert server.apply([ensure(name, state="started", masked=False)]).result == "changed"
    assert server.apply([ensure(name, state="started", masked=False)]).result == "ok"


def test_masking_does_not_discard_an_own_unit_file(server):
    name = fresh()
    put(server, name, text())
    step = failed(server.apply([ensure(name, masked=True)]), name)
    assert "exists" in step.error.message
    assert server.exists(f"/etc/systemd/system/{name}.service")


def test_unknown_unit_is_an_error_with_a_suggestion(server):
    step = failed(server.apply([ensure("crno", state="started")]), "crno")
    assert step.error.message == (
        "unit 'crno.service' not found; did you mean 'cron.service'?"
    )
    step = failed(server.apply([ensure("zzyzx.timer", enabled=True)]), "zzyzx.timer")
    assert step.error.message == "unit 'zzyzx.timer' not found"


def test_plan_expects_an_unknown_unit_to_appear(server):
    name = fresh()
    done = server.plan([unit(name, text()), ensure(name, state="started", enabled=True)])
    assert done.result == "changed"
    assert done.steps[name].result == "changed"
    assert f"'{name}.service' is provided by step" in done.steps[name].reason


def test_unknown_unit_counts_as_stopped(server):
    done = server.apply([ensure("telnetd", state="stopped", enabled=False)])
    assert done.result == "ok" and done.steps["telnetd"].state == "stopped"
    done = server.apply([ensure("telnetd", masked=True)])
    assert done.result == "changed"
    assert server.apply([ensure("telnetd", masked=True)]).result == "ok"
    assert server.apply([ensure("telnetd", masked=False)]).result == "changed"


def test_unit_without_install_section_cannot_be_enabled(server):
    name = fresh()
    put(server, name, text(install=None))
    step = failed(server.apply([ensure(name, enabled=True)]), name)
    assert "it has no [Install] section" in step.error.message
    assert server.apply([ensure(name, enabled=False)]).result == "ok"


def test_alias_means_the_unit_itself(server):
    done = server.apply([ensure("sshd", state="started")])
    assert done.exit == 0
    assert show(server, "ssh.service", "ActiveState") == "active"
    assert server.apply([ensure("sshd", state="started", enabled=True)]).result == "ok"


def test_oneshot_runs_every_time_unless_it_remains(server):
    name, stays = fresh("once"), fresh("once")
    put(server, name, text(SH.format(f"echo ran >> /run/{name}.log"), "Type=oneshot"))
    put(server, stays, text("/bin/true", "Type=oneshot", "RemainAfterExit=yes"))
    steps = [ensure(name, state="started"), ensure(stays, state="started")]
    done = server.apply(steps)
    assert done.steps[name].changes["state"]["new"] == "finished"
    assert done.steps[name].state == "stopped" and done.steps[stays].state == "running"
    done = server.apply(steps)
    assert (done.steps[name].result, done.steps[stays].result) == ("changed", "ok")
    assert server.read(f"/run/{name}.log").split() == ["ran", "ran"]


def test_service_that_starts_slowly_is_waited_for(server):
    name = fresh("slow")
    put(server, name, text("/usr/bin/sleep 1000", f"ExecStartPre=/usr/bin/sleep 1",
                           f"ExecStartPost={SH.format(f'sleep 1; touch /run/{name}')}"))  # fmt: skip
    assert server.apply([ensure(name, state="started")]).steps[name].state == "running"
    assert server.exists(f"/run/{name}")


def test_crash_is_detected_while_the_unit_settles_and_not_after(server):
    name = fresh("late")
    put(server, name, text(SH.format("sleep 1; echo too late; exit 1")))
    step = failed(server.apply([ensure(name, state="started", settle="10s")]), name)
    assert "too late" in step.error.message and step.duration_ms < 9000
    assert server.apply([ensure(name, state="started", settle="0s")]).result == "changed"


def test_other_kinds_of_units(server):
    name = fresh()
    server.mkdir(f"/srv/{name}")
    put(server, f"{name}.service", text("/bin/true", "Type=oneshot"))
    put(server, f"{name}.timer", "[Timer]\nOnCalendar=yearly\n[Install]\nWantedBy=timers.target\n")
    put(server, f"{name}.socket", f"[Socket]\nListenStream=/run/{name}.sock\nAccept=no\n"
        "[Install]\nWantedBy=sockets.target\n")  # fmt: skip
    put(server, f"srv-{name}.mount", f"[Mount]\nWhat=tmpfs\nWhere=/srv/{name}\nType=tmpfs\n")
    put(server, f"{name}@.service",
        text("/usr/bin/sleep 1000", "Environment=NAME=%i", install="multi-user.target"))
    steps = [
        ensure(f"{name}.timer", state="started", enabled=True),
        ensure(f"{name}.socket", state="started", enabled=True),
        ensure(f"srv-{name}.mount", state="started"),
        ensure(f"{name}@blue", state="started", enabled=True),
    ]
    assert server.apply(steps).result == "changed"
    server.run(f"mountpoint /srv/{name}; test -S /run/{name}.sock")
    assert show(server, f"{name}@blue", "ActiveState") == "active"
    assert server.apply(steps).result == "ok"
    for step in steps:
        step["service.ensure"][1] = {"state": "stopped"}
    assert server.apply(steps).result == "changed"
    assert server.apply(steps).result == "ok"
    assert not server.exists(f"/run/{name}.sock.x")


def test_service_restarted_by_a_socket_is_reported(server):
    name = fresh()
    put(server, name, text())
    put(server, f"{name}.socket", f"[Socket]\nListenStream=/run/{name}.sock\n")
    server.run(["systemctl", "start", f"{name}.socket", name])
    done = server.apply([ensure(name, state="stopped")])
    assert done.steps[name].reason == f"stopped; {name}.socket can start it again"
    assert done.steps[name].state == "stopped"


def test_failed_mount_is_reported(server):
    name = fresh()
    put(server, f"srv-{name}.mount",
        f"[Mount]\nWhat=/dev/nonexistent\nWhere=/srv/{name}\nType=ext4\n[Unit]\nJobTimeoutSec=1\n")
    step = failed(server.apply([ensure(f"srv-{name}.mount", state="started")]),
                  f"srv-{name}.mount")  # fmt: skip
    assert f"srv-{name}.mount did not start" in step.error.message


def test_template_can_be_enabled_and_has_no_state(server):
    name = fresh()
    put(server, f"{name}@.service", text() + "DefaultInstance=main\n")
    steps = [ensure(f"{name}@", enabled=True)]
    assert server.apply(steps).result == "changed"
    assert server.exists(f"/etc/systemd/system/multi-user.target.wants/{name}@main.service")
    assert server.apply(steps).result == "ok"
    done = server.apply([ensure(f"{name}@", state="started")])
    assert done.exit != 0 and "is a template" in done.errors, done


def test_many_units_at_once(server):
    names = [fresh("many") for _ in range(12)]
    steps = [unit(name, text()) for name in names]
    steps += [ensure(name, state="started", enabled=True) for name in names]
    done = server.apply(steps, "--order", "justdoit")
    assert done.result == "changed" and done.counts["failed"] == 0
    assert server.apply(steps, "--order", "genius").result == "ok"


def test_restarted_and_reloaded_are_done_every_time(server):
    name = fresh()
    put(server, name, text(SH.format(f"echo start >> /run/{name}.log; exec sleep 1000"),
                           f"ExecReload={SH.format(f'echo reload >> /run/{name}.log')}"))  # fmt: skip
    for _ in range(2):
        assert server.apply([ensure(name, state="restarted")]).result == "changed"
    assert server.apply([ensure(name, state="reloaded")]).result == "changed"
    server.wait_for(f"grep -q reload /run/{name}.log")
    assert server.read(f"/run/{name}.log").split() == ["start", "start", "reload"]


# --- User and scope --------------------------------------------------------------------------


def test_missing_systemd_is_reported(light):
    host = light()
    for run in (host.plan, host.apply):
        step = failed(run([ensure("cron", state="started")]), "cron")
        assert "not booted with systemd" in step.error.message


def test_without_a_bus_root_reaches_systemd_nevertheless(systemd):
    host = systemd()
    host.run("systemctl stop dbus.service dbus.socket 2>/dev/null; test ! -S /run/dbus/system_bus_socket"
             " || rm /run/dbus/system_bus_socket")  # fmt: skip
    name = fresh()
    done = host.apply([unit(name, text()), ensure(name, state="started", enabled=True)])
    assert done.result == "changed"


def as_user(host, user, steps):
    path = host.put_site(steps)
    host.run(["chmod", "-R", "a+rX", path])
    return host.run(
        ["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", "eden", "apply", path,
         "--state-dir", f"/run/{user}", "--progress", "none"], check=False,
    )  # fmt: skip


def test_other_users_reach_systemd_over_the_bus_with_permission(server):
    """An ordinary user uses the system bus; polkit decides."""
    name = fresh()
    put(server, name, text())
    server.run("id op >/dev/null 2>&1 || useradd op; install -d -o op /run/op")
    steps = [ensure(name, state="started")]
    done = as_user(server, "op", steps)
    assert done.returncode == 1
    assert "uthentication" in done.stdout + done.stderr or "denied" in done.stdout + done.stderr
    rule = ('polkit.addRule(function(action, subject) { if (action.id == '
            '"org.freedesktop.systemd1.manage-units" && subject.user == "op") '
            'return polkit.Result.YES; });\n')  # fmt: skip
    server.write("/etc/polkit-1/rules.d/10-op.rules", rule, mode=0o644)
    server.run(["systemctl", "restart", "polkit"])
    done = as_user(server, "op", steps)
    assert done.returncode == 0, done
    assert show(server, name, "ActiveState") == "active"
    broken = fresh("broken")
    put(server, broken, text(SH.format("exit 9")))
    done = as_user(server, "op", [ensure(broken, state="started")])
    assert done.returncode == 1 and "exited with code 9" in done.stdout + done.stderr


def test_status_reports_the_state_of_a_unit(server):
    name = fresh()
    put(server, name, text())
    ask = {"name": "ask", "template.expression": [
        {"content": f"{{{{ macros['service.status']('{name}') }}}}"}]}  # fmt: skip
    send = {"name": "tell", "test.ok": [], "conditions": {"success": {"condition": (
        "steps['ask'].value.exists and not steps['ask'].value.enabled and"
        f" steps['ask'].value.name == '{name}.service'"
        " and steps['ask'].value.state == 'stopped'")}}}  # fmt: skip
    assert server.apply([ask, send]).result == "ok"
    step = {"name": "how", "service.status": [{"name": name}]}
    assert server.apply([step]).steps["how"].state == "stopped"
    server.run(["systemctl", "start", name])
    assert server.apply([step]).steps["how"].state == "running"
    when = {"name": "only when it runs", "test.changed": [], "conditions": {
        "when": {"condition": f"macros['service.status']('{name}').state == 'running'"}}}  # fmt: skip
    assert server.apply([when]).result == "changed"
    server.run(["systemctl", "stop", name])
    assert server.apply([when]).steps["only when it runs"].result == "skipped"


def test_condition_sees_the_state_of_a_service(server):
    name = fresh()
    put(server, name, text())
    done = server.apply([
        ensure(name, step="start it", state="started"),
        {"name": "check", "test.ok": [], "require": [{"step": "start it"}],
         "conditions": {"success": {"condition": "steps['start it'].State == 'running'"}}},
    ])  # fmt: skip
    assert done.steps["check"].result == "ok"
