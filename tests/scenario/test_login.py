"""A cluster from another machine: contexts, logging in, every command over HTTPS."""

import json
import os
import pty
import queue
import re
import select
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import termios
import threading

import asking
import daemons
import pytest
from cluster_world import fill
from front import TOKEN, Front
from test_cli_examples import examples, is_far


@pytest.fixture
def front(cluster):
    cluster.start()
    front = Front(cluster)
    yield front
    front.close()


@pytest.fixture
def home(eden, front, tmp_path):
    """`eden` of a user elsewhere, with settings of their own and no server."""

    def run(*args, env=None, **more):
        return eden(*args, env={"HOME": str(tmp_path / "home"), **(env or {})}, **more)

    run.file = tmp_path / "home/.config/eden/contexts.json"
    run.pin = front.cluster.founded["ca_pin"]
    return run


@pytest.fixture
def logged_in(home, front):
    done = home("login", front.url, "--name", "prod", "--ca-pin", home.pin, "--token-file", "-",
                input=TOKEN + "\n")
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture
def other_cluster(front, tmp_path):
    """One that does not run yet."""
    other = daemons.Cluster(front.cluster.eden_path, tmp_path, name="s9", cluster="red")
    yield other
    other.close()


def told(home, *args, **more):
    done = home(*args, "-o", "json", **more)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


# --- the examples ---------------------------------------------------------------------------------

@pytest.mark.parametrize("command", filter(
    lambda each: is_far(each.values[0]) and "--certificate" not in each.values[0], examples()))
def test_the_example_works_from_elsewhere(logged_in, front, eden_path, tmp_path, command):
    fill(front.cluster)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/eden").symlink_to(eden_path)
    (tmp_path / "bin/pass").write_text(f"#!/bin/sh\necho {TOKEN}\n")
    (tmp_path / "bin/pass").chmod(0o755)
    logged_in("complete", "node", "--refresh")
    line = (command.replace("https://eden1:1338", front.url).replace("eden1", front.url)
            .replace("sha256:9c1e...", logged_in.pin))
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=tmp_path, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=daemons.LIMIT,
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(logged_in.file.parents[2]),
             "LC_ALL": "C.UTF-8", "EDEN_TOKEN": TOKEN})
    assert done.returncode == 0, done.stderr
    assert done.stdout != ""


# --- login ----------------------------------------------------------------------------------------

def test_logging_in_keeps_a_context_for_its_owner_alone(home, front):
    done = home("login", front.url, "--name", "prod", "--ca-pin", home.pin, env={"EDEN_TOKEN": TOKEN})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (f"logged in to {front.url} as 'ann' until 2030-01-01T00:00:00Z\n"
                           "context 'prod' is the current one\n")
    assert stat.S_IMODE(home.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.file.parent.stat().st_mode) == 0o700
    kept = json.loads(home.file.read_text())
    assert kept["format"] == "eden.contexts/1"
    assert kept["current"] == "prod"
    assert kept["contexts"]["prod"]["server"] == front.url
    assert kept["contexts"]["prod"]["token"] == TOKEN
    assert kept["contexts"]["prod"]["ca"].startswith("-----BEGIN CERTIFICATE-----")
    assert sorted(os.listdir(home.file.parent)) == ["contexts.json", "contexts.lock"]


def test_of_many_that_log_in_at_once_none_is_lost(eden_path, home, front):
    names = [f"c{number}" for number in range(8)]
    started = [subprocess.Popen(
        [eden_path, "login", front.url, "--name", name, "--ca-pin", home.pin], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**daemons.environment(), "HOME": str(home.file.parents[2]), "EDEN_TOKEN": TOKEN})
        for name in names]
    for each in started:
        told_of_it = each.communicate(timeout=daemons.LIMIT)
        assert each.returncode == 0, told_of_it
    assert sorted(json.loads(home.file.read_text())["contexts"]) == names


def test_settings_are_where_xdg_says(home, front, tmp_path):
    done = home("login", front.url, "--ca-pin", home.pin,
                env={"EDEN_TOKEN": TOKEN, "XDG_CONFIG_HOME": str(tmp_path / "elsewhere")})
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "elsewhere/eden/contexts.json").read_text())
    assert list(kept["contexts"]) == ["blue"]  # as the cluster is called
    assert not home.file.exists()


