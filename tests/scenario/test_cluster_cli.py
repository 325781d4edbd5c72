"""Commands that connect to the server of a cluster, tested against a running server."""

import json
import os
import pty
import re
import subprocess

import daemons
import pytest
import yaml
from cluster_world import NODE_KEY, WAITING_KEY, add_nodes, fill, join, plant, put
from events import wait_until
from test_cli_completion import open_terminal

JOIN_LINE = re.compile(r"EDEN_JOIN_TOKEN=([a-z2-7]{8}\.[a-z2-7]+) eden join --server (\S+) "
                       r"--ca-pin (sha256:[0-9a-f]{64})\n")


@pytest.fixture
def running(cluster):
    cluster.start()
    return cluster


@pytest.fixture
def filled(running):
    fill(running)
    return running


def output(cluster, *args):
    return json.loads(cluster.call(*args, "-o", "json").stdout)


# --- tokens ---------------------------------------------------------------------------------------

def test_a_token_is_printed_as_a_complete_join_command(running):
    done = running.call("tokens", "create")
    token, server, pin = JOIN_LINE.fullmatch(done.stdout).groups()
    assert server == f"127.0.0.1:{running.api_port}"
    assert pin == running.init_output["ca_pin"]
    assert done.stderr == ""
    listed, = output(running, "tokens", "list")["items"]
    assert listed["metadata"]["name"] == token.split(".")[0]
    assert token not in running.call("tokens", "list", "-o", "yaml").stdout


def test_a_token_has_the_requested_life_uses_and_label(running):
    made = output(running, "tokens", "create", "--ttl", "2d", "--uses", "20", "--label", "rack 7")
    spec, status = made["spec"], made["status"]
    assert (spec["uses"], spec["description"]) == (20, "rack 7")
    assert status["join"].startswith(f"EDEN_JOIN_TOKEN={status['secret']} eden join --server ")
    assert status["join"].endswith(f" --ca-pin {status['ca_pin']}")
    table = running.call("tokens", "list").stdout.splitlines()
    assert table[0].split() == ["TOKEN", "PURPOSE", "STATE", "USES", "ROLES", "EXPIRES", "FOR"]
    assert re.fullmatch(made["metadata"]["name"] + r"\s+join\s+good\s+0 of 20\s+-\s+\S+Z\s+rack 7",
                        table[1])


@pytest.mark.parametrize("options", [("--uses", "0"), ("--uses", "many"), ("--ttl", "soon")])
def test_an_invalid_token_is_rejected(running, options):
    done = running.call("tokens", "create", *options, check=False)
    assert done.returncode in (1, 64)
    assert done.stderr != "" and done.stdout == ""
    assert "no tokens found" in running.call("tokens", "list").stderr


def test_revoked_tokens_disappear_and_a_wrong_name_does_not_stop_the_rest(running):
    first, second = (output(running, "tokens", "create")["status"]["secret"] for _ in range(2))
    done = running.call("tokens", "revoke", first, "aaaaaaaa", second.split(".")[0], check=False)
    assert done.returncode == 1
    assert done.stdout.count("is revoked") == 2
    assert "aaaaaaaa" in done.stderr
    assert output(running, "tokens", "list")["items"] == []


# --- nodes ----------------------------------------------------------------------------------------

def test_nodes_are_listed_with_silent_factless_and_pending_ones(filled):
    text = filled.call("nodes", "list").stdout
    rows = {line.split()[0]: line for line in text.splitlines() if line and "," not in line}
    assert "silent" in rows["web1"] and "yes" in rows["web1"]
    assert "silent" in rows["web2"] and "never sent" in rows["web2"]
    assert "2027-01-15T08:00:00Z" in rows["web2"]
    assert "pending" in rows["db1"]
    assert text.endswith("\n3 nodes, 3 silent, 2 without facts; 2 machines are requesting to join: "
                         "'eden nodes show db1' shows how to approve it\n")
    assert filled.call("nodes", "list", "-o", "name").stdout.split() == [
        "s1", "web1", "web2", "db1", "db2"]
    wide = filled.call("nodes", "list", "-o", "wide").stdout
    assert NODE_KEY in wide and WAITING_KEY in wide


def test_ten_thousand_nodes_are_listed(running):
    add_nodes(running, 10000)
    names = running.call("nodes", "list", "-o", "name").stdout.split()
    assert names == [f"node-{number:05}" for number in range(10000)] + ["s1"]
    listed = output(running, "nodes", "list")
    assert listed["metadata"]["kind"] == "NodeList" and listed["metadata"]["continue"] is None
    assert listed["items"][9999]["metadata"]["labels"] == {"rack": "39"}
    assert running.call("nodes", "list").stdout.endswith(
        "\n10001 nodes, 10001 silent, 10001 without facts\n")


def test_a_node_is_shown_in_full(filled):
    text = filled.call("nodes", "show", "web1").stdout
    assert re.search(r"^NODE +web1$", text, re.M)
    assert "'eden facts --node web1' shows them" in text
    assert "silent, since unknown time" in text
    text = filled.call("nodes", "show", "db1").stdout
    assert f"eden nodes approve db1 --key {WAITING_KEY}" in text
    assert output(filled, "nodes", "show", "web1")["status"]["facts"] is True


def test_nodes_are_selected_by_names_and_labels(filled):
    filled.call("nodes", "label", "web2", "role=web")
    assert filled.call("nodes", "list", "-l", "role=web", "-o", "name").stdout == "web2\n"
    assert filled.call("nodes", "-l", "web* and !role=web", "-o", "name").stdout == "web1\n"
    done = filled.call("nodes", "list", "-l", "server.disks == 1", check=False)
    assert done.returncode == 64 and "server.disks" in done.stderr


