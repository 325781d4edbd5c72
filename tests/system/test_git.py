"""Clones of repositories served by other hosts."""

import pytest

PREPARE = """
git config --system user.email a@b && git config --system user.name n
git config --system init.defaultBranch main
mkdir -p /srv/git && git init -q --bare /srv/git/app.git && git init -q /root/work
"""


class Repository:
    """A repository on a host, which serves it over git and, as plain files, over HTTP."""

    def __init__(self, host):
        self.host = host
        host.run(PREPARE)
        self.commit("one")
        self.git("tag -a -m one v1")
        self.push()
        host.serve("/srv/git", 80, log="/tmp/asked")
        host.popen("git daemon --export-all --base-path=/srv/git --reuseaddr")
        host.wait_for("git ls-remote git://127.0.0.1/app.git", 20, "the daemon")
        self.address = f"git://{host.address}/app.git"
        self.plain = f"http://{host.address}/app.git"

    def git(self, words):
        return self.host.run(f"cd /root/work && git {words}").out

    def commit(self, text):
        self.host.write("/root/work/f", text + "\n")
        self.git("add . ")
        self.git(f"commit -qm {text}")
        return self.git("rev-parse HEAD")

    def push(self, words="main --tags"):
        self.git(f"push -q --force /srv/git/app.git {words}")
        self.host.run("git -C /srv/git/app.git update-server-info")

    def stop(self):
        self.host.cut()


@pytest.fixture
def repository(light):
    return Repository(light(name="server"))


@pytest.fixture
def client(light, repository):
    return light(name="client")


def attempt(host, verb="apply", **params):
    step = {"name": "/srv/app", **params}
    return getattr(host, verb)([{"name": "it", "git.cloned": step}])


def clone(host, verb="apply", **params):
    return attempt(host, verb, **params).steps["it"]


def content(host):
    return host.read("/srv/app/f").strip()


def head(host):
    return host.run("git -C /srv/app rev-parse HEAD").out


def test_branch_is_followed(repository, client):
    assert clone(client, "plan", repo=repository.address).result == "changed"
    assert not client.exists("/srv/app")
    step = clone(client, repo=repository.address)
    assert step.changes["commit"]["new"] == head(client) == repository.git("rev-parse HEAD")
    assert clone(client, repo=repository.address).result == "ok"
    new = repository.commit("two")
    repository.push()
    before = client.snapshot(times=True)
    step = clone(client, "plan", repo=repository.address)
    assert step.changes["commit"]["new"] == new
    assert client.snapshot(times=True) == before
    assert clone(client, repo=repository.address, rev="main").result == "changed"
    assert (content(client), head(client)) == ("two", new)
    assert client.run("git -C /srv/app status -sb").out == "## main...origin/main"
    assert clone(client, repo=repository.address).result == "ok"


def test_rewritten_branch_is_followed(repository, client):
    repository.commit("two")
    repository.push()
    clone(client, repo=repository.address)
    repository.git("reset -q --hard v1")
    repository.commit("other")
    repository.push()
    assert clone(client, repo=repository.address).result == "changed"
    assert content(client) == "other"


def test_tag_and_other_branch(repository, client):
    repository.git("checkout -q -b feature/x")
    repository.commit("feature")
    repository.push("feature/x")
    assert clone(client, repo=repository.address, rev="v1").result == "changed"
    assert content(client) == "one"
    assert clone(client, repo=repository.address, rev="v1").result == "ok"
    step = clone(client, repo=repository.address, rev="feature/x")
    assert step.changes["branch"]["new"] == "feature/x"
    assert content(client) == "feature"


def test_available_commit_needs_no_network(repository, client):
    old = repository.git("rev-parse HEAD")
    repository.commit("two")
    repository.push()
    for depth in (0, 1):
        client.run("rm -rf /srv/app")
        assert clone(client, repo=repository.address, rev=old, depth=depth).result == "changed"
        assert (content(client), head(client)) == ("one", old)
        repository.host.cut()
        assert clone(client, "plan", repo=repository.address, rev=old.upper()).result == "ok"
        assert clone(client, repo=repository.address, rev=old, depth=depth).result == "ok"
        repository.host.join()
    message = clone(client, repo=repository.address, rev="0" * 40).error.message
    assert "the repository has no commit 000" in message
    assert head(client) == old


def test_shallow_clone_moves_on(repository, client):
    repository.commit("two")
    repository.push()
    clone(client, repo=repository.address, depth=1)
    assert client.run("git -C /srv/app rev-list --count HEAD").out == "1"
    repository.commit("three")
    repository.push()
    assert clone(client, repo=repository.address, depth=1).result == "changed"
    assert content(client) == "three"
    assert clone(client, repo=repository.address, depth=1).result == "ok"
    assert clone(client, repo=repository.address, rev="v1", depth=1).result == "changed"
    assert content(client) == "one"


