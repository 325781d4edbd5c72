"""Which steps owe a reaction after an apply."""

import json

import pytest

FILE = {"name": "conf", "file.managed": [{"name": "/conf"}, {"content": "1"}]}


@pytest.fixture
def apply(eden, tmp_path):
    """Applies steps as a file of that name and returns the report; options of apply may follow."""
    (tmp_path / "root").mkdir()

    def run(steps, *options, name="main", command="apply"):
        site = tmp_path / f"{name}.yaml"
        site.write_text(json.dumps({"steps": steps}))
        done = eden(command, site, "--root", "root", "--state-dir", "state", "--config-dir", "etc",
                    "-o", "json", "--progress", "none", *options)
        return json.loads(done.stdout)

    return run


def owed(report):
    return [(debt["step"], debt["kind"], debt["cause"]) for debt in report["owed"]]


def results(report):
    return {step["name"]: step["result"] for step in report["steps"]}


def test_a_step_skipped_by_its_other_trigger_owes_nothing(apply):
    report = apply([
        FILE,
        {"name": "fine", "test.ok": []},
        {"name": "late", "test.ok": [], "onchanges": [{"step": "conf"}],
         "onfail": [{"step": "fine"}]},
    ])  # fmt: skip
    assert results(report) == {"conf": "changed", "fine": "ok", "late": "skipped"}
    assert owed(report) == []


def test_a_step_skipped_before_its_listen_target_changes_owes_nothing(apply):
    report = apply([
        {"name": "quiet", "test.ok": [], "listen": [{"step": "conf"}],
         "conditions": {"when": {"condition": "false"}}},
        FILE,
    ])  # fmt: skip
    assert results(report) == {"quiet": "skipped", "conf": "changed"}
    assert owed(report) == []


@pytest.mark.parametrize("kind", ["watch", "listen"])
def test_an_action_without_reaction_owes_nothing(apply, kind):
    steps = [FILE, {"name": "other", "file.managed": [{"name": "/other"}, {"content": "2"}],
                    kind: [{"step": "conf"}]}]  # fmt: skip
    plan = apply(steps, command="plan")
    report = apply(steps)
    assert owed(report) == []
    for output in (plan, report):
        other = output["steps"][1]
        assert (other["result"], other["reacted"]) == ("changed", False)
        assert "+2" in other["diff"]
    assert results(apply(steps)) == {"conf": "ok", "other": "ok"}


def test_a_reaction_at_the_end_adds_to_the_result_of_the_step(apply):
    report = apply([
        {"name": "first", "test.step": [{"stdout": "once"}, {"changed": True}],
         "listen": [{"step": "conf"}]},
        FILE,
    ])  # fmt: skip
    first = report["steps"][0]
    assert first["reacted"] and first["changes"] and first["stdout"] == "once"


def test_a_step_blocked_meanwhile_still_reports_drift(apply, tmp_path):
    blocked = {**FILE, "require": [{"step": "broken"}]}
    apply([FILE])
    report = apply([{"name": "broken", "test.failed": []}, blocked])
    assert results(report)["conf"] == "blocked"
    (tmp_path / "root" / "conf").write_text("moved")
    assert apply([FILE])["steps"][0]["cause"] == "drift"
