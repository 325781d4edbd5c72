"""Logging in to a cluster from another machine, and logging out."""

import json
import os
import pty
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

import daemons
import pytest
from remote_server import TOKEN, RemoteServer, output


# --- login ----------------------------------------------------------------------------------------

def test_login_stores_a_private_context(home, remote):
    done = home("login", remote.url, "--name", "prod", "--ca-pin", home.pin, env={"EDEN_TOKEN": TOKEN})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (f"logged in to {remote.url} as 'ann' until 2030-01-01T00:00:00Z\n"
                           "switched to context 'prod'\n")
    assert stat.S_IMODE(home.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.file.parent.stat().st_mode) == 0o700
    kept = json.loads(home.file.read_text())
    assert kept["format"] == "eden.contexts/1"
    assert kept["current"] == "prod"
    assert kept["contexts"]["prod"]["server"] == remote.url
    assert kept["contexts"]["prod"]["token"] == TOKEN
    assert kept["contexts"]["prod"]["ca"].startswith("-----BEGIN CERTIFICATE-----")
    assert sorted(os.listdir(home.file.parent)) == ["contexts.json", "contexts.lock"]


def test_concurrent_logins_lose_nothing(eden_path, home, remote):
    names = [f"c{number}" for number in range(8)]
    started = [subprocess.Popen(
        [eden_path, "login", remote.url, "--name", name, "--ca-pin", home.pin], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**daemons.environment(), "HOME": str(home.file.parents[2]), "EDEN_TOKEN": TOKEN})
        for name in names]
    for each in started:
        reported_it = each.communicate(timeout=daemons.LIMIT)
        assert each.returncode == 0, reported_it
    assert sorted(json.loads(home.file.read_text())["contexts"]) == names


def test_settings_follow_xdg(home, remote, tmp_path):
    done = home("login", remote.url, "--ca-pin", home.pin,
                env={"EDEN_TOKEN": TOKEN, "XDG_CONFIG_HOME": str(tmp_path / "elsewhere")})
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "elsewhere/eden/contexts.json").read_text())
    assert list(kept["contexts"]) == ["blue"]  # the name of the cluster
    assert not home.file.exists()


def test_a_wrong_pin_sends_no_token(home, remote):
    pin = "sha256:" + "0" * 64
    done = home("login", remote.url, "--ca-pin", pin, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 4
    assert remote.url in done.stderr
    assert pin in done.stderr and home.pin in done.stderr
    assert f"'eden login {remote.url} --ca-pin sha256:...'" in done.stderr
    assert remote.requests == []
    assert not home.file.exists()


def test_a_rotated_ca_is_reported_with_both_pins(logged_in, remote, other_cluster):
    fake = RemoteServer(remote.cluster, shows=other_cluster)
    try:
        kept = json.loads(logged_in.file.read_text())
        kept["contexts"]["prod"]["server"] = fake.url
        logged_in.file.write_text(json.dumps(kept))
        for args in (("login",), ("nodes", "list")):
            done = logged_in(*args, env={"EDEN_TOKEN": TOKEN})
            assert done.returncode == 4
            assert logged_in.pin in done.stderr
            assert other_cluster.init_output["ca_pin"] in done.stderr
            assert "--name prod --ca-pin sha256:...'" in done.stderr
        assert fake.requests == []
    finally:
        fake.close()


def test_a_name_missing_in_the_certificate_is_reported_with_its_names(home, remote):
    listener = socket.create_server(("127.0.0.2", 0))
    port = listener.getsockname()[1]

    def serve():
        try:
            with remote.tls.wrap_socket(listener.accept()[0], server_side=True):
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
    assert "mismatch: it is valid for " in done.stderr and "127.0.0.1" in done.stderr
    assert "'eden login https://NAME:PORT --name prod'" in done.stderr
    assert "'eden pki renew --serving'" in done.stderr


def test_a_server_without_tls_is_reported(home, remote):
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
    assert "does not support TLS" in done.stderr and "port" in done.stderr


def test_a_join_token_is_recognized(home, remote):
    made = json.loads(remote.cluster.call("tokens", "create", "-o", "json").stdout)["status"]
    done = home("login", remote.url, "--ca-pin", home.pin, env={"EDEN_TOKEN": made["secret"]})
    assert done.returncode == 64
    assert "'eden join'" in done.stderr and "--role" in done.stderr
    assert made["secret"] not in done.stderr


def test_a_replaced_context_is_reported(logged_in, remote):
    again = logged_in("login", "--name", "prod", env={"EDEN_TOKEN": TOKEN})
    assert (again.returncode, again.stderr) == (0, "")
    assert "  the same server, CA, user and roles\n" in again.stdout
    remote.session = {**remote.session, "name": "bob", "roles": ["admin", "viewer"]}
    remote.token = "eden_4l2ygazs_" + "z" * 32
    other = RemoteServer(remote.cluster)
    other.token, other.session = remote.token, remote.session
    done = logged_in("login", other.url, "--name", "prod", "--ca-pin", logged_in.pin,
                     env={"EDEN_TOKEN": remote.token})
    other.close()
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"logged in to {other.url} as 'bob' (admin, viewer) until 2030-01-01T00:00:00Z\n"
        "switched to context 'prod'\n"
        "replaces the previous context 'prod':\n"
        f"  server  {remote.url} -> {other.url}\n"
        "  user    ann -> bob\n"
        "  roles   unknown -> admin, viewer\n")
    assert "'eden tokens revoke 4l2ygazs'" in done.stderr
    shown = output(logged_in, "context", "show")
    assert (shown["user"], shown["roles"]) == ("bob", ["admin", "viewer"])
    value = json.loads(logged_in("login", remote.url, "--name", "prod", "--ca-pin", logged_in.pin, "-o",
                                 "json", env={"EDEN_TOKEN": remote.token}).stdout)
    assert value["replaced"] == {"server": other.url, "ca_pin": logged_in.pin, "name": "bob",
                                 "roles": ["admin", "viewer"]}


