"""The API description, read by third-party tools: a validator, and a client generator whose client
then talks to a server."""

import copy
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import urllib.request

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("EDEN_BUILD", HERE.parents[1] / "build"))
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "scenario")]

import daemons  # noqa: E402
import npm  # noqa: E402
from api_client import UnixConnection  # noqa: E402


@pytest.fixture(scope="module")
def modules():
    return pathlib.Path(npm.node_modules(BUILD, HERE))


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    eden_path = os.environ.get("EDEN", str(BUILD / "eden"))
    cluster = daemons.Cluster(eden_path, tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def described(running):
    return json.loads(running.eden("schema", "openapi").stdout)


def operations(described):
    return [(path, method, row) for path, methods in described["paths"].items()
            for method, row in methods.items()]


def test_the_server_describes_itself_as_the_command_does(running, described):
    trust = ssl.create_default_context(cafile=running.state / "agent/ca.pem")
    url = f"https://127.0.0.1:{running.api_port}/v1/openapi.json"
    with urllib.request.urlopen(url, context=trust, timeout=daemons.LIMIT) as reply:
        assert reply.headers["content-type"].startswith("application/json")
        assert json.load(reply) == described


def validate(modules, path):
    done = subprocess.run(["node", HERE / "validate.mjs", path, modules], capture_output=True,
                          text=True, timeout=daemons.LIMIT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_description_is_valid(modules, described, tmp_path):
    described = copy.deepcopy(described)
    path = tmp_path / "api.json"
    path.write_text(json.dumps(described))
    assert validate(modules, path) == {}
    del described["paths"]["/v1/nodes"]["get"]["responses"]
    path.write_text(json.dumps(described))
    assert "responses" in json.dumps(validate(modules, path)["errors"])


def test_every_operation_has_a_unique_name(described):
    rows = operations(described)
    names = [row["operationId"] for _, _, row in rows]
    assert len(names) > 30 and len(set(names)) == len(names)
    for path, _, row in rows:
        in_path = [each["name"] for each in row["parameters"] if each["in"] == "path"]
        assert in_path == re.findall(r"{(\w+)}", path)


def test_responses_match_their_description(running, described):
    """Status, type and shape of the response of every readable endpoint."""
    shapes = {dict: "object", list: "array"}
    seen = set()
    for path, method, row in operations(described):
        if method != "get" or path == "/v1/watch":
            continue
        query = [each["name"] for each in row["parameters"]
                 if each["in"] == "query" and each["required"]]
        connection = UnixConnection(running.run / "server/api.sock")
        connection.request("GET", re.sub(r"{\w+}", "s1", path) +
                           (f"?{query[0]}=/eden/nodes/s1" if query else ""))
        reply = connection.getresponse()
        media = reply.headers.get_content_type()
        body = reply.read()
        connection.close()
        if reply.status in (400, 404):  # no object has this name
            assert media == "application/problem+json" and "{" in path, path
            continue
        content = row["responses"][str(reply.status)]["content"][media]
        assert ("ETag" in row["responses"][str(reply.status)]["headers"]) == ("ETag" in reply.headers)
        if media == "application/json" and "type" in content["schema"]:
            assert shapes[type(json.loads(body))] == content["schema"]["type"], path
        seen.add(media)
    assert seen == {"application/json", "text/plain", "application/octet-stream"}


def header_parameters(row):
    return {each["name"] for each in row["parameters"] if each["in"] == "header"}


def test_fields_of_requests_and_responses_are_described(described):
    paths = described["paths"]
    for path, method, row in operations(described):
        fields = header_parameters(row)
        is_object = path.count("{name}") == 1 and path.endswith("{name}")
        is_public = row["tags"] == ["Public"]
        is_blob = path.startswith("/v1/blobs")  # named by content: sending one twice is harmless
        assert ("If-Match" in fields) == (is_object and method in ("put", "patch", "delete")), path
        assert ("If-None-Match" in fields) == ("If-Match" in fields), path
        assert ("412" in row["responses"]) == ("If-Match" in fields), path
        assert ("Idempotency-Key" in fields) == (
            method == "post" and not is_public and not is_blob
        ), path
        assert ("422" in row["responses"]) == ("Idempotency-Key" in fields), path
        if method != "get" and not is_public and not is_blob and not path.endswith("/ping"):
            assert "Eden-Reason" in fields, path
        assert {"400", "429", "503", "4XX", "5XX"} <= set(row["responses"]), path
        assert ("401" in row["responses"]) == ("403" in row["responses"]) == (not is_public), path
        assert ("404" in row["responses"]) >= ("{name}" in path), path
        assert ("415" in row["responses"]) == ("requestBody" in row), path
    assert "Eden-Reason" in header_parameters(paths["/v1/backup"]["get"])
    assert set(paths["/v1/config"]["post"]["responses"]["201"]["headers"]) == {
        "ETag", "Location", "Idempotent-Replayed"}
    assert set(paths["/v1/config/{name}"]["put"]["responses"]["200"]["headers"]) == {"ETag"}
    assert set(paths["/v1/config"]["get"]["responses"]["200"]["headers"]) == {
        "Eden-Stale-Since"}
    problems = described["components"]["responses"]
    assert set(problems["Problem429"]["headers"]) == {"Retry-After"}
    assert set(problems["Problem401"]["headers"]) == {"WWW-Authenticate"}


def test_watches_are_described(running, described):
    media = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}
    watched = set()
    for path, method, row in operations(described):
        names = {each["name"] for each in row["parameters"]}
        content = row["responses"].get("200", {}).get("content", {})
        assert ("watch" in names) == ("Last-Event-ID" in names) == set(media.values()).issubset(content)
        if "watch" not in names:
            continue
        kind = row["tags"][0]
        watched.add(kind)
        for each in media.values():
            assert content[each]["schema"] == {"$ref": f"#/components/schemas/{kind}Event"}
    lists = {schema[:-4] for schema in described["components"]["schemas"] if schema.endswith("List")}
    assert watched == lists >= {"Node", "Facts", "Config", "Role", "Certificate", "Audit"}
    event = described["components"]["schemas"]["NodeEvent"]["properties"]
    for media_format, content_type in media.items():
        connection = UnixConnection(running.run / "server/api.sock")
        connection.request("GET", f"/v1/nodes?watch={media_format}")
        reply = connection.getresponse()
        assert reply.headers.get_content_type() == content_type
        line = reply.readline().decode()
        if media_format == "ndjson":
            response = json.loads(line)
            assert set(response) == set(event) and response["type"] in event["type"]["enum"]
        connection.close()


@pytest.fixture(scope="module")
def client(modules, running, tmp_path_factory):
    """The generated client, with client.ts, as a program."""
    folder = tmp_path_factory.mktemp("client")
    described = folder / "api.json"
    described.write_text(running.eden("schema", "openapi").stdout)
    shutil.copy(HERE / "client.ts", folder)
    for command in (
        [modules / "openapi-typescript-codegen/bin/index.js", "--input", described, "--output",
         folder / "generated", "--client", "fetch"],
        [modules / "typescript/bin/tsc", "--strict", "--target", "es2022", "--module", "commonjs",
         "--lib", "es2022,dom,dom.iterable", "--outDir", folder / "out", folder / "client.ts"],
    ):
        done = subprocess.run(["node", *command], capture_output=True, text=True, cwd=folder,
                              timeout=daemons.LIMIT)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out/client.js"


def make_token(cluster, role):
    made = cluster.call("tokens", "create", "--role", role, "--label", role, "-o", "json").stdout
    return re.search(r"eden_[a-z2-7]{8}_[a-z2-7]{32}", made)[0]


def test_a_generated_client_works(running, client):
    done = subprocess.run(
        ["node", client, f"https://127.0.0.1:{running.api_port}", make_token(running, "admin"),
         make_token(running, "viewer")], capture_output=True, text=True, timeout=daemons.LIMIT,
        env={**daemons.environment(), "PATH": os.environ["PATH"],
             "NODE_EXTRA_CA_CERTS": str(running.state / "agent/ca.pem")})
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["health"]["cluster"] == "blue"
    assert printed["names"] == ["s1"]
    assert printed["session"]["roles"] == ["admin"]
    assert printed["made"]["spec"] == {"title": "Blue", "color": "blue"}
    assert printed["patched"]["spec"] == {"title": "Navy", "color": "blue"}
    assert printed["shown"] == printed["patched"] == printed["seen"] == printed["kept"]
    assert [item["metadata"]["name"] for item in printed["listed"]["items"]] == ["cluster"]
    for what, status, code in (("nobody", 401, "unauthenticated"), ("denied", 403, "denied"),
                               ("missing", 404, "not-found"), ("gone", 404, "not-found"),
                               ("stale", 412, "precondition"), ("other", 422, "unprocessable")):
        refused = printed[what]
        assert refused["status"] == refused["body"]["status"] == status, what
        assert refused["body"]["type"] == f"urn:eden:problem:{code}"
    assert printed["once"] == printed["again"]
    assert printed["wrong"]["body"]["problems"][0]["pointer"] == "/spec/color"