def test_a_wrong_pin_sends_no_token(home, front):
    pin = "sha256:" + "0" * 64
    done = home("login", front.url, "--ca-pin", pin, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 4
    assert front.url in done.stderr
    assert pin in done.stderr and home.pin in done.stderr
    assert f"'eden login {front.url} --ca-pin sha256:...'" in done.stderr
    assert front.requests == []
    assert not home.file.exists()


def test_a_ca_that_was_exchanged_is_told_with_both_pins(logged_in, front, other_cluster):
    fake = Front(front.cluster, shows=other_cluster)
    try:
        kept = json.loads(logged_in.file.read_text())
        kept["contexts"]["prod"]["server"] = fake.url
        logged_in.file.write_text(json.dumps(kept))
        for args in (("login",), ("nodes", "list")):
            done = logged_in(*args, env={"EDEN_TOKEN": TOKEN})
            assert done.returncode == 4
            assert logged_in.pin in done.stderr
            assert other_cluster.founded["ca_pin"] in done.stderr
            assert "--name prod --ca-pin sha256:...'" in done.stderr
        assert fake.requests == []
    finally:
        fake.close()


def test_a_name_that_the_certificate_has_not_is_told_with_those_that_it_has(home, front):
    listener = socket.create_server(("127.0.0.2", 0))
    port = listener.getsockname()[1]

    def serve():
        try:
            with front.tls.wrap_socket(listener.accept()[0], server_side=True):
                pass
        except OSError:
            pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    done = home("login", f"127.0.0.2:{port}", "--name", "prod", "--ca-pin", home.pin,
                env={"EDEN_TOKEN": TOKEN})
    thread.join()
    listener.close()
    assert done.returncode == 4
    assert "mismatch: it is for " in done.stderr and "127.0.0.1" in done.stderr
    assert "'eden login https://NAME:PORT --name prod'" in done.stderr
    assert "'eden pki renew --serving'" in done.stderr


def test_what_speaks_no_tls_is_told(home, front):
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        client, _ = listener.accept()
        client.recv(4096)
        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        client.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    done = home("login", f"127.0.0.1:{listener.getsockname()[1]}", "--ca-pin", home.pin,
                env={"EDEN_TOKEN": TOKEN})
    thread.join()
    listener.close()
    assert done.returncode == 3
    assert "no TLS" in done.stderr and "port" in done.stderr


def test_a_token_to_join_with_is_told_apart(home, front):
    made = json.loads(front.cluster.call("tokens", "create", "-o", "json").stdout)["status"]
    done = home("login", front.url, "--ca-pin", home.pin, env={"EDEN_TOKEN": made["secret"]})
    assert done.returncode == 64
    assert "'eden join'" in done.stderr and "--role" in done.stderr
    assert made["secret"] not in done.stderr


def test_what_takes_the_place_of_a_context_is_told(logged_in, front):
    again = logged_in("login", "--name", "prod", env={"EDEN_TOKEN": TOKEN})
    assert (again.returncode, again.stderr) == (0, "")
    assert "  the same server, CA, user and roles\n" in again.stdout
    front.session = {**front.session, "name": "bob", "roles": ["admin", "viewer"]}
    front.token = "eden_4l2ygazs_" + "z" * 32
    other = Front(front.cluster)
    other.token, other.session = front.token, front.session
    done = logged_in("login", other.url, "--name", "prod", "--ca-pin", logged_in.pin,
                     env={"EDEN_TOKEN": front.token})
    other.close()
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"logged in to {other.url} as 'bob' (admin, viewer) until 2030-01-01T00:00:00Z\n"
        "context 'prod' is the current one\n"
        "it takes the place of what context 'prod' was:\n"
        f"  server  {front.url} -> {other.url}\n"
        "  user    ann -> bob\n"
        "  roles   not known -> admin, viewer\n")
    assert "'eden tokens revoke 4l2ygazs'" in done.stderr
    shown = told(logged_in, "context", "show")
    assert (shown["user"], shown["roles"]) == ("bob", ["admin", "viewer"])
    value = json.loads(logged_in("login", front.url, "--name", "prod", "--ca-pin", logged_in.pin, "-o",
                                 "json", env={"EDEN_TOKEN": front.token}).stdout)
    assert value["replaced"] == {"server": other.url, "ca_pin": logged_in.pin, "name": "bob",
                                 "roles": ["admin", "viewer"]}


def test_a_wrong_token_is_not_kept(home, front):
    done = home("login", front.url, "--ca-pin", home.pin,
                env={"EDEN_TOKEN": "eden_4l2ygazs_" + "m" * 32})
    assert done.returncode == 4
    assert "the server does not take the token: the token has expired\n" in done.stderr
    assert "'eden tokens create --role ROLE'" in done.stderr
    assert not home.file.exists()


def test_who_is_refused_is_not_told_to_be_root(eden_path, home, front):
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        shutil.copy(eden_path, place)
        done = subprocess.run(
            [f"{place}/{os.path.basename(eden_path)}", "login", front.url, "--ca-pin", home.pin],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=daemons.LIMIT, cwd="/",
            user=65534 if os.geteuid() == 0 else None,
            env={**daemons.environment(), "HOME": f"{place}/home",
                 "EDEN_TOKEN": "eden_4l2ygazs_" + "m" * 32})
    assert done.returncode == 4
    assert "the token has expired" in done.stderr
    assert "root" not in done.stderr


def test_what_is_no_token_is_not_sent(home, front):
    done = home("login", front.url, "--ca-pin", home.pin, env={"EDEN_TOKEN": "hunter2"})
    assert done.returncode == 64
    assert "hunter2" not in done.stderr
    assert not any("authorization" in fields for _, _, fields in front.requests)


