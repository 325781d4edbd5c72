"""file.directory with `clean` keeps what other steps manage."""

import json

import pytest


@pytest.fixture
def site(eden, tmp_path):
    """A site of two jobs; returns a function that applies it."""
    (tmp_path / "root/etc/conf.d").mkdir(parents=True)
    (tmp_path / "root/etc/passwd").write_text("root:x:0:0::/:/bin/sh\n")
    folder = tmp_path / "site/jobs"
    folder.mkdir(parents=True)
    (folder / "base.yaml").write_text("jobs: {'*': [{name: dir}, {name: content}]}")
    (folder / "dir.yaml").write_text(
        "steps: [{name: d, file.directory: {name: /etc/conf.d, clean: true}}]"
    )
    (folder / "content.yaml").write_text(
        """
steps:
- name: own
  file.managed: {name: /etc/conf.d/own, content: text}
- name: pub
  file.content: {name: /etc/passwd}
- name: placed
  file.managed: {name: /etc/conf.d, from: [{file: pub}]}
"""
    )

    def apply(*options):
        done = eden(
            "apply", "site", "--root", "root", "--config-dir", "config", "-o", "json", *options
        )
        output = json.loads(done.stdout)
        assert "steps" in output, output
        return {step["name"]: step["result"] for step in output["steps"]}

    apply.folder = tmp_path / "root/etc/conf.d"
    return apply


def names(site):
    return sorted(path.name for path in site.folder.iterdir())


def test_where_published_files_are_put_nothing_is_cleaned(site):
    site()
    assert names(site) == ["own", "passwd"]
    assert set(site().values()) == {"ok"}


def test_a_run_of_one_job_cleans_nothing(site):
    site()
    (site.folder / "stray").write_text("")
    assert site("--job", "dir") == {"d": "ok"}
    assert names(site) == ["own", "passwd", "stray"]
