"""A cluster of three hosts, each with its own network, disk and systemd."""

import json
import pathlib
import re

import pytest

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
BINARY = "/usr/local/bin/eden"  # as installed by the lab


def install(host):
    """What a package would install: the units, the user and the directories."""
    for name in ("eden", "eden-server"):
        unit = (PACKAGING / f"systemd/{name}.service.in").read_text()
        host.write(f"/etc/systemd/system/{name}.service", unit.replace("@bindir@", "/usr/local/bin"))
    for kind in ("sysusers.d", "tmpfiles.d"):
        host.write(f"/usr/lib/{kind}/eden.conf", (PACKAGING / kind / "eden.conf").read_text())
    host.run("systemd-sysusers && systemd-tmpfiles --create eden.conf && systemctl daemon-reload")


def ask(host, *words):
    """A command that prints JSON."""
    return json.loads(host.eden(*words, "-o", "json", check=True).stdout)


def node(server, name):
    return ask(server, "nodes", "show", name)


def wait_alive(server, *names, timeout=30):
    def all_alive():
        done = server.eden("nodes", "list", "-o", "json")
        if done.returncode != 0:
            return False  # it is restarting
        known = {each["metadata"]["name"]: each["status"]["state"]
                 for each in json.loads(done.stdout)["items"]}
        return all(known.get(name) == "alive" for name in names)

    server.wait_for(all_alive, timeout, f"{', '.join(names)} to be alive")


def wait_facts(server, name):
    def output():
        return server.eden("facts", "--node", name, "-o", "json").returncode == 0

    server.wait_for(output, what=f"the facts of {name}")
    return ask(server, "facts", "--node", name)


def servers_of(host):
    """Pids of the serving processes."""
    return set(host.run("pgrep -u eden -f '[e]den serve'", check=False).out.split())


def found(host):
    install(host)
    host.eden("init", "--cluster", "blue", "--name", host.name, "--address", host.address,
              check=True)
    host.run("systemctl enable --now eden")
    host.wait_for(lambda: host.eden("nodes", "list").returncode == 0, what="the server")


def join_by_token(server, host):
    install(host)
    line = ask(server, "tokens", "create", "--uses", "1")["status"]["join"]
    assert line.startswith("EDEN_JOIN_TOKEN=")
    host.run(f"{line} --name {host.name}")
    host.run("systemctl enable --now eden")


def join_by_ssh(server, host):
    """Without a token and without the CA's pin: the server connects to the machine to check it."""
    install(host)
    line = server.eden("nodes", "ssh-key", check=True).out.splitlines()[-1]
    host.write("/root/.ssh/authorized_keys", line + "\n", mode=0o600)
    waiting = host.popen(["eden", "join", "--server", server.address, "--name", host.name])
    server.wait_for(
        lambda: any(each["metadata"]["name"] == host.name for each in ask(server, "nodes")["items"]),
        what="the request to join")
    key = host.read("/etc/ssh/ssh_host_ed25519_key.pub").strip()
    server.eden("nodes", "approve", host.name, "--ssh", host.address, "--host-key", key, check=True)
    assert waiting.wait(timeout=60) == 0
    host.run("systemctl enable --now eden")


@pytest.fixture
def trio(systemd):
    """A server, a node that joined with a token, and one that joined over SSH."""
    server, first, second = (systemd(name=name) for name in ("s1", "web1", "web2"))
    for host in (server, first, second):
        for other in (server, first, second):
            host.run(f"grep -q ' {other.name}$' /etc/hosts || "
                     f"echo '{other.address} {other.name}' >> /etc/hosts")
    found(server)
    join_by_token(server, first)
    join_by_ssh(server, second)
    wait_alive(server, "s1", "web1", "web2")
    return server, first, second


