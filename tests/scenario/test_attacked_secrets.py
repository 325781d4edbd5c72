"""Secrets in files that cannot be parsed: the error message does not contain them."""

import json

import pytest

STEPS = "steps: [{name: a, cmd.run: {cmd: 'echo {{ vars.pw }}'}}]\n"


@pytest.fixture
def site(tmp_path):
    """A site that marks 'pw' and 'db.password'."""
    folder = tmp_path / "site"
    for name in ("jobs", "variables"):
        (folder / name).mkdir(parents=True)
    (folder / "jobs/base.yaml").write_text("jobs: {'*': [{name: j}]}\n")
    (folder / "jobs/j.yaml").write_text(STEPS)
    (folder / "variables/base.yaml").write_text("files: {'*': [{name: common}]}\n")
    (folder / "variables/common.yaml").write_text(
        "pw: !secret some-default\ndb: {user: app, password: !secret some-default}\n")
    return folder


def check(done, code=1):
    shown = (done.stdout + done.stderr).lower()
    assert done.returncode == code, shown
    assert "c4n4ry" not in shown and "hunter2" not in shown, shown
    return done


# The site marks the names; the file that provides the values need not.
HANDED_OVER = [
    "pw: c4n4ry-hunter2: x\n",
    "pw: @c4n4ry-hunter2\n",
    "pw: %c4n4ry-hunter2\n",
    "pw: 'c4n4ry-hunter2\n",
    "pw: !!int c4n4ry-hunter2\n",
    "pw: {c4n4ry-hunter2\n",
    "pw: *c4n4ry-hunter2\n",
    "pw: '{{ c4n4ry.hunter2.x }}'\n",
    "pw: |\nc4n4ry-hunter2\n",
    "pw: c4n4ry-hunter2\npw: c4n4ry-hunter2\n",
    "db:\n  password: @c4n4ry-hunter2\n",
    "db: {user: x, password: `c4n4ry-hunter2}\n",
    'other: 1\r"pw": @c4n4ry-hunter2\r',
    '{"pw":"c4n4ry-hunter2" "x"}',
    '{"pw":\n"c4n4ry-hunter2" "x"}',
    '{"pw": {"a": [1],\n"b": "c4n4ry-hunter2" "x"}}',
    'pw: "x\nc4n4ry-hunter2" y\n',
    "pw: &a 'it''s\nc4n4ry-hunter2' y\n",
]


@pytest.mark.parametrize("text", HANDED_OVER)
def test_a_broken_variables_file_shows_no_value_of_a_secret_name(eden, site, tmp_path, text):
    (tmp_path / "vars.yaml").write_text(text)
    for words in (["plan"], ["plan", "-o", "json"], ["apply"], ["vars", "list"]):
        given = [*words, site, "-v", "vars.yaml"]
        check(eden(*given, *([] if words[0] == "vars" else ["--state-dir", "state"])))
    done = eden("plan", site, "-v", "vars.yaml", "--state-dir", "state")
    assert "vars.yaml:" in done.stderr, "where it is, is told"


def test_values_that_are_not_secret_are_still_shown(eden, site, tmp_path):
    (tmp_path / "vars.yaml").write_text("pw: x\nother: @plain\n")
    done = eden("plan", site, "-v", "vars.yaml", "--state-dir", "state")
    assert "other: @plain" in done.stderr and 'quote the value: "@plain"' in done.stderr
    (tmp_path / "vars.yaml").write_text('pw: {a: "\n}", b: [\n]}\nother: @plain\n')
    done = eden("plan", site, "-v", "vars.yaml", "--state-dir", "state")
    assert "other: @plain" in done.stderr


MARKED = [
    "pw: !secret |\nc4n4ry-hunter2\nx: 1\n",
    "pw: !secret |\n-----BEGIN c4n4ry-----\nhunter2\n-----END-----\n",
    "pw: !secret >-\nhunter2 c4n4ry\n",
    "pw:\n  !secret\nc4n4ry-hunter2\n",
    "pw: !secret\n\n\nc4n4ry-hunter2: @\n",
    "a: 1\rpw: !secret c4n4ry-hunter2: x\r",
    "l:\n- !secret c4n4ry-hunter2\n- !secret\nc4n4ry: [\n",
    "pw: !secret |\n  first\nc4n4ry-hunter2\nx: 1\n",
    "pw: !secret\n- a\n@c4n4ry-hunter2\n",
    'pw: !secret "first\nc4n4ry-hunter2" oops\n',
    "pw: !secret {a: {b: '}'},\nc: c4n4ry-hunter2, d: @}\n",
    'pw: !secret [a, "\\"]\n\nhunter2\n- c4n4ry-hunter2: @\n',
]


@pytest.mark.parametrize("text", MARKED)
def test_a_secret_that_is_not_indented_is_not_shown(eden, site, tmp_path, text):
    (tmp_path / "vars.yaml").write_text(text)
    check(eden("plan", site, "-v", "vars.yaml", "--state-dir", "state"))
    check(eden("validate", "vars.yaml"))
    check(eden("validate", "vars.yaml", "-o", "json"))


PRIVATE = {
    "json.value": ["c4n4ry-hunter2\n", '{"a": c4n4ry}\n', '{"hunter2":1,"hunter2":2}\n'],
    "yaml.value": ["hunter2: 1\nhunter2: 2\n", "a: *c4n4ry\n", "it's c4n4ry: 1\nit's c4n4ry: 2\n"],
}


@pytest.mark.parametrize("action", PRIVATE)
def test_a_broken_private_file_shows_none_of_its_content(eden, tmp_path, action):
    (tmp_path / "root/etc").mkdir(parents=True)
    file = tmp_path / "root/etc/file"
    step = {"name": "a", action: {"name": "/etc/file", "path": "/b", "value": 1}}
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [step]}))
    words = ("steps.yaml", "--root", "root", "--state-dir", "state")
    for text in PRIVATE[action]:
        file.write_text(text)
        file.chmod(0o600)
        for command in (["plan"], ["apply"], ["apply", "-o", "json"]):
            done = check(eden(*command, *words))
            assert "/etc/file:" in done.stdout and "(not shown)" in done.stdout
    file.chmod(0o644)
    assert "(not shown)" not in eden("plan", *words).stdout, "what everybody may read is told"
