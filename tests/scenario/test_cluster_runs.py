"""`eden runs` of a cluster: which runs there are, what became of them, once more, and compared."""

import json
import shlex
import subprocess

import machines
import pytest
from fleets import Fleet

from api_client import next_line
from events import wait_until


@pytest.fixture
def fleet(cluster):
    return Fleet(cluster)


def step(name, command):
    return {"name": name, "cmd.run": [{"cmd": command}]}


FAILS_ON_WEB2 = [step("check", "test {{ server.name }} != web2")]


def applied(fleet, code=1):
    """The ID of a run of the site."""
    done = fleet.call("run", "-l", "web* or db1", "--progress", "none", "-o", "json", code=code)
    return json.loads(done.stdout)["run"]["metadata"]["name"]


def test_runs_are_listed_newest_first(fleet):
    first, second = fleet.execute("true", selector="web1"), fleet.execute("false", code=1)
    head, *rows = fleet.call("runs").stdout.splitlines()
    assert head.split() == ["RUN", "KIND", "OUTCOME", "NODES", "VERSION", "AGE", "BY"]
    assert [row.split()[0] for row in rows] == [second, first]
    assert "failed   3 failed of 3" in rows[0] and "changed  1 changed of 1" in rows[1]
    assert "  web1 " in fleet.call("runs", "-o", "wide").stdout
    assert len(fleet.json("runs")["items"]) == 2


def test_without_runs_it_says_how_to_make_one(cluster):
    cluster.start()
    done = cluster.call("runs")
    assert done.stdout == "" and "no runs yet; 'eden run'" in done.stderr


def test_a_run_is_named_by_the_start_of_its_id(fleet):
    run = fleet.execute("true")
    assert fleet.call("runs", "show", run[:-2]).stdout.startswith(f"run      {run}\n")
    fleet.execute("true")
    assert "several runs match '2'" in fleet.call("runs", "show", "2", code=5).stderr
    assert "run '3' not found" in fleet.call("runs", "show", "3", code=1).stderr
    assert "already ended" in fleet.call("runs", "cancel", run[:-1], code=5).stderr


def test_show_says_what_failed_and_where(fleet):
    version = fleet.push({"web": FAILS_ON_WEB2})
    run = applied(fleet)
    done = fleet.call("runs", "show", run, code=1)
    assert f"what     apply of version {version}\nwhere    web* or db1\n" in done.stdout
    assert "failed  web2: web#check: exited with 1" in done.stdout
    assert "db1" not in done.stdout.split("failed  ")[1].splitlines()[0]
    assert "1 failed, 2 changed of 3 nodes" in done.stdout
    assert done.stderr == f"'eden logs {run} web2' shows the locations and the output\n"
    wide = fleet.call("runs", "show", run, "-o", "wide", code=1).stdout
    assert [line.split()[:2] for line in wide.splitlines() if line.startswith(("db1", "web"))] == [
        ["db1", "changed"], ["web1", "changed"], ["web2", "failed"]]
    assert fleet.json("runs", "show", run, code=1)["format"] == "eden.run-report/1"


def test_show_says_why_a_node_waits_and_which_is_silent(fleet):
    fleet.silence("db1")
    fifo = fleet.cluster.folder / "go"
    subprocess.run(["mkfifo", fifo], check=True)
    busy = fleet.call("exec", "-l", "web1", "--detach", "--", "cat", fifo).stdout.strip()
    queued = fleet.call("exec", "-l", "web1 or db1", "--detach", "--", "true").stdout.strip()
    shown = wait_until(lambda: (lambda text: text if "1 waiting" in text else None)(
        fleet.cluster.call("runs", "show", queued, check=False).stdout), "the queue of web1")
    assert f"waiting  web1: waiting for run {busy}" in shown
    assert "silent  db1: it has no session" in shown
    assert "1 silent, 1 waiting of 2 nodes" in shown
    assert "in progress for" in shown
    fifo.write_text("")
    fleet.wait_ended(busy)
    assert fleet.wait_ended(queued)["counts"]["changed"] == 1


def test_a_run_is_canceled(fleet):
    fifo = fleet.cluster.folder / "go"
    subprocess.run(["mkfifo", fifo], check=True)
    run = fleet.call("exec", "-l", "web1", "--detach", "--", "cat", fifo).stdout.strip()
    queued = fleet.call("exec", "-l", "web1", "--detach", "--", "true").stdout.strip()
    wait_until(lambda: fleet.status(queued)["counts"]["waiting"], "the queue of web1")
    done = fleet.call("runs", "cancel", queued[:-1], "--reason", "wrong node")
    assert done.stdout == (f"{queued[:-1]} is being canceled\n"
                           "  1 node: not started yet, and will skip the run\n")
    assert fleet.wait_ended(queued)["outcome"] == "canceled"
    assert "wrong node" in fleet.call("audit", "tail", "-o", "json").stdout
    fifo.write_text("")
    assert fleet.wait_ended(run)["outcome"] == "changed"


