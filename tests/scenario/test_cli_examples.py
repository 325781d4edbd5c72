"""Every example in the help works, in a folder that contains what it names."""

import json
import os
import select
import shlex
import signal
import subprocess

import machines
import api_client
import cluster_world
import etcd
import pytest

FILES = {
    "motd.j2": "welcome to {{ site }}\n",
    "nginx.conf.j2": "listen {{ port }};\n",
    "site.yaml": "site: example\nport: 80\n",
    "fleet.yaml": "nodes:\n  - {name: web1, role: web}\n  - {name: db1, role: db}\n",
    "facts.json": '{"kernel": "6.1"}\n',
    "site/jobs/base.yaml": "jobs:\n  '*':\n    - name: greet\n",
    "site/jobs/greet.yaml": "steps:\n- name: greet\n  action: test.ok\n",
    "site/variables/base.yaml": "files: {'*': [{name: common}]}\n",
    "site/variables/common.yaml": "network: {mtu: 9000}\n",
    "site/templates/motd.j2": "welcome to {{ server.name }}\n",
    "steps.yaml": "steps:\n- name: greet\n  test.changed:\n",
    "role.yaml": "metadata: {name: web-operator}\nspec: {rules: [{verbs: [get], kinds: [Node]}]}\n",
    "jobs/base.yaml": "jobs:\n  '*':\n    - name: install\n",
    "jobs/install.yaml": "steps:\n- name: greet\n  action: test.ok\n",
}
# eden itself, restricted: commands that act on a machine do so in another root.
GUARD = """#!/bin/sh
case "$*" in nodes\\ approve*--ssh*) exec {eden} help nodes ;; esac
case "$1" in
plan | apply) exec {eden} "$@" --root "$HOME/root" --state-dir "$HOME/state" \\
    --config-dir "$HOME/etc" --progress none ;;
modules) exec {eden} "$@" --config-dir "$HOME/etc" ;;
why | replay) exec {eden} "$@" --state-dir "$HOME/state" ;;
doctor) exec {eden} "$@" --state-dir "$HOME/state" --run-dir "$HOME/run" ;;
tokens | nodes | roles | config | pki | get | put | delete | audit | facts)
    exec {eden} "$@" --run-dir "$HOME/s1/run" ;;
init) exec {eden} "$@" --state-dir "$HOME/state" --user root ;;
*) exec {eden} "$@" ;;
esac
"""
# Stand-ins for programs that an example pipes from or to.
PROGRAMS = {
    "dot": "#!/bin/sh\ncat\n",
    "kubectl": "#!/bin/sh\necho '{\"items\": [{\"name\": \"node1\"}]}'\n",
    "man": "#!/bin/sh\ntest \"$*\" = '-l -' && cat\n",
}


def examples():
    eden = os.environ.get("EDEN", "build/eden")
    listed = subprocess.run([eden, "help", "-o", "json"], capture_output=True, text=True)
    if listed.returncode != 0:
        return []
    described = json.loads(listed.stdout)
    commands = [example["command"] for command in described["commands"]
                for example in command["examples"]]
    for topic in described["topics"]:
        text = subprocess.run([eden, "help", topic["name"]], capture_output=True, text=True).stdout
        commands += [line.strip() for line in text.splitlines() if line.startswith("    eden ")]
    return [pytest.param(command, id=command) for command in dict.fromkeys(commands)]


def create_record(eden_path, folder):
    """That of a run of the site, at the time that examples name, and as a file."""
    (folder / "root").mkdir(exist_ok=True)
    subprocess.run([eden_path, "apply", "site", "--root", "root", "--state-dir", "state",
                    "--config-dir", "etc", "--progress", "none"],
                   cwd=folder, capture_output=True, check=True)
    record, = (folder / "state/runs").iterdir()
    record.rename(folder / "state/runs/20260131T081530.250-3f2a.json")
    (folder / "record.json").write_bytes(
        (folder / "state/runs/20260131T081530.250-3f2a.json").read_bytes())


MODULE = """#!/bin/sh
echo '{"format": "eden.module/1", "help": "Messages.", "actions": {"set": {"help": "Sets it."}}}'
"""


def create_module(eden_path, folder):
    """In the site, signed with a trusted key."""
    (folder / "site/modules").mkdir()
    (folder / "site/modules/motd").write_text(MODULE)
    for words in ("keygen .eden-key", "sign --key .eden-key site"):
        subprocess.run([eden_path, "modules", *words.split()], cwd=folder, capture_output=True,
                       check=True)
    (folder / "etc/trusted-keys").mkdir(parents=True)
    (folder / "etc/trusted-keys/key.pub").write_bytes((folder / ".eden-key.pub").read_bytes())


def create_archive(cluster, folder):
    """Of the unmodified audit log."""
    output = api_client.call(cluster, "GET", "/v1/audit-entries")[1]
    last = json.loads(output["entries"][-1])
    head = {"format": "eden.audit-archive/1", "cluster": output["cluster"], "first": 1,
            "last": last["sequence"], "previous": "0" * 64, "hash": last["hash"]}
    lines = [json.dumps(head), *output["entries"]]
    (folder / "audit-2026.ndjson").write_text("".join(line + "\n" for line in lines))


