"""Packages with PackageKit, over D-Bus."""

import json

import pytest
from apt_hosts import hold, release, ready, start_apply, status, step, transactions, wait_for_event

MANY = [f"lab-many-{i:02}" for i in range(1, 31)]


def installed(*names, **params):
    return [step("installed", name, provider="packagekit", **params) for name in names]


@pytest.fixture(params=["bookworm", "trixie"])
def host(request, systemd):
    return ready(systemd(request.param, repos=True))


def test_thirty_steps_are_one_transaction_with_a_result_each(host):
    done = host.apply(installed(*MANY, "lab-greets"), "--order", "genius")
    assert (done.exit, done.result) == (0, "changed")
    assert transactions(host) == 1
    for name in MANY:
        assert done.steps[name].changes == {name: {"new": "1.0"}}
    assert done.steps["lab-greets"].changes["lab-hello"] == {"new": "2.0"}
    assert host.apply(installed(*MANY), "--order", "genius").result == "ok"


def test_unavailable_packages_do_not_block_the_rest(host):
    names = [*MANY[:3], "lab-nothing", "lab-impossible", "lab-broken", "lab-asks"]
    done = host.apply(installed(*names), "--order", "genius", timeout=120)
    failed = {step.name: step.error.message for step in done.listed if step.result == "failed"}
    assert failed.pop("lab-nothing") == "no repository has 'lab-nothing'"
    assert "lab-nowhere" in failed.pop("lab-impossible")
    assert "post-installation script" in failed.pop("lab-broken")
    assert failed == {}
    assert all(status(host, name) == "installed" for name in [*MANY[:3], "lab-asks"])


def test_nothing_is_removed_without_being_asked(host):
    assert host.apply(installed("lab-hello")).result == "changed"
    assert host.apply(installed("lab-alone")).errors == (
        "'lab-alone' could not be installed: 'lab-hello' would be removed for it; "
        "set 'allow_removals: true' to allow that"
    )
    assert status(host, "lab-hello") == "installed"
    assert host.apply(installed("lab-alone", allow_removals=True)).result == "changed"
    assert status(host, "lab-hello") != "installed"


def test_foreign_lock_is_waited_for_and_named(host):
    holder, pid = hold(host)
    running = start_apply(host, installed("lab-hello"))
    assert f"(process {pid}) holds /var/lib/dpkg/" in wait_for_event(running, "wait")["reason"]
    release(holder)
    out, _ = running.communicate(timeout=60)
    assert json.loads(out)["result"] == "changed"


def test_unsupported_requests_are_reported_before_anything_is_done(host):
    done = host.apply(installed("lab-hello", conffiles="replace"))
    assert done.errors == "PackageKit does not support 'conffiles: replace'"
    assert host.plan(installed("lab-hello", conffiles="replace")).errors == done.errors
    assert status(host, "lab-hello") == ""