def test_facts_of_several_nodes_are_compared(filled):
    table = filled.call("facts", "-l", "web*").stdout.splitlines()
    assert table[0].split() == ["NODE", "OS", "OS_VERSION", "ARCH", "KERNEL", "CPUS", "MEMORY.TOTAL"]
    assert table[1].split() == ["web1", "Debian", "-", "-", "6.1.0", "-", "1024"]
    table = filled.call("facts", "-l", "web1", "kernel", "memory.total", "cpus").stdout.splitlines()
    assert [line.split() for line in table] == [["NODE", "KERNEL", "MEMORY.TOTAL", "CPUS"],
                                                ["web1", "6.1.0", "1024", "-"]]
    done = filled.call("facts", "-l", "web1", "kernel", "cpus", "-o", "json")
    assert json.loads(done.stdout) == {"web1": {"kernel": "6.1.0", "cpus": None}}
    assert json.loads(filled.call("facts", "-l", "web1", "-o", "json").stdout)["web1"]["os"] == "Debian"
    for words, code, chunk in [(("-l", "db*"), 3, "no node with facts matches 'db*'"),
                               (("-l", "web1", "--node", "web1"), 64, "mutually exclusive"),
                               (("-l", "web1", "--root", "/x"), 64, "mutually exclusive"),
                               (("-l", "web1", "kernl"), 64, "did you mean 'kernel'?")]:
        done = filled.call("facts", *words, check=False)
        assert done.returncode == code and chunk in done.stderr, done.stderr


def test_an_invalid_selector_is_shown_with_the_position(filled):
    done = filled.call("nodes", "list", "-l", "role=web adn os=debian", check=False)
    assert done.returncode == 64
    assert done.stderr == """error[E0501]: expected 'and' or 'or' instead of 'adn'
  --> --selector:1:10
1 | role=web adn os=debian
  |          ^^^ did you mean 'and'?
  = eden explain E0501
"""
    for verb in ("roles", "tokens", "config"):
        done = filled.call(verb, "list", "-l", "team==web", "-o", "json", check=False)
        assert done.returncode == 64
        assert json.loads(done.stdout)["problems"][0]["column"] == 5
    done = filled.call("nodes", "list", "--watch", "-l", "role in (a)", check=False)
    assert done.returncode == 64 and "write '(role=a)'" in done.stderr
    done = filled.call("api", "GET", "/v1/nodes?selector=role%3D%3Dweb", check=False)
    assert "'selector': column 5: a label is compared with a single '='" in json.loads(done.stdout)["detail"]
    done = filled.call("api", "GET", "/v1/nodes?watch=ndjson&selector=role%3D%3Dweb", check=False)
    assert "'selector': column 5: a label is compared with a single '='" in json.loads(done.stdout)["detail"]


def test_selecting_nothing_is_a_failure(filled):
    done = filled.call("nodes", "list", "-l", "role", check=False)
    assert done.returncode == 3 and done.stdout == ""
    assert "no object is named 'role'; to select by a label with this name, use 'role=VALUE'" in done.stderr
    done = filled.call("nodes", "list", "-l", "role=nobody", "-o", "json", check=False)
    assert done.returncode == 3 and json.loads(done.stdout)["items"] == []
    assert done.stderr == "nothing matches 'role=nobody'\n"


def test_parts_of_objects_are_printed_by_their_paths(filled):
    assert filled.call("nodes", "-o", "jsonpath={.items[*].metadata.name}").stdout == (
        "s1 web1 web2 db1 db2\n")
    assert filled.call("nodes", "show", "web2", "-o", "jsonpath={.status.state}").stdout == "silent\n"
    assert filled.call("nodes", "-o", 'jsonpath={range .items[*]}{.metadata.name}:{.status.facts}'
                       '{"\\n"}{end}').stdout.splitlines()[1] == "web1:true"
    done = filled.call("nodes", "-o", "jsonpath={.items[}", check=False)
    assert done.returncode == 64 and "at character" in done.stderr


def test_an_invalid_path_is_rejected_before_anything_is_done(filled):
    before = filled.call("tokens", "list", "-o", "name").stdout
    done = filled.call("tokens", "create", "-o", "jsonpath={.status.secret", check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert filled.call("tokens", "list", "-o", "name").stdout == before


# --- words -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("given,meant", [
    (("nodes", "get", "web1"), "eden nodes show"), (("node", "lsit"), "eden nodes list"),
    (("roles", "add"), "eden roles create"), (("roles", "rm", "x"), "eden roles delete"),
    (("tokens", "delete", "x"), "eden tokens revoke"), (("config", "update"), "eden config set"),
    (("audit", "log"), "eden audit tail"), (("nodes", "accept", "x"), "eden nodes approve"),
])
def test_a_wrong_verb_suggests_the_right_one(eden, given, meant):
    done = eden(*given)
    assert done.returncode == 64 and f"did you mean '{meant}'?" in done.stderr


def test_all_kinds_have_the_same_verbs(filled):
    assert filled.call("node", "list", "-o", "name").stdout == filled.call("nodes", "-o", "name").stdout
    filled.call("config", "set", "title=Blue")
    assert filled.call("config", "show").stdout == filled.call("config", "get").stdout
    listed = filled.call("tokens", "-o", "name").stdout
    assert listed == filled.call("tokens", "list", "-o", "name").stdout and "4l2ygazs" in listed
    assert output(filled, "tokens", "show", "4l2ygazs")["metadata"]["name"] == "4l2ygazs"


def test_a_schema_is_found_however_its_kind_is_written(eden):
    schemas = {eden("schema", name).stdout for name in ("Node", "node", "NODE", "nodes")}
    assert len(schemas) == 1 and "labels" in schemas.pop()
    assert eden("schema", "OpenAPI").stdout == eden("schema", "openapi").stdout


