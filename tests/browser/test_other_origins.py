"""What pages of other origins can do with the browser's session: nothing."""

import json

import pytest

# The browser sends no cookie with requests of the first; a page on another port of the same machine
# is same-site, so cookies are sent.
ORIGINS = ["elsewhere.example", "127.0.0.1"]

CHANGE = json.dumps({"metadata": {"name": "cluster"}, "spec": {"title": "Mine"}})

# Each returns what the page can observe.
FETCHES = {
    "put": "fetch(at + '/v1/config/cluster', {method: 'PUT', credentials: 'include', body: change, "
           "headers: {'Content-Type': 'application/json'}})",
    "post": "fetch(at + '/v1/config', {method: 'POST', credentials: 'include', body: change})",
    "post unseen": "fetch(at + '/v1/config', {method: 'POST', mode: 'no-cors', body: change, "
                   "credentials: 'include', headers: {'Content-Type': 'text/plain'}})",
    "delete": "fetch(at + '/v1/session', {method: 'DELETE', credentials: 'include'})",
    "csrf": "fetch(at + '/v1/config', {method: 'POST', credentials: 'include', body: change, "
            "headers: {'Eden-CSRF': 'x'}})",
    "get": "fetch(at + '/v1/nodes', {credentials: 'include'})",
    "get unseen": "fetch(at + '/v1/nodes', {mode: 'no-cors', credentials: 'include'})",
    "secret": "fetch(at + '/v1/session', {credentials: 'include'})",
}
OTHERS = {
    "xhr": """new Promise((done) => {
        const asked = new XMLHttpRequest();
        asked.open('POST', at + '/v1/config');
        asked.withCredentials = true;
        asked.onload = () => done(asked.responseText);
        asked.onerror = () => done('refused');
        asked.send(change);
    })""",
    "events": """new Promise((done) => {
        const source = new EventSource(at + '/v1/nodes?watch=sse', {withCredentials: true});
        source.onopen = () => done('open');
        source.onmessage = (event) => done(event.data);
        source.onerror = () => { source.close(); done('refused'); };
    })""",
    "script": """new Promise((done) => {
        const script = document.createElement('script');
        script.src = at + '/v1/nodes';
        script.onload = () => done('loaded');
        script.onerror = () => done('refused');
        document.body.append(script);
    })""",
}


def state(cluster):
    """Everything that could have been changed, and the audit log."""
    output = json.loads(cluster.call("audit", "tail", "-n", "1000", "-o", "json").stdout)
    return {
        "done": [item["metadata"]["name"] for item in output["items"]
                 if item["status"]["outcome"] in ("asked", "done")],
        "config": json.loads(cluster.call("config", "list", "-o", "json").stdout)["items"],
    }


@pytest.fixture
def unchanged(cluster, logged_in):
    """At the end nothing has changed and the session still exists."""
    before = state(cluster)
    yield
    assert state(cluster) == before
    assert logged_in.run("fetch('/v1/session').then((answer) => answer.status)") == 200


def go(logged_in, cluster, host, port):
    page = logged_in.browser.page(cookies_of=logged_in)
    page.open(f"https://{host}:{port}/")
    page.run(f"window.at = {json.dumps(cluster.url)}; window.change = {json.dumps(CHANGE)}; 0")
    return page


@pytest.mark.parametrize("host", ORIGINS)
def test_a_page_of_another_origin_cannot_read_the_api(unchanged, logged_in, cluster, elsewhere, host):
    page = go(logged_in, cluster, host, elsewhere)
    for name, text in FETCHES.items():
        got = page.run(f"{text}.then((answer) => answer.text()).catch((error) => error.name)")
        assert got == "TypeError", name
    for name, text in OTHERS.items():
        assert page.run(text) == "refused", name
    statuses = {status for status, _ in page.responses}
    assert statuses <= {200, 401, 403, 405} and statuses & {403, 405}
    for _, fields in page.responses:
        assert not [field for field in fields if field.lower().startswith("access-control-")]
    assert page.sent_cookie == (host == "127.0.0.1")


@pytest.mark.parametrize("host", ORIGINS)
def test_a_form_of_another_origin_cannot_change_anything(unchanged, logged_in, cluster, elsewhere, host):
    """The text is JSON except for the field name that replaces the rest."""
    page = go(logged_in, cluster, host, elsewhere)
    page.leave("""(() => {
        const form = document.createElement('form');
        form.method = 'POST';
        form.enctype = 'text/plain';
        form.action = at + '/v1/config';
        const field = document.createElement('input');
        field.name = change.slice(0, -1) + ',"metadata":{"name":"x';
        field.value = '"}}';
        form.append(field);
        document.body.append(form);
        form.submit();
    })()""")
    output = json.loads(page.run("document.body.innerText"))
    assert (output["status"], output["code"]) == (403, "denied")


@pytest.mark.parametrize("host", ORIGINS)
def test_pages_cannot_be_framed_by_other_origins(logged_in, cluster, elsewhere, host):
    page = go(logged_in, cluster, host, elsewhere)
    seen = page.run("""new Promise((done) => {
        const frame = document.createElement('iframe');
        frame.src = at + '/';
        frame.onload = () => {
            try { done(frame.contentDocument?.body.innerText ?? 'nothing'); }
            catch { done('nothing'); }
        };
        document.body.append(frame);
    })""")
    assert seen == "nothing"
    assert any("frame-ancestors" in text or "X-Frame-Options" in text
               for _, text, _ in page.complaints), page.complaints


def test_dns_rebinding_gives_no_access(unchanged, logged_in, cluster):
    """DNS rebinding: the browser considers it the same origin."""
    page = logged_in.browser.page(cookies_of=logged_in)
    page.call("Page.setBypassCSP", enabled=True)  # as a page loaded earlier would
    page.open(f"https://rebound.example:{cluster.api_port}/")
    assert json.loads(page.run("document.body.innerText"))["code"] == "misdirected"
    for method, path in (("GET", "/v1/health"), ("GET", "/v1/nodes"), ("POST", "/v1/config")):
        body = "" if method == "GET" else f", body: {json.dumps(CHANGE)}"
        assert page.run(f"fetch('{path}', {{method: '{method}'{body}}})"
                        ".then((answer) => answer.status)") == 421
    assert not page.sent_cookie
