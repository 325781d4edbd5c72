"""Modules of a site run if they are trusted, exactly as signed, and within limits."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "extensions"

# Responds as the step requests; leaves a mark whenever it runs at all.
PROBE = """#!/bin/sh
touch {mark}
request=$(cat)
case $request in
*'"op":"describe"'*) cat <<'END'
{description}
END
exit ;;
esac
{body}
"""


def describe(**action):
    return {
        "format": "eden.module/1",
        "help": "A probe.",
        "id_param": "name",
        "actions": {"act": {
            "help": "Does as it is told.",
            "roots": True,
            "params": {"name": {"kind": "string", "help": "any"},
                       "how": {"kind": "string", "help": "any"}},
            **action}},
    }


class Site:
    """A site with modules, a node that trusts a key, and a root to work on."""

    def __init__(self, eden, path):
        self.run, self.path = eden, path
        self.site, self.etc, self.root = path / "site", path / "etc", path / "root"
        for folder in (self.site / "modules", self.etc / "trusted-keys", self.root / "etc"):
            folder.mkdir(parents=True)
        for folder in (self.etc, self.etc / "trusted-keys"):
            folder.chmod(0o755)
        self.mark = path / "ran"
        self.keygen("key")
        self.trust("key")

    def keygen(self, name):
        done = self.run("modules", "keygen", self.path / name)
        assert done.returncode == 0, done.stderr

    def trust(self, name):
        shutil.copy(self.path / f"{name}.pub", self.etc / "trusted-keys")

    def sign(self, *names, key="key"):
        done = self.run("modules", "sign", "--key", self.path / key,
                        *(self.site / "modules" / name for name in names))
        assert done.returncode == 0, done.stderr

    def probe(self, name="probe", body="echo '{\"changed\": false}'", description=None):
        text = PROBE.format(mark=self.mark, body=body,
                            description=json.dumps(description or describe()))
        (self.site / "modules" / name).write_text(text)

    def steps(self, *steps):
        (self.site / "steps.yaml").write_text(json.dumps({"steps": list(steps)}))

    def eden(self, command, *options, **more):
        return self.run(command, self.site / "steps.yaml", "--root", self.root,
                        "--config-dir", self.etc, "--state-dir", self.path / "state",
                        *options, **more)

    def result(self, command, *options, **more):
        done = self.eden(command, "-o", "json", *options, **more)
        report = json.loads(done.stdout)
        assert report["format"] == "eden.run/1", done.stdout
        return {step["name"]: step for step in report["steps"]}


@pytest.fixture
def site(eden, tmp_path):
    return Site(eden, tmp_path)


ACT = {"name": "act", "probe.act": [{"name": "x"}]}


# --- Which modules run ---------------------------------------------------------------------------


def unsigned(site):
    (site.site / "modules/probe.sig").unlink()


def tampered(site):
    path = site.site / "modules/probe"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)


def moved(site):
    modules = site.site / "modules"
    site.probe("other", body="echo '{\"changed\": true}'")
    site.sign("other")
    shutil.move(modules / "other", modules / "probe")
    shutil.move(modules / "other.sig", modules / "probe.sig")


def signed_by_another_key(site):
    site.keygen("stranger")
    site.sign("probe", key="stranger")


def key_removed(site):
    (site.etc / "trusted-keys/key.pub").unlink()


def key_of_another_under_its_id(site):
    """Names a trusted key, but is signed by another one."""
    sig = site.site / "modules/probe.sig"
    trusted = sig.read_text().split()
    signed_by_another_key(site)
    sig.write_text(" ".join([*trusted[:2], sig.read_text().split()[2]]) + "\n")


def signature_of_garbage(site):
    (site.site / "modules/probe.sig").write_text("eden-signature/1 0123456789abcdef AAAA\n")


def open_key(site):
    (site.etc / "trusted-keys/key.pub").chmod(0o666)


def open_key_folder(site):
    (site.etc / "trusted-keys").chmod(0o777)


def key_of_a_group(site):
    (site.etc / "trusted-keys/key.pub").chmod(0o664)


def folder_of_a_group(site):
    site.etc.chmod(0o775)


UNTRUSTED = {
    unsigned: "not signed",
    tampered: "its content or name has changed",
    moved: "its content or name has changed",
    signed_by_another_key: "this node does not trust",
    key_removed: "this node does not trust",
    key_of_another_under_its_id: "its content or name has changed",
    signature_of_garbage: "not created by 'eden modules sign'",
    open_key: "other users can write to it",
    open_key_folder: "other users can write to it",
    key_of_a_group: "other users can write to it",
    folder_of_a_group: "other users can write to it",
}


@pytest.mark.parametrize("corrupt", UNTRUSTED, ids=lambda corrupt: corrupt.__name__)
def test_unsigned_modules_do_not_run(site, corrupt):
    site.probe()
    site.sign("probe")
    site.steps(ACT)
    assert site.result("plan")["act"]["result"] == "ok"
    assert site.mark.exists()
    corrupt(site)
    site.mark.unlink(missing_ok=True)
    for command in ("plan", "apply"):
        done = site.eden(command)
        assert done.returncode == 1
        assert "error[E0324]: module 'probe' cannot be used: " in done.stderr
        assert UNTRUSTED[corrupt] in done.stderr
        assert "steps.yaml:1:" in done.stderr
    done = site.run("validate", site.site / "steps.yaml", "--config-dir", site.etc)
    assert done.returncode == 1 and UNTRUSTED[corrupt] in done.stderr
    done = site.run("modules", "verify", site.site, "--config-dir", site.etc)
    assert done.returncode != 0 and UNTRUSTED[corrupt] in done.stdout + done.stderr
    done = site.run("modules", "list", site.site, "--config-dir", site.etc)
    assert UNTRUSTED[corrupt] in done.stdout
    done = site.run("modules", "doc", site.site, "probe", "--config-dir", site.etc)
    assert done.returncode == 1 and UNTRUSTED[corrupt] in done.stderr
    assert not site.mark.exists()


def test_an_unused_module_causes_only_a_warning(site):
    site.probe()
    site.steps({"name": "fine", "test.ok": None})
    done = site.eden("apply")
    assert done.returncode == 0
    assert "warning[E0324]: module 'probe' cannot be used: modules/probe is not signed" in done.stderr
    done = site.run("validate", site.site / "steps.yaml", "--config-dir", site.etc)
    assert (done.returncode, "warning[E0324]" in done.stderr) == (0, True)


def test_keys_in_the_root_are_not_keys_of_the_machine(site):
    """The module runs on this machine, whatever it works on."""
    site.probe()
    site.sign("probe")
    site.steps(ACT)
    shutil.copytree(site.etc, site.root / "etc/eden")
    done = site.run("plan", site.site / "steps.yaml", "--root", site.root)
    assert done.returncode == 1 and "does not trust" in done.stderr
    assert not site.mark.exists()


def test_the_verified_bytes_run_even_if_the_file_changes(site):
    evil = f"#!/bin/sh\\ntouch {site.path}/evil\\necho '{{\"changed\": false}}'\\n"
    site.probe(body=f"printf \"{evil}\" > {site.site}/modules/probe\n"
                    "echo '{\"changed\": true, \"comment\": \"as signed\"}'")
    site.sign("probe")
    site.steps(ACT, {"name": "again", "probe.act": [{"name": "y"}], "require": [{"step": "act"}]})
    steps = site.result("apply")
    assert "evil" in (site.site / "modules/probe").read_text()
    assert [steps[name]["result"] for name in ("act", "again")] == ["changed", "changed"]
    assert not (site.path / "evil").exists()


def test_a_saved_plan_requires_the_same_modules(site):
    site.probe(body="echo '{\"changed\": true}'")
    site.sign("probe")
    site.steps(ACT)
    assert site.eden("plan", "--out", site.path / "saved").returncode == 0
    site.probe(body="echo '{\"changed\": true, \"comment\": \"other\"}'")
    site.sign("probe")
    done = site.run("apply", site.path / "saved", "--state-dir", site.path / "state",
                    "--config-dir", site.etc, "--root", site.root)
    assert done.returncode == 5, done.stderr


# --- Errors in a module --------------------------------------------------------------------------

WRONG = {
    "floods": ("head -c 1G /dev/zero | tr '\\0' x; touch {path}/finished",
               "wrote more than 4 MiB and was killed"),
    "floods-errors": ("head -c 1G /dev/zero | tr '\\0' x >&2; touch {path}/finished",
                      "wrote more than 4 MiB and was killed"),
    "floods-progress": ("yes '{{\"progress\": \"on and on\"}}'", "wrote more than 4 MiB and was killed"),
    "hangs": ("sleep 1000 & echo $! > {path}/pid; wait", "timed out after 1 s and was killed"),
    "ignores-the-end": ("trap '' TERM; while :; do sleep 1000; done", "timed out after 1 s"),
    "crashes": ("echo going down >&2; kill -SEGV $$", "was killed by SIGSEGV: going down"),
    "exits": ("echo first >&2; echo last words >&2; exit 3", "exited with 3: first | last words"),
    "answers-and-exits": ("echo '{{\"changed\": false}}'; exit 1", "exited with 1"),
    "says-nothing": ("", "it did not respond"),
    "garbage": ("echo hello; echo there", "its response is not JSON: line 1"),
    "binary": ("head -c 5000 /dev/urandom", "its response"),
    "half": ("printf '{{\"changed\": tr'", "its response is not JSON"),
    "a-list": ("echo '[1]'", "must be an object"),
    "answers-twice": ("echo '{{\"changed\": false}}'; echo '{{\"changed\": true}}'",
                      "it wrote data after its response"),
    "progress-after": ("echo '{{\"changed\": false}}'; echo '{{\"progress\": \"x\"}}'",
                       "it wrote data after its response"),
    "misspells": ("echo '{{\"chagned\": false}}'", "unknown key 'chagned'; did you mean 'changed'?"),
    "lacks": ("echo '{{\"comment\": \"x\"}}'", "its response lacks 'changed'"),
    "deep": ("head -c 10000 /dev/zero | tr '\\0' '['", "its response is not JSON"),
    "wrong-kind": ("echo '{{\"changed\": \"yes\"}}'", "'changed' in its response must be true or false"),
    "fails": ("printf %s '{{\"failed\": \"the disk is\\nfull\"}}'", "the disk is | full"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_failing_module_fails_only_its_step(site, kind):
    body, reason = WRONG[kind]
    site.probe(body=body.format(path=site.path))
    site.sign("probe")
    site.steps({**ACT, "runOptions": {"timeout": "1s" if "timed out" in reason else "1m"}},
               {"name": "dependent", "test.ok": None, "require": [{"step": "act"}]},
               {"name": "other", "file.managed": [{"name": "/etc/other"}, {"content": "x"}]})
    steps = site.result("apply", timeout=120)
    assert steps["act"]["result"] == "failed"
    assert reason in steps["act"]["error"]["message"]
    assert [steps[name]["result"] for name in ("dependent", "other")] == ["blocked", "changed"]
    assert not (site.path / "finished").exists()
    if kind == "hangs":
        assert not os.path.exists(f"/proc/{(site.path / 'pid').read_text().strip()}/fd/0")


def test_a_module_that_dies_while_applying_counts_as_changed(site):
    site.probe(body="""case $request in
