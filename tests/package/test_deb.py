"""The Debian package: installed, run, removed, purged, on a machine with systemd."""

import json
import re

import pytest

from lab import snapshot

NOISE = ["/var/lib/dpkg", "/var/log"]  # notes of other tests about completed actions


def ask(host, *words):
    return json.loads(host.run(["eden", *words, "-o", "json"]).stdout)


def show(host, unit, name):
    return host.run(["systemctl", "show", "--value", "-p", name, unit]).out


def alive(host):
    done = host.run(["eden", "nodes", "list", "-o", "json"], check=False)
    return done.returncode == 0 and all(
        each["status"]["state"] == "alive" for each in json.loads(done.stdout)["items"])


def found(host):
    host.run(["eden", "init", "--cluster", "blue", "--name", host.name, "--address", host.address])
    host.run("systemctl enable --now eden")


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def server(request, lab, packages):
    """A server for each release, which the tests of this file use one after the other."""
    host = lab.systemd(request.param, layers=[packages])
    host.run("rm /usr/local/bin/eden")
    host.before = host.snapshot(without=NOISE)
    yield host
    host.close()


def test_it_installs_and_starts_nothing(server):
    server.run("dpkg -i /srv/eden.deb")
    assert server.run("dpkg -V eden").out == ""
    assert server.run("command -v eden").out == "/usr/bin/eden"
    assert server.run("systemctl is-enabled eden", check=False).out == "disabled"
    assert server.run("systemctl is-active eden", check=False).out == "inactive"
    assert server.run("getent passwd eden").out.split(":")[5:] == [
        "/var/lib/eden/server", "/usr/sbin/nologin"]  # fmt: skip
    assert server.run("stat -c '%a %U' /run/eden /run/eden/server /var/lib/eden").out.split() == [
        "755", "root", "755", "eden", "711", "root"]  # fmt: skip
    server.run("systemd-analyze verify --man=no eden.service eden-server.service")
    for path in ("man/man1/eden.1.gz", "man/man1/eden-agent.1.gz", "zsh/vendor-completions/_eden",
                 "bash-completion/completions/eden", "fish/vendor_completions.d/eden.fish",
                 "doc/eden/copyright", "doc/eden/changelog.gz", "doc/eden/eden.spdx.json"):  # fmt: skip
        assert server.exists(f"/usr/share/{path}"), path


def test_a_cluster_runs_and_its_server_is_up_at_once(server):
    found(server)
    # systemctl returned when both were ready: no waiting.
    assert ask(server, "nodes", "list")["items"][0]["status"]["server"]
    server.wait_for(lambda: alive(server), what="the node of the server")
    assert server.run(["eden", "doctor"], check=False).returncode == 0
    assert "session with" in show(server, "eden", "StatusText")
    assert "listening on ports" in show(server, "eden-server", "StatusText")
    for unit in ("eden", "eden-server"):
        assert show(server, unit, "StartLimitIntervalUSec") == "0", "it would be given up"
    for unit, seconds in (("eden", "1min"), ("eden-server", "30s")):
        assert show(server, unit, "Type") == "notify"
        assert show(server, unit, "WatchdogUSec") == seconds
        assert show(server, unit, "WatchdogTimestampMonotonic") != "0"


def test_the_server_is_sandboxed(server):
    pid = show(server, "eden-server", "MainPID")
    status = server.read(f"/proc/{pid}/status")
    user = server.run("id -u eden").out
    assert re.search(rf"^Uid:\t{user}\t{user}\t{user}\t{user}$", status, re.M)
    for line in ("CapEff:\t0+", "CapBnd:\t0+", "NoNewPrivs:\t1", "Seccomp:\t2"):
        assert re.search(f"^{line}$", status, re.M), line
    # Even root could not write anywhere else from inside the server's unit.
    inside = f"nsenter --mount --target {pid} touch"
    for path in ("/usr/x", "/etc/x", "/var/lib/eden/x", "/var/log/x"):
        assert server.run(f"{inside} {path}", check=False).returncode != 0, path
    server.run(f"{inside} /var/lib/eden/server/x && rm /var/lib/eden/server/x")
    assert server.run(f"{inside} /root/x", check=False).returncode != 0
    server.run("systemd-analyze security --threshold=30 eden-server.service")


def test_a_hanging_daemon_is_restarted(server):
    for unit in ("eden", "eden-server"):
        server.write(f"/run/systemd/system/{unit}.service.d/soon.conf",
                     "[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n")
    server.run("systemctl daemon-reload && systemctl restart eden")
    for unit in ("eden-server", "eden"):
        pid, restarts = show(server, unit, "MainPID"), int(show(server, unit, "NRestarts"))
        # It pets the watchdog while it is healthy ...
        fed = show(server, unit, "WatchdogTimestampMonotonic")
        server.wait_for(lambda: show(server, unit, "WatchdogTimestampMonotonic") != fed, what="food")
        assert show(server, unit, "MainPID") == pid
        # ... and stops when its loop hangs.
        server.run(["kill", "-STOP", pid])
        server.wait_for(lambda: int(show(server, unit, "NRestarts")) > restarts
                        and show(server, unit, "ActiveState") == "active", what="a restart")
        assert show(server, unit, "MainPID") != pid
        server.run(f"journalctl -u {unit} | grep -q 'Watchdog timeout'")
    server.run("rm -r /run/systemd/system/eden*.service.d")
    server.run("systemctl daemon-reload && systemctl restart eden")
    server.wait_for(lambda: alive(server), what="the node of the server")


