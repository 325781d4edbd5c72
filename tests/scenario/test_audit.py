"""Which requests are recorded, and who may read the log."""

import json
import re
import shlex
import signal
import subprocess

import api_client
import daemons
import pytest
from cluster_world import get, rewrite
from test_cli_examples import examples, follows


@pytest.fixture
def running(cluster):
    cluster.start()
    return cluster


class Remote:
    """A remote user, who has the CA of the cluster and optionally a token."""

    def __init__(self, cluster, *fields, words=()):
        self.cluster = cluster
        self.fields = fields
        self.words = words

    def __call__(self, method, path, body=None, *fields):
        words = ["curl", "-sS", "--max-time", "20", "--cacert",
                 self.cluster.state / "server/ca.pem", "-X", method, "-w", "\n%{http_code}",
                 f"https://127.0.0.1:{self.cluster.api_port}{path}"]
        words += self.words
        for field in (*self.fields, *fields):
            words += ["-H", field]
        if body is not None:
            words += ["--json", json.dumps(body)]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True)
        text, status = done.stdout.rsplit("\n", 1)
        return int(status), json.loads(text)


def token(cluster, *roles, label="ann"):
    words = [word for role in roles for word in ("--role", role)]
    return cluster.call("tokens", "create", *words, "--label", label).stdout.strip()


def bearer(cluster, *roles, label="ann"):
    return Remote(cluster, f"Authorization: Bearer {token(cluster, *roles, label=label)}")


def entries(cluster):
    listed = json.loads(cluster.call("audit", "tail", "-n", "1000", "-o", "json").stdout)
    return [item["status"] for item in listed["items"]]


@pytest.mark.also_on_etcd
def test_changes_are_recorded_before_and_after_with_caller_and_reason(running):
    admin = bearer(running, "admin")
    assert admin("PUT", "/v1/config/cluster", {"spec": {"title": "Blue"}},
                 "Eden-Reason: it has no name")[0] == 201
    asked, done = entries(running)[-2:]
    assert (asked["outcome"], done["outcome"]) == ("asked", "done")
    for entry in (asked, done):
        assert (entry["verb"], entry["kind"], entry["name"]) == ("update", "Config", "cluster")
        assert (entry["by"], entry["reason"]) == ("token", "it has no name")
        assert entry["who"].startswith("token:")
    assert asked["request"] == done["request"] and done["previous"] == asked["hash"]
    assert "intact" in running.call("audit", "verify").stdout
    listed = admin("GET", "/v1/audit?limit=2")[1]["items"]
    assert [item["metadata"]["revision"] > 0 for item in listed] == [True, True]
    assert listed[0]["metadata"]["revision"] > listed[1]["metadata"]["revision"]


def test_the_subject_of_a_body_is_recorded_before_the_change(running):
    admin, viewer = bearer(running, "admin"), bearer(running, "viewer", label="bob")
    role = {"metadata": {"name": "web"}, "spec": {"rules": [{"verbs": ["get"], "kinds": ["Node"]}]}}
    serial = "4a" * 16
    before = len(entries(running))
    assert viewer("POST", "/v1/roles", role)[0] == 403
    assert admin("POST", "/v1/roles", role)[0] == 201
    assert admin("POST", "/v1/roles", role)[0] == 409
    assert admin("POST", "/v1/pki/revoke", {"serial": serial})[0] == 404
    assert admin("POST", "/v1/pki/revoke", {"node": "web1"})[0] == 404
    assert admin("POST", "/v1/pki/renew", {"certificate": "serving"})[0] == 200
    assert admin("POST", "/v1/roles", {"metadata": {"name": ["web"]}})[0] == 400
    assert [(entry["verb"], entry["name"], entry["outcome"]) for entry in entries(running)[before:]] == [
        ("create", "web", "denied"), ("create", "web", "asked"), ("create", "web", "done"),
        ("create", "web", "asked"), ("create", "web", "failed"),
        ("revoke", serial, "asked"), ("revoke", serial, "failed"),
        ("revoke", "web1", "asked"), ("revoke", "web1", "failed"),
        ("renew", "serving", "asked"), ("renew", "serving", "done"),
        ("create", "", "asked"), ("create", "", "failed")]


