"""Other configuration management tools, as installed on this machine."""

from lab.contract import Case

MANIFEST = """
file { '/srv/a': ensure => file, content => "hello\\n", mode => '0640' }
exec { '/usr/bin/touch /srv/b': creates => '/srv/b', require => File['/srv/a'] }
notify { 'just told': }
"""
PLAYBOOK = """{% raw %}
- hosts: all
  gather_facts: false
  tasks:
    - name: hello
      copy: {dest: /srv/a, content: "{{ word }}\\n", mode: "0640"}
    - name: look around
      command: uname -n
      changed_when: false
    - name: mark
      command: touch /srv/b
      args: {creates: /srv/b}
{% endraw %}"""
MADE = 'test "$(cat /srv/a)" = hello && test "$(stat -c %a /srv/a)" = 640 && test -e /srv/b'

CASES = [
    Case("puppet.apply", {"code": MANIFEST}, release="machine", below=False, after=MADE),
    Case("ansible.playbook", {"content": PLAYBOOK, "extra_vars": {"word": "hello"}},
         release="machine", below=False, after=MADE),
]  # fmt: skip
