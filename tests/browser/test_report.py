"""The report of a run in a browser: it loads nothing, and its links lead to what they promise."""

import json
import os
import pathlib

import daemons
import pytest
from fleets import Fleet

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    cluster = daemons.Cluster(os.environ.get("EDEN", str(ROOT / "build/eden")), folder)
    try:
        fleet = Fleet(cluster)
        command = "echo '<b>bold</b>'; echo '<script>document.title = 1</script>' >&2; test {{ server.name }} != web2"
        fleet.push({"all": [{"name": "<i>check</i>", "cmd.run": [{"cmd": command}]},
                            *({"name": f"step {number}", "test.ok": []} for number in range(30))]})
        done = fleet.call("run", "-l", "web* or db1", "--progress", "none", "-o", "json", code=1)
        run = json.loads(done.stdout)["run"]["metadata"]["name"]
        fleet.call("runs", "report", run, "--out", folder / "report.html")
        yield f"file://{folder}/report.html", run
    finally:
        cluster.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_the_matrix(page, report, scheme):
    url, run = report
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.open(url)
    assert page.complaints == []
    assert page.run("document.title") == f"{run}: failed"
    assert page.run("[...document.querySelectorAll('.matrix tbody th b')].map(b => b.textContent)") == \
        ["web2", "2 nodes"]
    assert page.run("document.querySelectorAll('.matrix thead th').length") == 4  # nodes, check, 30 steps, rest
    assert page.run("document.querySelectorAll('i, script').length") == 0
    back = page.run("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(246, 247, 249)") == (scheme == "light")


def test_a_cell_leads_to_its_details(page, report):
    page.open(report[0])
    page.run("document.querySelector('.matrix td.changed a').click()")
    page.wait("document.querySelector('.result.changed').open")
    assert "<b>bold</b>" in page.run("document.querySelector('.result.changed').textContent")
