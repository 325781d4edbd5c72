"""A git server on loopback with HTTPS and passwords: git's own http-backend behind a small server."""

import base64
import http.server
import ssl
import subprocess
import threading

from git_world import ENVIRONMENT


def make_certificate(folder):
    """A CA that is its own server; gives the file of the certificate, and of both."""
    key, certificate, both = folder / "key.pem", folder / "certificate.pem", folder / "both.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=git.test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "30",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return certificate, both


class GitHttps:
    """Serves the repositories below a folder to whoever has the token. `requests` has the credentials of all
    requests, decoded; None for those without. What `redirects_to` names, all requests are redirected to."""

    def __init__(self, folder, token):
        folder.mkdir()
        self.token, self.requests, self.redirects_to = token, [], None
        self.ca, both = make_certificate(folder)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words):
                pass

            def answer(self, status, headers, body):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def serve(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                if self.headers.get("Transfer-Encoding") == "chunked":
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                given = self.headers.get("Authorization")
                outer.requests.append(base64.b64decode(given.split()[1]).decode() if given else None)
                if outer.redirects_to is not None:
                    self.answer(302, {"Location": outer.redirects_to + self.path}, b"")
                elif outer.requests[-1] is None or outer.requests[-1].split(":")[1] != outer.token:
                    self.answer(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
                else:
                    self.answer(*outer.run(folder.parent, self, body))

            do_GET = do_POST = serve

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(both)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"https://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @staticmethod
    def run(root, request, body):
        path, _, query = request.path.partition("?")
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "http-backend"], input=body, capture_output=True, check=True,
            env={**ENVIRONMENT, "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                 "QUERY_STRING": query, "REQUEST_METHOD": request.command, "CONTENT_LENGTH": str(len(body)),
                 "CONTENT_TYPE": request.headers.get("Content-Type", ""), "REMOTE_ADDR": "127.0.0.1",
                 "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
                 "GIT_PROTOCOL": request.headers.get("Git-Protocol", "")})
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        return int(headers.pop("Status", "200").split()[0]), headers, content

    def end(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
