"""What the documents promise exists: targets, commands, links."""

import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from ports import free_port  # noqa: E402

DOCUMENTS = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith("build") or part == "corpus" for part in path.relative_to(ROOT).parts)
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
PROMPT = re.compile(r"^(?:\$ )?(?:build/)?eden ")


def name_of(path):
    return str(path.relative_to(ROOT))


def commands_in(text):
    """(command line, following output) of every `eden ...` line in a plain code block.

            The output is None if the document shows none.
    """
    for language, block in BLOCK.findall(text):
        if language not in ("", "sh", "console"):
            continue
        lines = block.splitlines()
        for i, line in enumerate(lines):
            if not PROMPT.match(line):
                continue
            output = []
            for following in lines[i + 1 :]:
                if following == "" or following.startswith("$ ") or PROMPT.match(following):
                    break
                output.append(following)
            yield PROMPT.sub("", line), "\n".join(output) or None


def cases():
    examples = sorted(name_of(path) for path in (ROOT / "examples").rglob("README.md"))
    for name in ("README.md", "CONTRIBUTING.md", "docs/sites.md", "docs/language.md", *examples):
        for command, output in commands_in((ROOT / name).read_text()):
            yield pytest.param(command, output, id=f"{name}: eden {command}")


@pytest.fixture(scope="module")
def demo(eden_path, tmp_path_factory):
    """What `make demo` leaves in build/demo: the machine that the documents continue with."""
    place = tmp_path_factory.mktemp("demo")
    words = ["apply", "examples/shop", "--root", place, "--node", "web1", "--label", "role=web"]
    subprocess.run([eden_path, *words], cwd=ROOT, check=True, capture_output=True)
    return place


def without_times(text):
    return re.sub(r"in \d+\.\d+ s$", "in 0.01 s", text, flags=re.M)


