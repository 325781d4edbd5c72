"""A server, nodes and a site, for tests of runs across nodes."""

import json
import subprocess

import machines

from events import wait_until


class Fleet:
    """Nodes web1, web2 and db1, unless others are named."""

    def __init__(self, cluster, names=("web1", "web2", "db1")):
        self.cluster = cluster
        cluster.start()
        self.machines = {name: machines.Machine(cluster, name) for name in names}
        for machine in self.machines.values():
            machine.join_with_token()
            machine.start()
            machine.wait_live()

    def words(self, words):
        """Those of a command that asks the server; what follows -- stays the last."""
        words = [*map(str, words), *([] if "--" in words else ["--"])]
        end = words.index("--")
        return [*words[:end], "--run-dir", str(self.cluster.run), *words[end:]]

    def call(self, *words, code=0):
        done = self.cluster.eden(*self.words(words), check=False)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done

    def start(self, *words):
        """A command that goes on; the caller ends it."""
        return subprocess.Popen([self.cluster.eden_path, *self.words(words)], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.cluster.folder)

    def json(self, *words, code=0):
        return json.loads(self.call(words[0], "-o", "json", *words[1:], code=code).stdout)

    def api(self, path):
        return json.loads(self.call("api", "GET", path).stdout)

    def push(self, jobs, *words):
        """A site with these jobs, each a list of steps, for all nodes."""
        site = self.cluster.folder / "site"
        (site / "jobs").mkdir(parents=True, exist_ok=True)
        (site / "config.yaml").write_text("name: demo\n")
        base = {"*": [{"name": name} for name in jobs]}
        (site / "jobs/base.yaml").write_text(json.dumps({"jobs": base}))
        for name, steps in jobs.items():
            (site / f"jobs/{name}.yaml").write_text(json.dumps({"steps": steps}))
        return self.json("push", site, "--no-run", *words)["version"]

    def execute(self, *words, selector="web* or db1", code=0):
        """The ID of an exec that has ended."""
        done = self.call("exec", "-l", selector, "--progress", "none", "-o", "name", "--", *words,
                         code=code)
        return done.stdout.split()[0]

    def status(self, run):
        return self.api(f"/v1/runs/{run}")["status"]

    def wait_ended(self, run):
        return wait_until(lambda: (lambda status: status if status["state"] == "ended" else None)(
            self.status(run)), f"the end of {run}")

    def silence(self, name):
        self.machines[name].agent.kill()
        wait_until(lambda: self.json("nodes", "show", name)["status"]["state"] == "silent",
                   f"the silence of {name}")
