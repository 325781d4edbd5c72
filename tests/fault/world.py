"""A small site with files, commands and watches, and the invariants of the root it is applied to.

Every version of the site has different content for each file. A reaction to a file appends the
version that it saw to a log, so that the logs show whether a reaction was forgotten.
"""

import json
import os
import pathlib
import shutil
import subprocess

ORDERS = ["ansible", "justdoit", "genius"]
FILES = ["alpha", "beta", "gamma", "delta"]
LINES = 300
# The first line of a file is its version; the root contains nothing but the shell.
NOTE = "read version < /etc/{name} && echo $version >> /var/{log}"


def content(version, name, lines=LINES):
    return f"{version}\n" + f"{name} as of version {version}\n" * lines


def reaction(name, kind, log):
    return {"name": log, "cmd.run": [{"cmd": NOTE.format(name=name, log=log)}],
            kind: [{"step": name}]}  # fmt: skip


def steps(version, lines=LINES):
    """Watch, listen and onchanges, in chains and crosswise; nothing to do when nothing has changed.
    """
    listed = [{"name": "etc", "file.directory": [{"name": "/etc"}]},
              {"name": "var", "file.directory": [{"name": "/var"}]}]  # fmt: skip
    for name in FILES:
        managed = [{"name": f"/etc/{name}"}, {"content": content(version, name, lines)},
                   {"mode": "0640"}]  # fmt: skip
        listed.append({"name": name, "file.managed": managed})
    watch = reaction("alpha", "watch", "watch-alpha")
    watch["cmd.run"].append({"creates": "/etc/alpha"})  # only as a reaction
    listed.append(watch)
    listed.append(reaction("beta", "onchanges", "onchanges-beta"))
    listen = reaction("gamma", "listen", "listen-gamma")
    listen["cmd.run"].append({"creates": "/etc/gamma"})
    listed.append(listen)
    stamp = {"name": "stamp", "cmd.run": [
        {"cmd": f"echo {version} > /var/stamp"},
        {"unless": f"read version < /var/stamp && [ \"$version\" = {version} ]"},
    ]}  # fmt: skip
    listed.append(stamp)
    # A reaction to a reaction, and one to two causes.
    listed.append({"name": "chain", "cmd.run": [{"cmd": NOTE.format(name="beta", log="chain")}],
                   "onchanges": [{"step": "onchanges-beta"}]})  # fmt: skip
    both = reaction("delta", "watch", "both")
    both["watch"].append({"step": "stamp"})
    both["cmd.run"].append({"creates": "/etc/delta"})
    listed.append(both)
    return listed


# Which log follows which file.
FOLLOWS = {"watch-alpha": "alpha", "onchanges-beta": "beta", "listen-gamma": "gamma",
           "chain": "beta", "both": "delta"}  # fmt: skip


def make_shell(root):
    """A root needs a shell for its commands: dash and its shared libraries."""
    needed = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    libraries = [word for word in needed.split() if word.startswith("/")]
    for path in ["/bin/sh", *libraries]:
        to = root / path.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)


class World:
    """`disk` holds the root and eden's files; `folder` everything else."""

    def __init__(self, eden, folder, prefix=(), disk=None, lines=LINES):
        self.eden = eden
        self.folder = pathlib.Path(folder)
        self.disk = pathlib.Path(disk or folder)
        self.root = self.disk / "root"
        self.root.mkdir()
        self.state = self.disk / "state"
        self.prefix = list(prefix)
        self.version = 0
        self.lines = lines
        self.site = self.folder / "steps.yaml"
        make_shell(self.root)
        self.next()

    def next(self):
        """Advances the site by one version."""
        self.version += 1
        self.site.write_text(json.dumps({"steps": steps(self.version, self.lines)}))

    def command(self, order, *options):
        return [*self.prefix, self.eden, "apply", str(self.site), "--root", str(self.root),
                "--state-dir", str(self.state), "--config-dir",
                str(self.folder / "none"), "--order", order, *options]  # fmt: skip

    def environment(self, **more):
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8", **more}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LLVM_PROFILE_FILE"):
            if name in os.environ:
                env.setdefault(name, os.environ[name])
        if "LD_PRELOAD" in env:
            options = [env.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]
            env["ASAN_OPTIONS"] = ":".join(filter(None, options))
        return env

    def try_apply(self, order="ansible"):
        """The exit code and the report; None if the run could not start."""
        done = subprocess.run(
            self.command(order, "-o", "json", "--progress", "none"),
            capture_output=True, text=True, env=self.environment(),
        )  # fmt: skip
        assert done.stdout, (done.returncode, done.stderr)
        report = json.loads(done.stdout)
        self.problems = report.get("problems")
        for step in report.get("steps", []):
            step.pop("diff")  # long, and not examined
        return (done.returncode, report) if report["format"] == "eden.run/1" else None

    def apply(self, order="ansible"):
        ended = self.try_apply(order)
        assert ended is not None, self.problems
        return ended

    def owed(self):
        done = subprocess.run(
            [self.eden, "owed", "--state-dir", self.state, "-o", "json"],
            capture_output=True, text=True, env=self.environment(), check=True,
        )  # fmt: skip
        return {debt["step"].split("#")[1] for debt in json.loads(done.stdout)["owed"]}

    def version_of(self, name):
        """The version of the file, which must be complete; 0 if it does not exist."""
        path = self.root / "etc" / name
        if not path.exists():
            return 0
        text = path.read_text()
        version = int(text.split("\n", 1)[0] or "-1")
        assert text == content(version, name, self.lines), f"{name} is torn"
        assert path.stat().st_mode & 0o7777 == 0o640
        return version

    def seen_by(self, log):
        path = self.root / "var" / log
        lines = path.read_text().split() if path.exists() else []
        return int(lines[-1]) if lines else 0

    def check_interrupted(self, before):
        """No file is torn, and a log that has not seen the newest version of its file owes it."""
        owed = self.owed()
        for name in FILES:
            assert self.version_of(name) in (before, self.version), name
        for log, name in FOLLOWS.items():
            if log != "chain":
                late = self.seen_by(log) < self.version_of(name)
                assert not late or log in owed, (log, owed)
        # A reaction to a reaction is late once that has run, not when the file has changed.
        late = self.seen_by("chain") < self.seen_by("onchanges-beta")
        assert not late or owed & {"chain", "onchanges-beta"}, owed

    def check_converged(self):
        for name in FILES:
            assert self.version_of(name) == self.version, name
        for log in FOLLOWS:
            assert self.seen_by(log) == self.version, log
        assert self.seen_by("stamp") == self.version
        assert self.owed() == set()
        left = {path.name for path in (self.root / "etc").iterdir()}
        assert left == {*FILES}, "temporary files are left behind"
        # Among the backups they are pruned when the next one is made.
        drafts = [path for path in self.state.rglob("*.new") if path.parent.name != "keep"]
        assert drafts == [], "half written files are left behind"

    def converge(self, order="ansible"):
        code, report = self.apply(order)
        assert code == 0, report
        assert report["owed"] == []
        self.check_converged()
        logs = {log: (self.root / "var" / log).read_text() for log in FOLLOWS}
        code, report = self.apply(order)
        assert (code, report["result"]) == (0, "ok"), report
        assert logs == {log: (self.root / "var" / log).read_text() for log in FOLLOWS}