def test_a_wrong_token_is_not_stored(home, remote):
    done = home("login", remote.url, "--ca-pin", home.pin,
                env={"EDEN_TOKEN": "eden_4l2ygazs_" + "m" * 32})
    assert done.returncode == 4
    assert "the server rejected the token: the token has expired\n" in done.stderr
    assert "'eden tokens create --role ROLE'" in done.stderr
    assert not home.file.exists()


def test_rejected_callers_are_not_advised_to_use_root(eden_path, home, remote):
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        shutil.copy(eden_path, place)
        done = subprocess.run(
            [f"{place}/{os.path.basename(eden_path)}", "login", remote.url, "--ca-pin", home.pin],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=daemons.LIMIT, cwd="/",
            user=65534 if os.geteuid() == 0 else None,
            env={**daemons.environment(), "HOME": f"{place}/home",
                 "EDEN_TOKEN": "eden_4l2ygazs_" + "m" * 32})
    assert done.returncode == 4
    assert "the token has expired" in done.stderr
    assert "root" not in done.stderr


def test_invalid_tokens_are_not_sent(home, remote):
    done = home("login", remote.url, "--ca-pin", home.pin, env={"EDEN_TOKEN": "hunter2"})
    assert done.returncode == 64
    assert "hunter2" not in done.stderr
    assert not any("authorization" in fields for _, _, fields in remote.requests)


