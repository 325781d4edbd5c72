/* The service eden.v1.Pki: renews a node's certificate. Loop thread only.
 *
 * The caller is identified by the certificate of the connection, and gets a certificate only for
 * that name. */
#pragma once

#include "membership/certify.h"
#include "rpc/dispatch.h"

typedef struct PkiService PkiService;

/* The settings must be valid until the store is closed. */
PkiService *pki_service_new(const CertifySettings *settings);
/* Must be called after freeing the servers with its binding. NULL is allowed. */
void pki_service_free(PkiService *service);
DEFINE_AUTO(PkiService, pki_service_free)

/* For dispatch_new. */
MethodBinding pki_service_binding(PkiService *service);
