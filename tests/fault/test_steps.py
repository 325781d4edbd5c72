"""Faults while steps run: the reason is reported, dependents are blocked, the others continue."""

import contextlib
import json
import os
import pathlib
import select
import signal
import subprocess

import pytest

from world import ORDERS, make_shell


LIMIT = 120  # seconds to wait for a run


class Site:
    """Steps in a separate root that has a shell."""

    def __init__(self, eden, folder, prefix):
        self.started = []
        self.eden = eden
        self.prefix = prefix
        self.folder = folder
        self.root = folder / "root"
        self.root.mkdir()
        self.state = folder / "state"
        make_shell(self.root)

    def command_at(self, path, *options):
        return [*self.prefix, self.eden, "apply", path, "--root", self.root, "--state-dir",
                self.state, "--config-dir", self.folder / "none", *options]  # fmt: skip

    def command(self, steps, *options):
        file = self.folder / "steps.yaml"
        file.write_text(json.dumps({"steps": steps}))
        return self.command_at(file, *options)

    def start(self, steps, *options):
        """As a subprocess.Popen; killed with its children at the end of the test, if it still runs.
        """
        self.started.append(subprocess.Popen(
            self.command(steps, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True))  # fmt: skip
        return self.started[-1]

    def finish(self, running):
        """Its stdout and stderr until it exits."""
        return running.communicate(timeout=LIMIT)

    def close(self):
        for running in self.started:
            running.kill()
            running.communicate()
        # Commands run in separate process groups; they are identified by their root.
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(entry / "root") == str(self.root):
                    os.kill(int(entry.name), signal.SIGKILL)

    def text(self, steps, *options):
        return subprocess.run(self.command(steps, *options), capture_output=True, text=True)

    def apply(self, steps, *options):
        """The exit code and the steps of the report by name."""
        return self.report(self.command(steps, *options))

    def apply_site(self, folder, *options):
        return self.report(self.command_at(folder, *options))

    def report(self, command):
        done = subprocess.run([*command, "-o", "json", "--progress", "none"],
                              capture_output=True, text=True)  # fmt: skip
        assert done.stdout, done.stderr
        report = json.loads(done.stdout)
        assert report["format"] == "eden.run/1", report
        return done.returncode, {step["name"]: step for step in report["steps"]}

    def pipe(self, name):
        """A named pipe in the root: opening it for reading or writing blocks until the other side
        opens it.
        """
        os.mkfifo(self.root / name)
        return self.root / name

    def read_line(self, pipe):
        """The line that a step writes into a pipe."""
        descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert select.select([descriptor], [], [], LIMIT)[0], f"nothing was written to {pipe}"
            return os.read(descriptor, 100).decode()
        finally:
            os.close(descriptor)

    def read(self, name):
        return (self.root / name).read_text()


@pytest.fixture
def site(eden_path, privileged, tmp_path):
    site = Site(eden_path, tmp_path, privileged)
    yield site
    site.close()


def command(name, text, **more):
    return {"name": name, "cmd.run": [{"cmd": text}], **more}


def results(steps):
    return {name: step["result"] for name, step in steps.items()}


# --- Faults -----------------------------------------------------------------------------------

FAULTS = {
    "missing user": (
        {"file.managed": [{"name": "/a"}, {"content": "x"}, {"owner": "nobody-here"}]},
        "nobody-here",
    ),
    "missing user of a command": (
        {"cmd.run": [{"cmd": "true"}, {"user": "nobody-here"}]},
        "nobody-here",
    ),
    "a file in the way": ({"file.managed": [{"name": "/bin/sh/a"}, {"content": "x"}]}, "/bin/sh"),
    "a directory in the way": ({"file.managed": [{"name": "/bin"}, {"content": "x"}]}, "/bin"),
    "killed": ({"cmd.run": [{"cmd": "kill -9 $$"}]}, "SIGKILL"),
    "crashed": ({"cmd.run": [{"cmd": "kill -SEGV $$"}]}, "SIGSEGV"),
    "exit code": ({"cmd.run": [{"cmd": "echo no >&2; exit 7"}]}, "7"),
    "no such program": ({"cmd.run": [{"cmd": ["/bin/none"]}]}, "/bin/none"),
    "validation": (
        {"file.managed": [{"name": "/a"}, {"content": "x"}, {"validate": "false"}]},
        "",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_its_step_blocks_dependents_and_the_rest_continues(site, fault):
    action, reason = FAULTS[fault]
    code, steps = site.apply([
        {"name": "fault", **action},
        {"name": "needs it", "test.ok": [], "require": [{"step": "fault"}]},
        {"name": "watches it", "test.ok": [], "watch": [{"step": "fault"}]},
        {"name": "instead", "test.ok": [], "onfail": [{"step": "fault"}]},
        {"name": "rest", "test.changed": []},
    ])  # fmt: skip
    assert code == 1
    assert results(steps) == {"fault": "failed", "needs it": "blocked", "watches it": "blocked",
                              "instead": "ok", "rest": "changed"}  # fmt: skip
    assert reason in steps["fault"]["error"]["message"]
    assert steps["fault"]["error"]["line"] == 1
    assert not (site.root / "a").exists()


READ_ONLY = """
set -e
mount -t tmpfs tmpfs "$1/root/locked"
echo old > "$1/root/locked/file"
mount -o remount,ro "$1/root/locked"
shift
exec "$@"
"""


def test_a_read_only_file_system_is_reported_as_the_reason(site):
    (site.root / "locked").mkdir()
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*unshare, "true"]).returncode != 0:
        pytest.fail("this test needs user and mount namespaces (unshare --user --mount)")
    file = {"file.managed": [{"name": "/locked/file"}, {"content": "new"}]}
    apply = site.command([{"name": "file", **file}, {"name": "rest", "test.ok": []}],
                         "-o", "json", "--progress", "none")  # fmt: skip
    done = subprocess.run([*unshare, "sh", "-c", READ_ONLY, "sh", site.folder, *apply],
                          capture_output=True, text=True)  # fmt: skip
    steps = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
    assert done.returncode == 1
    assert results(steps) == {"file": "failed", "rest": "ok"}
    assert "Read-only file system" in steps["file"]["error"]["message"]


def test_a_timeout_kills_everything_the_command_started(site):
    """The pipe reaches its end only when no process has it open any more."""
    held = site.pipe("held")
    holder = "exec 3> /held; (trap '' TERM; read x < /never) & trap '' TERM; read x < /never"
    site.pipe("never")
    limited = command("slow", holder)
    limited["cmd.run"].append({"timeout": "100ms"})
    running = site.start([limited, {"name": "rest", "test.ok": []}], "-o", "json")
    with open(held) as pipe:
        assert pipe.read() == ""
    out, _ = site.finish(running)
    steps = {step["name"]: step for step in json.loads(out)["steps"]}
    assert running.returncode == 1
    assert results(steps) == {"slow": "failed", "rest": "ok"}
    assert "timed out after 0.1 s" in steps["slow"]["error"]["message"]


def test_the_timeout_of_a_step_kills_its_command(site):
    site.pipe("never")
    slow = command("slow", "read x < /never", runOptions={"timeout": "50ms"})
    code, steps = site.apply([slow])
    assert (code, steps["slow"]["result"]) == (1, "failed")


# --- Interrupts and locks ---------------------------------------------------------------------

# Reports that it runs, then waits for the signal to continue.
GATE = "echo running > /started; read x < /go"


def interrupted(site, count, order="ansible"):
    """A run interrupted `count` times while its first step is running."""
    started, go = site.pipe("started"), site.pipe("go")
    running = site.start([
        command("gate", GATE),
        {"name": "second", "file.managed": [{"name": "/second"}, {"content": "x"}],
         "require": [{"step": "gate"}]},
        {"name": "third", "test.changed": [], "require": [{"step": "second"}]},
    ], "--order", order)  # fmt: skip
    assert site.read_line(started) == "running\n"
    for _ in range(count):
        running.send_signal(signal.SIGINT)
        # Equal signals are merged while they are pending.
        while pending(running.pid):
            os.sched_yield()
    if count == 1:
        go.write_text("\n")
    out, err = site.finish(running)
    return running.returncode, out, err


def pending(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("ShdPnd:"):
            return int(line.split()[1], 16) & 1 << (signal.SIGINT - 1)
    return 0


@pytest.mark.parametrize("order", ORDERS)
def test_interrupted_once_a_run_stops_between_steps_and_lists_the_rest(site, order):
    code, out, _ = interrupted(site, 1, order)
    assert code == 130
    assert "changed  steps#gate" in out
    assert "2 steps did not start" in out and "steps#second" in out and "steps#third" in out
    assert not (site.root / "second").exists()


def test_interrupted_twice_a_run_stops_running_steps_too(site):
    code, out, _ = interrupted(site, 2)
    assert code == 130
    assert "failed   steps#gate" in out and "canceled" in out
    assert not (site.root / "second").exists()


def test_an_interrupted_run_owes_pending_reactions(site):
    started, go = site.pipe("started"), site.pipe("go")
    steps = [
        {"name": "file", "file.managed": [{"name": "/file"}, {"content": "x"}]},
        command("gate", GATE),
        command("reaction", "echo reacted >> /log", onchanges=[{"step": "file"}]),
    ]
    running = site.start(steps)
    assert site.read_line(started) == "running\n"
    running.send_signal(signal.SIGINT)
    while pending(running.pid):
        os.sched_yield()
    go.write_text("\n")
    out, _ = site.finish(running)
    assert running.returncode == 130
    assert "owed     steps#reaction" in out
    code, after = site.apply([steps[0], steps[2]])
    assert (code, results(after)) == (0, {"file": "ok", "reaction": "changed"})
    assert site.read("log") == "reacted\n"


def test_a_second_apply_shows_the_lock_holder(site):
    started, go = site.pipe("started"), site.pipe("go")
    steps = [command("gate", GATE)]
    running = site.start(steps)
    assert site.read_line(started) == "running\n"
    second = site.text(steps)
    assert second.returncode == 5
    assert "another run is in progress" in second.stderr
    assert f"pid {running.pid}" in second.stderr or site.prefix
    go.write_text("\n")
    site.finish(running)
    assert running.returncode == 0


# --- Waiting and repeating --------------------------------------------------------------------


# Counts in $n how often it ran.
COUNT = "echo x >> /tries; n=0; while read x; do n=$((n+1)); done < /tries; "


def test_a_condition_is_evaluated_again_until_true(site):
    """The macro is a command that counts how often it was evaluated."""
    folder = site.folder / "site"
    for name, text in {
        "macros/base.yaml": "macros: {'*': [{name: ask}]}",
        "macros/ask.yaml": json.dumps(
            {"asked": {"action": "cmd.run", "memo": False,
                       "parameters": [{"cmd": COUNT + "echo $n"}]}}),
        "jobs/base.yaml": "jobs: {'*': [{name: work}]}",
        "jobs/work.yaml": json.dumps({"steps": [
            {"name": "later", "test.changed": [], "conditions": {"when": {
                "condition": "macros['asked'] == '3'", "retry": {"interval": "1ms"}}}}]}),
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    code, steps = site.apply_site(folder)
    assert (code, steps["later"]["result"]) == (0, "changed")
    assert site.read("tries") == "x\n" * 3


def never(**more):
    return {"name": "later", "test.changed": [],
            "conditions": {"when": {"condition": "1 == 2", **more}}}  # fmt: skip


def test_a_condition_that_never_holds_fails_after_its_last_attempt(site):
    after = {"name": "after", "test.ok": [], "require": [{"step": "later"}]}
    code, steps = site.apply([never(retry={"interval": "1ms", "limit": 3}), after])
    assert (code, results(steps)) == (1, {"later": "failed", "after": "blocked"})
    assert "4 attempts" in steps["later"]["error"]["message"]


def test_without_retry_a_false_condition_skips(site):
    code, steps = site.apply([never(), {"name": "after", "test.ok": [],
                                        "require": [{"step": "later"}]}])  # fmt: skip
    assert (code, results(steps)) == (0, {"later": "skipped", "after": "ok"})


@pytest.mark.parametrize("order", ORDERS)
def test_steps_waiting_at_max_wait_and_their_dependents_are_waiting(site, order):
    code, steps = site.apply([
        never(retry={"interval": "1ms", "limit": 0}),
        {"name": "after", "test.ok": [], "require": [{"step": "later"}]},
        {"name": "rest", "test.ok": []},
    ], "--max-wait", "20ms", "--order", order)  # fmt: skip
    assert (code, results(steps)) == (124, {"later": "waiting", "after": "waiting", "rest": "ok"})


def test_an_action_that_fails_is_repeated(site):
    retry = {"retry": {"interval": "1ms", "limit": 5}}
    code, steps = site.apply([command("again", COUNT + "[ $n -ge 3 ]", runOptions=retry)])
    assert (code, steps["again"]["result"], steps["again"]["tries"]) == (0, "changed", 3)
    assert site.read("tries") == "x\n" * 3


def test_an_action_is_repeated_up_to_its_limit(site):
    retry = {"retry": {"interval": "1ms", "limit": 2}}
    code, steps = site.apply([command("again", COUNT + "exit 9", runOptions=retry)])
    assert (code, steps["again"]["result"], steps["again"]["tries"]) == (1, "failed", 3)
    assert site.read("tries") == "x\n" * 3


def test_an_action_is_repeated_until_its_own_result_is_accepted(site):
    retry = {"retry": {"interval": "1ms", "limit": 9, "until": "step.StdOut == '4'"}}
    code, steps = site.apply([command("again", COUNT + "echo $n", runOptions=retry)])
    assert (code, steps["again"]["stdout"], steps["again"]["tries"]) == (0, "4\n", 4)


def test_an_action_whose_until_never_becomes_true_fails(site):
    retry = {"retry": {"interval": "1ms", "limit": 2, "until": "step.StdOut == 'never'"}}
    code, steps = site.apply([command("again", COUNT + "echo $n", runOptions=retry)])
    assert (code, steps["again"]["result"]) == (1, "failed")
    assert "'until' is still false after 3 attempts" in steps["again"]["error"]["message"]


def test_success_judges_the_steps_own_result_and_a_change_is_still_owed(site):
    steps = [
        {"name": "file", "file.managed": [{"name": "/file"}, {"content": "x"}],
         "conditions": {"success": {"condition": "step.Changed == vars.fine"}}},
        command("reaction", "echo reacted >> /log", onchanges=[{"step": "file"}]),
    ]  # fmt: skip
    code, after = site.apply(steps, "-D", "fine:=false")
    assert (code, results(after)) == (1, {"file": "failed", "reaction": "skipped"})
    code, after = site.apply(steps, "-D", "fine:=false")
    assert (code, results(after)) == (0, {"file": "ok", "reaction": "changed"})
    code, after = site.apply(steps, "-D", "fine:=false")
    assert (code, results(after)) == (0, {"file": "ok", "reaction": "skipped"})
    assert site.read("log") == "reacted\n"


def test_success_with_retry_does_not_repeat_the_action(site):
    step = command("once", "echo x >> /tries")
    step["conditions"] = {"success": {"condition": "1 == 2",
                                      "retry": {"interval": "1ms", "limit": 3}}}  # fmt: skip
    code, steps = site.apply([step])
    assert (code, steps["once"]["result"], steps["once"]["tries"]) == (1, "failed", 1)
    assert site.read("tries") == "x\n"


def test_continue_is_evaluated_after_success(site):
    step = {"name": "gate", "test.ok": [], "conditions": {"continue": {"condition": "1 == 2"}}}
    code, steps = site.apply([step, {"name": "after", "test.ok": [],
                                     "require": [{"step": "gate"}]}])  # fmt: skip
    assert (code, results(steps)) == (1, {"gate": "failed", "after": "blocked"})
    assert "continue" in steps["gate"]["error"]["message"]


# --- Values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_results_of_earlier_steps_are_variables(site, order):
    ask = command("ask", "echo forty; echo two >&2")
    file = "{{ steps['ask'].StdOut }}{{ steps['ask'].RawStdErr }}{{ steps['ask'].ExitCode }}"
    code, steps = site.apply([
        ask,
        {"name": "tell", "file.managed": [{"name": "/told"}, {"content": file}]},
        {"name": "changed", "test.ok": [],
         "conditions": {"when": {"condition": "steps['tell'].Changed"}}},
    ], "--order", order)  # fmt: skip
    assert (code, results(steps)) == (0, {"ask": "changed", "tell": "changed", "changed": "ok"})
    assert site.read("told") == "fortytwo\n0"


def test_for_each_creates_one_step_per_item(site):
    code, steps = site.apply([
        {"name": "files", "forEach": {"one": 1, "two": 2},
         "file.managed": [{"name": "/{{ item.key }}"}, {"content": "{{ item.value }}"}]},
        {"name": "after", "require": [{"step": "files"}],
         "file.managed": [{"name": "/after"},
                          {"content": "{{ steps['files'].items | length }}"}]},
    ])  # fmt: skip
    assert (code, results(steps)) == (
        0, {"files[one]": "changed", "files[two]": "changed", "after": "changed"},
    )  # fmt: skip
    assert [site.read(name) for name in ("one", "two", "after")] == ["1", "2", "2"]


def test_a_change_is_new_intent_or_drift(site):
    def cause(content):
        _, steps = site.apply([{"name": "file", "file.managed": [{"name": "/file"},
                                                                 {"content": content}]}])  # fmt: skip
        return steps["file"]["cause"]

    assert cause("one") == "new"
    assert cause("one") is None
    (site.root / "file").write_text("moved")
    assert cause("one") == "drift"
    assert site.read("file") == "one"
    assert cause("two") == "intent"


# --- Exit codes -------------------------------------------------------------------------------

CODES = [
    (["test.ok"], 0, 0),
    (["test.changed"], 0, 2),
    (["test.failed"], 1, 1),
    (["test.changed", "test.failed"], 1, 6),
]


@pytest.mark.parametrize(("actions", "plain", "detailed"), CODES)
def test_detailed_exit_codes_report_changes(site, actions, plain, detailed):
    steps = [{"name": action, action: []} for action in actions]
    assert site.apply(steps)[0] == plain
    assert site.apply(steps, "--detailed-exitcode")[0] == detailed


def test_the_exit_code_shows_that_nothing_matched_this_node(site):
    folder = site.folder / "site" / "jobs"
    folder.mkdir(parents=True)
    (folder / "base.yaml").write_text("jobs:\n  'elsewhere': [{name: web}]\n")
    (folder / "web.yaml").write_text("steps: [{name: one, test.ok: }]\n")
    done = subprocess.run(site.command_at(folder.parent, "--node", "here"),
                          capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert "no step" in done.stderr


# --- Plans ------------------------------------------------------------------------------------


def test_a_saved_plan_uses_the_state_directory_it_was_made_for(site):
    """Not one of this machine's directories: an empty one is mounted over it."""
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    lay = 'mount -t tmpfs tmpfs /var/lib && "$@" && ls /var/lib'
    if subprocess.run([*unshare, "sh", "-c", lay, "sh", "true"]).returncode != 0:
        pytest.fail("this test needs user and mount namespaces (unshare --user --mount)")
    file = {"name": "file", "file.managed": [{"name": "/file"}, {"content": "x"}]}
    apply = site.command([file], "--out", site.folder / "saved.plan")
    plan = ["plan" if word == "apply" else word for word in apply]
    subprocess.run(plan, check=True, capture_output=True)
    done = subprocess.run([*unshare, "sh", "-c", lay, "sh", site.eden, "apply",
                           site.folder / "saved.plan", "--progress", "none", "-o", "json"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert site.read("file") == "x"
    assert done.stdout.strip().endswith("}"), "something was written to /var/lib"
    assert (site.state / "journal").exists()
