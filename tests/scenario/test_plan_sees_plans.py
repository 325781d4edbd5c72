"""A check in a plan sees what earlier steps would have changed."""

import json

import pytest


@pytest.fixture
def both(eden, tmp_path):
    """Plans and applies the same steps; returns the steps of both, by name."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/ini").write_text("a=1\n#b=2\n")

    def run(text):
        path = tmp_path / "steps.yaml"
        path.write_text(text)
        output = []
        for verb in ("plan", "apply"):
            done = eden(
                verb, path, "--root", root, "--config-dir", tmp_path / "config", "-o", "json"
            )
            steps = json.loads(done.stdout)["steps"]
            output.append(
                {s["name"]: (s["result"], s["diff"]) for s in steps}
            )
        return output

    return run


STEPS = {
    "lines of one file": """
- {name: one, file.line: {name: /etc/ini, match: '^#?b=', line: 'b=9'}}
- {name: two, file.block: {name: /etc/ini, before: '^b=', content: "c=3\\nd=4"}}
""",
    "a line in a new file": """
- {name: one, file.managed: {name: /etc/new, content: "a\\n"}}
- {name: two, file.line: {name: /etc/new, line: b}}
""",
    "a copy of a changed file": """
- {name: one, file.managed: {name: /etc/ini, content: "other\\n"}}
- {name: two, file.copy: {name: /etc/copy, source: /etc/ini}, require: [{step: one}]}
""",
    "a removed file comes again": """
- {name: one, file.absent: {name: /etc/ini}}
- {name: two, file.managed: {name: /etc/ini, content: "new\\n"}, onchanges: [{step: one}]}
""",
    "a removed directory": """
- {name: one, file.absent: {name: /etc}}
- {name: two, file.managed: {name: /etc/ini, content: "new\\n"}, onchanges: [{step: one}]}
""",
    "a link in place of nothing": """
- {name: one, file.symlink: {name: /etc/link, target: ini}}
- {name: two, file.symlink: {name: /etc/link, target: ini}, require: [{step: one}]}
""",
    "a directory twice": """
- {name: one, file.directory: {name: /srv/a, mode: 0700}}
- {name: two, file.directory: {name: /srv/a, mode: 0700, recurse: true}, require: [{step: one}]}
""",
    "a target of prereq is looked at twice": """
- {name: one, file.managed: {name: /etc/closed, content: yes}, prereq: [{step: two}]}
- {name: two, file.managed: {name: /etc/ini, content: new}}
- {name: three, file.absent: {name: /etc/closed}, onchanges: [{step: two}]}
""",
    "hosts one by one": """
- {name: one, host.entry: {name: db, address: 192.0.2.7}}
- {name: two, host.entry: {name: web, address: 192.0.2.8}}
""",
}


@pytest.mark.parametrize("steps", STEPS)
def test_a_plan_matches_the_run(both, steps):
    plan, apply = both("steps:" + STEPS[steps])
    assert plan == apply
    assert plan["one"][0] == "changed"


def test_a_guarded_command_is_guarded_in_the_plan(both, tmp_path):
    (tmp_path / "root/bin").mkdir()
    (tmp_path / "root/bin/sh").touch(0o755)
    plan, _ = both(
        """
steps:
- {name: one, file.managed: {name: /etc/new, content: x}}
- {name: two, cmd.run: {cmd: 'true', creates: /etc/new}, require: [{step: one}]}
- {name: three, file.absent: {name: /etc/ini}}
- {name: four, cmd.run: {cmd: 'true', creates: /etc/ini}, require: [{step: three}]}
"""
    )
    assert plan["two"][0] == "ok"
    assert plan["four"][0] == "changed"
