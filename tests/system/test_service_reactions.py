"""What services do when something that they watch or listen to changes, and which reactions they
owe.
"""

from units import counted, ensure, file, fresh, log, put, text, unit


def test_watching_service_restarts_once_for_many_changes(server):
    name = fresh()
    put(server, name, counted(name))

    def site(version):
        return [
            file(f"/etc/{name}.1", version, step="one"),
            file(f"/etc/{name}.2", version, step="two"),
            ensure(name, state="started", watch=[{"step": "one"}, {"step": "two"}]),
        ]

    server.apply(site("a"))
    assert log(server, name) == ["start"]
    done = server.apply(site("b"))
    assert log(server, name) == ["start", "start"]
    assert done.steps[name].result == "changed" and done.steps[name].reacted
    assert done.steps[name].changes == {"reaction": {"new": "restarted"}}
    assert done.steps[name].state == "running"
    done = server.apply(site("b"))
    assert done.result == "ok" and log(server, name) == ["start", "start"]


def test_reload_true_reloads_instead(server):
    name = fresh()
    put(server, name, counted(name))

    def site(version):
        return [file(f"/etc/{name}", version),
                ensure(name, state="started", reload=True, watch=[{"step": "conf"}])]  # fmt: skip

    server.apply(site("a"))
    assert log(server, name) == ["start"]
    done = server.apply(site("b"))
    assert log(server, name) == ["start", "reload"]
    assert done.steps[name].changes == {"reaction": {"new": "reloaded"}}


def test_unit_that_cannot_reload_restarts_instead(server):
    name = fresh()
    put(server, name, counted(name).replace("ExecReload=", "#"))
    steps = [file(f"/etc/{name}", "a"),
             ensure(name, state="started", reload=True, watch=[{"step": "conf"}])]  # fmt: skip
    server.run(["systemctl", "start", name])
    assert server.apply(steps).result == "changed"
    assert log(server, name) == ["start", "start"]


def test_service_that_was_just_started_does_not_restart(server):
    name = fresh()
    done = server.apply([
        unit(name, counted(name)),
        ensure(name, state="started", enabled=True, watch=[{"step": f"{name} file"}]),
    ])  # fmt: skip
    assert done.result == "changed"
    assert log(server, name) == ["start"]


def test_listening_service_restarts_at_the_end(server):
    name = fresh()
    put(server, name, counted(name))
    server.run(["systemctl", "start", name])
    done = server.apply([
        ensure(name, state="started", listen=[{"step": "conf"}]),
        file(f"/etc/{name}", "a"),
    ])  # fmt: skip
    assert done.result == "changed" and done.steps[name].reacted
    assert log(server, name) == ["start", "start"]


def test_listening_service_restarts_when_it_was_started_before_the_change(server):
    name = fresh()
    put(server, name, counted(name))
    server.apply([
        ensure(name, state="started", listen=[{"step": "conf"}]),
        file(f"/etc/{name}", "a"),
    ])  # fmt: skip
    assert log(server, name) == ["start", "start"]


def test_listening_service_does_not_restart_when_it_was_started_after_the_change(server):
    name = fresh()
    put(server, name, counted(name))
    server.apply([
        file(f"/etc/{name}", "a"),
        ensure(name, state="started", listen=[{"step": "conf"}]),
    ])  # fmt: skip
    assert log(server, name) == ["start"]


def test_stopped_service_is_not_started_by_a_change(server):
    name, quiet = fresh(), fresh()
    put(server, name, counted(name))
    put(server, quiet, counted(quiet))
    done = server.apply([
        file(f"/etc/{name}", "a"),
        ensure(name, state="stopped", watch=[{"step": "conf"}]),
        ensure(quiet, watch=[{"step": "conf"}]),
    ])  # fmt: skip
    assert done.exit == 0
    assert log(server, name) == [] and log(server, quiet) == []


