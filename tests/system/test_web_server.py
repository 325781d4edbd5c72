"""A site of sixty steps turns a bare host into a small web server, and keeps it that way."""

import pathlib
import random

import pytest

SITE = pathlib.Path(__file__).resolve().parent / "web"


def files_of_site():
    return {
        str(path.relative_to(SITE)): path.read_text()
        for path in sorted(SITE.rglob("*"))
        if path.is_file()
    }


def wrong(done):
    return [(step.name, step.result, step.error and step.error.message) for step in done.listed
            if step.result not in ("ok", "changed")]  # fmt: skip


def page(host, name):
    return host.run(f"curl -sS http://127.0.0.1/{name}").stdout


# Mistakes of an operator, and the step that fixes each.
DRIFT = {
    "sources#tools[lab-many-03]": "apt-get -y remove lab-many-03",
    "sources#stays as it is": "apt-mark unhold lab-hello",
    "people#who edits[alice]": "gpasswd -d alice editors",
    "people#web": "usermod -s /bin/sh web",
    "system#its name": "hostname other",
    "system#whom it knows[db.example.net]": "sed -i /db.example.net/d /etc/hosts",
    "system#how its kernel behaves[net.ipv4.ip_forward]": "sysctl -qw net.ipv4.ip_forward=1",
    "system#scratch": "umount /srv/scratch",
    "web#settings": "echo port = 81 > /etc/web/web.conf",
    "web#key": "chmod 0644 /etc/web/key",
    "web#pages[index]": "rm /srv/web/index.html",
    "web#server": "systemctl stop web",
    "web#who may come in": "nft add rule inet eden input tcp dport 81 accept",
    "watchers#nightly copy": "rm /etc/cron.d/web-copy",
}


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_a_bare_host_becomes_a_web_server_and_stays_one(systemd, release):
    host = systemd(release, repos=True)
    site = files_of_site()

    first = host.apply(site)
    assert (first.exit, wrong(first)) == (0, [])
    assert len(first.listed) >= 60
    assert "<h1>Welcome</h1>" in page(host, "home.html")

    second = host.apply(site)
    assert (second.exit, second.result) == (0, "ok"), [s.id for s in second.listed if s.changed]

    for command in DRIFT.values():
        host.run(command)
    third = host.apply(site)
    assert (third.exit, wrong(third)) == (0, [])
    drifted = {step.id for step in third.listed if step.cause == "drift"}
    assert drifted == set(DRIFT)
    assert "<h1>Welcome</h1>" in page(host, "")
    assert host.apply(site).result == "ok"


def test_orders_give_the_same_result(systemd):
    site = files_of_site()
    for order in ("justdoit", "genius"):
        host = systemd(repos=True)
        done = host.apply(site, "--order", order)
        assert (done.exit, wrong(done)) == (0, [])
        assert host.apply(site).result == "ok"
        assert "<h1>Welcome</h1>" in page(host, "home.html")


KILLS = 50

# Kills an apply once it has reported so many steps, wherever the following ones are by then.
KILLER = """
import subprocess, sys
run = subprocess.Popen(
    ["eden", "apply", sys.argv[1], "--order", "justdoit", "--progress", "plain"],
    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
for _ in range(int(sys.argv[2])):
    run.stderr.readline()
run.kill()
run.wait()
"""


def test_killed_at_any_moment_it_converges_afterwards(systemd):
    """Results of a run are partly reverted before the next one, so that each has something to do.
    """
    host = systemd(repos=True)
    path = host.put_site(files_of_site())
    chance = random.Random(4)
    for i in range(KILLS):
        host.run(["python3", "-c", KILLER, path, str(chance.randrange(70))])
        for command in chance.sample(sorted(DRIFT.values()), 4):
            host.run(command, check=False)
    last = host.apply(files_of_site())
    assert (last.exit, wrong(last), last.owed) == (0, [], [])
    assert host.apply(files_of_site()).result == "ok"
    assert "<h1>Welcome</h1>" in page(host, "home.html")
