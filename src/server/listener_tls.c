#include "server/listener_tls.h"

#include "pki/credential.h"

/* `extra_chain` is sent after this server's own chain. */
static bool set_tls(const ListenerTls *tls, OwnCertificateKind kind, CertificateSet extra_chain,
                    const TlsOptions *options, TlsContext **context, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(KeyText) key = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    const Credential *credential = own_certificates_credential(*tls->own, kind);
    if (!p256_private_text(credential->key, &key, err)) {
        return false;
    }
    Buf chain = buf_make_in(&arena, BUF_UNLIMITED);
    buf_put(&chain, certificates_pem(&arena, credential->chain));
    buf_put(&chain, certificates_pem(&arena, extra_chain));
    TlsMaterial material = { .certificate = buf_str(&chain),
                             .key = str_from(key.text, key.len),
                             .ca =
                                 certificates_pem(&arena, authority_cas(tls->authority)->trusted) };
    return *context == NULL ? tls_context_new(tls->loop, options, &material, context, err)
                            : tls_context_reload(*context, &material, err);
}

bool listener_tls_rpc(const ListenerTls *tls, TlsContext **context, Error *err)
{
    TlsOptions options = {
        .role = TLS_SERVER, .protocol = "h2", .verify = tls->verify, .verify_context = tls->context
    };
    return set_tls(tls, OWN_KIND_NODE, (CertificateSet){ 0 }, &options, context, err);
}

/* A joining machine that knows only the pin of the CA also needs the CA itself. */
bool listener_tls_api(const ListenerTls *tls, TlsContext **context, Error *err)
{
    TlsOptions options = { .role = TLS_SERVER_OPTIONAL, .protocol = "http/1.1", .preferred = "h2" };
    return set_tls(tls, OWN_KIND_SERVING, authority_chain(tls->authority), &options, context, err);
}
