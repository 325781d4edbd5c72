"""The page of a cluster in a browser: log in, see the nodes, log out."""

import json

from cluster_page import log_in

COOKIE = "__Host-eden-session"


def complaints(page):
    """Console messages, except for the response that tells a page that no one is logged in."""
    return [(source, text, url) for source, text, url in page.complaints
            if not (source == "network" and url.endswith("/v1/session") and " 401 " in text)]


def test_a_browser_logs_in_and_out(page, cluster):
    page.open(cluster.url + "/")
    page.wait("document.title === 'eden blue'")
    log_in(page, cluster.token)
    row = page.wait("document.querySelector('#rows tr')?.innerText")
    assert row.split()[0] == "s1"
    assert page.run("document.getElementById('who').textContent").startswith("ann")
    assert page.run("document.getElementById('token').value") == ""
    page.reload()
    assert page.wait("document.querySelector('#rows tr')?.innerText").split()[0] == "s1"
    page.run("document.getElementById('log-out').click()")
    page.wait("!document.getElementById('login').hidden")
    assert page.run("document.querySelectorAll('#rows tr').length") == 0
    assert page.cookies() == []
    page.reload()
    page.wait("!document.getElementById('login').hidden")
    assert complaints(page) == []


def test_changes_appear_without_reloading(logged_in, cluster):
    """From the page, and from any other script of this server."""
    assert logged_in.run("""new Promise((done) => {
        const source = new EventSource('/v1/nodes?watch=sse');
        let told;
        window.labeled = new Promise((resolve) => { told = resolve; });
        const take = ({ data, lastEventId }) => {
            const { type, object } = JSON.parse(data);
            if (type === 'synced') {
                done('synced');
            } else if (object?.metadata.labels.role === 'web') {
                source.close();
                told({ type, name: object.metadata.name, id: Number(lastEventId),
                       revision: object.metadata.revision });
            }
        };
        for (const type of ['message', 'added', 'changed', 'deleted', 'synced', 'resync']) {
            source.addEventListener(type, take);
        }
    })""") == "synced"
    cluster.call("nodes", "label", "s1", "role=web")
    output = logged_in.run("window.labeled")
    assert (output["type"], output["name"]) == ("changed", "s1")
    assert 0 < output["id"] <= output["revision"]
    logged_in.wait("document.querySelector('#rows .labels')?.textContent === 'role=web'")
    cluster.call("nodes", "label", "s1", "role-")
    logged_in.wait("document.querySelector('#rows .labels')?.textContent === ''")
    assert complaints(logged_in) == []


def test_scripts_cannot_read_the_session(logged_in):
    (cookie,) = logged_in.cookies()
    assert cookie["name"] == COOKIE
    assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
    assert (cookie["domain"], cookie["path"]) == ("127.0.0.1", "/")
    assert logged_in.run("document.cookie") == ""
    kept = logged_in.run("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert kept == "[{},{}]"


def test_a_wrong_token_shows_an_error(page, cluster):
    page.open(cluster.url + "/")
    log_in(page, cluster.token[:-4] + "aaaa")
    assert page.wait("!document.getElementById('note').hidden && "
                     "document.getElementById('note').textContent")
    assert page.run("document.getElementById('nodes').hidden")
    assert page.cookies() == []


def test_injected_markup_is_not_executed(logged_in):
    """Only files of the server are executed, and text does not become elements."""
    for attempt in ("document.createElement('script').textContent = 'window.ran = true'",
                    "document.body.innerHTML = '<img src=/nothing onerror=\"window.ran = true\">'",
                    "document.write('<script>window.ran = true</script>')",
                    "document.createElement('script').src = 'https://elsewhere.example/x.js'"):
        got = logged_in.run(f"(() => {{ try {{ {attempt}; return 'it went'; }} "
                            "catch (error) { return error.name; } })()")
        assert got == "TypeError", attempt
    refused = logged_in.run("""new Promise((done) => {
        document.addEventListener('securitypolicyviolation', (event) => done(event.blockedURI));
        const image = document.createElement('img');
        image.src = 'https://elsewhere.example/x.png';
        document.body.append(image);
    })""")
    assert refused == "https://elsewhere.example/x.png"
    assert logged_in.run("window.ran") is None


def test_the_description_of_the_api_is_shown(page, cluster):
    page.open(cluster.url + "/docs/")
    page.wait("document.body.innerText.includes('/v1/nodes')")
    assert complaints(page) == []


def test_the_compact_page_of_the_api_shows_all_of_it(page, compact):
    """Built without Swagger UI: every operation with parameters and responses, every schema."""
    described = json.loads(compact.eden("schema", "openapi").stdout)
    page.open(compact.url + "/docs/")
    page.wait("!document.getElementById('description').hidden")
    operations = {(method.upper(), path): operation for path, item in described["paths"].items()
                  for method, operation in item.items()}  # fmt: skip
    shown = page.run("[...document.querySelectorAll('.operation > summary')].map((row) => "
                     "[...row.querySelectorAll('code')].map((code) => code.textContent))")
    assert sorted(map(tuple, shown)) == sorted(operations)
    assert int(page.run("document.getElementById('count').textContent")) == len(operations)
    for operation in operations.values():
        text = page.run(f"document.getElementById('{operation['operationId']}').textContent")
        assert operation["summary"] in text
        assert all(parameter["name"] in text for parameter in operation["parameters"])
        assert all(status in text for status in operation["responses"])
        assert ("Authentication: none" in text) == (operation.get("security") == [])
    for name, schema in described["components"]["schemas"].items():
        text = page.run(f"document.getElementById('schema-{name}').textContent")
        assert all(field in text for field in schema.get("properties", {}))
    assert "Authorization: bearer" in page.run("document.getElementById('schemes').textContent")
    assert complaints(page) == []


def test_the_compact_page_filters_and_follows_links(page, compact):
    page.open(compact.url + "/docs/#node_patch")
    page.wait("document.getElementById('node_patch')?.open")
    assert page.run("document.activeElement.closest('details').id") == "node_patch"
    page.run("(() => { const field = document.getElementById('filter'); field.value = 'delete ROLES';"
             " field.dispatchEvent(new Event('input')); })()")
    visible = "[...document.querySelectorAll('.operation')].filter((row) => row.checkVisibility())"
    assert page.run(f"{visible}.map((row) => row.id)") == ["role_delete"]
    page.run("document.querySelector('#role_delete a[href^=\"#schema-\"]').click()")
    page.wait("document.querySelector('#types details[open]')")
    assert page.run("[...document.querySelectorAll('a[href^=\"#\"]')].every((link) => "
                    "document.getElementById(link.hash.slice(1)))")
    assert page.run("[...document.querySelectorAll('input')].every((field) => field.labels.length)")
    assert complaints(page) == []


def test_the_compact_page_explains_why_it_is_empty(page, compact):
    page.call("Network.setBlockedURLs", urls=["*/v1/openapi.json"])
    page.open(compact.url + "/docs/")
    assert page.wait("document.getElementById('note').textContent").startswith("Cannot show the API: ")