@pytest.mark.parametrize("command, output", cases())
def test_shown_command_works(eden_path, demo, command, output):
    words = shlex.split(command.replace("build/demo", str(demo)), comments=True)
    done = subprocess.run(
        [eden_path, *words], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    if words[0] in ("plan", "apply", "owed", "validate"):  # they print more on standard error
        assert done.returncode == 0, done.stderr
        if output is not None:
            assert without_times(done.stdout).rstrip("\n") == output
        return
    if output is not None and output.startswith("error["):
        assert done.returncode == 1
        assert done.stderr.rstrip("\n") == output
        return
    assert done.stderr == ""
    assert done.returncode == 0
    if output is not None:
        assert done.stdout.rstrip("\n") == output


def test_a_command_and_its_output_are_recognized():
    text = "```\n$ eden eval 1\n1\n\n$ make x\n```\n```python\neden no\n```\n```\nbuild/eden help\n```\n"
    assert list(commands_in(text)) == [("eval 1", "1"), ("help", None)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_make_targets_named_exist(path):
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    text = path.read_text()
    code = "\n".join(block for _, block in BLOCK.findall(text))
    named = set(re.findall(r"`make ([a-z-]+)", text)) | set(
        re.findall(r"^(?:\$ )?make ([a-z-]+)", code, re.M)
    )
    assert named <= targets


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_have_targets(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (path.parent / target).exists(), target


def test_every_tool_is_described():
    text = (ROOT / "tools" / "README.md").read_text()
    for path in (ROOT / "tools").iterdir():
        assert path.name == "README.md" or f"`{path.name}`" in text, path.name


def test_every_document_is_listed():
    text = (ROOT / "docs" / "README.md").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert path.name == "README.md" or f"]({path.name})" in text, path.name


def test_readme_names_the_two_commands_ci_and_users_start_with():
    text = (ROOT / "README.md").read_text()
    assert "```\nmake demo\nmake test\n```" in text
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_readme_examples_run_as_written_after_the_demo():
    """Before `make install` there is only build/eden."""
    text = (ROOT / "README.md").read_text()
    assert "$ build/eden " in text
    assert "$ eden " not in text


def cluster_script():
    """A server and a node set up by hand, as one script that waits for a daemon like a reader
    would.
    """
    text = (ROOT / "docs/clusters.md").read_text()
    section = text.split("\n## A server and a node on one machine\n")[1].split("\n## ")[0]
    script = "".join(block for language, block in BLOCK.findall(section) if language == "bash")
    for name in ("s1", "web1"):
        look = f"build/eden nodes list $s1 2> /dev/null | grep -q '^{name} *alive '"
        wait = f"until {look}; do sleep 0.1; done"
        script, found = re.subn(rf"^(build/eden agent \${name} .*&)$", rf"\1\n{wait}", script,
                                flags=re.M)
        assert found == 1
    for port in ("2337", "2338"):
        script = script.replace(port, str(free_port()))
    return f"set -e\n{script}\nkill %1 %2\nwait"


def test_a_cluster_set_up_by_hand_starts(eden_path, tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build/eden").symlink_to(eden_path.resolve())
    process = subprocess.Popen(
        ["bash", "-c", cluster_script()], cwd=tmp_path, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        output, errors = process.communicate(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        logs = "".join(path.read_text() for path in (tmp_path / "build/blue").glob("*.log"))
    assert process.returncode == 0, errors + logs
    assert re.search(r"^web1 +alive ", output, re.M)
    assert "web1: role=web" in output
    assert re.search(r"^0 failed|^no problems found", output, re.M)


def test_the_recorded_session_matches_current_output(eden_path, tmp_path):
    """The picture in the README, drawn by `make docs`."""
    subprocess.run([ROOT / "tools/make-session", eden_path, tmp_path / "session.svg"], check=True)
    assert (tmp_path / "session.svg").read_text() == (ROOT / "docs/session.svg").read_text()


def test_the_temporary_cluster_of_the_readme_can_be_used(eden_path):
    section = (ROOT / "README.md").read_text().split("\n## A cluster\n")[1].split("\n## ")[0]
    start, use, *_ = (block for language, block in BLOCK.findall(section) if language == "text")
    assert start == "build/eden dev --nodes 5 --site examples/cluster\n"
    script = "set -e\n" + use.replace("build/eden", str(eden_path.resolve()))
    done = subprocess.run(
        [eden_path, *start.split()[1:], "--port", "0", "--", "bash", "-c", script], cwd=ROOT,
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^node5 +alive ", done.stdout, re.M), done.stdout
    assert "5 nodes: exited with 0" not in done.stdout and "Example: node4" in done.stdout
    assert "apply on node2: " in done.stdout


def versions_script(repository):
    """The commands of the page in their order, after a second commit; REF is the first version."""
    text = (ROOT / "docs/versions.md").read_text()
    commands = [line.split("#")[0].strip() for language, block in BLOCK.findall(text) for line in block.splitlines()
                if line.startswith("eden ")]
    assert len(commands) > 10
    git = f"git -C {repository} -c user.name=Ann -c user.email=ann@example.org"
    return "\n".join([
        "set -ex", "first=$(eden versions show -o 'jsonpath={.metadata.name}')",
        f"{git} commit --quiet --allow-empty --message second; echo x > {repository}/files/new",
        f"{git} add --all; {git} commit --quiet --message second; {git} branch next", "eden sources sync site",
        *(re.sub(r"\bREF\b", '"$first"', command) for command in commands)])


def test_the_commands_about_versions_work(eden_path, tmp_path):
    for name, text in (("jobs/base.yaml", "jobs: {'*': [{name: web}]}\n"), ("files/motd", "hello\n"),
                       ("jobs/web.yaml", "steps:\n- name: hello\n  test.ok:\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"],
                  ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    done = subprocess.run(
        [eden_path, "dev", "--nodes", "1", "--site", tmp_path, "--port", "0", "--", "bash", "-c",
         versions_script(tmp_path)],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, cwd=tmp_path)
    # A rollback holds the newest commit, and so does a pin.
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_block_can_be_copied():
    """Text after a command is a comment, and a prompt precedes only commands whose output is shown."""
    for path in (ROOT / "README.md", ROOT / "docs/clusters.md"):
        for language, block in BLOCK.findall(path.read_text()):
            lines = block.splitlines()
            assert not lines or not all(line.startswith("$ ") for line in lines), block
            for line in lines:
                if line.startswith(("eden ", "build/eden ", "systemctl ")):
                    assert "  " not in line.split("#")[0].rstrip(), line