def test_a_nonexistent_endpoint_gets_a_suggestion(filled):
    for path, near in (("/v1/node", "/v1/nodes"), ("/v1/node/web1", "/v1/nodes/web1"), ("/nodes", "/v1/nodes"),
                       ("/v1/nodes/web1/aprove", "/v1/nodes/web1/approve")):
        done = filled.call("api", "GET", path, check=False)
        assert done.returncode == 1
        assert f"did you mean '{near}'?" in json.loads(done.stdout)["detail"]
    done = filled.call("api", "GET", "/v1/unicorns-and-more", check=False)
    assert "openapi.json" in json.loads(done.stdout)["detail"]


# --- errors of the server --------------------------------------------------------------------------

BAD_ROLES = """metadata: {name: web-operator}
spec:
  rules:
  - verbs: [get, aprove]
    kinds: [Node]
    selector: role=web adn os=debian
  - verb: [get]
    kinds: [Node]
---
metadata: {name: second}
spec:
  rulez: []
"""


def test_errors_in_a_file_are_shown_with_their_location(filled, tmp_path):
    (tmp_path / "bad.yaml").write_text(BAD_ROLES)
    (tmp_path / "good.yaml").write_text("metadata: {name: good}\nspec: {rules: [{verbs: [get], kinds: [Node]}]}\n")
    (tmp_path / "third.json").write_text('{"spec": {"rules": [{"verbs": ["get"], "kinds": ["Nod"]}]}}')
    files = [f"-f{tmp_path / name}" for name in ("good.yaml", "bad.yaml", "third.json")]
    done = filled.call("roles", "create", *files, check=False)
    assert done.returncode == 1 and done.stdout == ""
    places = re.findall(r"^error\[E0850\]: (.*)\n  --> .*/(.*)$", done.stderr, re.M)
    assert places == [
        ("unknown verb 'aprove'", "bad.yaml:4:18"),
        ("expected 'and' or 'or' instead of 'adn'", "bad.yaml:6:24"),
        ("unknown field", "bad.yaml:7:5"),
        ("/spec/rules/1/verbs: is required", "bad.yaml:7:5"),
        ("/spec/rules: is required", "bad.yaml:11:1"),
        ("unknown field", "bad.yaml:12:3"),
        ("/metadata/name: a role name must consist of 1 to 63 lowercase letters and digits, with '-' between them",
         "third.json:1:1"),
        ("unknown kind 'Nod'", "third.json:1:50"),
    ]
    assert "6 |     selector: role=web adn os=debian\n  |                        ^^^ did you mean 'and'?" in done.stderr
    assert done.stderr.endswith("nothing was created\n")
    assert filled.call("roles", "show", "good", check=False).returncode == 1


def write_roles(place, *names):
    rules = "spec: {rules: [{verbs: [get], kinds: [Node]}]}\n"
    place.write_text("---\n".join(f"metadata: {{name: {name}}}\n{rules}" for name in names))


def test_invalid_role_names_are_rejected_early(filled, tmp_path):
    write_roles(tmp_path / "roles.yaml", "one", "admin")
    done = filled.call("roles", "create", "-f", tmp_path / "roles.yaml", check=False)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.endswith("nothing was created\n")
    assert "error[E0850]: the role 'admin' is built in\n" in done.stderr
    assert "roles.yaml:4:18\n4 | metadata: {name: admin}\n  |                  ^^^^^\n" in done.stderr


def test_errors_of_the_server_are_shown_in_the_file(filled, tmp_path):
    write_roles(tmp_path / "roles.yaml", "one", "one", "two")
    done = filled.call("roles", "create", "-f", tmp_path / "roles.yaml", check=False)
    assert done.returncode == 5 and done.stdout == "one is created\ntwo is created\n"
    assert "error[E0854]: 'one' already exists\n" in done.stderr
    assert "roles.yaml:4:18\n" in done.stderr
    done = filled.call("roles", "create", "-f", tmp_path / "roles.yaml", "-o", "json", check=False)
    problems = json.loads(done.stdout)["problems"]
    assert [(one["code"], one["server_code"], one["line"]) for one in problems] == [
        ("E0854", "conflict", 1), ("E0854", "conflict", 4), ("E0854", "conflict", 7)]
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    done = filled.call("roles", "create", "-f", tmp_path / "empty.yaml", check=False)
    assert done.returncode != 0 and done.stdout == ""


def test_each_error_has_its_own_code_and_remedy(filled):
    done = filled.call("nodes", "show", "wbe1", check=False)
    assert done.returncode == 1 and done.stderr.startswith("error[E0853]: ")
    assert "'eden nodes list' lists them" in done.stderr
    done = filled.call("config", "set", "color=pink", "-o", "json", check=False)
    problem = json.loads(done.stdout)["problems"][0]
    assert done.returncode == 1 and problem["code"] == "E0850"
    assert problem["server_code"] == "invalid" and problem["pointer"] == "/spec/color"
    done = filled.call("nodes", "ping", "web2", check=False)
    assert done.returncode == 3 and done.stderr.startswith("error[E0859]: ")
    assert "'eden doctor'" in done.stderr
    done = filled.call("nodes", "approve", "web1", check=False)
    assert done.returncode == 5 and done.stderr.startswith("error[E0854]: ")


# --- roles and settings ----------------------------------------------------------------------------

