"""The manual: pages that mandoc accepts, written completely or not at all."""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

import pytest


def commands(eden):
    return json.loads(eden("help", "-o", "json").stdout)["commands"]


def lint(path):
    """mandoc's complaints, except for links to pages that are not installed here."""
    if shutil.which("mandoc") is None:
        pytest.fail("this test needs mandoc, which is not installed")
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "style", path], capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if "referenced manual not found" not in line]


def test_all_pages_are_written_and_lint_finds_nothing(eden, tmp_path):
    done = eden("man", "--dir", ".")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    pages = {"eden.1"} | {f"eden-{command['name']}.1" for command in commands(eden)}
    assert set(os.listdir(tmp_path)) == pages
    for page in pages:
        assert lint(tmp_path / page) == []


def test_lint_would_notice(tmp_path):
    page = tmp_path / "bad.1"
    page.write_text(".Dd November 15, 2026\n.Dt BAD 1\n.Os\n.Sh NAME\n.Zz\n")
    assert lint(page)


def test_a_man_page_matches_the_help(eden, tmp_path):
    if shutil.which("mandoc") is None:
        pytest.fail("this test needs mandoc, which is not installed")
    for command in commands(eden):
        roff = eden("man", command["name"]).stdout
        shown = subprocess.run(
            ["mandoc", "-T", "ascii", "-O", "width=900"], input=roff, capture_output=True, text=True
        ).stdout
        shown = " ".join(re.sub(".\b", "", shown).split())  # bold is overstruck text
        assert command["help"] in shown
        for option in command["options"]:
            assert f"--{option['name']}" in shown
            assert option["help"][1:] in shown
        for example in command["examples"]:
            assert " ".join(example["command"].split()) in shown


def test_the_overview_is_the_page_without_a_command(eden):
    assert ".Dt EDEN 1\n" in eden("man").stdout


def test_an_unknown_command_is_a_usage_error(eden):
    done = eden("man", "redner")
    assert done.returncode == 64
    assert "did you mean 'render'?" in done.stderr


def test_a_directory_and_a_command_are_mutually_exclusive(eden):
    assert eden("man", "--dir", ".", "render").returncode == 64


def test_a_missing_directory_is_reported(eden):
    done = eden("man", "--dir", "absent")
    assert done.returncode == 1
    assert done.stderr == "eden man: absent/eden.1: No such file or directory\n"


def test_a_directory_of_another_user_is_denied(eden_path, tmp_path):
    if os.geteuid() != 0:
        pytest.fail("this test needs the rights of root, to become somebody else")
    tmp_path.chmod(0o755)
    directory = tmp_path / "pages"
    directory.mkdir(mode=0o755)
    binary = tmp_path / "eden"
    shutil.copy(eden_path, binary)
    for parent in tmp_path.parents[:2]:
        parent.chmod(parent.stat().st_mode | 0o011)
    done = subprocess.run(
        [binary, "man", "--dir", directory], user=65534, capture_output=True, text=True)
    assert done.returncode == 4
    assert "Permission denied" in done.stderr
    assert os.listdir(directory) == []


def test_a_full_disk_leaves_no_partial_files(eden_path, tmp_path):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = subprocess.run(
        [eden_path, "man", "--dir", tmp_path], capture_output=True, text=True,
        preexec_fn=small_files)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert os.listdir(tmp_path) == []


def test_everything_is_installed_next_to_the_program(eden_path, tmp_path):
    root = pathlib.Path(__file__).resolve().parents[2]
    subprocess.run(
        [root / "tools" / "install-manual", eden_path], check=True,
        env={"PATH": "/usr/bin:/bin", "MESON_INSTALL_DESTDIR_PREFIX": str(tmp_path)})
    for name in ("man/man1/eden.1", "man/man1/eden-render.1", "bash-completion/completions/eden",
                 "zsh/site-functions/_eden", "fish/vendor_completions.d/eden.fish"):
        assert (tmp_path / "share" / name).stat().st_size > 0
