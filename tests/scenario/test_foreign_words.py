"""Who comes from Ansible or Salt is told what to write here, and never led astray."""

import pytest


def told(eden, tmp_path, step):
    (tmp_path / "steps.yaml").write_text("steps:\n" + step)
    done = eden("validate", "steps.yaml")
    assert done.returncode == 1
    return done.stderr


FILE = "- name: x\n  file.managed:\n    - name: /etc/motd\n"


@pytest.mark.parametrize(
    "step, hint",
    [
        ("- file.append: [{name: /etc/hosts}, {text: x}]\n", "write 'file.line'"),
        ("- file.replace: [{name: /etc/hosts}]\n", "write 'file.line' with 'match'"),
        ("- file.recurse: [{name: /etc/hosts}]\n", "forEach"),
        ("- ansible.builtin.copy: {dest: /etc/motd}\n", "write 'file.managed'"),
        (FILE + "    - user: root\n", "write 'owner'"),
        (FILE + "    - makedirs: true\n", "write 'parents'"),
        (FILE + "    - unless: test -f /x\n", "conditions: {when:"),
        (FILE + "    - dest: /etc/motd\n", "write 'name'"),
        (FILE + "    - src: motd\n", "write 'source'"),
        (FILE + "  when: a\n", "conditions: {when:"),
        (FILE + "  register: a\n", "steps['NAME'].StdOut"),
        (FILE + "  loop: [a]\n", "forEach"),
        (FILE + "  with_items: [a]\n", "forEach"),
        (FILE + "  notify: other\n", "onchanges"),
        (FILE + "  tags: [a]\n", "--job"),
        (FILE + "  become: true\n", "as whoever runs eden"),
        (FILE + "  ignore_errors: true\n", "require this one"),
        (FILE + "  changed_when: false\n", "keep it from running"),
        (FILE + "  retries: 3\n", "runOptions: {retry:"),
        (FILE + "  delay: 3\n", "runOptions: {retry:"),
        ("- file.directory: [{name: /srv}, {dir_mode: '0755'}]\n", "write 'mode'"),
        ("- copy: {src: a}\n", "write 'file.managed'"),
        ("- shell: ls\n", "write 'cmd.run'"),
        ("- lineinfile: {path: a}\n", "write 'file.line'"),
        ("- cmd.run: [{cmd: ls}, {runas: web}]\n", "write 'user'"),
        ("- cmd.run: [{name: ls}]\n", "'name' only names it: write 'cmd: ...'"),
    ],
)
def test_a_word_of_others_is_answered_with_ours(eden, tmp_path, step, hint):
    assert hint in told(eden, tmp_path, step)


@pytest.mark.parametrize("action", ["file.append", "file.appnd"])
def test_nobody_is_led_to_removing_files(eden, tmp_path, action):
    assert "absent'?" not in told(eden, tmp_path, f"- {action}: [{{name: /etc/hosts}}]\n")


@pytest.mark.parametrize("words", [["--check"], ["--dry-run"], ["test=True"], ["--noop"]])
def test_a_dry_run_is_a_plan(eden, tmp_path, words):
    (tmp_path / "steps.yaml").write_text("steps: [{test.ok: }]\n")
    done = eden("apply", "steps.yaml", *words)
    assert done.returncode == 64
    assert "'eden plan' does that" in done.stderr


def test_a_parameter_that_lacks_its_s_is_nearer_than_a_foreign_word(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("steps: [{name: a, pkgrepo.managed: {name: x, uri: y}}]")
    assert "did you mean 'uris'?" in eden("validate", "a.yaml").stderr
