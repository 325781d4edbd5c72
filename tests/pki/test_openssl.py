"""openssl reads what eden creates as intended; eden judges what openssl creates as openssl does."""

import re
import stat

import pytest

from conftest import Refused

DAY = 86400


def request(openssl, key, *args, name="/CN=anything"):
    """A certificate request made by openssl."""
    return openssl("req", "-new", "-key", "@k.pem", "-subj", name, *args, files={"k.pem": key})


def verify(openssl, cluster, certificate, *args, ca=None, untrusted=None):
    """openssl's verdict, at the tool's time and as strict as possible."""
    files = {"ca.pem": ca or cluster.ca, "c.pem": certificate}
    more = []
    if untrusted:
        files["u.pem"] = untrusted
        more = ["-untrusted", "@u.pem"]
    return openssl(
        "verify", "-x509_strict", "-check_ss_sig", "-auth_level", "2", "-attime", cluster.now,
        "-no-CApath", "-no-CAstore", "-CAfile", "@ca.pem", *more, *args, "@c.pem", files=files,
    )  # fmt: skip


def extensions(openssl, certificate):
    """Names of the extensions with their values, as openssl prints them."""
    text = openssl("x509", "-noout", "-text", text=certificate)
    part = text.split("X509v3 extensions:\n")[1].split("    Signature Algorithm")[0]
    found = re.findall(r"^ {12}(\S[^\n]*?): ?(critical)?\n((?: {16}[^\n]*\n?)*)", part, re.M)
    return {name: (bool(critical), value.strip()) for name, critical, value in found}


def test_ca_has_the_documented_form(openssl, cluster):
    assert openssl("x509", "-noout", "-subject", "-issuer", text=cluster.ca) == (
        "subject=CN = eden home\nissuer=CN = eden home\n"
    )
    found = extensions(openssl, cluster.ca)
    assert found["X509v3 Basic Constraints"] == (True, "CA:TRUE, pathlen:0")
    assert found["X509v3 Key Usage"] == (True, "Certificate Sign, CRL Sign")
    assert set(found) == {
        "X509v3 Basic Constraints",
        "X509v3 Key Usage",
        "X509v3 Subject Key Identifier",
        "X509v3 Authority Key Identifier",
    }
    text = openssl("x509", "-noout", "-text", text=cluster.ca)
    assert "ASN1 OID: prime256v1" in text
    assert "Signature Algorithm: ecdsa-with-SHA256" in text
    assert verify(openssl, cluster, cluster.ca).endswith(": OK\n")


def test_only_the_owner_can_read_the_ca_key(cluster):
    mode = stat.S_IMODE((cluster.folder / "ca.pem").stat().st_mode)
    assert mode == 0o600
    assert stat.S_IMODE(cluster.folder.stat().st_mode) == 0o700


def test_node_certificate_has_the_documented_form(openssl, cluster, key):
    made = cluster("node", "web1", text=cluster("csr", text=key))
    found = extensions(openssl, made)
    assert found["X509v3 Subject Alternative Name"] == (False, "URI:eden://home/node/web1")
    assert found["X509v3 Basic Constraints"] == (True, "CA:FALSE")
    assert found["X509v3 Key Usage"] == (True, "Digital Signature")
    assert found["X509v3 Extended Key Usage"] == (
        False,
        "TLS Web Server Authentication, TLS Web Client Authentication",
    )
    for purpose in ("sslclient", "sslserver"):
        assert verify(openssl, cluster, made, "-purpose", purpose).endswith(": OK\n")
    serial = openssl("x509", "-noout", "-serial", text=made).strip().removeprefix("serial=")
    node, own_serial, enrollment = cluster("verify", "client", text=made).split()
    assert (node, own_serial) == ("web1", serial.lower())
    assert len(own_serial) == 32 and own_serial.startswith(enrollment)


def test_certificate_lasts_thirty_days_and_starts_a_little_before(openssl, cluster, key):
    made = cluster("node", "web1", text=cluster("csr", text=key))
    assert "Certificate will not expire" in openssl(
        "x509", "-noout", "-checkend", 0, text=made
    )
    # No certificate starts before its CA, which was created in the same second.
    for moment, good in (
        (cluster.now - 299, True),
        (cluster.now - 301, False),
        (cluster.now + 30 * DAY - 1, True),
        (cluster.now + 30 * DAY + 1, False),
    ):
        for judge in (
            lambda: openssl("verify", "-CAfile", "@ca.pem", "-attime", moment, "@c.pem",
                            files={"ca.pem": cluster.ca, "c.pem": made}),
            lambda: cluster("verify", "client", text=made, now=moment),
        ):  # fmt: skip
            if good:
                judge()
            else:
                with pytest.raises(Refused, match="expired|not yet|not valid before"):
                    judge()


def test_openssl_verifies_the_key_proof_in_edens_request(openssl, cluster, key):
    made = cluster("csr", text=key)
    openssl("req", "-noout", "-verify", text=made)
    text = openssl("req", "-noout", "-text", text=made)
    assert re.search(r"Subject: *\n", text)