def test_a_cancel_says_what_happens_to_running_steps_and_can_stop_them(fleet):
    fifo = fleet.cluster.folder / "go"
    subprocess.run(["mkfifo", fifo], check=True)
    fleet.push({"web": [{"name": "gate", "cmd.run": [{"cmd": f"cat {fifo}"}]}]})
    run = fleet.call("run", "-l", "web1", "--detach").stdout.strip()
    wait_until(lambda: fleet.status(run)["counts"]["running"], "the run")
    wait_until(lambda: '"event":"start"' in fleet.call("logs", run, "-o", "json").stdout, "the step")
    shown = fleet.call("runs", "show", run).stdout
    assert "running  web1\n        last event from web1: step 'web#gate' started, at 2" in shown
    assert fleet.call("runs", "cancel", run).stdout == (
        f"{run} is being canceled\n  1 node: running steps may finish for 30s, then they get SIGTERM "
        "and are killed 2s later; --now does not wait\n")
    wait_until(lambda: "running  web1: canceling: step 'web#gate' has until 2"
               in fleet.call("runs", "show", run).stdout, "the announcement")
    assert " canceling " in fleet.call("runs").stdout
    assert fleet.call("runs", "cancel", "--now", run).stdout == (
        f"{run} is being canceled\n  1 node: running steps get SIGTERM now, and are killed 2s later\n")
    assert fleet.wait_ended(run)["outcome"] == "canceled"
    assert '"interrupted":true' in fleet.call("logs", run, "-o", "json").stdout


def test_other_processes_do_not_see_the_variables_of_a_run(fleet):
    out = fleet.cluster.folder / "out"
    fleet.push({"web": [{"name": "look", "cmd.run": [
        {"cmd": f"tr '\\0' ' ' < /proc/$PPID/cmdline > {out}; echo '{{{{ vars.pw }}}}' >> {out}"}]}]})
    fleet.call("run", "-l", "web1", "-D", "pw=hunter2-hunter2", "--progress", "none")
    *words, value = out.read_text().split()
    assert "--control" in words and "--run-id" in words
    assert value == "hunter2-hunter2" and "hunter2" not in " ".join(words)


def test_a_wrong_variable_is_an_error_without_its_value(fleet):
    fleet.push({"web": [{"name": "look", "cmd.run": [{"cmd": "true"}]}]})
    refused = fleet.call("run", "-l", "web1", "-D", "a.b=hunter2", code=64)
    assert "KEY is a name, not 'a.b'" in refused.stderr and "hunter2" not in refused.stderr
    spec = {"selector": "web1", "defines": ["a.b=hunter2"]}
    made = fleet.call("api", "POST", "/v1/runs", "-d", json.dumps({"spec": spec}))
    run = json.loads(made.stdout)["metadata"]["name"]
    fleet.wait_ended(run)
    shown = fleet.call("runs", "show", run, code=1).stdout
    assert "KEY is a name, not 'a.b'" in shown and "hunter2" not in shown


def test_a_run_is_stopped_at_its_time_limit(fleet):
    fifo = fleet.cluster.folder / "go"
    subprocess.run(["mkfifo", fifo], check=True)
    fleet.push({"web": [{"name": "gate", "cmd.run": [{"cmd": f"cat {fifo}"}]}]})
    shown = fleet.call("run", "-l", "web1", "--time-limit", "1s", "--progress", "none", code=1).stdout
    assert "it exceeded its time limit" in shown and "1 failed of 1 node" in shown
    run = shown.split("run ")[-1].split(":")[0]
    assert "was killed" in fleet.call("logs", run).stdout


def test_what_is_not_found_for_a_new_run_has_no_hint_at_runs(fleet):
    fleet.push({"web": [{"name": "look", "cmd.run": [{"cmd": "true"}]}]})
    assert "runs list" not in fleet.call("run", "-l", "nosuch", code=3).stderr


