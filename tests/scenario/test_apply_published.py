"""file.managed uses what file.content of other steps has published, however it is named; and which
names of files are valid."""

import json

import pytest


@pytest.fixture
def apply(eden, tmp_path):
    jobs = tmp_path / "site" / "jobs"
    jobs.mkdir(parents=True)
    root = tmp_path / "root"
    root.mkdir()
    for name in "one", "two":
        (root / name).write_text(name)

    def run(**files):
        names = [{"name": name} for name in files]
        (jobs / "base.yaml").write_text(json.dumps({"jobs": {"*": names}}))
        for name, steps in files.items():
            (jobs / f"{name}.yaml").write_text(json.dumps({"steps": steps}))
        done = eden("apply", "site", "--root", root, "--state-dir", "state", "--config-dir", "etc")
        assert done.returncode == 0, done.stdout + done.stderr
        return root

    return run


def read(path, **more):
    return {"name": "read", "file.content": [{"name": path}], **more}


def put(path, source, **more):
    return {"name": "put", "file.managed": [{"name": path}, {"from": [{"file": source}]}], **more}


def test_a_name_refers_to_the_step_in_the_same_job(apply):
    root = apply(a=[read("/one"), put("/a", "read")], b=[read("/two"), put("/b", "read")])
    assert (root / "a").read_text() == "one"
    assert (root / "b").read_text() == "two"


def test_a_path_refers_to_the_step_that_reads_it(apply):
    root = apply(a=[put("/a", "/two"), read("/two")])
    assert (root / "a").read_text() == "two"


def test_the_job_may_precede_the_name(apply):
    root = apply(a=[read("/one")], b=[read("/two"), put("/b", "a#read")])
    assert (root / "b").read_text() == "one"


def test_a_requisite_on_the_same_step_changes_nothing(apply):
    root = apply(a=[read("/one"), put("/a", "read", require=[{"step": "read"}])])
    assert (root / "a").read_text() == "one"


@pytest.mark.parametrize("directory", ["missing", "there"])
@pytest.mark.parametrize("name", ["/pki/", "/deep/pki//"])
def test_a_name_with_a_trailing_slash_is_always_a_directory(apply, tmp_path, name, directory):
    place = tmp_path / "root" / name.strip("/")
    if directory == "there":
        place.mkdir(parents=True)
    steps = [read("/one"), put(name, "read"),
             {"name": "after", "test.ok": [], "require": [{"file": name.rstrip("/")}]}]  # fmt: skip
    for _ in range(2):
        apply(a=steps)
        assert (place / "one").read_text() == "one"


def test_without_a_slash_a_single_file_can_be_renamed(apply):
    assert (apply(a=[read("/one"), put("/other", "read")]) / "other").read_text() == "one"


def test_a_plain_file_name_has_no_trailing_slash(eden, tmp_path):
    (tmp_path / "steps.yaml").write_text(json.dumps(
        {"steps": [{"name": "x", "file.managed": [{"name": "/x/"}, {"content": "x"}]}]}))  # fmt: skip
    (tmp_path / "root").mkdir()
    done = eden("apply", "steps.yaml", "--root", "root", "--state-dir", "state")
    assert done.returncode == 1 and "'/x/' is a directory" in done.stdout, done.stdout
    assert not (tmp_path / "root/x").exists()


@pytest.mark.parametrize("parameters", [
    {"file.copy": [{"name": "/x/"}, {"source": "/one"}]},
    {"file.symlink": [{"name": "/x/"}, {"target": "/one"}]},
    {"file.line": [{"name": "/x/"}, {"line": "a"}, {"create": True}]},
    {"ini.option": [{"name": "/x/"}, {"option": "a"}, {"value": "b"}]},
    {"json.value": [{"name": "/x/"}, {"path": "a"}, {"value": "b"}]},
])
@pytest.mark.parametrize("directory", ["missing", "there"])
def test_names_of_other_files_have_no_trailing_slash(eden, tmp_path, parameters, directory):
    """Before, /x was created as a file."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "one").write_text("one")
    if directory == "there":
        (root / "x").mkdir()
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [{"name": "x", **parameters}]}))
    for command in ("validate",), ("apply", "--root", "root", "--state-dir", "state"):
        done = eden(command[0], "steps.yaml", *command[1:])
        assert done.returncode == 1
        assert "error[E0308]" in done.stderr and "without '/' at the end, not '/x/'" in done.stderr, done.stderr
    assert (root / "x").is_dir() == (directory == "there")


@pytest.mark.parametrize("source", ["{{ [{('file'): 7}] }}", "{{ ['read'] }}", [{"file": "{{ 7 }}"}]])
def test_a_computed_entry_must_name_a_step(eden, tmp_path, source):
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [
        read("/one"), {"name": "put", "file.managed": [{"name": "/x"}, {"from": source}]}]}))  # fmt: skip
    (tmp_path / "root").mkdir()
    (tmp_path / "root/one").write_text("one")
    done = eden("apply", "steps.yaml", "--root", "root", "--state-dir", "state", "--config-dir", "etc")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "an entry of 'from' must be {file: STEP}" in done.stdout + done.stderr
    assert not (tmp_path / "root/x").exists()
