"""file.managed takes what file.content of other steps has published, whichever way it is named."""

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


def test_a_name_means_the_step_of_the_own_job(apply):
    root = apply(a=[read("/one"), put("/a", "read")], b=[read("/two"), put("/b", "read")])
    assert (root / "a").read_text() == "one"
    assert (root / "b").read_text() == "two"


def test_a_path_means_the_step_that_reads_it(apply):
    root = apply(a=[put("/a", "/two"), read("/two")])
    assert (root / "a").read_text() == "two"


def test_the_job_may_stand_before_the_name(apply):
    root = apply(a=[read("/one")], b=[read("/two"), put("/b", "a#read")])
    assert (root / "b").read_text() == "one"


def test_a_requisite_on_the_same_step_changes_nothing(apply):
    root = apply(a=[read("/one"), put("/a", "read", require=[{"step": "read"}])])
    assert (root / "a").read_text() == "one"