def test_a_retry_with_a_version_that_is_not_current_must_be_asked_for(fleet):
    old = fleet.push({"web": FAILS_ON_WEB2})
    run = applied(fleet)
    new = fleet.push({"web": [{"name": "other", "cmd.run": [{"cmd": "true"}]}]})
    refused = fleet.call("runs", "retry", run, code=5)
    assert (f"run {run} has version {old}, and the current version is {new}: retry with --version "
            f"current, or with --same-version to apply {old} again") in refused.stderr
    same = fleet.json("runs", "retry", run, "--failed", "--same-version", "--progress", "none", code=1)
    assert same["run"]["spec"]["version"] == old
    current = fleet.json("runs", "retry", run, "--failed", "--version", "current", "--progress", "none")
    assert current["run"]["spec"]["version"] == new and current["run"]["spec"]["retry_of"] == run
    assert [node["node"] for node in current["nodes"]] == ["web2"]
    both = fleet.call("runs", "retry", run, "--same-version", "--version", "current", code=64)
    assert "are mutually exclusive" in both.stderr
    command = fleet.execute("true", selector="web1")
    assert "a command has no version" in fleet.call("runs", "retry", command, "--same-version",
                                                    code=64).stderr


def test_variables_of_a_run_are_not_given_to_another_version_that_is_not_current(fleet):
    fleet.push({"web": FAILS_ON_WEB2})
    run = fleet.call("run", "-l", "web1", "-D", "pw=x", "-o", "name", "--progress", "none").stdout.strip()
    fleet.push({"web": [{"name": "other", "cmd.run": [{"cmd": "true"}]}]})
    spy = fleet.push({"web": [{"name": "spy", "cmd.run": [{"cmd": "true"}]}]}, "--no-activate")
    refused = fleet.call("runs", "retry", run, "--version", spy, code=5)
    assert "has variables" in refused.stderr
    fleet.call("runs", "retry", run, "--version", "current", "--progress", "none")


def test_logs_of_what_a_run_does_not_have_are_an_error_that_says_what_it_has(fleet):
    fleet.push({"web": FAILS_ON_WEB2})
    run = applied(fleet)
    step = fleet.call("logs", run, "web2", "web#chek", code=1)
    assert f"node 'web2' has no step 'web#chek' in run {run}" in step.stderr and step.stdout == ""
    assert "did you mean 'web#check'? its steps are: " in step.stderr
    node = fleet.call("logs", run, "wbe1", code=1)
    assert f"node 'wbe1' is not a target of run {run}" in node.stderr
    assert "did you mean 'web1'? its targets are: db1, web1, web2" in node.stderr
    missing = fleet.call("logs", run[:-1] + "!", code=1)
    assert f"did you mean '{run}'? the newest runs are: {run}" in missing.stderr
    assert "[E0853]" in missing.stderr
    assert "the newest runs are" in fleet.call("runs", "show", "2020", code=1).stderr
    assert "web#check" in fleet.call("logs", run, "web2", "web#check").stdout


def test_a_removed_log_says_so(fleet):
    fleet.push({"web": FAILS_ON_WEB2})
    run = applied(fleet)
    fleet.cluster.server.stop()
    path = fleet.cluster.state / f"server/run-logs/{run}.ndjson"
    path.write_text('{"event":"removed","at_ms":1800000000000,"bytes":12345}\n')
    fleet.cluster.start()
    told = "(the log was removed at 2027-01-15T08:00:00Z, because the total size of all run logs was too large; "
    assert fleet.call("logs", run).stdout.startswith(told)
    assert fleet.call("logs", run, "web2", "web#check").stdout.startswith(told)
    assert "was removed at 2027-01-15T08:00:00Z" in fleet.call("runs", "report", run).stdout
    assert fleet.json("runs", "report", run)["complete"] is False
    assert "1 failed, 2 changed of 3 nodes" in fleet.call("runs", "show", run, code=1).stdout


def test_a_selector_without_a_node_has_its_own_exit_code(fleet):
    done = fleet.call("exec", "-l", "mail*", "--", "true", code=3)
    assert "no node matches 'mail*'" in done.stderr


def test_a_selector_without_a_node_says_which_names_and_labels_exist(fleet):
    def hint(selector):
        done = fleet.call("exec", "-l", selector, "--", "true", code=3)
        assert f"no node matches '{selector}'" in done.stderr and "[E0853]" in done.stderr
        return done.stderr.splitlines()[1]

    assert hint("wbe1") == "  = did you mean 'web1'? the nodes are: db1, s1, web1, web2"
    assert hint("role=web") == "  = the labels of nodes are: none"
    fleet.call("nodes", "label", "web1", "role=web")
    assert hint("roel=web") == "  = did you mean 'role'? the labels of nodes are: role"
    assert hint("role=wbe") == "  = did you mean 'web'? the values of label 'role' are: web"


