"""A server as seen by remote machines: HTTPS with the certificate of a cluster's server, for
clients with the token. Requests are forwarded to the server itself."""

import json
import socket
import ssl
import threading

TOKEN = "eden_4l2ygazs_" + "k" * 32


class RemoteServer:
    """Stop it with close(). Received requests are in `requests`."""

    def __init__(self, cluster, shows=None, port=0):
        """`shows`: the cluster whose certificate it uses, if that is another one."""
        self.cluster = cluster
        self.token = TOKEN
        self.requests = []
        self.responses = {}  # its own responses, by request target
        self.statuses = {}  # their status, unless that is 200
        self.events = None  # a queue of watch events; None in it ends the watch
        self.session = {"format": "eden.session/1", "name": "ann", "expires": "2030-01-01T00:00:00Z"}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        state = (shows or cluster).state
        chain = cluster.folder / f"remote-{id(self)}.pem"
        chain.write_text((state / "server/serving.pem").read_text() +
                         (state / "agent/ca.pem").read_text())
        context.load_cert_chain(chain)
        context.set_alpn_protocols(["http/1.1"])
        self.tls = context
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with self.tls.wrap_socket(client, server_side=True) as peer:
                self._answer(peer)
        except OSError:
            client.close()

    def _answer(self, peer):
        seen = b""
        while b"\r\n\r\n" not in seen:
            chunk = peer.recv(65536)
            if not chunk:
                return
            seen += chunk
        lines = seen.split(b"\r\n\r\n")[0].decode().split("\r\n")
        method, target, _ = lines[0].split(" ")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        self.requests.append((method, target, fields))
        if target == "/v1/health":
            if target in self.responses:
                self._respond(peer, self.statuses.get(target, 200), self.responses[target])
                return
        elif fields.get("authorization") != f"Bearer {self.token}":
            self._respond(peer, 401, {"code": "unauthorized", "detail": "the token has expired"})
            return
        elif target in self.responses:
            self._respond(peer, self.statuses.get(target, 200), self.responses[target])
            return
        elif "watch=ndjson" in target and self.events is not None:
            self._send_events(peer)
            return
        elif target == "/v1/session":
            self._respond(peer, 200, self.session)
            return
        self._forward(peer, seen)

    @staticmethod
    def _respond(peer, status, value):
        body = json.dumps(value).encode()
        peer.sendall(b"HTTP/1.1 %d Said\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                     % (status, len(body), body))
        peer.shutdown(socket.SHUT_RDWR)

    def _send_events(self, peer):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")
        while (event := self.events.get()) is not None:
            line = (json.dumps(event) if event else "").encode() + b"\n"
            peer.sendall(b"%x\r\n%s\r\n" % (len(line), line))
        peer.sendall(b"0\r\n\r\n")
        peer.shutdown(socket.SHUT_RDWR)

    def _forward(self, peer, seen):
        with socket.socket(socket.AF_UNIX) as server:
            try:
                server.connect(str(self.cluster.run / "server/api.sock"))
            except OSError:
                return
            head, _, body = seen.partition(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                           if line.startswith(b"content-length")), 0)
            # The socket requires neither a token nor a host name.
            kept = [line for line in head.split(b"\r\n")
                    if not line.lower().startswith((b"authorization", b"host"))]
            while len(body) < length:
                body += peer.recv(65536)
            server.sendall(b"\r\n".join([kept[0], b"Host: localhost", *kept[1:]]) + b"\r\n\r\n" + body)
            while chunk := server.recv(65536):
                peer.sendall(chunk)

    def close(self):
        """May be called twice."""
        if self.thread.is_alive():
            self.listener.shutdown(socket.SHUT_RDWR)
            self.thread.join()
            self.listener.close()


def output(home, *args, **more):
    done = home(*args, "-o", "json", **more)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def event(type, name=None, state="alive"):
    return {"type": type, "object": name and {
        "metadata": {"name": name, "labels": {}}, "spec": {}, "status": {"state": state}}}
