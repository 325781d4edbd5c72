"""Labels in the cluster's record of a node apply in every run on that node."""

import json
import os
import shutil

import machines
import pytest

from cluster_world import get, put

SITE = {
    "jobs/base.yaml": "jobs: {'role=web': [{name: web}], 'role=db': [{name: db}]}",
    "jobs/web.yaml": "steps: [{name: web, test.ok: }]",
    "jobs/db.yaml": "steps: [{name: db, test.ok: }]",
}


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    for name, text in SITE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def web(cluster):
    cluster.start()
    machine = machines.Machine(cluster, "web1")
    machine.join_with_token()
    machine.start()
    machine.wait_live()
    return machine


def label(machine, *labels):
    """Sets labels in the cluster, and waits until the node has received them."""
    machine.cluster.call("nodes", "label", machine.name, *labels)
    wanted = dict(text.split("=", 1) for text in labels if "=" in text)
    gone = {text[:-1] for text in labels if text.endswith("-")}
    machine.wait_status(
        lambda status: wanted.items() <= status["labels"].items()
        and not gone & set(status["labels"]), "labels of the node")


def run(machine, site, *options, command="plan", check=True):
    return machine.cluster.eden(command, site, "--state-dir", machine.state, "--config-dir",
                                machine.config, "-o", "json", *options, check=check)


def jobs(machine, site, *options, **more):
    report = json.loads(run(machine, site, *options, **more).stdout)
    return report["node"], [step["name"] for step in report["steps"]]


def test_a_label_reaches_plans_applies_and_variables_on_its_node(web, site):
    assert run(web, site, check=False).returncode == 3, "nothing is for this node yet"
    label(web, "role=web", "zone=eu")
    for command in ("plan", "apply"):
        assert jobs(web, site, command=command) == ("web1", ["web"])
    graph = web.cluster.eden("graph", site, "--state-dir", web.state, "--config-dir", web.config)
    assert "web#web" in graph.stdout
    (site / "variables").mkdir()
    (site / "variables/base.yaml").write_text("files: {'zone=eu': [{name: eu}]}")
    (site / "variables/eu.yaml").write_text("place: '{{ server.name }} {{ server.labels.zone }}'")
    output = web.cluster.eden("vars", "get", "place", site, "--state-dir", web.state,
                              "--config-dir", web.config)  # fmt: skip
    assert output.stdout == "web1 eu\n"
    label(web, "role=db")
    assert jobs(web, site) == ("web1", ["db"])
    label(web, "role-")
    assert run(web, site, check=False).returncode == 3


def test_the_command_line_overrides_the_cluster_which_overrides_the_file(web, site):
    (web.config / "node.yaml").write_text("name: other\nlabels: {role: db, rack: '7'}\n")
    label(web, "zone=eu")
    assert jobs(web, site) == ("web1", ["db"])
    label(web, "role=web")
    assert jobs(web, site) == ("web1", ["web"])
    assert jobs(web, site, "--label", "role=db") == ("web1", ["db"])
    (site / "jobs/base.yaml").write_text("jobs: {'rack=7 and role=web': [{name: web}]}")
    assert jobs(web, site) == ("web1", ["web"]), "the file still has what the cluster does not"


def test_labels_of_this_node_do_not_apply_to_another_name(web, site):
    label(web, "role=web")
    assert jobs(web, site, "--node", "web1") == ("web1", ["web"])
    assert run(web, site, "--node", "web2", check=False).returncode == 3


def test_a_run_with_another_state_directory_has_the_labels_of_the_node(cluster, site, tmp_path):
    cluster.start()
    root = tmp_path / "root"
    machine = machines.Machine(cluster, "web1", state=root / "var/lib/eden")
    machine.state.parent.mkdir(parents=True)
    machine.join_with_token()
    machine.start()
    machine.wait_live()
    label(machine, "role=web")
    for command in ("plan", "apply"):
        done = cluster.eden(command, site, "--root", root, "--state-dir", tmp_path / "other", "-o", "json")
        report = json.loads(done.stdout)
        assert (report["node"], [step["name"] for step in report["steps"]]) == ("web1", ["web"])
    graph = cluster.eden("graph", site, "--root", root, "--state-dir", tmp_path / "other")
    assert "web#web" in graph.stdout
    # A record in that directory takes precedence.
    other = machines.Machine(cluster, "db1")
    other.join_with_token()
    other.start()
    other.wait_live()
    label(other, "role=db")
    done = cluster.eden("plan", site, "--root", root, "--state-dir", other.state, "-o", "json")
    assert json.loads(done.stdout)["node"] == "db1"


