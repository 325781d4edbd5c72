/* The service eden.v1.Pki: a node's next certificate. Loop thread.
 *
 * Who calls is who the connection's certificate says, and gets a certificate for that name only. */
#pragma once

#include "cluster/certify.h"
#include "rpc/dispatch.h"

typedef struct PkiService PkiService;

/* The settings are borrowed until the store is closed. */
PkiService *pki_service_new(const CertifySettings *settings);
/* After the servers that have its binding. NULL is fine. */
void pki_service_free(PkiService *service);
DEFINE_AUTO(PkiService, pki_service_free)

/* For dispatch_new. */
MethodBinding pki_service_binding(PkiService *service);
