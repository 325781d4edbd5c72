"""Runs on a cluster of five hosts with systemd: from a push to every node, across restarts and reboots."""

import json

import pytest
from test_cluster import ask, found, join_by_token, wait_alive

NAMES = ("s1", "web1", "web2", "web3", "web4")
HOOK = """#!/bin/sh
body='{{"ref":"refs/heads/main"}}'
hash=$(printf %s "$body" | openssl dgst -sha256 -hmac {secret} -r | cut -d' ' -f1)
curl --silent --show-error --fail --insecure --output /tmp/answer -H 'Content-Type: application/json' \\
    -H 'X-GitHub-Event: push' -H "X-GitHub-Delivery: $(cat /proc/sys/kernel/random/uuid)" \\
    -H "X-Hub-Signature-256: sha256=$hash" --data "$body" {url}
"""
PREPARE = """
git config --system user.email ann@example.org && git config --system user.name Ann
git config --system init.defaultBranch main && git config --system safe.directory '*'
git init -q --bare /srv/site.git && git init -q /root/site
"""


@pytest.fixture
def five(systemd):
    """A server and four nodes; the server is a node, too."""
    hosts = {name: systemd(name=name) for name in NAMES}
    server = hosts["s1"]
    found(server)
    for name in NAMES[1:]:
        join_by_token(server, hosts[name])
    wait_alive(server, *NAMES)
    return hosts


class Run:
    def __init__(self, server, name):
        self.server, self.name = server, name

    def status(self):
        done = self.server.eden("api", "GET", f"/v1/runs/{self.name}")
        return json.loads(done.stdout)["status"] if done.returncode == 0 else {"state": "unknown"}

    def wait_ended(self):
        self.server.wait_for(lambda: self.status()["state"] == "ended", 120, "the end of the run")
        page = json.loads(self.server.eden("api", "GET", f"/v1/runs/{self.name}/nodes", check=True).stdout)
        return {each["node"]: each for each in page["nodes"]}

    def log(self, name):
        """The events of a node, and those of the server about it."""
        text = self.server.eden("api", "GET", f"/v1/runs/{self.name}/logs", check=True).stdout
        return [event for event in map(json.loads, text.splitlines()) if event.pop("node") == name]

    def check_log(self, host):
        log = self.log(host.name)
        own = [json.loads(line) for line in
               host.read(f"/var/lib/eden/agent/runs/{self.name}/events.ndjson").splitlines()]
        for event in own:
            event.pop("node", None)
        assert [event["n"] for event in log] == list(range(1, len(log) + 1))
        assert log == own


def push(server, steps):
    site = {"config.yaml": "name: shop\n", "jobs/base.yaml": json.dumps({"jobs": {"*": [{"name": "web"}]}}),
            "jobs/web.yaml": json.dumps({"steps": steps})}
    for path, text in site.items():
        server.mkdir(f"/root/pushed/{path.split('/')[0]}") if "/" in path else server.mkdir("/root/pushed")
        server.write(f"/root/pushed/{path}", text)
    server.eden("push", "/root/pushed", "--no-run", check=True)


def start(server):
    return Run(server, server.eden("run", "--detach", "-l", "*", check=True).out)


def act(name, more=""):
    return {"name": name, "cmd.run": [{"cmd": f"echo {name} >> /root/acts{more}"}]}


def gated():
    """A step that waits for a line in /root/gate, between two others."""
    steps = [act("before"), act("gate", "; read line < /root/gate"), act("after")]
    for before, step in zip(steps, steps[1:]):
        step["require"] = [{"step": before["name"]}]
    return steps


def wait_gate(host):
    host.wait_for("grep -q gate /root/acts", 60, f"the gate of {host.name}")


def test_a_pushed_commit_is_applied_on_all_nodes(five, record_property):
    server = five["s1"]
    server.run(PREPARE)

    def commit(text):
        step = {"name": "greet", "file.managed": [{"name": "/etc/greeting"}, {"content": text}]}
        server.write("/root/site/jobs/web.yaml", json.dumps({"steps": [step]}))
        server.run("cd /root/site && git add . && git commit -qm next && git push -q /srv/site.git main")

    server.mkdir("/root/site/jobs")
    server.write("/root/site/config.yaml", "name: shop\n")
    server.write("/root/site/jobs/base.yaml", json.dumps({"jobs": {"*": [{"name": "web"}]}}))
    commit("first")
    server.run("chown -R eden: /srv/site.git")
    server.eden("sources", "add", "site", "file:///srv/site.git", "--branch", "main", "--interval", "1d",
                check=True)
    made = ask(server, "sources", "webhook", "site")
    server.write("/srv/site.git/hooks/post-receive",
                 HOOK.format(secret=made["secret"], url=made["urls"][0]), mode=0o755)

    def applied(text):
        return all(host.run("cat /etc/greeting", check=False).out == text for host in five.values())

    server.wait_for(lambda: applied("first"), 60, "the first commit")
    for text in ("second", "third", "fourth"):
        began = float(server.run("date +%s.%N").out)
        commit(text)
        assert json.loads(server.read("/tmp/answer"))["result"] == "accepted"
        server.wait_for(lambda: applied(text), 60, "the commit")
        last = max(float(host.run("stat -c %.9Z /etc/greeting").out) for host in five.values())
        record_property(f"seconds-{text}", round(last - began, 3))
        print(f"{text} commit: on the last of {len(five)} nodes after {last - began:.3f} s")


def test_agents_are_restarted_during_a_run(five):
    server = five["s1"]
    push(server, gated())
    for host in five.values():
        host.run("mkfifo /root/gate")
    run = start(server)
    for host in five.values():
        wait_gate(host)
    for host in five.values():
        host.run("systemctl restart eden")
    wait_alive(server, *NAMES, timeout=120)
    for host in five.values():
        host.run("echo go > /root/gate")
    results = run.wait_ended()
    for name, host in five.items():
        assert (results[name]["outcome"], results[name]["attempts"]) == ("changed", 1), results[name]
        assert host.read("/root/acts").split() == ["before", "gate", "after"]
        run.check_log(host)


def test_nodes_reboot_during_a_run(five):
    """As the site says, in an orderly way by hand, and by a power failure of a node and of the server."""
    server = five["s1"]
    steps = gated()
    steps[0]["require"] = [{"step": "restart"}]
    steps.insert(0, {"name": "restart", "machine.reboot": [{"allow": True}],
                     "conditions": {"when": {"condition": "server.name == 'web1'"}}})
    push(server, steps)
    for host in five.values():
        host.run("mkfifo /root/gate")
    with five["web1"].expect_reboot(timeout=120):
        run = start(server)
    for host in five.values():
        wait_gate(host)
    five["web2"].reboot()
    for name in ("web3", "s1"):
        five[name].kill()
        five[name].start()
    wait_alive(server, *NAMES, timeout=120)
    for name, host in five.items():
        host.wait_for("pgrep -f '^/bin/sh -c.*gate|^sh -c.*gate'", 60, f"the run of {name}")
        host.run("echo go > /root/gate")
    results = run.wait_ended()
    for name, host in five.items():
        result = results[name]
        assert result["outcome"] == "changed", result
        acts = host.read("/root/acts").split()
        assert acts[-2:] == ["gate", "after"] and acts.count("after") == 1
        assert (result["attempts"] > 1) == (name != "web4"), result
        assert max(acts.count(step) for step in acts) <= result["attempts"]
        run.check_log(host)
