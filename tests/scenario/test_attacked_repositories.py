"""What a repository can get from users who clone it: its author chooses submodules, its server
redirects."""

import base64
import functools
import http.server
import json
import subprocess
import threading

import pytest

TOKEN = "token-of-the-deploy-user"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files to clients with a password; those under /moved/ are on the server `elsewhere`.
    """

    def do_GET(self):
        given = self.headers.get("Authorization")
        if given:
            self.server.given.append(base64.b64decode(given.split()[1]).decode())
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", self.server.elsewhere + self.path.removeprefix("/moved"))
            self.end_headers()
        elif given:
            super().do_GET()
        else:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()

    def log_message(self, *args):
        pass


class Web(http.server.ThreadingHTTPServer):
    def __init__(self, address, folder):
        super().__init__((address, 0), functools.partial(Handler, directory=folder))
        self.given = []
        self.elsewhere = None
        self.url = f"http://{address}:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def git(folder, *words):
    done = subprocess.run(
        ["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@example.com", *words],
        check=True, capture_output=True, text=True)  # fmt: skip
    return done.stdout.strip()


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")
    return git(folder, "rev-parse", "HEAD")


def publish(work, served):
    git(work, "clone", "--quiet", "--bare", work, served)
    git(served, "update-server-info")


@pytest.fixture
def servers(tmp_path):
    """Of the repository with the submodules `own` and `other`, and of another one that has the
    same.
    """
    (tmp_path / "served").mkdir()
    pair = [Web(address, tmp_path / "served") for address in ("127.0.0.1", "127.0.0.2")]
    pair[0].elsewhere = pair[1].url
    lib, app = tmp_path / "lib", tmp_path / "app"
    for work in (lib, app):
        git(tmp_path, "init", "--quiet", work)
        (work / "f").write_text("one\n")
    at = commit(lib)
    publish(lib, tmp_path / "served/lib.git")
    publish(commit(app) and app, tmp_path / "served/plain.git")
    for branch, place in (("own", "../lib.git"), ("other", f"{pair[1].url}/lib.git")):
        git(app, "checkout", "--quiet", "-B", branch)
        (app / ".gitmodules").write_text(f'[submodule "lib"]\n\tpath = lib\n\turl = {place}\n')
        git(app, "update-index", "--add", "--cacheinfo", f"160000,{at},lib")
        git(app, "add", ".gitmodules")
        git(app, "commit", "--quiet", "--message", branch)
    publish(app, tmp_path / "served/app.git")
    yield pair
    for web in pair:
        web.shutdown()
        web.server_close()


def clone(eden, tmp_path, **params):
    given = {"name": str(tmp_path / "clone"), "username": "me", "password": TOKEN, **params}
    (tmp_path / "steps.yaml").write_text(json.dumps({"steps": [{"name": "c", "git.cloned": given}]}))
    done = eden("apply", "steps.yaml", "--state-dir", "state", "--config-dir", "etc", "-o", "json",
                env={"no_proxy": "*"})
    return json.loads(done.stdout)["steps"][0]


def test_submodules_of_the_same_server_get_the_password(eden, tmp_path, servers):
    here, _ = servers
    step = clone(eden, tmp_path, repo=f"{here.url}/app.git", rev="own", submodules=True)
    assert step["result"] == "changed", step
    assert (tmp_path / "clone/lib/f").read_text() == "one\n"
    assert set(here.given) == {f"me:{TOKEN}"}


def test_submodules_on_another_server_do_not_get_the_password(eden, tmp_path, servers):
    here, there = servers
    step = clone(eden, tmp_path, repo=f"{here.url}/app.git", rev="other", submodules=True)
    assert there.given == [] and here.given
    assert step["result"] == "failed", step
    assert "'password' is sent only to the server of 'repo'" in step["error"]["message"]


def test_a_local_repository_does_not_choose_other_local_ones(eden, tmp_path, servers):
    """Root would read them from paths that the author of the repository names."""
    site = tmp_path / "site"
    git(tmp_path, "clone", "--quiet", "app", site)
    (site / ".gitmodules").write_text(f'[submodule "lib"]\n\tpath = lib\n\turl = {tmp_path}/lib\n')
    commit(site)
    step = clone(eden, tmp_path, repo=str(site), submodules=True)
    assert step["result"] == "failed", step
    assert "transport 'file' not allowed" in json.dumps(step), step
    assert not (tmp_path / "clone/lib/f").exists()


def test_a_redirect_to_another_server_does_not_get_the_password(eden, tmp_path, servers):
    here, there = servers
    step = clone(eden, tmp_path, repo=f"{here.url}/moved/plain.git")
    assert there.given == []
    assert step["result"] == "failed", step
