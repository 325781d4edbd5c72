"""The output of a step, in the templates of later steps."""

import json

import pytest

ORDERS = ["ansible", "justdoit", "genius"]


@pytest.fixture
def apply(eden, tmp_path):
    """Applies steps; returns their reports by name."""

    def run(*steps):
        (tmp_path / "steps.yaml").write_text(json.dumps({"steps": steps}))
        done = eden("apply", "steps.yaml", "--state-dir", "state", "--config-dir", "etc", "-o",
                    "json")  # fmt: skip
        assert done.stdout, done.stderr
        report = json.loads(done.stdout)
        assert report["result"] == "changed", done.stdout
        return {step["name"]: step for step in report["steps"]}

    return run


def message(text):
    return {"name": "say", "cmd.run": [{"cmd": ["sh", "-c", 'printf %s "$1"; printf %s "$1" >&2',
                                                "sh", text]}]}  # fmt: skip


@pytest.fixture
def written(tmp_path):
    def step(content):
        path = str(tmp_path / "out")
        return {"name": "write", "file.managed": [{"name": path}, {"content": content}]}

    return step


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("spelling", ["StdOut", "stdout", "std_out"])
def test_output_in_a_command_line_stays_one_command(eden, tmp_path, order, spelling):
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [
        {"name": "x", "cmd.run": [{"cmd": "echo one; echo two"}]},
        {"name": "y", "cmd.run": [{"cmd": "echo three"}]},
        {"name": "use", "cmd.run": [
            {"cmd": f"echo {{{{ steps['y'].{spelling} }}}} done; echo '{{{{ steps['x'].{spelling} }}}}' end"}]},
    ]}))  # fmt: skip
    done = eden("apply", "steps.yaml", "--state-dir", "state", "--config-dir", "etc", "--order",
                order, "-o", "json")  # fmt: skip
    assert done.returncode == 0, done.stdout
    steps = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
    assert steps["use"]["stdout"] == "three done\none\ntwo end\n"
    assert steps["y"]["stdout"] == "three\n", "a report shows what was printed"


@pytest.mark.parametrize(
    "printed, seen",
    [
        ("text\n", "text"),
        ("text\n\n\n", "text"),
        ("text\r\n", "text"),
        (" text \n", " text "),
        ("a\nb\n", "a\nb"),
        ("text", "text"),
        ("\n\n", ""),
        ("", ""),
    ],
)
def test_trailing_newlines_are_dropped_and_the_raw_output_is_kept(
    apply, written, tmp_path, printed, seen
):
    fields = ("StdOut", "stderr", "RawStdOut", "raw_stderr")
    shown = ", ".join(f"steps['say'].{field}" for field in fields)
    steps = apply(message(printed), written("{{ [" + shown + "] | tojson }}!"))
    output = json.loads((tmp_path / "out").read_text().removesuffix("!"))
    assert output == [seen, seen, printed, printed]
    assert (steps["say"]["stdout"], steps["say"]["stderr"]) == (printed, printed)


def test_instances_of_for_each_are_trimmed_one_by_one_and_together(apply, written, tmp_path):
    each = {**message("{{ item ~ '\n\n' }}"), "forEach": ["a", "b"]}
    apply(each, written(
        "{{ [steps['say'].StdOut, steps['say'].items | map(attribute='stdout') | list,"
        " steps['say[b]'].StdErr, steps['say'].RawStdOut] | tojson }}!"))  # fmt: skip
    output = json.loads((tmp_path / "out").read_text().removesuffix("!"))
    assert output == ["a\n\nb", ["a", "b"], "b", "a\n\nb\n\n"]


def test_a_condition_sees_its_own_output_without_trailing_newlines(apply, written):
    steps = apply({**message("4\n"), "conditions": {"success": {"condition": "step.StdOut == '4'"}}},
                  written("x"))  # fmt: skip
    assert steps["say"]["result"] == "changed"
