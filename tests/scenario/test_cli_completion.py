"""Completion in the real shells: what a user gets for the Tab key."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess

import pytest


@pytest.fixture(scope="module")
def path_with_eden(eden_path, tmp_path_factory):
    """A PATH in which the binary under test is named `eden`."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "eden").symlink_to(eden_path)
    return f"{folder}:/usr/bin:/bin"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder to complete files in."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "subdir").mkdir()
    (folder / "variables.yaml").write_text("a: 1\n")
    return folder


def need(shell):
    if shutil.which(shell) is None:
        pytest.fail(f"this test needs {shell}, which is not installed")


# --- bash: the function itself, then through readline -----------------------------------------


@pytest.fixture
def bash(path_with_eden, site):
    """What bash offers for a command line truncated at the cursor."""
    need("bash")

    def offers(line):
        words = re.split(r"[ ]|(=)", line)
        words = [word for word in words if word is not None]
        script = (
            'source <(eden completion bash)\n'
            'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n'
            '_eden; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", script, "bash", *words],
            env={"PATH": path_with_eden}, cwd=site, capture_output=True, text=True, timeout=30,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return offers


def test_bash_offers_commands(bash, eden):
    commands = [c["name"] for c in json.loads(eden("help", "-o", "json").stdout)["commands"]]
    assert bash("eden ") == commands
    assert bash("eden ren") == ["render"]
    assert bash("eden nonsense ") == []


def test_bash_offers_the_options_of_every_command(bash, eden):
    described = json.loads(eden("help", "-o", "json").stdout)
    for command in described["commands"]:
        expected = set()
        for option in command["options"] + described["common_options"]:
            expected |= {f"--{option['name']}"} | ({f"-{option['letter']}"} if option["letter"] else set())
        assert set(bash(f"eden {command['name']} -")) == expected


def test_bash_offers_choices_of_options_and_arguments(bash):
    assert bash("eden render --undefined ") == ["strict", "default", "chainable", "debug"]
    assert bash("eden render --undefined=ch") == ["chainable"]
    assert bash("eden convert x -o ") == ["json", "yaml"]
    assert bash("eden completion ") == ["bash", "zsh", "fish"]
    assert bash("eden render --undefined=") == ["strict", "default", "chainable", "debug"]


def test_bash_offers_topics_and_names(bash):
    assert bash("eden help exit") == ["exit-codes"]
    assert bash("eden help rend") == ["render"]
    assert bash("eden man rend") == ["render"]
    assert bash("eden explain E020") == [f"E020{i}" for i in range(1, 10)]
    assert "str.upper" in bash("eden explain str.")


# --- through a terminal ----------------------------------------------------------------------


class Terminal:
    """An interactive shell on a pseudo-terminal.

    The command `eden` is replaced by a function that prints its arguments in brackets, so that a
    line, completed with Tab and entered, shows how the shell parsed it.
    """

    def __init__(self, argv, env, cwd, setup):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(argv[0], argv, env)
        self.seen = b""
        # The marker is typed in two halves, so that its echo is not mistaken for its output.
        self.send(setup + "; printf '%s\\n' REA''DY\n")
        self.wait_for(rb"READY")

    def send(self, text):
        os.write(self.descriptor, text.encode())

    def wait_for(self, pattern):
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.descriptor], [], [], 30)
            assert ready, f"nothing more came after {self.seen[-2000:]!r}"
            try:
                self.seen += os.read(self.descriptor, 4096)
            except OSError:
                raise AssertionError(f"the shell ended after {self.seen[-2000:]!r}") from None
        self.seen = self.seen[found.end():]
        return found

    def complete(self, line):
        """The arguments after `line`, Tab, Enter."""
        self.send(line + "\t\n")
        return self.wait_for(rb"<<<(.*?)>>>")[1].decode()

    def close(self):
        os.close(self.descriptor)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def open_terminal(argv, path, cwd, setup):
    env = {"PATH": path, "HOME": str(cwd), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    return Terminal(argv, env, cwd, f"PS1='$ '; {setup}; {PRINT}")


PRINT = "eden() { printf '%s%s%s\\n' '<<' '<' \"$*>>>\"; }"
CASES = [
    ("eden ren", "render"),
    ("eden render --undef", "render --undefined"),
    ("eden render --undefined stri", "render --undefined strict"),
    ("eden render -o js", "render -o json"),
    ("eden render -v vari", "render -v variables.yaml"),
    ("eden render -t sub", "render -t subdir"),
    ("eden validate vari", "validate variables.yaml"),
    ("eden help exit", "help exit-codes"),
    ("eden explain dictso", "explain dictsort"),
    ("eden completion fi", "completion fish"),
    ("eden schema No", "schema Node"),
    ("eden config set ti", "config set title="),
    ("eden config -o json sh", "config -o json show"),
    ("eden modules sign --k", "modules sign --key"),
    ("eden modules sign --key vari", "modules sign --key variables.yaml"),
    ("eden modules sign --key=vari", "modules sign --key=variables.yaml"),
    ("eden vars get x sub", "vars get x subdir"),
    ("eden help backup veri", "help backup verify"),
]


@pytest.fixture(scope="module")
def bash_terminal(path_with_eden, site):
    need("bash")
    terminal = open_terminal(
        ["bash", "--norc", "--noprofile", "-i"], path_with_eden, site,
        "source <(command eden completion bash)")
    yield terminal
    terminal.close()


@pytest.fixture(scope="module")
def zsh_terminal(path_with_eden, site):
    need("zsh")
    terminal = open_terminal(
        ["zsh", "-f", "-i"], path_with_eden, site,
        "autoload -Uz compinit; compinit -u -D; source <(command eden completion zsh)")
    yield terminal
    terminal.close()


@pytest.mark.parametrize("line, expected", CASES)
def test_bash_completes_on_a_terminal(bash_terminal, line, expected):
    assert bash_terminal.complete(line).rstrip("/ ") == expected


@pytest.mark.parametrize("line, expected", CASES)
def test_zsh_completes_on_a_terminal(zsh_terminal, line, expected):
    assert zsh_terminal.complete(line).rstrip("/ ") == expected


def test_zsh_loads_it_from_a_folder_of_functions(eden, path_with_eden, site, tmp_path):
    need("zsh")
    (tmp_path / "_eden").write_text(eden("completion", "zsh").stdout)
    terminal = open_terminal(
        ["zsh", "-f", "-i"], path_with_eden, site,
        f"fpath+=({tmp_path}); autoload -Uz compinit; compinit -u -D")
    try:
        assert terminal.complete("eden ren").rstrip() == "render"
    finally:
        terminal.close()


# --- fish: completions can be queried -----------------------------------------------------------


@pytest.fixture
def fish(path_with_eden, site):
    """What fish offers for a command line truncated at the cursor."""
    need("fish")

    def offers(line):
        done = subprocess.run(
            ["fish", "--no-config", "-c",
             "source (eden completion fish | psub); complete -C $argv[1]", line],
            env={"PATH": path_with_eden, "HOME": str(site), "LC_ALL": "C.UTF-8"},
            cwd=site, capture_output=True, text=True, timeout=30,
        )
        assert done.stderr == ""
        return [offer.split("\t")[0].rstrip("/") for offer in done.stdout.splitlines()]

    return offers


@pytest.mark.parametrize("line, expected", CASES)
def test_fish_offers_the_same(fish, line, expected):
    assert expected.split()[-1] in fish(line)


def test_fish_completes_commands_once_and_no_files(fish, eden):
    commands = [c["name"] for c in json.loads(eden("help", "-o", "json").stdout)["commands"]]
    assert sorted(fish("eden ")) == sorted(commands)
    assert fish("eden version ") == []


def test_fish_offers_the_options_of_the_command_only(fish):
    assert "--undefined" in fish("eden render --")
    assert "--undefined" not in fish("eden help render --")


def test_an_unknown_shell_is_a_usage_error(eden):
    done = eden("completion", "csh")
    assert done.returncode == 64
    assert "takes bash|zsh|fish, not 'csh'" in done.stderr


def test_bash_offers_verbs_once(bash):
    assert bash("eden vars ") == ["get", "list", "why"]
    assert not {"get", "list", "why"} & set(bash("eden vars get "))


def test_bash_offers_the_options_of_the_verb(bash, eden):
    nodes = json.loads(eden("help", "nodes", "-o", "json").stdout)
    approve = set(bash("eden nodes approve --"))
    assert "--known-hosts" in approve and "--output" in approve and "--color" in approve
    assert "--watch" not in approve
    assert set(bash("eden nodes --")) >= {f"--{option['name']}" for option in nodes["options"]}
    assert "--watch" in bash("eden nodes -o json list --")


def test_bash_completes_after_options(bash):
    assert bash("eden complete -- li") == ["line"]
    assert bash("eden vars --label role=web --output=json w") == ["why"]
    assert bash("eden help nodes appr") == ["approve"]
    assert bash("eden vars list site x") == []


def test_bash_offers_facts(bash):
    assert "memory" in bash("eden facts mem")


def test_fish_describes_verbs_and_offers_the_options_of_one(fish):
    assert fish("eden cluster ") == ["check", "repair"]
    assert "--accept-loss" in fish("eden cluster repair --")
    assert "--accept-loss" not in fish("eden cluster check --")


def test_fish_offers_verbs_once(fish):
    assert not {"get", "list", "why"} & set(fish("eden vars get "))
    assert "memory" in fish("eden facts mem")