def create_request(folder):
    """A certificate request of a machine, made by openssl."""
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder / "web3.key", "-subj",
                    "/CN=web3", "-out", folder / "web3.csr"], capture_output=True, check=True)


def needs_server(command):
    """Commands run on a server, by the words before the first option."""
    words = command.split("| ")[-1].split()
    kinds = ("tokens", "nodes", "roles", "config", "pki", "get", "put", "delete", "audit")
    return words[1] in kinds or "--node" in words or words[1:3] == ["facts", "-l"]


def watches(command):
    return command.startswith("eden watch")


def follows(command):
    return "--follow" in command  # test_audit.py has these


def keeps_running(command):
    """A list followed by its changes."""
    return "--watch" in command


def is_daemon(command):
    return command.split()[1] in ("serve", "agent", "watch") or follows(command) or keeps_running(command)


def joins(command):
    return command.startswith(("eden join", "eden leave"))


def backs_up(command):
    return command.startswith("eden backup")


def runs_etcd(command):
    return command.startswith("eden init") and "--store etcd" in command


def is_remote(command):
    """test_far_commands.py has these."""
    words = command.split("| ")[-1].split()
    return words[1] in ("login", "logout", "context", "api", "complete") or "--context" in words


def is_cluster(command):
    """test_dev.py, test_damaged_store.py, test_sources.py, test_servers.py and test_cluster_runs.py
    have these."""
    return command.startswith(("eden dev", "eden cluster", "eden sources", "eden servers", "eden run", "eden exec",
                               "eden logs", "eden push", "eden versions"))


def acts_on_nodes(command):
    words = command.split()
    return words[1] in ("run", "exec", "logs", "push", "versions")


def test_the_examples_of_runs_and_versions_work(cluster, tmp_path):
    """One after another, with a server and two nodes; names that examples invent become real ones."""
    cluster.start()
    assert cluster.server.stop() == 0  # its ports are known now; its agent starts it again
    first = machines.first(cluster)
    first.start()
    first.wait_live()
    for name in ("web2", "db1"):
        machine = machines.Machine(cluster, name)
        machine.join_with_token()
        machine.start()
        machine.wait_live()
    cluster.call("nodes", "label", "web2", "role=web")
    site = tmp_path / "site"
    (site / "jobs").mkdir(parents=True)
    (site / "jobs/base.yaml").write_text("jobs:\n  '*':\n    - name: web\n")
    versions = []
    for text in ("one", "two", "three"):
        for job, step in (("web", "nginx"), ("backup", "dump")):
            (site / f"jobs/{job}.yaml").write_text(f"steps:\n- name: {step}\n  test.{text == 'two' and 'changed' or 'ok'}:\n"
                                                   f"  # {text}\n")
        pushed = json.loads(cluster.call("push", site, "--no-run", "-o", "json").stdout)
        versions.append(pushed["version"])
    run = json.loads(cluster.call("run", "-o", "json").stdout)["run"]["metadata"]["name"]
    real = {"20261118T2201": run, "3f2a": versions[0], "9be1": versions[1], "site/": str(site)}
    commands = [param.values[0] for param in examples() if acts_on_nodes(param.values[0])]
    assert len(commands) > 15
    for command in commands:
        words = [real.get(word, word) for word in shlex.split(command)[1:]]
        if words[0] in ("push", "versions"):
            cluster.call("versions", "unpin")
        if words[0] == "push":  # a new version, which all nodes apply
            (site / "files").mkdir(exist_ok=True)
            (site / "files/count").write_text(command)
        if "rollback" in words:
            for version in (versions[0], versions[2]):
                cluster.call("versions", "activate", version, "--no-run")
        if "delete" in words:
            for version in versions[1:]:  # neither current nor previous
                cluster.call("versions", "rollback", version, "--no-run")
        end = words.index("--") if "--" in words else len(words)
        done = cluster.eden(*words[:end], "--run-dir", cluster.run, *words[end:], check=False)
        # No node here has an nginx.
        assert done.returncode == (1 if "nginx" in words and words[0] == "exec" else 0), \
            (command, done.stdout, done.stderr)
        assert done.stdout != "", command


@pytest.mark.parametrize("command", filter(lambda each: backs_up(each.values[0]), examples()))
def test_the_example_of_a_backup_works(cluster, command):
    cluster.start()
    words = shlex.split(command)[1:]
    if "create" not in words:
        cluster.call("backup", "create", "blue.backup")
    if "restore" in words:
        words += ["--state-dir", cluster.folder / "fresh", "--user", "root"]
    elif "verify" in words:
        words += ["--scratch", cluster.folder]
    else:
        words += ["--run-dir", cluster.run]
    assert "blue" in cluster.eden(*words).stdout


@pytest.mark.parametrize("command", filter(
    lambda each: each.values[0].startswith("eden join"), examples()))