*'"op":"check"'*) echo '{"changed": true}' ;;
*) kill -KILL $$ ;;
esac""")
    site.sign("probe")
    site.steps(ACT, {"name": "watcher", "cmd.run": [{"cmd": "true"}],
                     "onchanges": [{"step": "act"}]})
    act = site.result("apply")["act"]
    assert (act["result"], act["changed"]) == ("failed", True)
    assert "was killed by SIGKILL" in act["error"]["message"]


BAD_DESCRIPTIONS = {
    "not-json": ("hello", "its response is not JSON"),
    "no-format": ({"help": "x", "actions": {}}, '"format": "eden.module/1"'),
    "no-actions": ({"format": "eden.module/1", "help": "x"}, "'actions' must be an object"),
    "unknown-key": ({**describe(), "helpp": "x"}, "unknown key 'helpp'; did you mean 'help'?"),
    "unknown-kind": (describe(params={"a": {"kind": "text", "help": "x"}}), "'kind' must be one of"),
    "many-params": (describe(params={f"p{i}": {"kind": "any", "help": "x"} for i in range(10000)}),
                    "has 10000 parameters, the maximum is 32"),
    "many-actions": ({**describe(), "actions": {f"a{i}": {"help": "x"} for i in range(1000)}},
                     "it has 1000 actions, the maximum is 64"),
    "twice": ('{"format": "eden.module/1", "help": "x", "actions": {"a": {"help": "x"}, '
              '"a": {"help": "x"}}}', "its response is not JSON"),
    "requisite": (describe(params={"require": {"kind": "any", "help": "x"}}), "the name of a requisite"),
    "bad-name": (describe(params={"A b": {"kind": "any", "help": "x"}}), "a name can contain only"),
    "bad-fallback": (describe(params={"a": {"kind": "int", "help": "x", "fallback": "many"}}),
                     "'fallback'"),
    "bad-choices": (describe(params={"a": {"kind": "string", "help": "x", "choices": ["a|b"]}}),
                    "'choices' must be"),
    "bad-id": (describe(id_param="nobody"), "'id_param' is not one of its parameters"),
    "bad-does": (describe(does=["apply"]), "'does' may list"),
    "bad-timeout": (describe(timeout="soon"), "'timeout'"),
    "no-help": (describe(help=""), "'help' must be"),
}


@pytest.mark.parametrize("kind", BAD_DESCRIPTIONS)
def test_an_invalid_description_is_reported_before_anything_runs(site, kind):
    description, reason = BAD_DESCRIPTIONS[kind]
    text = description if isinstance(description, str) else json.dumps(description)
    (site.site / "modules/probe").write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    site.sign("probe")
    site.steps({"name": "first", "file.managed": [{"name": "/etc/x"}, {"content": "x"}]}, ACT)
    done = site.eden("apply")
    assert done.returncode == 1
    assert "error[E0324]: module 'probe' cannot be used: modules/probe" in done.stderr
    assert reason in done.stderr
    assert not (site.root / "etc/x").exists()


def test_a_module_that_is_not_a_program_is_reported(site):
    (site.site / "modules/probe").write_bytes(b"\x7fELF nothing")
    site.sign("probe")
    site.steps(ACT)
    done = site.eden("plan")
    assert done.returncode == 1 and "modules/probe: cannot run" in done.stderr


# --- Input and output ----------------------------------------------------------------------------


def test_it_sees_its_parameters_and_nothing_of_the_caller(site):
    site.probe(description=describe(params={
        "name": {"kind": "string", "help": "x"}, "mode": {"kind": "mode", "help": "x"},
        "wait": {"kind": "duration", "fallback": "5s", "help": "x"},
        "all": {"kind": "strings", "help": "x"}, "on": {"kind": "bool", "help": "x"},
        "absent": {"kind": "any", "help": "x"}}),
        body=f"""printf '%s' "$request" > {site.path}/request
