"""Unit files: systemd knows them as soon as they exist, also after the run died in between."""

import json

import pytest

from units import ensure, fresh, put, show, text, unit


def loaded_command(host, name):
    return show(host, name, "ExecStart")


def test_unit_is_loaded_when_written(server):
    name = fresh()
    assert server.apply([unit(name, text("/usr/bin/sleep 1000"))]).result == "changed"
    assert "sleep 1000" in loaded_command(server, name)
    assert server.run(f"stat -c '%U %G %a' /etc/systemd/system/{name}.service").out == "root root 644"
    assert server.apply([unit(name, text("/usr/bin/sleep 2000"))]).result == "changed"
    assert "sleep 2000" in loaded_command(server, name)
    assert server.apply([unit(name, text("/usr/bin/sleep 2000"))]).result == "ok"


def test_drop_in_changes_a_part_and_is_removed_again(server):
    name = fresh()
    usual = server.run("ps -o ni= -p 1").out.strip()  # not 0 under 'nice make test'
    server.write(f"/usr/lib/systemd/system/{name}.service", text())
    steps = [unit(name, "[Service]\nNice=7\n", dropin="nice"),
             ensure(name, state="started", watch=[{"step": f"{name} file"}])]  # fmt: skip
    assert server.apply(steps).result == "changed"
    assert show(server, name, "Nice") == "7"
    steps[0] = unit(name, "[Service]\nNice=9\n", dropin="nice")
    assert server.apply(steps).steps[name].reacted
    pid = show(server, name, "MainPID")
    assert server.run(f"ps -o ni= -p {pid}").out.strip() == "9"
    gone = {"name": "gone", "service.unit": [{"name": name}, {"dropin": "nice"}, {"absent": True}]}
    assert server.apply([gone]).result == "changed"
    assert show(server, name, "Nice") == usual
    assert server.apply([gone]).result == "ok"


def test_absent_unit_is_stopped_before_it_is_removed(server):
    name = fresh()
    server.apply([unit(name, text()), ensure(name, state="started", enabled=True)])
    steps = [
        ensure(name, state="stopped", enabled=False),
        {"name": "gone", "service.unit": [{"name": name}, {"absent": True}]},
    ]
    done = server.apply(steps, "--order", "justdoit")
    assert done.result == "changed" and done.counts["failed"] == 0
    assert show(server, name, "LoadState") == "not-found"
    assert server.apply(steps).result == "ok"


def test_plan_that_checks_twice_still_sees_removals(server):
    """For 'prereq' a plan first asks what would change, and again in its turn."""
    name = fresh()
    put(server, name, text())
    steps = [{"name": "before", "cmd.run": {"cmd": "true"}, "prereq": [{"step": "gone"}]},
             {"name": "gone", "service.unit": {"name": name, "absent": True}}]  # fmt: skip
    planned = server.plan(steps).steps
    assert planned["before"].result == "changed"
    assert planned["gone"].changes == {"state": {"old": "file", "new": "absent"}}


@pytest.mark.parametrize("order", ["ansible", "justdoit", "genius"])
def test_services_follow_their_files_in_any_file_order(server, order):
    name = fresh()
    done = server.apply([
        ensure(f"{name}@x", state="started"),
        ensure(name, state="started"),
        unit(name, "[Service]\nNice=3\n", dropin="more", step="more"),
        unit(name, text()),
        unit(f"{name}@", text()),
    ], "--order", order)  # fmt: skip
    assert done.result == "changed", done
    assert show(server, name, "Nice") == "3"


def test_files_of_many_units_are_read_at_once(server):
    """The wrong one among them fails alone."""
    names = [fresh() for _ in range(5)]
    steps = [unit(name, text("/usr/bin/sleep 1000")) for name in names]
    steps[2] = unit(names[2], "[Service]\nType=oneshot\nRestart=always\nExecStart=/bin/true\n")
    loads = reloads(server)
    done = server.apply(steps, "--order", "genius")
    assert reloads(server) == loads + 1
    results = [done.steps[step["name"]].result for step in steps]
    assert results == ["changed", "changed", "failed", "changed", "changed"]
    assert all("sleep 1000" in loaded_command(server, name) for name in names if name != names[2])
    assert server.apply(steps[:2] + steps[3:], "--order", "genius").result == "ok"
    assert reloads(server) == loads + 1


def reloads(host):
    """How often systemd has reloaded its files."""
    host.run("journalctl --sync")
    output = host.run("journalctl -b -o cat _PID=1").stdout.splitlines()
    return sum(line.rstrip(".") == "Reloading" for line in output)


def test_service_below_a_root_is_enabled_and_masked(light):
    """With systemctl for the root, in which systemd does not run."""
    host = light("trixie")
    host.make_image("/srv/image")
    content = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    host.write("/srv/image/etc/systemd/system/shop.service", content)

    def apply(**wanted):
        params = [{"name": "shop"}, *({key: value} for key, value in wanted.items())]
        path = host.put_site([{"name": "it", "service.ensure": params}], "/srv/site")
        done = host.eden("apply", path, "--root", "/srv/image", "-o", "json", "--progress", "none")
        return json.loads(done.stdout)["steps"][0]["result"]

    link = "/srv/image/etc/systemd/system/multi-user.target.wants/shop.service"
    assert apply(enabled=True) == "changed" and host.run(["readlink", link]).out
    assert apply(enabled=True) == "ok"
    assert apply(enabled=False) == "changed" and not host.exists(link)
    assert apply(enabled=False) == "ok"


def test_unit_that_systemd_cannot_use_fails_its_step(server):
    name = fresh()
    steps = [unit(name, "[Service]\nType=simple\n")]
    for _ in range(2):
        done = server.apply(steps)
        assert done.exit == 1 and f"systemd cannot load {name}.service" in done.errors
        assert "ExecStart" in done.errors