def test_options_of_the_conffile_apply_and_survive_an_upgrade(server):
    server.run("""echo 'EDEN_SERVER_OPTIONS="--log-level debug"' >> /etc/default/eden""")
    server.run("systemctl restart eden")
    pid = show(server, "eden-server", "MainPID")
    assert server.read(f"/proc/{pid}/cmdline").endswith("--log-level\0debug\0")
    assert re.fullmatch(r"\S*5\S* c /etc/default/eden", server.run("dpkg -V eden").out)
    server.run("dpkg --force-confold -i /srv/next.deb")
    assert "debug" in server.read("/etc/default/eden")
    assert show(server, "eden-server", "MainPID") != pid
    assert server.run("eden version").out == "eden 0.1.1~next"
    server.wait_for(lambda: alive(server), what="the node of the server")


def test_stopped_daemons_stay_stopped_in_an_upgrade(server):
    server.run("systemctl stop eden")
    server.run("dpkg -i /srv/eden.deb")  # back to the first one
    assert server.run("systemctl is-active eden eden-server", check=False).out.split() == [
        "inactive", "inactive"]  # fmt: skip


def test_reinstalled_after_removal_it_continues(server):
    server.run("systemctl start eden && eden put /kept yes")
    server.run("dpkg -r eden")
    assert server.run("pgrep -f 'eden (agent|serve)'", check=False).returncode == 1
    assert not server.exists("/usr/bin/eden") and server.exists("/etc/default/eden")
    server.run("dpkg -i /srv/eden.deb")
    server.run("systemctl start eden")
    assert server.run("eden get /kept").out == "yes"
    assert server.run("systemctl is-enabled eden").out == "enabled"


def test_purging_leaves_the_cluster_and_the_documented_files(server):
    done = server.run("dpkg --purge eden")
    assert "/var/lib/eden/server contains the CA and the store of a cluster" in done.stderr
    assert server.exists("/var/lib/eden/server/ca.pem")
    assert not server.exists("/run/eden")
    server.run("rm -r /var/lib/eden")
    # The user is kept, as Debian policy recommends.
    left = snapshot.differences(server.before, server.snapshot(without=NOISE))
    known = re.compile(r"/etc/(passwd|shadow|group|gshadow)-?\b|/etc/\.pwd\.lock|/root/")
    assert [line for line in left if not known.search(line)] == []


def test_it_installs_without_a_running_systemd(light, packages):
    """In a container, or in a root that is being built."""
    host = light("trixie", layers=[packages])
    host.run("rm /usr/local/bin/eden && dpkg -i /srv/eden.deb && dpkg -i /srv/next.deb")
    assert host.run("id -un eden").out == "eden"
    assert host.run("dpkg -V eden").out == ""
    assert host.run("eden version").out == "eden 0.1.1~next"
    host.run("dpkg --purge eden")
    assert not host.exists("/var/lib/eden")


def test_a_purged_node_leaves_nothing(installed):
    host = installed()
    host.run("mkdir -p /var/lib/eden/agent && echo secret > /var/lib/eden/agent/node.pem")
    host.run("systemctl enable --now eden")
    host.run("dpkg --purge eden")
    for path in ("/var/lib/eden", "/run/eden", "/etc/eden", "/etc/default/eden",
                 "/etc/systemd/system/multi-user.target.wants/eden.service"):  # fmt: skip
        assert not host.exists(path), path


@pytest.mark.parametrize("place", ["/run/eden", "/run/eden/server", "/var/lib/eden"])
def test_purging_continues_if_something_is_in_use(light, packages, place):
    host = light("bookworm", layers=[packages])
    host.run("rm /usr/local/bin/eden && dpkg -i /srv/eden.deb")
    host.run("mkdir -p /var/lib/eden/agent && echo secret > /var/lib/eden/agent/node.pem")
    host.run(f"mkdir -p {place} && mount -t tmpfs none {place} && echo secret > {place}/here")
    done = host.run("dpkg --purge eden")
    assert "is in use" in done.stderr
    assert "eden" not in host.run("dpkg -l | awk '{print $2}'").out.split()
    assert not host.exists(f"{place}/here")
    for path in {"/var/lib/eden", "/run/eden"} - {place} - {"/run/eden" if "/run" in place else ""}:
        assert not host.exists(path), path
