"""Users of Ansible or Salt are shown what to write here, and never misled."""

import pytest


def output(eden, tmp_path, step):
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
        (FILE + "    - dest: /etc/motd\n", "'name' is also set"),
        (FILE + "    - src: motd\n", "write 'source'"),
        (FILE + "  when: a\n", "conditions: {when:"),
        (FILE + "  register: a\n", "steps['NAME'].StdOut"),
        (FILE + "  loop: [a]\n", "forEach"),
        (FILE + "  with_items: [a]\n", "forEach"),
        (FILE + "  notify: other\n", "onchanges"),
        (FILE + "  tags: [a]\n", "--job"),
        (FILE + "  become: true\n", "as the user who runs eden"),
        (FILE + "  ignore_errors: true\n", "require this one"),
        (FILE + "  changed_when: false\n", "prevent it from running"),
        (FILE + "  retries: 3\n", "runOptions: {retry:"),
        (FILE + "  delay: 3\n", "runOptions: {retry:"),
        ("- file.directory: [{name: /srv}, {dir_mode: '0755'}]\n", "write 'mode'"),
        ("- copy: {src: a}\n", "write 'file.managed'"),
        ("- shell: ls\n", "write 'cmd.run'"),
        ("- lineinfile: {path: a}\n", "write 'file.line'"),
        ("- cmd.run: [{cmd: ls}, {runas: web}]\n", "write 'user'"),
        ("- cmd.run: [{name: ls}]\n", "'name' is only a name: write 'cmd: ...'"),
        ("- cmd.run: ls\n", "write '{cmd: ls}'"),
        ("- pkg.installed: nginx\n", "write '{name: nginx}'"),
        ("- cron: {name: a, job: b}\n", "write 'cron.present'"),
        ("- ansible.builtin.cron: {name: a}\n", "write 'cron.present'"),
        ("- authorized_key: {user: a}\n", "write 'ssh.authorized_key'"),
        ("- apt_repository: {repo: a}\n", "write 'pkgrepo.managed'"),
        ("- reboot:\n", "write 'machine.reboot' with 'allow: true'"),
        ("- get_url: {url: a}\n", "write 'http.download' with 'url' and 'digest'"),
        ("- file.download: [{name: /a}]\n", "write 'http.download' with 'url' and 'digest'"),
        ("- ssh_auth.present: [{user: a}]\n", "write 'ssh.authorized_key'"),
        ("- pkg.purged: [{name: a}]\n", "'purge: true'"),
        ("- host.present: [{name: a}]\n", "write 'host.entry'"),
        ("- service.ensure: [{name: a}, {state: running}]\n", "write 'started'"),
        ("- cron.present: [{name: a}, {job: b}]\n", "write 'cmd'"),
        ("- user.present: [{name: a}, {append: true}]\n", "groups are only added"),
        ("- mount.mounted: [{name: /a}, {opts: ro}]\n", "write 'options'"),
        ("- pkgrepo.managed: [{name: a}, {key_url: b}]\n", "write 'key_file'"),
        ("- pkgrepo.managed: [{name: a}, {file: b}]\n", "the file is named after 'name'"),
        (FILE + "    - source: salt://a\n", "the path in files/"),
        (FILE + "    - template: jinja\n", "instead of under 'source'"),
        ("- archive.extracted: [{name: /a}, {source: 'https://a/b'}]\n",
         "download it with 'http.download' in an earlier step"),
        ("- archive.extracted: [{name: /a}, {source: 'ftp://a/b'}]\n", "'cmd.run' with curl"),
    ],
)
def test_foreign_terms_get_our_terms_as_a_hint(eden, tmp_path, step, hint):
    assert hint in output(eden, tmp_path, step)


@pytest.mark.parametrize("action", ["file.append", "file.appnd"])
def test_hints_never_lead_to_removing_files(eden, tmp_path, action):
    assert "absent'?" not in output(eden, tmp_path, f"- {action}: [{{name: /etc/hosts}}]\n")


@pytest.mark.parametrize("words", [["--check"], ["--dry-run"], ["test=True"], ["--noop"]])
def test_a_dry_run_is_a_plan(eden, tmp_path, words):
    (tmp_path / "steps.yaml").write_text("steps: [{test.ok: }]\n")
    done = eden("apply", "steps.yaml", *words)
    assert done.returncode == 64
    assert "use 'eden plan'" in done.stderr


def test_a_missing_plural_s_is_closer_than_a_foreign_term(eden, tmp_path):
    (tmp_path / "a.yaml").write_text("steps: [{name: a, pkgrepo.managed: {name: x, uri: y}}]")
    assert "did you mean 'uris'?" in eden("validate", "a.yaml").stderr


PLAYBOOK = "- hosts: all\n  tasks:\n    - name: a\n      copy: {src: a, dest: /a}\n"
TASKS = "- name: a\n  copy: {src: a, dest: /a}\n"
STATES = "nginx:\n  pkg.installed: []\n"


@pytest.mark.parametrize(
    "text, hint",
    [
        (PLAYBOOK, "run it unchanged with a step 'ansible.playbook'"),
        (TASKS, "put them under 'steps:'"),
        (STATES, "write '- name: ID'"),
    ],
)
def test_foreign_files_are_recognized(eden, tmp_path, text, hint):
    (tmp_path / "a.yml").write_text(text)
    checked = eden("validate", "a.yml")
    assert checked.returncode == 1 and hint in checked.stderr
    assert "as data" not in checked.stdout + checked.stderr
    planned = eden("plan", "a.yml", "--root", str(tmp_path))
    assert planned.returncode == 1 and hint in planned.stderr
    assert planned.stderr.count("error[") == 1


def test_steps_are_steps_by_either_ending(eden, tmp_path):
    for name in ("a.yml", "a.yaml"):
        (tmp_path / name).write_text("steps: [{test.oks: }]\n")
        done = eden("validate", name)
        assert done.returncode == 1 and "did you mean 'test.ok'?" in done.stderr
        (tmp_path / name).unlink()


@pytest.mark.parametrize(
    "word, ours",
    [("lineinfile", "file.line"), ("reboot", "machine.reboot"), ("ssh_auth.present", "ssh.auth")],
)
def test_foreign_terms_are_explained(eden, word, ours):
    done = eden("explain", word)
    assert done.returncode == 64 and ours in done.stderr
