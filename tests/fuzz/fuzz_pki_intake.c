/* Input: untrusted data parsed by libcrypto: PEM, a certificate request, a certificate, a private
 * key; and as the DER inside PEM, which mutations would hardly reach. Invariants: the result is a
 * value or an error, and libcrypto's error queue is empty. */
#include <openssl/err.h>

#include "base/bug.h"
#include "pki/ca.h"
#include "pki/csr.h"
#include "pki/peer.h"
#include "pki/pem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fault(const Error *err)
{
    BUG_IF(err->kind == ERROR_NONE || err->text[0] == '\0');
    BUG_IF(ERR_peek_error() != 0);
}

static void check_key(const P256Public *key)
{
    P256Signature signature = { .len = 8 };
    BUG_IF(key->point[0] != 4);
    BUG_IF(p256_public_verify(key, STR("x"), &signature));
}

static void read_certificate(Arena *arena, const Certificate *read)
{
    static const RevocationList nobody;
    PeerRules rules = { .cluster = STR("home"), .revoked = &nobody };
    Error err = { 0 };
    check_key(&read->key);
    BUG_IF(strlen(read->serial) > SERIAL_TEXT);
    BUG_IF(read->has_identity && (read->is_ca || strlen(read->serial) != SERIAL_DIGITS ||
                                  strlen(read->enrollment) != ENROLLMENT_TEXT));
    /* A certificate not signed by one of our CAs is never accepted, not even as its own CA. */
    CertificateSet one = { read, 1 };
    if (!certificate_verify(one, one, USE_CLIENT, read->not_before_ms, &err)) {
        check_fault(&err);
    }
    PresentedPeer peer = peer_of_certificate(read);
    BUG_IF(peer_check(&peer, &rules, read->not_before_ms, &err) && !read->has_identity);
    Certificate *again;
    uint32_t count;
    BUG_IF(!certificates_from_pem(arena, certificate_pem(arena, read), &again, &count, &err));
    BUG_IF(count != 1 || !str_eq(again->der, read->der));
}

static void read_pem(Arena *arena, Str text)
{
    Error err = { 0 };
    PemBlock block;
    bool found = true;
    for (Str rest = text; found;) {
        size_t before = rest.len;
        if (!pem_next(&rest, &block, &found, &err)) {
            BUG_IF(err.kind != ERROR_INVALID);
            break;
        }
        BUG_IF(found && rest.len >= before);
        Str bytes;
        if (found && block.label.len <= PEM_LABEL_MAX &&
            pem_bytes_in(arena, &block, &bytes, &err)) {
            BUG_IF(bytes.len > pem_bytes_max(&block));
        }
    }
    P256Public key;
    if (csr_read(text, &key, &err)) {
        check_key(&key);
    } else {
        check_fault(&err);
    }
    Certificate *certificates;
    uint32_t count;
    if (certificates_from_pem(arena, text, &certificates, &count, &err)) {
        BUG_IF(count == 0 || count > CERTIFICATES_MAX);
        read_certificate(arena, &certificates[0]);
    } else {
        check_fault(&err);
    }
    AUTO(P256Private) *private = NULL;
    if (!p256_private_from_pem(text, &private, &err)) {
        check_fault(&err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 64 << 20);
    Str text = str_from((const char *)data, size);
    Error err = { 0 };
    read_pem(&arena, text);
    Certificate certificate;
    if (certificate_parse(&arena, text, &certificate, &err)) {
        read_certificate(&arena, &certificate);
    } else {
        check_fault(&err);
    }
    P256Public key;
    if (size > 0 && csr_read(pem_text(&arena, "CERTIFICATE REQUEST", text), &key, &err)) {
        check_key(&key);
    }
    AUTO(P256Private) *private = NULL;
    if (size > 0 && p256_private_from_pem(pem_text(&arena, "PRIVATE KEY", text), &private, &err)) {
        AUTO_CLEAR(KeyText) again = { 0 };
        BUG_IF(!p256_private_text(private, &again, &err));
    }
    BUG_IF(ERR_peek_error() != 0);
    return 0;
}
