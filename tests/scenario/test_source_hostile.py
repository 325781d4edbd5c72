"""A git server that is hostile: its answers are bounded, and what it names is not used as an option or a path."""

import http.server
import pathlib
import ssl
import threading

import pytest
from git_https import make_certificate
from test_sources import Fleet

ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
COMMIT = b"1" * 40


def line(text):
    return b"%04x" % (len(text) + 4) + text


CAPABILITIES = (line(b"# service=git-upload-pack\n") + b"0000" + line(b"version 2\n") + line(b"ls-refs=unborn\n") +
                line(b"fetch=shallow\n") + b"0000")


class Hostile:
    """Answers the request for branches with what `listed` writes to the connection."""

    def __init__(self, folder, listed):
        folder.mkdir()
        self.ca, both = make_certificate(folder)
        self.is_ended = False
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words):
                pass

            def answer(self, kind, texts):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    for text in [*texts, b""] if isinstance(texts, list) else texts:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
                except OSError:
                    self.close_connection = True  # git was killed

            def do_GET(self):
                self.answer(ADVERTISEMENT, [CAPABILITIES])

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer("application/x-git-upload-pack-result", listed(outer))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(both)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}/site.git"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def end(self):
        self.is_ended = True
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def serve(tmp_path):
    servers = []

    def start(listed):
        servers.append(Hostile(tmp_path / "https", listed))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture
def fleet(cluster, tmp_path):
    return Fleet(cluster, tmp_path)


def why_of(fleet, server, *options):
    fleet.call("sources", "add", "site", server.url, "--ca", server.ca, "--interval", "1d", *options)
    status = fleet.sync("site", code=1)
    assert status["state"] == "unreachable"
    return status["why"]


@pytest.mark.parametrize("name", [b"--upload-pack=x", b"a:refs/heads/b", b"../../config", b"a" * 900, b"a\x07"])
def test_a_default_branch_with_an_impossible_name_is_refused(fleet, serve, name):
    branch = b"refs/heads/" + name
    server = serve(lambda server: [
        line(COMMIT + b" HEAD symref-target:" + branch + b"\n") + line(COMMIT + b" " + branch + b"\n") + b"0000"])
    assert why_of(fleet, server) == "the default branch of the repository has an invalid name"


def endless(server):
    number = 0
    while not server.is_ended:
        yield b"".join(line(COMMIT + b" refs/heads/%s-%09d\n" % (b"x" * 900, number + i)) for i in range(1000))
        number += 1000


def test_branches_without_end_do_not_fill_the_memory_of_the_server(fleet, serve, eden_path):
    """The limit for a list of branches is small; they would take all memory in the two minutes that a fetch may
    take."""
    if b"__asan_init" in pathlib.Path(eden_path).read_bytes():
        pytest.skip("with AddressSanitizer, programs have no limit")
    assert why_of(fleet, serve(endless)) == "git needs more than 256 MiB of memory to list its branches"
