"""A site reaches all nodes: pushed once, applied everywhere, and a clear answer to what happened."""

import json

import machines
import pytest

from events import wait_until

NODES = ["web1", "web2", "db1"]


class Fleet:
    """A server, three nodes, and a site whose files go to one directory."""

    def __init__(self, cluster, path):
        self.cluster, self.site, self.out = cluster, path / "site", path / "out"
        (self.site / "jobs").mkdir(parents=True)
        self.out.mkdir()
        (self.site / "config.yaml").write_text("name: demo\n")
        (self.site / "jobs/base.yaml").write_text("jobs: {'web* or db1': [{name: hello}]}\n")
        cluster.start()
        self.machines = {name: machines.Machine(cluster, name) for name in NODES}
        for machine in self.machines.values():
            machine.join_with_token()
            machine.start()
            machine.wait_live()

    def write(self, text, command=None):
        steps = [{"name": "greet", "file.managed": [
            {"name": f"{self.out}/{{{{ server.name }}}}"}, {"content": f"{text} {{{{ server.name }}}}"}]}]
        if command is not None:
            steps.append({"name": "check", "cmd.run": [{"cmd": command}]})
        (self.site / "jobs/hello.yaml").write_text(json.dumps({"steps": steps}))

    def call(self, *words, code=0):
        words = [*words, "--"] if "--" not in words else list(words)
        end = words.index("--")
        done = self.cluster.eden(*words[:end], "--run-dir", self.cluster.run, *words[end:], check=False)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done

    def greetings(self):
        return {path.name: path.read_text().split()[0] for path in self.out.iterdir()}


@pytest.fixture
def fleet(cluster, tmp_path):
    return Fleet(cluster, tmp_path)


def test_a_pushed_site_is_applied_on_all_nodes(fleet):
    fleet.write("hello")
    fleet.call("push", fleet.site)
    wait_until(lambda: fleet.greetings() == dict.fromkeys(NODES, "hello"), "the files of all nodes", fleet.out)


def test_a_site_with_a_mistake_changes_nothing(fleet):
    fleet.write("hello")
    fleet.call("push", fleet.site)
    wait_until(lambda: len(fleet.greetings()) == 3, "the files of all nodes", fleet.out)
    (fleet.site / "jobs/hello.yaml").write_text("steps:\n- name: greet\n  file.managd:\n  - name: /x\n")
    done = fleet.call("push", fleet.site, code=1)
    assert "hello.yaml:3:3" in done.stderr and "did you mean 'file.managed'?" in done.stderr
    assert fleet.greetings() == dict.fromkeys(NODES, "hello")


def test_a_run_says_which_node_failed_and_why(fleet):
    fleet.write("hello", command="test {{ server.name }} != web2")
    fleet.call("push", fleet.site, "--no-run")
    done = fleet.call("run", "-l", "web* or db1", "--progress", "plain", code=1)
    assert "failed  web2: hello#check: exited with 1" in done.stdout
    assert "1 failed, 2 changed of 3 nodes" in done.stdout
    run = done.stdout.split("run ")[-1].split(":")[0]
    log = fleet.call("logs", run, "web2", "hello#check").stdout
    assert log.startswith("web2  failed   hello#check: exited with 1 (jobs/hello.yaml:1:")
    assert fleet.call("logs", run[:20]).stdout.count("ended") == 3


def test_a_check_changes_nothing(fleet):
    fleet.write("hello")
    fleet.call("push", fleet.site, "--no-run")
    done = fleet.call("run", "-l", "web* or db1", "--check", "--progress", "none")
    assert "3 changed of 3 nodes" in done.stdout
    assert fleet.greetings() == {}


def test_a_rollback_is_applied_too(fleet):
    for text in ("hello", "bonjour"):
        fleet.write(text)
        fleet.call("push", fleet.site)
        wait_until(lambda: fleet.greetings() == dict.fromkeys(NODES, text), f"'{text}' on all nodes", fleet.out)
    fleet.call("versions", "rollback")
    wait_until(lambda: fleet.greetings() == dict.fromkeys(NODES, "hello"), "the former files", fleet.out)


def test_a_push_and_a_rollback_wait_for_the_nodes(fleet):
    """The server of the test has no agent, so that it is silent."""
    for text in ("hello", "bonjour"):
        fleet.write(text)
        done = fleet.call("push", fleet.site, "--wait", "--progress", "none", code=3)
        assert done.stdout.endswith(": 1 silent, 3 changed of 4 nodes\n")
        assert fleet.greetings() == dict.fromkeys(NODES, text)
    assert "3 changed of 4 nodes" in fleet.call("push", fleet.site, "--wait", code=3).stdout
    assert "3 changed of 4 nodes" in fleet.call("versions", "rollback", "--wait", code=3).stdout
    assert fleet.greetings() == dict.fromkeys(NODES, "hello")
    done = fleet.call("versions", "activate", "previous", "--wait", "--no-run", code=64)
    assert "--wait watches the run that --no-run omits" in done.stderr


