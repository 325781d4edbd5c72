/* The gRPC services of a server. Loop thread only. */
#pragma once

#include "audit/audit.h"
#include "server/server_settings.h"
#include "service/blob_service.h"
#include "service/nodes_service.h"
#include "service/pki_service.h"
#include "service/runs_service.h"
#include "service/servers_service.h"
#include "service/session_service.h"
#include "service/store_service.h"

typedef struct Services {
    StoreService *store;
    SessionService *sessions;
    PkiService *pki;
    NodesService *nodes;
    RunsService *runs;
    BlobService *blobs;
    ServersService *servers;
    Dispatch *dispatch;
} Services;

/* All of them must outlive the services. */
typedef struct ServicesOptions {
    ClusterStore cluster_store;
    const ServerSettings *settings;
    CertifySettings *certify;
    const char *directory; /* of this server's files; see servers_service.h */
    bool (*prepare_files)(void *context, Error *err);
    Audit *const *audit;
    const FleetRuns *runs;
    RunLogs *run_logs;
    Versions *versions;
    DispatchDescribe *describe;
    void *context; /* passed to `describe` and `prepare_files` */
} ServicesOptions;

void services_open(const ServicesOptions *options, Services *out);
/* Must be called after freeing the servers that use the services. Services that were not opened are
 * ignored. */
void services_close(Services *services);