def test_verify_rejects_an_invalid_unit(server):
    name = fresh()
    done = server.apply([unit(name, "[Service]\nType=simple\n", verify=True)])
    assert done.exit == 1 and "systemd-analyze exited with 1" in done.errors
    assert not server.exists(f"/etc/systemd/system/{name}.service")
    assert server.apply([unit(name, text(), verify=True)]).result == "changed"
    assert "eden" not in server.run("ls -A /tmp").out


# --- Between the file and the reload -----------------------------------------------------------


def written_but_not_loaded(host, path, content):
    """As left by a run that dies right after the file."""
    host.write(path, content)


def test_changed_unit_that_was_not_loaded_is_found(server):
    name = fresh()
    server.apply([unit(name, text("/usr/bin/sleep 1000")), ensure(name, state="started")])
    written_but_not_loaded(server, f"/etc/systemd/system/{name}.service", text("/usr/bin/sleep 2000"))
    steps = [unit(name, text("/usr/bin/sleep 2000"))]
    assert server.plan(steps).result == "changed"
    assert server.apply(steps).result == "changed"
    assert "sleep 2000" in loaded_command(server, name)
    assert server.apply(steps).result == "ok"


def test_unloaded_unit_that_overrides_another_is_found(server):
    """systemd itself does not notice a new file that takes precedence."""
    name = fresh()
    server.write(f"/usr/lib/systemd/system/{name}.service", text("/usr/bin/sleep 1000"))
    server.apply([ensure(name, state="started")])
    written_but_not_loaded(server, f"/etc/systemd/system/{name}.service", text("/usr/bin/sleep 2000"))
    assert show(server, name, "NeedDaemonReload") == "no"
    steps = [unit(name, text("/usr/bin/sleep 2000"))]
    assert server.apply(steps).result == "changed"
    assert "sleep 2000" in loaded_command(server, name)
    assert server.apply(steps).result == "ok"


def test_drop_in_that_was_not_loaded_is_found(server):
    name = fresh()
    server.apply([unit(name, text()), ensure(name, state="started")])
    written_but_not_loaded(
        server, f"/etc/systemd/system/{name}.service.d/x.conf", "[Service]\nNice=4\n"
    )
    steps = [unit(name, "[Service]\nNice=4\n", dropin="x")]
    assert server.apply(steps).result == "changed"
    assert show(server, name, "Nice") == "4"
    assert server.apply(steps).result == "ok"


def test_template_with_unloaded_instances_is_found(server):
    name = fresh()
    server.apply([unit(f"{name}@", text("/usr/bin/sleep 1000")), ensure(f"{name}@a", state="started")])
    written_but_not_loaded(
        server, f"/etc/systemd/system/{name}@.service", text("/usr/bin/sleep 2000")
    )
    steps = [unit(f"{name}@", text("/usr/bin/sleep 2000"))]
    assert server.apply(steps).result == "changed"
    assert "sleep 2000" in loaded_command(server, f"{name}@a")
    assert server.apply(steps).result == "ok"


def test_removed_unit_that_is_still_loaded_is_found(server):
    name = fresh()
    server.apply([unit(name, text()), ensure(name, state="started")])
    server.run(["rm", f"/etc/systemd/system/{name}.service"])
    steps = [{"name": "gone", "service.unit": [{"name": name}, {"absent": True}]}]
    assert server.apply(steps).result == "changed"
    assert show(server, name, "LoadState") == "not-found"
    assert server.apply(steps).result == "ok"


@pytest.mark.parametrize("watched", [True, False], ids=["watched", "alone"])
def test_killed_at_any_moment_the_next_run_leaves_no_traces(systemd, storage_path, watched):
    """kill -9 at every system call that changes something: afterward systemd has loaded what is on
    the disk, and a service that watches its unit runs with it."""
    host = systemd()
    host.write("/usr/lib/systemd/system/app.service", text("/usr/bin/sleep 1000"))
    host.run("systemctl daemon-reload; systemctl start app")
    host.run("cat > /run/storage.so", input=storage_path.read_bytes())

    def site(seconds):
        steps = [unit("app", text(f"/usr/bin/sleep {seconds}"))]
        if watched:
            steps.append(ensure("app", state="started", settle="0s", watch=[{"step": "app file"}]))
        return steps

    def apply(seconds, **env):
        path = host.put_site(site(seconds))
        env = {"LD_PRELOAD": "/run/storage.so", **{key: str(value) for key, value in env.items()}}
        return host.run(["eden", "apply", path, "--progress", "none"], env=env, check=False)

    def check(seconds):
        assert f"sleep {seconds}" in loaded_command(host, "app")
        assert show(host, "app", "NeedDaemonReload") == "no"
        if watched:
            pid = show(host, "app", "MainPID")
            command = host.run(f"tr '\\0' ' ' < /proc/{pid}/cmdline").out
            assert command.strip().endswith(f" {seconds}")

    assert apply(5000, EDEN_STORAGE_COUNT="/run/count").returncode == 0
    moments = int(host.read("/run/count"))
    assert moments > 10
    killed = 0
    for moment in range(1, moments + 1):
        if moment % 3 == 0:  # in some iterations the file is new, and takes precedence over another one
            host.run("rm /etc/systemd/system/app.service; systemctl daemon-reload")
        done = apply(6000 + moment, EDEN_STORAGE_KILL=moment)
        assert done.returncode in (0, -9, 137), done
        killed += done.returncode != 0
        done = apply(6000 + moment)
        assert done.returncode == 0, (moment, done)
        check(6000 + moment)
        assert host.eden("owed", "-o", "json").stdout.count("site#") == 0, moment
    assert killed > moments / 2
