"""The truth table of requisites, as a user sees it: sites in, results out.

Each case is a list of steps and the expected result of each. Every case runs in all three orders.
"""

import json

import pytest

ORDERS = ["ansible", "justdoit", "genius"]

OK = {"test.ok": []}
CHANGED = {"test.changed": []}
FAILED = {"test.failed": []}
NEEDS_FAILED = {"test.ok": [], "require": [{"step": "broken"}]}

# The four ways in which a target can end, as (preceding steps, the target itself).
TARGETS = {
    "blocked": ([{"name": "broken", **FAILED}], {"name": "target", **NEEDS_FAILED}),
    "failed": ([], {"name": "target", **FAILED}),
    "ok": ([], {"name": "target", **OK}),
    "changed": ([], {"name": "target", **CHANGED}),
}

# The result of the dependent, by kind of requisite and result of its target.
TABLE = {
    "require": {"blocked": "blocked", "failed": "blocked", "ok": "ok", "changed": "ok"},
    "watch": {"blocked": "blocked", "failed": "blocked", "ok": "ok", "changed": "changed"},
    "onchanges": {"blocked": "skipped", "failed": "skipped", "ok": "skipped", "changed": "ok"},
    "onfail": {"blocked": "skipped", "failed": "ok", "ok": "skipped", "changed": "skipped"},
    "prereq": {"blocked": "blocked", "failed": "blocked", "ok": "skipped", "changed": "ok"},
    "listen": {"blocked": "ok", "failed": "ok", "ok": "ok", "changed": "changed"},
}


@pytest.fixture
def run_steps(eden, tmp_path):
    """Applies (or plans) steps and returns the results by name and the whole report.

    Replaying the record of an apply must give the same decisions.
    """

    def run(steps, *options, command="apply", order="ansible"):
        site = tmp_path / "steps.yaml"
        site.write_text(json.dumps({"steps": steps}))
        root = tmp_path / "root"
        root.mkdir(exist_ok=True)
        done = eden(command, site, "--root", root, "--state-dir", tmp_path / "state",
                    "--config-dir", tmp_path / "etc", "--order", order, "-o", "json",
                    "--progress", "none", *options)
        assert done.stdout, done.stderr
        report = json.loads(done.stdout)
        if report["format"] != "eden.run/1":
            return None, report
        if command == "apply":
            replayed = eden("replay", "--state-dir", tmp_path / "state")
            assert replayed.returncode == 0, replayed.stdout + replayed.stderr
        return {step["name"]: step["result"] for step in report["steps"]}, report

    return run


def by_name(report, name):
    return next(step for step in report["steps"] if step["name"] == name)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ended", TARGETS)
@pytest.mark.parametrize("kind", TABLE)
def test_every_cell_of_the_truth_table(run_steps, kind, ended, order):
    before, target = TARGETS[ended]
    dependent = {"name": "dependent", **OK, kind: [{"step": "target"}]}
    results, report = run_steps([*before, target, dependent], order=order)
    assert results["dependent"] == TABLE[kind][ended], by_name(report, "dependent")
    assert results["target"] == ended


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ended", TARGETS)
@pytest.mark.parametrize("kind", TABLE)
def test_the_reversed_form_means_the_same(run_steps, kind, ended, order):
    before, target = TARGETS[ended]
    target = {**target, f"{kind}_in": [{"step": "dependent"}]}
    results, report = run_steps([*before, target, {"name": "dependent", **OK}], order=order)
    assert results["dependent"] == TABLE[kind][ended], by_name(report, "dependent")


ANY = {
    "require_any": [(["failed", "ok"], "ok"), (["failed", "failed"], "blocked")],
    "watch_any": [(["failed", "changed"], "changed"), (["failed", "failed"], "blocked"),
                  (["failed", "ok"], "ok")],
    "onchanges_any": [(["ok", "changed"], "ok"), (["ok", "ok"], "skipped")],
    "onfail_any": [(["ok", "failed"], "ok"), (["ok", "ok"], "skipped")],
    "onfail_all": [(["failed", "failed"], "ok"), (["failed", "ok"], "skipped")],
    "require": [(["ok", "failed"], "blocked"), (["ok", "changed"], "ok")],
    "watch": [(["ok", "changed"], "changed"), (["changed", "failed"], "blocked")],
    "onchanges": [(["ok", "changed"], "ok"), (["ok", "ok"], "skipped")],
    "onfail": [(["ok", "failed"], "ok"), (["changed", "ok"], "skipped")],
}
ENDS = {"ok": OK, "changed": CHANGED, "failed": FAILED}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ANY)
def test_several_targets_of_one_kind(run_steps, kind, order):
    for ends, expected in ANY[kind]:
        steps = [{"name": f"t{i}", **ENDS[end]} for i, end in enumerate(ends)]
        steps.append({"name": "dependent", **OK,
                      kind: [{"step": f"t{i}"} for i in range(len(ends))]})
        results, report = run_steps(steps, order=order)
        assert results["dependent"] == expected, (ends, by_name(report, "dependent"))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kinds,expected", [
    ({"require": "good", "onchanges": "still"}, "skipped"),
    ({"require": "bad", "onchanges": "moved"}, "blocked"),
    ({"require": "bad", "onchanges": "still"}, "blocked"),
    ({"onfail": "bad", "onchanges": "moved"}, "ok"),
    ({"onfail": "bad", "onchanges": "still"}, "skipped"),
    ({"onfail": "good", "onchanges": "moved"}, "skipped"),
    ({"require": "good", "watch": "moved"}, "changed"),
])
def test_all_kinds_of_requisites_must_allow_it(run_steps, kinds, expected, order):
    steps = [{"name": "good", **OK}, {"name": "bad", **FAILED}, {"name": "moved", **CHANGED},
             {"name": "still", **OK},
             {"name": "dependent", **OK,
              **{kind: [{"step": name}] for kind, name in kinds.items()}}]
    results, report = run_steps(steps, order=order)
    assert results["dependent"] == expected, by_name(report, "dependent")