def test_roles_are_created_listed_shown_and_deleted(running):
    (running.folder / "role.yaml").write_text(
        "metadata: {name: web-operator}\n"
        "spec: {rules: [{verbs: [get, list], kinds: [Node], selector: role=web}]}\n")
    assert running.call("roles", "create", "-f", running.folder / "role.yaml").stdout == (
        "web-operator is created\n")
    assert "web-operator" in running.call("roles", "-o", "name").stdout.split()
    assert "selector: role=web" in running.call("roles", "show", "web-operator").stdout
    assert running.call("roles", "create", "-f", running.folder / "role.yaml",
                        check=False).returncode == 5
    assert running.call("roles", "delete", "web-operator").stdout == "web-operator is deleted\n"
    assert running.call("roles", "show", "web-operator", check=False).returncode == 1
    assert running.call("roles", "create", check=False).returncode == 64


def test_the_output_of_show_can_be_edited_and_applied(running):
    file = running.folder / "role.yaml"
    file.write_text("metadata: {name: web}\nspec: {rules: [{verbs: [get], kinds: [Node]}]}\n")
    for _ in range(2):  # there is none, and there is one
        assert running.call("roles", "apply", "-f", file).stdout == "web is applied\n"
    shown = running.call("roles", "show", "web").stdout
    file.write_text(shown.replace("get", "list"))
    assert running.call("roles", "apply", "-f", file).stdout == "web is applied\n"
    rules = json.loads(running.call("roles", "show", "web", "-o", "json").stdout)["spec"]["rules"]
    assert rules[0]["verbs"] == ["list"]
    file.write_text(shown.replace("get", "watch"))  # with a concurrent change
    late = running.call("roles", "apply", "-f", file, check=False)
    assert late.returncode == 5, late.stderr
    file.write_text("metadata: {name: web}\nspec:\n  rules: 7\n")
    wrong = running.call("roles", "apply", "-f", file, check=False)
    assert wrong.returncode == 1 and f"{file}:3:" in wrong.stderr
    file.write_text("spec: {rules: []}\n")
    assert running.call("roles", "apply", "-f", file, check=False).returncode == 1
    assert "roles apply: --file FILE is required" in running.call("roles", "apply", check=False).stderr
    rules = json.loads(running.call("roles", "show", "web", "-o", "json").stdout)["spec"]["rules"]
    assert rules[0]["verbs"] == ["list"]


def test_settings_of_the_cluster_are_shown_and_unset(running):
    assert "nothing is set; 'eden config set title=" in running.call("config").stderr
    assert running.call("config", "set", "title=Production", "color=red").stdout == (
        "cluster: title=Production, color=red\n")
    assert running.call("config", "set", "color-").stdout == "cluster: title=Production\n"
    assert "title: Production" in running.call("config", "get").stdout
    done = running.call("config", "set", "color=pink", check=False)
    assert done.returncode == 1 and "/spec/color" in done.stderr
    assert running.call("config", "set", "color", check=False).returncode == 64
    assert running.call("config", "delete", "cluster").stdout == "cluster is deleted\n"


def test_a_misspelled_node_gets_a_suggestion(filled):
    done = filled.call("nodes", "show", "wbe1", check=False)
    assert done.returncode == 1
    assert "node 'wbe1' not found; did you mean 'web1'?" in done.stderr


def test_labels_are_set_and_unset_all_or_none(filled):
    assert filled.call("nodes", "label", "web1", "role=web", "rack=7").stdout == (
        "web1: role=web, rack=7\n")
    assert filled.call("nodes", "label", "web1", "rack-", "tier=a=b").stdout == (
        "web1: role=web, tier=a=b\n")
    done = filled.call("nodes", "label", "web1", "good=1", "b@d=1", check=False)
    assert done.returncode == 1
    assert filled.call("nodes", "label", "web1", "none-").stdout == "web1: role=web, tier=a=b\n"
    for words in (["role"], ["a=1", "a=2"], ["=x"], ["-"]):
        assert filled.call("nodes", "label", "web1", *words, check=False).returncode == 64


def test_a_machine_is_approved_by_its_key(filled):
    done = filled.call("nodes", "approve", "db1", "--key", "sha256:0000000000000000", check=False)
    assert done.returncode == 5
    assert f"approved with key {WAITING_KEY}" in filled.call(
        "nodes", "approve", "db1", "--key", WAITING_KEY[:23]).stdout
    assert "approved with key" in filled.call("nodes", "approve", "db2").stdout
    asking = [one["status"] for one in output(filled, "nodes", "list")["items"]
              if one["status"]["requests"]]
    assert [one["state"] for one in asking] == ["approved"] * 2
    assert all(row["approved"] for one in asking for row in one["requests"])
    assert filled.call("nodes", "approve", "web1", check=False).returncode == 5


def test_a_pending_machine_is_rejected_and_a_node_removed(filled):
    assert filled.call("nodes", "remove", "db1", check=False).returncode == 5
    filled.call("nodes", "reject", "db1", "db2")
    filled.call("nodes", "remove", "web1", "web2")
    assert [node["metadata"]["name"] for node in output(filled, "nodes")["items"]] == ["s1"]
    assert filled.call("get", "/eden/facts/web1", check=False).returncode == 1


def labels_of(cluster):
    return {one["metadata"]["name"]: one["metadata"]["labels"] for one in output(cluster, "nodes")["items"]}


def test_several_nodes_are_labeled_by_names_patterns_and_selectors(filled):
    done = filled.call("nodes", "label", "s1", "web1", "rack=7")
    assert done.stdout == "s1: rack=7\nweb1: rack=7\n" and done.stderr == ""
    done = filled.call("nodes", "label", "web*", "rack=8", "s1")
    assert done.stderr == "labels 3 nodes: web1, web2, s1\n"
    done = filled.call("nodes", "label", "-l", "rack=8 and !s1", "rack-", "old=yes")
    assert done.stderr == "labels 2 nodes: web1, web2\n"
    labels = labels_of(filled)
    assert (labels["s1"], labels["web1"], labels["web2"]) == (
        {"rack": "8"}, {"old": "yes"}, {"role": "web", "old": "yes"})
    for words, code in ((["-l", "rack=99", "x=y"], 3), (["db*", "x=y"], 3), (["-l", "rack==8", "x=y"], 64),
                        (["web1", "-l", "rack=8", "x=y"], 64), (["web1", "web2"], 64), (["x=y"], 64)):
        assert filled.call("nodes", "label", *words, check=False).returncode == code, words
    assert labels_of(filled) == labels