env > {site.path}/env; pwd > {site.path}/pwd; ls /proc/$$/fd > {site.path}/fds
echo '{{"changed": false, "state": "seen"}}'""")
    site.sign("probe")
    site.steps({"name": "act", "probe.act": [
        {"name": "it's \"x\"\n"}, {"mode": "0640"}, {"all": "one"}, {"on": "yes"}]})
    steps = site.result("plan", env={"SECRET_TOKEN": "x", "PYTHONPATH": "/evil"})
    assert steps["act"]["state"] == "seen"
    request = json.loads((site.path / "request").read_text())
    assert request == {
        "format": "eden.module/1", "op": "check", "action": "act", "root": str(site.root),
        "planning": True, "found": None,
        "params": {"name": 'it\'s "x"\n', "mode": "0640", "wait": 5000, "all": ["one"],
                   "on": True}}
    names = {line.split("=")[0] for line in (site.path / "env").read_text().splitlines()}
    assert names <= {"PATH", "LC_ALL", "HOME", "PYTHONSAFEPATH", "PWD", "OLDPWD", "_", "SHLVL"}
    assert (site.path / "pwd").read_text() == "/\n"
    assert {int(fd) for fd in (site.path / "fds").read_text().split()} <= {0, 1, 2, 3, 10, 11}  # the last two: its shell's own


def test_results_of_check_reach_apply_and_files_are_saved_before(site):
    (site.root / "etc/x").write_text("before")
    site.probe(body=f"""case $request in
