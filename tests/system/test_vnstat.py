"""The example site vnstat on a bare host, with its package from a repository of the lab."""

import pathlib

import pytest

from lab import repos

SITE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "vnstat"
INSTALL, START, PAUSE, CHECK = (
    "install vnstat package", "start vnstat", "wait some time",
    "check if vnstat is producing metrics",
)  # fmt: skip


def site():
    """As shipped, with a shorter pause."""
    files = {
        str(path.relative_to(SITE)): path.read_text() for path in sorted(SITE.rglob("*.yaml"))
    }
    assert "time: 15s" in files["jobs/vnstat.yaml"]
    files["jobs/vnstat.yaml"] = files["jobs/vnstat.yaml"].replace("time: 15s", "time: 10ms")
    return files


@pytest.fixture(params=["bookworm", "trixie"])
def host(request, systemd):
    made = systemd(request.param, repos=True)
    repos.use(made, "apt")
    return made


def results(done):
    return [done.steps[name].result for name in (INSTALL, START, PAUSE, CHECK)]


def test_bare_host_gets_a_running_service(host):
    planned = host.plan(site())
    assert planned.result == "changed" and planned.counts["failed"] == 0
    assert planned.steps[INSTALL].result == planned.steps[START].result == "changed"
    done = host.apply(site())
    assert done.exit == 0 and done.counts["failed"] == 0, done
    assert done.steps[INSTALL].result == "changed"
    assert done.steps[START].state == "running"
    assert done.steps[CHECK].stdout == "vnStat 2.10\n"
    host.run(["systemctl", "is-active", "vnstat"])
    again = host.apply(site())
    assert results(again)[:2] == ["ok", "ok"] and again.counts["failed"] == 0
    host.run(["systemctl", "stop", "vnstat"])
    repaired = host.apply(site())
    assert results(repaired)[:2] == ["ok", "changed"] and repaired.steps[START].cause == "drift"


def test_failed_service_shows_the_reason_and_blocks_the_rest(host):
    host.run("DEBIAN_FRONTEND=noninteractive apt-get -qq -y install vnstat")
    host.run("echo 'Fail yes' >> /etc/vnstat.conf; systemctl stop vnstat")
    done = host.apply(site())
    assert done.exit == 1
    assert results(done) == ["ok", "failed", "blocked", "blocked"]
    step = done.steps[START]
    assert step.state == "failed"
    assert step.error.message == (
        "vnstat.service did not start: it exited with code 1; its journal ends with: "
        'Error: the database "/var/lib/vnstat/vnstat.db" is not readable.'
    )
    assert "is not readable" in step.stderr
    shown = host.eden("apply", "/tmp/site")
    assert 'Error: the database "/var/lib/vnstat/vnstat.db" is not readable.' in shown.stdout
    host.run("sed -i '/Fail/d' /etc/vnstat.conf")
    assert results(host.apply(site()))[:2] == ["ok", "changed"]


@pytest.mark.parametrize("order", ["ansible", "justdoit", "genius"])
def test_service_follows_the_package_of_the_same_name(systemd, order):
    host = systemd(repos=True)
    repos.use(host, "apt")
    done = host.apply([
        {"name": "service", "service.ensure": [{"name": "vnstat"}, {"state": "started"}]},
        {"name": "package", "pkg.installed": [{"name": "vnstat"}, {"refresh": True}]},
    ], "--order", order)  # fmt: skip
    assert done.exit == 0 and done.steps["service"].state == "running", done
    done = host.apply([
        {"name": "service", "service.ensure": [{"name": "vnstat"}, {"state": "stopped"}]},
        {"name": "package", "pkg.removed": [{"name": "vnstat"}]},
    ], "--order", order)  # fmt: skip
    assert done.exit == 0, done
    assert done.steps["service"].run_order < done.steps["package"].run_order