def test_a_partial_failure_has_the_worst_exit_code(filled):
    done = filled.call("nodes", "label", "web1", "nosuch", "web2", "x=y", check=False)
    assert done.returncode == 1 and "error[E0853]" in done.stderr
    assert done.stdout == "web1: x=y\nweb2: role=web, x=y\n"
    done = filled.call("nodes", "ping", "web*", check=False)
    assert done.returncode == 3 and done.stderr.count("error[E0859]") == 2
    assert filled.call("nodes", "ping", "web1", "nosuch", "web2", check=False).returncode == 1


def responses_of(cluster, *words, code=0):
    """Several objects: one document, even if some fail."""
    done = cluster.call(*words, "-o", "json", check=False)
    assert (done.returncode, done.stderr) == (code, ""), done
    responses = json.loads(done.stdout)
    assert responses["format"] == "eden.answers/1"
    return responses["items"], responses["problems"]


def test_several_nodes_make_one_document(filled):
    items, problems = responses_of(filled, "nodes", "label", "web1", "nosuch", "web2", "x=y", code=1)
    assert [one["metadata"]["name"] for one in items] == ["web1", "web2"]
    assert [(one["name"], one["code"], one["server_code"]) for one in problems] == [
        ("nosuch", "E0853", "not-found")]
    assert "nosuch" in problems[0]["detail"] and "eden nodes list" in problems[0]["hint"]
    items, problems = responses_of(filled, "nodes", "ping", "web1", "web2", code=3)
    assert items == [] and [(one["name"], one["code"]) for one in problems] == [
        ("web1", "E0859"), ("web2", "E0859")]
    items, problems = responses_of(filled, "nodes", "reject", "db1", "db2")
    assert items == [{"format": "eden.done/1", "name": "db1"}, {"format": "eden.done/1", "name": "db2"}]
    assert problems == []
    items, problems = responses_of(filled, "nodes", "remove", "web1", "web1", "nosuch", code=1)
    assert ([one["name"] for one in items], [one["name"] for one in problems]) == (["web1"], ["nosuch"])


@pytest.mark.parametrize("words, hint", [
    (["facts", "--node", "nosuch"], "= 'eden nodes list' lists them\n"),
    (["get", "/nosuch"], "= 'eden get / --prefix' lists them\n"),
    (["roles", "show", "nosuch"], "= 'eden roles list' lists them\n"),
])
def test_not_found_suggests_the_list_command(filled, words, hint):
    done = filled.call(*words, check=False)
    assert done.returncode == 1 and hint in done.stderr
    shows = hint.split("'")[1].split()[1:]
    assert filled.call(*shows).returncode == 0


def test_not_found_suggests_the_nearest_name(filled):
    for words, hint in ((["roles", "show", "oprator"], "did you mean 'operator'? 'eden roles list' lists them"),
                        (["roles", "delete", "vewer"], "did you mean 'viewer'? 'eden roles list' lists them"),
                        (["nodes", "show", "wbe1"], "node 'wbe1' not found; did you mean 'web1'?")):
        done = filled.call(*words, check=False)
        assert done.returncode == 1 and hint in done.stderr
    problems = json.loads(filled.call("roles", "show", "oprator", "-o", "json", check=False).stdout)["problems"]
    assert problems[0]["hint"] == "did you mean 'operator'? 'eden roles list' lists them"


def test_one_node_is_printed_alone(filled):
    assert output(filled, "nodes", "label", "web1", "x=y")["metadata"]["kind"] == "Node"
    done = filled.call("nodes", "ping", "web1", "-o", "json", check=False)
    assert done.returncode == 3 and json.loads(done.stdout)["format"] == "eden.problems/1"
    assert output(filled, "nodes", "remove", "web1") == {"format": "eden.done/1"}
    assert filled.call("nodes", "reject", "db1", "db2", "-o", "name").stdout == "db1\ndb2\n"


def test_problems_of_several_objects_stay_visible_with_yaml_and_jsonpath(filled):
    done = filled.call("nodes", "label", "web1", "nosuch", "x=y", "-o", "yaml", check=False)
    responses = yaml.safe_load(done.stdout)
    assert done.returncode == 1 and "error[E0853]" in done.stderr
    assert (len(responses["items"]), responses["problems"][0]["name"]) == (1, "nosuch")
    done = filled.call("nodes", "label", "web1", "web2", "nosuch", "x=z", "-o",
                       "jsonpath={.items[*].metadata.name}", check=False)
    assert done.returncode == 1 and done.stdout == "web1 web2\n" and "error[E0853]" in done.stderr


def test_several_tokens_and_roles_make_one_document(running):
    tokens = [output(running, "tokens", "create")["metadata"]["name"] for _ in range(2)]
    items, problems = responses_of(running, "tokens", "revoke", tokens[0], "aaaaaaaa", tokens[1], code=1)
    assert [one["name"] for one in items] == tokens
    assert [one["name"] for one in problems] == ["aaaaaaaa"]
    roles = running.folder / "roles.yaml"
    roles.write_text("---\n".join(
        f"metadata: {{name: {name}}}\nspec: {{rules: [{{verbs: [get], kinds: [Node]}}]}}\n"
        for name in ("one", "two")))
    items, problems = responses_of(running, "roles", "create", "-f", roles)
    assert [one["metadata"]["name"] for one in items] == ["one", "two"] and problems == []
    items, problems = responses_of(running, "roles", "create", "-f", roles, code=5)
    assert items == [] and [one["name"] for one in problems] == ["one", "two"]
    items, problems = responses_of(running, "roles", "delete", "one", "two", "three", code=1)
    assert [one["name"] for one in items] == ["one", "two"]


