"""The events of a run in a file, for the agent: complete, in order, and without secrets, however
the process that writes them ends."""

import fcntl
import json
import os
import random
import struct
import subprocess

import pytest
from events import wait_until

SECRET = "c4n4ry-hunter2"


def steps(*rows):
    return json.dumps({"steps": list(rows)})


def command(*words, **more):
    return {"name": words[-1], "cmd.run": {"cmd": " ".join(words)}, **more}


class Runner:
    """Runs a file of steps as the agent does."""

    def __init__(self, eden, eden_path, path):
        self.eden, self.eden_path, self.path = eden, eden_path, path
        self.events_path = path / "events"

    def args(self, *words, verb="apply", run="r1"):
        return [verb, "steps.yaml", "--state-dir", "state", "--config-dir", "none", "--node", "n1",
                "--run-id", run, "--events", "events", "--site-version", "4e5a", *words]

    def put(self, *rows):
        (self.path / "steps.yaml").write_text(steps(*rows))

    def run(self, *words, **more):
        return self.eden(*self.args(*words, **more))

    def start(self, **env):
        return subprocess.Popen([self.eden_path, *self.args()], cwd=self.path, text=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                env={"PATH": os.environ["PATH"], **env})

    def lines(self):
        return [json.loads(line) for line in self.events_path.read_bytes().splitlines()]

    def names(self):
        return [line["event"] for line in self.lines()]


@pytest.fixture
def runner(eden, eden_path, tmp_path):
    return Runner(eden, eden_path, tmp_path)


def numbered(lines):
    return [line["n"] for line in lines] == list(range(1, len(lines) + 1))


def test_a_run_is_reported_from_start_to_end(runner):
    runner.put(command("echo", "one"), command("exit 3"),
               {"name": "last", "test.ok": [], "require": [{"step": "exit 3"}]})
    assert runner.run().returncode == 1
    lines = runner.lines()
    assert numbered(lines)
    assert runner.names() == ["begin", "start", "step", "start", "step", "step", "end"]
    begin, end = lines[0], lines[-1]
    assert (begin["run"], begin["node"], begin["version"]) == ("r1", "n1", "4e5a")
    assert (begin["attempt"], begin["resumed"], begin["mode"]) == (1, False, "apply")
    assert begin["steps"] == ["steps#one", "steps#exit 3", "steps#last"]
    assert lines[2]["step"] == "steps#one" and lines[2]["stdout"] == "one\n"
    assert [line["result"] for line in lines if line["event"] == "step"] == \
        ["changed", "failed", "blocked"]
    assert (end["result"], end["exit_code"], len(end["digest"])) == ("failed", 1, 16)
    assert end["failure"]["step"] == "steps#exit 3" and end["failure"]["code"] == "E0601"
    assert end["counts"]["changed"] == 1 and end["counts"]["blocked"] == 1
    assert runner.events_path.stat().st_mode & 0o077 == 0


def test_the_record_of_the_run_has_its_id(runner):
    runner.put(command("true"))
    assert runner.run(run="20260131T081530.250-3f2a").returncode == 0
    why = runner.eden("why", "steps#true", "--state-dir", "state", "-o", "json")
    assert "20260131T081530.250-3f2a" in why.stdout


def test_equal_plans_have_equal_digests(runner):
    runner.put({"name": "f", "file.managed": {"name": str(runner.path / "f"), "content": "x"}})
    assert runner.run(verb="plan").returncode == 0
    assert runner.run(verb="plan").returncode == 0
    ends = [line for line in runner.lines() if line["event"] == "end"]
    assert ends[0]["digest"] == ends[1]["digest"] != ""
    assert runner.run().returncode == 0
    assert runner.run(verb="plan").returncode == 0
    assert runner.lines()[-1]["digest"] == ""


def test_a_killed_run_continues_its_numbers(runner):
    """Killed between any two events, with a line torn as after a power failure."""
    rng = random.Random(1)
    runner.put(*(command("echo", str(i)) for i in range(30)))
    for attempt in range(1, 6):
        size = runner.events_path.stat().st_size if runner.events_path.exists() else 0
        process = runner.start()
        wanted = size + rng.randrange(200, 4000)
        wait_until(lambda: process.poll() is not None or
                   (runner.events_path.exists() and runner.events_path.stat().st_size > wanted),
                   "some events")
        process.kill()
        process.communicate()
        with runner.events_path.open("ab") as file:
            file.write(b'{"n":7,"at_m')
    assert runner.run().returncode == 0
    lines = runner.lines()
    assert numbered(lines)
    begins = [line for line in lines if line["event"] == "begin"]
    assert [line["attempt"] for line in begins] == list(range(1, len(begins) + 1))
    assert begins[-1]["resumed"] and lines[-1]["event"] == "end"


def test_a_killed_run_shows_which_step_ran(runner):
    gate = runner.path / "gate"
    os.mkfifo(gate)
    runner.put(command("echo", "before"), {"name": "held", "cmd.run": {"cmd": f"read x < {gate}"}})
    process = runner.start()
    wait_until(lambda: runner.events_path.exists() and "held" in runner.events_path.read_text()
               and runner.names()[-1] == "start", "the held step")
    process.kill()
    process.communicate()
    assert runner.names() == ["begin", "start", "step", "start"]
    assert runner.lines()[-1]["step"] == "steps#held"


def test_a_run_that_cannot_begin_reports_the_reason(runner):
    (runner.path / "steps.yaml").write_text("steps: [{name: x, no.such: []}]\n")
    assert runner.run().returncode == 1
    begin, end = runner.lines()
    assert (begin["step_count"], end["result"], end["exit_code"]) == (0, "failed", 1)
    assert end["failure"]["code"] == end["problems"][0]["code"]
    assert end["problems"][0]["file"] == "steps.yaml" and end["problems"][0]["line"] == 1