def test_a_job_that_the_version_does_not_have_starts_no_run(fleet):
    version = fleet.push({"web": [step("check", "true")]})
    done = fleet.call("run", "web", "wbe", code=1)
    assert f"/spec/jobs/1: version {version} has no job 'wbe'" in done.stderr
    assert "did you mean 'web'?" in done.stderr
    assert fleet.json("runs")["items"] == []
    done = fleet.call("run", "show", "20261118", code=64)
    assert "did you mean 'eden runs show 20261118'?" in done.stderr


def test_a_job_below_a_link_is_left_to_the_nodes(fleet):
    fleet.push({"web": [step("check", "true")]})
    site = fleet.cluster.folder / "site"
    (site / "jobs/more").symlink_to("../others")
    (site / "others").mkdir()
    (site / "others/extra.yaml").write_text(json.dumps({"steps": [step("extra", "true")]}))
    fleet.call("push", site, "--no-run")
    assert "more/extra#extra" in fleet.call("run", "more/extra", "-l", "web1", "--progress", "plain").stderr


def test_the_newest_run_and_runs_with_an_outcome_are_found(fleet):
    assert "no runs yet" in fleet.call("runs", "show", "latest", code=3).stderr
    failed, good = fleet.execute("false", code=1), fleet.execute("true")
    again = fleet.execute("false", code=1)
    assert fleet.call("runs", "show", "latest", "-o", "name", code=1).stdout == f"{again}\n"
    assert f"run {again}: " in fleet.call("runs", "show", "latest", code=1).stdout
    assert "exec#command" in fleet.call("logs", "latest", "web1").stdout
    names = fleet.call("runs", "--outcome", "failed", "-o", "name").stdout.split()
    assert names == [again, failed]
    assert fleet.call("runs", "--limit", "2", "-o", "name").stdout.split() == [again, good]
    assert fleet.call("runs", "--outcome", "silent", code=3).stderr == "nothing matches\n"
    assert "another RUN is required" in fleet.call("runs", "compare", again, code=64).stderr
    done = fleet.call("runs", "show", "2", code=5)
    assert "several runs match '2'" in done.stderr
    assert f"the newest of them are: {again}, {good}, {failed}\n" in done.stderr


def test_waiting_for_a_version_watches_the_run_of_this_activation(fleet):
    """Also if the same version became current before, in the same second."""
    own = machines.first(fleet.cluster)
    own.start()
    own.wait_live()
    for text in ("true", "echo"):
        fleet.push({"web": [step("check", text)]})
    runs = [fleet.call("versions", "activate", "previous", "--wait", "-o", "name").stdout for _ in range(6)]
    assert len(set(runs)) == 6


def test_a_watch_of_runs_prints_a_line_only_if_it_differs(fleet):
    fleet.execute("true")
    watch = fleet.start("runs", "--watch")
    assert next_line(watch.stdout).startswith("NAME ")
    next_line(watch.stdout)
    run = fleet.execute("true")
    lines = [next_line(watch.stdout)]
    while "  exec  changed  " not in lines[-1]:
        lines.append(next_line(watch.stdout))
    watch.kill()
    watch.communicate()
    assert all(run in line for line in lines)
    assert all(before != after for before, after in zip(lines, lines[1:])), lines


def test_a_shell_command_for_exec_says_how_to_run_a_shell(fleet):
    done = fleet.call("exec", "-l", "web1", "--", "echo hi", code=1)
    assert "'echo hi' is the name of a program; for a shell command, use: sh -c 'echo hi'" in done.stderr


def test_a_retry_repeats_what_failed(fleet):
    fleet.push({"web": FAILS_ON_WEB2})
    run = applied(fleet)
    retried = fleet.json("runs", "retry", run[:-1], "--failed", "--progress", "none", code=1)
    assert [node["node"] for node in retried["nodes"]] == ["web2"]
    assert retried["run"]["spec"]["retry_of"] == run
    assert retried["run"]["spec"]["version"] == fleet.api(f"/v1/runs/{run}")["spec"]["version"]
    everything = fleet.json("runs", "retry", run, "--progress", "none", code=1)
    assert [node["node"] for node in everything["nodes"]] == ["db1", "web1", "web2"]


def test_a_retry_has_the_variables_of_the_run(fleet):
    """Also those whose values are not shown, but not for other jobs."""
    out = fleet.cluster.folder / "out"
    fleet.push({"web": [step("write", f"echo {{{{ vars.word }}}} >> {out}")],
                "spy": [step("write", f"echo spy {{{{ vars.word }}}} >> {out}")]})
    run = fleet.json("run", "web", "-l", "web1", "-D", "word=swordfish", "--progress",
                     "none")["run"]["metadata"]["name"]
    retried = fleet.json("runs", "retry", run, "--progress", "none")["run"]["spec"]
    assert out.read_text() == "swordfish\nswordfish\n"
    assert retried["jobs"] == ["web"] and retried["defines"] == ["word=(hidden)"]
    body = json.dumps({"spec": {"retry_of": run, "retry": "all", "jobs": ["spy"]}})
    made = json.loads(fleet.call("api", "POST", "/v1/runs", "-d", body).stdout)
    assert "defines" not in made["spec"]
    fleet.wait_ended(made["metadata"]["name"])
    assert "spy swordfish" not in out.read_text()