HOSTILE = {
    "another name": ["-addext", "subjectAltName=URI:eden://home/node/other"],
    "two names": ["-addext", "subjectAltName=URI:eden://home/node/web1,URI:eden://home/node/x"],
    "names of hosts": ["-addext", "subjectAltName=DNS:api.example.com,DNS:*,IP:127.0.0.1"],
    "a CA": ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=keyCertSign"],
    "other uses": ["-addext", "extendedKeyUsage=codeSigning,anyExtendedKeyUsage"],
    "an unknown extension": ["-addext", "1.2.3.4=critical,ASN1:UTF8String:x"],
}


@pytest.mark.parametrize("case", HOSTILE)
def test_extensions_in_a_request_are_ignored(openssl, cluster, key, case):
    hostile = request(openssl, key, *HOSTILE[case], name="/O=eden/CN=eden home")
    made = cluster("node", "web1", text=hostile)
    plain = cluster("node", "web1", text=cluster("csr", text=key))

    def shape(certificate):
        found = extensions(openssl, certificate)
        return found, openssl("x509", "-noout", "-subject", "-issuer", text=certificate)

    assert shape(made) == shape(plain)
    assert verify(openssl, cluster, made).endswith(": OK\n")


def test_tampered_request_is_rejected(openssl, cluster, key):
    lines = request(openssl, key).splitlines()
    lines[2] = lines[2][:10] + ("A" if lines[2][10] != "A" else "B") + lines[2][11:]
    with pytest.raises(Refused, match="the certificate request: "):
        cluster("node", "web1", text="\n".join(lines) + "\n")


