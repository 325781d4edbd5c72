"""Webhooks of git services: a push is applied on the nodes at once, and nobody else can make a server do anything."""

import hashlib
import hmac
import http.client
import json
import ssl

import machines
import pytest
from events import wait_until
from git_world import SITE, Repository
from test_sources import Fleet

BRANCH = "refs/heads/main"


class Hook:
    """What a git service sends to the server, over TLS."""

    def __init__(self, cluster, secret):
        self.cluster, self.secret, self.number = cluster, secret, 0

    def post(self, headers, body, source="site"):
        """Gives the status and the answer."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.cluster.api_port, timeout=60,
                                                 context=ssl._create_unverified_context())
        connection.request("POST", f"/v1/sources/{source}/webhook", body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)

    def body(self, ref=BRANCH, **more):
        return json.dumps({"ref": ref, "repository": {"ref": "refs/heads/other"}, "commits": [], **more}).encode()

    def sign(self, body, secret=None):
        return hmac.new((secret or self.secret).encode(), body, hashlib.sha256).hexdigest()

    def github(self, body=None, event="push", delivery=None, secret=None, source="site"):
        body = self.body() if body is None else body
        self.number += 1
        return self.post({"X-GitHub-Event": event, "X-GitHub-Delivery": delivery or f"delivery-{self.number}",
                          "X-Hub-Signature-256": f"sha256={self.sign(body, secret)}"}, body, source)

    def gitea(self, body=None, secret=None):
        body = self.body() if body is None else body
        return self.post({"X-Gitea-Event": "push", "X-Gitea-Signature": self.sign(body, secret)}, body)

    def gitlab(self, body=None, secret=None, event="Push Hook"):
        body = self.body() if body is None else body
        return self.post({"X-Gitlab-Event": event, "X-Gitlab-Token": secret or self.secret}, body)


class World(Fleet):
    """A source with a webhook, which is not polled within the test."""

    def __init__(self, cluster, folder, files):
        super().__init__(cluster, folder)
        self.repository = Repository(folder / "site", files)
        self.add("site", self.repository, "--branch", "main")
        made = json.loads(self.call("sources", "webhook", "site", "-o", "json").stdout)
        assert made["urls"] == [f"https://127.0.0.1:{cluster.api_port}/v1/sources/site/webhook"]
        self.hook = Hook(cluster, made["secret"])

    def handled(self):
        return self.status("site")["handled"]

    def push(self, subject="next"):
        return self.repository.commit({"files/subject": subject}, subject)

    def wait_used(self, commit):
        wait_until(lambda: self.status("site").get("used_commit") == commit, "the commit of the push", self.folder)


@pytest.fixture
def world(cluster, tmp_path):
    return World(cluster, tmp_path, SITE)


def test_a_push_is_applied_on_the_nodes(cluster, tmp_path):
    out = tmp_path / "out"
    out.mkdir()

    def files(text):
        step = {"name": "greet", "file.managed": [{"name": f"{out}/{{{{ server.name }}}}"}, {"content": text}]}
        return {**SITE, "jobs/web.yaml": json.dumps({"steps": [step]})}

    world = World(cluster, tmp_path, files("hello"))
    for name in ("web1", "web2"):
        machine = machines.Machine(cluster, name)
        machine.join_with_token()
        machine.start()
        machine.wait_live()
    world.repository.commit(files("bonjour"), "in French")
    assert world.hook.github() == (202, {"format": "eden.source-webhook/1", "result": "accepted"})
    wait_until(lambda: all((out / name).is_file() and (out / name).read_text() == "bonjour"
                           for name in ("web1", "web2")), "the files of the push", out)


@pytest.mark.parametrize("service", ["github", "gitea", "gitlab"])
def test_each_service_is_understood(world, service):
    commit = world.push()
    assert getattr(world.hook, service)()[0] == 202
    world.wait_used(commit)


@pytest.mark.parametrize("service", ["github", "gitea", "gitlab"])
def test_a_webhook_without_the_secret_is_refused_as_if_there_were_no_source(world, service):
    before = world.handled()
    refused = getattr(world.hook, service)(secret="a" * 64)
    assert refused[0] == 403
    assert world.hook.github(source="unknown") == refused
    assert world.hook.post({"X-GitHub-Event": "push"}, world.hook.body()) == refused
    assert world.hook.post({"X-Hub-Signature-256": "sha256="}, world.hook.body()) == refused
    assert world.hook.post({"X-Gitlab-Token": ""}, world.hook.body()) == refused
    assert world.handled() == before
    assert world.cluster.server.wait_for_log("the signature of a webhook is not valid")


def test_a_signature_is_of_the_body(world):
    body = world.hook.body()
    signature = {"X-Hub-Signature-256": f"sha256={world.hook.sign(body)}"}
    assert world.hook.post(signature, body + b" ")[0] == 403
    assert world.hook.post(signature, body)[0] == 202


def test_a_source_without_a_secret_accepts_no_webhook(world):
    world.call("sources", "webhook", "site", "--remove")
    assert world.hook.github()[0] == 403
    assert world.hook.github(secret=64 * "A")[0] == 403


def test_a_new_secret_replaces_the_former_one(world):
    former = world.hook.secret
    shown = world.call("sources", "webhook", "site").stdout
    world.hook.secret = shown.split("Secret:")[1].strip()
    assert len(world.hook.secret) == 64 and world.hook.secret != former
    assert world.hook.github(secret=former)[0] == 403
    assert world.hook.github()[0] == 202


def test_a_repeated_delivery_changes_nothing(world):
    assert world.hook.github(delivery="one")[1]["result"] == "accepted"
    wait_until(lambda: world.handled() > 0, "the fetch")
    before = world.handled()
    assert world.hook.github(delivery="one") == (200, {"format": "eden.source-webhook/1", "result": "repeated"})
    assert world.hook.github(delivery="two")[1]["result"] == "accepted"
    wait_until(lambda: world.handled() > before, "the fetch")


@pytest.mark.parametrize("ref", ["refs/heads/other", "refs/tags/main", "main", "refs/heads/main/x", ""])
def test_a_push_to_another_branch_is_ignored(world, ref):
    assert world.hook.github(world.hook.body(ref)) == (200, {"format": "eden.source-webhook/1", "result": "ignored"})


def test_a_push_to_another_branch_than_the_default_one_is_ignored(world):
    world.call("api", "PATCH", "/v1/sources/site", "-d", json.dumps({"spec": {"branch": None}}))
    world.sync("site")
    assert world.hook.github(world.hook.body("refs/heads/other"))[1]["result"] == "ignored"
    assert world.hook.github()[1]["result"] == "accepted"


def test_pings_and_other_events_are_answered(world):
    assert world.hook.github(b'{"zen":"Design for failure."}', event="ping")[1]["result"] == "pong"
    assert world.hook.github(event="issues")[1]["result"] == "ignored"
    assert world.hook.gitlab(event="Tag Push Hook")[1]["result"] == "ignored"


def test_a_body_that_is_too_large_or_not_json_is_refused(world):
    assert world.hook.github(b" " * ((1 << 20) + 1))[0] == 413
    assert world.hook.github(b"{")[0] == 400
    assert world.hook.github(b"[]")[0] == 400
    assert world.hook.github(b"[" * 100_000)[0] in (400, 413)
    large = world.hook.body(more="x" * ((1 << 20) - 200))
    assert world.hook.github(large)[0] == 202
    body = world.hook.body()
    assert world.hook.post({"Content-Type": "application/x-www-form-urlencoded",
                            "X-Hub-Signature-256": f"sha256={world.hook.sign(body)}"}, body)[0] == 415


def test_too_many_webhooks_are_refused(world):
    statuses = [world.hook.github(event="ping")[0] for _ in range(100)]
    assert statuses[:50] == [200] * 50 and 429 in statuses[60:]
    assert set(statuses) == {200, 429}


def test_the_secret_is_nowhere_to_be_read(world):
    world.hook.github()
    everything = world.call("sources", "show", "site", "-o", "json").stdout + "\n".join(world.cluster.server.log) + \
        world.call("api", "GET", "/v1/keys?prefix=%2Feden").stdout + world.call("audit", "tail").stdout
    assert world.hook.secret not in everything
    assert [path for path in world.cluster.state.rglob("*")
            if path.is_file() and world.hook.secret.encode() in path.read_bytes()] == []
