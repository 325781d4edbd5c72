"""Manual changes are reverted, on each kind of host."""

import pytest

SITE = """
- name: greet
  file.managed:
    - name: /etc/motd
    - content: hello
    - mode: "0644"
- name: note it
  cmd.run:
    - cmd: date >> /var/log/greetings
  onchanges:
    - file: /etc/motd
"""


@pytest.mark.parametrize("root", ["bookworm", "trixie"])
@pytest.mark.parametrize("make", ["light", "systemd"])
def test_changed_file_is_restored_and_its_reaction_runs(request, make, root):
    host = request.getfixturevalue(make)(root)
    assert host.apply(SITE).result == "changed"
    host.run("chmod 600 /etc/motd")
    done = host.apply(SITE)
    assert done.steps["greet"].changes["mode"] == {"old": "0600", "new": "0644"}
    assert done.steps["greet"].cause == "drift"
    assert len(host.read("/var/log/greetings").splitlines()) == 2
    assert host.apply(SITE).result == "ok"