def test_a_command_is_executed_on_selected_nodes(fleet):
    done = fleet.call("exec", "-l", "web*", "--progress", "none", "--", "sh", "-c", "exit 3", code=1)
    assert done.stdout.startswith("2 nodes: exited with 3\n  web1, web2\n")
    assert "2 failed of 2 nodes" in done.stdout


def test_nodes_show_which_version_they_have(fleet):
    def sites(*words, code=0):
        items = json.loads(fleet.call("nodes", "list", *words, "-o", "json", code=code).stdout)["items"]
        return {node["metadata"]["name"]: node["status"]["site"] for node in items}

    fleet.write("hello")
    fleet.call("push", fleet.site, "--wait", code=3)
    assert sites("-l", "web* or db1") == dict.fromkeys(NODES, "current")
    fleet.write("broken", command="test {{ server.name }} != web2")
    fleet.call("push", fleet.site, "--wait", code=1)
    assert sites("--site", "failed") == {"web2": "failed"}
    listed = fleet.call("nodes", "--site", "failed").stdout.splitlines()
    assert listed[1].split()[:1] == ["web2"] and listed[-1] == "1 node, 1 that failed to apply the site"
    assert fleet.call("nodes", "--site", "outdated", code=3).stderr == "nothing matches\n"


def test_a_silent_node_is_never_ok(fleet):
    fleet.machines["db1"].agent.kill()
    wait_until(lambda: '"silent"' in fleet.cluster.call("nodes", "show", "db1", "-o", "json").stdout,
               "the silence of db1")
    done = fleet.call("exec", "-l", "db1 or web1", "--progress", "none", "--", "true", code=3)
    assert "silent  db1" in done.stdout


def test_an_agent_that_is_killed_finishes_its_run(fleet):
    fleet.write("hello", command=f"test -e {fleet.out}/go || sleep 0.2; test -e {fleet.out}/go")
    fleet.call("push", fleet.site, "--no-run")
    run = fleet.call("run", "-l", "web1", "--detach").stdout.strip()
    wait_until(lambda: "web1" in fleet.greetings(), "the first step", fleet.out)
    fleet.machines["web1"].agent.kill()
    fleet.machines["web1"].start()
    status = wait_until(lambda: ended(fleet, run), "the end of the run")
    assert status["counts"]["failed"] == 1


def ended(fleet, run):
    status = json.loads(fleet.call("api", "GET", f"/v1/runs/{run}").stdout)["status"]
    return status if status["state"] == "ended" else None


def put_list_of_servers(fleet):
    (fleet.site / "templates").mkdir(exist_ok=True)
    (fleet.site / "templates/servers").write_text(
        "web: {% for s in eden.servers_get_by_label('role=web') %}{{ s.name }}={{ s.os }} {% endfor %}\n"
        "all: {% for name, s in servervars.items() %}{{ name }}({{ s.labels.role | default('-') }}) {% endfor %}\n"
        "macro: {{ macros['servers_get_by_label']('role=db') | map(attribute='name') | join(',') }}\n"
        "run: {{ eden.run }}\n")
    (fleet.site / "jobs/hello.yaml").write_text(json.dumps({"steps": [{
        "name": "list", "file.managed": [{"name": f"{fleet.out}/{{{{ server.name }}}}"},
                                         {"template": "servers"}]}]}))


def lists(fleet):
    return {path.name: path.read_text().splitlines() for path in fleet.out.iterdir()}


def test_templates_see_all_nodes(fleet, tmp_path):
    for name in NODES:
        fleet.call("nodes", "label", name, f"role={name[:-1]}")
    put_list_of_servers(fleet)
    fleet.call("push", fleet.site, "--no-run")
    done = fleet.call("run", "-l", "web* or db1", "--progress", "none")
    run = done.stdout.rsplit("run ", 1)[1].split(":")[0]
    assert "3 changed of 3 nodes" in done.stdout
    for lines in lists(fleet).values():
        web = lines[0].removeprefix("web: ").split()
        assert [word.split("=")[0] for word in web] == ["web1", "web2"]
        assert all(word.split("=")[1] for word in web)
        assert lines[1].split() == ["all:", "db1(db)", "s1(-)", "web1(web)", "web2(web)"]
        assert lines[2] == "macro: db1"
        assert lines[3] == f"run: {run}"
    fleet.call("nodes", "label", "db1", "role=web")
    fleet.call("run", "-l", "web1", "--progress", "none")
    assert [word.split("=")[0] for word in lists(fleet)["web1"][0].removeprefix("web: ").split()] == [
        "db1", "web1", "web2"]


def test_a_site_that_needs_no_list_of_nodes_fetches_none(fleet):
    fleet.write("hello")
    fleet.call("push", fleet.site)
    wait_until(lambda: len(fleet.greetings()) == 3, "the files of all nodes", fleet.out)
    assert list((fleet.machines["web1"].state / "agent/servers/sites").glob("[!.]*")) == []
