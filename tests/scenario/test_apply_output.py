"""Machine-readable output of plan and apply: one JSON text, well-formed XML, in every case."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

STEPS = "steps: [{name: one, test.changed: }]\n"


@pytest.fixture
def act(eden, tmp_path):
    """Runs `eden COMMAND PATH OPTIONS...` with all of its state in the test's folder."""

    def run(command, path, *options, **more):
        return eden(command, path, "--state-dir", "state", "--config-dir", "none", "--node", "here",
                    "--progress", "none", *options, **more)  # fmt: skip

    (tmp_path / "steps.yaml").write_text(STEPS)
    return run


def site_for_others(tmp_path):
    (tmp_path / "site/jobs").mkdir(parents=True)
    (tmp_path / "site/jobs/base.yaml").write_text("jobs: {elsewhere: [{name: web}]}\n")
    (tmp_path / "site/jobs/web.yaml").write_text(STEPS)
    return "site"


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_nothing_for_this_node_is_a_report_without_steps(act, tmp_path, command):
    done = act(command, site_for_others(tmp_path), "-o", "json")
    report = json.loads(done.stdout)
    assert done.returncode == 3
    assert (report["format"], report["mode"]) == ("eden.run/1", command)
    assert (report["result"], report["node"], report["steps"]) == ("ok", "here", [])
    assert "no step" in done.stderr


def test_a_failed_step_has_its_error_with_code_and_place(act, tmp_path):
    (tmp_path / "failing.yaml").write_text("steps:\n  - {name: one, test.failed: }\n")
    done = act("apply", "failing.yaml", "-o", "json")
    (step,) = json.loads(done.stdout)["steps"]
    assert step["result"] == "failed"
    assert set(step["error"]) == {"code", "message", "file", "line", "column", "hint"}
    assert step["error"]["code"].startswith("E0") and step["error"]["message"]
    assert (step["error"]["file"], step["error"]["line"]) == ("failing.yaml", 2)


@pytest.mark.parametrize("command, option", [("apply", "--junit"), ("plan", "--out")])
def test_an_unsaved_report_is_still_printed(act, command, option):
    done = act(command, "steps.yaml", "-o", "json", option, "none/file")
    assert done.returncode == 1
    assert json.loads(done.stdout)["counts"]["changed"] == 1
    assert "none/file: No such file or directory" in done.stderr


def test_an_impossible_try_is_a_problem(act):
    done = act("apply", "steps.yaml", "--try", "-o", "json",
               prefix=["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"])  # fmt: skip
    report = json.loads(done.stdout)
    assert done.returncode == 4
    assert "cannot use --try" in report["problems"][0]["message"]


WILD = r"""printf '<&"\001\033 \377\376 \357\277\277 \355\240\200 ]]>\r\n' >&2; exit 3"""


def test_junit_is_well_formed_for_any_command_output(act, tmp_path):
    step = {"name": "<&\"'> é", "cmd.run": [{"cmd": WILD}]}
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [step]}))
    assert act("apply", "steps.yaml", "--junit", "report.xml").returncode == 1
    suite = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite[0].get("name") == "<&\"'> é"
    assert suite[0][0].text == '<&"?? \ufffd\ufffd ? \ufffd\ufffd\ufffd ]]>\r\n'


# Terminal colors and titles, C1 controls, text direction, carriage return.
CONTROLS = "\x1b[2J\x1b]0;title\x07 \u009b31m \u202e \r"
FORGED = "\nchanged  forged#step  file.managed: created"


def test_output_cannot_control_the_terminal_or_forge_lines(act, eden, tmp_path):
    """Names of steps and files, and the output of programs."""
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [
        {"name": "name" + CONTROLS + FORGED, "test.failed": []},
        {"name": "out", "cmd.run": [{"cmd": ["printf", "%s", CONTROLS + FORGED]}]},
        {"name": "error", "cmd.run": [
            {"cmd": ["sh", "-c", "printf %s \"$1\" >&2; exit 3", "-", CONTROLS + FORGED]}]},
        {"name": "file", "file.managed": [
            {"name": f"{tmp_path}/f{CONTROLS}{FORGED}"}, {"content": CONTROLS}]},
    ]}))  # fmt: skip
    shown = []
    for words in (["validate"], ["graph"], ["plan"], ["apply"]):
        done = eden(words[0], "steps.yaml") if words[0] in ("validate", "graph") else act(
            words[0], "steps.yaml", "--progress", "plain", "--verbose")
        shown.append(done.stdout + done.stderr)
    state = ["--state-dir", "state"]
    for words in (["why"], ["runs"], ["why", "error"], ["why", "out"], ["why", "file"]):
        shown.append(eden(*words, *state).stdout)
    for text in shown:
        assert not set("\x1b\x07\r\u009b\u202e") & set(text), text
        assert not any(line.startswith("changed  forged#step") for line in text.splitlines()), text
    assert any("\\x1b[2J" in text for text in shown)
