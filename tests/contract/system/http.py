"""Downloads from web servers."""

import hashlib

from lab.contract import Case

CONTENT = "what is wanted\n" * 1000
DIGEST = "sha256:" + hashlib.sha256(CONTENT.encode()).hexdigest()


def serve(host):
    host.run("mkdir /tmp/www")
    host.write("/tmp/www/x", CONTENT)
    host.serve("/tmp/www", 80)


def serve_encrypted(host):
    """A self-signed certificate."""
    host.run("mkdir /tmp/www && cd /tmp && openssl req -x509 -newkey rsa:2048 -nodes -days 2 "
             "-keyout key -out /etc/ca.pem -subj /CN=x -addext subjectAltName=IP:127.0.0.1")  # fmt: skip
    host.write("/tmp/www/x", CONTENT)
    host.popen("cd /tmp/www && openssl s_server -quiet -WWW -accept 443 -key /tmp/key -cert /etc/ca.pem")
    host.wait_for("curl -sS --cacert /etc/ca.pem https://127.0.0.1/x", 20, "the server")


FILE = {"name": "/opt/new/x", "owner": "www-data", "group": "www-data", "mode": "0640"}
DONE = (f"echo '{DIGEST[7:]}  /opt/new/x' | sha256sum -c && "
        "test $(stat -c %a%U%G /opt/new/x) = 640www-datawww-data")  # fmt: skip

CASES = [
    Case("http.download", {**FILE, "url": "http://127.0.0.1/x", "digest": DIGEST},
         release=("bookworm", "trixie"), before=serve, after=DONE),
    Case("http.download", {**FILE, "url": "https://127.0.0.1/x", "pin": True, "ca": "/etc/ca.pem"},
         name="pin", release=("bookworm", "trixie"), before=serve_encrypted, after=DONE),
]  # fmt: skip
