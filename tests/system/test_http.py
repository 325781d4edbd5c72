"""Downloads from a server that behaves in various ways."""

import hashlib

import pytest

CONTENT = "version 1\n" * 100_000
OTHER = "version 2\n"
SERVER = '''
import base64, http.server, os, ssl, sys, threading
CONTENT, OTHER = b"version 1\\n" * 100000, b"version 2\\n"

class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        with open("/tmp/asked", "a") as log:
            log.write(self.path + " " + " ".join(f"{k}={v}" for k, v in self.headers.items()) + "\\n")

    def answer(self, code, body=b"", length=None, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        if length != "none":
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_HEAD(self):
        if os.path.exists("/tmp/no-head"):
            self.answer(501)
        else:
            self.do_GET()

    def do_GET(self):
        where = self.path.split("?")[0]
        if where == "/x":
            self.answer(200, CONTENT)
        elif where == "/changing":
            self.answer(200, OTHER if os.path.exists("/tmp/changed") else CONTENT)
        elif where == "/redirect":
            self.answer(302, b"elsewhere", Location=self.path.partition("?")[2])
        elif where == "/circle":
            self.answer(302, Location="/circle")
        elif where == "/nowhere":
            self.answer(300, b"choose")
        elif where == "/truncated":
            self.answer(200, CONTENT[:1000], len(CONTENT))
        elif where == "/endless":
            self.answer(200, length="none")
            while True:
                self.wfile.write(CONTENT)
        elif where == "/stuck":
            self.answer(200, CONTENT[:5000], len(CONTENT))
            threading.Event().wait()
        elif where == "/private":
            wanted = "Basic " + base64.b64encode(b'me:a"b\\\\c $HOME').decode()
            good = self.headers.get("Authorization") == wanted
            self.answer(200 if good else 401, CONTENT)
        elif where == "/header":
            good = self.headers.get("X-Token") == 'a"b\\\\c' and self.headers.get("X-Empty") == ""
            self.answer(200 if good else 403, CONTENT)
        else:
            self.answer(404, b"not here")

server = http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print("ready", flush=True)
server.serve_forever()
'''
CERTIFICATES = """
cd /tmp
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem -subj '/CN=our own'
openssl req -newkey rsa:2048 -nodes -keyout own.key -out own.csr -subj /CN=server
echo subjectAltName=IP:{address} > extensions
openssl x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out own.pem
cat own.key >> own.pem
"""


def digest(text, kind="sha256"):
    return f"{kind}:{hashlib.new(kind, text.encode()).hexdigest()}"


class Server:
    def __init__(self, host):
        self.host = host
        host.write("/srv/server.py", SERVER)
        self.start(80)
        self.plain = f"http://{host.address}"
        self.encrypted = f"https://{host.address}"

    def start(self, port, *more):
        self.host.popen(["/usr/bin/python3", "/srv/server.py", str(port), *more])
        self.host.wait_for(f"ss -tln | grep -q ':{port} '", 20, "the server")

    def encrypt(self):
        """Serves with a certificate of a private CA, which it returns."""
        self.host.run(CERTIFICATES.format(address=self.host.address))
        self.start(443, "/tmp/own.pem")
        return self.host.read("/tmp/ca.pem")

    def requested_headers(self):
        return self.host.read("/tmp/asked") if self.host.exists("/tmp/asked") else ""


@pytest.fixture
def server(light):
    return Server(light(name="server"))


@pytest.fixture
def client(light, server):
    return light(name="client")


def download(host, verb="apply", options=(), **params):
    step = {"name": "/srv/x", **params}
    return getattr(host, verb)([{"name": "it", "http.download": step}], *options).steps["it"]


def listed(host):
    return host.run("ls -A /srv").out.split()


@pytest.mark.parametrize("kind", ["sha256", "sha512"])
def test_correct_file_is_not_downloaded_again(server, client, kind):
    wanted = {"url": f"{server.plain}/x", "digest": digest(CONTENT, kind)}
    assert download(client, "plan", **wanted).result == "changed"
    assert listed(client) == []
    step = download(client, **wanted)
    assert step.result == "changed" and step.changes["digest"]["new"] == wanted["digest"]
    assert client.read("/srv/x") == CONTENT and listed(client) == ["x"]
    server.host.cut()
    assert download(client, **wanted).result == "ok"
    assert download(client, "plan", **wanted).result == "ok"
    assert download(client, mode="0600", owner="www-data", **wanted).result == "changed"
    assert client.run("stat -c %a%U /srv/x").out == "600www-data"
    server.host.join()
    client.write("/srv/x", "somebody was here")
    step = download(client, **{**wanted, "digest": wanted["digest"].upper().replace("SHA", "sha")})
    assert step.result == "changed"
    assert step.changes["digest"]["old"] == digest("somebody was here", kind)
    assert client.read("/srv/x") == CONTENT
    assert client.run("stat -c %a%U /srv/x").out == "600www-data"