def test_the_ca_may_come_as_a_file(home, front, tmp_path):
    ca = (front.cluster.state / "agent/ca.pem").read_text()
    (tmp_path / "ca.pem").write_text(ca)
    done = home("login", front.url, "--ca", tmp_path / "ca.pem", env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 0, done.stderr
    assert home("nodes", "list", "-o", "name").stdout == "s1\n"


def test_without_a_pin_and_nobody_to_ask_it_is_refused(home, front):
    done = home("login", front.url, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 64
    assert "--ca-pin" in done.stderr
    assert front.requests == []


def test_plain_http_is_refused(home, front):
    done = home("login", front.url.replace("https", "http"), "--ca-pin", home.pin)
    assert done.returncode == 64
    assert "https" in done.stderr


def test_a_token_in_the_command_line_is_no_option(home, front):
    done = home("login", front.url, "--ca-pin", home.pin, "--token", TOKEN)
    assert done.returncode == 64
    assert "--token-file" in done.stderr


def test_nobody_there_is_exit_code_3(home, front):
    port = front.port
    front.close()
    done = home("login", f"127.0.0.1:{port}", "--ca-pin", home.pin, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 3
    assert f"https://127.0.0.1:{port}" in done.stderr
    assert "refused" in done.stderr and f"firewalls let port {port} through" in done.stderr


def test_a_name_that_nobody_has_is_exit_code_3(logged_in):
    context = json.loads(logged_in.file.read_text())
    context["contexts"]["prod"]["server"] = "https://no-such-host.invalid:4444"
    context["contexts"]["prod"].pop("servers", None)
    logged_in.file.write_text(json.dumps(context))
    done = logged_in("nodes", "list")
    assert done.returncode == 3 and "error[E0810]" in done.stderr
    assert "the name has no address" in done.stderr and "is the name right?" in done.stderr
    done = logged_in("login", "no-such-host.invalid:4444", "--ca-pin", logged_in.pin,
                     env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 3 and "is the name right?" in done.stderr


class Typist:
    """`eden` at a terminal."""

    def __init__(self, argv, env):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, env)
        self.seen = ""

    def wait_for(self, text):
        while text not in self.seen:
            assert select.select([self.descriptor], [], [], daemons.LIMIT)[0], self.seen
            try:
                self.seen += os.read(self.descriptor, 4096).decode()
            except OSError:
                raise AssertionError(f"it ended: {self.seen}") from None

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def end(self):
        try:
            while select.select([self.descriptor], [], [], daemons.LIMIT)[0]:
                self.seen += os.read(self.descriptor, 4096).decode()
            raise AssertionError(f"it does not end: {self.seen}")
        except OSError:
            pass
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def typist(eden_path, home, front):
    return Typist([eden_path, "login", front.url, "--name", "prod"],
                  {**daemons.environment(), "HOME": str(home.file.parents[2])})


def test_at_a_terminal_the_pin_is_shown_and_the_token_is_not(typist, home):
    typist.wait_for("[y/N] ")
    assert home.pin in typist.seen
    typist.type("y\n")
    typist.wait_for("Token: ")
    typist.type(TOKEN[:-1] + "x\x7f" + TOKEN[-1] + "\n")
    assert typist.end() == 0, typist.seen
    assert TOKEN not in typist.seen
    assert json.loads(home.file.read_text())["contexts"]["prod"]["token"] == TOKEN


def test_who_does_not_confirm_the_pin_is_not_logged_in(typist, home, front):
    typist.wait_for("[y/N] ")
    typist.type("\n")
    assert typist.end() == 4
    assert not home.file.exists()
    assert all(target == "/v1/health" for _, target, _ in front.requests)


@pytest.mark.parametrize("number, host", [
    (signal.SIGTERM, "127.0.0.1"), (signal.SIGINT, "127.0.0.1"), (signal.SIGHUP, "127.0.0.1"),
    (signal.SIGTERM, "localhost")])  # looking a name up leaves threads that could take the signal
def test_a_signal_at_the_token_leaves_the_terminal_as_it_was(eden_path, home, front, number, host):
    typist = Typist([eden_path, "login", f"https://{host}:{front.port}", "--name", "prod", "--ca-pin",
                     home.pin], {**daemons.environment(), "HOME": str(home.file.parents[2])})
    before = termios.tcgetattr(typist.descriptor)
    typist.wait_for("Token: ")
    assert not termios.tcgetattr(typist.descriptor)[3] & termios.ECHO
    kept = os.dup(typist.descriptor)
    os.kill(typist.pid, number)
    assert typist.end() == (130 if number == signal.SIGINT else -number)
    assert termios.tcgetattr(kept) == before
    os.close(kept)


def test_an_interrupt_at_the_token_leaves_the_terminal_as_it_was(typist, home):
    typist.wait_for("[y/N] ")
    typist.type("y\n")
    typist.wait_for("Token: ")
    typist.type("abc\x03")
    assert typist.end() == 130
    assert not home.file.exists()


def test_the_rest_of_a_token_that_is_too_long_is_not_left_to_the_shell(eden_path, home, front):
    login = shlex.join([eden_path, "login", front.url, "--name", "prod"])
    typist = Typist(["sh", "-c", f"{login} --ca-pin {home.pin}; echo left: $(head -n 1)"],
                    {**daemons.environment(), "HOME": str(home.file.parents[2])})
    typist.wait_for("Token: ")
    typist.type("s" * 1000 + "\n")
    typist.wait_for("an answer longer than")
    typist.type("nothing\n")
    typist.end()
    assert "left: nothing\r\n" in typist.seen
    assert not home.file.exists()


def test_a_server_that_nobody_vouches_for_cannot_forge_the_question(eden_path, home, front):
    front.says["/v1/health"] = {"cluster": "blue', whose CA has the pin\n  sha256:" + "0" * 64 +
                                "\n\x1b[8m"}
    typist = Typist([eden_path, "login", front.url, "--name", "prod"],
                    {**daemons.environment(), "HOME": str(home.file.parents[2])})
    assert typist.end() == 3
    assert "[y/N]" not in typist.seen
    assert "\x1b[8m" not in typist.seen
    assert not home.file.exists()


def test_what_a_server_says_is_text_and_nothing_else(home, front):
    front.session = {"format": "eden.session/1", "name": "ann'\n\x1b[2Jbob"}
    done = home("login", front.url, "--name", "prod", "--ca-pin", home.pin, env={"EDEN_TOKEN": TOKEN})
    assert done.stdout == (f"logged in to {front.url} as 'ann'\\n\\x1b[2Jbob'\n"
                           "context 'prod' is the current one\n")
    front.says["/v1/nodes/s1"] = {"metadata": {"name": "s1\x1b[2J\ns2"}}
    assert home("nodes", "show", "s1", "-o", "name").stdout == "s1\\x1b[2J\\ns2\n"
    front.says["/v1/nodes/s1/ping"] = {"round_trip_ms": 1, "node_time": "12:00\x1b[2J\ns2"}
    assert home("nodes", "ping", "s1").stdout.endswith("its clock says 12:00\\x1b[2J\\ns2\n")


def test_what_was_kept_while_somebody_types_stays(typist, home, front):
    typist.wait_for("[y/N] ")
    typist.type("y\n")
    typist.wait_for("Token: ")
    done = home("login", front.url, "--name", "other", "--ca-pin", home.pin,
                env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 0, done.stderr
    typist.type(TOKEN + "\n")
    assert typist.end() == 0, typist.seen
    kept = json.loads(home.file.read_text())
    assert sorted(kept["contexts"]) == ["other", "prod"]
    assert kept["current"] == "prod"


def test_a_name_is_needed_before_a_certificate_is_made(home, front):
    front.says["/v1/health"] = {}
    done = home("login", front.url, "--certificate", "--ca-pin", home.pin, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 64
    assert "--name" in done.stderr
    assert all(method == "GET" for method, _, _ in front.requests)


def test_why_a_server_does_not_tell_the_name_of_its_cluster_is_told(home, front):
    front.says["/v1/health"] = {"code": "unavailable", "detail": "the store is away"}
    front.statuses["/v1/health"] = 503
    words = ("login", front.url, "--ca", str(front.cluster.state / "agent/ca.pem"))
    done = home(*words, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 3
    assert "how its cluster is called: the store is away\n" in done.stderr
    assert not home.file.exists()
    done = home(*words, "--name", "prod", env={"EDEN_TOKEN": TOKEN})
    assert (done.returncode, done.stderr) == (0, "")


def test_login_alone_renews_the_token(logged_in, front):
    front.token = "eden_4l2ygazs_" + "z" * 32
    done = logged_in("nodes", "list")
    assert done.returncode == 4
    assert "'eden login'" in done.stderr and "prod" in done.stderr
    done = logged_in("login", env={"EDEN_TOKEN": front.token})
    assert done.returncode == 0, done.stderr
    assert logged_in("nodes", "list", "-o", "name").stdout == "s1\n"


def test_logging_out_forgets_the_token_alone(logged_in, front):
    done = logged_in("logout")
    assert done.returncode == 0
    assert "eden tokens revoke 4l2ygazs" in done.stderr
    assert TOKEN not in logged_in.file.read_text()
    assert logged_in("nodes", "list").returncode == 4
    assert logged_in("login", env={"EDEN_TOKEN": TOKEN}).returncode == 0
    assert logged_in("nodes", "list").returncode == 0


def test_logging_out_is_of_the_context_of_the_environment(logged_in, front):
    done = logged_in("login", front.url, "--name", "other", "--ca-pin", logged_in.pin,
                     env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 0, done.stderr
    done = logged_in("logout", env={"EDEN_CONTEXT": "prod"})
    assert done.stdout == "context 'prod' has no token any more\n"
    kept = json.loads(logged_in.file.read_text())["contexts"]
    assert ("token" in kept["prod"], kept["other"]["token"]) == (False, TOKEN)


# --- as the server itself takes it ----------------------------------------------------------------

def make_token(cluster, role):
    """A token for the API, as a server makes it."""
    return json.loads(cluster.call("tokens", "create", "--role", role, "-o", "json").stdout)["status"]


def test_a_token_opens_the_server_from_elsewhere(home, front, tmp_path):
    cluster = front.cluster
    made = make_token(cluster, "admin")
    server = f"https://127.0.0.1:{cluster.api_port}"
    done = home("login", server, "--ca-pin", made["ca_pin"], "--token-file", "-", input=made["secret"])
    assert done.returncode == 0, done.stderr
    assert f"until {made['expires']}" in done.stdout
    assert home("put", "/test/a", "b", "--reason", "to see it").returncode == 0
    assert home("get", "/test/a").stdout == "b\n"
    assert home("nodes", "list", "-o", "name").stdout == "s1\n"
    assert home("backup", "create", tmp_path / "blue.eden").returncode == 0
    assert home("complete", "role", "--refresh").returncode == 0
    assert home("complete", "role").stdout.split() == ["admin", "operator", "viewer"]
    seen = {check["name"]: check for check in json.loads(
        home("doctor", "-o", "json", "--state-dir", tmp_path / "none").stdout)["checks"]}
    for name in ("contexts", "context-cas", "context-tokens", "context-server", "server-version",
                 "clock", "waiting", "certificates", "rotation", "tokens", "versions"):
        assert seen[name]["state"] == "ok", seen[name]
    assert seen["silent"]["state"] == "warning" and "s1" in seen["silent"]["text"]
    table = home("doctor", "--state-dir", tmp_path / "none").stdout
    assert "this machine is not a member" in table
    for name in ("state ", "state-disk", "agent", "server-files", "disk", "ports"):
        assert not re.search(rf"^{name}", table, re.MULTILINE), table
    done = home("doctor", "--context", "nobody")
    assert done.returncode == 64 and "there is no context 'nobody'" in done.stderr
    for check in json.loads(home("doctor", "-o", "json", "--context", "local", "--state-dir",
                                 tmp_path / "none").stdout)["checks"]:
        if check["name"] == "context-server":
            assert check["state"] == "skipped"


def other_settings(home):
    """A copy of the settings, to spoil."""
    other = home.file.parents[1].with_name("other-settings")
    shutil.copytree(home.file.parents[1], other)
    return other


def test_a_certificate_takes_the_place_of_a_token(home, front):
    cluster = front.cluster
    made = make_token(cluster, "admin")
    done = home("login", f"127.0.0.1:{cluster.api_port}", "--ca-pin", made["ca_pin"], "--token-file",
                "-", "--certificate", input=made["secret"])
    assert done.returncode == 0, done.stderr
    kept = json.loads(home.file.read_text())["contexts"]["blue"]
    assert "token" not in kept
    assert kept["key"].startswith("-----BEGIN PRIVATE KEY-----")
    cluster.call("tokens", "revoke", made["secret"].split("_")[1])
    assert home("nodes", "list", "-o", "name").stdout == "s1\n"
    assert told(home, "api", "GET", "/v1/session")["by"] == "certificate"
    assert told(home, "context", "show")["credential"] == "certificate"
    done = home("logout", env={"XDG_CONFIG_HOME": str(other_settings(home))})
    assert done.returncode == 0, done.stderr
    assert done.stdout == "context 'blue' has no certificate any more\n"
    line = re.search(r"stays good until (\S+), .*'eden (pki revoke [0-9a-f]+)'", done.stderr)
    assert line, done.stderr
    assert line[1] == kept["expires"]
    serial = next(c["metadata"]["name"] for c in told(home, "api", "GET", "/v1/certificates")["items"]
                  if c["status"]["usage"] == "user")
    assert line[2] == f"pki revoke {serial}"
    cluster.call(*line[2].split())
    assert home("nodes", "list").returncode == 4


def test_a_certificate_is_made_with_the_token_that_is_kept(home, front):
    cluster = front.cluster
    made = make_token(cluster, "admin")
    server = f"127.0.0.1:{cluster.api_port}"
    done = home("login", server, "--ca-pin", made["ca_pin"], "--token-file", "-", input=made["secret"])
    assert done.returncode == 0, done.stderr
    done = home("login", "--certificate")
    assert done.returncode == 0, done.stderr
    assert "taking the token of context 'blue'\n" in done.stderr
    assert "token" not in json.loads(home.file.read_text())["contexts"]["blue"]
    serial = next(c["metadata"]["name"] for c in told(home, "api", "GET", "/v1/certificates")["items"]
                  if c["status"]["usage"] == "user")
    listed = next(line.split() for line in home("pki").stdout.splitlines() if serial in line)
    assert (listed[0], listed[2], listed[4]) == ("user", "good", "-")
    user, = told(home, "pki", "list")["users"]
    assert (user["name"], user["serial"], user["roles"]) == (listed[1], serial, ["admin"])
    done = home("login", "--certificate")  # no token any more
    assert done.returncode == 64 and "needs a token" in done.stderr


def test_the_token_that_is_kept_is_for_its_own_server_and_ca(home, front, other_cluster):
    made = make_token(front.cluster, "admin")
    server = f"127.0.0.1:{front.cluster.api_port}"
    assert home("login", server, "--name", "prod", "--ca-pin", made["ca_pin"], "--token-file", "-",
                input=made["secret"]).returncode == 0
    other_ca = other_cluster.state / "agent/ca.pem"
    for words in ((front.url, "--ca-pin", home.pin), (server, "--ca", other_ca)):
        done = home("login", *words, "--name", "prod", "--certificate")
        assert done.returncode == 64 and "needs a token" in done.stderr
        assert "taking the token" not in done.stderr
    assert not any("authorization" in fields for _, _, fields in front.requests)


def test_the_port_for_nodes_is_told(home, front):
    done = home("login", f"127.0.0.1:{front.cluster.rpc_port}", "--name", "prod", "--ca-pin", home.pin,
                env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 4
    assert "that is the port for nodes, 1337" in done.stderr
    assert "the API is on another one, 1338" in done.stderr
    assert "pin" not in done.stderr
    assert not home.file.exists()


def test_a_role_and_a_revoked_token_are_told_by_exit_code_4(home, front):
    cluster = front.cluster
    made = make_token(cluster, "viewer")
    home("login", f"127.0.0.1:{cluster.api_port}", "--ca-pin", made["ca_pin"], "--token-file", "-",
         input=made["secret"])
    assert home("nodes", "list").returncode == 0
    done = home("put", "/test/a", "b")
    assert done.returncode == 4
    assert "viewer" in done.stderr and "context 'blue'" in done.stderr
    cluster.call("tokens", "revoke", made["secret"].split("_")[1])
    done = home("nodes", "list")
    assert done.returncode == 4
    assert "'eden login'" in done.stderr
    seen = {check["name"]: check for check in json.loads(home("doctor", "-o", "json").stdout)["checks"]}
    assert seen["context-server"]["state"] == "failed"
    assert "'eden login'" in seen["context-server"]["fix"]


# --- api ------------------------------------------------------------------------------------------

def test_any_request_can_be_made(logged_in, front):
    done = logged_in("api", "put", "/v1/store?key=%2Ftest%2Fa", "-d", '{"value":"b"}',
                     "-H", "Eden-Reason: because")
    assert done.returncode == 0, done.stderr
    assert front.requests[-1][2]["eden-reason"] == "because"
    assert told(logged_in, "api", "GET", "/v1/store?key=%2Ftest%2Fa")["value"] == "b"
    done = logged_in("api", "PUT", "/v1/store?key=%2Ftest%2Fa", "-f", "-", input='{"value":"c"}')
    assert done.returncode == 0
    assert "value: c" in logged_in("api", "GET", "/v1/store?key=%2Ftest%2Fa", "-o", "yaml").stdout
    done = logged_in("api", "GET", "/v1/health", "-i")
    assert done.stdout.startswith("HTTP/1.1 200 OK\n")
    assert "\n\n{" in done.stdout


def test_what_a_server_refuses_is_printed_and_told_by_the_exit_code(logged_in):
    done = logged_in("api", "GET", "/v1/nodes/nobody")
    assert done.returncode != 0
    assert json.loads(done.stdout)["status"] == 404
    assert logged_in("api", "PUT", "/v1/store?key=%2Fx", "-d", "{").returncode == 1


def test_an_answer_is_printed_as_it_comes(logged_in, front, eden_path):
    front.events = queue.Queue()
    process = subprocess.Popen(
        [eden_path, "api", "GET", "/v1/nodes?watch=ndjson"], stdout=subprocess.PIPE, text=True,
        env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
    try:
        front.events.put(event("added", "web1"))
        assert json.loads(process.stdout.readline()) == event("added", "web1")
        front.events.put(None)
        assert process.wait(daemons.LIMIT) == 0
    finally:
        process.kill()
        process.communicate()


def test_an_answer_too_long_for_another_form_is_told(logged_in, front):
    front.says["/v1/nodes"] = {"items": ["x" * (16 << 20)]}
    done = logged_in("api", "GET", "/v1/nodes", "-o", "yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "-o raw" in done.stderr
    done = logged_in("api", "GET", "/v1/nodes")
    assert (done.returncode, json.loads(done.stdout)) == (0, front.says["/v1/nodes"])
    front.says["/v1/pki"] = front.says["/v1/nodes"]
    done = logged_in("pki", "list")
    assert done.returncode == 1
    assert "answers more than is taken" in done.stderr


@pytest.mark.parametrize("words", [
    ["FETCH", "/v1/nodes"], ["GET", "v1/nodes"], ["GET", "/v1/no des"],
    ["GET", "/v1/nodes", "-H", "none"], ["GET", "/v1/nodes", "-H", "a b: c"],
    ["GET", "/v1/nodes", "-H", "Authorization: Bearer x"], ["GET", "/v1/nodes", "-H", "a: b\nc: d"],
    ["POST", "/v1/nodes", "-d", "{}", "-f", "x"],
])
def test_a_request_that_cannot_be_is_a_wrong_command_line(logged_in, front, words):
    front.requests.clear()
    assert logged_in("api", *words).returncode == 64
    assert front.requests == []


# --- --watch --------------------------------------------------------------------------------------

def event(type, name=None, state="alive"):
    return {"type": type, "object": name and {
        "metadata": {"name": name, "labels": {}}, "spec": {}, "status": {"state": state}}}


@pytest.fixture
def watch(logged_in, front, eden_path):
    """`eden nodes list --watch`, and the queue of what it is told."""
    front.events = queue.Queue()
    started = []

    def start(*words):
        process = subprocess.Popen(
            [eden_path, "nodes", "list", "--watch", *words], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
        started.append(process)
        return process, front.events

    yield start
    for process in started:
        process.kill()
        process.communicate()
    front.events.put(None)


def test_a_list_goes_on_with_its_changes(watch, front):
    process, events = watch("-l", "role=web")
    for each in (event("added", "web1"), event("added", "web2", "silent"), {}, event("synced")):
        events.put(each)
    assert process.stdout.readline().startswith("NAME")
    assert process.stdout.readline().split()[:2] == ["web1", "alive"]
    assert process.stdout.readline().split()[:2] == ["web2", "silent"]
    events.put(event("changed", "web2"))
    assert process.stdout.readline().split()[:3] == ["changed", "web2", "alive"]
    events.put(event("deleted", "web1"))
    assert process.stdout.readline().split() == ["deleted", "web1"]
    assert front.requests[-1][1] == "/v1/nodes?watch=ndjson&selector=role%3Dweb"
    # When it ends, it is asked for again, and all is shown anew.
    events.put(None)
    assert "trying again" in process.stderr.readline()
    for each in (event("added", "web2"), event("synced")):
        events.put(each)
    assert process.stdout.readline().startswith("NAME")
    assert process.stdout.readline().split()[:2] == ["web2", "alive"]


def started_watch(watch, *words):
    process, events = watch(*words)
    for each in (event("added", "web1"), event("synced")):
        events.put(each)
    assert process.stdout.readline().startswith("NAME")
    assert process.stdout.readline().split()[0] == "web1"
    return process, events


def test_a_watch_tells_once_what_is_wrong_and_when_it_is_back(watch, front):
    process, events = started_watch(watch)
    front.close()
    events.put(None)
    assert process.stderr.readline() == "the server has ended the watch; trying again\n"
    line = process.stderr.readline()
    assert line.startswith(f"the watch has ended: {front.url} (context 'prod'): "), line
    assert "refused" in line and line.endswith("; trying again\n"), line
    again = Front(front.cluster, port=front.port)
    try:
        again.events = events
        for each in (event("added", "web2"), event("synced")):
            events.put(each)
        assert re.fullmatch(r"the watch goes on after \d+ seconds?\n", process.stderr.readline())
        assert process.stdout.readline().startswith("NAME")
        assert process.stdout.readline().split()[0] == "web2"
    finally:
        again.close()


def test_a_watch_ends_when_the_token_is_taken_back(watch, front):
    process, events = started_watch(watch)
    front.token = "eden_4l2ygazs_" + "z" * 32
    events.put(None)
    _, err = process.communicate(timeout=daemons.LIMIT)
    assert process.returncode == 4
    assert "the token has expired" in err and "'eden login'" in err


def test_a_watch_ends_at_a_server_with_another_ca(watch, front, other_cluster):
    process, events = started_watch(watch)
    front.close()
    fake = Front(front.cluster, shows=other_cluster, port=front.port)
    events.put(None)
    _, err = process.communicate(timeout=daemons.LIMIT)
    fake.close()
    assert process.returncode == 4
    assert "E0814" in err and "--ca-pin" in err
    assert fake.requests == []


def test_a_watch_stays_with_its_server_when_another_context_is_used(watch, logged_in, front):
    process, events = started_watch(watch)
    assert logged_in("context", "use", "local").returncode == 0
    events.put(None)
    assert "trying again" in process.stderr.readline()
    for each in (event("added", "web2"), event("synced")):
        events.put(each)
    assert process.stdout.readline().startswith("NAME")
    assert process.stdout.readline().split()[0] == "web2"


def test_a_watch_of_keys_stays_with_its_server_too(logged_in, front, eden_path):
    process = subprocess.Popen(
        [eden_path, "watch", "/test/a", "--from", "1"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
    try:
        front.cluster.call("put", "/test/a", "one")
        assert "one" in asking.next_line(process.stdout)
        assert logged_in("context", "use", "local").returncode == 0
        front.cluster.server.stop()
        front.cluster.start()
        front.cluster.call("put", "/test/a", "two")
        assert "two" in asking.next_line(process.stdout)
    finally:
        process.kill()
        process.communicate()


def test_a_watch_of_a_socket_ends_at_another_cluster(front, eden_path, other_cluster):
    process = subprocess.Popen(
        [eden_path, "nodes", "list", "--watch", "--run-dir", front.cluster.run],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=daemons.environment())
    try:
        assert process.stdout.readline().startswith("NAME")
        front.cluster.server.stop()
        other_cluster.run = front.cluster.run
        other_cluster.start()
        _, err = process.communicate(timeout=daemons.LIMIT)
        assert process.returncode == 5, err
        assert "of cluster 'red' now, it was of 'blue'" in err
    finally:
        process.kill()
        process.communicate()


def test_a_watch_tells_programs_everything(watch):
    process, events = watch("-o", "json")
    told_now = [event("added", "web1"), event("synced"), event("changed", "web1", "silent")]
    for each in told_now:
        events.put(each)
        assert json.loads(process.stdout.readline()) == each


@pytest.mark.parametrize("form", ["yaml", "jsonpath={.metadata.name}"])
def test_a_watch_in_a_form_that_it_has_not_is_wrong_usage(logged_in, front, form):
    done = logged_in("nodes", "list", "--watch", "-o", form)
    assert (done.returncode, done.stdout) == (64, "")
    assert "--watch prints tables, names or JSON" in done.stderr
    assert [target for _, target, _ in front.requests] == ["/v1/health", "/v1/session"]  # the login


@pytest.mark.parametrize("words", [["nodes", "list", "--watch"], ["audit", "tail", "--follow"]])
def test_what_cannot_be_printed_is_told_once_and_not_as_the_words_of_the_server(
        logged_in, front, eden_path, words):
    front.cluster.call("nodes", "label", "s1", "rack=7")  # something that is audited
    with open("/dev/full", "w") as full:
        done = subprocess.run([eden_path, *words], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=daemons.LIMIT,
                              env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
    assert done.returncode == 1
    assert done.stderr == "eden: standard output: cannot write: No space left on device\n"


def test_an_answer_that_is_no_watch_ends_it(watch):
    process, events = watch()
    events.put({"metadata": {"kind": "NodeList"}, "items": []})
    out, err = process.communicate(timeout=daemons.LIMIT)
    assert process.returncode == 1
    assert "is no watch" in err


def test_a_real_server_tells_of_its_nodes(logged_in, front, eden_path):
    process = subprocess.Popen(
        [eden_path, "nodes", "list", "--watch", "--run-dir", front.cluster.run],
        stdout=subprocess.PIPE, text=True, env=daemons.environment())
    try:
        assert process.stdout.readline().startswith("NAME")
        assert process.stdout.readline().split()[0] == "s1"
        front.cluster.call("nodes", "label", "s1", "rack=7")
        assert "rack=7" in process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


# --- context --------------------------------------------------------------------------------------

@pytest.mark.parametrize("words", [
    ("context", "use", "prd"), ("context", "remove", "prd"), ("logout", "prd"), ("logout",),
    ("logout", "local"), ("context", "remove", "local"), ("context", "show", "prd")])
def test_a_wrong_name_leaves_nothing_behind(eden, tmp_path, words):
    (tmp_path / "home").mkdir()
    done = eden(*words, env={"HOME": str(tmp_path / "home")})
    assert done.returncode == 64
    assert list((tmp_path / "home").iterdir()) == []


def test_contexts_are_listed_shown_used_and_removed(logged_in, front):
    listed = told(logged_in, "context")
    assert [(c["name"], c["current"], c["credential"]) for c in listed["contexts"]] == [
        ("prod", True, "token 4l2ygazs"), ("local", False, "none")]
    assert logged_in("contexts", "list", "-o", "name").stdout == "prod\nlocal\n"
    shown = told(logged_in, "context", "show")
    assert (shown["servers"], shown["ca_pin"]) == ([front.url], logged_in.pin)
    assert TOKEN not in logged_in("context", "show", "prod").stdout
    assert logged_in("context", "use", "local").returncode == 0
    assert told(logged_in, "context", "show")["name"] == "local"
    assert logged_in("nodes", "list").returncode == 3  # no server on this machine
    assert logged_in("nodes", "list", "--context", "prod").returncode == 0
    assert logged_in("nodes", "list", env={"EDEN_CONTEXT": "prod"}).returncode == 0
    assert logged_in("context", "use", "prd").returncode == 64
    assert "did you mean 'prod'" in logged_in("context", "use", "prd").stderr
    assert "did you mean 'prod'" in logged_in("logout", "prd").stderr
    done = logged_in("context", "remove", "prod")
    assert done.returncode == 0 and "eden tokens revoke" in done.stderr
    assert told(logged_in, "context")["contexts"][0]["name"] == "local"
    assert logged_in("context", "remove", "local").returncode == 64


def test_a_context_that_is_not_there_is_a_wrong_command_line(logged_in):
    done = logged_in("nodes", "list", "--context", "prd")
    assert done.returncode == 64
    assert "did you mean 'prod'" in done.stderr
    done = logged_in("nodes", "list", env={"EDEN_CONTEXT": "other"})
    assert done.returncode == 64
    assert "EDEN_CONTEXT" in done.stderr


def test_a_ca_that_cannot_be_read_is_no_pin(logged_in):
    kept = json.loads(logged_in.file.read_text())
    kept["contexts"]["prod"]["ca"] = "gone.pem"
    logged_in.file.write_text(json.dumps(kept))
    shown = told(logged_in, "context", "show")
    assert (shown["ca_pin"], shown["ca_expires"]) == (None, None)
    assert shown["problem"].endswith("/gone.pem: No such file or directory")
    assert "problem     /" in logged_in("context", "show").stdout


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_of_a_proxy_is_not_the_servers(logged_in, front, status):
    front.says = {target: "Blocked by the proxy" for target in ("/v1/session", "/v1/nodes/s1")}
    front.statuses = dict.fromkeys(front.says, status)
    done = logged_in("nodes", "show", "s1")
    assert done.returncode == 1 and "error[E0812]" in done.stderr
    assert f"not eden, but something between, with status {status}" in done.stderr
    assert "Blocked by the proxy" in done.stderr and "eden login" not in done.stderr
    kept = logged_in.file.read_text()
    done = logged_in("login", "--token-file", "-", input=TOKEN)
    assert done.returncode == 1 and "nobody knows whether the token is good" in done.stderr
    assert "is there a proxy between" in done.stderr and "does not take" not in done.stderr
    assert logged_in.file.read_text() == kept
    assert logged_in("api", "GET", "/v1/nodes/s1").returncode == 1


@pytest.mark.parametrize("words, target", [
    (["nodes", "list", "--watch"], "/v1/nodes?watch=ndjson"),
    (["audit", "tail", "--follow"], "/v1/audit?limit=1"),  # the second that it asks for
    (["watch", "/a"], "/v1/watch?key=%2Fa"),
    (["backup", "create", "here"], "/v1/backup"),
    (["pki", "revoke", "0" * 32], "/v1/pki/revoke"),
    (["pki", "rotate", "--status"], "/v1/pki"),
])
def test_who_may_not_is_not_told_to_log_in_again(logged_in, front, words, target):
    front.says[target] = {"code": "denied", "detail": "you may not"}
    front.statuses[target] = 403
    done = logged_in(*words)
    assert done.returncode == 4
    assert "error[E0852]: you may not\n" in done.stderr
    assert "eden login" not in done.stderr


def test_two_servers_named_is_a_wrong_command_line(logged_in, front):
    done = logged_in("nodes", "list", "--context", "prod", "--run-dir", front.cluster.run)
    assert done.returncode == 64


def test_a_run_directory_means_the_socket_in_it(logged_in, front):
    front.requests.clear()
    done = logged_in("nodes", "list", "--run-dir", front.cluster.run)
    assert done.returncode == 0, done.stderr
    assert front.requests == []


def test_contexts_that_others_may_read_are_refused(logged_in):
    logged_in.file.chmod(0o644)
    done = logged_in("nodes", "list")
    assert done.returncode == 4
    assert "chmod 600" in done.stderr
    assert logged_in("context", "list").returncode == 4


@pytest.mark.parametrize("text, says", [
    ("{", "line 1"),
    ('{"format":"eden.contexts/2","contexts":{}}', "eden.contexts/1"),
    ('{"format":"eden.contexts/1","contexts":{"a":{"server":"https://x","tokne":"y"}}}',
     "did you mean 'token'"),
    ('{"format":"eden.contexts/1","contexts":{"a":{"server":"http://x"}}}', "https"),
    ('{"format":"eden.contexts/1","contexts":{"a":{}}}', "server: is missing"),
    ('{"format":"eden.contexts/1","current":"b","contexts":{}}', "current"),
])
def test_contexts_that_make_no_sense_are_told(home, text, says):
    home.file.parent.mkdir(parents=True)
    home.file.write_text(text)
    home.file.chmod(0o600)
    done = home("nodes", "list")
    assert done.returncode == 1
    assert "contexts.json" in done.stderr and says in done.stderr
    assert "E0815" in done.stderr


# --- every command --------------------------------------------------------------------------------

def test_commands_ask_the_server_elsewhere(logged_in, front):
    fill(front.cluster)
    assert "web2" in logged_in("nodes", "list", "-o", "name").stdout
    assert logged_in("nodes", "label", "web1", "role=web", "--reason", "new rack").returncode == 0
    method, _, fields = front.requests[-1]
    assert (method, fields["eden-reason"]) == ("PATCH", "new rack")
    assert fields["host"] == f"127.0.0.1:{front.port}"
    assert logged_in("facts", "--node", "web1", "os").returncode == 0
    assert logged_in("put", "/test/a", "b").returncode == 0
    assert logged_in("get", "/test/a").stdout == "b\n"
    assert logged_in("pki", "list").returncode == 0
    assert logged_in("tokens", "list").returncode == 0


def test_a_reason_is_one_line(logged_in):
    done = logged_in("put", "/test/a", "b", "--reason", "two\nlines")
    assert done.returncode == 64
    assert "--reason" in done.stderr


def test_a_watch_goes_over_https(logged_in, front, eden_path):
    watching = subprocess.Popen(
        [eden_path, "watch", "/test/", "--prefix", "--from", "1", "-o", "json"],
        stdout=subprocess.PIPE, text=True,
        env={**daemons.environment(), "HOME": str(logged_in.file.parents[2])})
    try:
        front.cluster.call("put", "/test/a", "one")
        assert json.loads(watching.stdout.readline())["value"] == "one"
        front.cluster.call("put", "/test/a", "two")
        assert json.loads(watching.stdout.readline())["value"] == "two"
    finally:
        watching.terminate()
        watching.communicate()


def test_a_backup_goes_over_https(logged_in, tmp_path):
    done = logged_in("backup", "create", tmp_path / "blue.eden")
    assert done.returncode == 0, done.stderr
    assert logged_in("backup", "verify", tmp_path / "blue.eden", "--scratch", tmp_path).returncode == 0


def test_a_server_with_another_ca_is_not_trusted(logged_in, front, tmp_path):
    other = daemons.Cluster(front.cluster.eden_path, tmp_path, name="s9", cluster="red")
    port = front.port
    context = json.loads(logged_in.file.read_text())
    fake = Front(front.cluster, shows=other)
    try:
        context["contexts"]["prod"]["server"] = fake.url
        logged_in.file.write_text(json.dumps(context))
        done = logged_in("nodes", "list")
        assert done.returncode == 4
        assert "E0814" in done.stderr and "prod" in done.stderr and fake.url in done.stderr
        assert "eden login" in done.stderr
        assert fake.requests == []
        assert port != fake.port
    finally:
        fake.close()


def test_the_next_server_is_asked_when_one_is_away(logged_in, front):
    context = json.loads(logged_in.file.read_text())
    context["contexts"]["prod"].update(server="https://127.0.0.1:1", servers=[front.url])
    logged_in.file.write_text(json.dumps(context))
    assert logged_in("put", "/test/a", "b").returncode == 0
    context["contexts"]["prod"]["servers"] = []
    logged_in.file.write_text(json.dumps(context))
    done = logged_in("put", "/test/a", "b")
    assert done.returncode == 3
    assert "https://127.0.0.1:1 (context 'prod')" in done.stderr


def test_a_token_may_lie_in_a_file(logged_in, front, tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    context = json.loads(logged_in.file.read_text())
    del context["contexts"]["prod"]["token"]
    context["contexts"]["prod"]["token_file"] = str(tmp_path / "token")
    logged_in.file.write_text(json.dumps(context))
    assert logged_in("nodes", "list").returncode == 0
    (tmp_path / "token").unlink()
    done = logged_in("nodes", "list")
    assert done.returncode == 1
    assert re.search(r"context 'prod'.*token", done.stderr)