def test_three_hosts_form_a_cluster_and_send_facts(trio):
    server, first, second = trio
    for host in trio:
        facts = wait_facts(server, host.name)
        assert facts["name"] == host.name
        assert facts["os"] == "debian"
    assert node(server, "s1")["status"]["server"] and not node(server, "web1")["status"]["server"]
    assert node(server, "web1")["status"]["token"] and not node(server, "web2")["status"]["token"]
    table = server.eden("nodes", "list", check=True).stdout
    assert re.search(r"^web1\b", table, re.M) and re.search(r"^web2\b", table, re.M)
    for host in trio:
        ping = ask(server, "nodes", "ping", host.name)
        assert ping["round_trip_ms"] >= 0
        done = host.eden("doctor")
        assert done.returncode == 0, done.stdout
    # The server does not run as root, and cannot do anything that only root can.
    pid = server.run("pgrep -u eden -f '[e]den serve'").out
    status = server.read(f"/proc/{pid}/status")
    assert re.search(r"^CapEff:\t0+$", status, re.M) and re.search(r"^CapBnd:\t0+$", status, re.M)


def test_a_killed_server_returns_and_nodes_continue(trio):
    server, first, second = trio
    server.eden("put", "/test/kept", "yes", check=True)
    for victim in ("serve", "agent"):
        before = servers_of(server)
        server.run(f"pkill -KILL -f '[e]den {victim}'")
        server.wait_for(lambda: servers_of(server) and not servers_of(server) & before,
                        what="another server")
        server.wait_for(lambda: server.eden("get", "/test/kept").out == "yes", what="the server")
        wait_alive(server, "s1", "web1", "web2")
    # Labels reach a node through its session.
    server.eden("nodes", "label", "web1", "role=web", check=True)
    assert node(server, "web1")["metadata"]["labels"] == {"role": "web"}
    server.kill()  # a power failure
    server.start()
    wait_alive(server, "s1", "web1", "web2")
    assert server.eden("get", "/test/kept", check=True).out == "yes"
    first.run("systemctl restart eden")
    wait_alive(server, "web1")


def test_a_removed_node_is_rejected_and_its_name_inherits_nothing(trio):
    server, first, second = trio
    wait_facts(server, "web1")
    server.eden("nodes", "remove", "web1", check=True)
    first.wait_for("journalctl -u eden | grep -q 'or the node was removed'", what="the refusal")
    assert server.eden("nodes", "show", "web1").returncode != 0
    assert server.eden("facts", "--node", "web1").returncode != 0
    wait_alive(server, "web2")
    # A node with the same name is a new node.
    first.run("systemctl stop eden")
    first.eden("leave", "--force", check=True)
    join_by_token(server, first)
    wait_alive(server, "web1")
    assert node(server, "web1")["metadata"]["labels"] == {}


def test_the_ca_is_rotated_while_all_stay_connected(trio):
    server, first, second = trio
    before = ask(server, "pki", "list")
    since = {host.name: node(server, host.name)["status"]["since"] for host in trio}
    server.eden("pki", "rotate", "--wait", check=True, timeout=180)
    after = ask(server, "pki", "list")
    old = {each["key"] for each in before["cas"]}
    new = {each["key"] for each in after["cas"]}
    assert len(new) == 1 and not new & old
    for host in trio:
        now = node(server, host.name)["status"]
        assert now["state"] == "alive" and now["since"] == since[host.name], "its session was interrupted"
        assert len(re.findall("BEGIN CERTIFICATE", host.read("/var/lib/eden/agent/ca.pem"))) == 1
        host.run("openssl verify -CAfile /var/lib/eden/agent/ca.pem /var/lib/eden/agent/node.pem")


def test_a_backup_becomes_the_cluster_on_a_fresh_host(trio, systemd):
    server, first, second = trio
    server.eden("put", "/test/kept", "yes", check=True)
    server.eden("nodes", "label", "web1", "role=web", check=True)
    server.eden("backup", "create", "/root/eden.backup", check=True)
    server.eden("backup", "verify", "/root/eden.backup", check=True)
    saved = server.run("base64 -w0 /root/eden.backup").out
    server.kill()
    fresh = systemd(name="s2")
    install(fresh)
    fresh.run("base64 -d > /root/eden.backup", input=saved)
    # It takes over the role and the address of the old one.
    fresh.run(f"ip addr add {server.address}/16 dev "
              "$(ip -o -4 addr | awk '$2 != \"lo\" {print $2; exit}')")
    fresh.eden("backup", "restore", "/root/eden.backup", check=True)
    fresh.run("systemctl enable --now eden")
    fresh.wait_for(lambda: fresh.eden("nodes", "list").returncode == 0, what="the server")
    assert fresh.eden("get", "/test/kept", check=True).out == "yes"
    assert node(fresh, "web1")["metadata"]["labels"] == {"role": "web"}
    # They detect that the old one is gone, and pause for up to 30 s between attempts.
    wait_alive(fresh, "web1", "web2", timeout=120)