def test_a_missing_server_is_reported_once(cluster):
    done = cluster.call("nodes", "ping", "web1", "web2", "-o", "json", check=False)
    assert done.returncode == 3 and len(json.loads(done.stdout)["problems"]) == 1
    done = cluster.call("nodes", "ping", "web1", "web2", check=False)
    assert done.returncode == 3 and done.stderr.count("error[E0810]") == 1


def test_removing_all_nodes_requires_confirmation(filled):
    done = filled.call("nodes", "remove", "web*", check=False)
    assert done.returncode == 64 and done.stderr.startswith("removes 2 nodes: web1, web2\n")
    assert "--yes" in done.stderr and set(labels_of(filled)) == {"s1", "web1", "web2", "db1", "db2"}
    done = filled.call("nodes", "remove", "-l", "role=web", "--yes")
    assert done.stderr == "removes 1 node: web2\n"
    done = filled.call("nodes", "reject", "*")
    assert done.stderr == "rejects 2 nodes: db1, db2\n"
    assert set(labels_of(filled)) == {"s1", "web1"}


def test_removing_by_a_pattern_asks_on_a_terminal(filled):
    terminal = open_terminal(["bash", "--norc", "--noprofile", "-i"], path_with_eden(filled), filled.folder, "true")
    try:
        for response, left in (("n", {"s1", "web1", "web2", "db1", "db2"}), ("y", {"s1", "db1", "db2"})):
            terminal.send("command eden nodes remove 'web*'; echo en''ded $?\n")
            terminal.wait_for(rb"\[y/N\] ")
            terminal.send(response + "\n")
            assert terminal.wait_for(rb"ended (\d)")[1] == (b"1" if response == "n" else b"0")
            assert set(labels_of(filled)) == left
    finally:
        terminal.close()


def test_a_prompt_is_shown_before_a_value_is_typed(running):
    terminal = open_terminal(["bash", "--norc", "--noprofile", "-i"], path_with_eden(running),
                             running.folder, "true")
    try:
        terminal.send("command eden put /a; echo en''ded $?\n")
        terminal.wait_for(rb"type the value, then Ctrl-D")
        terminal.send("x\x04\x04")
        assert terminal.wait_for(rb"ended (\d)")[1] == b"0"
        assert running.call("get", "/a").stdout == "x\n"
        assert "/a has 1 byte;" in running.call("put", "/a", "y").stdout
    finally:
        terminal.close()


def test_actions_are_in_the_log_of_the_server(filled):
    filled.call("nodes", "label", "web1", "role=web")
    filled.call("nodes", "remove", "web1")
    filled.server.wait_for_log("verb=update kind=Node name=web1")
    filled.server.wait_for_log("verb=delete kind=Node name=web1")


def test_a_server_does_not_lock_itself_out(filled):
    done = filled.call("nodes", "remove", "s1", check=False)
    assert done.returncode == 5
    assert "cannot remove itself" in done.stderr
    assert output(filled, "nodes", "show", "s1")["status"]["server"]


# --- facts ----------------------------------------------------------------------------------------

def test_facts_of_a_node_look_like_those_of_this_machine(filled):
    assert filled.call("facts", "--node", "web1", "os", "memory.total").stdout.splitlines() == [
        "FACT          VALUE", "os            Debian", "memory.total  1024"]
    assert output(filled, "facts", "--node", "web1") == {
        "os": "Debian", "kernel": "6.1.0", "memory": {"total": 1024}}
    assert filled.call("facts", "--node", "web1", "memory.none", check=False).returncode == 64
    assert filled.call("facts", "--node", "web1", "--root", "/", check=False).returncode == 64


def test_a_node_without_facts_is_reported(filled):
    for node, text in (("web2", "never sent facts"), ("db1", "has not been approved yet")):
        done = filled.call("facts", "--node", node, check=False)
        assert done.returncode == 1
        assert text in done.stderr


# --- a connected node ------------------------------------------------------------------------------

def test_a_node_joins_by_the_printed_line_answers_and_falls_silent(running):
    agent = join(running, "web1")
    assert re.fullmatch(r"web1 responded after .* ms; its clock is \S+Z\n",
                        running.call("nodes", "ping", "web1").stdout)
    ping = output(running, "nodes", "ping", "web1")
    assert ping["round_trip_ms"] < 10000 and abs(ping["clock_ahead_ms"]) < 10000
    wait_until(lambda: output(running, "nodes", "show", "web1")["status"]["facts"], "web1 sends facts")
    assert output(running, "facts", "--node", "web1", "kernel") == {"kernel": os.uname().release}
    status = output(running, "nodes", "show", "web1")["status"]
    assert status["state"] == "alive" and status["since"] and status["version"]
    assert "alive" in running.call("nodes", "list").stdout

    agent.kill()
    done = running.call("nodes", "ping", "web1", check=False)  # its lease has not expired yet
    assert done.returncode == 3
    assert re.search(r"'web1' (has been silent since \d{4}-.*Z, when its session ended|"
                     r"is silent: its session has just ended)", done.stderr), done.stderr
    running.server.wait_for_log("node silent")
    wait_until(lambda: output(running, "nodes", "show", "web1")["status"]["since"], "its silence is kept")
    since = output(running, "nodes", "show", "web1")["status"]["since"]
    done = running.call("nodes", "ping", "web1", check=False)
    assert done.returncode == 3
    assert f"'web1' has been silent since {since}" in done.stderr
    assert "2 nodes, 2 silent, 1 without facts" in running.call("nodes", "list").stdout