def test_a_plan_asks_whether_the_server_has_the_file(server, client):
    wanted = {"digest": digest(CONTENT)}
    assert download(client, "plan", url=f"{server.plain}/x", **wanted).result == "changed"
    for path, output in {"/none": "error: 404", "/private": "error: 401"}.items():
        step = download(client, "plan", url=server.plain + path, **wanted)
        assert step.result == "failed" and output in step.error.message, step.error
    # This server does not answer such requests at all.
    server.host.write("/tmp/no-head", "")
    assert download(client, "plan", url=f"{server.plain}/none", **wanted).result == "changed"
    step = download(client, "plan", url=f"{server.plain}/x", max_size=10, **wanted)
    assert step.result == "changed"
    server.host.cut()
    step = download(client, "plan", url=f"{server.plain}/x", **wanted)
    assert step.result == "failed" and "onnect" in step.error.message, step.error
    assert listed(client) == []


def test_wrong_content_changes_nothing(server, client):
    client.write("/srv/x", "old")
    before = client.run("stat -c '%i %a %u %y %z' /srv/x").out
    for kind in ("sha256", "sha512"):
        step = download(client, url=f"{server.plain}/x", digest=digest(OTHER, kind))
        assert step.result == "failed" and not step.changed
        for part in (f"expected {digest(OTHER, kind)}", f"got {digest(CONTENT, kind)}", f"({len(CONTENT)} bytes"):
            assert part in step.error.message
    assert client.run("stat -c '%i %a %u %y %z' /srv/x").out == before and listed(client) == ["x"]


def test_failures_are_reported_and_leave_nothing(server, client):
    for path, output in {
        "/none": "returned error: 404",
        "/truncated": "transfer closed with",
        "/circle": "redirects followed",
        "/nowhere": "the server responded with status 300",
        "/redirect?file:///etc/passwd": "Protocol \"file\"",
    }.items():
        step = download(client, url=server.plain + path, digest=digest(CONTENT))
        assert step.result == "failed" and output in step.error.message, step.error.message
        assert server.plain in step.error.message
    message = download(client, url="http://10.255.255.1:1/x", digest=digest("")).error.message
    assert "curl" not in message and "connect" in message
    assert "Could not resolve host" in download(client, url="http://nowhere.example/x", digest=digest("")).error.message
    assert listed(client) == []


def test_size_is_bounded_with_and_without_content_length(server, client):
    for path in ("/x", "/endless"):
        step = download(client, url=server.plain + path, digest=digest(CONTENT), max_size=len(CONTENT) - 1)
        assert step.result == "failed"
        assert f"larger than 'max_size' ({len(CONTENT) - 1} bytes)" in step.error.message
    assert listed(client) == []
    assert download(client, url=f"{server.plain}/x", digest=digest(CONTENT), max_size=len(CONTENT)).result == "changed"


def test_full_disk_is_reported_and_leaves_nothing(server, light):
    client = light(name="small", disk="4M")
    client.write("/srv/x", "old")
    step = download(client, url=f"{server.plain}/endless", digest=digest(CONTENT))
    assert step.result == "failed" and "No space left" in step.error.message
    assert client.read("/srv/x") == "old" and listed(client) == ["x"]


def test_slow_server_times_out(server, client):
    step = download(client, url=f"{server.plain}/stuck", digest=digest(CONTENT), timeout="2s")
    assert step.result == "failed" and "timed out after 2 s" in step.error.message
    assert listed(client) == []


def test_redirect_is_followed_but_never_to_an_unencrypted_url(server, client):
    client.write("/etc/our.pem", server.encrypt())
    wanted = {"digest": digest(CONTENT), "ca": "/etc/our.pem"}
    to_plain, to_encrypted = (f"/redirect?{where}/x" for where in (server.plain, server.encrypted))
    step = download(client, url=server.encrypted + to_plain, **wanted)
    assert step.result == "failed" and 'Protocol "http"' in step.error.message
    for url in (server.plain + to_encrypted, server.plain + to_plain, server.encrypted + to_encrypted):
        client.run("rm -f /srv/x")
        assert download(client, url=url, **wanted).result == "changed"