def test_running_service_restarts_even_if_its_state_is_not_managed(server):
    name = fresh()
    put(server, name, counted(name))
    server.run(["systemctl", "start", name])
    server.apply([file(f"/etc/{name}", "a"), ensure(name, watch=[{"step": "conf"}])])
    assert log(server, name) == ["start", "start"]


def test_unit_file_changed_by_others_is_loaded_before_the_restart(server):
    """file.managed does not notify systemd; the reaction detects that it has to."""
    name = fresh()
    path = f"/etc/systemd/system/{name}.service"
    steps = [file(path, text("/usr/bin/sleep 1000")),
             ensure(name, state="started", watch=[{"step": "conf"}])]  # fmt: skip
    server.apply(steps)
    steps[0] = file(path, text("/usr/bin/sleep 2000"))
    assert server.apply(steps).exit == 0
    assert "sleep 2000" in server.run(["systemctl", "status", name]).out


def failing_in_between(name, version, fails):
    return [
        file(f"/etc/{name}", version),
        {"name": "between", f"test.{'failed' if fails else 'ok'}": []},
        ensure(name, state="started", watch=[{"step": "conf"}], require=[{"step": "between"}]),
    ]


def test_owed_restart_happens_in_the_next_run(server):
    name = fresh()
    put(server, name, counted(name))
    server.run(["systemctl", "start", name])
    done = server.apply(failing_in_between(name, "a", True))
    assert done.steps[name].result == "blocked"
    assert [(debt["step"], debt["unit"]) for debt in done.owed] == [
        (f"site#{name}", f"{name}.service")
    ]
    done = server.apply(failing_in_between(name, "a", False))
    assert log(server, name) == ["start", "start"] and done.owed == []
    done = server.apply(failing_in_between(name, "a", False))
    assert done.result == "ok" and log(server, name) == ["start", "start"]


def test_owed_restart_ends_if_the_unit_was_restarted(server):
    name = fresh()
    put(server, name, counted(name))
    server.run(["systemctl", "start", name])
    server.apply(failing_in_between(name, "a", True))
    server.run(["systemctl", "restart", name])
    assert log(server, name) == ["start", "start"]
    planned = server.plan(failing_in_between(name, "a", False))
    assert planned.steps[name].result == "ok" and planned.owed == []
    done = server.apply(failing_in_between(name, "a", False))
    assert done.result == "ok" and done.owed == []
    assert f"'{name}.service' has been restarted since" in done.stderr
    assert log(server, name) == ["start", "start"]
    done = server.apply(failing_in_between(name, "a", False))
    assert "restarted since" not in done.stderr


def test_owed_restart_remains_if_the_unit_was_started_before_the_change(server):
    name = fresh()
    put(server, name, counted(name))
    server.run(["systemctl", "start", name])
    server.apply(failing_in_between(name, "a", True))
    planned = server.plan(failing_in_between(name, "a", False))
    assert planned.steps[name].result == "changed" and len(planned.owed) == 1


def test_owed_restart_ends_with_a_reboot(systemd):
    host = systemd()
    name = fresh()
    put(host, name, counted(name))
    host.run(["systemctl", "enable", "--now", name])
    host.apply(failing_in_between(name, "a", True))
    host.reboot()
    done = host.apply(failing_in_between(name, "a", False))
    assert done.result == "ok" and done.owed == []
    assert log(host, name) == ["start"]  # /run is per boot


def test_restart_that_fails_fails_the_step_and_stays_owed(server):
    name = fresh()
    command = f"/bin/sh -c 'test -e /etc/{name} && {{ echo bad setting; exit 5; }}; exec sleep 1000'"
    put(server, name, text(command))
    server.run(["systemctl", "start", name])
    steps = [file(f"/etc/{name}", "a"), ensure(name, state="started", watch=[{"step": "conf"}])]
    done = server.apply(steps)
    step = done.steps[name]
    assert step.result == "failed" and step.state == "failed"
    assert "did not restart: it exited with code 5" in step.error.message
    assert "bad setting" in step.error.message
    assert len(done.owed) == 1
