"""A machine without credentials that sends join requests made with openssl(1) and the standard
library, so that it can do what 'eden join' never would."""

import base64
import hashlib
import http.client
import json
import secrets
import ssl
import subprocess
import time

BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def openssl(*words, text=None):
    return subprocess.run(["openssl", *map(str, words)], input=text, check=True,
                          capture_output=True).stdout


class JoinClient:
    def __init__(self, cluster, folder):
        self.cluster = cluster
        self.key = folder / "client.pem"
        folder.mkdir(parents=True, exist_ok=True)
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.key)
        self.csr = openssl("req", "-new", "-key", self.key, "-subj", "/CN=x").decode()
        public = openssl("pkey", "-in", self.key, "-pubout", "-outform", "DER")
        self.pin = "sha256:" + hashlib.sha256(public).hexdigest()

    def request(self, name):
        """A signed join request for a name."""
        nonce = "".join(secrets.choice(BASE32) for _ in range(25)) + "a"
        now = int(time.time() * 1000)
        ca = self.cluster.init_output["ca_pin"]
        digest = hashlib.sha256(self.csr.encode()).hexdigest()
        message = (f"eden.join/1\nname {name}\nca {ca}\ncsr {digest}\nnonce {nonce}\ntime {now}\n"
                   f"token -\n")
        proof = openssl("dgst", "-sha256", "-sign", self.key, text=message.encode())
        return json.dumps({"format": "eden.join/1", "name": name, "ca": ca, "csr": self.csr,
                           "nonce": nonce, "time_ms": now,
                           "proof": base64.b64encode(proof).decode()})

    def connect(self):
        context = ssl._create_unverified_context()
        return http.client.HTTPSConnection("127.0.0.1", self.cluster.api_port, context=context,
                                           timeout=60)

    def send(self, connection, body):
        """The status, and the response."""
        connection.request("POST", "/v1/join", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None

    def call(self, name):
        connection = self.connect()
        try:
            return self.send(connection, self.request(name))
        finally:
            connection.close()