def test_prereq_runs_before_its_target_and_only_when_it_will_change(run_steps):
    steps = [{"name": "target", **CHANGED},
             {"name": "drain", **OK, "prereq": [{"step": "target"}]}]
    results, report = run_steps(steps)
    assert results == {"target": "changed", "drain": "ok"}
    assert by_name(report, "drain")["run_order"] < by_name(report, "target")["run_order"]


def test_a_prereq_that_fails_leaves_its_target_untouched(run_steps):
    steps = [{"name": "target", **CHANGED},
             {"name": "drain", **FAILED, "prereq": [{"step": "target"}]}]
    results, report = run_steps(steps)
    assert results == {"target": "blocked", "drain": "failed"}
    assert by_name(report, "target")["changed"] is False


def test_a_blocked_step_shows_no_change_from_its_check(run_steps):
    _, report = run_steps([
        {"name": "before", **FAILED, "prereq": [{"step": "target"}]},
        {"name": "target", "file.managed": [{"name": "/f"}, {"content": "x"}]},
    ])  # fmt: skip
    target = by_name(report, "target")
    assert target["result"] == "blocked"
    assert (target["changes"], target["diff"], target["cause"]) == ({}, None, None)


def test_listen_reacts_once_at_the_end(run_steps):
    steps = [{"name": "a", **CHANGED}, {"name": "b", **CHANGED},
             {"name": "listener", **OK, "listen": [{"step": "a"}, {"step": "b"}]},
             {"name": "last", **OK}]
    results, report = run_steps(steps)
    assert results["listener"] == "changed"
    assert by_name(report, "listener")["reacted"] is True


def test_a_chain_of_a_thousand_runs_in_order(run_steps):
    steps = [{"name": "s0", **OK}] + [
        {"name": f"s{n}", **OK, "require": [{"step": f"s{n - 1}"}]} for n in range(1, 1000)]
    results, report = run_steps(list(reversed(steps)))
    assert set(results.values()) == {"ok"}
    order = {step["name"]: step["run_order"] for step in report["steps"]}
    assert [order[f"s{n}"] for n in range(1000)] == list(range(1, 1001))


@pytest.mark.parametrize("kind", ["require", "watch", "onchanges", "onfail", "prereq", "use"])
def test_a_cycle_is_rejected_with_its_path(run_steps, kind):
    steps = [{"name": "a", **OK, kind: [{"step": "c"}]}, {"name": "b", **OK, kind: [{"step": "a"}]},
             {"name": "c", **OK, kind: [{"step": "b"}]}]
    results, report = run_steps(steps)
    assert results is None
    message = report["problems"][0]["message"]
    assert all(f"'{name}'" in message or name in message for name in "abc"), message


def test_a_missing_target_is_rejected_with_the_closest_name(run_steps):
    results, report = run_steps([{"name": "install vnstat", **OK},
                                 {"name": "b", **OK, "require": [{"step": "instal vnstat"}]}])
    assert results is None
    assert "install vnstat" in report["problems"][0]["hint"]


def test_two_sequential_runs_are_identical(run_steps):
    steps = [{"name": f"s{n}", **(CHANGED if n % 3 == 0 else OK),
              **({"require": [{"step": f"s{(n * 7) % n}"}]} if n % 5 == 4 else {})}
             for n in range(60)]
    first = [(s["name"], s["result"], s["run_order"]) for s in run_steps(steps)[1]["steps"]]
    second = [(s["name"], s["result"], s["run_order"]) for s in run_steps(steps)[1]["steps"]]
    assert first == second


def test_order_first_and_last_and_numbers(run_steps):
    steps = [{"name": "last", **OK, "order": "last"}, {"name": "plain", **OK},
             {"name": "two", **OK, "order": 2}, {"name": "one", **OK, "order": 1},
             {"name": "first", **OK, "order": "first"}]
    _, report = run_steps(steps)
    order = sorted(report["steps"], key=lambda step: step["run_order"])
    assert [step["name"] for step in order] == ["first", "one", "two", "plain", "last"]


def test_a_plan_triggers_onchanges_and_changes_nothing(run_steps):
    steps = [{"name": "a", **CHANGED}, {"name": "b", **OK, "onchanges": [{"step": "a"}]}]
    results, report = run_steps(steps, command="plan")
    assert results == {"a": "changed", "b": "ok"}
    assert report["mode"] == "plan"


@pytest.mark.parametrize("parameter", ["x", "{{ 'x' }}"])
def test_a_condition_that_cannot_be_evaluated_is_reported_before_changes(
    eden, tmp_path, parameter
):
    (tmp_path / "root").mkdir()
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [
        {"name": "first", "file.managed": [{"name": "/f"}, {"content": "x"}]},
        {"name": "second", "file.managed": [{"name": "/g"}, {"content": parameter}],
         "conditions": {"when": {"condition": "nosuch == 1"}}},
    ]}))  # fmt: skip
    done = eden("apply", "steps.yaml", "--root", "root", "--state-dir", "state",
                "--config-dir", "etc")  # fmt: skip
    assert done.returncode == 1
    assert "'nosuch' is undefined" in done.stderr
    assert list((tmp_path / "root").iterdir()) == []
