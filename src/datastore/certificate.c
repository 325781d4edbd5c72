#include "datastore/certificate.h"

enum {
    CA_MAX = 64 << 10, /* bytes */
};

bool datastore_certificate_save(const Directory *directory, const Credential *ca, const Str *names,
                                uint32_t name_count, int64_t now_ms, int64_t lifetime_ms,
                                Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO(P256Private) *key = NULL;
    Certificate certificate;
    ServingCertificateSpec grant = {
        .names = names, .name_count = name_count, .now_ms = now_ms, .lifetime_ms = lifetime_ms
    };
    return p256_private_make(&key, err) && p256_public_of(key, &grant.key, err) &&
           ca_issue_datastore(&arena, ca, &grant, &certificate, err) &&
           directory_write(directory, DATASTORE_CA, certificate_pem(&arena, &ca->chain.items[0]),
                           true, err) &&
           credential_save(directory, DATASTORE_CREDENTIAL, key,
                           (CertificateSet){ &certificate, 1 }, err);
}

bool datastore_certificate_plan(const Directory *directory, int64_t now_ms, RenewalPlan *out,
                                Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Credential) credential = { 0 };
    if (!credential_load(directory, DATASTORE_CREDENTIAL, &arena, &credential, err)) {
        return false;
    }
    *out = renewal_plan(&credential.chain.items[0], &(RenewalRules){ 0 }, now_ms);
    return true;
}

bool datastore_certificate_use(Loop *loop, const Directory *directory, TlsContext **tls, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Credential) credential = { 0 };
    AUTO_CLEAR(KeyText) key = { 0 };
    Str ca;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!credential_load(directory, DATASTORE_CREDENTIAL, &arena, &credential, err) ||
        !directory_read(directory, &arena, DATASTORE_CA, CA_MAX, &ca, err) ||
        !p256_private_text(credential.key, &key, err)) {
        return false;
    }
    const TlsOptions options = { .role = TLS_CLIENT, .protocol = "h2" };
    const TlsMaterial material = { .certificate = certificates_pem(&arena, credential.chain),
                                   .key = str_from(key.text, key.len),
                                   .ca = ca };
    return *tls == NULL ? tls_context_new(loop, &options, &material, tls, err)
                        : tls_context_reload(*tls, &material, err);
}
