"""eden graph: the order of a run and the reasons for it."""

import json
import xml.dom.minidom

import pytest

STEPS = """\
steps:
- name: ask
  action: cmd.run
  parameters:
    - cmd: hostname
- name: write
  action: file.managed
  parameters:
    - name: /srv/www/name
    - content: "{{ steps['ask'].StdOut }}"
- name: folder
  action: file.directory
  parameters:
    - name: /srv/www
- name: reload
  action: cmd.run
  parameters:
    - cmd: 'true'
    - onchanges:
      - file: /srv/www/*
- name: stop
  action: cmd.run
  parameters:
    - cmd: 'true'
    - prereq:
      - step: write
"""


@pytest.fixture
def steps(tmp_path):
    path = tmp_path / "steps.yaml"
    path.write_text(STEPS)
    return path


def test_the_tree_shows_order_and_reasons(eden, steps):
    result = eden("graph", steps)
    assert result.returncode == 0, result.stderr
    assert result.stdout == """\
   1 * steps#ask  [cmd.run]
   2   steps#folder  [file.directory]
      check steps#write, before steps that have it as prereq
   3 * steps#stop  [cmd.run]
       `- prereq     write
   4 * steps#write  [file.managed]
       |- require    ask  (uses its result)
       `- order      folder  (needs path:/srv/www)
   5 * steps#reload  [cmd.run]
       `- onchanges  write
5 steps, 4 edges; the critical path (*) has 4
"""


def test_verbose_shows_all_locations(eden, steps):
    done = eden("graph", "steps.yaml", "--verbose")
    assert done.returncode == 0
    assert "steps#write  [file.managed]  steps.yaml:6" in done.stdout
    assert "- require    ask  (uses its result)  steps.yaml:10" in done.stdout
    assert "- onchanges  write  steps.yaml:20" in done.stdout


def test_json_contains_steps_edges_order_and_critical_path(eden, steps):
    result = eden("graph", steps, "-o", "json")
    graph = json.loads(result.stdout)
    assert graph["format"] == "eden.graph/1"
    assert [step["name"] for step in graph["steps"]] == ["ask", "write", "folder", "reload", "stop"]
    assert [step["run_order"] for step in graph["steps"]] == [1, 4, 2, 5, 3]
    assert {"from": "steps#write", "to": "steps#folder", "kind": "order", "form": None,
            "origin": "need", "detail": "path:/srv/www"} in graph["edges"]
    assert graph["order"][2] == {"id": "steps#write", "phase": "check"}
    assert graph["critical_path"] == ["steps#ask", "steps#stop", "steps#write", "steps#reload"]


def test_the_picture_is_well_formed(eden, steps):
    result = eden("graph", steps, "-o", "svg")
    picture = xml.dom.minidom.parseString(result.stdout)
    assert len(picture.getElementsByTagName("rect")) == 5


def test_graphviz_gets_an_arrow_for_each_edge(eden, steps):
    result = eden("graph", steps, "-o", "dot")
    assert result.stdout.count(" -> ") == 4


def test_a_cycle_is_an_error_with_its_path_and_location(eden, tmp_path):
    path = tmp_path / "steps.yaml"
    path.write_text("""\
steps:
- name: a
  action: test.ok
  require:
    - step: b
- name: b
  action: test.ok
  watch:
    - step: a
""")
    result = eden("graph", path)
    assert result.returncode == 1
    assert "error[E0403]: circular requisites: 'a' -require-> 'b' -watch-> 'a'" in result.stderr
    assert f"{path}:5:" in result.stderr


def test_a_site_without_steps_for_this_node_is_reported(eden, tmp_path):
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "base.yaml").write_text("jobs:\n  'role=web':\n    - name: web\n")
    (tmp_path / "jobs" / "web.yaml").write_text("steps:\n- name: a\n  action: test.ok\n")
    assert eden("graph", tmp_path).returncode == 3
    result = eden("graph", tmp_path, "--label", "role=web")
    assert result.returncode == 0 and "web#a" in result.stdout
