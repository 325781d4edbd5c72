"""`eden runs report`: a run across nodes as a page, as JUnit and as JSON."""

import json
import xml.etree.ElementTree

import daemons
import pytest
from fleets import Fleet


@pytest.fixture(scope="module")
def fleet(eden_path, tmp_path_factory):
    cluster = daemons.Cluster(eden_path, tmp_path_factory.mktemp("fleet"))
    yield Fleet(cluster)
    cluster.close()


@pytest.fixture(scope="module")
def run(fleet):
    """Of a site that fails on web2; db1 is silent."""
    out = fleet.cluster.folder / "out"
    out.mkdir()
    fleet.push({"all": [
        {"name": "greet", "file.managed": [{"name": f"{out}/{{{{ server.name }}}}"},
                                           {"content": "hello {{ server.name }}\n"}]},
        {"name": "nothing", "test.ok": []},
        {"name": "check", "cmd.run": [{"cmd": "echo '<disk>' is full >&2; test {{ server.name }} != web2"}]},
        {"name": "after", "cmd.run": [{"cmd": "true"}], "require": [{"step": "check"}]}]})
    fleet.silence("db1")
    done = fleet.call("run", "-l", "web* or db1", "--progress", "none", "-o", "json", "--reason", "<new> disk",
                      code=1)
    return json.loads(done.stdout)["run"]["metadata"]["name"]


def test_a_report_is_json_with_groups_and_details(fleet, run):
    report = json.loads(fleet.call("runs", "report", run[:-1], "-o", "json").stdout)
    assert report["format"] == "eden.run-report/1"
    assert report["run"]["metadata"]["name"] == run and report["complete"]
    assert {node["node"]: node["outcome"] for node in report["nodes"]} == \
        {"db1": "silent", "web1": "changed", "web2": "failed"}
    assert [step["id"] for step in report["steps"]] == ["all#greet", "all#nothing", "all#check", "all#after"]
    assert report["steps"][0]["counts"] == {"changed": 2} and report["steps"][0]["action"] == "file.managed"
    assert [(group["outcome"], group["nodes"]) for group in report["groups"]] == \
        [("failed", ["web2"]), ("silent", ["db1"]), ("changed", ["web1"])]
    assert report["groups"][0]["results"] == \
        {"all#greet": "changed", "all#nothing": "ok", "all#check": "failed", "all#after": "blocked"}
    failed = report["details"][0]
    assert (failed["step"], failed["result"], failed["nodes"]) == ("all#check", "failed", ["web2"])
    assert failed["error"]["code"] == "E0601" and failed["stderr"] == "<disk> is full\n"
    [greeted] = [detail for detail in report["details"] if detail["step"] == "all#greet"]
    assert greeted["nodes"] == ["web1", "web2"] and "+hello {node}" in greeted["diff"]


def test_a_page_needs_nothing_else_and_escapes_everything(fleet, run):
    page = fleet.cluster.folder / "report.html"
    page.write_text("before")
    done = fleet.call("runs", "report", run, "--out", page)
    text = page.read_text()
    assert done.stdout == "" and text.startswith("<!DOCTYPE html>")
    assert text.count('<th scope="row">') == 3
    assert "&lt;disk&gt; is full" in text and "&lt;new&gt; disk" in text
    for active in ("<script", "<link", "<img", "<disk>", "http:", "https:"):
        assert active not in text
    assert fleet.call("runs", "report", run).stdout == text


def test_a_build_server_can_read_the_report(fleet, run):
    suites = xml.etree.ElementTree.fromstring(fleet.call("runs", "report", run, "-o", "junit").stdout)
    found = {suite.get("name"): suite for suite in suites}
    assert sorted(found) == ["db1", "web1", "web2"]
    assert [(found[name].get("tests"), found[name].get("failures"), found[name].get("errors"))
            for name in sorted(found)] == [("1", "0", "1"), ("4", "0", "0"), ("4", "1", "1")]
    assert "exited with 1" in found["web2"].find(".//failure").get("message")


def test_a_report_that_cannot_be_written_leaves_nothing(fleet, run):
    folder = fleet.cluster.folder / "reports"
    done = fleet.call("runs", "report", run, "--out", folder / "report.html", code=1)
    assert "E0883" in done.stderr and str(folder) in done.stderr
    assert not folder.exists()
    done = fleet.call("runs", "report", "19700101", code=1)
    assert "run '19700101' not found" in done.stderr


def test_a_command_has_a_report_too(fleet):
    run = fleet.execute("sh", "-c", "echo $0; exit 3", selector="web*", code=1)
    report = json.loads(fleet.call("runs", "report", run, "-o", "json").stdout)
    assert [(detail["step"], detail["exit_code"], detail["nodes"]) for detail in report["details"]] == \
        [("exec#command", 3, ["web1", "web2"])]
