"""A plan for many nodes shows each distinct change once, with its nodes, and is what applying then does.

EDEN_PLAN_NODES: how many nodes; 12 of three roles if it is not set."""

import json
import os
import re

import daemons
import pytest
from fleets import Fleet

COUNT = int(os.environ.get("EDEN_PLAN_NODES", "12"))
ROLES = ("web", "db", "cache")


@pytest.fixture(scope="module")
def fleet(eden_path, tmp_path_factory):
    cluster = daemons.Cluster(eden_path, tmp_path_factory.mktemp("plan"))
    try:
        fleet = Fleet(cluster, [f"{ROLES[number % 3]}{number}" for number in range(COUNT)])
        fleet.out = cluster.folder / "out"
        fleet.out.mkdir()
        yield fleet
    finally:
        cluster.close()


def names(fleet, role=""):
    return sorted(name for name in fleet.machines if name.startswith(role))


def managed(fleet, name, content):
    return {"name": name, "file.managed": [{"name": f"{fleet.out}/{{{{ server.name }}}}.{name}"},
                                           {"content": content}]}


def write(fleet, ports, greeting="hello"):
    """A site with a step for all nodes, and one for each role."""
    site = fleet.cluster.folder / "site"
    (site / "jobs").mkdir(parents=True, exist_ok=True)
    (site / "config.yaml").write_text("name: demo\n")
    jobs = {" or ".join(f"{role}*" for role in ROLES): [{"name": "common"}]}
    jobs.update({f"{role}*": [{"name": role}] for role in ROLES})
    (site / "jobs/base.yaml").write_text(json.dumps({"jobs": jobs}))
    steps = {role: [managed(fleet, role, f"listen {port}\n")] for role, port in zip(ROLES, ports)}
    steps["common"] = [managed(fleet, "motd", f"{greeting} {{{{ server.name }}}}\n"),
                       managed(fleet, "same", "the same\n")]
    for name, some in steps.items():
        (site / f"jobs/{name}.yaml").write_text(json.dumps({"steps": some}))
    return site


def digests(fleet, run):
    found, path = {}, f"/v1/runs/{run}/nodes"
    page = fleet.api(path)
    for node in page["nodes"]:
        found[node["node"]] = (node["outcome"], node.get("digest"))
    return found


def applied(fleet, *words):
    done = fleet.call("run", "-l", "web* or db* or cache*", "--progress", "none", "-o", "json", *words)
    return json.loads(done.stdout)["run"]["metadata"]["name"]


def files(fleet):
    return {path.name: (path.read_text(), path.stat().st_mtime_ns, path.stat().st_ino)
            for path in fleet.out.iterdir()}


def sections(text):
    """Each section of a folded plan: its title, its changes, its nodes."""
    found = []
    for section in text.split("\n\n")[:-1]:
        title, *lines = section.splitlines()
        steps = [line.split()[1].rstrip(":") for line in lines if re.match(r"  (changed|failed)", line)]
        found.append((title, steps, [line for line in lines if line.startswith("  on ")]))
    return found


def test_a_proposed_version_is_planned_on_all_nodes_and_touches_none(fleet):
    site = write(fleet, (80, 3306, 6379))
    current = json.loads(fleet.call("push", site, "--no-run", "-o", "json").stdout)["version"]
    applied(fleet)
    before = files(fleet)
    assert len(before) == 3 * COUNT
    site = write(fleet, (8080, 3307, 6379), greeting="welcome")
    pushed = json.loads(fleet.call("push", site, "--no-activate", "-o", "json").stdout)
    proposed = pushed["version"]
    assert not pushed["current"] and proposed != current
    assert fleet.json("versions", "show")["metadata"]["name"] == current

    done = fleet.call("run", "-l", "web* or db* or cache*", "--check", "--version", proposed[:6], "--progress", "none")
    web, db = names(fleet, "web"), names(fleet, "db")
    found = sections(done.stdout)
    assert found[0][:2] == (f"{COUNT} nodes: the same change", ["common#motd"])
    assert sorted(section[:2] for section in found[1:]) == sorted([
        (f"{len(web)} nodes: the same change", ["web#web"]), (f"{len(db)} nodes: the same change", ["db#db"])])
    assert done.stdout.count("+welcome {node}") == done.stdout.count("+listen 8080") == \
        done.stdout.count("+listen 3307") == 1
    assert "6379" not in done.stdout and "the same\n" not in done.stdout.replace("the same change", "")
    assert f"  on {', '.join(web[:10])}" in done.stdout
    assert f"{COUNT} changed of {COUNT} nodes" in done.stdout

    comment = fleet.call("run", "-l", "web* or db* or cache*", "--check", "--version", proposed, "--progress", "none",
                         "-o", "markdown").stdout
    assert comment.startswith(f"### eden plan: 3 different changes on {COUNT} of {COUNT} nodes\n")
    assert comment.count("```diff") == 3

    planned = digests(fleet, applied(fleet, "--check", "--version", proposed))
    assert files(fleet) == before
    assert fleet.json("versions", "show")["metadata"]["name"] == current

    done = digests(fleet, applied(fleet, "--version", proposed))
    assert done == planned and len(set(done.values())) == 3
    after = files(fleet)
    for name in names(fleet):
        assert after[f"{name}.motd"][0] == f"welcome {name}\n"
        assert after[f"{name}.same"] == before[f"{name}.same"]
