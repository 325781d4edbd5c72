"""A secret that only a node knows, in every form: it never leaves the node through a run of the
cluster."""

import json
import os
import pathlib

import daemons
import pytest
from canary import FORMS, KEPT, MACROS, VARS, check, make_steps
from fleets import Fleet
from test_secret_canary import LIVE

FORMATS = {
    "show": ("table", "wide", "json", "yaml", "markdown"),
    "watch": ("table", "wide", "json", "yaml", "markdown"),
    "report": ("html", "json", "junit"),
    "compare": ("table", "wide", "json", "yaml"),
}
JOBS = {form.replace(" ", "-"): text for form, text in FORMS.items()}


@pytest.fixture(scope="module")
def fleet(eden_path, tmp_path_factory):
    """Two nodes whose vars.d have the same secrets, and a site with a job per form."""
    cluster = daemons.Cluster(eden_path, tmp_path_factory.mktemp("fleet"))
    fleet = Fleet(cluster, names=("web1", "web2"))
    for machine in fleet.machines.values():
        (machine.config / "vars.d").mkdir(parents=True)
        secrets = machine.config / "vars.d/secrets.yaml"
        secrets.touch(0o600)
        secrets.write_text(VARS)
    write_site(cluster.folder / "site", cluster.folder / "made")
    fleet.version = fleet.json("push", cluster.folder / "site", "--no-run")["version"]
    yield fleet
    cluster.close()


def write_site(site, made):
    for folder in ("jobs", "macros", "templates"):
        (site / folder).mkdir(parents=True)
    made.mkdir()
    (made / "kept").touch(0o600)
    (made / "kept").write_text(KEPT)
    (site / "config.yaml").write_text("name: canary\n")
    (site / "macros/base.yaml").write_text("macros: {'*': [{name: all}]}\n")
    (site / "macros/all.yaml").write_text(MACROS.replace("@", str(made)))
    (site / "templates/t.j2").write_text("t {{ text }} {{ vars.pw | reverse }}\n")
    (site / "jobs/base.yaml").write_text(json.dumps({"jobs": {"*": [{"name": job} for job in JOBS]}}))
    steps = {name: step for name, step in LIVE.items() if name != "extension"}  # it needs a trusted key
    for job, text in JOBS.items():
        folder = made / job / "{{ server.name }}"
        for name in fleet_names():
            (made / job / name).mkdir(parents=True)
            (made / job / name / "again").write_text("old\n")
        (site / f"jobs/{job}.yaml").write_text(json.dumps({"steps": make_steps(steps, text, folder)}))


def fleet_names():
    return ("web1", "web2")


def show(fleet, *words):
    """Runs a command and checks what it prints. The exit code is 1 if the run failed."""
    done = fleet.cluster.eden(*fleet.words(words), check=False)
    check(done.stdout, f"stdout of {words}")
    check(done.stderr, f"stderr of {words}")
    assert done.returncode in (0, 1) and done.stdout, done.stderr[-1000:]
    return done


def apply(fleet, *words):
    done = show(fleet, "run", *words, "-l", "web*", "-o", "json", "--progress", "json")
    return json.loads(done.stdout)["run"]["metadata"]["name"]


@pytest.fixture(scope="module")
def runs(fleet):
    """A plan and two applies."""
    return [apply(fleet, "--check"), apply(fleet), apply(fleet, "--order", "justdoit")]


def test_the_runs_have_all_steps(fleet, runs):
    for run in runs:
        report = json.loads(show(fleet, "runs", "report", run, "-o", "json").stdout)
        assert len(report["steps"]) == len(JOBS) * (len(LIVE) + 1)
        assert "(secret)" in json.dumps(report)


@pytest.mark.parametrize("verb", FORMATS)
def test_no_view_of_runs_shows_a_secret(fleet, runs, verb):
    for form in FORMATS[verb]:
        for words in ([runs[1:]] if verb == "compare" else [[run] for run in runs]):
            show(fleet, "runs", verb, *words, "-o", form)


@pytest.mark.parametrize("form", FORMATS["watch"])
def test_no_new_run_shows_a_secret(fleet, form):
    for words in ([], ["--check"]):
        show(fleet, "run", *words, "-l", "web*", "-o", form, "--progress", "plain", "alone")


def test_no_log_shows_a_secret(fleet, runs):
    for run in runs:
        for words in ([], ["web1"], ["web1", "inside#stderr"]):
            for form in ("text", "json"):
                show(fleet, "logs", run, *words, "-o", form)


def test_no_response_of_the_api_shows_a_secret(fleet, runs):
    for run in runs:
        for path in ("", "/nodes", "/steps", "/matrix", "/events", "/log"):
            done = fleet.cluster.eden(*fleet.words(["api", "GET", f"/v1/runs/{run}{path}"]), check=False)
            check(done.stdout + done.stderr, path)
    for words in (["audit", "tail"], ["runs", "list", "-o", "yaml"], ["nodes", "show", "web1", "-o", "yaml"],
                  ["facts", "-l", "web*"]):  # fmt: skip
        show(fleet, *words)


def test_no_file_of_a_server_or_an_agent_shows_a_secret(fleet, runs):
    places = [fleet.cluster.state, *(machine.state for machine in fleet.machines.values())]
    for path in (path for place in places for path in pathlib.Path(place).rglob("*")):
        if path.is_file() and "keep" not in path.parts and os.access(path, os.R_OK):
            check(path.read_bytes().decode("utf-8", "replace"), path)


def test_no_output_of_a_command_shows_a_secret(fleet):
    """Nodes know the secrets in their vars.d without a site."""
    for machine in fleet.machines.values():
        show(fleet, "exec", "-l", machine.name, "--", "cat", machine.config / "vars.d/secrets.yaml")
