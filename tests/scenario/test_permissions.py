"""Which credentials get access to what: every endpoint with every kind of caller, browser sessions,
and the audit log, which any user can verify."""

import concurrent.futures
import hashlib
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import time
import urllib.parse

import cluster_world
import daemons
import pytest
from test_access import UnixConnection, routes

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENESIS = "0" * 64


@pytest.fixture
def running(cluster):
    cluster.start()
    return cluster


def needs(eden_path):
    """What each endpoint requires: (method, path) to (verb, kind), as the API itself reports."""
    response = subprocess.run([eden_path, "schema", "openapi"], check=True, capture_output=True)
    found = {}
    for path, methods in json.loads(response.stdout)["paths"].items():
        for method, row in methods.items():
            printed = re.search(r"allows '([\w-]+)' on (\w+)", row.get("description", ""))
            if printed:
                found[method.upper(), re.sub(r"{\w+}", "x1", path)] = printed.groups()
    return found


def ask(cluster, method, address, body=None, certificate=None, **fields):
    """The status and the response; for endless responses only the status."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate)
    connection = http.client.HTTPSConnection("127.0.0.1", cluster.api_port, context=context,
                                             timeout=daemons.LIMIT)
    return response_of(connection, method, address, body, fields)


def response_of(connection, method, address, body, fields):
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    if body is not None:
        headers["content-type"] = "application/json"
    connection.request(method, address, body, headers)
    reply = connection.getresponse()
    ends = reply.getheader("content-length") is not None
    text = reply.read() if ends else b""
    connection.close()
    return reply.status, json.loads(text) if text.startswith(b"{") else text, reply


def ask_local(cluster, method, address, body=None, **fields):
    return response_of(UnixConnection(cluster.run / "server/api.sock"), method, address, body, fields)


def make_token(cluster, *roles):
    words = [word for role in roles for word in ("--role", role)]
    made = cluster.call("tokens", "create", *words, "--label", "test", "-o", "json").stdout
    return re.search(r"eden_[a-z2-7]{8}_[a-z2-7]{32}", made)[0]


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def body_of(method):
    return "{}" if method in ("POST", "PUT", "PATCH") else None


def rules_of(cluster, role):
    status, response, _ = ask_local(cluster, "GET", f"/v1/roles/{role}")
    assert status == 200
    return response["spec"]["rules"]


def allows(rules, verb, kind):
    return any({verb, "*"} & set(rule["verbs"]) and {kind, "*"} & set(rule["kinds"])
               for rule in rules)


def later(span):
    """Makes a process believe that it is later."""
    library = next((ROOT / "build/unpacked/libfaketime").rglob("libfaketime.so.1"))
    # A sanitizer has to be loaded first.
    return {"LD_PRELOAD": str(library), "FAKETIME": f"+{span}", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "ASAN_OPTIONS": "verify_asan_link_order=0"}


def test_every_endpoint_is_closed_to_an_expired_token(running, eden_path):
    token = make_token(running, "admin")
    assert ask(running, "GET", "/v1/roles", **bearer(token))[0] == 200
    assert running.server.stop() == 0
    running.start(env=later("9h"))
    for method, address, is_public in routes(eden_path):
        if not is_public:
            status, response, _ = ask(running, method, address, body_of(method), **bearer(token))
            assert (status, response["code"]) == (401, "unauthenticated"), (method, address)
            assert "expired" in response["detail"]


def test_secrets_are_stored_only_by_their_holders(running):
    token = make_token(running, "admin")
    join = json.loads(running.call("tokens", "create", "-o", "json").stdout)["status"]["secret"]
    status, _, reply = ask(running, "POST", "/v1/session", json.dumps({"token": token}))
    assert status == 201
    cookie = reply.getheader("set-cookie").split(";")[0]
    secrets = [token.split("_")[2], join.split(".")[1], cookie.split("=")[1]]
    assert ask(running, "GET", "/v1/nodes", Cookie=cookie)[0] == 200
    assert ask(running, "GET", "/v1/nodes", **bearer(token + "x"))[0] == 401
    assert ask(running, "POST", "/v1/session", json.dumps({"tokn": token}))[0] == 400
    seen = [running.call("audit", "tail", "-n", "1000", "-o", "json").stdout,
            running.call("tokens", "list", "-o", "json").stdout, "\n".join(running.server.log)]
    process = pathlib.Path(f"/proc/{running.server.process.pid}")
    seen += [(process / name).read_bytes().decode() for name in ("cmdline", "environ")]
    assert running.server.stop() == 0
    for path in running.folder.rglob("*"):
        if path.is_file():
            seen.append(path.read_bytes().decode("latin-1"))
    assert len(seen) > 8
    for secret in secrets:
        assert not [text for text in seen if secret in text], secret


def test_every_endpoint_with_every_kind_of_caller(running, eden_path):
    tokens = {role: make_token(running, role) for role in ("viewer", "operator", "admin")}
    rules = {role: rules_of(running, role) for role in tokens}
    revoked = make_token(running, "admin")
    running.call("tokens", "revoke", revoked.split("_")[1])
    wrong = tokens["admin"][:-4] + "aaaa"
    unknown = "eden_aaaaaaaa_" + 32 * "a"
    needed = needs(eden_path)
    assert len(needed) > 20
    for method, address, is_public in routes(eden_path):
        if is_public:
            continue
        verb, kind = needed[method, urllib.parse.urlsplit(address).path]
        case = (method, address)
        for bad in ("Bearer", "Bearer x", "Basic eDp4", *(f"Bearer {token}" for token in (
                revoked, wrong, unknown, tokens["admin"].upper()))):
            status, _, _ = ask(running, method, address, body_of(method), Authorization=bad)
            assert status == 401, (*case, bad)
        for role, token in tokens.items():
            status, response, _ = ask(running, method, address, body_of(method), **bearer(token))
            if allows(rules[role], verb, kind):
                assert status not in (401, 403), (*case, role, response)
            else:
                assert status == 403, (*case, role, response)
                assert f"'{verb}' on {kind}; you have: {role}" in response["detail"]


def test_large_values_require_write_permission(running):
    """On the public port as over the Unix socket; of rejected requests the body is not even read.
    """
    body = json.dumps({"value": "x" * 1000000})
    admin, viewer = (bearer(make_token(running, role)) for role in ("admin", "viewer"))
    assert ask(running, "PUT", "/v1/store?key=%2Fx", body, **admin)[0] == 200
    status, response, _ = ask(running, "GET", "/v1/store?key=%2Fx", **admin)
    assert (status, len(response["value"])) == (200, 1000000)
    head = {"Content-Length": "1000000", "Content-Type": "application/json"}
    assert ask(running, "PUT", "/v1/store?key=%2Fx", **head, **viewer)[0] == 403
    assert ask(running, "PUT", "/v1/store?key=%2Fx", **head)[0] == 401
    response = [json.loads(text) for text in entries(running)]
    assert [(one["verb"], one["kind"]) for one in response if one["outcome"] == "denied"] == [
        ("update", "Key")]


def watches(eden_path):
    """What can be watched: (path, kind)."""
    response = subprocess.run([eden_path, "schema", "openapi"], check=True, capture_output=True)
    for path, methods in json.loads(response.stdout)["paths"].items():
        row = methods.get("get", {})
        if any(each["name"] == "watch" for each in row.get("parameters", ())):
            yield re.sub(r"{\w+}", "1", path) + "?watch=ndjson", row["tags"][0]


def test_every_kind_can_be_watched_with_permission(running, eden_path):
    tokens = {role: make_token(running, role) for role in ("viewer", "operator", "admin")}
    rules = {role: rules_of(running, role) for role in tokens}
    put_role = {"spec": {"rules": [{"verbs": ["get", "list"], "kinds": ["*"]}]}}
    assert ask_local(running, "PUT", "/v1/roles/reads", json.dumps(put_role))[0] == 201
    tokens["reads"], rules["reads"] = make_token(running, "reads"), rules_of(running, "reads")
    found = list(watches(eden_path))
    assert {kind for _, kind in found} >= {"Node", "Facts", "Audit", "Certificate", "Config", "Token",
                                           "Role"}
    for address, kind in found:
        assert ask(running, "GET", address)[0] == 401, address
        for role, token in tokens.items():
            status, body, response = ask(running, "GET", address, **bearer(token))
            if allows(rules[role], "watch", kind):
                assert status == 200, (address, role, body)
                assert response.getheader("content-type") == "application/x-ndjson"
            else:
                assert status == 403, (address, role, body)
                assert f"'watch' on {kind}; you have: {role}" in body["detail"]


def test_a_node_certificate_gives_no_api_access(running, eden_path):
    certificate = next(one for one in (running.state / "agent").iterdir()
                       if one.is_file() and b"PRIVATE KEY" in one.read_bytes())
    for method, address, is_public in routes(eden_path):
        if is_public:
            continue
        try:
            status, _, _ = ask(running, method, address, body_of(method), certificate=certificate)
        except (ssl.SSLError, ConnectionError):
            status = 403  # not even a handshake
        assert status in (401, 403), (method, address)


def log_in(cluster, token):
    status, body, response = ask(cluster, "POST", "/v1/session", json.dumps({"token": token}))
    assert status == 201, body
    cookie = response.getheader("set-cookie")
    for word in ("__Host-eden-session=", "Path=/", "Secure", "HttpOnly", "SameSite=Strict"):
        assert word in cookie
    return {"Cookie": cookie.split(";")[0]}, body["csrf"]


def test_a_browser_cannot_change_anything_without_its_second_secret(running):
    token = make_token(running, "admin")
    cookie, csrf = log_in(running, token)
    role = json.dumps({"spec": {"rules": [{"verbs": ["get"], "kinds": ["Node"]}]}})
    assert ask(running, "GET", "/v1/nodes", **cookie)[0] == 200
    assert ask(running, "PUT", "/v1/roles/web", role, **cookie)[0] == 403
    assert ask(running, "PUT", "/v1/roles/web", role, **cookie, Eden_CSRF="0" * 64)[0] == 403
    assert ask(running, "PUT", "/v1/roles/web", role, **cookie, Eden_CSRF=csrf)[0] in (200, 201)
    other, other_csrf = log_in(running, token)
    assert ask(running, "PUT", "/v1/roles/web", role, **cookie, Eden_CSRF=other_csrf)[0] == 403
    assert ask(running, "DELETE", "/v1/session", **other, Eden_CSRF=other_csrf)[0] == 200
    assert ask(running, "GET", "/v1/nodes", **other)[0] == 401
    assert ask(running, "GET", "/v1/nodes", **cookie)[0] == 200
    twice = {"Cookie": f"{cookie['Cookie']}; {cookie['Cookie']}"}
    assert ask(running, "GET", "/v1/nodes", **twice)[0] == 401


def test_a_session_ends_with_its_token(running):
    token = make_token(running, "viewer")
    cookie, _ = log_in(running, token)
    assert ask(running, "GET", "/v1/nodes", **cookie)[0] == 200
    running.call("tokens", "revoke", token.split("_")[1])
    assert ask(running, "GET", "/v1/nodes", **bearer(token))[0] == 401
    assert ask(running, "GET", "/v1/nodes", **cookie)[0] == 401


def test_tokens_and_sessions_survive_a_server_restart(running):
    token = make_token(running, "viewer")
    cookie, _ = log_in(running, token)
    running.server.stop()
    running.start()
    assert ask(running, "GET", "/v1/nodes", **bearer(token))[0] == 200
    assert ask(running, "GET", "/v1/nodes", **cookie)[0] == 200


def failures(cluster):
    return [line for line in cluster.server.log if "authentication failed" in line]


def test_failed_authentications_are_logged_without_the_token(running):
    token = make_token(running, "viewer")
    identity, secret = token.split("_")[1:]
    cookie, _ = log_in(running, token)
    wrong = f"eden_{identity}_{'a' * 32}"
    assert ask(running, "GET", "/v1/nodes", **bearer(wrong))[0] == 401
    line = running.server.wait_for_log("authentication failed")
    assert f'by="token {identity}"' in line and "address=127.0.0.1:" in line
    body = json.dumps({"token": f"eden_zzzzzzzz_{'b' * 32}"})
    assert ask(running, "POST", "/v1/session", body)[0] == 401
    running.server.wait_for_log('by="token zzzzzzzz"')
    assert ask(running, "GET", "/v1/nodes", **bearer("hunter2-is-no-token"))[0] == 401
    running.call("tokens", "revoke", identity)
    assert ask(running, "GET", "/v1/nodes", **bearer(token))[0] == 401
    assert ask(running, "GET", "/v1/nodes", **cookie)[0] == 401
    running.server.wait_for_log("by=session")
    assert ask(running, "GET", "/v1/nodes")[0] == 401  # no credentials were shown, so nothing has failed
    running.server.stop()
    running.server.reader.join()
    assert len(failures(running)) == 5
    log = "\n".join(running.server.log)
    assert not [each for each in (secret, "a" * 32, "b" * 32, "hunter2", cookie["Cookie"].split("=")[1])
                if each in log]


def test_failed_authentications_do_not_flood_the_log_or_hide_others(running):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    def flood(source, count):
        connection = http.client.HTTPSConnection("127.0.0.1", running.api_port, context=context,
                                                 source_address=(source, 0), timeout=daemons.LIMIT)
        for _ in range(count):
            connection.request("GET", "/v1/nodes", headers=bearer(f"eden_zzzzzzzz_{'b' * 32}"))
            reply = connection.getresponse()
            assert reply.read() and reply.status == 401
        connection.close()

    began = time.monotonic()
    flood("127.0.0.1", 1000)
    most = 5 + (time.monotonic() - began) / 10 + 1
    flood("127.0.0.2", 1)
    running.server.wait_for_log("address=127.0.0.2:")
    lines = failures(running)
    assert 0 < len([each for each in lines if "address=127.0.0.1:" in each]) <= most
    # Each is in the log, or counted there as omitted.
    assert len(lines) + sum(int(re.search(r"suppressed=(\d+)", each)[1]) for each in lines) == 1001


def test_callers_cannot_grant_more_than_they_have(running):
    token = bearer(make_token(running, "operator"))
    content = {"spec": {"purpose": "access", "roles": ["viewer"]}}
    assert ask(running, "POST", "/v1/tokens", json.dumps(content), **token)[0] == 201
    content["spec"]["roles"] = ["admin"]
    status, response, _ = ask(running, "POST", "/v1/tokens", json.dumps(content), **token)
    assert status == 403
    assert "which you are not allowed to do yourself" in response["detail"]


def test_permission_to_create_tokens_does_not_admit_machines(running):
    """A join token admits machines, so creating one requires the permission to admit any machine.
    """
    both = {"verbs": ["create"], "kinds": ["Token"]}
    for name, rules, status in (
            ("tokens", [both], 403),
            ("own", [both, {"verbs": ["approve"], "kinds": ["Node"], "selector": "role=web"}], 403),
            ("joins", [both, {"verbs": ["approve"], "kinds": ["Node"]}], 201)):
        role = json.dumps({"spec": {"rules": rules}})
        assert ask_local(running, "PUT", f"/v1/roles/{name}", role)[0] == 201
        token = bearer(make_token(running, name))
        for content in ({}, {"spec": {"purpose": "join"}}):
            got, response, _ = ask(running, "POST", "/v1/tokens", json.dumps(content), **token)
            assert got == status, response
            assert status == 201 or "'approve' on Node" in response["detail"]
    token = bearer(make_token(running, "viewer"))
    assert ask(running, "POST", "/v1/tokens", "{}", **token)[0] == 403


def test_a_role_in_use_cannot_be_deleted(running):
    role = json.dumps({"spec": {"rules": [{"verbs": ["get"], "kinds": ["Node"]}]}})
    assert ask_local(running, "PUT", "/v1/roles/web", role)[0] in (200, 201)
    token = make_token(running, "web")
    status, response, _ = ask_local(running, "DELETE", "/v1/roles/web")
    assert status == 409 and f"the token '{token.split('_')[1]}'" in response["detail"]
    running.call("tokens", "revoke", token.split("_")[1])
    assert ask_local(running, "DELETE", "/v1/roles/web")[0] == 200


def entries(cluster):
    status, response, _ = ask_local(cluster, "GET", "/v1/keys?prefix=/eden/audit/&limit=1000")
    assert status == 200
    return [one["value"] for one in response["values"]]


def test_anyone_with_permission_can_verify_the_audit_log(running):
    """The hashes as described in docs/permissions.md, computed without eden."""
    token = make_token(running, "viewer")
    role = json.dumps({"spec": {"rules": [{"verbs": ["get"], "kinds": ["Node"]}]}})
    ask_local(running, "PUT", "/v1/roles/web", role, Eden_Reason="for the web team")
    assert ask(running, "DELETE", "/v1/nodes/s1", **bearer(token))[0] == 403
    previous, response = GENESIS, []
    for number, line in enumerate(entries(running), 1):
        entry = json.loads(line)
        printed = entry.pop("hash")
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == printed
        assert entry["previous"] == previous
        assert entry["sequence"] == number
        previous = printed
        response.append((entry["verb"], entry["kind"], entry["name"], entry["outcome"],
                         entry["reason"]))
        assert token.split("_")[2] not in line
    assert ("update", "Role", "web", "asked", "for the web team") in response
    assert ("update", "Role", "web", "done", "for the web team") in response
    assert ("delete", "Node", "s1", "denied", "") in response
    status, head, _ = ask_local(running, "GET", "/v1/store?key=/eden/audit_head")
    assert status == 200
    assert json.loads(head["value"])["hash"] == previous


def test_a_role_deleted_meanwhile_is_not_granted(running):
    rules = json.dumps({"spec": {"rules": [{"verbs": ["get"], "kinds": ["Config"]}]}})
    outcomes = set()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for number in range(40):
            role = f"team-{number}"
            assert ask_local(running, "PUT", f"/v1/roles/{role}", rules)[0] == 201
            content = json.dumps({"spec": {"purpose": "access", "roles": [role]}})
            calls = [("POST", "/v1/tokens", content)] * 3
            calls.insert(number % 4, ("DELETE", f"/v1/roles/{role}"))
            response = pool.map(lambda call: ask_local(running, *call)[0], calls)
            outcomes.add(tuple(sorted(response)))
    roles = {item["metadata"]["name"]
             for item in ask_local(running, "GET", "/v1/roles")[1]["items"]}
    for token in ask_local(running, "GET", "/v1/tokens")[1]["items"]:
        assert set(token["spec"].get("roles", [])) <= roles
    # One of them wins each time; the other gets a conflict.
    assert {status for outcome in outcomes for status in outcome} <= {200, 201, 400, 409}


def test_selecting_nodes_does_not_leak_facts(running):
    """Callers who may list only some nodes may not either: a selector would reveal the others."""
    for name, facts in (("nodes-only", []), ("some-facts", [{"verbs": ["list"], "kinds": ["Facts"],
                                                             "selector": "role=web"}])):
        role = {"metadata": {"name": name},
                "spec": {"rules": [{"verbs": ["list"], "kinds": ["Node"]}, *facts]}}
        assert ask_local(running, "POST", "/v1/roles", json.dumps(role))[0] == 201
    address = "/v1/nodes?selector=" + urllib.parse.quote("server.os == 'debian'")
    for role, wanted in (("nodes-only", 403), ("some-facts", 403), ("viewer", 200)):
        fields = bearer(make_token(running, role))
        assert ask(running, "GET", "/v1/nodes?selector=web1", **fields)[0] == 200
        status, response, _ = ask(running, "GET", address, **fields)
        assert status == wanted, (role, response)


def make_role(cluster, name, *rules):
    """A token of a new role."""
    body = json.dumps({"spec": {"rules": list(rules)}})
    assert ask_local(cluster, "PUT", f"/v1/roles/{name}", body)[0] == 201
    return bearer(make_token(cluster, name))


def execute(cluster, caller, **spec):
    body = json.dumps({"spec": {"command": ["true"], **spec}})
    status, told, _ = ask(cluster, "POST", "/v1/exec", body, **caller)
    return status, told["metadata"]["name"] if status == 201 else told["detail"]


def targets(cluster, run):
    listed = ask_local(cluster, "GET", f"/v1/runs/{run}/nodes")[1]["nodes"]
    return [node["node"] for node in listed]


def test_runs_do_not_reveal_nodes_beyond_the_selector_of_a_role(running):
    """Otherwise the selectors of runs would be questions about the names and labels of hidden nodes."""
    cluster_world.fill(running)  # web2 has role=web
    runs = {"verbs": ["*"], "kinds": ["Run"], "selector": "role=web"}
    blind, seeing = make_role(running, "blind", runs), make_role(
        running, "seeing", runs, {"verbs": ["get"], "kinds": ["Node"]})
    admin = bearer(make_token(running, "admin"))
    assert execute(running, blind, selector="web1") == (404, "no node matches 'web1'")
    status, why = execute(running, seeing, selector="web1")
    assert status == 403 and "of the selected nodes: web1" in why
    status, run = execute(running, blind)
    assert status == 201 and targets(running, run) == ["web2"]
    hidden = execute(running, admin, selector="web1")[1]
    assert execute(running, blind, retry_of=hidden) == (404, f"run '{hidden}' not found")


def test_runs_of_removed_nodes_are_hidden_from_roles_with_a_selector(running):
    """The labels of a removed node are not known any more."""
    cluster_world.fill(running)
    caller = make_role(running, "others", {"verbs": ["*"], "kinds": ["Run"], "selector": "!role=web"})
    run = execute(running, bearer(make_token(running, "admin")), selector="web2")[1]
    assert ask(running, "GET", f"/v1/runs/{run}", **caller)[0] == 404
    running.call("nodes", "remove", "web2", "--yes", "--reason", "test")
    assert ask(running, "GET", f"/v1/runs/{run}", **caller)[0] == 404
    assert ask(running, "GET", f"/v1/runs/{run}/logs", **caller)[0] == 404


def test_versions_that_were_never_current_require_a_permission(running, tmp_path):
    """Plans execute commands of the site, too: whoever may propose commits would execute them on all nodes."""
    cluster_world.fill(running)
    site, versions = tmp_path / "site", []
    for text in ("echo one", "echo two"):
        for name, content in {"config.yaml": "name: shop\n", "jobs/base.yaml": "jobs: {'*': [{name: web}]}\n",
                              "jobs/web.yaml": f"steps: [{{name: hello, cmd.run: [{{cmd: {text}}}]}}]\n"}.items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text(content)
        words = ["--no-run"] if text == "echo one" else ["--no-activate"]
        versions.append(json.loads(running.call("push", site, "-o", "json", *words).stdout)["version"])
    runs = {"verbs": ["create"], "kinds": ["Run"]}
    webhook = make_role(running, "webhook", {"verbs": ["sync"], "kinds": ["Source"]})
    runner, planner = make_role(running, "runner", runs), make_role(
        running, "planner", runs, {"verbs": ["propose"], "kinds": ["Version", "Source"]})

    def start(caller, version, check):
        body = json.dumps({"spec": {"version": version, "check": check, "selector": "web2"}})
        return ask(running, "POST", "/v1/runs", body, **caller)[0]

    assert ask(running, "POST", "/v1/sources/site/propose", "{}", **webhook)[0] == 403
    assert ask(running, "POST", "/v1/sources/site/propose", "{}", **planner)[0] == 404
    assert [start(runner, versions[0], check) for check in (True, False)] == [201, 201]
    assert [start(runner, versions[1], check) for check in (True, False)] == [403, 403]
    assert [start(planner, versions[1], check) for check in (True, False)] == [201, 403]