def test_the_last_known_labels_apply_while_the_agent_is_down(web, site):
    label(web, "role=web")
    web.agent.kill()
    web.cluster.server.kill()
    assert jobs(web, site) == ("web1", ["web"])


def test_labels_end_with_the_membership(web, site):
    label(web, "role=web")
    web.cluster.eden("leave", "--state-dir", web.state, "--run-dir", web.run)
    done = run(web, site, check=False)
    assert done.returncode == 3 and "E0596" not in done.stdout + done.stderr


def test_a_damaged_record_is_an_error_and_the_agent_replaces_it(web, site):
    label(web, "role=web")
    web.agent.kill()
    record = web.state / "agent/watched-node.json"
    whole = record.read_text()
    record.write_text(whole[: len(whole) // 2])
    done = run(web, site, check=False)
    assert done.returncode == 1
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["code"] == "E0596" and "watched-node.json" in problem["message"]
    web.start()
    web.wait_live()
    web.wait_status(lambda status: status["labels"] == {"role": "web"}, "labels of the node")
    assert jobs(web, site) == ("web1", ["web"])


def test_a_user_without_access_to_the_record_is_warned(web, site, tmp_path):
    assert os.geteuid() == 0, "this test needs root, to become another user"
    label(web, "role=web")
    for folder in (tmp_path, *list(tmp_path.parents)[:-2], web.state.parent, web.state):
        folder.chmod(folder.stat().st_mode | 0o711)
    # The project may be in a directory that only root can enter.
    web.cluster.eden_path = shutil.copy(web.cluster.eden_path, tmp_path / "eden")
    done = web.cluster.eden("plan", site, "--state-dir", web.state, "--config-dir", web.config,
                            check=False, user=65534, group=65534, extra_groups=[])  # fmt: skip
    assert done.returncode == 3
    assert "warning[E0596]" in done.stderr and "as root" in done.stderr, done.stderr


def test_nodes_are_selected_by_facts_and_labels(cluster):
    cluster.start()
    own = get(cluster, "/eden/nodes/s1")
    for number, (name, role, system) in enumerate((("db1", "db", "debian"), ("web1", "web", "debian"),
                                                   ("web2", "web", "fedora"), ("web3", "web", None))):  # fmt: skip
        put(cluster, f"/eden/nodes/{name}",
            {**own, "name": name, "enrolment": f"{number + 1:016x}", "serial": f"{number + 1:016x}{0:016x}",
             "server": False, "labels": {"role": role}})
        if system is not None:
            put(cluster, f"/eden/facts/{name}", {"os": system, "cpus": number, "disks": {"vda": {"os": "x"}}})

    def selected(selector):
        done = cluster.call("nodes", "-l", selector, "-o", "json")
        return [one["metadata"]["name"] for one in json.loads(done.stdout)["items"]]

    assert selected("server.os == 'debian'") == ["db1", "web1"]
    assert selected("role=web and server.os == 'debian'") == ["web1"]
    assert selected("role=db or server.cpus > 1") == ["db1", "web2"]
    assert selected("role=web and !(server.os == 'debian')") == ["web2"]  # web3 has reported nothing
    facts = cluster.call("get", "/eden/facts/web2").stdout
    assert "fedora" in facts
    put(cluster, "/eden/facts/web2", {"os": "debian"})
    assert selected("server.os == 'debian'") == ["db1", "web1", "web2"]
    done = cluster.call("nodes", "-l", "server.oss == 'debian'", check=False)
    assert done.returncode == 64 and "os_family" in done.stderr, done.stderr
    done = cluster.call("tokens", "-l", "server.os == 'debian'", check=False)
    assert done.returncode == 64 and "only names and labels" in done.stderr, done.stderr