def test_a_token_without_a_label_is_not_named_after_its_creator(running):
    text = running.call("tokens", "create", "--role", "admin").stdout.strip()
    name = text.split("_")[1]
    remote = Remote(running, f"Authorization: Bearer {text}")
    assert remote("GET", "/v1/session")[1]["name"] == f"token-{name}"
    status, made = remote("POST", "/v1/tokens", {"spec": {"purpose": "access", "roles": ["viewer"]}})
    assert status == 201 and made["spec"]["description"] == ""
    assert made["status"]["made_by"] == entries(running)[-1]["who"] == f"token:{name}"
    shown = remote("GET", f"/v1/tokens/{name}")[1]
    assert shown["spec"]["description"] == "" and shown["status"]["made_by"].startswith("user:root")
    cookie = subprocess.run(
        ["curl", "-sS", "-o", "/dev/null", "-D", "-", "--http1.1", "--cacert",
         running.state / "server/ca.pem", f"https://127.0.0.1:{running.api_port}/v1/session", "--json",
         json.dumps({"token": text})], capture_output=True, check=True, text=True).stdout
    shown = "Cookie: " + re.search(r"Set-Cookie: ([^;]*)", cookie)[1]
    csrf = Remote(running, shown)("GET", "/v1/session")[1]["csrf"]
    assert Remote(running, shown, f"Eden-CSRF: {csrf}")("DELETE", "/v1/session")[0] == 200
    assert entries(running)[-1]["who"] == f"session of token:{name}"


def test_denied_callers_are_rejected_and_recorded(running):
    viewer = bearer(running, "viewer", label="bob")
    assert viewer("GET", "/v1/roles")[0] == 200
    status, response = viewer("DELETE", "/v1/roles/admin")
    assert (status, response["code"]) == (403, "denied")
    assert "'delete' on Role" in response["detail"]
    last = entries(running)[-1]
    assert (last["outcome"], last["verb"], last["kind"]) == ("denied", "delete", "Role")
    assert last["who"].startswith("token:")


def test_repeated_denials_do_not_fill_the_log(running):
    viewer = bearer(running, "viewer", label="bob")
    before = len(entries(running))
    assert {viewer("DELETE", "/v1/roles/admin")[0] for _ in range(30)} == {403}
    denied = entries(running)[before:]
    assert len(denied) < 30 and "not recorded" in denied[19]["detail"]


def test_repeated_changes_do_not_fill_the_disk_with_entries(running):
    """Formerly, only the disk limited the log."""
    operator = bearer(running, "operator")
    head = get(running, "/eden/audit_head")
    rewrite(running, "/eden/audit_head", {**head, "sequence": 5_000_000})
    for number in range(21):  # the first one informs the server of the log's size
        assert operator("PATCH", "/v1/nodes/s1", {}, "Content-Type: application/merge-patch+json")[0] == 200, number
    status, response = operator("PATCH", "/v1/nodes/s1", {}, "Content-Type: application/merge-patch+json")
    assert status == 429
    assert "eden audit archive" in response["detail"]
    assert operator("GET", "/v1/nodes")[0] == 200
    for _ in range(25):
        running.call("nodes", "label", "s1", "role=web")


def test_a_revoked_token_gives_no_access(running):
    text = token(running, "admin")
    remote = Remote(running, f"Authorization: Bearer {text}")
    assert remote("GET", "/v1/session")[0] == 200
    running.call("tokens", "revoke", text)
    for path in ("/v1/session", "/v1/roles"):
        status, response = remote("GET", path)
        assert status == 401 and "invalid token: unknown" in response["detail"]


def test_two_tokens_are_both_rejected(running):
    admin = bearer(running, "admin")
    for other in ("Authorization: Bearer x", *admin.fields):
        status, response = admin("GET", "/v1/roles", None, other)
        assert status == 400 and "more than one 'Authorization' header" in response["detail"]


@pytest.mark.also_on_etcd
def test_a_user_certificate_gives_access_until_revoked(running):
    key, request, mine = (running.folder / f"ann.{end}" for end in ("key", "csr", "pem"))
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-subj", "/CN=ann", "-out",
                    request], check=True, capture_output=True)
    admin = bearer(running, "admin")
    status, made = admin("POST", "/v1/certificates", {"spec": {
        "user": "ann", "roles": ["viewer"], "csr": request.read_text()}})
    assert status == 201
    mine.write_text(made["status"]["certificate"])
    ann = Remote(running, words=("--cert", mine, "--key", key))
    assert ann("GET", "/v1/session")[1]["name"] == "ann"
    listed = ann("GET", "/v1/certificates")[1]["items"]
    assert {item["status"]["usage"] for item in listed} == {"ca", "serving", "server", "node", "user"}
    place = "/v1/certificates/" + made["metadata"]["name"]
    assert ann("DELETE", place)[0] == 403
    assert admin("DELETE", place)[0] == 200
    assert ann("GET", "/v1/certificates")[0] == 401


