"""Helpers shared by the package tests: steps, and the effects of apt."""

import json
import subprocess

from lab import repos

PYTHON = "/usr/bin/python3"
# Holds a lock like dpkg does, until its input ends.
HOLDER = """
import fcntl, os, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


def step(action, name, **params):
    """A step named after its package."""
    return {"name": name, f"pkg.{action}": {"name": name, **params}}


def installed(*names, **params):
    return [step("installed", name, **params) for name in names]


def ready(host):
    repos.use(host, "apt")
    return host


def transactions(host):
    """How often apt-get changed something."""
    log = host.run("cat /var/log/apt/history.log || true").stdout
    return sum(line.startswith("Commandline:") for line in log.splitlines())


def status(host, name):
    """The dpkg state of a package, such as "installed"; empty if it is unknown."""
    done = host.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", name], check=False)
    return done.stdout if done.returncode == 0 else ""


def version(host, name):
    return host.run(["dpkg-query", "-W", "-f", "${Version}", name]).stdout


def unfinished(host):
    """Inconsistencies found by dpkg itself."""
    return host.run(["dpkg", "--audit"]).stdout


def start_apply(host, steps, *options):
    """Runs `eden apply` in the background, with its progress as lines."""
    path = host.put_site(steps)
    return host.popen(
        ["eden", "apply", path, "-o", "json", "--progress", "json", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_event(process, event):
    """The next progress line of that kind."""
    for line in process.stderr:
        output = json.loads(line)
        if output["event"] == event:
            return output
    raise AssertionError(f"it ended without '{event}'")


def hold(host, path="/var/lib/dpkg/lock-frontend"):
    """Another process takes the lock; returns it and its pid. See let_go."""
    holder = host.popen([PYTHON, "-c", HOLDER, path], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True)  # fmt: skip
    return holder, int(holder.stdout.readline())


def release(holder):
    holder.stdin.close()
    holder.wait()


def pids(host, name):
    return host.run(["pidof", name], check=False).stdout.split()


def kill(host, *names):
    """Kills programs of the host like the kernel does when memory runs out."""
    found = [pid for name in names for pid in pids(host, name)]
    assert found, f"none of {names} runs"
    host.run(["kill", "-9", *found])


def build_deb(host, folder, name, version, files=(), scripts=(), **fields):
    """A package built in the host, in a separate directory."""
    tree = f"/tmp/build/{name}-{version}"
    control = {"Package": name, "Version": version, "Architecture": "all",
               "Maintainer": "lab <lab@lab.example>", "Description": name, **fields}  # fmt: skip
    host.write(f"{tree}/DEBIAN/control", "".join(f"{k}: {v}\n" for k, v in control.items()))
    for path, text in dict(files).items():
        host.write(f"{tree}{path}", text)
    for script, text in dict(scripts).items():
        host.write(f"{tree}/DEBIAN/{script}", f"#!/bin/sh\n{text}", mode=0o755)
    host.mkdir(folder)
    host.run(["dpkg-deb", "--root-owner-group", "-b", tree, folder])
