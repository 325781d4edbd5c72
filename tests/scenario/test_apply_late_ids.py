"""A path or a command that needs a macro is known when its step runs."""

import json

import pytest

ORDERS = ["ansible", "justdoit", "genius"]
MACROS = """
told: {file.contents: [{name: ROOT/made}]}
asked: {cmd.run: [{cmd: "cat ROOT/made"}]}
"""


@pytest.fixture
def site(eden, tmp_path):
    """A site with macros that read ROOT/made; site(steps) returns (exit code, report or problems).
    """
    root = tmp_path / "root"
    root.mkdir()
    folder = tmp_path / "site"
    for name in ("jobs", "macros", "variables"):
        (folder / name).mkdir(parents=True)
    (folder / "jobs/base.yaml").write_text("jobs: {'*': [{name: j}]}")
    (folder / "macros/base.yaml").write_text("macros: {'*': [{name: m}]}")
    (folder / "macros/m.yaml").write_text(MACROS.replace("ROOT", str(root)))
    (folder / "variables/base.yaml").write_text("files: {'*': [{name: v}]}")
    (folder / "variables/v.yaml").write_text("late: \"{{ macros['asked'] }}\"")

    def run(steps, command="apply", *options):
        (folder / "jobs/j.yaml").write_text(json.dumps({"steps": steps}).replace("ROOT", str(root)))
        done = eden(command, "site", "--config-dir", "etc", "-o", "json",
                    *(("--state-dir", "state") if command == "apply" else ()), *options)  # fmt: skip
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    run.folder, run.root = folder, root
    return run


MAKE = {"name": "make", "file.managed": [{"name": "ROOT/made"}, {"content": "hello"}]}
AFTER = {"require": [{"step": "make"}]}


def results(report):
    return {step["name"]: step["result"] for step in report["steps"]}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("value", ["macros['told']", "macros['asked']", "vars.late",
                                   "macros['file.contents']('ROOT/made')"])  # fmt: skip
def test_a_step_creates_what_the_path_of_a_later_one_reads(site, order, value):
    late = {"name": "late", "file.managed": [
        {"name": "ROOT/of-{{ %s }}" % value}, {"content": "x"}], **AFTER}  # fmt: skip
    code, report = site([MAKE, late], "apply", "--order", order)
    assert (code, results(report)) == (0, {"make": "changed", "late": "changed"})
    assert (site.root / "of-hello").read_text() == "x"
    code, report = site([MAKE, late], "apply", "--order", order)
    assert (code, results(report)) == (0, {"make": "ok", "late": "ok"})


def test_macros_are_evaluated_when_the_step_runs(site):
    (site.root / "made").write_text("before")
    late = {"name": "late", "file.managed": [
        {"name": "ROOT/of-{{ macros['asked'] }}"}, {"content": "x"}], **AFTER}  # fmt: skip
    assert site([MAKE, late])[0] == 0
    assert not (site.root / "of-before").exists()
    assert (site.root / "of-hello").read_text() == "x"


def test_an_unnamed_step_is_named_by_the_text_of_its_template(site):
    command = "test hello = {{ macros['asked'] }}"
    code, report = site([MAKE, {"cmd.run": [{"cmd": command}], **AFTER}])
    assert (code, results(report)) == (0, {"make": "changed", f"cmd.run {command}": "changed"})


@pytest.mark.parametrize("order", ORDERS)
def test_a_plan_shows_steps_that_need_a_planned_change_as_unknown(site, order):
    steps = [
        MAKE,
        {"name": "path", "file.managed": [{"name": "ROOT/of-{{ macros['asked'] }}"}], **AFTER},
        {"name": "command", "cmd.run": [{"cmd": "echo {{ macros['asked'] }}"}],
         "require": [{"step": "path"}]},
        {"name": "planned", "file.managed": [{"name": "ROOT/of-{{ macros['told'] }}"}], **AFTER},
    ]  # fmt: skip
    code, report = site(steps, "plan", "--order", order)
    assert (code, results(report)) == (0, {
        "make": "changed", "path": "unknown", "command": "unknown", "planned": "changed"})  # fmt: skip
    assert not list(site.root.iterdir())


@pytest.mark.parametrize("order", ORDERS)
def test_a_macro_fails_in_the_plan_if_no_earlier_step_changes_anything(site, order):
    other = {"name": "other", "file.managed": [{"name": "ROOT/other"}, {"content": "x"}]}
    late = {"name": "late", "file.managed": [{"name": "ROOT/of-{{ macros['asked'] }}"}],
            "require": [{"step": "other"}]}  # fmt: skip
    assert site([other])[0] == 0
    code, report = site([other, late], "plan", "--order", order)
    assert (code, results(report)) == (1, {"other": "ok", "late": "failed"})


def test_a_macro_that_no_step_can_fix_fails_in_the_plan(site):
    late = {"name": "late", "file.managed": [{"name": "ROOT/of-{{ macros['asked'] }}"}]}
    code, report = site([late], "plan")
    assert (code, results(report)) == (1, {"late": "failed"})
    other = {"name": "other", "file.managed": [{"name": "ROOT/other"}, {"content": "x"}]}
    code, report = site([other, late], "plan", "--order", "justdoit")
    assert results(report)["late"] == "failed", "it does not depend on what changes"


def test_an_unused_variable_that_queries_the_machine_does_not_fail_the_run(site):
    code, report = site([{"name": "x", "file.managed": [{"name": "ROOT/x"}, {"content": "x"}]}])
    assert (code, results(report)) == (0, {"x": "changed"})


def test_a_late_id_cannot_be_referred_to(site):
    late = {"name": "late", "file.managed": [{"name": "ROOT/of-{{ macros['asked'] }}"}], **AFTER}
    by_id = {"name": "x", "test.ok": [], "require": [{"file": "ROOT/of-hello"}]}
    code, output = site([MAKE, late, by_id])
    (problem,) = output["problems"]
    assert (code, problem["code"]) == (1, "E0401")
    assert "refer to it by name: its ID is not known before it runs" in problem["hint"]
    by_name = {"name": "x", "test.ok": [], "require": [{"step": "late"}]}
    assert site([MAKE, late, by_name])[0] == 0


@pytest.mark.parametrize("order", ORDERS)
def test_cleaning_a_directory_spares_paths_known_only_later(site, order):
    kept = site.root / "d/of-hello"
    kept.parent.mkdir()
    kept.write_text("x")
    (site.root / "d/stray").write_text("x")
    was = kept.stat().st_ino
    code, report = site([
        MAKE,
        {"name": "clean", "file.directory": [{"name": "ROOT/d"}, {"clean": True}]},
        {"name": "late", "file.managed": [
            {"name": "ROOT/d/of-{{ macros['asked'] }}"}, {"content": "x"}],
         "require": [{"step": "make"}, {"step": "clean"}]},
    ], "apply", "--order", order)  # fmt: skip
    assert (code, results(report)) == (0, {"make": "changed", "clean": "changed", "late": "ok"})
    assert kept.stat().st_ino == was
    assert sorted(path.name for path in kept.parent.iterdir()) == ["of-hello"]
