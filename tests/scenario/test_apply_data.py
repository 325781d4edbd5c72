"""Values in files written by other programs, checked with the programs that read them."""

import configparser
import json
import pathlib

import yaml

SITE = """
steps:
- name: an option
  ini.option:
    - name: /app.ini
    - section: server
    - option: port
    - value: 8080
- name: a flag for my.cnf
  ini.option:
    - name: /my.cnf
    - section: mysqld
    - option: skip-name-resolve
    - bare: true
- name: no more of it
  ini.option: {name: /app.ini, section: old, state: absent}
- name: a registry
  json.value:
    - name: /daemon.json
    - path: insecure-registries.-
    - value: "registry:5000"
- name: a typed value
  json.value: {name: /daemon.json, path: log-opts.max-file, value: "{{ 1 + 2 }}"}
- name: a nested value
  yaml.value:
    - name: /search.yml
    - path: indexer.limits
    - value: {memory: 2048, cpus: [0, 1]}
- name: text of two lines
  yaml.value:
    - name: /search.yml
    - path: [indexer, motd]
    - value: |
        hello
        world
"""

FILES = {
    "app.ini": "; main\n[server]\nport=80 \nhost=a\n\n[old]\nx=1\n",
    "my.cnf": "[client]\nport = 1\n\n[mysqld]\n# flags\nquick\n",
    "daemon.json": '{\n    "insecure-registries": ["a"],\n    "debug": false\n}\n',
    "search.yml": "# the search\nindexer:   # does it\n  motd: hi # greet\n  threads: 4\nother: [1,2]\n",
}


def apply(eden, root, *options):
    done = eden("apply", "steps.yaml", "--root", root, "--state-dir", root / "state",
                "--config-dir", root / "config", "-o", "json", *options)  # fmt: skip
    return json.loads(done.stdout)


def test_values_are_set_for_their_readers_and_nothing_else_changes(eden, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    (tmp_path / "steps.yaml").write_text(SITE)
    done = apply(eden, root)
    assert [step["result"] for step in done["steps"]] == ["changed"] * 7, done

    ini = configparser.ConfigParser()
    ini.read(root / "app.ini")
    assert ini.sections() == ["server"]
    assert dict(ini["server"]) == {"port": "8080", "host": "a"}
    assert (root / "app.ini").read_text() == "; main\n[server]\nport=8080\nhost=a\n\n"
    assert (root / "my.cnf").read_text() == FILES["my.cnf"] + "skip-name-resolve\n"
    assert json.loads((root / "daemon.json").read_text()) == {
        "insecure-registries": ["a", "registry:5000"], "debug": False, "log-opts": {"max-file": 3},
    }  # fmt: skip
    assert '\n    "debug": false,\n    "log-opts": {\n        "max-file": 3\n    }\n}\n' in (
        root / "daemon.json"
    ).read_text()
    assert yaml.safe_load((root / "search.yml").read_text()) == {
        "indexer": {"motd": "hello\nworld\n", "threads": 4,
                    "limits": {"memory": 2048, "cpus": [0, 1]}},
        "other": [1, 2],
    }  # fmt: skip
    text = (root / "search.yml").read_text()
    assert text.startswith("# the search\nindexer:   # does it\n  motd: | # greet\n    hello\n")
    assert text.endswith("other: [1,2]\n")

    before = {path: path.read_bytes() for path in root.glob("*.*")}
    again = apply(eden, root)
    assert again["result"] == "ok", again
    assert {path: path.read_bytes() for path in root.glob("*.*")} == before


def test_yaml_that_cannot_be_edited_in_place_is_unchanged(eden, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    text = "base: &base {port: 1}\nweb: *base\n"
    (root / "a.yml").write_text(text)
    (tmp_path / "steps.yaml").write_text(
        "steps:\n- name: set\n  yaml.value: {name: /a.yml, path: web.port, value: 2}\n"
    )
    step = apply(eden, root)["steps"][0]
    assert step["result"] == "failed"
    assert "without touching other lines" in step["error"]["message"]
    assert (root / "a.yml").read_text() == text


def test_secret_value_is_never_shown(eden, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "vars.yaml").write_text("token: !secret hunter2hunter2\n")
    (tmp_path / "steps.yaml").write_text(
        "steps:\n"
        "- {name: j, json.value: {name: /a.json, path: t, value: '{{ vars.token }}', create: true}}\n"
        "- {name: i, ini.option: {name: /a.ini, option: t, value: '{{ vars.token }}', create: true}}\n"
    )
    done = eden("apply", "steps.yaml", "--root", root, "--state-dir", root / "state",
                "--config-dir", root / "config", "-v", "vars.yaml", "-o", "json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "hunter2hunter2" not in done.stdout + done.stderr
    assert "hunter2hunter2" in (root / "a.json").read_text() + (root / "a.ini").read_text()
    for path in pathlib.Path(root / "state").rglob("*"):
        assert path.is_dir() or b"hunter2hunter2" not in path.read_bytes()