def test_only_the_given_ca_is_trusted(server, client):
    authority = server.encrypt()
    wanted = {"url": f"{server.encrypted}/x", "digest": digest(CONTENT)}
    step = download(client, **wanted)
    assert step.result == "failed" and "certificate" in step.error.message
    client.write("/etc/our.pem", authority)
    assert download(client, ca="/etc/our.pem", **wanted).result == "changed"
    # The machine's trust store only counts without 'ca'.
    client.run("rm /srv/x && cp /etc/our.pem /usr/local/share/ca-certificates/our.crt && update-ca-certificates")
    client.run("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout /tmp/k -out /etc/other.pem -subj /CN=other")
    step = download(client, ca="/etc/other.pem", **wanted)
    assert step.result == "failed" and "certificate" in step.error.message
    assert download(client, **wanted).result == "changed"


def test_first_download_is_pinned(server, client):
    client.write("/etc/our.pem", server.encrypt())
    wanted = {"url": f"{server.encrypted}/changing", "pin": True, "ca": "/etc/our.pem"}
    client.write("/srv/x", "not from there")
    assert download(client, "plan", **wanted).result == "changed"
    assert download(client, **wanted).result == "changed"
    assert client.read("/srv/x") == CONTENT
    (pin,) = [name for name in listed(client) if name.startswith(".eden-pin-")]
    server.host.cut()
    assert download(client, **wanted).result == "ok"
    server.host.join()
    server.host.write("/tmp/changed", "")
    assert download(client, **wanted).result == "ok"
    # The pinned CA outlives its file, and matches no other one.
    client.run("rm /srv/x")
    step = download(client, **wanted)
    assert step.result == "failed"
    assert digest(CONTENT) in step.error.message and digest(OTHER) in step.error.message
    assert f"remove /srv/{pin}" in step.error.message and not client.exists("/srv/x")
    # Another URL is another first download.
    assert download(client, **{**wanted, "url": f"{server.encrypted}/x"}).result == "changed"
    assert download(client, **wanted).result == "changed"
    assert client.read("/srv/x") == OTHER and download(client, **wanted).result == "ok"
    client.write(f"/srv/{pin}", "sha256:0")
    step = download(client, **wanted)
    assert step.result == "failed" and pin in step.error.message
    client.run(f"rm /srv/{pin}")
    assert download(client, **wanted).result == "changed"
    done = client.apply([{"name": "it", "http.download": {
        "name": "/srv/x", "url": f"{server.plain}/x", "pin": True}}])  # fmt: skip
    assert done.exit == 1 and "'pin' requires an https" in done.errors


def test_pin_survives_the_cleaning_of_its_directory(server, client):
    client.write("/etc/our.pem", server.encrypt())
    steps = [
        {"name": "it", "http.download": {"name": "/srv/d/x", "url": f"{server.encrypted}/x", "pin": True, "ca": "/etc/our.pem"}},
        {"name": "all", "file.directory": {"name": "/srv/d", "clean": True}},
    ]  # fmt: skip
    assert client.apply(steps).result == "changed"
    client.write("/srv/d/stray", "")
    assert client.apply(steps).steps["all"].result == "changed"
    assert client.run("ls -A /srv/d | wc -l").out == "2"
    assert client.apply(steps).result == "ok"


def test_secrets_reach_only_the_server(server, client):
    # Replaces curl with a program that inspects what any process can see.
    client.write("/usr/local/bin/curl", "#!/bin/sh\ncat /proc/[0-9]*/cmdline > /tmp/seen\n"
                 "cat /proc/$$/environ >> /tmp/seen\nexec /usr/bin/curl \"$@\"\n", mode=0o755)  # fmt: skip
    done = client.apply(f"""
- name: it
  http.download:
    - name: /srv/x
    - url: !secret "{server.plain}/private?key=hidden-in-the-address"
    - digest: {digest(CONTENT)}
    - username: me
    - password: !secret 'a"b\\c $HOME'
""")
    assert done.steps["it"].result == "changed", done.steps["it"].error
    seen = client.run("tr '\\0' ' ' < /tmp/seen").out
    assert "--config" in seen and "$HOME" not in seen and "hidden-in" not in seen
    assert client.run("grep -rE 'c .HOME|hidden-in' /srv/x /var/lib/eden || true").out == ""
    wrong = download(client, url=f"{server.plain}/private", digest=digest(OTHER), username="me", password="wrong")
    assert wrong.result == "failed" and "401" in wrong.error.message and "wrong@" not in wrong.error.message