*'"op":"check"'*) echo '{{"progress": "looking"}}'
    printf %s '{{"changed": true, "found": {{"n": [1, "two"]}}, "keeps": ["/etc/x"],
           "changes": {{"x": {{"old": 1, "new": 2}}}}, "diff": "-a\\n+b\\n"}}' ;;
*) printf '%s' "$request" > {site.path}/request; echo after > {site.root}/etc/x
    echo '{{"changed": true, "comment": "done", "value": {{"a": 1}}}}' ;;
esac""")
    site.sign("probe")
    site.steps(ACT, {"name": "next", "file.managed": [
        {"name": "/etc/next"}, {"content": "{{ steps['act'].value.a }}"}]})
    act = site.result("apply")["act"]
    assert (act["result"], act["changes"], act["diff"]) == (
        "changed", {"x": {"old": 1, "new": 2}}, "-a\n+b\n")
    assert json.loads((site.path / "request").read_text())["found"] == {"n": [1, "two"]}
    kept = [path.read_bytes() for path in (site.path / "state").rglob("*") if path.is_file()]
    assert any(text == b"before" for text in kept)


@pytest.mark.parametrize("mode", ["plain", "json"])
def test_its_progress_can_be_watched(site, eden_path, mode):
    """It continues when the watcher, after looking, lets it; no secret is visible."""
    site.probe(body=f"""case $request in