def test_the_ca_can_be_a_file(home, remote, tmp_path):
    ca = (remote.cluster.state / "agent/ca.pem").read_text()
    (tmp_path / "ca.pem").write_text(ca)
    done = home("login", remote.url, "--ca", tmp_path / "ca.pem", env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 0, done.stderr
    assert home("nodes", "list", "-o", "name").stdout == "s1\n"


def test_without_a_pin_and_a_terminal_login_is_rejected(home, remote):
    done = home("login", remote.url, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 64
    assert "--ca-pin" in done.stderr
    assert remote.requests == []


def test_plain_http_is_rejected(home, remote):
    done = home("login", remote.url.replace("https", "http"), "--ca-pin", home.pin)
    assert done.returncode == 64
    assert "https" in done.stderr


def test_a_token_on_the_command_line_is_not_an_option(home, remote):
    done = home("login", remote.url, "--ca-pin", home.pin, "--token", TOKEN)
    assert done.returncode == 64
    assert "--token-file" in done.stderr


def test_an_unreachable_server_is_exit_code_3(home, remote):
    port = remote.port
    remote.close()
    done = home("login", f"127.0.0.1:{port}", "--ca-pin", home.pin, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 3
    assert f"https://127.0.0.1:{port}" in done.stderr
    assert "refused" in done.stderr and f"firewalls allow port {port}" in done.stderr


def test_an_unknown_host_is_exit_code_3(logged_in):
    context = json.loads(logged_in.file.read_text())
    context["contexts"]["prod"]["server"] = "https://no-such-host.invalid:4444"
    context["contexts"]["prod"].pop("servers", None)
    logged_in.file.write_text(json.dumps(context))
    done = logged_in("nodes", "list")
    assert done.returncode == 3 and "error[E0810]" in done.stderr
    assert "host name not found" in done.stderr and "check the name" in done.stderr
    done = logged_in("login", "no-such-host.invalid:4444", "--ca-pin", logged_in.pin,
                     env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 3 and "check the name" in done.stderr


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
def typist(eden_path, home, remote):
    return Typist([eden_path, "login", remote.url, "--name", "prod"],
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


def test_an_unconfirmed_pin_does_not_log_in(typist, home, remote):
    typist.wait_for("[y/N] ")
    typist.type("\n")
    assert typist.end() == 4
    assert not home.file.exists()
    assert all(target == "/v1/health" for _, target, _ in remote.requests)


@pytest.mark.parametrize("number, host", [
    (signal.SIGTERM, "127.0.0.1"), (signal.SIGINT, "127.0.0.1"), (signal.SIGHUP, "127.0.0.1"),
    (signal.SIGTERM, "localhost")])  # name resolution leaves threads that could receive the signal
def test_a_signal_at_the_token_prompt_restores_the_terminal(eden_path, home, remote, number, host):
    typist = Typist([eden_path, "login", f"https://{host}:{remote.port}", "--name", "prod", "--ca-pin",
                     home.pin], {**daemons.environment(), "HOME": str(home.file.parents[2])})
    before = termios.tcgetattr(typist.descriptor)
    typist.wait_for("Token: ")
    assert not termios.tcgetattr(typist.descriptor)[3] & termios.ECHO
    kept = os.dup(typist.descriptor)
    os.kill(typist.pid, number)
    assert typist.end() == (130 if number == signal.SIGINT else -number)
    assert termios.tcgetattr(kept) == before
    os.close(kept)


def test_an_interrupt_at_the_token_prompt_restores_the_terminal(typist, home):
    typist.wait_for("[y/N] ")
    typist.type("y\n")
    typist.wait_for("Token: ")
    typist.type("abc\x03")
    assert typist.end() == 130
    assert not home.file.exists()


def test_the_rest_of_a_token_that_is_too_long_is_not_left_to_the_shell(eden_path, home, remote):
    login = shlex.join([eden_path, "login", remote.url, "--name", "prod"])
    typist = Typist(["sh", "-c", f"{login} --ca-pin {home.pin}; echo left: $(head -n 1)"],
                    {**daemons.environment(), "HOME": str(home.file.parents[2])})
    typist.wait_for("Token: ")
    typist.type("s" * 1000 + "\n")
    typist.wait_for("the answer is longer than")
    typist.type("nothing\n")
    typist.end()
    assert "left: nothing\r\n" in typist.seen
    assert not home.file.exists()


def test_an_unverified_server_cannot_forge_the_prompt(eden_path, home, remote):
    remote.responses["/v1/health"] = {"cluster": "blue', whose CA has the pin\n  sha256:" + "0" * 64 +
                                     "\n\x1b[8m"}
    typist = Typist([eden_path, "login", remote.url, "--name", "prod"],
                    {**daemons.environment(), "HOME": str(home.file.parents[2])})
    assert typist.end() == 3
    assert "[y/N]" not in typist.seen
    assert "\x1b[8m" not in typist.seen
    assert not home.file.exists()


def test_server_messages_are_escaped(home, remote):
    remote.session = {"format": "eden.session/1", "name": "ann'\n\x1b[2Jbob"}
    done = home("login", remote.url, "--name", "prod", "--ca-pin", home.pin, env={"EDEN_TOKEN": TOKEN})
    assert done.stdout == (f"logged in to {remote.url} as 'ann'\\n\\x1b[2Jbob'\n"
                           "switched to context 'prod'\n")
    remote.responses["/v1/nodes/s1"] = {"metadata": {"name": "s1\x1b[2J\ns2"}}
    assert home("nodes", "show", "s1", "-o", "name").stdout == "s1\\x1b[2J\\ns2\n"
    remote.responses["/v1/nodes/s1/ping"] = {"round_trip_ms": 1, "node_time": "12:00\x1b[2J\ns2"}
    assert home("nodes", "ping", "s1").stdout.endswith("its clock is 12:00\\x1b[2J\\ns2\n")


def test_contexts_stored_during_a_prompt_survive(typist, home, remote):
    typist.wait_for("[y/N] ")
    typist.type("y\n")
    typist.wait_for("Token: ")
    done = home("login", remote.url, "--name", "other", "--ca-pin", home.pin,
                env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 0, done.stderr
    typist.type(TOKEN + "\n")
    assert typist.end() == 0, typist.seen
    kept = json.loads(home.file.read_text())
    assert sorted(kept["contexts"]) == ["other", "prod"]
    assert kept["current"] == "prod"


def test_a_name_is_required_before_a_certificate_is_created(home, remote):
    remote.responses["/v1/health"] = {}
    done = home("login", remote.url, "--certificate", "--ca-pin", home.pin, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 64
    assert "--name" in done.stderr
    assert all(method == "GET" for method, _, _ in remote.requests)


def test_a_missing_cluster_name_is_reported_with_the_reason(home, remote):
    remote.responses["/v1/health"] = {"code": "unavailable", "detail": "the store is away"}
    remote.statuses["/v1/health"] = 503
    words = ("login", remote.url, "--ca", str(remote.cluster.state / "agent/ca.pem"))
    done = home(*words, env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 3
    assert "the name of its cluster: the store is away\n" in done.stderr
    assert not home.file.exists()
    done = home(*words, "--name", "prod", env={"EDEN_TOKEN": TOKEN})
    assert (done.returncode, done.stderr) == (0, "")


def test_login_without_arguments_renews_the_token(logged_in, remote):
    remote.token = "eden_4l2ygazs_" + "z" * 32
    done = logged_in("nodes", "list")
    assert done.returncode == 4
    assert "'eden login'" in done.stderr and "prod" in done.stderr
    done = logged_in("login", env={"EDEN_TOKEN": remote.token})
    assert done.returncode == 0, done.stderr
    assert logged_in("nodes", "list", "-o", "name").stdout == "s1\n"


def test_logging_out_removes_only_the_token(logged_in, remote):
    done = logged_in("logout")
    assert done.returncode == 0
    assert "eden tokens revoke 4l2ygazs" in done.stderr
    assert TOKEN not in logged_in.file.read_text()
    assert logged_in("nodes", "list").returncode == 4
    assert logged_in("login", env={"EDEN_TOKEN": TOKEN}).returncode == 0
    assert logged_in("nodes", "list").returncode == 0


def test_logging_out_uses_the_context_from_the_environment(logged_in, remote):
    done = logged_in("login", remote.url, "--name", "other", "--ca-pin", logged_in.pin,
                     env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 0, done.stderr
    done = logged_in("logout", env={"EDEN_CONTEXT": "prod"})
    assert done.stdout == "removed from context 'prod': token\n"
    kept = json.loads(logged_in.file.read_text())["contexts"]
    assert ("token" in kept["prod"], kept["other"]["token"]) == (False, TOKEN)


# --- on the server --------------------------------------------------------------------------------

def make_token(cluster, role):
    """An API token, created by a server."""
    return json.loads(cluster.call("tokens", "create", "--role", role, "-o", "json").stdout)["status"]


def test_a_token_gives_access_from_another_machine(home, remote, tmp_path):
    cluster = remote.cluster
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
                 "clock", "waiting", "certificates", "rotation", "tokens", "versions", "joins",
                 "leases"):
        assert seen[name]["state"] == "ok", seen[name]
    assert seen["silent"]["state"] == "warning" and "s1" in seen["silent"]["text"]
    table = home("doctor", "--state-dir", tmp_path / "none").stdout
    assert "this machine is not a member" in table
    for name in ("state ", "state-disk", "agent", "server-files", "disk", "ports"):
        assert not re.search(rf"^{name}", table, re.MULTILINE), table
    done = home("doctor", "--context", "nobody")
    assert done.returncode == 64 and "context 'nobody' not found" in done.stderr
    for check in json.loads(home("doctor", "-o", "json", "--context", "local", "--state-dir",
                                 tmp_path / "none").stdout)["checks"]:
        if check["name"] == "context-server":
            assert check["state"] == "skipped"


def other_settings(home):
    """A copy of the settings, to be corrupted."""
    other = home.file.parents[1].with_name("other-settings")
    shutil.copytree(home.file.parents[1], other)
    return other


def test_a_certificate_replaces_a_token(home, remote):
    cluster = remote.cluster
    made = make_token(cluster, "admin")
    done = home("login", f"127.0.0.1:{cluster.api_port}", "--ca-pin", made["ca_pin"], "--token-file",
                "-", "--certificate", input=made["secret"])
    assert done.returncode == 0, done.stderr
    kept = json.loads(home.file.read_text())["contexts"]["blue"]
    assert "token" not in kept
    assert kept["key"].startswith("-----BEGIN PRIVATE KEY-----")
    cluster.call("tokens", "revoke", made["secret"].split("_")[1])
    assert home("nodes", "list", "-o", "name").stdout == "s1\n"
    assert output(home, "api", "GET", "/v1/session")["by"] == "certificate"
    assert output(home, "context", "show")["credential"] == "certificate"
    done = home("logout", env={"XDG_CONFIG_HOME": str(other_settings(home))})
    assert done.returncode == 0, done.stderr
    assert done.stdout == "removed from context 'blue': certificate\n"
    line = re.search(r"stays valid until (\S+) for .*'eden (pki revoke [0-9a-f]+)'", done.stderr)
    assert line, done.stderr
    assert line[1] == kept["expires"]
    serial = next(c["metadata"]["name"] for c in output(home, "api", "GET", "/v1/certificates")["items"]
                  if c["status"]["usage"] == "user")
    assert line[2] == f"pki revoke {serial}"
    cluster.call(*line[2].split())
    assert home("nodes", "list").returncode == 4


def test_a_certificate_is_created_with_the_stored_token(home, remote):
    cluster = remote.cluster
    made = make_token(cluster, "admin")
    server = f"127.0.0.1:{cluster.api_port}"
    done = home("login", server, "--ca-pin", made["ca_pin"], "--token-file", "-", input=made["secret"])
    assert done.returncode == 0, done.stderr
    done = home("login", "--certificate")
    assert done.returncode == 0, done.stderr
    assert "using the token of context 'blue'\n" in done.stderr
    assert "token" not in json.loads(home.file.read_text())["contexts"]["blue"]
    serial = next(c["metadata"]["name"] for c in output(home, "api", "GET", "/v1/certificates")["items"]
                  if c["status"]["usage"] == "user")
    listed = next(line.split() for line in home("pki").stdout.splitlines() if serial in line)
    assert (listed[0], listed[2], listed[4]) == ("user", "good", "-")
    user, = output(home, "pki", "list")["users"]
    assert (user["name"], user["serial"], user["roles"]) == (listed[1], serial, ["admin"])
    done = home("login", "--certificate")  # no token any more
    assert done.returncode == 64 and "a token is required" in done.stderr


def test_the_stored_token_is_used_only_for_its_server_and_ca(home, remote, other_cluster):
    made = make_token(remote.cluster, "admin")
    server = f"127.0.0.1:{remote.cluster.api_port}"
    assert home("login", server, "--name", "prod", "--ca-pin", made["ca_pin"], "--token-file", "-",
                input=made["secret"]).returncode == 0
    other_ca = other_cluster.state / "agent/ca.pem"
    for words in ((remote.url, "--ca-pin", home.pin), (server, "--ca", other_ca)):
        done = home("login", *words, "--name", "prod", "--certificate")
        assert done.returncode == 64 and "a token is required" in done.stderr
        assert "using the token" not in done.stderr
    assert not any("authorization" in fields for _, _, fields in remote.requests)


def test_the_node_port_is_recognized(home, remote):
    done = home("login", f"127.0.0.1:{remote.cluster.rpc_port}", "--name", "prod", "--ca-pin", home.pin,
                env={"EDEN_TOKEN": TOKEN})
    assert done.returncode == 4
    assert "this is the port for nodes (default: 1337)" in done.stderr
    assert "the API uses a different port: 1338" in done.stderr
    assert "pin" not in done.stderr
    assert not home.file.exists()


def test_a_role_and_a_revoked_token_are_exit_code_4(home, remote):
    cluster = remote.cluster
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
