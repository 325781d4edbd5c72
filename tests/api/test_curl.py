"""What people do with the API, by curl: on the Unix socket, and from outside."""


def test_a_token_lives_its_life(server):
    status, made = server.local("/v1/tokens", "--json",
                                '{"spec": {"description": "rack 7", "uses": 3}}')
    assert status == 201
    name = made["metadata"]["name"]
    assert made["status"]["secret"].startswith(name + ".")
    status, listed = server.local("/v1/tokens")
    assert status == 200
    assert [token["spec"]["description"] for token in listed["items"]] == ["rack 7"]
    assert "secret" not in listed["items"][0]["status"]
    assert server.local(f"/v1/tokens/{name}", "-X", "DELETE")[0] == 200
    assert server.local("/v1/tokens")[1]["items"] == []


def test_keys_can_be_looked_at(server):
    assert server.local("/v1/store?key=/a", "-X", "PUT", "--json", '{"value": "b"}')[0] == 200
    status, shown = server.local("/v1/store?key=/a")
    assert (status, shown["value"], shown["version"]) == (200, "b", 1)
    status, error = server.local("/v1/store?key=/b")
    assert (status, error["code"]) == (404, "not-found")


def test_outside_there_is_health_and_joining_only(server):
    status, health = server.outside("/v1/health")
    assert (status, health["healthy"]) == (200, True)
    for path in ("/v1/tokens", "/v1/nodes", "/v1/store?key=/a", "/v1/nodes/web1", "/v1/nope"):
        status, error = server.outside(path)
        assert (status, error["code"]) == (401, "unauthenticated"), path
    status, error = server.outside("/v1/join", "--json", "{}")
    assert (status, error["code"]) == (503, "unavailable")


def test_addresses_have_one_spelling(server):
    for path in ("/v1/nodes/../health", "/v1//health", "/v1/health/", "/v1/nodes/%2e%2e"):
        status, error = server.outside(path)
        assert (status, error["type"]) == (400, "urn:eden:problem:invalid"), path