def test_a_site_without_steps_for_the_node_is_skipped(runner):
    (runner.path / "steps.yaml").write_text("steps: []\n")
    assert runner.run().returncode == 3
    end = runner.lines()[-1]
    assert (end["event"], end["result"], end["exit_code"]) == ("end", "skipped", 3)


def test_while_another_run_holds_the_lock_there_are_no_events(runner):
    runner.put(command("true"))
    assert runner.run().returncode == 0
    before = runner.events_path.read_bytes()
    with (runner.path / "state/lock").open("r+") as lock:
        fcntl.fcntl(lock, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
        done = runner.run()
    assert done.returncode == 5 and "E0701" in done.stderr
    assert runner.events_path.read_bytes() == before


def test_events_of_another_run_are_rejected(runner):
    runner.put(command("true"))
    assert runner.run().returncode == 0
    done = runner.run(run="r2")
    assert done.returncode == 5 and "'r1'" in done.stderr
    assert runner.run("--try", run="bad/id").returncode == 64
    assert runner.eden("apply", "steps.yaml", "--run-id", "r1").returncode == 64


def test_the_options_are_not_documented(eden):
    for text in (eden("apply", "--help").stdout, eden("man", "apply").stdout,
                 eden("help", "-o", "json").stdout):
        assert "--run-id" not in text and '"run-id"' not in text


def test_long_texts_are_truncated_and_lines_stay_short(runner):
    runner.put(command("head -c 300000 /dev/zero | tr '\\0' '\\1'; head -c 300000 /dev/zero | "
                       "tr '\\0' y >&2"),
               {"name": "many", "test.step": {"stdout": "é" * 20000}})
    assert runner.run().returncode == 0
    raw = runner.events_path.read_bytes().splitlines()
    assert all(len(line) <= 128 << 10 for line in raw)
    first, second = [line for line in runner.lines() if line["event"] == "step"]
    assert first["cut"] and first["stdout"] and set(first["stdout"]) == {"\x01"}
    assert second["cut"] and second["stdout"] == "é" * (16384 // 2)


def test_many_steps_are_listed_in_several_events(runner):
    runner.put(*({"name": f"{i:04} " + "x" * 190, "test.ok": []} for i in range(1200)))
    assert runner.run().returncode == 0
    lines = runner.lines()
    assert numbered(lines) and lines[0]["step_count"] == 1200
    named = [step for line in lines if line["event"] in ("begin", "steps") for step in line["steps"]]
    assert len(named) == len(set(named)) == 1200
    assert all(len(line) <= 128 << 10 for line in runner.events_path.read_bytes().splitlines())


def test_a_waiting_step_reports_what_it_waits_for(runner):
    runner.put({"name": "w", "test.ok": [],
                "conditions": {"when": {"condition": "false", "retry": {"interval": "1ms", "limit": 20}}}})
    assert runner.run().returncode == 1
    waits = [line for line in runner.lines() if line["event"] == "wait"]
    assert len(waits) == 1  # not one for each attempt
    assert waits[0]["step"] == "steps#w" and "false" in waits[0]["reason"] and waits[0]["until_ms"]


def test_secrets_are_in_no_event(runner):
    (runner.path / "vars.yaml").write_text(f"pw: !secret {SECRET}\n")
    runner.put(command("echo {{ vars.pw }}; echo {{ vars.pw }} >&2; exit 3", name="out"),
               {"name": "message", "test.failed": {"message": "x {{ vars.pw }} y"}},
               {"name": "file", "file.managed": {"name": str(runner.path / "f"),
                                                 "content": "a {{ vars.pw }}\n"}},
               {"name": f"named {SECRET}", "test.ok": []})
    runner.run("-v", "vars.yaml")
    assert SECRET not in runner.events_path.read_text()
    assert "(secret)" in runner.events_path.read_text()


FULL = """
set -e
mount -t tmpfs -o size=1m tmpfs events-disk
cd events-disk
full() { head -c 4m /dev/zero > filler 2>/dev/null || true; }
full
"$1" apply ../steps.yaml --state-dir ../state --config-dir none --run-id r1 --events events \
    >../out 2>../err && exit 90
rm filler
echo "refused $(wc -c < events)"
"$1" apply ../steps.yaml --state-dir ../state --config-dir none --run-id r1 --events events -D fill=1 \
    >../out 2>../err2
cp events ..
"""


def test_on_a_full_disk_a_run_does_not_begin_or_continues(runner, eden_path, tmp_path):
    """Nothing is done that could not be reported; but what has begun is completed."""
    (tmp_path / "events-disk").mkdir()
    fill = f"head -c 4m /dev/zero > {tmp_path}/events-disk/filler 2>/dev/null; true"
    runner.put(command("echo", "first"), command(fill), command(f"touch {tmp_path}/done"),
               *(command(f"echo {i}; head -c 60000 /dev/zero | tr '\\0' x") for i in range(4)))
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run([*unshare, "sh", "-c", FULL, "sh", eden_path], cwd=tmp_path,
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No space left" in (tmp_path / "err").read_text()
    assert "refused 0" in done.stdout
    assert (tmp_path / "done").exists()
    lines = runner.lines()
    assert numbered(lines) and lines[-1]["event"] == "end" and lines[-1]["lost"] > 0
    assert lines[-1]["counts"]["changed"] == 7
    assert "run events were lost" in (tmp_path / "err2").read_text()
