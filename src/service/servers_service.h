/* The gRPC service "Servers", for other servers of the cluster. They receive the CA keys over
 * mutual TLS, never through the store. Each request is recorded in the audit log before the
 * response is sent. */
#pragma once

#include "audit/audit.h"
#include "cluster/ca_set.h"
#include "cluster/cluster_store.h"
#include "rpc/dispatch.h"
#include "service/session_service.h"
#include "source/versions.h"

typedef struct ServersService ServersService;

typedef struct ServersServiceOptions {
    ClusterStore cluster_store;
    const char *directory; /* of this server's files */
    const CaSet *cas;      /* the CA that signs */
    Versions *versions;
    SessionService *sessions;
    Audit *const *audit; /* may point to NULL: nothing is recorded */
    /* Creates the files that all servers need but that are only created when they are used. */
    bool (*prepare)(void *context, Error *err);
    void *context;
} ServersServiceOptions;

/* What the options point to must outlive it; the struct is copied. */
ServersService *servers_service_new(const ServersServiceOptions *options);
void servers_service_free(ServersService *service); /* NULL is allowed */
enum {
    SERVERS_SERVICE_METHODS = 3
};
void servers_service_bind(ServersService *service,
                          MethodBinding bindings[static SERVERS_SERVICE_METHODS]);
