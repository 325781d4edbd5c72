"""Messages of plan and apply about a step are correct, and sufficient to fix it."""

import json
import tarfile

import pytest


@pytest.fixture
def world(eden, tmp_path):
    """A root, and steps that run on it: world("plan", STEPS) returns the finished process."""
    (tmp_path / "root").mkdir()

    def run(command, steps, *words, **how):
        if steps is not None:
            (tmp_path / "steps.yaml").write_text("steps:\n" + steps)
        return eden(
            command, "steps.yaml", "--root", how.pop("root", "root"), "--state-dir", "state",
            "--config-dir", "config", "--node", "n1", "--progress", "none", *words, **how,
        )

    return run


def live(world, command, steps, *words):
    """The same on this machine: for steps that only run commands and touch nothing."""
    return world(command, steps, *words, root="/")


def why(eden, step):
    return eden("why", step, "--state-dir", "state").stdout


# --- A step that failed ----------------------------------------------------------------------


def test_a_rejected_file_is_not_reported_as_created(world, tmp_path):
    steps = f"- name: f\n  file.managed: [{{name: {tmp_path}/f}}, {{content: x}}, {{validate: 'false'}}]\n"
    done = live(world, "apply", steps)
    assert done.returncode == 1
    assert "created" not in done.stdout
    assert "validate 'false': exited with 1" in done.stdout
    done = live(world, "apply", None, "-o", "json")
    step = json.loads(done.stdout)["steps"][0]
    assert step["changes"] == {}
    assert step["reason"] is None


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_rejected_file_is_shown_with_its_location_and_what_the_program_says_about_its_lines(world, tmp_path, command):
    (tmp_path / "f").write_text("one\nthree\n")
    steps = f"""- name: f
  file.managed:
  - name: {tmp_path}/f
  - content: "one\\ntwo\\nthree\\n"
  - validate: |-
      echo %s:2: unknown word; exit 1
"""
    done = live(world, command, steps)
    assert done.returncode == 1
    assert "\n     one\n    +two\n     three\n" in done.stdout
    assert f"exited with 1: {tmp_path}/f:2: unknown word" in done.stdout
    assert "steps.yaml:6:15" in done.stdout
    assert (tmp_path / "f").read_text() == "one\nthree\n"


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_secret_in_a_rejected_file_is_not_shown(world, tmp_path, command):
    (tmp_path / "vars.yaml").write_text("password: !secret hunter2-hunter2\n")
    steps = f"""- name: f
  file.managed:
  - name: {tmp_path}/f
  - content: "password {{{{ vars.password }}}}"
  - validate: cat %s; exit 1
"""
    done = live(world, command, steps, "-v", "vars.yaml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "validate 'cat %s; exit 1': exited with 1: password" in done.stdout
    assert "hunter2" not in done.stdout + done.stderr


def test_a_plan_does_not_trust_a_validation_before_the_earlier_steps(world, tmp_path):
    """The program may read what they write."""
    steps = f"""- name: words
  file.managed: [{{name: {tmp_path}/words}}, {{content: good}}]
- name: f
  file.managed: [{{name: {tmp_path}/f}}, {{content: good}}, {{validate: "grep -q -f {tmp_path}/words %s"}}]
"""
    done = live(world, "plan", steps)
    assert done.returncode == 0, done.stdout
    assert "unknown  " in done.stdout and "not validated: validate 'grep -q -f " in done.stdout
    assert live(world, "apply", None).returncode == 0
    assert live(world, "plan", steps.replace("content: good}, {v", "content: bad}, {v")).returncode == 1


def test_a_file_created_before_its_condition_failed_is_created(world):
    done = world(
        "apply",
        "- name: f\n  file.managed: [{name: /f}]\n"
        "  conditions: {success: {condition: 1 > 2}}\n",
    )
    assert done.returncode == 1
    assert "file.managed: created" in done.stdout


def test_a_command_that_failed_is_shown(world):
    done = live(world, "apply", "- name: c\n  cmd.run:\n    - cmd: |\n        exit 3\n        true\n")
    assert "cmd.run: exit 3 ..." in done.stdout


def give_shell(tmp_path):
    """A root in which commands can be planned."""
    (tmp_path / "root/bin").mkdir(parents=True, exist_ok=True)
    for name in ("sh", "echo"):
        (tmp_path / "root/bin" / name).touch(0o755)


# --- What a plan cannot see ------------------------------------------------------------------


@pytest.mark.parametrize(
    "action, reason",
    [
        ("file.line: [{name: /a}, {line: x}]", "/a: No such file or directory"),
        ("file.copy: [{name: /a}, {source: /b}]", "no file '/b' on the machine"),
        ("file.managed: [{name: /a}, {owner: nosuchuser}]", "user 'nosuchuser' not found"),
        ("file.managed: [{name: /d/a}, {parents: false}]", "directory '/d' does not exist"),
        ("file.managed: [{name: /file/a}]", "/file is a file, not a directory"),
        ("file.managed: [{name: /nowhere/a}]", "/nowhere is a symlink that does not point to a directory"),
        ("file.directory: [{name: /nowhere/a/b}]", "/nowhere is a symlink that does not point to a directory"),
        ("file.symlink: [{name: /d/a}, {target: x}, {parents: false}]", "directory '/d' does not exist"),
        ("file.symlink: [{name: /file/a}, {target: x}]", "/file is a file, not a directory"),
        ('file.symlink: [{name: /a}, {target: "{{ \'a\' * 5000 }}"}]', "is 5000 bytes long; the maximum is 4095"),
        ("file.managed: [{name: /a}, {content: x}, {validate: test -s %s}]",
         "validate: program '/bin/sh' not found"),
        ("cmd.run: [{cmd: ['', x]}]", "the name of the program is empty"),
        ("cmd.script: [{content: '#!'}]", "(#!) does not name a program"),
        ("archive.extracted: [{name: /file/x}, {source: /a.tar}]", "/file is a file, not a directory"),
        ("file.managed: [{name: /a}, {content: x}, {validate: /no/such -f %s}]",
         "validate: program '/no/such' not found"),
        ("file.directory: [{name: /d/a}, {parents: false}]", "directory '/d' does not exist"),
        ("file.directory: [{name: /a}, {group: nosuchgroup}]", "group 'nosuchgroup' not found"),
        ("cmd.run: [{cmd: ls}, {user: nosuchuser}]", "user 'nosuchuser' not found"),
        ("cmd.run: [{cmd: ls}, {cwd: /nosuch}]", "directory '/nosuch' does not exist"),
        ("cmd.run: [{cmd: ls}, {cwd: /file}]", "/file is a file, not a directory"),
        ("cmd.run: [{cmd: ls}, {cwd: /nowhere}]", "directory '/nowhere' does not exist"),
        ("cmd.run: [{cmd: ls}]", "program '/bin/sh' not found"),
        ("cmd.run: [{cmd: [ls]}]", "program 'ls' not found in PATH"),
        ("cmd.run: [{cmd: [/file]}]", "'/file' is not executable (mode 0644)"),
        ("cmd.run: [{cmd: [/folder]}]", "'/folder' is a directory, not a program"),
        ("cmd.script: [{content: '#!/nosuch/python'}]", "program '/nosuch/python' not found"),
    ],
)
def test_a_plan_names_what_is_missing(world, tmp_path, action, reason):
    (tmp_path / "root/file").write_text("")
    (tmp_path / "root/folder").mkdir()
    (tmp_path / "root/nowhere").symlink_to("gone")
    with tarfile.open(tmp_path / "root/a.tar", "w") as archive:
        archive.add(tmp_path / "root/file", "member")
    done = world("plan", f"- name: s\n  {action}\n")
    assert done.returncode == 1
    assert reason in done.stdout


def test_a_file_cannot_be_a_directory(world, tmp_path):
    (tmp_path / "root/file").write_text("")
    done = world("apply", "- name: s\n  file.managed: [{name: /file/a}]\n")
    assert done.returncode == 1
    assert "/file exists and is not a directory" in done.stdout


def test_a_plan_shows_the_command(world, tmp_path):
    give_shell(tmp_path)
    done = world("plan", "- name: c\n  cmd.run: [{cmd: 'echo {{ 1 + 1 }}'}]\n- name: d\n  cmd.run: [{cmd: [echo, 'a b']}]\n")
    assert "c  cmd.run: echo 2\n" in done.stdout
    assert "d  cmd.run: echo a b\n" in done.stdout


def test_a_plan_does_not_show_a_secret_command(world, tmp_path):
    give_shell(tmp_path)
    (tmp_path / "vars.yaml").write_text("password: !secret horse-battery\n")
    done = world(
        "plan", "- name: c\n  cmd.run: [{cmd: 'login {{ vars.password }}'}]\n", "-v", "vars.yaml"
    )
    assert "horse" not in done.stdout
    assert "cmd.run: (not shown: it contains a secret)" in done.stdout


# --- Guards ----------------------------------------------------------------------------------


def test_a_guard_that_cannot_run_fails_the_step(world):
    done = live(world, "apply", "- name: c\n  cmd.run: [{cmd: 'true'}, {onlyif: nosuchguard}]\n")
    assert done.returncode == 1
    assert "onlyif: exited with 127" in done.stdout


def test_a_guard_that_cannot_run_fails_a_plan_too(world):
    guarded = "- name: c\n  cmd.run: [{cmd: 'true'}, {onlyif: nosuchguard}]\n"
    done = live(world, "plan", guarded)
    assert done.returncode == 1
    assert "onlyif: exited with 127" in done.stdout
    done = live(world, "plan", "- name: b\n  cmd.run: [{cmd: make it}]\n" + guarded)
    assert done.returncode == 0
    assert "unknown" in done.stdout
    assert "program 'nosuchguard' may be provided by step 'steps#b'" in done.stdout


def test_a_missing_program_does_not_prevent_its_installation(world):
    done = live(world, "apply", "- name: c\n  cmd.run: [{cmd: 'true'}, {unless: nosuchtool --version}]\n")
    assert done.returncode == 0
    assert "1 changed" in done.stdout


def test_why_shows_which_guard_stopped_a_command(eden, world):
    live(world, "apply", "- name: c\n  cmd.run: [{cmd: 'true'}, {onlyif: exit 3}]\n")
    assert "is ok: not run because of 'onlyif', which exited with 3" in why(eden, "c")


def test_an_error_points_to_the_failed_parameter(world):
    """Also where the message does not quote it, and for plan as for apply."""
    steps = "- name: c\n  cmd.run:\n    - cmd: 'exit 3'\n    - stdin: x\n"
    assert "--> steps.yaml:4:12\n" in live(world, "apply", steps).stdout
    steps = "- name: c\n  cmd.run:\n    - cmd: 'true'\n    - onlyif: nosuchguard\n"
    for command in ("plan", "apply"):
        done = live(world, command, steps)
        assert "error[E0601]" in done.stdout and "--> steps.yaml:5:15\n" in done.stdout, done.stdout


def test_a_failed_macro_shows_the_reason(world):
    """The root has no package manager to query."""
    done = world("apply", "- file.managed: {name: /a, content: \"{{ macros['pkg.uptodate']() }}\"}\n")
    assert done.returncode == 1
    assert "macro 'pkg.uptodate': no package manager found" in done.stdout, done.stdout


# --- Conditions and retries ------------------------------------------------------------------


@pytest.mark.parametrize("text", ["no", "False", "off"])
def test_a_condition_that_evaluates_to_the_text_no_fails(world, text):
    """Text counts as true; the output of a step is known only during the run."""
    steps = (
        f"- name: ask\n  cmd.run: [{{cmd: echo {text}}}]\n"
        "- name: act\n  test.ok:\n  conditions:\n    when:\n"
        "      condition: steps['ask'].StdOut\n"
    )
    done = live(world, "apply", steps)
    assert done.returncode == 1
    assert f"error[E0607]: the condition evaluates to the string '{text}', which counts as true" in done.stdout
    assert "--> steps.yaml:8:18\n" in done.stdout
    assert live(world, "apply", steps.replace("StdOut", "StdOut == 'yes'")).returncode == 0


def test_a_retried_failure_is_reported_as_such_and_the_last_one_is_not(world, eden, tmp_path):
    steps = (
        "- name: c\n  cmd.run: [{cmd: exit 3}]\n"
        "  runOptions: {retry: {interval: 1ms, limit: 2}}\n"
    )
    (tmp_path / "steps.yaml").write_text("steps:\n" + steps)
    done = eden("apply", "steps.yaml", "--state-dir", "state", "--config-dir", "config", "--progress", "plain")
    waits, failed = done.stderr.splitlines()
    assert waits.endswith("waits    steps#c: failed, will retry: exited with 3")
    assert failed.endswith("failed   steps#c: exited with 3")
    assert done.returncode == 1
    assert "will retry" not in done.stdout + why(eden, "c")


# --- Owners and modes ------------------------------------------------------------------------


def test_a_plan_shows_the_mode_of_a_new_file(world):
    done = world("plan", "- name: f\n  file.managed: [{name: /f}, {content: x}, {mode: '0604'}]\n")
    assert "+x" in done.stdout
    assert "mode: 0604" in done.stdout


def test_recursive_mode_changes_show_the_old_modes(world, tmp_path):
    folder = tmp_path / "root/d"
    folder.mkdir()
    (folder / "f").write_text("")
    (folder / "f").chmod(0o600)
    done = world(
        "plan",
        "- name: d\n  file.directory: [{name: /d}, {recurse: true}, {file_mode: '0640'}]\n",
    )
    assert "/d/f: 0600 -> 0640" in done.stdout


# --- Templates and owed reactions ------------------------------------------------------------


def test_an_imported_macro_explains_its_context(world, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/lib.j2").write_text("{% macro name() %}{{ vars.name }}{% endmacro %}")
    (tmp_path / "templates/a.j2").write_text("{% import 'lib.j2' as lib %}{{ lib.name() }}")
    done = world("plan", "- name: f\n  file.managed: [{name: /f}, {template: a.j2}]\n", "-D", "name=x")
    assert "'vars' is undefined" in done.stderr
    assert "write 'import ... with context'" in done.stderr


def test_several_causes_of_one_debt_are_one_line(world, tmp_path):
    file = "- name: {0}\n  file.managed: [{{name: /{0}}}, {{content: x}}]\n"
    steps = (
        "".join(file.format(name) for name in "abc")
        + "- name: gate\n  test.step: [{result: failed}]\n"
        + "- name: reload\n  test.ok:\n  require: [{step: gate}]\n"
        + "  watch: [{step: a}, {step: b}, {step: c}]\n"
    )
    world("apply", steps)
    done = world("plan", None)
    [line] = [line for line in done.stdout.splitlines() if line.startswith("owed")]
    assert line.startswith("owed     steps#reload: has not reacted to the change of steps#a, steps#b, steps#c yet")
    done = world("apply", steps.replace("test.step: [{result: failed}]", "test.ok:"), "--verbose")
    assert "reacted to a change from an earlier run (owed)" in done.stdout


def test_a_failed_check_reports_no_change(world, tmp_path):
    steps = f"- name: g\n  git.cloned: {{name: {tmp_path}/g, repo: {tmp_path}/nothing}}\n"
    done = live(world, "apply", steps)
    assert done.returncode == 1 and "failed   steps#g  git.cloned\n" in done.stdout, done.stdout
    assert "repo: " not in done.stdout.split("error[")[0]


# --- What changes ----------------------------------------------------------------------------


@pytest.fixture
def people(world, tmp_path):
    """A root with users and groups."""
    etc = tmp_path / "root/etc"
    etc.mkdir()
    (etc / "passwd").write_text("root:x:0:0::/root:/bin/sh\nann:x:2001:2001::/home/ann:/bin/sh\n")
    (etc / "group").write_text("root:x:0:\nann:x:2001:\nold:x:9:ann\nnew:x:10:\n")
    return world


@pytest.mark.parametrize(
    "step, output",
    [
        ("user.present: {name: ann, groups: [new], remove_groups: true}", "groups: old -> new"),
        ("user.present: {name: ann, groups: [new]}", "groups: old -> new, old"),
        ("user.present: {name: ann, uid: 7}", "uid: 2001 -> 7"),
        ("user.present: {name: bob, uid: 7}", "uid: 7"),
        ("group.present: {name: old, members: []}", "members: ann -> none"),
        ("group.absent: {name: old}", "group: old -> none"),
    ],
)
def test_numbers_lists_and_removals_are_described(people, step, output):
    assert f"    {output}\n" in people("plan", f"- name: s\n  {step}\n").stdout


def test_a_value_in_the_diff_is_not_repeated(world, tmp_path):
    (tmp_path / "root/a.json").write_text('{"a": 1}\n')
    done = world("plan", "- json.value: {name: /a.json, path: a, value: 2}\n")
    assert '+{"a": 2}' in done.stdout
    assert "    value:" not in done.stdout


def test_tabs_stay_tabs_in_a_diff(world):
    done = world("plan", '- file.managed: {name: /a, content: "a\\tb\\u001b\\n\\tc\\n"}\n')
    assert "+a\tb\\x1b\n" in done.stdout
    assert "+\tc\n" in done.stdout


def test_a_program_may_be_missing_if_the_exit_code_of_the_shell_counts_as_success(eden, tmp_path):
    step = "- {name: a, cmd.run: {cmd: nosuchprogram, success_codes: [0, 127]}}"
    (tmp_path / "steps.yaml").write_text(f"steps:\n{step}\n")
    words = ("steps.yaml", "--state-dir", "state", "--config-dir", "config")
    assert eden("plan", *words).returncode == 0
    assert eden("apply", *words).returncode == 0
    (tmp_path / "steps.yaml").write_text(f"steps:\n{step.replace('127', '1')}\n")
    assert "program 'nosuchprogram' not found" in eden("plan", *words).stdout
