"""The shipped example is valid Jinja2, and the demo runs."""

import os
import subprocess

import jinja2
import pytest
import yaml

TEMPLATES = ["haproxy.cfg.j2", "hosts.j2"]


@pytest.mark.parametrize("name", TEMPLATES)
def test_example_renders_as_jinja2_renders_it(root, eden_path, name):
    fleet = root / "examples" / "fleet"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(fleet),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    variables = yaml.safe_load((fleet / "fleet.yaml").read_text())
    expected = environment.get_template(name).render(variables)
    done = subprocess.run(
        [eden_path, "render", fleet / name, "-v", fleet / "fleet.yaml"],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout == expected


def test_demo_runs_and_shows_everything(root, eden_path):
    done = subprocess.run([root / "tools" / "demo", eden_path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for text in ("frontend web", "did you mean 'upper'?"):
        assert text in done.stdout
    output = [
        "plan on web1: 13 to change",
        "apply on web1: 13 changed",
        "apply on web1: 11 ok, 4 skipped",
        "file.managed (drift)",
        "apply on web1: 1 failed, 1 blocked",
        "shop#the web server  watch",
        "apply on web1: 1 changed, 10 ok",
        "nothing is owed",
        "node1 is running the server",
        "5 nodes",
        "5 changed of 5 nodes",
        "Example: node2",
        "Sample: node5",
        "unknown action 'file.managd'",
        "failed  node3: web#configuration",
        "1 failed, 4 ok of 5 nodes",
        "listen 8083",
        "1 changed, 4 ok of 5 nodes",
        "report.html",
        "4 nodes: exited with 0",
        '"address": "10.13.37.2"',
        "While the cluster runs, its web page is https://127.0.0.1:",
        "stopped; everything has been removed",
    ]
    places = [done.stdout.find(text) for text in output]
    assert -1 not in places
    assert places == sorted(places)
    assert "\x1b" not in done.stdout


def test_demo_fails_when_the_program_does(root, tmp_path):
    broken = tmp_path / "eden"
    broken.write_text("#!/bin/sh\nexit 1\n")
    os.chmod(broken, 0o755)
    assert subprocess.run([root / "tools" / "demo", broken], capture_output=True).returncode != 0