def test_plain_files_over_http(repository, client):
    assert clone(client, repo=repository.plain).result == "changed"
    old = head(client)
    repository.commit("two")
    repository.push()
    assert clone(client, repo=repository.plain).result == "changed"
    assert content(client) == "two"
    assert clone(client, repo=repository.plain, rev=old).result == "changed"
    assert content(client) == "one"


def test_another_url_is_taken_over(repository, client):
    clone(client, repo=repository.plain)
    step = clone(client, repo=repository.address)
    assert step.result == "changed" and step.changes["repo"]["new"] == repository.address
    assert client.run("git -C /srv/app config remote.origin.url").out == repository.address
    assert clone(client, repo=repository.address).result == "ok"


def test_local_changes_stay_unless_forced(repository, client):
    clone(client, repo=repository.address)
    client.write("/srv/app/untracked", "mine")
    assert clone(client, repo=repository.address).result == "ok"
    client.write("/srv/app/f", "mine")
    step = clone(client, repo=repository.address)
    assert step.result == "failed" and "has local changes (f)" in step.error.message
    assert content(client) == "mine"
    assert clone(client, repo=repository.address, force=True).result == "changed"
    assert content(client) == "one"
    client.run(PREPARE.splitlines()[1])
    client.run("cd /srv/app && echo own > f && git commit -qam own")
    step = clone(client, repo=repository.address)
    assert step.result == "failed" and "has local commits" in step.error.message
    assert clone(client, repo=repository.address, force=True).result == "changed"
    assert content(client) == "one" and client.read("/srv/app/untracked") == "mine"
    assert clone(client, repo=repository.address).result == "ok"


def test_conflicting_untracked_file_stays(repository, client):
    clone(client, repo=repository.address)
    client.write("/srv/app/new", "mine")
    repository.host.write("/root/work/new", "theirs")
    repository.commit("two")
    repository.push()
    step = clone(client, repo=repository.address)
    assert step.result == "failed" and "overwritten" in step.error.message
    assert client.read("/srv/app/new") == "mine"


def test_a_directory_that_is_not_a_clone_is_not_touched(repository, client):
    client.mkdir("/srv/app")
    assert clone(client, repo=repository.address).result == "changed"
    client.run("rm -rf /srv/app && mkdir /srv/app && echo mine > /srv/app/x")
    step = clone(client, repo=repository.address)
    assert "/srv/app exists and is not a clone" in step.error.message
    assert client.run("ls -A /srv/app").out == "x"


def test_git_errors_are_quoted_and_leave_nothing(repository, client):
    cases = {
        f"{repository.address}x": "repository not exported",
        f"git://{repository.host.address}:9/x": "unable to connect",
        f"ssh://git@{repository.host.address}/x": "ssh: connect to host",
        "git@nowhere.example:x": "Could not resolve hostname nowhere.example",
        f"http://{repository.host.address}/none.git": "not found",
    }
    for address, output in cases.items():
        step = clone(client, repo=address)
        assert step.result == "failed"
        assert output.lower() in step.error.message.lower()
    assert "no branch or tag 'none'" in clone(client, repo=repository.address, rev="none").error.message
    assert client.run("ls -A /srv").out == ""


def test_hostile_parameters_run_nothing(repository, client):
    for params in (
        {"repo": "ext::sh -c 'touch /tmp/pwned'"},
        {"repo": "--upload-pack=touch /tmp/pwned"},
        {"repo": "ssh://-oProxyCommand=touch${IFS}/tmp/pwned/x"},
        {"repo": repository.address, "rev": "--upload-pack=touch /tmp/pwned"},
        {"repo": "ssh://h/x", "key": "/k; touch /tmp/pwned"},
        {"repo": "ssh://h/x", "known_hosts": "/k$(touch /tmp/pwned)"},
    ):
        done = attempt(client, **params)
        assert done.exit == 1 and (done.problems or done.steps["it"].result == "failed"), done
        assert not client.exists("/tmp/pwned")


def test_hooks_and_foreign_environment_do_nothing(repository, client):
    client.run("mkdir -p /etc/hooks && printf '#!/bin/sh\\ntouch /tmp/pwned\\n' > "
               "/etc/hooks/post-checkout && chmod +x /etc/hooks/post-checkout && "
               "git config --system core.hooksPath /etc/hooks")  # fmt: skip
    client.write("/srv/steps.yaml",
                 "steps:\n- git.cloned: {name: /srv/app, repo: '%s'}\n" % repository.address)  # fmt: skip
    client.run(["eden", "apply", "/srv/steps.yaml"],
               env={"GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/", "GIT_INDEX_FILE": "/x"})  # fmt: skip
    assert content(client) == "one" and not client.exists("/tmp/pwned")