def test_callers_cannot_grant_more_than_they_have(running):
    running.call("api", "PUT", "/v1/roles/helper", "-d", json.dumps(
        {"spec": {"rules": [{"verbs": ["create", "list"], "kinds": ["Token"]},
                            {"verbs": ["create"], "kinds": ["Role"]}]}}))
    helper = bearer(running, "helper")
    status, response = helper("POST", "/v1/tokens", {"spec": {"purpose": "join"}})
    assert status == 403 and "'approve' on Node" in response["detail"]
    status, response = helper("POST", "/v1/tokens", {"spec": {"purpose": "access",
                                                              "roles": ["admin"]}})
    assert status == 403 and "/spec/roles" in response["detail"]
    assert helper("POST", "/v1/roles", {"metadata": {"name": "more"}, "spec": {
        "rules": [{"verbs": ["*"], "kinds": ["Node"]}]}})[0] == 403


def test_problems_of_an_invalid_role_are_listed(running):
    admin = bearer(running, "admin")
    status, response = admin("PUT", "/v1/roles/odd", {"spec": {"rules": [
        {"verbs": ["aprove"], "kinds": ["Nod"]}]}})
    assert status == 400
    assert [one["pointer"] for one in response["problems"]] == ["/spec/rules/0/verbs/0",
                                                                "/spec/rules/0/kinds/0"]
    assert "'approve'" in response["problems"][0]["detail"]


def test_a_browser_session_needs_its_second_secret_for_changes(running):
    anonymous = Remote(running)
    done = subprocess.run(
        ["curl", "-sS", "-i", "--http1.1", "--cacert", running.state / "server/ca.pem",
         f"https://127.0.0.1:{running.api_port}/v1/session", "--json",
         json.dumps({"token": token(running, "admin")})],
        capture_output=True, check=True).stdout.decode()
    head, body = done.split("\r\n\r\n", 1)
    cookie, = [line.split(": ", 1)[1] for line in head.splitlines() if line.startswith("Set-Cookie")]
    for word in ("Secure", "HttpOnly", "SameSite=Strict", "Path=/"):
        assert f"; {word}" in cookie
    shown = "Cookie: " + cookie.split(";")[0]
    csrf = json.loads(body)["csrf"]
    assert anonymous("GET", "/v1/session", None, shown)[1]["csrf"] == csrf
    change = ("PUT", "/v1/config/cluster", {"spec": {}}, shown)
    assert anonymous(*change)[0] == 403
    assert anonymous(*change, f"Eden-CSRF: {'0' * len(csrf)}")[0] == 403
    assert anonymous(*change, f"Eden-CSRF: {csrf}", "Origin: https://elsewhere.example")[0] == 403
    assert anonymous(*change, f"Eden-CSRF: {csrf}")[0] == 201
    assert anonymous("DELETE", "/v1/session", None, shown, f"Eden-CSRF: {csrf}")[0] == 200
    assert anonymous("GET", "/v1/session", None, shown)[0] == 401
    recorded = [(each["verb"], each["by"]) for each in entries(running) if each["kind"] == "Session"]
    assert recorded == [("login", "token"), ("logout", "session")]


def test_a_repeated_request_is_executed_once(running):
    admin = bearer(running, "admin")
    content = {"metadata": {"name": "once"}, "spec": {"rules": [{"verbs": ["get"], "kinds": ["Node"]}]}}
    first = admin("POST", "/v1/roles", content, "Idempotency-Key: 1")
    assert first[0] == 201
    assert admin("POST", "/v1/roles", content, "Idempotency-Key: 1") == first
    assert admin("POST", "/v1/roles", {**content, "metadata": {"name": "other"}},
                 "Idempotency-Key: 1")[0] == 422
    assert admin("POST", "/v1/roles", content)[0] == 409


