/* The TLS contexts of a server's listeners, from its own certificates and the CAs. */
#pragma once

#include "membership/authority.h"
#include "membership/own_certificates.h"
#include "net/tls.h"

typedef struct ListenerTls {
    Loop *loop;
    OwnCertificates *const *own;
    const Authority *authority;
    TlsVerify *verify; /* of nodes */
    void *context;
} ListenerTls;

/* Creates `*context`, or gives an existing one the current certificates and CAs. */
MUST_CHECK bool listener_tls_rpc(const ListenerTls *tls, TlsContext **context, Error *err);
MUST_CHECK bool listener_tls_api(const ListenerTls *tls, TlsContext **context, Error *err);