def test_a_machine_that_is_not_a_node_cannot_be_pinged(filled):
    for name, code in (("db1", 5), ("web2", 3), ("nobody", 1)):
        assert filled.call("nodes", "ping", name, check=False).returncode == code, name


# --- keys -----------------------------------------------------------------------------------------

def test_a_value_survives_a_round_trip(running):
    value = bytes(range(256)) * 40
    subprocess.run([running.eden_path, "put", "/test/b", "-", "--run-dir", running.run],
                   input=value, check=True, capture_output=True)
    got = subprocess.run([running.eden_path, "get", "/test/b", "-o", "raw", "--run-dir",
                          running.run], check=True, capture_output=True)
    assert got.stdout == value
    assert "value_base64" in output(running, "get", "/test/b")


def test_text_is_printed_with_one_newline(running):
    running.call("put", "/test/a b&c", "grüße")
    assert running.call("get", "/test/a b&c").stdout == "grüße\n"
    assert output(running, "get", "/test/a b&c")["version"] == 1


def test_more_keys_than_fit_into_one_page_are_all_listed(running):
    for number in range(12):
        put(running, f"/page/{number:02}", "x" * 1500000)
    names = running.call("get", "/page/", "--prefix", "-o", "name").stdout.split()
    assert names == [f"/page/{number:02}" for number in range(12)]
    table = running.call("get", "/page/", "--prefix").stdout
    assert table.count("(1500002 bytes)") == 12
    assert "12 keys are deleted" in running.call("delete", "/page/", "--prefix").stdout
    assert "no key starts with '/page/'" in running.call("get", "/page/", "--prefix").stderr


def test_a_missing_key_is_an_error(running):
    for words in (("get", "/nothing"), ("delete", "/nothing")):
        done = running.call(*words, check=False)
        assert done.returncode == 1
        assert "key '/nothing' not found" in done.stderr
    assert running.call("delete", "", "--prefix", check=False).returncode == 64


# --- without a server ------------------------------------------------------------------------------

def test_keys_of_the_cluster_itself_are_not_changed_by_mistake(running):
    for words in (("put", "/eden/nodes/s1", "x"), ("delete", "/eden/nodes/s1"),
                  ("delete", "/eden", "--prefix"), ("delete", "/e", "--prefix")):
        done = running.call(*words, check=False)
        assert done.returncode == 64
        assert "--force" in done.stderr
    assert running.call("nodes", "-o", "name").stdout == "s1\n"
    running.call("put", "/eden/x", "1", "--force")
    running.call("delete", "/eden/x", "--force")
    running.call("put", "/edenx", "1")
    # Never for roles and the audit log.
    for words in (("put", "/eden/audit/00000000000000000001", "{}"),
                  ("delete", "/eden/objects/role/x"), ("delete", "/eden", "--prefix")):
        done = running.call(*words, "--force", check=False)
        assert done.returncode == 4
        assert "cannot be changed directly" in done.stderr


def test_a_stopped_server_is_reported_with_the_start_command(cluster):
    done = cluster.call("nodes", "list", check=False)
    assert done.returncode == 3
    assert "error[E0810]" in done.stderr
    assert "this machine is a server: start it with 'systemctl start eden'" in done.stderr
    done = cluster.call("tokens", "create", "-o", "json", check=False)
    assert done.returncode == 3
    assert json.loads(done.stdout)["problems"][0]["code"] == "E0810"
    assert done.stderr == ""


def test_without_a_cluster_it_explains_how_to_create_one(eden, tmp_path):
    done = eden("nodes", "list", "--run-dir", tmp_path, "--state-dir", tmp_path)
    assert done.returncode == 3
    assert "'eden serve' to start one" in done.stderr


def test_permission_errors_are_reported(filled):
    if os.geteuid() != 0:
        pytest.fail("only root can ask as somebody else")
    for folder in [filled.folder, *filled.folder.parents][:3]:
        folder.chmod(0o755)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", filled.eden_path, "nodes",
         "list", "--run-dir", filled.run, "--state-dir", filled.state],
        capture_output=True, text=True)
    assert done.returncode == 4, done.stderr


# --- completion -----------------------------------------------------------------------------------

LIVE = [
    ("eden roles show vie", "roles show viewer"),
    ("eden roles delete operator vie", "roles delete operator viewer"),
    ("eden nodes label s1 db", "nodes label s1 db"),
    ("eden node label web1 db1 s", "node label web1 db1 s1"),
    ("eden nodes show we", "nodes show web"),
    ("eden nodes label web1", "nodes label web1"),
    ("eden facts --node db2", "facts --node db2"),
    ("eden tokens revoke 4", "tokens revoke 4l2ygazs"),
    ("eden nodes appr", "nodes approve"),
]


def path_with_eden(cluster):
    """A PATH in which `eden` connects to this cluster."""
    folder = cluster.folder / "bin"
    folder.mkdir()
    (folder / "eden").write_text(
        f'#!/bin/sh\ncase "$1" in\ncompletion) exec {cluster.eden_path} "$@" ;;\nesac\n'
        f'command=$1\nshift\nexec {cluster.eden_path} "$command" --run-dir {cluster.run} "$@"\n')
    (folder / "eden").chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def keep_names(cluster):
    """Like after the first key press: the user does not wait for the response."""
    for kind in ("node", "token", "role"):
        complete(cluster, kind, "--refresh")