def test_headers_and_redirects(server, client, light):
    step = download(client, url=f"{server.plain}/header", digest=digest(CONTENT),
                    headers={"X-Token": 'a"b\\c', "X-Empty": ""})  # fmt: skip
    assert step.result == "changed", step.error
    other = Server(light(name="other"))
    url = f"{server.plain}/redirect?{other.plain}/x"

    def with_header(name):
        return client.apply(f"""
- name: it
  http.download:
    - name: /srv/y
    - url: {url}
    - digest: {digest(CONTENT)}
    - headers:
        {name}: !secret the-token
""").steps["it"]

    step = with_header("X-Token")
    assert step.result == "failed" and "must not receive the secret" in step.error.message
    assert other.requested_headers() == ""
    assert with_header("Authorization").result == "changed"
    assert "/x" in other.requested_headers() and "the-token" not in other.requested_headers()
    assert "Authorization=the-token" in server.requested_headers()


def test_own_configuration_of_curl_is_not_read(server, client):
    client.write("/root/.curlrc", "insecure\noutput = /tmp/pwned\n")
    client.write("/etc/curlrc", "output = /tmp/pwned\n")
    assert download(client, url=f"{server.plain}/x", digest=digest(CONTENT)).result == "changed"
    assert not client.exists("/tmp/pwned")


def test_killed_download_is_repeated(server, client):
    client.write("/srv/x", "old")
    client.write("/etc/steps.yaml", f"steps:\n- http.download: {{name: /srv/x, url: '{server.plain}/stuck', "
                 f"digest: '{digest(CONTENT)}'}}\n")  # fmt: skip
    run = client.popen("echo $$ > /tmp/pid; exec eden apply /etc/steps.yaml")
    client.wait_for("test $(ls -A /srv | wc -l) = 2", 30, "the download to start")
    client.run("kill -9 $(cat /tmp/pid)")
    run.wait()
    assert client.read("/srv/x") == "old"
    assert download(client, url=f"{server.plain}/x", digest=digest(CONTENT)).result == "changed"
    assert client.read("/srv/x") == CONTENT and listed(client) == ["x"]


def test_root_is_respected(server, client):
    client.make_image("/srv/image")
    step = download(client, options=("--root", "/srv/image"), url=f"{server.plain}/x", digest=digest(CONTENT))
    assert step.result == "changed", step.error
    assert client.read("/srv/image/srv/x") == CONTENT and not client.exists("/srv/x")
    client.run("rm /srv/image/usr/bin/curl /srv/image/srv/x && ln -s /etc /srv/image/srv/out")
    step = download(client, options=("--root", "/srv/image"), url=f"{server.plain}/x", digest=digest(CONTENT))
    assert step.result == "failed" and "package curl" in step.error.message


def test_invalid_parameters_are_reported_by_a_plan(client):
    good = {"url": "https://h/x", "digest": digest("")}
    for params, output in (
        ({"url": "https://h/x"}, "exactly one of 'digest'"),
        ({**good, "pin": True}, "exactly one of 'digest'"),
        ({**good, "digest": "md5:1"}, "'digest' must be"),
        ({**good, "url": "file:///etc/shadow"}, "'url' must be"),
        ({**good, "url": "https://me:pw@h/x"}, "use 'username' and 'password' instead"),
        ({**good, "username": "me"}, "must be set together"),
        ({**good, "headers": {"@/etc/shadow": "x"}}, "'headers' must map"),
        ({**good, "max_size": 0}, "'max_size' must be at least 1"),
        ({**good, "name": "/srv"}, "is a directory, not a file"),
    ):
        done = client.plan([{"name": "it", "http.download": {"name": "/srv/x", **params}}])
        assert done.exit != 0 and output in done.errors, done


def test_plan_accepts_requirements_provided_by_earlier_steps(light):
    host = light()
    host.run("rm /usr/bin/curl")
    wanted = {"url": "https://h/x", "digest": digest(""), "owner": "nobody-yet", "ca": "/etc/not-yet"}
    bring = {"name": "bring", "cmd.run": {"cmd": "perl -e 1"}, "order": "first"}
    it = {"name": "it", "http.download": {"name": "/srv/x", **wanted}}
    assert host.plan([bring, it]).steps["it"].error is None
    assert download(host, "plan", **wanted).result == "failed"
    assert "package curl" in download(host, url="https://h/x", digest=digest("")).error.message
