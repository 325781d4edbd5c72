"""Puppet manifests and Ansible playbooks as steps, with the real programs."""

import pytest

from lab import snapshot

MANIFEST = """
file { '/srv/made': ensure => file }
exec { '/bin/false': }
file { '/srv/never': ensure => file, require => Exec['/bin/false'] }
"""

PLAYBOOK = """{% raw %}
- hosts: all
  gather_facts: false
  tasks:
    - name: hello
      copy: {dest: /srv/made, content: "{{ word }}\\n"}
    - name: goes wrong
      command: /bin/ls /nonexistent
    - name: never
      file: {path: /srv/never, state: touch}
{% endraw %}"""


def test_failed_resource_is_reported_with_its_line_and_changes_stay(light):
    host = light("machine")
    done = host.apply([{"name": "old", "puppet.apply": {"code": MANIFEST}}])
    step = done.steps["old"]
    assert step.result == "failed" and step.changed
    assert "Exec[/bin/false]: change from 'notrun'" in step.error.message
    assert "(line 3)" in step.error.message and "1 were skipped" in step.error.message
    assert "File[/srv/made]/ensure" in step.changes
    assert host.exists("/srv/made") and not host.exists("/srv/never")


def test_unreadable_manifest_is_reported_by_a_plan(light):
    host = light("machine")
    done = host.plan([{"name": "old", "puppet.apply": {"code": "file { '/srv/x' ensure }"}}])
    assert "Syntax error" in done.steps["old"].error.message


def test_secrets_left_by_a_killed_run_are_removed(light):
    host = light("machine")
    ended, runs, strange = (f"/tmp/.eden-call-{number}-0123456789abcdef" for number in (9999999, 1, "x"))
    host.run(f"mkdir -m 700 {ended} {runs} {strange} && echo secret > {ended}/vault_password")
    foreign = "/tmp/.eden-call-9999998-0123456789abcdef"
    host.run(f"mkdir -m 700 {foreign} && chown 1000 {foreign}")
    steps = [{"name": "old", "puppet.apply": {"code": "file { '/srv/made': ensure => file }"}}]
    host.plan(steps)
    assert host.exists(ended)
    assert host.apply(steps).result == "changed"
    assert not host.exists(ended)
    assert host.exists(runs) and host.exists(strange) and host.exists(foreign)


RESCUED = """
- hosts: all
  gather_facts: false
  tasks:
    - block:
        - name: goes wrong
          command: /bin/ls /nonexistent
      rescue:
        - name: makes it good
          copy: {dest: /srv/made, content: x}
"""


def test_task_that_is_rescued_fails_nothing(light):
    host = light("machine")
    step = host.apply([{"name": "old", "ansible.playbook": {"content": RESCUED}}]).steps["old"]
    assert step.result == "changed" and "makes it good" in step.changes
    assert host.read("/srv/made") == "x"


SETTINGS = """
[defaults]
log_path = /srv/log
fact_caching = jsonfile
fact_caching_connection = /srv/facts
"""
INSTALLED = "- hosts: all\n  tasks:\n    - include_role: {name: greeter}\n"


@pytest.mark.parametrize("inventory", [None, "localhost ansible_connection=local\n"])
def test_plan_of_a_playbook_writes_nothing_and_finds_installed_roles(light, inventory):
    host = light("machine")
    host.write("/root/.ansible/roles/greeter/tasks/main.yaml",
               "- name: greet\n  copy: {dest: /srv/made, content: hello}\n")  # fmt: skip
    host.write("/srv/play/ansible.cfg", SETTINGS)
    host.write("/srv/play/site.yaml", INSTALLED)
    playbook = {"playbook": "/srv/play/site.yaml"}
    if inventory:
        host.write("/srv/play/hosts", inventory)
        playbook["inventory"] = "/srv/play/hosts"
    steps = [{"name": "old", "ansible.playbook": playbook}]
    # Gathering facts runs rpm, which creates its database if there is none.
    others = ["/root/.rpmdb"]
    before = host.snapshot(without=others)
    planned = host.plan(steps, timeout=600).steps["old"]
    assert planned.result == "changed" and "greet" in repr(planned.changes), vars(planned)
    assert snapshot.differences(before, host.snapshot(without=others)) == []
    assert host.apply(steps, timeout=600).result == "changed"
    assert host.read("/srv/made") == "hello"
    assert host.exists("/srv/log") and host.exists("/srv/facts/localhost")
    if not inventory:  # which may list other machines; theirs is the default directory
        assert host.run("ls -A /root/.ansible").out == "roles"


