"""Files that end in .yml are read, or reported; never silently ignored."""

import pytest


@pytest.fixture
def site(tmp_path):
    files = {
        "site/jobs/base.yaml": "jobs: {'*': [{name: j}]}",
        "site/jobs/j.yaml": "steps: [{name: x, test.ok: }]",
        "site/variables/base.yaml": "files: {'*': [{name: v}, {name: p, paths: [node.yaml]}]}",
        "site/variables/v.yaml": "v: 1",
        "site/variables/node.yaml": "node: 1",
        "site/macros/base.yaml": "macros: {'*': [{name: m}]}",
        "site/macros/m.yaml": "k: {expression: '1'}",
        "site/config.yaml": "config: {}",
        "etc/vars.d/a.yml": "color: green",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


OPTIONS = ("site", "--config-dir", "etc")
DOCUMENTS = ["jobs/base", "jobs/j", "variables/base", "variables/v", "variables/node",
             "macros/base", "macros/m", "config"]  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_yml_document_in_a_site_is_reported(eden, site, name):
    assert eden("plan", *OPTIONS, "--state-dir", "state").returncode == 0
    path = site / "site" / f"{name}.yaml"
    path.rename(path.with_suffix(".yml"))
    for command in ("plan", "validate"):
        done = eden(command, *(OPTIONS if command == "plan" else OPTIONS[:1]))
        if command == "plan" or name != "variables/node":
            assert done.returncode == 1
            assert f"rename 'site/{name}.yml' to 'site/{name}.yaml'" in done.stderr or (
                name == "jobs/base" and "base.yaml" in done.stderr), done.stderr


@pytest.mark.parametrize("name", DOCUMENTS)
def test_both_endings_of_a_document_are_an_error(eden, site, name):
    path = site / "site" / f"{name}.yaml"
    path.with_suffix(".yml").write_text(path.read_text())
    done = eden("plan", *OPTIONS)
    assert done.returncode == 1
    assert f"both 'site/{name}.yaml' and 'site/{name}.yml' exist" in done.stderr, done.stderr


@pytest.mark.parametrize("command", ["validate", "plan"])
def test_a_single_file_may_have_a_yml_neighbor(eden, site, command):
    """It is not a document of a site: the file that was named is meant."""
    (site / "loose.yaml").write_text("steps: [{name: a, test.ok: }]\n")
    (site / "loose.yml").write_text("steps: [{name: b, test.ok: }]\n")
    for name in ("loose.yaml", "loose.yml"):
        words = () if command == "validate" else ("--root", site, "--state-dir", "state")
        done = eden(command, name, *words)
        assert done.returncode == 0, done.stderr


def test_validate_reports_files_that_are_never_read(eden, site):
    (site / "site/jobs/other.yml").write_text("steps: []")
    done = eden("validate", "site")
    assert "'jobs/other.yml' is ignored: file names in a site must end with '.yaml'" in done.stderr


def test_host_variables_may_have_either_extension(eden, site):
    assert eden("vars", "get", "color", *OPTIONS).stdout == "green\n"
    (site / "etc/vars.d/b.yaml").write_text("color: blue")
    assert eden("vars", "get", "color", *OPTIONS).stdout == "blue\n"
    (site / "etc/vars.d/c.yml").write_text("color: red")
    assert eden("vars", "get", "color", *OPTIONS).stdout == "red\n"
    (site / "etc/vars.d/a.yaml").write_text("color: white")
    done = eden("vars", "get", "color", *OPTIONS)
    assert done.returncode == 1
    assert "both 'etc/vars.d/a.yaml' and 'etc/vars.d/a.yml'" in done.stderr


def test_the_node_file_may_have_either_extension(eden, site):
    (site / "etc/node.yml").write_text("name: web7")
    assert "plan on web7" in eden("plan", *OPTIONS, "--state-dir", "state").stdout
    (site / "etc/node.yaml").write_text("name: web7")
    done = eden("plan", *OPTIONS)
    assert done.returncode == 1 and "'etc/node.yaml' and 'node.yml'" in done.stderr
