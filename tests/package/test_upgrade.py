"""A package is upgraded while the cluster is in use: no acknowledged write and no node is lost."""

import json
import subprocess

import pytest
from cluster_page import log_in

# Puts keys one after the other, each until it is acknowledged, and records the acknowledged ones.
WRITER = r"""
n=0
while [ ! -e /tmp/enough ]; do
    n=$((n + 1))
    until eden put /load/$n "$n" >/dev/null 2>>/tmp/refusals; do
        [ ! -e /tmp/enough ] || exit 0
    done
    echo $n >> /tmp/acknowledged
done
"""


def ask(host, *words):
    return json.loads(host.run(["eden", *words, "-o", "json"]).stdout)


def nodes(server):
    """By name; empty while the server restarts."""
    done = server.run(["eden", "nodes", "list", "-o", "json"], check=False)
    items = [] if done.returncode else json.loads(done.stdout)["items"]
    return {item["metadata"]["name"]: {**item["status"], "labels": item["metadata"]["labels"]}
            for item in items}  # fmt: skip


def wait_alive(server, version):
    """Waits until all three are alive and have that version."""

    def there():
        known = nodes(server)
        return len(known) == 3 and all(
            n["state"] == "alive" and n["version"] == version for n in known.values())  # fmt: skip

    server.wait_for(there, what=f"three nodes of version {version}")


def acknowledged(server):
    return server.run("cat /tmp/acknowledged 2>/dev/null", check=False).out.split()


def pid(host, unit):
    return host.run(["systemctl", "show", "--value", "-p", "MainPID", unit]).out


def upgrade(server, host):
    """Upgrades a host; the writer makes progress before, during or after it."""
    old = pid(host, "eden")
    done = len(acknowledged(server))
    host.run("dpkg -i /srv/next.deb")
    assert pid(host, "eden") not in (old, "0")
    server.wait_for(lambda: len(acknowledged(server)) > done + 20, what="load that goes on")


@pytest.fixture
def trio(installed):
    """A server and two nodes, one of them with the next Debian."""
    server = installed(name="s1")
    server.run(["eden", "init", "--cluster", "blue", "--name", "s1", "--address", server.address])
    server.run("systemctl enable --now eden")
    hosts = [server]
    for name, root in (("web1", "bookworm"), ("web2", "trixie")):
        host = installed(root, name)
        host.run(ask(server, "tokens", "create")["status"]["join"] + f" --name {name}")
        host.run("systemctl enable --now eden")
        hosts.append(host)
    wait_alive(server, "0.1.0")
    return hosts


def pages(server, host):
    """What another machine gets from the server's pages."""
    get = "curl -sS -o /dev/null -w '%{http_code} ' --cacert /var/lib/eden/agent/ca.pem"
    return [host.run(f"{get} https://{server.address}:1338{path}").out.strip()
            for path in ("/", "/docs/", "/healthz", "/readyz")]  # fmt: skip


def shown(page):
    """The names in the table of nodes, once there are three."""
    return page.wait("""(() => {
        const rows = [...document.querySelectorAll('#rows tr')];
        return rows.length === 3 && rows.map((row) => row.innerText.split(/\\s/)[0]).join(' ');
    })()""")


def test_an_upgrade_under_load_loses_no_write_no_event_no_node_and_no_session(trio, browser_on):
    server = trio[0]
    page = browser_on(trio[1]).page()
    page.open(f"https://{server.address}:1338/")
    log_in(page, server.run("eden tokens create --role viewer --label ann").out)
    assert shown(page) == "s1 web1 web2"
    server.run("eden nodes label web1 role=web")
    before = nodes(server)
    assert pages(server, trio[1]) == ["200"] * 4
    cas = ask(server, "pki", "list")["cas"]
    watch = server.popen("exec eden watch /load/ --prefix > /tmp/watched 2>/tmp/watch-told",
                         stdin=subprocess.DEVNULL)  # fmt: skip
    server.popen("exec eden watch /eden/nodes/ --prefix > /tmp/nodes", stdin=subprocess.DEVNULL)
    server.wait_for("eden put /load/0 0 && grep -q /load/0 /tmp/watched", what="the watch")
    writer = server.popen(WRITER)
    server.wait_for(lambda: len(acknowledged(server)) > 20, what="load")
    upgrade(server, server)
    server.wait_for(lambda: all(node["since"] != before[name]["since"]
                                for name, node in nodes(server).items()), what="new sessions")
    for host in trio[1:]:
        upgrade(server, host)
    wait_alive(server, "0.1.1~next")
    server.write("/tmp/enough", "")
    assert writer.wait(30) == 0
    last = acknowledged(server)[-1]
    server.wait_for(f"grep -q ' /load/{last} ' /tmp/watched", what="the last event")
    watch.terminate()
    # Every acknowledged write is there, and was observed once, in order.
    there = {each["key"]: each["value"] for each in ask(server, "get", "/load/", "--prefix")["values"]}
    assert [n for n in acknowledged(server) if there.get(f"/load/{n}") != n] == []
    seen = [line.split()[2] for line in server.read("/tmp/watched").splitlines()]
    missed = [n for n in acknowledged(server) if f"/load/{n}" not in seen]
    assert missed == [], server.read("/tmp/watch-told")
    # A key put twice is one whose first response was lost; no event is repeated.
    revisions = [int(line.split()[0]) for line in server.read("/tmp/watched").splitlines()]
    assert revisions == sorted(set(revisions))
    # No node was silent, and all nodes kept their identity.
    assert [line for line in server.read("/tmp/nodes").splitlines() if " delete " in line] == []
    after = nodes(server)
    assert {n: (each["labels"], each["serial"]) for n, each in after.items()} == {
        n: (each["labels"], each["serial"]) for n, each in before.items()}  # fmt: skip
    assert pages(server, trio[1]) == ["200"] * 4
    assert after["web1"]["labels"] == {"role": "web"}
    # The browser continues with its session.
    page.wait("document.querySelector('#rows')?.innerText.includes('role=web')")
    page.reload()
    assert shown(page) == "s1 web1 web2"
    assert page.run("document.getElementById('login').hidden")
    assert ask(server, "pki", "list")["cas"] == cas
    for host in trio:
        assert host.run(["eden", "doctor"], check=False).returncode == 0
        assert host.run("dpkg -V eden").out == ""
