"""Machines with an agent: joined to a cluster, started, asked for their status."""

import json

import api_client
from events import wait_until


class Machine:
    """A separate machine, as far as eden is concerned: its directories, and the agent on it."""

    def __init__(self, cluster, name, state=None, run=None):
        self.cluster = cluster
        self.name = name
        self.state = state or cluster.folder / name / "state"
        self.run = run or cluster.folder / name / "run"
        self.config = cluster.folder / name / "etc"
        self.config.mkdir(parents=True, exist_ok=True)
        self.agent = None

    def join(self, *words, check=True):
        return self.cluster.eden("join", "--server", f"127.0.0.1:{self.cluster.api_port}",
                                 "--name", self.name, "--state-dir", self.state, *words,
                                 check=check)

    def join_with_token(self):
        return self.join("--ca-pin", self.cluster.init_output["ca_pin"], "--token",
                         make_token(self.cluster)["token"])

    def start(self):
        self.agent = self.cluster.daemon("agent", "--state-dir", self.state, "--run-dir", self.run,
                                         "--config-dir", self.config).wait_ready()
        return self.agent

    def wait_live(self, server="s1"):
        self.agent.wait_for_note(f"session with {server}")

    def status(self):
        connection = api_client.UnixConnection(self.run / "agent.sock")
        try:
            connection.request("GET", "/v1/agent")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def wait_status(self, fits, what):
        """Waits until its reported status matches."""
        return wait_until(lambda: (lambda status: status if fits(status) else None)(self.status()),
                          what)


def first(cluster):
    """The machine on which the cluster was created."""
    return Machine(cluster, "s1", cluster.state, cluster.run)


def make_token(cluster):
    made = json.loads(cluster.call("tokens", "create", "-o", "json").stdout)
    return {"id": made["metadata"]["name"], "token": made["status"]["secret"]}


def node(cluster, name):
    """As the server shows it; None if there is no such node, or no server."""
    done = cluster.call("nodes", "show", name, "-o", "json", check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None
