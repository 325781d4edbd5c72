"""Firewalls: they admit what they should, never lock out the user, and revert foreign changes."""

import json
import signal

import pytest

WEB = {"accept": {"port": 80}}


def site(**params):
    return [{"name": "firewall", "firewall.rules": [{key: value} for key, value in params.items()]}]


def rules(host):
    return host.run("nft -s list ruleset").out


@pytest.fixture
def pair(light):
    """Two hosts, each serving HTTP on ports 80 and 81."""
    hosts = light("trixie"), light("trixie")
    for host in hosts:
        for port in (80, 81):
            host.serve("/srv", port)
    return hosts


def reaches(host, other, port):
    requested = host.run(f"curl -sS -o /dev/null -m 2 http://{other.address}:{port}/", check=False)
    return requested.returncode == 0


def test_only_accepted_traffic_gets_in(pair):
    host, other = pair
    done = host.apply(site(rules=[WEB, {"accept": {"port": 81, "from": "192.0.2.0/24"}}]))
    assert done.result == "changed", done
    assert reaches(other, host, 80) and not reaches(other, host, 81)
    assert reaches(host, other, 81) and reaches(host, host, 81)
    done = host.apply(site(rules=[WEB, {"accept": {"port": 81, "from": other.address}}]))
    assert done.result == "changed" and "+" in done.steps["firewall"].diff
    assert reaches(other, host, 81)


def test_rules_that_cut_the_connection_are_reverted(pair):
    host, other = pair
    confirm = {"address": other.address, "port": 80, "timeout": "1s"}
    assert host.apply(site(rules=[WEB], confirm=confirm)).result == "changed"
    before, disk = rules(host), host.read("/etc/nftables.d/eden-inet-eden.nft")
    done = host.apply(site(rules=[{"drop": {"from": other.address}}], basics=False, confirm=confirm))
    step = done.steps["firewall"]
    assert (done.exit, step.result, step.changed) == (1, "failed", False)
    assert "the previous ones were restored" in step.error.message
    assert f"{other.address} port 80" in step.error.message
    assert "either" not in step.error.message
    assert rules(host) == before and reaches(host, other, 80)
    assert host.read("/etc/nftables.d/eden-inet-eden.nft") == disk
    assert host.apply(site(rules=[WEB], confirm=confirm)).result == "ok"


def test_first_rules_that_cut_the_connection_are_removed(pair):
    host, other = pair
    confirm = {"cmd": ["curl", "-sS", "-m", "1", f"http://{other.address}/"], "timeout": "1s"}
    done = host.apply(site(basics=False, confirm=confirm))
    assert done.steps["firewall"].result == "failed"
    assert rules(host) == "" and not host.exists("/etc/nftables.d/eden-inet-eden.nft")


def test_a_host_that_never_answered_is_distinguished(pair):
    host, other = pair
    confirm = {"address": other.address, "port": 9, "timeout": "300ms"}
    done = host.apply(site(rules=[WEB], confirm=confirm))
    assert "but fail the confirmation too" in done.steps["firewall"].error.message
    assert rules(host) == ""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_eden_exits_before_the_rules_are_confirmed(light, how):
    """If it is killed, the former rules return at once; if it is stopped, when the time is up."""
    host = light("trixie")
    assert host.apply(site(rules=[WEB])).result == "changed"
    before = rules(host)
    timeout = "60s" if how == signal.SIGKILL else "500ms"
    path = host.put_site(site(rules=[], confirm={"cmd": ["sleep", "99"], "timeout": timeout}))
    host.run(f"setsid -f eden apply {path} > /dev/null 2>&1")
    host.wait_for("pgrep -x sleep")
    if how == signal.SIGKILL:
        assert rules(host) != before
    host.run(["pkill", f"-{int(how)}", "-x", "eden"])
    host.wait_for(lambda: rules(host) == before, what="the former rules")
    host.run("pkill -9 -x eden; pkill -9 -x sleep", check=False)
    host.wait_for("! pgrep -x eden-change")
    assert rules(host) == before
    assert host.apply(site(rules=[WEB])).result == "ok"


def test_interrupted_confirmation_reverts_the_rules(light):
    host = light("trixie")
    path = host.put_site(site(rules=[WEB], confirm={"cmd": ["sleep", "99"], "timeout": "60s"}))
    running = host.popen(["eden", "apply", path, "--progress", "none"])
    host.wait_for("pgrep -x sleep")
    # Interrupted twice, it does not wait for running steps.
    host.run("pkill -INT -x eden; pkill -TERM -x eden")
    assert running.wait() != 0
    assert rules(host) == ""


DRIFTS = {
    "a rule deleted": "nft delete rule inet eden input handle "
                      "$(nft -a list table inet eden | sed -n 's/.*dport 80 .*handle //p')",
    "a rule added": "nft insert rule inet eden input accept",
    "a policy changed": "nft chain inet eden input '{ policy accept; }'",
    "everything flushed": "nft flush ruleset",
    "the table deleted": "nft delete table inet eden",
    "the file gone": "rm /etc/nftables.d/eden-inet-eden.nft",
    "the file edited": "echo >> /etc/nftables.d/eden-inet-eden.nft",
}  # fmt: skip


def test_foreign_changes_are_corrected(light):
    host = light("bookworm")
    steps = site(rules=[WEB], content="tcp dport 82 counter accept")
    host.run("nft add table ip other")
    assert host.apply(steps).result == "changed"
    before = rules(host)
    for drift, command in DRIFTS.items():
        host.run(command)
        assert host.plan(steps).result == "changed", drift
        done = host.apply(steps).steps["firewall"]
        assert (done.result, done.cause) == ("changed", "drift"), drift
        if drift == "a rule deleted":
            assert "+\t\ttcp dport 80 accept" in done.diff
        host.run("nft add table ip other")
        assert sorted(rules(host).split("\n")) == sorted(before.split("\n")), drift
        assert host.apply(steps).result == "ok", drift


def test_rules_persist_across_a_reboot(systemd):
    host = systemd("trixie")
    steps = site(rules=[WEB])
    assert host.apply(steps).result == "changed"
    host.run("systemctl enable nftables")
    before = host.run("nft list table inet eden").out
    host.reboot()
    assert host.run("nft list table inet eden").out == before
    assert host.apply(steps).result == "ok"


BAD = {
    "nft rejects the rules": {"content": "tcp dport nonsense accept"},
    "unbalanced braces": {"content": "accept } chain x { type filter hook output priority 0; policy drop;"},
    "is not a port": {"rules": [{"accept": {"port": "ssh"}}]},
    "rule 2": {"rules": [WEB, {"allow": {"port": 1}}]},
    "neither an address": {"rules": [{"accept": {"from": "10.0.0.0/33"}}]},
    "unknown key 'form'": {"rules": [{"accept": {"form": "10.0.0.0/8"}}]},
    "does not match IPv6": {"table": "ip eden", "rules": [{"accept": {"from": "::1"}}]},
    "either 'address' and 'port', or 'cmd'": {"confirm": {"timeout": "5s"}},
    "'table' must be a family": {"table": "netdev x"},
}  # fmt: skip


def test_invalid_rules_are_reported_before_anything_changes(light):
    host = light("trixie")
    for output, params in BAD.items():
        for run in (host.plan, host.apply):
            done = run(site(**params))
            assert done.exit != 0 and output in done.errors, json.dumps(params)
    assert rules(host) == ""