@pytest.mark.parametrize(
    "kind, why",
    [
        (["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "ECDSA and SHA-256"),
        (["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], "not on the curve P-256"),
        (["-algorithm", "ED25519"], "ECDSA and SHA-256"),
        (
            ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-pkeyopt", "ec_param_enc:explicit"],
            "not on the curve P-256",
        ),
    ],
)  # fmt: skip
def test_requests_with_other_keys_are_rejected(openssl, cluster, kind, why):
    other = openssl("genpkey", *kind)
    with pytest.raises(Refused, match=why):
        cluster("node", "web1", text=request(openssl, other))


@pytest.mark.parametrize(
    "name",
    ["Web1", "web1.", ".", "..", "../web1", "web1/..", "-web1", "w\u0435b1", "web 1", "a" * 64, ""],
)
def test_invalid_names_get_no_certificate(cluster, key, name):
    with pytest.raises(Refused, match="invalid node name"):
        cluster("node", name, text=cluster("csr", text=key))


def test_pin_matches_openssl(openssl, cluster, tmp_path):
    openssl("x509", "-noout", "-pubkey", "-out", "@pub.pem", text=cluster.ca)
    openssl("pkey", "-pubin", "-in", "@pub.pem", "-outform", "DER", "-out", "@pub.der")
    digest = openssl("dgst", "-sha256", "-r", "@pub.der").split()[0]
    assert cluster("pin", text=cluster.ca) == f"sha256:{digest}\n"


def test_certificate_of_another_ca_is_rejected_by_both(openssl, cluster, key):
    other = cluster("ca", "home", "other.pem")
    made = cluster("node", "web1", "", "", "other.pem", text=cluster("csr", text=key))
    assert verify(openssl, cluster, made, ca=other).endswith(": OK\n")
    with pytest.raises(Refused):
        verify(openssl, cluster, made)
    with pytest.raises(Refused, match="not issued by a trusted CA"):
        cluster("verify", "client", text=made)
    # Both are trusted while the CA is being rotated, although they have the same name.
    assert verify(openssl, cluster, made, ca=cluster.ca + other).endswith(": OK\n")
    assert verify(openssl, cluster, made, ca=other + cluster.ca).endswith(": OK\n")


def test_cross_signed_ca_leads_from_the_old_to_the_new(openssl, cluster, key):
    cluster("ca", "home", "next.pem")
    cross = cluster("cross", "next.pem")
    made = cluster("node", "web1", "", "", "next.pem", text=cluster("csr", text=key))
    with pytest.raises(Refused):
        verify(openssl, cluster, made)
    assert verify(openssl, cluster, made, untrusted=cross).endswith(": OK\n")
    assert cluster("verify", "server", text=made + cross).startswith("web1 ")


def test_serving_certificate_is_valid_for_its_names_only(openssl, cluster, key):
    made = cluster("serving", "API.example.com", "10.0.0.7", "2001:db8::7",
                   text=cluster("csr", text=key))  # fmt: skip
    found = extensions(openssl, made)
    assert found["X509v3 Subject Alternative Name"][1] == (
        "DNS:api.example.com, IP Address:10.0.0.7, IP Address:2001:DB8:0:0:0:0:0:7"
    )
    assert found["X509v3 Extended Key Usage"][1] == "TLS Web Server Authentication"
    for arguments in (
        ["-verify_hostname", "api.example.com"],
        ["-verify_ip", "10.0.0.7"],
        ["-verify_ip", "2001:db8::7"],
    ):
        assert verify(openssl, cluster, made, "-purpose", "sslserver", *arguments).endswith("OK\n")
    for arguments in (
        ["-verify_hostname", "example.com"],
        ["-verify_ip", "10.0.0.8"],
        ["-purpose", "sslclient"],
    ):
        with pytest.raises(Refused):
            verify(openssl, cluster, made, *arguments)
    # It identifies no node.
    with pytest.raises(Refused, match="not a node certificate"):
        cluster("verify", "server", text=made)
    with pytest.raises(Refused):
        cluster("verify", "client", text=made)


def test_node_cannot_impersonate_the_api(openssl, cluster, key):
    made = cluster("node", "api.example.com", text=cluster("csr", text=key))
    with pytest.raises(Refused, match="(?i)hostname mismatch"):
        verify(openssl, cluster, made, "-verify_hostname", "api.example.com")


def forge(openssl, cluster, key, config, serial="0x40112233445566778899aabbccddeeff"):
    """A certificate that openssl signs with the key of the cluster's CA."""
    text = (cluster.folder / "ca.pem").read_text()
    ca_key = text[: text.index("-----BEGIN CERTIFICATE")]
    return openssl(
        "x509", "-req", "-in", "@r.pem", "-CA", "@ca.pem", "-CAkey", "@ca.key", "-days", 1,
        "-set_serial", serial, "-extfile", "@ext.cnf",
        files={
            "r.pem": request(openssl, key),
            "ca.pem": cluster.ca,
            "ca.key": ca_key,
            "ext.cnf": config,
        },
    )  # fmt: skip


GOOD = """basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
"""


@pytest.mark.parametrize(
    "extra, client, server",
    [
        ("extendedKeyUsage=clientAuth,serverAuth\nsubjectAltName=URI:eden://home/node/web1", 1, 1),
        ("extendedKeyUsage=clientAuth\nsubjectAltName=URI:eden://home/node/web1", 1, 0),
        ("extendedKeyUsage=serverAuth\nsubjectAltName=URI:eden://home/node/web1", 0, 1),
        ("subjectAltName=URI:eden://home/node/web1", 0, 0),
        ("extendedKeyUsage=clientAuth,serverAuth\nsubjectAltName=URI:eden://away/node/web1", 0, 0),
        (
            "extendedKeyUsage=clientAuth,serverAuth\n"
            "subjectAltName=URI:eden://home/node/web1,URI:eden://home/node/web2",
            0, 0,
        ),
        ("extendedKeyUsage=clientAuth,serverAuth\nsubjectAltName=DNS:web1", 0, 0),
        ("extendedKeyUsage=clientAuth,serverAuth", 0, 0),
    ],
)  # fmt: skip
def test_foreign_certificates_are_judged_by_their_content(
    openssl, cluster, key, extra, client, server
):
    made = forge(openssl, cluster, key, GOOD + extra + "\n")
    # openssl used its own clock, so verify at that time, too.
    for use, good in (("client", client), ("server", server)):
        if good:
            assert cluster("verify", use, text=made, now=cluster.now + 60).startswith("web1 ")
        else:
            with pytest.raises(Refused):
                cluster("verify", use, text=made, now=cluster.now + 60)


def test_certificate_signed_by_a_node_is_rejected(openssl, cluster, key):
    node = cluster("node", "web1", text=cluster("csr", text=key))
    other = cluster("key")
    forged = openssl(
        "x509", "-req", "-in", "@r.pem", "-CA", "@n.pem", "-CAkey", "@n.key", "-days", 1,
        "-set_serial", "0x40112233445566778899aabbccddeeff", "-extfile", "@ext.cnf",
        files={
            "r.pem": request(openssl, other),
            "n.pem": node,
            "n.key": key,
            "ext.cnf": GOOD
            + "extendedKeyUsage=clientAuth\nsubjectAltName=URI:eden://home/node/web2\n",
        },
    )  # fmt: skip
    with pytest.raises(Refused):
        verify(openssl, cluster, forged, untrusted=node)
    with pytest.raises(Refused):
        cluster("verify", "client", text=forged + node, now=cluster.now + 60)


def test_handshake_needs_the_private_key(openssl, cluster, key):
    """A certificate is useless without its key: openssl refuses to pair them, and so does eden."""
    made = cluster("node", "web1", text=cluster("csr", text=key))
    with pytest.raises(Refused):
        openssl("pkcs12", "-export", "-passout", "pass:", "-in", "@c.pem", "-inkey", "@o.pem",
                files={"c.pem": made, "o.pem": cluster("key")})  # fmt: skip
    (cluster.folder / "mixed.pem").write_text(cluster("key") + cluster.ca)
    (cluster.folder / "mixed.pem").chmod(0o600)
    with pytest.raises(Refused, match="does not match the certificate"):
        cluster("node", "web1", "", "", "mixed.pem", text=cluster("csr", text=key))