def test_a_retry_of_what_succeeded_has_nothing_to_do(fleet):
    run = fleet.execute("true")
    done = fleet.call("runs", "retry", run, "--failed", code=3)
    assert "nothing to retry" in done.stderr
    assert fleet.json("runs", "retry", run, "--progress", "none")["run"]["spec"]["command"] == ["true"]


def test_runs_are_compared_by_node(fleet):
    fleet.push({"web": FAILS_ON_WEB2})
    first = applied(fleet)
    fleet.push({"web": [step("check", "true")]})
    second = applied(fleet, code=0)
    done = fleet.call("runs", "compare", first, second)
    head, row, count = done.stdout.splitlines()
    assert head.split() == ["NODE", first, second]
    assert row.startswith("web2  failed (1 failed): web#check: exited with 1")
    assert row.endswith("changed (1 changed)") and count == "1 of 3 nodes differ"
    compared = fleet.json("runs", "compare", first, second)
    assert compared["equal"] == 2 and [each["node"] for each in compared["different"]] == ["web2"]
    fewer = fleet.execute("true", selector="web1")
    assert "db1" in fleet.call("runs", "compare", fewer, second, "-o", "name").stdout.split()


def test_the_machine_of_a_cluster_has_its_own_runs_too(fleet):
    fleet.execute("true")
    done = fleet.cluster.eden("runs", "--local", "--state-dir", "nowhere", check=False)
    assert done.returncode == 3 and "no run recorded" in done.stderr


def test_ids_and_versions_are_completed(fleet):
    version = fleet.push({"web": FAILS_ON_WEB2})
    run = fleet.execute("true")

    def completed(*words):
        fleet.cluster.eden("complete", words[0], "--refresh", "--run-dir", fleet.cluster.run,
                           env={"HOME": str(fleet.cluster.folder)})
        return fleet.cluster.eden("complete", "line", "--", "eden", *words[1:], "--run-dir",
                                  fleet.cluster.run, "",
                                  env={"HOME": str(fleet.cluster.folder)}).stdout.split()

    assert run in completed("run", "runs", "show")
    assert run in completed("run", "logs")
    assert version in completed("version", "versions", "show")


# --- What the help of commands says ----------------------------------------------------------


def examples(eden_path):
    listed = json.loads(subprocess.run([eden_path, "help", "-o", "json"], capture_output=True,
                                       check=True).stdout)
    return [shlex.split(example["command"]) for command in listed["commands"]
            if command["name"] in ("run", "runs", "exec", "logs", "push", "versions")
            for example in command["examples"]]


def test_the_examples_work(fleet, eden_path):
    own = machines.first(fleet.cluster)
    own.start()
    own.wait_live()
    fleet.call("nodes", "label", "web1", "web2", "role=web")
    steps = {"web": [step("nginx", "test {{ server.name }} != web2")], "backup": [step("dump", "true")]}
    versions = [fleet.push({**steps, f"job{number}": []}) for number in range(3)]
    first, second = applied(fleet), applied(fleet)
    real = {"20261118T2201": first, "20261119T0800": second, "3f2a": versions[1],
            "9be1": versions[2], "systemctl": "echo"}
    for words in examples(eden_path):
        if words[1:3] == ["runs", "cancel"]:
            continue  # both runs have ended
        words = [real.get(word, word) for word in words[1:]]
        if words[:2] == ["versions", "delete"]:
            words[2] = versions[0]
        if words[0] in ("push", "versions"):
            fleet.call("versions", "unpin")
        if words[0] == "push":  # a new version, which all nodes apply
            (fleet.cluster.folder / "site/words").write_text(" ".join(words))
        if words[:2] == ["versions", "rollback"]:
            for version in versions[1:]:
                fleet.call("versions", "activate", version, "--no-run")
        if "--local" in words:
            words += ["--state-dir", fleet.cluster.folder]
        done = fleet.cluster.eden(*fleet.words(words), check=False)
        assert "error[" not in done.stderr and done.returncode in (0, 1), (words, done.stderr)
        assert done.stdout or words[:2] == ["runs", "--local"] or "--out" in words, (words, done.stderr)