def test_killed_clone_is_repaired(repository, client):
    client.write("/usr/local/bin/git", '#!/bin/sh\ncase "$*" in *fetch*) touch /tmp/reached; '
                 'exec sleep 1000;; esac\nexec /usr/bin/git "$@"\n', mode=0o755)  # fmt: skip
    client.write("/srv/steps.yaml",
                 "steps:\n- git.cloned: {name: /srv/app, repo: '%s'}\n" % repository.address)  # fmt: skip
    run = client.popen("echo $$ > /tmp/pid; exec eden apply /srv/steps.yaml")
    client.wait_for("test -e /tmp/reached", 30, "the clone to start")
    client.run("kill -9 $(cat /tmp/pid)")
    run.wait()
    assert not client.exists("/srv/app")
    client.run("rm /usr/local/bin/git")
    assert clone(client, repo=repository.address).result == "changed"
    assert client.run("ls -A /srv").out.split() == ["app", "steps.yaml"]


def test_submodules(repository, client):
    server = repository.host
    server.run("git clone -q --bare /srv/git/app.git /srv/git/lib.git")
    repository.git(f"-c protocol.allow=always submodule --quiet add {repository.address[:-7]}lib.git lib")
    repository.commit("with-lib")
    repository.push()
    clone(client, repo=repository.address)
    assert not client.exists("/srv/app/lib/f")
    step = clone(client, repo=repository.address, submodules=True)
    assert step.result == "changed" and client.read("/srv/app/lib/f") == "one\n"
    assert clone(client, repo=repository.address, submodules=True).result == "ok"


def test_clone_of_a_user_with_a_password(repository, client):
    """The server requires the password, and it never becomes visible."""
    repository.host.write("/tmp/server.py", SERVER)
    repository.host.popen(["python3", "/tmp/server.py"])
    repository.host.wait_for("curl -s -o /dev/null http://127.0.0.1:81/", 20, "the server")
    address = f"http://{repository.host.address}:81/app.git"
    step = clone(client, repo=address)
    assert step.result == "failed" and "could not read Username" in step.error.message
    client.run("useradd -m web")
    step = client.apply(f"""
- name: it
  git.cloned:
    - name: /srv/app
    - repo: {address}
    - user: web
    - username: me
    - password: !secret "it's $HOME \\\\x"
""").steps["it"]
    assert step.result == "changed", step.error
    assert client.run("stat -c %U /srv/app /srv/app/.git/config").out == "web\nweb"
    assert client.run("grep -rF 's $HOME' /srv/app /var/lib/eden || true").out == ""
    wrong = clone(client, repo=address, user="web", username="me", password="wrong", rev="v1")
    assert wrong.result == "failed" and "Authentication failed" in wrong.error.message


SERVER = '''
import base64, http.server, os
os.chdir("/srv/git")
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        wanted = "Basic " + base64.b64encode(b"me:it's $HOME \\\\x").decode()
        if self.headers.get("Authorization") == wanted:
            return super().do_GET()
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()
http.server.ThreadingHTTPServer(("", 81), Handler).serve_forever()
'''


def test_ssh_with_a_key_and_a_known_host(systemd, light):
    server = systemd(name="server")
    client = light(name="client")
    server.run(PREPARE)
    server.run("cd /root/work && echo one > f && git add f && git commit -qm one && "
               "git push -q /srv/git/app.git main")  # fmt: skip
    client.run("ssh-keygen -q -t ed25519 -N '' -f /root/key")
    server.write("/root/.ssh/authorized_keys", client.read("/root/key.pub"), mode=0o600)
    server.wait_for("systemctl is-active ssh", 20, "sshd")
    host_key = server.read("/etc/ssh/ssh_host_ed25519_key.pub").split()[:2]
    address = f"root@{server.address}:/srv/git/app.git"
    step = clone(client, repo=address, key="/root/key")
    assert step.result == "failed" and "Host key verification failed" in step.error.message
    client.write("/etc/hosts-of-ours", f"{server.address} {' '.join(host_key)}\n")
    step = clone(client, repo=address, key="/root/key", known_hosts="/etc/hosts-of-ours")
    assert step.result == "changed", step.error
    assert content(client) == "one"
    step = clone(client, repo=address, known_hosts="/etc/hosts-of-ours")
    assert step.result == "failed" and "Permission denied" in step.error.message


def test_plan_accepts_requirements_provided_by_earlier_steps(light):
    host = light()
    host.run("rm /usr/bin/git")
    alone = {"name": "it", "git.cloned": {"name": "/srv/app", "repo": "https://git.example.net/x",
                                          "user": "nobody-yet"}}
    bring = {"name": "bring", "cmd.run": {"cmd": "perl -e 1"}, "order": "first"}
    step = host.plan([bring, alone]).steps["it"]
    assert step.result in ("changed", "unknown") and step.error is None
    assert host.plan([alone]).steps["it"].result == "failed"
    assert "package git" in clone(host, repo="https://git.example.net/x").error.message