*'"op":"check"'*) echo '{{"changed": true}}' ;;
*) echo '{{"progress": "copies 1 of 9, hunter2000"}}'
   until [ -e {site.path}/go ]; do sleep 0.05; done
   echo '{{"changed": true}}' ;;
esac""")
    site.sign("probe")
    (site.path / "vars.yaml").write_text("password: !secret hunter2000\n")
    site.steps({**ACT, "probe.act": [{"name": "{{ vars.password }}"}]})
    with subprocess.Popen(
        [eden_path, "apply", site.site / "steps.yaml", "--root", site.root, "--config-dir", site.etc,
         "--state-dir", site.path / "state", "-v", site.path / "vars.yaml", "-o", "json",
         "--progress", mode],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        printed = next(line for line in running.stderr if "copies" in line)
        (site.path / "go").touch()
        out, rest = running.communicate(timeout=60)
    assert "copies 1 of 9, (secret)" in printed and "hunter2000" not in rest + out
    if mode == "json":
        assert json.loads(printed)["event"] == "progress"
    else:
        assert " runs     steps#act: copies" in printed
    assert json.loads(out)["result"] == "changed"


def test_modules_react_to_watched_changes_and_work_as_macros(site):
    site.probe(description=describe(does=["check", "apply", "react", "query"]),
               body=f"""case $request in