def test_settings_of_other_users_next_to_a_playbook_are_ignored(light):
    """They name plugins, which Ansible runs as root."""
    host = light("machine")
    host.run("useradd -m bob; mkdir -m 0775 /srv/play")
    host.write("/srv/play/play.yaml", "- hosts: all\n  gather_facts: false\n  tasks: []\n")
    host.write("/srv/play/ansible.cfg", SETTINGS)
    host.run("chown bob /srv/play/ansible.cfg")
    steps = [{"name": "old", "ansible.playbook": {"playbook": "/srv/play/play.yaml", "ask": False}}]
    assert host.apply(steps, timeout=600).steps["old"].result != "failed"
    assert not host.exists("/srv/log")
    host.run("chown root /srv/play/ansible.cfg")
    assert host.apply(steps, timeout=600).steps["old"].result != "failed"
    assert host.exists("/srv/log")


def test_plugins_of_others_next_to_a_playbook_do_not_run(light):
    host = light("machine")
    host.write("/tmp/play.yaml", "- hosts: all\n  gather_facts: false\n  tasks:\n"
               "  - debug: {msg: \"{{ 'x' | upper }}\"}\n")  # fmt: skip
    host.write("/tmp/filter_plugins/p.py", "open('/srv/ran', 'w')\n"
               "class FilterModule:\n    def filters(self): return {}\n")  # fmt: skip
    steps = [{"name": "old", "ansible.playbook": {"playbook": "/tmp/play.yaml"}}]
    step = host.apply(steps, timeout=600).steps["old"]
    assert step.result == "failed" and "is world-writable" in repr(vars(step)), vars(step)
    assert not host.exists("/srv/ran")


def test_failed_task_is_reported_and_secrets_are_not_in_argv(light):
    host = light("machine")
    # Records every program started, with its arguments.
    host.run("mv /usr/bin/ansible-playbook /usr/bin/ansible-playbook.real")
    host.write("/usr/bin/ansible-playbook", "#!/bin/sh\nprintf '%s\\n' \"$@\" >> /srv/arguments\n"
               "stat -c '%a %n' /tmp/.eden-call-*/extra_vars.json >> /srv/modes\n"
               'exec /usr/bin/ansible-playbook.real "$@"\n', mode=0o755)  # fmt: skip
    host.write("/etc/eden/vars.d/x.yaml", "word: !secret xyzzy42\n")
    done = host.apply([{"name": "old", "ansible.playbook": {
        "content": PLAYBOOK, "extra_vars": {"word": "{{ vars.word }}"}}}])  # fmt: skip
    step = done.steps["old"]
    assert step.result == "failed" and step.changed
    assert "task 'goes wrong' failed: non-zero return code" in step.error.message
    assert "/nonexistent" in step.error.message
    assert "hello" in step.changes
    assert host.read("/srv/made") == "xyzzy42\n" and not host.exists("/srv/never")
    assert "xyzzy42" not in host.read("/srv/arguments")
    assert "600 " in host.read("/srv/modes")
    assert "xyzzy42" not in repr(vars(step)), "secrets are shown"
    assert host.run("ls -d /tmp/.eden-call-* || true").out == ""


def test_missing_program_fails_unless_an_earlier_step_may_provide_it(light):
    host = light()
    steps = [{"name": "p", "puppet.apply": {"code": "file { '/srv/x': }"}},
             {"name": "a", "ansible.playbook": {"content": "- hosts: all"}}]  # fmt: skip
    bring = {"name": "bring", "cmd.run": {"cmd": "perl -e 1"}, "order": "first"}
    planned, later, done = host.plan(steps), host.plan([bring, *steps]), host.apply(steps)
    for name, package in (("p", "puppet-agent"), ("a", "ansible-core")):
        assert planned.steps[name].result == "failed"
        assert package in planned.steps[name].error.message
        assert later.steps[name].result == "unknown"
        assert package in done.steps[name].error.message
