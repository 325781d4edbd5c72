"""A package upgraded or removed by a child process of the agent: dpkg is not killed with the agent.
"""

import json

import pytest

NEXT = "0.1.1~next"
# Moves itself into the agent's cgroup, like processes started by an agent.
ENTER = r"""
while IFS=: read -r id names path; do
    case $names in
    "") places="/sys/fs/cgroup /sys/fs/cgroup/unified" ;;
    name=systemd) places=/sys/fs/cgroup/systemd ;;
    *) continue ;;
    esac
    for place in $places; do
        [ ! -e "$place$path/cgroup.procs" ] || echo $$ > "$place$path/cgroup.procs"
    done
done < /proc/$(systemctl show --value -p MainPID eden)/cgroup
grep -q '/eden.service' /proc/self/cgroup || exit 3
"""
# Has more work to do afterward.
UPGRADE = ENTER + r"""
dpkg -i /srv/next.deb || exit 4
echo upgraded > /tmp/upgraded
read -r line < /tmp/more
echo "$line" > /tmp/ended
"""


def show(host, unit, name):
    return host.run(["systemctl", "show", "--value", "-p", name, unit]).out


def versions(host):
    """The agents that the server knows; none while it restarts."""
    done = host.run(["eden", "nodes", "list", "-o", "json"], check=False)
    items = [] if done.returncode else json.loads(done.stdout)["items"]
    return [each["status"].get("version") for each in items if each["status"]["state"] == "alive"]


def found(host):
    """Creates a cluster on this machine."""
    host.run(["eden", "init", "--cluster", "blue", "--name", host.name, "--address", host.address])
    host.run("systemctl enable --now eden")
    host.wait_for(lambda: versions(host) == ["0.1.0"], what="the agent")
    return host


@pytest.mark.parametrize("root", ["bookworm", "trixie"])
def test_an_upgrade_started_by_the_agent_completes(installed, root):
    host = found(installed(root))
    old = {unit: show(host, unit, "MainPID") for unit in ("eden", "eden-server")}
    host.run("mkfifo /tmp/more")
    upgrade = host.popen(UPGRADE)
    host.wait_for(lambda: host.exists("/tmp/upgraded") or upgrade.poll() is not None, what="dpkg")
    assert upgrade.poll() is None
    assert host.run("dpkg-query -W -f '${Status} ${Version}' eden").out == f"install ok installed {NEXT}"
    # A process started by the agent still runs, so the agent stays.
    host.wait_for("journalctl -u eden | grep -q 'will restart when its child processes have exited'", what="its word")
    assert {unit: show(host, unit, "MainPID") for unit in old} == old
    host.run("echo finished > /tmp/more")
    assert upgrade.wait(30) == 0
    assert host.read("/tmp/ended") == "finished\n"
    host.wait_for(lambda: versions(host) == [NEXT], what="the new agent")
    new = {unit: show(host, unit, "MainPID") for unit in old}
    assert all(new[unit] not in (old[unit], "0") for unit in old), (old, new)
    assert show(host, "eden", "NRestarts") == "1"
    assert show(host, "eden", "Result") == "success"
    assert host.run("dpkg -V eden").out == ""


def test_a_removal_started_by_the_agent_stops_it_afterwards(installed):
    host = found(installed("trixie"))
    host.run(ENTER + "exec dpkg -r eden")
    assert host.run("dpkg-query -W -f '${Status}' eden").out == "deinstall ok config-files"
    host.wait_for("! pgrep -f 'eden (agent|serve)'", what="the end of the daemons")
    host.wait_for(lambda: show(host, "eden", "ActiveState") == "inactive", what="the end of the unit")
