"""tools/with-empty-homes, in which CI runs everything."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "with-empty-homes"


@pytest.fixture
def project(tmp_path):
    """A project below one of the hidden directories."""
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    (tmp_path / "file").write_text("here")
    return tmp_path


def run(project, script, prefix=(), **environment):
    return subprocess.run(
        [*prefix, project / "tools" / "with-empty-homes", "sh", "-c", script],
        env={"PATH": os.environ["PATH"], **environment}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_homes_are_empty_and_the_project_stays(project):
    assert str(project).startswith("/tmp/"), "the project has to lie where things are hidden"
    with tempfile.NamedTemporaryFile(dir="/var/tmp"):
        done = run(project, f"pwd; cat {project}/file; ls -A /root /home /var/tmp;"
                            " stat -c '%a' /tmp /var/tmp; touch made /tmp/gone; echo $HOME",
                   HOME="/nonexistent")  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == f"{project}\nhere/home:\n\n/root:\n\n/var/tmp:\n1777\n1777\n/root\n"
    assert (project / "made").exists() and not os.path.exists("/tmp/gone")


def test_download_settings_are_kept(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "ca.pem").write_text("certificate")
    (elsewhere / ".npmrc").write_text("settings")
    (elsewhere / "cache").mkdir()
    done = run(project, "cat $NODE_EXTRA_CA_CERTS ~/.npmrc; test -w $EDEN_LAB_CACHE; "
                        f"echo; ls -A {elsewhere} | sort; stat -c %a ~/.npmrc",
               HOME=str(elsewhere), NODE_EXTRA_CA_CERTS=str(elsewhere / "ca.pem"),
               EDEN_LAB_CACHE=str(elsewhere / "cache"))  # fmt: skip
    assert (done.stdout, done.stderr) == ("certificatesettings\nca.pem\ncache\n600\n", "")


def test_exit_code_is_that_of_the_command(project):
    assert run(project, "exit 7").returncode == 7


@pytest.mark.parametrize("dropped, reason", [
    ([], "needs root privileges, to mount"),
    (["--bounding-set=-all", "--inh-caps=-all"], "cannot create a mount namespace"),
])  # fmt: skip
def test_without_permission_to_mount_the_reason_is_shown(project, dropped, reason):
    os.chmod(project, 0o755)
    who = ["setpriv", *(dropped or ["--reuid=65534", "--clear-groups"])]
    for folder in project.parents[:2]:
        folder.chmod(0o711)
    done = run(project, "echo ran", who)
    assert done.returncode == 1 and done.stdout == ""
    assert reason in done.stderr