*'"op":"check"'*) echo '{{"changed": false}}' ;;
*'"op":"react"'*) touch {site.path}/reacted; echo '{{"changed": true}}' ;;
*'"op":"query"'*) echo '{{"value": 42}}' ;;
esac""")
    site.sign("probe")
    site.steps({"name": "file", "file.managed": [
        {"name": "/etc/x"}, {"content": "{{ macros['probe.act'](name='x') + 1 }}"}]},
        {**ACT, "watch": [{"file": "/etc/x"}]})
    steps = site.result("apply")
    assert [step["result"] for step in steps.values()] == ["changed", "changed"]
    assert (site.root / "etc/x").read_text() == "43"
    assert (site.path / "reacted").exists()


def test_another_root_requires_support_by_the_module(site):
    site.probe(description=describe(roots=False))
    site.sign("probe")
    site.steps(ACT)
    site.mark.unlink(missing_ok=True)
    message = site.result("plan")["act"]["error"]["message"]
    assert f"modules/probe requires the running system and cannot be used in the root '{site.root}'" in message


def test_secrets_reach_the_module_and_are_not_shown(site):
    secret = "hunter2000"
    site.probe(body="""case $request in *hunter2000*) ;; *) exit 9 ;; esac
case $request in
*'"how":"fail"'*) echo 'was hunter2000' >&2; echo '{"failed": "it is hunter2000"}' ;;
*'"how":"die"'*) echo 'was hunter2000' >&2; exit 1 ;;
*) echo '{"progress": "hunter2000"}'
   echo '{"changed": true, "state": "hunter2000", "comment": "hunter2000", "diff": "+hunter2000",
          "changes": {"hunter2000": "hunter2000"}, "value": "hunter2000",
          "found": "hunter2000"}' ;;