def test_the_example_of_joining_works(cluster, eden_path, command):
    cluster.start()
    token = json.loads(cluster.call("tokens", "create", "-o", "json").stdout)["status"]["secret"]
    words = [{"eden1": f"127.0.0.1:{cluster.api_port}", "$PIN": cluster.init_output["ca_pin"]}.get(
        word, word) for word in shlex.split(command.split(" <")[0])[1:]]
    process = subprocess.Popen([eden_path, *words, "--state-dir", cluster.folder / "web1"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    if "--token" not in words:
        assert "as 'web1'" in process.stderr.readline()
    if "--ca-pin" not in words:  # SSH determines whom to trust
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
        return
    if "--token" not in words:
        cluster.call("nodes", "approve", "web1")
    out, _ = process.communicate(token if "--token" in words else None, timeout=60)
    assert process.returncode == 0
    assert "of cluster 'blue'" in out


@pytest.mark.parametrize("command", filter(
    lambda each: each.values[0].startswith("eden leave"), examples()))
def test_the_example_of_leaving_works(cluster, command):
    cluster.start()
    machine = machines.Machine(cluster, "web1")
    machine.join_with_token()
    machine.start()
    machine.wait_live()
    done = cluster.eden(*shlex.split(command)[1:], "--state-dir", machine.state, "--run-dir",
                        machine.run)
    assert "no longer node 'web1'" in done.stdout


@pytest.mark.parametrize("command", filter(lambda each: watches(each.values[0]), examples()))
def test_the_example_of_a_watch_works(cluster, command):
    cluster.start()
    process = api_client.start(cluster, *shlex.split(command)[1:])
    labels = 0
    while not select.select([process.stdout], [], [], 0.1)[0]:
        labels += 1
        api_client.call(cluster, "PATCH", "/v1/nodes/s1",
                   {"metadata": {"labels": {"changed": str(labels)}}})
    assert "/eden/nodes/s1" in api_client.next_line(process.stdout)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.parametrize("command", filter(lambda each: keeps_running(each.values[0]), examples()))
def test_the_example_of_a_watched_list_works(cluster, command):
    cluster.start()
    process = api_client.start(cluster, *shlex.split(command)[1:])
    assert "NAME" in api_client.next_line(process.stdout)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.parametrize("command", filter(
    lambda each: is_daemon(each.values[0]) and
    not any(has(each.values[0]) for has in (watches, follows, keeps_running)), examples()))
def test_the_example_of_a_daemon_works(cluster, command):
    words = shlex.split(command)[1:]
    daemon = cluster.daemon(*words, "--state-dir", cluster.state, "--run-dir", cluster.run)
    daemon.wait_ready()
    assert daemon.stop() == 0


@pytest.mark.parametrize("command", filter(lambda each: runs_etcd(each.values[0]), examples()))
def test_the_example_of_a_server_with_etcd_works(eden, tmp_path, command):
    words = ["127.64.1.5" if word == "10.0.0.5" else word for word in shlex.split(command)[1:]]
    done = eden(*words, "--state-dir", tmp_path / "state", "--user", "root",
                env={"PATH": f"{etcd.PROGRAM.parent}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert "127.64.1.5" in done.stdout


@pytest.mark.parametrize("command", filter(
    lambda each: not any(has(each.values[0]) for has in (is_daemon, joins, backs_up, is_remote, is_cluster,
                                                         acts_on_nodes, runs_etcd)),
    examples()))
def test_the_example_works(eden_path, tmp_path, command, request):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for folder in ("bin", "root", ".zfunc", ".config/fish/completions", ".local/share/man/man1"):
        (tmp_path / folder).mkdir(parents=True)
    for name, text in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "bin" / "eden").write_text(GUARD.format(eden=eden_path))
    (tmp_path / "bin" / "eden").chmod(0o755)
    if command.startswith(("eden why", "eden replay")):
        create_record(eden_path, tmp_path)
    if command.startswith("eden modules") and "keygen" not in command:
        create_module(eden_path, tmp_path)
    if ".csr" in command:
        create_request(tmp_path)
    if needs_server(command):
        running = request.getfixturevalue("cluster")
        running.start()
        if command.startswith("eden nodes ping"):
            cluster_world.join(running, "web1")
        else:
            cluster_world.fill(running)
        if command.startswith(("eden roles show", "eden roles delete")):
            running.call("roles", "create", "-f", tmp_path / "role.yaml")
        if "audit-2026.ndjson" in command:
            create_archive(running, tmp_path)
        if command.startswith("eden config"):
            running.call("config", "set", "title=Test", "color=green")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.returncode == (2 if "--detailed-exitcode" in command else 0)
    if ">" not in command and "--dir" not in command and not command.startswith("source"):
        assert done.stdout != ""


def test_there_are_examples():
    assert len(examples()) > 15
    assert "eden nodes ping -l 'web*'" in [example.values[0] for example in examples()]  # of a topic


def test_the_values_that_eval_examples_promise(eden):
    for example in json.loads(eden("help", "eval", "-o", "json").stdout)["examples"]:
        if example["help"].isdigit():
            expression = example["command"].split("'")[1]
            assert eden("eval", expression).stdout == example["help"] + "\n"