def test_the_log_cannot_be_changed_as_keys(running):
    for words in (("put", "/eden/audit/00000000000000000001", "x", "--force"),
                  ("delete", "/eden/audit/00000000000000000001", "--force")):
        running.call("tokens", "create")
        assert running.call(*words, check=False).returncode != 0
    assert "intact" in running.call("audit", "verify").stdout


# --- tail -----------------------------------------------------------------------------------------

def set_title(cluster, title):
    cluster.call("config", "set", f"title={title}", "--reason", title)


def next_of(process, title):
    """The last line about that action; earlier ones are skipped."""
    while True:
        line = api_client.next_line(process.stdout)
        assert line, process.stderr.read()
        if re.search(rf"\bdone\s+{title}\b", line) or ('"done"' in line and f'"{title}"' in line):
            return line


@pytest.fixture
def following(running):
    started = []

    def start(*words):
        started.append(api_client.start(running, "audit", "tail", "--follow", *words))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_oldest_entry_is_first_in_all_forms(running):
    set_title(running, "one")
    set_title(running, "two")
    numbers = [item["metadata"]["name"] for item in
               json.loads(running.call("audit", "tail", "-o", "json").stdout)["items"]]
    assert numbers == sorted(numbers, key=int) and len(numbers) >= 4
    assert running.call("audit", "tail", "-o", "name").stdout.split() == numbers
    rows = running.call("audit", "tail").stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == numbers
    assert running.call("audit", "tail", "-o", "jsonpath={.items[*].metadata.name}"
                        ).stdout.split() == numbers


def test_following_shows_new_entries_also_after_a_restart(running, following):
    set_title(running, "before")
    process = following("-n", "2")
    assert api_client.next_line(process.stdout).startswith("NAME")
    shown = [api_client.next_line(process.stdout).split()[0] for _ in range(2)]
    set_title(running, "one")
    first = next_of(process, "one")
    assert int(first.split()[0]) == int(shown[-1]) + 2
    running.server.kill()
    assert "retrying" in process.stderr.readline()
    running.start()
    set_title(running, "two")
    assert int(next_of(process, "two").split()[0]) == int(first.split()[0]) + 2
    while not (line := process.stderr.readline()).startswith("the audit log resumed"):
        assert "retrying" in line


def test_following_can_print_json_lines(running, following):
    set_title(running, "before")
    process = following("-n", "1", "-o", "json")
    assert json.loads(api_client.next_line(process.stdout))["status"]["reason"] == "before"
    set_title(running, "after")
    assert json.loads(next_of(process, "after"))["metadata"]["kind"] == "Audit"
    done = running.call("audit", "tail", "--follow", "-o", "yaml", check=False)
    assert done.returncode == 64 and "--follow" in done.stderr


def test_following_catches_up_with_more_than_one_page(running, following):
    set_title(running, "before")
    process = following("-n", "1", "-o", "name")
    first = int(api_client.next_line(process.stdout))
    running.server.kill()
    assert "retrying" in process.stderr.readline()
    running.start()
    for number in range(300):  # two entries each
        status, response = api_client.call(running, "PUT", "/v1/config/cluster",
                                      {"spec": {"title": str(number)}})[:2]
        assert status in (200, 201), response
    seen = [int(api_client.next_line(process.stdout)) for _ in range(600)]
    assert seen == list(range(first + 1, first + 601))


def test_following_ends_when_the_log_was_replaced(running, following, tmp_path):
    set_title(running, "one")
    running.call("backup", "create", tmp_path / "early.backup")
    set_title(running, "two")
    process = following()
    next_of(process, "two")
    running.server.stop()
    assert "retrying" in process.stderr.readline()
    running.eden("backup", "restore", tmp_path / "early.backup", "--state-dir", tmp_path / "back",
                 "--user", "root")
    running.state = tmp_path / "back"
    running.start()
    _, err = process.communicate(timeout=daemons.LIMIT)
    assert process.returncode == 5, err
    assert "the audit log was replaced" in err


@pytest.mark.parametrize("command", filter(lambda each: follows(each.values[0]), examples()))
def test_the_example_of_following_works(running, command):
    process = api_client.start(running, *shlex.split(command)[1:])
    set_title(running, "hello")
    next_of(process, "hello")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=daemons.LIMIT)
    assert process.returncode == 130