esac""")
    site.sign("probe")
    (site.path / "vars.yaml").write_text(f"password: !secret {secret}\n")
    site.steps(*({"name": how, "probe.act": [{"name": "{{ vars.password }}"}, {"how": how}]}
                 for how in ("go", "fail", "die")))
    for output in ("json", "text"):
        done = site.eden("apply", "-v", site.path / "vars.yaml", "-o", output, "--verbose",
                         "--progress", "plain")
        assert done.returncode == 1 and "it is (secret)" in done.stdout, done.stdout
        assert secret not in done.stdout + done.stderr
    for path in (site.path / "state").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


# --- The command ---------------------------------------------------------------------------------


def test_keys_are_private_and_never_overwritten(site):
    key = site.path / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_text()
    assert site.run("modules", "keygen", key).returncode == 1
    (site.path / "key.pub").unlink()
    done = site.run("modules", "keygen", key)
    assert done.returncode == 1 and "already exists" in done.stderr
    assert key.read_text() == before


@pytest.mark.parametrize("name, reason", [
    ("Probe", "the file name of a module"), ("pro.be", "the file name of a module"),
    ("file", "a built-in module has this name")])
def test_unusable_modules_are_not_signed(site, name, reason):
    (site.site / "modules" / name).write_text("#!/bin/sh\n")
    done = site.run("modules", "sign", "--key", site.path / "key", site.site / "modules" / name)
    assert done.returncode == 1 and reason in done.stderr


def test_a_public_key_does_not_sign(site):
    site.probe()
    done = site.run("modules", "sign", "--key", site.path / "key.pub", site.site / "modules/probe")
    assert done.returncode == 1 and "is not a private key" in done.stderr


def test_modules_are_listed_and_explained(site):
    site.probe()
    site.sign("probe")
    done = site.run("modules", "list", site.site, "--config-dir", site.etc, "-o", "json")
    assert json.loads(done.stdout)["modules"] == [{
        "name": "probe", "path": "modules/probe", "signed_by": "key", "usable": True,
        "key": (site.site / "modules/probe.sig").read_text().split()[1], "reason": None,
        "help": "A probe.", "actions": ["act"]}]
    done = site.run("modules", "doc", site.site, "probe.act", "--config-dir", site.etc)
    assert done.stdout.startswith("action probe.act\n\n    Does as it is told.\n")
    done = site.run("modules", "doc", site.site, "nothing", "--config-dir", site.etc)
    assert done.returncode == 1 and "no module or action 'nothing'" in done.stderr
    done = site.run("modules", "verify", site.site, "--config-dir", site.etc, "-o", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["modules"][0]["usable"]


def test_a_single_job_is_checked_with_the_modules_of_its_site(site):
    site.probe()
    site.sign("probe")
    (site.site / "jobs").mkdir()
    job = site.site / "jobs/one.yaml"
    job.write_text(json.dumps({"steps": [ACT]}))
    done = site.run("validate", job, "--config-dir", site.etc)
    assert (done.returncode, done.stderr) == (0, "")


# --- The examples --------------------------------------------------------------------------------


@pytest.fixture
def example(site):
    shutil.rmtree(site.site)
    shutil.copytree(EXAMPLE, site.site)
    done = site.run("modules", "sign", "--key", site.path / "key", site.site)
    assert done.returncode == 0, done.stderr
    return site


def files(root):
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*")
            if path.is_file()}


def run_example(site, command, path):
    done = site.run(command, path, "--root", site.root, "--config-dir", site.etc, "--state-dir",
                    site.path / "state", "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_example_site_is_right(example):
    done = example.run("validate", example.site, "--config-dir", example.etc)
    assert (done.returncode, done.stderr) == (0, "")


def keeps_contract(site, path, after):
    """A plan changes nothing; check, apply, and the next check finds nothing to do."""
    before = files(site.root)
    assert run_example(site, "plan", path)["result"] == "changed"
    assert files(site.root) == before
    assert run_example(site, "apply", path)["result"] == "changed"
    assert files(site.root) == after
    assert run_example(site, "plan", path)["result"] == "ok"
    assert run_example(site, "apply", path)["result"] == "ok"
    assert files(site.root) == after


def test_modules_in_python_and_shell_fulfill_the_contract(example):
    inventory = '{\n  "rack": "unknown",\n  "services": [\n    "web",\n    "db"\n  ]\n}\n'
    made = {"etc/owner": "platform team\n", "etc/inventory.json": inventory,
            "etc/motd": "Rack unknown\n"}
    keeps_contract(example, example.site, made)
    steps = example.site / "gone.yaml"
    steps.write_text("steps: [{name: no owner, note.absent: [{name: /etc/owner}]}]\n")
    del made["etc/owner"]
    keeps_contract(example, steps, made)


@pytest.mark.parametrize("step", [{"note.present": [{"name": "/out/x"}, {"text": "x"}]},
                                  {"inventory.record": [{"file": "/out/x"}, {"values": {"a": 1}}]}],
                         ids=["shell", "python"])
def test_no_link_leads_modules_out_of_the_root(example, step):
    outside = example.path / "outside"
    outside.mkdir()
    (example.root / "out").symlink_to(outside)
    example.steps({"name": "out", **step})
    error = example.result("apply")["out"]["error"]["message"]
    assert "a link points outside the root" in error
    assert list(outside.iterdir()) == []


def test_every_example_of_their_descriptions_loads(example):
    done = example.run("modules", "doc", example.site, "--config-dir", example.etc, "-o", "json")
    for subject in json.loads(done.stdout):
        lines = "".join(f"  {line}\n" for line in subject["example"].splitlines())
        (example.site / "steps.yaml").write_text(f"steps:\n{lines}")
        done = example.run("validate", example.site / "steps.yaml", "--config-dir", example.etc)
        assert (done.returncode, done.stderr) == (0, ""), subject["example"]
