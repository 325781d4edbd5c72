"""`eden render --site`: a template as a node of a site gets it, and how a site's templates are
parsed.
"""

import json

import pytest

LOOP = "{% for name in vars.names %}\n    {% if name %}\n- {{ name }}\n    {% endif %}\n{% endfor %}\n"
FILES = {
    "jobs/base.yaml": "jobs: {'*': [{name: j}]}",
    "jobs/j.yaml": "steps: [{name: x, file.managed: {name: /out, template: loop.j2}}]",
    "variables/base.yaml": "files: {'*': [{name: all}], 'role=web': [{name: web}]}",
    "variables/all.yaml": "greeting: hello\nnames: [a, b]",
    "variables/web.yaml": "greeting: 'welcome to {{ server.name }}'",
    "macros/base.yaml": "macros: {'*': [{name: m}]}",
    "macros/m.yaml": "version: {file.contents: [{name: /etc/version}]}",
    "templates/motd.j2": "{% include 'parts/greeting.j2' %} {{ macros.version }} {{ server.labels }}\n",
    "templates/parts/greeting.j2": "{{ vars.greeting }}",
    "templates/loop.j2": LOOP,
    "templates/late.j2": "{{ steps['x'].StdOut }}",
    "templates/broken.j2": "line\n{{ vars.nothing }}\n",
}


@pytest.fixture
def site(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/version").write_text("6.1")
    return tmp_path / "site"


def render(eden, *words):
    return eden("render", "--site", "site", "--root", "root", "--config-dir", "etc", *words)


@pytest.mark.parametrize("name", ["motd.j2", "site/templates/motd.j2"])
def test_a_template_sees_the_variables_of_the_node(eden, site, name):
    done = render(eden, "--node", "web1", "--label", "role=web", name)
    assert done.stdout == "welcome to web1 6.1 {'role': 'web'}\n", done.stderr
    done = render(eden, "--node", "db1", name)
    assert done.stdout == "hello 6.1 {}\n"
    done = render(eden, "--node", "db1", "-D", "greeting=hi", name, "-o", "json")
    assert json.loads(done.stdout)["output"] == "hi 6.1 {}\n"


def test_another_file_can_include_templates_of_the_site(eden, site, tmp_path):
    (tmp_path / "mine.j2").write_text("{% include 'parts/greeting.j2' %}!\n")
    assert render(eden, "mine.j2").stdout == "hello!\n"


def test_errors_have_a_location(eden, site):
    done = render(eden, "broken.j2")
    assert done.returncode == 1 and "--> site/templates/broken.j2:2:" in done.stderr, done.stderr
    done = render(eden, "late.j2")
    assert done.returncode == 1 and "not known before the run" in done.stderr
    assert render(eden, "absent.j2").returncode == 1
    assert render(eden, "motd.j2", "--trim-blocks").returncode == 64
    done = eden("render", "--node", "web1", "motd.j2")
    assert done.returncode == 64 and "require --site" in done.stderr


PLAIN = "\n    \n- a\n    \n\n    \n- b\n    \n\n"
TRIMMED = {"trim_blocks": "    - a\n        - b\n    ", "both": "- a\n- b\n"}


def test_a_path_within_the_site_suggests_the_right_one(eden, site):
    (site / "files").mkdir()
    (site / "files/x.j2").write_text("{{ vars.greeting }}")
    done = render(eden, "templates/motd.j2")
    assert done.returncode == 1
    assert "relative to templates/: write 'motd.j2'" in done.stderr
    assert render(eden, "motd.j2").returncode == 0
    done = render(eden, "files/x.j2")
    assert done.returncode == 1 and "write 'site/files/x.j2'" in done.stderr
    assert render(eden, "site/files/x.j2").stdout == "hello"
    assert "write" not in render(eden, "nowhere.j2").stderr


def test_a_site_configures_block_trimming(eden, site, tmp_path):
    def applied():
        done = eden("apply", "site", "--root", "root", "--state-dir", "state", "--config-dir", "etc")
        assert done.returncode == 0, done.stdout
        return (tmp_path / "root/out").read_text()

    assert applied() == render(eden, "loop.j2").stdout == PLAIN
    (site / "config.yaml").write_text("templates: {trim_blocks: true, lstrip_blocks: true}")
    assert applied() == render(eden, "loop.j2").stdout == TRIMMED["both"]
    (site / "config.yaml").write_text("templates: {trim_blocks: true}")
    assert applied() == render(eden, "loop.j2").stdout == TRIMMED["trim_blocks"]


def test_strings_in_documents_are_not_affected(eden, site, tmp_path):
    (site / "config.yaml").write_text("templates: {trim_blocks: true, lstrip_blocks: true}")
    (site / "jobs/j.yaml").write_text(json.dumps({"steps": [
        {"name": "x", "file.managed": {"name": "/out", "content": LOOP}}]}))  # fmt: skip
    done = eden("apply", "site", "--root", "root", "--state-dir", "state", "--config-dir", "etc")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "root/out").read_text() == PLAIN


@pytest.mark.parametrize(
    "text, output",
    [("templates: {trim_block: true}", "did you mean 'trim_blocks'"),
     ("templates: {trim_blocks: maybe}", "trim_blocks"),
     ("templates: [trim_blocks]", "templates")],
)  # fmt: skip
def test_settings_of_templates_are_checked(eden, site, text, output):
    (site / "config.yaml").write_text(text)
    for command in ("validate", "plan"):
        done = eden(command, "site")
        assert done.returncode == 1 and output in done.stderr, done.stderr
        assert "site/config.yaml:1:" in done.stderr
