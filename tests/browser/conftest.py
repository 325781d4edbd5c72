"""A browser, a cluster, and a server of another origin."""

import http.server
import os
import pathlib
import re
import ssl
import subprocess
import sys
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("EDEN_BUILD", ROOT / "build")).resolve()
UI = ROOT / "src/ui"
sys.path[:0] = [str(ROOT / "tests/scenario"), str(ROOT / "tests/docs")]

import daemons  # noqa: E402
from chromium import Chromium  # noqa: E402
from cluster_page import log_in  # noqa: E402
from relink import compile_like, link_like  # noqa: E402


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    browser = Chromium(tmp_path_factory.mktemp("browser"))
    try:
        yield browser
    finally:
        browser.close()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A running cluster. `url` is the address of its pages, `token` an administrator's token."""
    cluster = daemons.Cluster(os.environ.get("EDEN", str(ROOT / "build/eden")),
                              tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        cluster.url = f"https://127.0.0.1:{cluster.api_port}"
        made = cluster.call("tokens", "create", "--role", "admin", "--label", "ann", "-o", "json")
        cluster.token = re.search(r"eden_[a-z2-7]{8}_[a-z2-7]{32}", made.stdout)[0]
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="session")
def compact(tmp_path_factory):
    """A running cluster of a program built without Swagger UI, as `make build` does."""
    place = tmp_path_factory.mktemp("compact")
    subprocess.run([UI / "pack.py", UI / "files.txt", UI / "pages", "none", place], check=True)
    for name in ("ui_files.c", "ui_files.S"):
        compile_like(BUILD, f"src/ui/{name}", place / name, place / f"{name}.o")
    link_like(BUILD, sorted(place.glob("*.o")), place / "eden")
    cluster = daemons.Cluster(str(place / "eden"), tmp_path_factory.mktemp("compact-cluster"))
    try:
        cluster.start()
        cluster.url = f"https://127.0.0.1:{cluster.api_port}"
        yield cluster
    finally:
        cluster.close()


class Blank(http.server.BaseHTTPRequestHandler):
    """An empty page for every path."""

    def do_GET(self):
        body = b"<!doctype html><title>elsewhere</title><link rel=icon href='data:,'><body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory):
    """The port of an HTTPS server of another origin."""
    folder = tmp_path_factory.mktemp("elsewhere")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-subj", "/CN=elsewhere.example", "-days", "2", "-keyout", folder / "key.pem", "-out",
         folder / "cert.pem"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Blank)
    server.socket = context.wrap_socket(server.socket, server_side=True,
                                        do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(browser):
    return browser.page()


@pytest.fixture
def logged_in(page, cluster):
    """A page with an administrator's session."""
    page.open(cluster.url + "/")
    log_in(page, cluster.token)
    page.wait("document.querySelectorAll('#rows tr').length > 0")
    return page