def complete(cluster, *words):
    done = subprocess.run(
        [cluster.eden_path, "complete", *words, "--run-dir", cluster.run], capture_output=True,
        text=True, timeout=60, env={"PATH": "/usr/bin:/bin", "HOME": str(cluster.folder)})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_completed_names_are_cached_and_refreshed_in_the_background(filled):
    cache = filled.folder / ".cache/eden"
    assert complete(filled, "node", "--refresh") == ""
    file, = (name for name in cache.iterdir() if name.name.startswith("names-node-")
             and not name.name.endswith(".lock"))
    assert file.stat().st_mode & 0o777 == 0o600
    assert cache.stat().st_mode & 0o777 == 0o700
    head, _, names = file.read_text().partition("\n")
    assert names == "s1\nweb1\nweb2\ndb1\ndb2\n"
    # Fresh entries are not requested again.
    file.write_text(head + "\nkept\n")
    assert complete(filled, "node") == "kept\n"
    # Old entries are shown at once, and refreshed in the background.
    file.write_text("eden.names/1 1000\nold\n")
    assert complete(filled, "node") == "old\n"
    wait_until(lambda: "web1" in file.read_text(), "the names are renewed")
    # If no server responds, the last known entries.
    filled.server.stop()
    file.write_text("eden.names/1 1000\nold\n")
    assert complete(filled, "node") == "old\n"
    file.unlink()
    assert complete(filled, "node") == ""


def test_names_that_need_quoting_are_not_completed(filled):
    record = json.loads(filled.call("get", "/eden/internal/joining/db1").stdout)
    plant(filled, "/eden/internal/joining/$(touch x)", {**record, "name": "$(touch x)"})
    complete(filled, "node", "--refresh")
    assert "touch" not in complete(filled, "node")


@pytest.mark.parametrize("argv, setup", [
    (["bash", "--norc", "--noprofile", "-i"], "source <(command eden completion bash)"),
    (["zsh", "-f", "-i"],
     "autoload -Uz compinit; compinit -u -D; source <(command eden completion zsh)"),
], ids=["bash", "zsh"])
def test_live_names_are_completed_on_a_terminal(filled, argv, setup):
    keep_names(filled)
    terminal = open_terminal(argv, path_with_eden(filled), filled.folder, setup)
    try:
        for line, expected in LIVE:
            assert terminal.complete(line).rstrip() == expected
        filled.server.stop()  # what was known last
        assert terminal.complete("eden nodes show we").rstrip() == "nodes show web"
    finally:
        terminal.close()


def test_fish_completes_live_names(filled):
    def offered(line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"eden completion fish | source; complete -C '{line}'"],
            capture_output=True, text=True, timeout=60, cwd=filled.folder,
            env={"PATH": path, "HOME": str(filled.folder)})
        assert done.returncode == 0, done.stderr
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    path = path_with_eden(filled)
    keep_names(filled)
    assert offered("eden nodes show we") == ["web1", "web2"]
    assert offered("eden tokens revoke ") == ["4l2ygazs"]
    assert offered("eden facts --node db") == ["db1", "db2"]
    assert offered("eden roles show vi") == ["viewer"]
    assert offered("eden nodes label web1 we") == ["web1", "web2"]
    filled.server.stop()  # what was known last
    assert offered("eden nodes show we") == ["web1", "web2"]


def on_terminal(cluster, *args):
    """What a command prints to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [cluster.eden_path, *args, "--run-dir", cluster.run, "--state-dir", cluster.state],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=daemons.environment())
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:
        pass  # how Linux signals the end of a pseudo-terminal
    os.close(ours)
    assert process.wait(daemons.LIMIT) == 0, text
    return text.decode().replace("\r\n", "\n")


def test_keys_and_values_cannot_control_the_terminal(running):
    key, value = "/t/\x1b[2J\u202ea\nb", "one\tcell\n\x1b]0;title\x07two\x85\n"
    shown = "/t/\\x1b[2J\\u202ea\\nb"
    assert on_terminal(running, "put", key, value).startswith(f"{shown} has ")
    assert on_terminal(running, "get", "/t/", "--prefix", "-o", "name") == f"{shown}\n"
    assert on_terminal(running, "get", key) == "one\tcell\n\\x1b]0;title\\x07two\\u0085\n"
    for args in (("get", "/t/", "--prefix"), ("get", "/t\x1b", "--prefix"), ("delete", key)):
        assert "\x1b" not in on_terminal(running, *args)
    # A program gets the exact bytes.
    assert "\x1b" not in running.call("put", key, value).stdout
    assert running.call("get", "/t/", "--prefix", "-o", "name").stdout == f"{key}\n"
    assert running.call("get", key).stdout == value
    assert on_terminal(running, "get", key, "-o", "raw") == value
    assert json.loads(running.call("get", key, "-o", "json").stdout)["value"] == value


def test_json_contains_no_terminal_escapes_and_the_same_data(running):
    """U+009B starts a terminal command like ESC [ does, and is not a control character in JSON."""
    key, value = "/t/a", "\x9b2J\x7f\u202eone\U000e0001\x1b]0;title\x07 ä €\n"
    running.call("put", key, value)
    shown = on_terminal(running, "get", key, "-o", "json")
    assert not {"\x9b", "\x7f", "\u202e", "\x1b", "\x07"} & set(shown)
    assert "ä €" in shown and json.loads(shown)["value"] == value
    given = running.call("get", key, "-o", "json").stdout
    assert "\x9b" in given and json.loads(given) == json.loads(shown)


def test_yaml_and_plain_output_cannot_control_the_terminal(running):
    running.call("put", "/t/a", "\x9b2J\x7f\u202eone\x1b]0;title\x07 ä €\n")
    for words in (("api", "GET", "/v1/store?key=/t/a", "-o", "yaml"), ("api", "GET", "/v1/store?key=/t/a")):
        shown = on_terminal(running, *words)
        assert not {"\x9b", "\x7f", "\u202e", "\x1b", "\x07"} & set(shown), words
        assert "ä €" in shown, words