@pytest.mark.parametrize("root, own", [("bookworm", "eden.service"), ("trixie", "eden.service/agent")])
def test_a_run_continues_while_its_agent_is_restarted(systemd, root, own):
    """In a separate cgroup, with all of its processes; a cancel finds them there. A newer systemd
    starts the agent below the cgroup of its unit, so that those of runs can have limits."""
    host = systemd(root, name="s1")
    found(host)
    wait_alive(host, "s1")
    assert cgroup(host, main_processes(host)[0]) == f"/system.slice/{own}"
    body = {"spec": {"command": ["sh", "-c", "sleep 1000 & sleep 1001"], "selector": "s1"}}
    run = json.loads(host.eden("api", "POST", "/v1/exec", "-d", json.dumps(body), check=True).stdout)
    run = run["metadata"]["name"]

    def processes():
        return set(host.run("pgrep -f '^sleep 100[01]$'", check=False).out.split())

    host.wait_for(lambda: len(processes()) == 2, what="the command")
    before = processes()
    for pid in before:
        assert f"/eden.service/{run}" in host.read(f"/proc/{pid}/cgroup")
    host.run("systemctl restart eden")
    wait_alive(host, "s1")
    killed = main_processes(host)
    host.run(f"kill -KILL {killed[0]}")
    # systemd restarts the server with it.
    host.wait_for(lambda: not {"0", *killed} & set(main_processes(host)), what="other processes")
    wait_alive(host, "s1")
    assert processes() == before
    assert cgroup(host, main_processes(host)[0]) == f"/system.slice/{own}"
    host.eden("api", "POST", f"/v1/runs/{run}/cancel", check=True)
    host.wait_for(lambda: ask_run(host, run)["state"] == "ended", 120, "the end of the run")
    assert ask_run(host, run)["outcome"] == "canceled"
    assert not processes()
    host.wait_for(lambda: cgroups_of_runs(host) == [], what="the cgroup to be gone")


def test_the_cgroup_of_a_daemon_that_a_run_left_is_removed_once_it_is_empty(systemd):
    host = systemd("bookworm", name="s1")
    found(host)
    wait_alive(host, "s1")

    def execute(command):
        body = {"spec": {"command": ["sh", "-c", command], "selector": "s1"}}
        made = host.eden("api", "POST", "/v1/exec", "-d", json.dumps(body), check=True).stdout
        run = json.loads(made)["metadata"]["name"]
        host.wait_for(lambda: ask_run(host, run)["state"] == "ended", 120, "the end of the run")
        return run

    run = execute("setsid sh -c 'touch /tmp/left; exec sleep 1002' > /dev/null 2>&1 &\n"
                  "until test -e /tmp/left; do :; done")
    execute("true")
    assert cgroups_of_runs(host) == [run]
    host.run("pkill -f '^sleep 1002$'")
    execute("true")
    host.wait_for(lambda: cgroups_of_runs(host) == [], what="no cgroup is left")


def cgroups_of_runs(host):
    """Wherever cgroup2 is mounted."""
    listed = host.run("find /sys/fs/cgroup -path '*/eden.service/2*' -type d").out
    return [path.rsplit("/", 1)[1] for path in listed.split()]


def cgroup(host, pid):
    return host.read(f"/proc/{pid}/cgroup").split("::")[1].split()[0]


def main_processes(host):
    """Of the agent and of the server."""
    return host.run("systemctl show eden eden-server --property=MainPID --value").out.split()


def ask_run(host, run):
    return json.loads(host.eden("api", "GET", f"/v1/runs/{run}", check=True).stdout)["status"]
